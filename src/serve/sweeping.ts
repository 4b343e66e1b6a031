/** Sweeps dead registrations once a minute while this process leads (`--sweep`). What is dead: src/sweep/choose.ts. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Failure } from '../failure.ts';
import { type GiteaTarget, giteaClient } from '../gitea/observe.ts';
import type { LiveJob } from '../plan/evidence.ts';
import { Sweeper, type SweepGroup, type SweepReport } from '../sweep/sweep.ts';
import type { Tell } from './events.ts';
import type { LookoutOptions } from './looks/lookout.ts';

export interface SweepingOptions {
  readonly instance: string;
  readonly lookout: Pick<LookoutOptions, 'ca' | 'timeoutMs'>;
  readonly env: LookoutOptions['env'];
  /** The groups that exist now. */
  readonly groups: () => readonly SweepGroup[];
  /** Undefined while the copies of the cluster are not complete. */
  readonly liveJobs: () => readonly LiveJob[] | undefined;
  readonly tell: Tell;
}

const PAUSE_MS = 60_000;
/** Passes for which a group is remembered that is gone: its last runners end after it. */
const REMEMBERED_PASSES = 60;

/** Runs until `signal` is aborted. */
export async function sweepAgainAndAgain(options: SweepingOptions, signal: AbortSignal): Promise<void> {
  const { ca, timeoutMs } = options.lookout;
  const { env, instance, tell } = options;
  const http = giteaClient({ deadlineMs: timeoutMs, env, ...(ca !== undefined && { ca }) });
  const sweeper = new Sweeper({ instance, http, timeoutMs, nowMs: () => performance.now() });
  // A Gitea that hangs must not keep the process.
  signal.addEventListener('abort', () => void http.close(), { once: true });
  const known = new Map<string, { readonly group: SweepGroup; readonly pass: number }>();
  try {
    for (let pass = 1; !signal.aborted; pass += 1) {
      for (const group of options.groups()) known.set(keyOf(group), { group, pass });
      for (const [key, { pass: seen }] of known) if (pass - seen > REMEMBERED_PASSES) known.delete(key);
      const groups = [...known.values()].map(({ group }) => group);
      const scene = { groups, areAll: true, liveJobs: async () => options.liveJobs() };
      await onePass(() => sweeper.pass(scene, signal), tell, signal);
      await sleep(PAUSE_MS, undefined, { signal }).catch(() => undefined);
    }
  } finally {
    await http.close();
  }
}

async function onePass(pass: () => Promise<SweepReport>, tell: Tell, signal: AbortSignal): Promise<void> {
  try {
    const { registrations, failures } = await pass();
    for (const { gitea, name, outcome } of registrations) {
      if (outcome.is === 'deleted') tell({ is: 'registration-deleted', gitea, runner: name });
    }
    for (const failure of failures) tell({ is: 'sweep-failed', failure, of: 'part' });
  } catch (error) {
    // Leadership has ended, and the connections with it.
    if (signal.aborted) return;
    if (!(error instanceof Failure)) throw error;
    tell({ is: 'sweep-failed', failure: error, of: 'all' });
  }
}

function keyOf({ namespace, name, target }: SweepGroup & { readonly target: GiteaTarget }): string {
  return `${namespace}/${name} ${target.key}`;
}
