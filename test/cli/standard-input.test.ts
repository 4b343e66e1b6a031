/** Tests the built program with the input of shells: standard input, pipes, `-f`; `version` and `completion`. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { COMMANDS } from '../../src/cli/flags/flag.ts';
import { FLAGS } from '../../src/cli/flags/flags.ts';
import { quietDocument as document, inFolder } from '../support/group-files.ts';
import { groupYaml, runCli } from '../support/run-cli.ts';

const PROGRAM = join(process.cwd(), 'lib/gitea-runners.cjs');

/** Runs a line of bash in which `gitea-runners` is the built program. */
async function bash(line: string, cwd: string): Promise<{ readonly out: string; readonly err: string }> {
  const script = `gitea-runners() { "${process.execPath}" "${PROGRAM}" "$@"; }\n${line}`;
  const { stdout, stderr } = await promisify(execFile)('bash', ['-c', script], { cwd });
  return { out: stdout, err: stderr };
}

const FILES = { 'ci.yaml': document(), 'sub/cd.yaml': document({ org: 'other' }, { name: 'cd' }) };
const ONE = '1 RunnerGroup in 1 file is valid\n';
const TWO = '2 RunnerGroups in 2 files are valid\n';

describe('validate reads', () => {
  it.each([
    ['standard input', 'cat ci.yaml | gitea-runners validate -', ONE],
    ['a file as standard input', 'gitea-runners validate - < ci.yaml', ONE],
    ['/dev/stdin', 'cat ci.yaml | gitea-runners validate /dev/stdin', ONE],
    ['process substitution', 'gitea-runners validate <(cat ci.yaml)', ONE],
    ['two pipes', 'gitea-runners validate <(cat ci.yaml) <(cat sub/cd.yaml)', TWO],
    ['what comes slowly', '(head -c 40 ci.yaml; sleep 0.3; tail -c +41 ci.yaml) | gitea-runners validate -', ONE],
    ['-f', 'gitea-runners validate -f ci.yaml --filename sub/cd.yaml', TWO],
    ['-f and PATH', 'gitea-runners validate -f ci.yaml sub', TWO],
    ['-f -', 'cat ci.yaml | gitea-runners validate -f -', ONE],
  ])('%s', async (_, line, out) => {
    await inFolder(FILES, async (cwd) => {
      expect(await bash(line, cwd)).toEqual({ out, err: '' });
    });
  });

  it('standard input, and warns about the line of a field as it does in a file', async () => {
    const files = { 'ci.yaml': groupYaml('http://gitea.example.com') };
    await inFolder(files, async (cwd) => {
      const { err } = await bash('gitea-runners validate ci.yaml', cwd);

      expect(err).toMatch(/^ci\.yaml:7:\d+: warning: spec\.gitea: plain http/m);
      expect(await bash('cat ci.yaml | gitea-runners validate -', cwd)).toMatchObject({
        err: err.replaceAll('ci.yaml', '<stdin>'),
      });
    });
  });

  it('nothing on standard input, and says so', async () => {
    const { code, stderr } = await runCli(['validate', '-']);

    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining('GR-INPUT-09 find RunnerGroups: no RunnerGroup in standard input'),
    });
  });

  it('no more than 4 MiB from a pipe that never ends', async () => {
    await inFolder({}, async (cwd) => {
      await expect(bash('yes "# more" | gitea-runners validate -', cwd)).rejects.toMatchObject({
        code: 2,
        stderr: expect.stringContaining('4 MiB'),
      });
    });
  });

  it('what is no manifest, and names it in one line', async () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((name) => [`${name}.yaml`, 'x: 1\n'] as const);
    await inFolder({ ...FILES, ...Object.fromEntries(names), 'kustomization.yaml': 'resources: []\n' }, async (cwd) => {
      expect(await bash('gitea-runners validate', cwd)).toEqual({
        out: '1 RunnerGroup in 8 files is valid\n',
        err: 'skipped, because not a Kubernetes manifest: kustomization.yaml, a.yaml:1, b.yaml:1, c.yaml:1, d.yaml:1 and 3 more\n',
      });
    });
  });
});

