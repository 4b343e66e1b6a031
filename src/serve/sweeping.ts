/**
 * Sweeps dead registrations once a minute while this process leads (`--sweep`). Without `--sweep` they are counted every ten minutes. What is
 * dead: src/sweep/choose.ts.
 */
import { Failure } from '../failure.ts';
import { describeScope } from '../gitea/endpoints.ts';
import type { GiteaTarget } from '../gitea/observe.ts';
import { pause } from '../http/pause.ts';
import { keyText } from '../key-text.ts';
import type { LiveJob } from '../plan/evidence.ts';
import { Sweeper, type SweepGroup, type SweepOutcome, type SweepReport } from '../sweep/sweep.ts';
import type { Tell } from './events.ts';
import { BACKGROUND } from './looks/guest.ts';
import type { Lookout } from './looks/lookout.ts';
import type { TargetOf } from './looks/targets.ts';

export interface SweepingOptions {
  readonly instance: string;
  /** False: they are only counted. */
  readonly deletes: boolean;
  /** For the look at one scope, ms. */
  readonly timeoutMs: number;
  /** Its guest sends the requests. Where its looks fail nothing is swept. */
  readonly lookout: Pick<Lookout, 'guest' | 'isWell'>;
  readonly groups: SweptGroups;
  /** False for a namespace whose Jobs cannot be seen. Its registrations stay. */
  readonly mayRead: (namespace: string) => boolean;
  /** Undefined while the copies of the cluster are not complete. */
  readonly liveJobs: () => readonly LiveJob[] | undefined;
  readonly tell: Tell;
  /** The clock of `groups`, ms. */
  readonly now: () => number;
  /** Between two passes, ms. Default: a minute, ten if they are only counted. */
  readonly pauseMs?: number;
  /** A clock that never jumps, ms. */
  readonly steadyMs?: () => number;
}

const PAUSE_MS = 60_000;
/** A count costs each scope two or three requests. */
const COUNT_PAUSE_MS = 600_000;
/** How long a group that is gone is remembered: its last runners end after it. */
const REMEMBERED_MS = 3_600_000;
/** Groups that are gone and remembered. */
const MOST_REMEMBERED = 1000;

/** The groups whose registrations are swept: those that exist, and those that went not long ago. */
export class SweptGroups {
  #existing: readonly SweepGroup[] = [];
  /** Since when each is gone, the latest last. */
  readonly #gone = new Map<string, { readonly group: SweepGroup; readonly sinceMs: number }>();

  /** To be told at each change, not once per pass: a group may come and go between two passes, and its runners leave rows. */
  exist(groups: readonly SweepGroup[], nowMs: number): void {
    const keys = new Set(groups.map(keyOf));
    for (const group of this.#existing)
      if (!keys.has(keyOf(group))) this.#gone.set(keyOf(group), { group, sinceMs: nowMs });
    for (const key of keys) this.#gone.delete(key);
    for (const key of [...this.#gone.keys()].slice(0, -MOST_REMEMBERED)) this.#gone.delete(key);
    this.#existing = groups;
  }

  at(nowMs: number): readonly SweepGroup[] {
    for (const [key, { sinceMs }] of this.#gone) if (nowMs - sinceMs > REMEMBERED_MS) this.#gone.delete(key);
    return [...this.#existing, ...[...this.#gone.values()].map(({ group }) => group)];
  }
}

/** The groups that exist and whose tokens can be used. */
export function groupsToSweep(targetOf: TargetOf): readonly SweepGroup[] {
  return [...targetOf].flatMap(([{ namespace, name }, target]) =>
    target instanceof Failure ? [] : [{ namespace, name, target }],
  );
}

/** What became of a dead row that is still there. */
const LEFT: ReadonlySet<SweepOutcome['is']> = new Set(['would-delete', 'postponed', 'failed']);

/** Runs until `signal` is aborted. */
export async function sweepAgainAndAgain(options: SweepingOptions, signal: AbortSignal): Promise<void> {
  const { deletes, instance, lookout, now, timeoutMs } = options;
  const { pauseMs = deletes ? PAUSE_MS : COUNT_PAUSE_MS, steadyMs = () => performance.now() } = options;
  const { guest } = lookout;
  const { http, versions } = guest;
  const sweeper = new Sweeper({
    instance,
    http,
    versions,
    timeoutMs,
    dryRun: !deletes,
    nowMs: steadyMs,
    queue: BACKGROUND,
    visit: (target, work) => guest.visit(target, BACKGROUND, work),
  });
  const mayAsk = (target: GiteaTarget): boolean => lookout.isWell(target) && guest.pauseMs(target) === 0;
  // A start is busy enough.
  if (!deletes) await pause(pauseMs, signal);
  while (!signal.aborted) {
    const groups = options.groups.at(now()).filter(({ namespace }) => options.mayRead(namespace));
    const liveJobs = async () =>
      groups.every(({ namespace }) => options.mayRead(namespace)) ? options.liveJobs() : undefined;
    await onePass(() => sweeper.pass({ groups, areAll: true, mayAsk, liveJobs }, signal), options, signal);
    await pause(pauseMs, signal);
  }
}

async function onePass(
  pass: () => Promise<SweepReport>,
  { deletes, tell }: SweepingOptions,
  signal: AbortSignal,
): Promise<void> {
  try {
    const { registrations, failures } = await pass();
    tell({ is: 'dead-registrations', rows: registrations.filter(({ outcome }) => LEFT.has(outcome.is)) });
    for (const { gitea, name, outcome } of registrations) {
      if (outcome.is === 'deleted') tell({ is: 'registration-deleted', gitea, runner: name });
    }
    // Who has not asked for sweeps need not hear that they could not be done.
    for (const failure of deletes ? failures : []) tell({ is: 'sweep-failed', failure, of: 'part' });
  } catch (error) {
    // Leadership has ended, and the connections with it.
    if (signal.aborted) return;
    if (!(error instanceof Failure)) throw error;
    if (deletes) tell({ is: 'sweep-failed', failure: error, of: 'all' });
  }
}

/** A new token takes the place of the old one, which Gitea may refuse. */
function keyOf(group: SweepGroup): string {
  return [keyText(group), group.target.url, describeScope(group.target.scope)].join(' ');
}
