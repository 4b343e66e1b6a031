/** Sweeps dead registrations once a minute while this process leads (`--sweep`). What is dead: src/sweep/choose.ts. */
import { type Clock, pause } from '../clock.ts';
import { Failure } from '../failure.ts';
import { describeScope } from '../gitea/endpoints.ts';
import type { GiteaTarget } from '../gitea/observe.ts';
import { keyText } from '../key-text.ts';
import type { LiveJob } from '../plan/evidence.ts';
import { Sweeper, type SweepGroup, type SweepReport } from '../sweep/sweep.ts';
import type { Tell } from './events.ts';
import { BACKGROUND } from './looks/guest.ts';
import type { Lookout } from './looks/lookout.ts';
import type { TargetOf } from './looks/targets.ts';

export interface SweepingOptions {
  readonly instance: string;
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
  readonly clock: Clock;
  /** Between two passes, ms. Default: a minute. */
  readonly pauseMs?: number;
}

const PAUSE_MS = 60_000;
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

/** Runs until `signal` is aborted. */
export async function sweepAgainAndAgain(options: SweepingOptions, signal: AbortSignal): Promise<void> {
  const { clock, instance, lookout, pauseMs = PAUSE_MS, tell, timeoutMs } = options;
  const { guest } = lookout;
  const { http, versions } = guest;
  const sweeper = new Sweeper({
    instance,
    http,
    versions,
    timeoutMs,
    clock,
    queue: BACKGROUND,
    visit: (target, work) => guest.visit(target, BACKGROUND, work),
  });
  const mayAsk = (target: GiteaTarget): boolean => lookout.isWell(target) && guest.pauseMs(target) === 0;
  while (!signal.aborted) {
    const groups = options.groups.at(clock.now()).filter(({ namespace }) => options.mayRead(namespace));
    const liveJobs = async () =>
      groups.every(({ namespace }) => options.mayRead(namespace)) ? options.liveJobs() : undefined;
    await onePass(() => sweeper.pass({ groups, areAll: true, mayAsk, liveJobs }, signal), tell, signal);
    await pause(clock, pauseMs, signal);
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

/** A new token takes the place of the old one, which Gitea may refuse. */
function keyOf(group: SweepGroup): string {
  return [keyText(group), group.target.url, describeScope(group.target.scope)].join(' ');
}