test('a link in the repository to a pipe is not read', async () => {
  await inFolder(FILES, async (cwd) => {
    const line = 'ln -s /dev/stdin groups && cat ci.yaml | gitea-runners validate groups';
    await expect(bash(line, cwd)).rejects.toMatchObject({ code: 2, stdout: '' });
  });
});

test('version says what a report of a mistake needs', async () => {
  const { stdout } = await runCli(['version']);
  expect(stdout).toBe(
    `gitea-runners ${packageJson.version} (Node ${process.version}, ${process.platform}/${process.arch})\n`,
  );
  expect(JSON.parse((await runCli(['version', '--json'])).stdout)).toMatchObject({ version: packageJson.version });
});

it('completion offers -f, short flags and the formats of each command in zsh and fish', async () => {
  const zsh = (await runCli(['completion', 'zsh'])).stdout;
  const fish = (await runCli(['completion', 'fish'])).stdout;

  expect(zsh).toContain(`'*'{-f,--filename}'[the same as PATH]:PATH:_files'`);
  expect(zsh).toContain(`'(-R --recursive)'{-R,--recursive}'[read folders with all below them]'`);
  expect(zsh).toMatch(/ explain\) .*:FORMAT:\(json wide\)'/);
  expect(zsh).toMatch(/ validate\) .*:FORMAT:\(json sarif github markdown\)'/);
  expect(fish).toContain("seen_subcommand_from generate' -s f -l filename -r -d 'the same as PATH'");
  expect(fish).toContain("seen_subcommand_from validate' -s o -l output -x -a 'json sarif github markdown'");
});

/** Returns the completions of bash for a line whose last word is being typed. */
async function offered(...words: readonly string[]): Promise<readonly string[]> {
  const list = words.map((word) => `'${word}'`).join(' ');
  const { out } = await bash(
    `source <(gitea-runners completion bash); COMP_WORDS=(${list}); COMP_CWORD=${words.length - 1}; _gitea_runners; printf '%s\\n' "\${COMPREPLY[@]}"`,
    '.',
  );
  return out.split('\n').filter((word) => word !== '');
}

it('completion in bash offers commands, flags, values of a flag and shells', async () => {
  expect(await offered('gitea-runners', '')).toEqual([...COMMANDS, 'help']);
  expect(await offered('gitea-runners', 'val')).toEqual(['validate']);
  expect(await offered('gitea-runners', 'generate', '--kube')).toEqual(['--kubeconfig']);
  expect(await offered('gitea-runners', 'generate', '--cluster', '')).toEqual(['auto', 'off']);
  expect(await offered('gitea-runners', 'completion', '')).toEqual(['bash', 'zsh', 'fish']);
  expect(await offered('gitea-runners', 'explain', '-o', '')).toEqual(['json', 'wide']);
  expect(await offered('gitea-runners', 'validate', '--output', '')).toEqual(['json', 'sarif', 'github', 'markdown']);
  // A file name, which bash adds.
  expect(await offered('gitea-runners', 'explain', '--kubeconfig', '')).toEqual([]);
});

it.each([
  ['zsh', '/usr/bin/zsh'],
  ['fish', '/usr/bin/fish'],
])('completion is a script that %s reads, if it is here', async (shell, path) => {
  const { code, stdout } = await runCli(['completion', shell]);
  expect(code).toBe(0);
  for (const word of [...COMMANDS, ...Object.keys(FLAGS).filter((name) => /^[a-z]+$/.test(name))]) {
    expect(stdout).toContain(word);
  }
  if (existsSync(path)) await bash(`gitea-runners completion ${shell} | ${path} -n`, '.');
});

it('completion of another shell is an error that names the shells', async () => {
  const { code, stdout, stderr } = await runCli(['completion', 'tcsh']);

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain('bash, zsh, fish');
});
