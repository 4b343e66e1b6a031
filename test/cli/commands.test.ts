/** The program from outside: names, flags, environment, exit codes, streams. */
import { describe, expect, it } from 'vitest';
import { COMMANDS } from '../../src/cli/flags/flag.ts';
import { folderWith, groupYaml, runHere } from '../support/run-cli.ts';
import { startAcme, TOKEN } from '../support/start-acme.ts';

it('the program knows its version', async () => {
  expect((await runHere(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});

describe('the help of a command', () => {
  const helpOf = async (command: string) => (await runHere([command, '--help'])).stdout.replaceAll(/\s+/g, ' ');

  it('the help of a command says what a flag means there, and nothing of other commands', async () => {
    expect(await helpOf('generate')).toContain('time limit of the run (env: GITEA_RUNNERS_TIMEOUT');
    expect(await helpOf('generate')).toContain('default: the service account of this pod)');
    expect(await helpOf('explain')).toContain('how to print: json or wide (env:');
    expect(await helpOf('explain')).toContain('a group or a runner. PATH: files and folders');
    expect(await helpOf('extend')).toContain('namespace of the runner (env:');
    expect(await helpOf('import')).toContain('default: what the files say)');
    expect(await helpOf('validate')).not.toContain('no runner is needed');
  });

  it.each(COMMANDS)('%s --help fits into 80 columns, except its examples and long words', async (command) => {
    const { code, stdout, stderr } = await runHere([command, '--help']);
    const flags = stdout.replace(/Examples:\n(?: .*\n?)*/, '');

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('Examples:');
    expect(flags.split('\n').filter((line) => line.length > 80 && line.trim().includes(' '))).toEqual([]);
  });
});

it('-o takes its value in all the ways of kubectl', async () => {
  const outcomes = await Promise.all(
    [['-o', 'json'], ['-ojson'], ['-o=json'], ['--output', 'json'], ['--output=json'], ['--json']].map((flags) =>
      runHere(['version', ...flags]),
    ),
  );

  expect(outcomes.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0, 0]);
  expect(new Set(outcomes.map(({ stdout }) => stdout)).size).toBe(1);
  expect(JSON.parse(outcomes[0]?.stdout ?? '')).toHaveProperty('version');
});

it('-o is of the commands that have it, when a variable asks for it', async () => {
  const of = (command: string, output: string) => runHere([command], { GITEA_RUNNERS_OUTPUT: output });

  expect((await of('version', 'json')).stdout).toContain('{');
  expect(await of('version', 'wide')).toEqual(await runHere(['version']));
  expect((await of('version', 'yaml')).stderr).toBe(
    'error: GR-FLAG-16 read GITEA_RUNNERS_OUTPUT: version prints json, not "yaml". Leave it out for text.\n',
  );
});

it.each([
  ['version', 'json'],
  ['doctor', 'json'],
  ['sweep', 'json'],
  ['report', 'json or csv'],
  ['explain', 'json or wide'],
  ['validate', 'json, sarif, github or markdown'],
])('%s -o yaml says what there is', async (command, outputs) => {
  const outcome = await runHere([command, '-o', 'yaml'], {}, folderWith({}));

  expect(outcome).toMatchObject({ code: 2, stdout: '' });
  expect(outcome.stderr).toBe(
    `error: GR-FLAG-16 read --output: ${command} prints ${outputs}, not "yaml". Leave it out for text.\n`,
  );
});

it.each<[string, readonly string[], Readonly<Record<string, string>>, RegExp]>([
  ['no command', [], {}, /Usage: gitea-runners/],
  ['an unknown command', ['generat'], {}, /unknown command 'generat'\n\(Did you mean generate\?\)\n/],
  ['a word of kubectl', ['get', 'runnergroups'], {}, /unknown command 'get'\n\(Did you mean explain\?\)\n/],
  ['a word of nobody', ['frobnicate'], {}, /^error: unknown command 'frobnicate'\nSee "gitea-runners --help"\.\n$/],
  ['help for a word of kubectl', ['help', 'get'], {}, /^error: unknown command 'get'\n\(Did you mean explain\?\)\n/],
  ['help for a typo', ['help', 'generat'], {}, /^error: unknown command 'generat'\nSee "gitea-runners --help"\.\n$/],
  [
    'an unknown flag',
    ['generate', '--dry-run'],
    {},
    /unknown option '--dry-run'\nSee "gitea-runners generate --help"\.\n/,
  ],
  ['a flag without its value', ['generate', '--timeout'], {}, /argument missing/],
  ['a value that cannot be read', ['generate', '--timeout', 'soon'], {}, /GR-FLAG-02 read --timeout: .* 0\.001 to 600/],
  [
    'a variable that cannot be read',
    ['explain'],
    { GITEA_RUNNERS_VERBOSE: 'maybe' },
    /GR-FLAG-03 read GITEA_RUNNERS_V/,
  ],
])('bad input ends with exit 2, an empty stdout and one clear line: %s', async (_, args, env, text) => {
  const outcome = await runHere(args, env, folderWith({}));

  expect(outcome).toMatchObject({ code: 2, stdout: '' });
  expect(outcome.stderr).toMatch(text);
  expect(outcome.stderr).not.toMatch(/\n\s+at /);
});

it('a flag comes before its environment variable, and nothing of Argo CD’s user environment counts', async () => {
  const { env, folder } = await startAcme();
  const hostile = {
    ARGOCD_ENV_GITEA_URL: 'https://evil.example.com',
    ARGOCD_ENV_GITEA_RUNNERS_SECRETS_DIR: '/etc',
    PARAM_SECRETS_DIR: '/etc',
    ARGOCD_APP_PARAMETERS: '[{"name":"timeout","string":"0"}]',
  };

  const outcome = await runHere(['generate', '--timeout', '20'], {
    ...env,
    ...hostile,
    GITEA_RUNNERS_TIMEOUT: 'bad',
    GITEA_RUNNERS_PATH: folder,
  });

  expect(outcome).toMatchObject({ code: 0, stdout: '' });
});

describe('without any RunnerGroup', () => {
  const OTHER = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n';
  const notAsked = (command: string) => (command === 'explain' ? ', Gitea was not asked' : '');

  it.each(['explain', 'validate'])('%s says so and ends with 2; nobody is asked', async (command) => {
    const { simulator, env } = await startAcme();
    const folder = folderWith({ 'a.yaml': OTHER });

    const outcome = await runHere([command, folder], env);

    expect(outcome).toEqual({
      code: 2,
      stdout: '',
      stderr: `error: GR-INPUT-09 find RunnerGroups: no RunnerGroup in ${folder}${notAsked(command)}. Name the files or folders that hold RunnerGroups, as PATH or GITEA_RUNNERS_PATH.\n`,
    });
    expect(simulator.requests).toEqual([]);
  });

  it.each(['explain', 'validate'])('%s names those in folders below', async (command) => {
    const groups = ['1', '2', '3', '4', '5', '6', '7'].map((name) => {
      return [`${name}/ci.yaml`, groupYaml('https://gitea.example.com', '', `ci${name}`)] as const;
    });
    const folder = folderWith({ 'a.yaml': `# no RunnerGroup\n${OTHER}`, ...Object.fromEntries(groups) });

    const outcome = await runHere([command], {}, folder);

    expect(outcome).toEqual({
      code: 2,
      stdout: '',
      stderr: `error: GR-INPUT-09 find RunnerGroups: no RunnerGroup in the current folder (${folder})${notAsked(command)}. Below it are 1/ci.yaml, 2/ci.yaml, 3/ci.yaml, 4/ci.yaml, 5/ci.yaml and 2 more: add --recursive (-R), or name them.\n`,
    });
    expect((await runHere(['validate', '-R'], {}, folder)).stdout).toBe(
      '7 RunnerGroups in 8 files are valid; 6 warnings\n',
    );
  });
});

it('explain --json escapes what steers a terminal', async () => {
  const { simulator, env, folder } = await startAcme();
  simulator.gitea.push('acme/web', { jobs: [{ key: 'a\u009b2J\u202eb\u2028c', runsOn: ['gpu\u2066'] }] });

  const { stdout } = await runHere(['explain', '--json'], env, folder);

  expect(stdout).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
  expect(JSON.parse(stdout)).toMatchObject({
    jobs: [{ job: { name: 'a\u009b2J\u202eb\u2028c', labels: ['gpu\u2066'] }, missing: ['gpu\u2066'] }],
  });
});

it('-v shows requests on stderr, without the token', async () => {
  const { env, folder } = await startAcme();

  const { stderr, code } = await runHere(['explain', '-v'], env, folder);

  expect(code).toBe(0);
  expect(stderr).toMatch(/^GET http:\/\/127\.0\.0\.1:\d+\/api\/v1\/\S+ 200 \d+ ms$/m);
  expect(stderr).not.toContain(TOKEN);
});

it('an idle look is two requests: the version and the jobs', async () => {
  const { simulator, env } = await startAcme();
  const folder = folderWith({ 'ci.yaml': groupYaml(simulator.url), 'gpu.yaml': groupYaml(simulator.url, '', 'gpu') });

  await runHere(['generate'], env, folder);

  expect(simulator.requests.map(({ target }) => target.split('?')[0]).sort()).toEqual([
    '/api/v1/orgs/acme/actions/jobs',
    '/api/v1/version',
  ]);
});
