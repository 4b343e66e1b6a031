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
import { type Simulator, startSimulator } from '../simulator/gitea/simulator.ts';
import { pause, systemClock } from '../src/shared/clock.ts';
import { Failure } from '../src/shared/failure.ts';
import type { ExitCode, Io } from '../src/shared/io.ts';
import { wantedJobs } from './manifests.ts';
import { openScreen, type Screen } from './screen.ts';
import { type CommittedGroup, LONGEST_MS, NAMESPACE, ORG, SYNC_EVERY_MS } from './story.ts';
import { summarize } from './summary.ts';
import { DemoWorld } from './world.ts';

/** Runs the real `generate` in a folder and catches what it prints. */
export type Generate = (
  env: Record<string, string>,
  cwd: string,
) => Promise<{ readonly exitCode: number; readonly stdout: string; readonly stderr: string }>;

export interface DemoOptions {
  /** Story seconds for each real second; default 1. */
  readonly speed?: number;
  readonly generate: Generate;
  /** Runs the real `explain --state unserved` in the same way. Absent: it is not shown. */
  readonly explain?: Generate;
}

/** Ctrl-C, a stop from outside, a closed terminal. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const CODES: Readonly<Partial<Record<NodeJS.Signals, ExitCode>>> = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 };

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
  readonly explain: Generate | undefined;
  readonly stopped: AbortSignal;
  readonly speed: number;
}

/** What came of a story. */
interface Played {
  /** How often `generate` ran. */
  readonly looks: number;
  /** What `explain` said when no group covered a job. */
  readonly explained: string | undefined;
}

/** Runs `generate` once and lets Argo CD act on it. As in Argo CD, nothing is touched when it fails. @returns its stderr then. */
async function look({ world, folder, generate }: Stage): Promise<string | undefined> {
  const env = environment(folder);
  const { exitCode, stdout, stderr } = await generate(env, join(folder, 'groups'));
  if (exitCode !== 0) return stderr;
  world.sync(wantedJobs(stdout));
  return undefined;
}

function environment(folder: string): Record<string, string> {
  return { GITEA_RUNNERS_SECRETS_DIR: join(folder, 'secrets'), GITEA_RUNNERS_CLUSTER: 'off' };
}

/** Asks `explain` once, as a person would who sees a job wait. @returns what it printed; undefined: it is not time yet. */
async function askExplain({ world, folder, explain }: Stage): Promise<string | undefined> {
  if (world.chapter !== 'uncovered' || !explain) return undefined;
  return (await explain(environment(folder), join(folder, 'groups'))).stdout;
}

/** Plays the story to its end. @throws Failure with its stderr when it fails three times. */
async function play(stage: Stage): Promise<Played> {
  const { world, screen, folder, stopped, speed } = stage;
  const startedMs = performance.now();
  const commit = (group: CommittedGroup) =>
    writeFile(join(folder, 'groups', `${group.name}.yaml`), group.yaml(world.simulator.url));
  let looks = 0;
  let failures = 0;
  let nextLookMs = 0;
  let explained: string | undefined;
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
    explained ??= await askExplain(stage);
    // Against the clock, so that the time that generate takes does not add up.
    const earlyMs = startedMs + world.nowMs / speed - performance.now();
    await pause(systemClock, Math.max(0, earlyMs), stopped);
  }
  screen.draw(world);
  return { looks, explained };
}

/**
 * Plays the demo: about 15 s at speed 1. Exit 0 when all CI jobs succeeded, none was killed, nothing is left and no cap was exceeded.
 * Otherwise exit 1; after a signal 128 and its number, as shells count. Temporary files and the server are gone in any case.
 */
export async function demo(io: Io, { speed = 1, generate, explain }: DemoOptions): Promise<ExitCode> {
  const startMs = Math.floor(io.now() / 1000) * 1000;
  const interrupt = new AbortController();
  let code: ExitCode = 130;
  const onSignal = (signal: NodeJS.Signals) => {
    code = CODES[signal] ?? code;
    interrupt.abort();
  };
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
    const { looks, explained } = await play({ world, screen, folder, generate, explain, stopped, speed });
    screen.close();
    if (stopped.aborted) {
      io.err('demo: stopped by a signal; server and temporary files are gone.\n');
      return code;
    }
    if (explained !== undefined)
      io.out(`\n$ gitea-runners explain --state unserved   (while "train" had no group)\n\n${explained}`);
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
