/**
 * When the next look at one Gitea may begin, so that all looks together ask no more than so many requests per second.
 *
 *   the target has paid for its last look ... at once: every target earns its share of the rate
 *   the Gitea has requests to spare ......... at once, in the order of asking: what others do not use
 *   else .................................... as soon as one of both is true
 *
 * So a look of many requests delays the next look at its own target. The others keep their share. Namespaces have equal shares,
 * and the targets of a namespace share what it has: a hundred groups in one namespace do not delay a group in another one.
 * What is asked besides looks has a tenth.
 */

import type { Clock } from '../../shared/clock.ts';

/** What may be saved for a burst: so many seconds of the rate. */
const SAVED_S = 5;
/** The part of the rate that requests besides looks earn. */
const BACKGROUND_SHARE = 0.1;

export interface TurnsOptions {
  /** Requests per second to this Gitea, by all together. */
  readonly ratePerS: number;
  /** The key of what is done besides looks. Absent: nothing is. */
  readonly background?: string;
  readonly clock: Clock;
  /** Told how long a look had to wait, ms. */
  readonly onWaited: (ms: number) => void;
}

interface Waiting {
  readonly key: string;
  readonly sinceMs: number;
  readonly go: () => void;
}

export class Turns {
  readonly #options: TurnsOptions;
  /** Requests that each target has asked beyond what it has earned, at `#atMs`. */
  readonly #owed = new Map<string, number>();
  #waiting: readonly Waiting[] = [];
  #spare: number;
  #atMs: number;
  #shares: ReadonlyMap<string, number> = new Map();
  #takeBack = (): void => undefined;

  constructor(options: TurnsOptions) {
    this.#options = options;
    this.#spare = options.ratePerS * SAVED_S;
    this.#atMs = options.clock.now();
  }

  /** The targets from now on, each with the namespaces whose groups need it. */
  share(namespacesOf: ReadonlyMap<string, ReadonlySet<string>>): void {
    this.#earn();
    const { background } = this.#options;
    this.#shares = sharesOf(namespacesOf, background);
    for (const key of this.#owed.keys()) if (!this.#shares.has(key)) this.#owed.delete(key);
    this.#go();
  }

  /** Resolves when a look at this target may begin; its first request is then paid for. Rejects when `signal` is aborted before. */
  async take(key: string, signal?: AbortSignal): Promise<void> {
    await new Promise<void>((go, stop) => {
      const leave = (): void => {
        this.#waiting = this.#waiting.filter((each) => each !== waiting);
        stop(signal?.reason);
      };
      const waiting: Waiting = {
        key,
        sinceMs: this.#options.clock.now(),
        go: () => {
          signal?.removeEventListener('abort', leave);
          go();
        },
      };
      this.#waiting = [...this.#waiting, waiting];
      signal?.addEventListener('abort', leave, { once: true });
      if (signal?.aborted) leave();
      this.#go();
    });
  }

  /** A look has made so many requests. Below 0: fewer than were paid for. */
  spend(key: string, requests: number): void {
    this.#earn();
    this.#pay(key, requests);
  }

  /** No look may begin any more. */
  close(): void {
    this.#takeBack();
    this.#waiting = [];
  }

  /** Adds what was earned since the last call, by each target and by all together. */
  #earn(): void {
    const now = this.#options.clock.now();
    // A clock that is set back earns nothing.
    const { ratePerS } = this.#options;
    const earned = (ratePerS * Math.max(0, now - this.#atMs)) / 1000;
    this.#atMs = now;
    this.#spare = Math.min(ratePerS * SAVED_S, this.#spare + earned);
    for (const [key, owed] of this.#owed) {
      const left = owed - earned * this.#shareOf(key);
      if (left > 0) this.#owed.set(key, left);
      else this.#owed.delete(key);
    }
  }

  #pay(key: string, requests: number): void {
    this.#spare -= requests;
    this.#owed.set(key, (this.#owed.get(key) ?? 0) + requests);
  }

  /** A target that is gone may go at once: its look ends before it begins. */
  #shareOf(key: string): number {
    return this.#shares.get(key) ?? 1;
  }

  /** Lets those looks begin whose turn it is, and sets a timer for the next one. */
  #go(): void {
    this.#takeBack();
    this.#earn();
    const still: Waiting[] = [];
    for (const waiting of this.#waiting) {
      if (this.#spare < 1 && this.#owed.has(waiting.key)) {
        still.push(waiting);
        continue;
      }
      this.#pay(waiting.key, 1);
      this.#options.onWaited(this.#options.clock.now() - waiting.sinceMs);
      waiting.go();
    }
    this.#waiting = still;
    if (still.length === 0) return;
    const untilPaid = Math.min(...still.map(({ key }) => (this.#owed.get(key) ?? 0) / this.#shareOf(key)));
    const requests = Math.min(untilPaid, 1 - this.#spare);
    const { clock, ratePerS } = this.#options;
    this.#takeBack = clock.after(Math.ceil((requests * 1000) / ratePerS), () => this.#go());
  }
}

/** Above 0; the sum is 1. */
function sharesOf(
  namespacesOf: ReadonlyMap<string, ReadonlySet<string>>,
  background: string | undefined,
): ReadonlyMap<string, number> {
  const ofLooks = background === undefined ? 1 : 1 - BACKGROUND_SHARE;
  const targets = new Map<string, number>();
  for (const namespaces of namespacesOf.values()) {
    for (const namespace of namespaces) targets.set(namespace, (targets.get(namespace) ?? 0) + 1);
  }
  const shareIn = (namespace: string): number => ofLooks / (targets.size * (targets.get(namespace) ?? 1));
  const shares = [...namespacesOf].map(
    ([key, namespaces]) => [key, [...namespaces].reduce((sum, name) => sum + shareIn(name), 0)] as const,
  );
  return new Map([...shares, ...(background === undefined ? [] : [[background, BACKGROUND_SHARE] as const])]);
}
