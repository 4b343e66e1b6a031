/**
 * `gitea-runners demo`: the whole product on this machine. Gitea is simulated, so are Argo CD and Kubernetes; `generate`
 * is the real one, run again and again over a real folder.
 *
 *     commit, push ─► Gitea (simulated) ◄─ looks ─ generate ─ Jobs ─► Argo CD + pods (in demo/cluster.ts)
 *                          ▲                                                   │
 *                          └──────── runners register, take jobs, end ◄────────┘
 */
import { rmSync } from 'node:fs';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Failure } from '../failure.ts';
import { type Simulator, startSimulator } from '../simulator/simulator.ts';
import { readJobs } from './demo/manifests.ts';
import { openScreen, type Screen } from './demo/screen.ts';
import { type CommittedGroup, LONGEST_MS, NAMESPACE, ORG, SYNC_EVERY_MS } from './demo/story.ts';
import { summarize } from './demo/summary.ts';
import { DemoWorld } from './demo/world.ts';
import type { ExitCode, Io } from './io.ts';

/** Runs the real `generate` in a folder and catches what it prints. */
export type Generate = (
  env: Record<string, string>,
  cwd: string,
) => Promise<{ readonly exitCode: number; readonly stdout: string; readonly stderr: string }>;

export interface DemoOptions {
  /** Story seconds for each real second; default 1. */
  readonly speed?: number;
  readonly generate: Generate;
}

/** Ctrl-C, a stop from outside, a closed terminal. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** The token of the demo's simulated Gitea; it opens nothing else. */
const DEMO_TOKEN = 'demo-token-of-the-simulated-gitea';

/** A folder like a person's: RunnerGroups in `groups/`, the Secret as it is mounted into the sidecar in `secrets/`. */
async function prepareFolder(folder: string, simulator: Simulator): Promise<void> {
  const secret = join(folder, 'secrets', NAMESPACE, 'gitea-api');
  await mkdir(join(folder, 'groups'), { recursive: true });
  await mkdir(secret, { recursive: true });
  await writeFile(join(secret, 'token'), DEMO_TOKEN, { mode: 0o600 });
  await writeFile(join(secret, 'url'), simulator.url);
}

function prepareGitea({ gitea }: Simulator): void {
  gitea.addUser('anna');
  gitea.addOrg(ORG, { owners: ['anna'] });
  for (const repo of ['web', 'api', 'docs']) gitea.addRepo(`${ORG}/${repo}`);
  gitea.addToken('anna', ['read:organization'], DEMO_TOKEN);
}

interface Stage {
  readonly world: DemoWorld;
  readonly screen: Screen;
  readonly folder: string;
  readonly generate: Generate;
  readonly stopped: AbortSignal;
  readonly speed: number;
}

/** Runs `generate` once and lets Argo CD act on it. As in Argo CD, nothing is touched when it fails. @returns its stderr then. */
async function look({ world, folder, generate }: Stage): Promise<string | undefined> {
  const env = { GITEA_RUNNERS_SECRETS_DIR: join(folder, 'secrets'), GITEA_RUNNERS_CLUSTER: 'off' };
  const { exitCode, stdout, stderr } = await generate(env, join(folder, 'groups'));
  if (exitCode !== 0) return stderr;
  world.sync(readJobs(stdout));
  return undefined;
}

/** Plays the story to its end. @returns how often `generate` ran. @throws Failure with its stderr when it fails three times. */
async function play(stage: Stage): Promise<number> {
  const { world, screen, folder, stopped, speed } = stage;
  const startedMs = performance.now();
  const commit = (group: CommittedGroup) =>
    writeFile(join(folder, 'groups', `${group.name}.yaml`), group.yaml(world.simulator.url));
  let looks = 0;
  let failures = 0;
  let nextLookMs = 0;
  while (!stopped.aborted && !world.isOver() && world.nowMs < LONGEST_MS) {
    await world.step(commit);
    if (world.nowMs >= nextLookMs) {
      nextLookMs = world.nowMs + SYNC_EVERY_MS;
      const error = await look(stage);
      looks += 1;
      failures = error === undefined ? 0 : failures + 1;
      if (error !== undefined) world.tell('generate', `fails: ${error.split('\n')[0]}; Argo CD touches nothing`);
      if (failures >= 3) throw new Failure('GR-DEMO-01', 1, `generate failed three times in a row:\n${error}`);
    }
    screen.draw(world);
    // Against the clock, so that the time that generate takes does not add up.
    const earlyMs = startedMs + world.nowMs / speed - performance.now();
    await sleep(Math.max(0, earlyMs), undefined, { signal: stopped }).catch(() => {});
  }
  screen.draw(world);
  return looks;
}

/**
 * Plays the demo: about 15 s at speed 1. Exit 0 when all CI jobs succeeded, none was killed, nothing is left and no cap
 * was exceeded; else 1, also after Ctrl-C. Temporary files and the server are gone in any case.
 */
export async function demo(io: Io, { speed = 1, generate }: DemoOptions): Promise<ExitCode> {
  const startMs = Math.floor(io.now() / 1000) * 1000;
  const interrupt = new AbortController();
  const onSignal = () => interrupt.abort();
  for (const signal of SIGNALS) process.once(signal, onSignal);
  const folder = await mkdtemp(join(tmpdir(), 'gitea-runners-demo-'));
  // Also when writing to a closed terminal ends the process at once.
  const removeFolder = () => rmSync(folder, { recursive: true, force: true });
  process.once('exit', removeFolder);
  let nowMs = () => 0;
  const simulator = await startSimulator({ now: () => startMs + nowMs() });
  const screen = openScreen(io);
  try {
    const world = new DemoWorld(simulator);
    nowMs = () => world.nowMs;
    prepareGitea(simulator);
    await prepareFolder(folder, simulator);
    const stopped = interrupt.signal;
    const looks = await play({ world, screen, folder, generate, stopped, speed });
    screen.close();
    if (stopped.aborted) {
      io.err('demo: stopped by a signal; server and temporary files are gone.\n');
      return 1;
    }
    const { good, lines } = summarize(world, looks);
    io.out(`\n${lines.join('\n')}\n`);
    return good ? 0 : 1;
  } finally {
    screen.close();
    for (const signal of SIGNALS) process.off(signal, onSignal);
    await simulator.close();
    removeFolder();
    process.off('exit', removeFolder);
  }
}
