import type { Clock } from '../../shared/clock.ts';
import { groupBySeveral, keepOnly } from '../../shared/keys.ts';
import type { KeyQueue, WorkQueue } from '../queue/work-queue.ts';

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
export class RequestBudget {
  readonly #requestMs: number;
  readonly #clock: Clock;
  /** When each target has earned its requested looks, and when all of them together have. */
  readonly #paidMs = new Map<string, number>();
  #allPaidMs = 0;
  #shares: ReadonlyMap<string, number> = new Map();

  /** @param requestMs what one request costs of the time of all */
  constructor(requestMs: number, clock: Clock) {
    this.#requestMs = requestMs;
    this.#clock = clock;
  }

  /** The targets from now on, each with the namespaces whose groups need it. */
  share(namespacesOf: ReadonlyMap<string, ReadonlySet<string>>): void {
    this.#shares = sharesOf(namespacesOf);
    keepOnly(this.#paidMs, this.#shares);
  }

  /** A visit has made so many requests. Below 0: fewer than were paid for. */
  spend(key: string, requests: number): void {
    const nowMs = this.#clock.steadyMs();
    const costMs = requests * this.#requestMs;
    this.#allPaidMs = Math.max(this.#allPaidMs, nowMs) + costMs;
    // A target that is gone may go at once: its look ends before it begins.
    const share = this.#shares.get(key) ?? 1;
    this.#paidMs.set(key, Math.max(this.#paidMs.get(key) ?? 0, nowMs) + costMs / share);
  }

  get targets(): number {
    return this.#shares.size - 1;
  }

  /** Returns when a visit of this target may begin if no other visit waits. */
  startMs(key: string): number {
    return Math.min(this.#paidMs.get(key) ?? 0, this.#allPaidMs + this.#requestMs - SAVED_MS);
  }
}

interface Visit {
  readonly budget: RequestBudget;
  readonly queue: string;
  /** The lane of the queue: one for each Gitea. */
  readonly lane: string;
  /** Name of the key in the printed queue. */
  readonly name: string;
}

/** The visits that wait for a budget: a class of the queue. */
export class BudgetTurns {
  readonly #clock: Clock;
  readonly #line: KeyQueue;
  readonly #waiting = new Map<string, Visit & { readonly go: () => void; readonly stop: (reason: unknown) => void }>();
  #count = 0;
  #isClosed = false;

  constructor(queue: WorkQueue, clock: Clock) {
    this.#clock = clock;
    this.#line = queue.open('budget', {
      nameOf: (key) => this.#waiting.get(key)?.name ?? key,
      laneOf: (key) => this.#waiting.get(key)?.lane ?? key,
      freeMs: (key) => {
        const visit = this.#waiting.get(key);
        return visit ? visit.budget.startMs(visit.queue) : 0;
      },
      width: Number.POSITIVE_INFINITY,
      deadlineMs: 1_000,
      run: async (key) => {
        this.#waiting.get(key)?.go();
        return undefined;
      },
    });
  }

  /** Resolves when the visit may begin; its first request is then paid for. Answers how long it has waited, ms. */
  async take(visit: Visit, signal?: AbortSignal): Promise<number> {
    signal?.throwIfAborted();
    const sinceMs = this.#clock.steadyMs();
    const isFirst = ![...this.#waiting.values()].some(({ budget }) => budget === visit.budget);
    if (isFirst && visit.budget.startMs(visit.queue) <= sinceMs) visit.budget.spend(visit.queue, 1);
    else await this.#wait(visit, signal);
    return this.#clock.steadyMs() - sinceMs;
  }

  /** The targets have changed, so some visits may begin sooner. */
  freed(): void {
    this.#line.freed();
  }

  close(): void {
    this.#isClosed = true;
    this.#line.close();
    for (const { stop } of this.#waiting.values()) stop(new Error('closed'));
  }

  async #wait(visit: Visit, signal?: AbortSignal): Promise<void> {
    this.#count += 1;
    const key = String(this.#count);
    const turn = new Promise<void>((resolve, stop) => {
      const go = (): void => {
        visit.budget.spend(visit.queue, 1);
        resolve();
      };
      this.#waiting.set(key, { ...visit, go, stop });
      signal?.addEventListener('abort', () => stop(signal.reason), { once: true });
      if (this.#isClosed) stop(new Error('closed'));
    });
    this.#line.add(key);
    try {
      await turn;
    } finally {
      this.#waiting.delete(key);
      this.#line.set(key, undefined);
    }
  }
}

function sharesOf(namespacesOf: ReadonlyMap<string, ReadonlySet<string>>): ReadonlyMap<string, number> {
  const targets = groupBySeveral([...namespacesOf], ([, namespaces]) => [...namespaces]);
  const shareIn = (namespace: string): number =>
    (1 - BACKGROUND_SHARE) / (targets.size * (targets.get(namespace)?.length ?? 1));
  const ofTargets = [...namespacesOf].map(
    ([key, namespaces]) => [key, [...namespaces].reduce((sum, name) => sum + shareIn(name), 0)] as const,
  );
  return new Map([[BACKGROUND, BACKGROUND_SHARE], ...ofTargets]);
}
