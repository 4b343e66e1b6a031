/**
 * Sweeps dead registrations once a minute (`--sweep`): one key of the queue. Without `--sweep` they are counted every ten minutes. What is
 * dead: src/tasks/sweep/choose.ts.
 */

import { describeScope } from '../clients/gitea/endpoints.ts';
import { Failure } from '../shared/failure.ts';
import { keyText } from '../shared/key-text.ts';
import { Sweeper, type SweepGroup, type SweepOutcome } from '../tasks/sweep/sweep.ts';
import { BACKGROUND } from './looks/guest.ts';
import type { TargetOf } from './looks/targets.ts';
import type { StartTask, TaskContext } from './task.ts';

export interface SweepingOptions {
  /** `GITEA_RUNNERS_INSTANCE`. */
  readonly instance: string;
  /** False: they are only counted. */
  readonly deletes: boolean;
  /** For the look at one scope, ms. */
  readonly timeoutMs: number;
}

const PAUSE_MS = 60_000;
/** A count costs each scope two or three requests. */
const COUNT_PAUSE_MS = 600_000;
/** What became of a dead row that is still there. */
const LEFT: ReadonlySet<SweepOutcome['is']> = new Set(['would-delete', 'postponed', 'failed']);
/** How long a group that is gone is remembered: its last runners end after it. */
const REMEMBERED_MS = 3_600_000;
/** Groups that are gone and remembered. */
const MOST_REMEMBERED = 1000;

/** All scopes of all Giteas, within their request budgets. */
const LONGEST_PASS_MS = 3_600_000;
const ALL = 'all';

export function sweepDeadRows(options: SweepingOptions): StartTask {
  return (context) => {
    const groups = new SweptGroups();
    let known: TargetOf | undefined;
    const sweep = sweeping(context, options, groups);
    const pauseMs = options.deletes ? PAUSE_MS : COUNT_PAUSE_MS;
    const line = context.queue.open('sweep', {
      width: 1,
      deadlineMs: LONGEST_PASS_MS,
      // Who has not asked for sweeps need not hear that they could not be done.
      onFailure: (_, failure) => options.deletes && context.tell({ is: 'sweep-failed', failure, of: 'all' }),
      backOffMs: () => pauseMs,
      run: async (_, { signal }) => {
        await sweep(signal);
        return { inMs: pauseMs };
      },
    });
    // A start is busy enough.
    line.add(ALL, options.deletes ? 0 : pauseMs);
    return ({ is }) => {
      const targetOf = context.targetOf();
      if (is !== 'round-done' || targetOf === known) return;
      known = targetOf;
      groups.exist(groupsToSweep(targetOf), context.clock.now());
    };
  };
}

/** One pass. Where looks fail nothing is swept, and where Jobs cannot be seen. */
function sweeping(
  { clock, cluster, guest, isWell, tell }: TaskContext,
  { deletes, instance, timeoutMs }: SweepingOptions,
  groups: SweptGroups,
): (signal: AbortSignal) => Promise<void> {
  const { http, versions } = guest;
  const sweeper = new Sweeper({
    instance,
    http,
    versions,
    timeoutMs,
    dryRun: !deletes,
    clock,
    queue: BACKGROUND,
    visit: (target, work) => guest.visit(target, BACKGROUND, work),
  });
  return async (signal) => {
    const readable = groups.at(clock.now()).filter(({ namespace }) => cluster.mayRead(namespace));
    const { registrations, failures } = await sweeper.pass(
      {
        groups: readable,
        areAll: true,
        mayAsk: (target) => isWell(target) && guest.pauseMs(target) === 0,
        liveJobs: async () => {
          const isSeen = cluster.fresh && readable.every(({ namespace }) => cluster.mayRead(namespace));
          return isSeen ? cluster.runners().map(({ job }) => job) : undefined;
        },
      },
      signal,
    );
    tell({ is: 'dead-registrations', rows: registrations.filter(({ outcome }) => LEFT.has(outcome.is)) });
    for (const { gitea, name, outcome } of registrations) {
      if (outcome.is === 'deleted') tell({ is: 'registration-deleted', gitea, runner: name });
    }
    for (const failure of deletes ? failures : []) tell({ is: 'sweep-failed', failure, of: 'part' });
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

/** The groups that exist and whose tokens can be used. */
function groupsToSweep(targetOf: TargetOf): readonly SweepGroup[] {
  return [...targetOf].flatMap(([{ namespace, name }, target]) =>
    target instanceof Failure ? [] : [{ namespace, name, target }],
  );
}

/** A new token takes the place of the old one, which Gitea may refuse. */
function keyOf(group: SweepGroup): string {
  return [keyText(group), group.target.url, describeScope(group.target.scope)].join(' ');
}
