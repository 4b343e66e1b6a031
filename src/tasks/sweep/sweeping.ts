/**
 * Sweeps dead registrations once a minute (`--sweep`): one key of the queue. Without `--sweep` they are counted every ten minutes. What is
 * dead: src/tasks/sweep/choose.ts.
 */

import { describeScope } from '../../clients/gitea/endpoints.ts';
import type { GiteaTarget } from '../../clients/gitea/observe.ts';
import { BACKGROUND } from '../../serve/looks/guest.ts';
import type { TargetOf } from '../../serve/looks/targets.ts';
import type { Again, Turn } from '../../serve/queue.ts';
import type { StartTask } from '../../serve/task.ts';
import { Failure } from '../../shared/failure.ts';
import { keyText } from '../../shared/key-text.ts';
import { Sweeper, type SweepGroup, type SweepOutcome } from './sweep.ts';

interface SweepingOptions {
  readonly instance: string;
  /** False: they are only counted. */
  readonly deletes: boolean;
  readonly timeoutMs: number;
}

const PAUSE_MS = 60_000;
/** A count costs each scope two or three requests. */
const COUNT_PAUSE_MS = 600_000;
/** What became of a dead row that is still there. */
const LEFT: ReadonlySet<SweepOutcome['is']> = new Set(['would-delete', 'postponed', 'failed']);
/** How long a group that is gone is remembered: its last runners end after it. */
const REMEMBERED_MS = 3_600_000;
const MOST_REMEMBERED = 1000;
/** All scopes of all Giteas, within their request budgets. */
const LONGEST_PASS_MS = 3_600_000;
const ALL = 'all';

export function sweepDeadRows({ deletes, instance, timeoutMs }: SweepingOptions): StartTask {
  return ({ clock, cluster, guest, isWell, queue, targetOf, tell }) => {
    const groups = new SweptGroups();
    let known: TargetOf | undefined;
    const pauseMs = deletes ? PAUSE_MS : COUNT_PAUSE_MS;
    const sweeper = new Sweeper({
      instance,
      http: guest.http,
      versions: guest.versions,
      timeoutMs,
      dryRun: !deletes,
      clock,
      queue: BACKGROUND,
      visit: (target, work) => guest.visit(target, BACKGROUND, work),
    });
    /** Where looks fail nothing is swept, and where Jobs cannot be seen. */
    const sweep = async (_: string, { signal }: Turn): Promise<Again> => {
      const readable = groups.at(clock.now()).filter(({ namespace }) => cluster.mayRead(namespace));
      const liveJobs = async () => {
        const isSeen = cluster.fresh && readable.every(({ namespace }) => cluster.mayRead(namespace));
        return isSeen ? cluster.runners().map(({ job }) => job) : undefined;
      };
      const mayAsk = (target: GiteaTarget): boolean => isWell(target) && guest.pauseMs(target) === 0;
      const found = await sweeper.pass({ groups: readable, areAll: true, mayAsk, liveJobs }, signal);
      const { registrations, failures } = found;
      tell({ is: 'dead-registrations', rows: registrations.filter(({ outcome }) => LEFT.has(outcome.is)) });
      for (const { gitea, name, outcome } of registrations) {
        if (outcome.is === 'deleted') tell({ is: 'registration-deleted', gitea, runner: name });
      }
      for (const failure of deletes ? failures : []) tell({ is: 'sweep-failed', failure, of: 'part' });
      return { inMs: pauseMs };
    };
    const line = queue.open('sweep', {
      width: 1,
      deadlineMs: LONGEST_PASS_MS,
      // Who has not asked for sweeps need not hear that they could not be done.
      onFailure: (_, failure) => deletes && tell({ is: 'sweep-failed', failure, of: 'all' }),
      backOffMs: () => pauseMs,
      run: sweep,
    });
    // A start is busy enough.
    line.add(ALL, deletes ? 0 : pauseMs);
    return ({ is }) => {
      const now = targetOf();
      if (is !== 'round-done' || now === known) return;
      known = now;
      groups.exist(groupsToSweep(now), clock.now());
    };
  };
}

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

function groupsToSweep(targetOf: TargetOf): readonly SweepGroup[] {
  return [...targetOf].flatMap(([{ namespace, name }, target]) =>
    target instanceof Failure ? [] : [{ namespace, name, target }],
  );
}

/** A new token takes the place of the old one, which Gitea may refuse. */
function keyOf(group: SweepGroup): string {
  return [keyText(group), group.target.url, describeScope(group.target.scope)].join(' ');
}
