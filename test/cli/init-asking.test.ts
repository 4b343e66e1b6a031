/** `init` at a terminal: what it asks. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { asking, init } from '../../src/cli/commands/init.ts';
import { type AskPerson, answersOf } from '../../src/cli/init/answers.ts';
import { folderWith } from '../support/run-cli.ts';

const GIT = 'https://gitea.example.com/ops/runners.git';

it('init asks for each value without a flag, and offers the default', async () => {
  const asked: string[] = [];
  const given: Record<string, string> = { 'URL of Gitea': 'https://g.example.com', Repository: 'acme/web', Git: GIT };
  const ask: AskPerson = async (question, byDefault) => {
    asked.push(byDefault ?? '');
    if (question.startsWith('Whose')) return 'repo';
    return Object.entries(given).find(([begin]) => question.startsWith(begin))?.[1] ?? '';
  };

  const answers = await answersOf({ cap: '3' }, { env: {} } as never, ask, () => []);

  expect(answers).toMatchObject({
    gitea: 'https://g.example.com',
    scope: { scope: 'repo', repo: 'acme/web' },
    group: 'ci',
    cap: 3,
    mode: 'dind-rootless',
    registration: 'pod',
    git: GIT,
  });
  expect(asked).toEqual(['', 'org', '', 'ci', 'dind-rootless', 'pod', '']);
});

/** A person at a terminal who gives these answers, one after the other. */
async function typed(folder: string, ...answers: readonly string[]) {
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  const stdout = Object.assign(new PassThrough(), { isTTY: true, columns: 200 });
  const left = [...answers];
  let screen = '';
  stdout.on('data', (text: Buffer) => {
    screen += text;
    if (/: (?:.\[\d+G)?$/.test(screen)) setImmediate(() => stdin.write(left.shift() ?? '\u0003'));
  });
  const print = (text: string): void => {
    screen += text;
  };
  const io = { env: {}, cwd: folder, terminal: true, columns: 200, now: Date.now, out: print, err: print };
  const code = await asking(io, (ask) => init('.', {}, io, ask), { stdin, stdout } as never);
  return { code, screen };
}

it('init asks again when an answer cannot be used, and says why', async () => {
  const folder = folderWith({});

  const { code, screen } = await typed(
    folder,
    ...['gitea.example.com\r', 'https://gitea.example.com\r', 'team\r', 'repo\r', 'acme\r', 'acme/web\r'],
    ...['\r', 'many\r', '3\r', '\r', 'argocd\r', '\r', '\r', `${GIT}\r`],
  );

  expect(code, screen).toBe(0);
  expect(screen).toContain('\nIt must be an http or https URL');
  expect(screen).toContain('\nIt must be global, org, user or repo');
  expect(screen).toContain('\nIt must be OWNER/NAME, not "acme"');
  expect(screen).toContain('\nIt must be pod, serve or bound');
  expect(screen).toContain('an answer is needed');
  expect(parse(readFileSync(join(folder, 'groups/ci.yaml'), 'utf8'))).toMatchObject({
    spec: { repo: 'acme/web', maxActiveRunners: 3 },
  });
});

it.each(['\u0003', '\u0004'])(
  'init is stopped by %j, writes nothing and does not report a defect of the program',
  async (key) => {
    const folder = folderWith({});

    const { code, screen } = await typed(folder, 'https://gitea.example.com\r', key);

    expect(code, screen).toBe(130);
    expect(screen).toMatch(/\nStopped\. Nothing was written\.\n$/);
    expect(readdirSync(folder)).toEqual([]);
  },
);
