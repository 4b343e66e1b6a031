/**
 * The pictures of terminals in `docs/img`, each for light and for dark pages: `node scripts/run-ts.mjs scripts/pictures.ts` writes them.
 * What they show is what `explain` and `demo` print, asked of a simulated Gitea. A test fails when one of them is out of date.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { demo, type Generate } from '../demo/demo.ts';
import { startSimulator } from '../simulator/gitea/simulator.ts';
import { runProgram } from '../src/cli/cli.ts';
import type { Io } from '../src/shared/io.ts';
import { THEMES, terminalSvg } from './terminal-svg.ts';

const COLUMNS = 100;
const START_MS = Date.UTC(2026, 10, 21, 3, 40);
const MINUTE_MS = 60_000;
const TOKEN = 'token-of-the-simulated-gitea';
/** Of the same width as the simulator's `http://127.0.0.1:12345`, so that columns stay where they are. */
const SHOWN_URL = 'http://gitea.acme.test';
const LABEL = ['linux'];

/** What is printed on a terminal meanwhile. */
async function printed(run: (io: Io) => Promise<unknown>, wanted: Partial<Io> = {}): Promise<string> {
  let text = '';
  const out = (more: string): void => {
    text += more;
  };
  await run({ env: {}, cwd: '/', terminal: true, columns: COLUMNS, now: Date.now, out, err: out, ...wanted });
  return text;
}

function group(name: string, label: string, cap: number, url: string): string {
  return `apiVersion: gitea.bpg.pw/v1alpha1
kind: RunnerGroup
metadata: {name: ${name}, namespace: runners}
spec:
  scope: org
  org: acme
  gitea: {url: "${url}"}
  containerMode: host
  labels: ["${label}:host"]
  maxActiveRunners: ${cap}
  registrationToken: {secretRef: {name: gitea-runner, key: registration-token}}
  authToken: {secretRef: {name: gitea-api, key: token}}
  resources: {requests: {cpu: 1}}
`;
}

/** Three runners at work, and jobs that wait: for a place, for a needed job, and for a label that is misspelt. */
export async function explainText(): Promise<string> {
  let nowMs = START_MS;
  const simulator = await startSimulator({ now: () => nowMs });
  const folder = mkdtempSync(join(tmpdir(), 'pictures-'));
  try {
    const { gitea, url } = simulator;
    gitea.addUser('anna');
    gitea.addOrg('acme', { owners: ['anna'] });
    for (const repo of ['web', 'api', 'docs']) gitea.addRepo(`acme/${repo}`);
    gitea.addToken('anna', ['read:organization'], TOKEN);
    writeFileSync(join(folder, 'ci.yaml'), group('ci', 'linux', 3, url));
    const env = { GITEA_URL: url, GITEA_TOKEN: TOKEN };
    const ask = (args: readonly string[], terminal: boolean) =>
      printed((io) => runProgram(args, io), { env, cwd: folder, terminal, now: () => nowMs });

    gitea.push('acme/web', { jobs: ['build', 'lint', 'unit'].map((key) => ({ key, runsOn: LABEL })) });
    const names = new Set((await ask(['generate'], false)).match(/\bci-\d+-1-[0-9a-f]{8}\b/g));
    const scope = { kind: 'owner', owner: 'acme' } as const;
    const runners = [...names].map((name) => gitea.register({ name, scope, labels: LABEL, ephemeral: true }).id);
    for (const runner of runners) gitea.poll(runner);
    nowMs += 2 * MINUTE_MS;
    gitea.push('acme/docs', { jobs: [{ key: 'pages', runsOn: ['linus'] }] });
    nowMs += MINUTE_MS;
    gitea.push('acme/api', {
      jobs: [
        { key: 'test', runsOn: LABEL },
        { key: 'deploy', runsOn: LABEL, needs: ['test'] },
      ],
    });
    nowMs += 40_000;
    for (const runner of runners) gitea.report(runner);
    return (await ask(['explain'], true)).replaceAll(url, SHOWN_URL);
  } finally {
    rmSync(folder, { recursive: true, force: true });
    await simulator.close();
  }
}

/** All that the demo prints on a terminal. */
export async function demoText(): Promise<string> {
  const generate: Generate = async (env, cwd) => {
    let exitCode = 0;
    const run = async (io: Io): Promise<void> => {
      exitCode = await runProgram(['generate'], io);
    };
    const stdout = await printed(run, { env, cwd, terminal: false, columns: 80, err: () => {} });
    return { exitCode, stdout, stderr: '' };
  };
  return await printed((io) => demo(io, { speed: 1_000_000, generate }));
}

/** The demo in the moment in which no group has the label of a job. */
function uncovered(text: string): string {
  const frames = text.split('\x1b[J').map((frame) => frame.slice(frame.indexOf('\x1b[2K')).replaceAll('\x1b[2K', ''));
  const shown = frames.find((frame) => frame.includes('no runner: labels not covered'));
  if (shown === undefined) throw new Error('the demo has no moment in which a job is not covered');
  return shown;
}

/** The end of a runner's name follows from the address of its Gitea, and the simulator has another port each time. */
function steady(text: string): string {
  return text.replaceAll(/-(\d+)(-1-[0-9a-f]{4})[0-9a-f]{4}\b/g, (_, id: string, middle: string) => {
    const end = ((Number(id) * 40_503) % 65_536).toString(16).padStart(4, '0');
    return `-${id}${middle}${end}`;
  });
}

/** File names in `docs/img`, and what is in them. */
export function pictures(explained: string, played: string): ReadonlyMap<string, string> {
  const scenes = [
    { name: 'explain', command: 'gitea-runners explain', text: steady(explained) },
    { name: 'demo', command: 'npm run demo', text: steady(uncovered(played)) },
  ];
  return new Map(
    scenes.flatMap(({ name, command, text }) =>
      THEMES.map((theme) => [`${name}-${theme}.svg`, terminalSvg({ theme, command, text, columns: COLUMNS })] as const),
    ),
  );
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  for (const [file, svg] of pictures(await explainText(), await demoText()))
    writeFileSync(join('docs', 'img', file), svg);
}
