import type { Clock } from '../../shared/clock.ts';
import { groupBySeveral, keepOnly } from '../../shared/keys.ts';
import type { WorkQueue } from '../queue/work-queue.ts';

/** The queue of all requests that do not belong to looks, such as those of sweeps. */
export const BACKGROUND = 'background';

/** Unused budget that is saved, as time, ms. A Gitea that was idle gets so many requests at once. */
const SAVED_MS = 5_000;
const BACKGROUND_SHARE = 0.1;

/**
 * Decides when the next visit of one Gitea may begin, so that all visits together send no more than so many requests per second.
 *
 *   the target has paid for its last look ... at once: every target earns its share of the rate
 *   the Gitea has requests to spare ......... at once, in the order of asking: what others do not use
 *   else .................................... as soon as one of both is true
 *
 * So a look of many requests delays the next look at its own target only. Namespaces have equal shares, and the targets of a namespace
 * share what it has: a hundred groups in one namespace do not delay a group in another one. What is asked besides looks has a tenth.
 */
export type RequestBudget = ReturnType<typeof requestBudget>;

/** Makes the budget of one Gitea. @param requestMs time between two requests, if all are sent at an even pace */
export function requestBudget(requestMs: number, clock: Clock) {
  /** When each target has earned its requested looks, and when all of them together have. */
  const paidMs = new Map<string, number>();
  let allPaidMs = 0;
  let shares: ReadonlyMap<string, number> = new Map();
  return {
    /** The targets from now on, each with the namespaces whose groups need it. */
    share: (namespacesOf: ReadonlyMap<string, ReadonlySet<string>>): void => {
      shares = sharesOf(namespacesOf);
      keepOnly(paidMs, shares);
    },

    /** A visit has made so many requests. Below 0: fewer than were paid for. */
    spend: (key: string, requests: number): void => {
      const nowMs = clock.steadyMs();
      const costMs = requests * requestMs;
      allPaidMs = Math.max(allPaidMs, nowMs) + costMs;
      // A target that is gone need not wait: its look ends before it begins.
      const share = shares.get(key) ?? 1;
      paidMs.set(key, Math.max(paidMs.get(key) ?? 0, nowMs) + costMs / share);
    },

    targets: () => shares.size - 1,

    /** Returns when a visit of this target may begin if no other visit waits. */
    startMs: (key: string): number => Math.min(paidMs.get(key) ?? 0, allPaidMs + requestMs - SAVED_MS),
  };
}

/** A wait for a budget. `lane`: that of the queue, one for each Gitea. `name`: the key as the printed queue shows it. */
type Visit = Readonly<{ budget: RequestBudget; queue: string; lane: string; name: string }>;

/** The visits that wait for a budget: a class of the queue. */
export function budgetTurns(queue: WorkQueue, clock: Clock) {
  const waiting = new Map<string, Visit & { readonly go: () => void; readonly stop: (reason: unknown) => void }>();
  let count = 0;
  let isClosed = false;
  const line = queue.open('budget', {
    nameOf: (key) => waiting.get(key)?.name ?? key,
    laneOf: (key) => waiting.get(key)?.lane ?? key,
    freeMs: (key) => {
      const visit = waiting.get(key);
      return visit ? visit.budget.startMs(visit.queue) : 0;
    },
    width: Number.POSITIVE_INFINITY,
    deadlineMs: 1_000,
    run: async (key) => {
      const visit = waiting.get(key);
      visit?.budget.spend(visit.queue, 1);
      visit?.go();
      return undefined;
    },
  });

  const wait = async (visit: Visit, signal?: AbortSignal): Promise<void> => {
    if (isClosed) throw new Error('closed');
    count += 1;
    const key = String(count);
    try {
      await new Promise<void>((go, stop) => {
        waiting.set(key, { ...visit, go, stop });
        signal?.addEventListener('abort', () => stop(signal.reason), { once: true });
        line.add(key);
      });
    } finally {
      waiting.delete(key);
      line.set(key, undefined);
    }
  };

  return {
    /** Resolves when the visit may begin; its first request is then paid for. Answers how long it has waited, ms. */
    take: async (visit: Visit, signal?: AbortSignal): Promise<number> => {
      signal?.throwIfAborted();
      const sinceMs = clock.steadyMs();
      const isFirst = ![...waiting.values()].some(({ budget }) => budget === visit.budget);
      if (isFirst && visit.budget.startMs(visit.queue) <= sinceMs) visit.budget.spend(visit.queue, 1);
      else await wait(visit, signal);
      return clock.steadyMs() - sinceMs;
    },

    /** The targets have changed, so some visits may begin sooner. */
    freed: () => line.freed(),

    close: (): void => {
      isClosed = true;
      line.close();
      for (const { stop } of waiting.values()) stop(new Error('closed'));
    },
  };
}

function sharesOf(namespacesOf: ReadonlyMap<string, ReadonlySet<string>>): ReadonlyMap<string, number> {
  const shares = new Map([[BACKGROUND, BACKGROUND_SHARE]]);
  const targetsIn = groupBySeveral([...namespacesOf], ([, namespaces]) => [...namespaces]);
  for (const targets of targetsIn.values()) {
    const share = (1 - BACKGROUND_SHARE) / (targetsIn.size * targets.length);
    for (const [key] of targets) shares.set(key, (shares.get(key) ?? 0) + share);
  }
  return shares;
}
