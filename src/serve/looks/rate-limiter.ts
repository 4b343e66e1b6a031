/**
 * When the next look at one Gitea may begin, so that all looks together ask no more than so many requests per second.
 *
 *   the target has paid for its last look ... at once: every target earns its share of the rate
 *   the Gitea has requests to spare ......... at once, in the order of asking: what others do not use
 *   else .................................... as soon as one of both is true
 *
 * So a look of many requests delays the next look at its own target only. Namespaces have equal shares, and the targets of a namespace
 * share what it has: a hundred groups in one namespace do not delay a group in another one. What is asked besides looks has a tenth.
 */
import type { Clock } from '../../shared/clock.ts';

const SAVED_MS = 5_000;
/** The part of the rate that requests besides looks earn. */
const BACKGROUND_SHARE = 0.1;

interface RateLimiterOptions {
  /** Requests per second to this Gitea, by all together. */
  readonly ratePerS: number;
  /** The key of what is done besides looks. Absent: nothing is. */
  readonly background?: string;
  readonly clock: Clock;
  readonly onWaited: (ms: number) => void;
}

interface Waiting {
  readonly key: string;
  readonly sinceMs: number;
  readonly go: () => void;
  readonly stop: (reason: unknown) => void;
}

export class RateLimiter {
  readonly #options: RateLimiterOptions;
  /** When each target has earned what it has asked for, and when all of them together have. */
  readonly #paidMs = new Map<string, number>();
  #allPaidMs = 0;
  #waiting: readonly Waiting[] = [];
  #shares: ReadonlyMap<string, number> = new Map();
  #takeBack = (): void => undefined;

  constructor(options: RateLimiterOptions) {
    this.#options = options;
  }

  /** The targets from now on, each with the namespaces whose groups need it. */
  share(namespacesOf: ReadonlyMap<string, ReadonlySet<string>>): void {
    this.#shares = sharesOf(namespacesOf, this.#options.background);
    for (const key of this.#paidMs.keys()) if (!this.#shares.has(key)) this.#paidMs.delete(key);
    this.#go();
  }

  /** Resolves when a look at this target may begin; its first request is then paid for. Rejects when `signal` is aborted before. */
  async take(key: string, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    let leave = (): void => undefined;
    try {
      await new Promise<void>((go, stop) => {
        const waiting = { key, sinceMs: this.#options.clock.steadyMs(), go, stop };
        leave = () => {
          this.#waiting = this.#waiting.filter((each) => each !== waiting);
          stop(signal?.reason);
        };
        signal?.addEventListener('abort', leave, { once: true });
        this.#waiting = [...this.#waiting, waiting];
        this.#go();
      });
    } finally {
      signal?.removeEventListener('abort', leave);
    }
  }

  /** A look has made so many requests. Below 0: fewer than were paid for. */
  spend(key: string, requests: number): void {
    const nowMs = this.#options.clock.steadyMs();
    const costMs = requests * this.#requestMs;
    this.#allPaidMs = Math.max(this.#allPaidMs, nowMs) + costMs;
    this.#paidMs.set(key, Math.max(this.#paidMs.get(key) ?? 0, nowMs) + costMs / this.#shareOf(key));
  }

  close(): void {
    this.#takeBack();
    for (const { stop } of this.#waiting) stop(new Error('closed'));
    this.#waiting = [];
  }

  get #requestMs(): number {
    return 1000 / this.#options.ratePerS;
  }

  /** A target that is gone may go at once: its look ends before it begins. */
  #shareOf(key: string): number {
    return this.#shares.get(key) ?? 1;
  }

  /** When a look at this target may begin, if nobody else asks. */
  #startMs(key: string): number {
    return Math.min(this.#paidMs.get(key) ?? 0, this.#allPaidMs + this.#requestMs - SAVED_MS);
  }

  /** Lets those looks begin whose turn it is, and sets a timer for the next one. */
  #go(): void {
    this.#takeBack();
    const { clock, onWaited } = this.#options;
    const nowMs = clock.steadyMs();
    const still: Waiting[] = [];
    for (const waiting of this.#waiting) {
      if (this.#startMs(waiting.key) > nowMs) {
        still.push(waiting);
        continue;
      }
      this.spend(waiting.key, 1);
      onWaited(nowMs - waiting.sinceMs);
      waiting.go();
    }
    this.#waiting = still;
    if (still.length === 0) return;
    const nextMs = Math.min(...still.map(({ key }) => this.#startMs(key)));
    this.#takeBack = clock.after(Math.ceil(nextMs - nowMs), () => this.#go());
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
  const shares = new Map(background === undefined ? [] : [[background, BACKGROUND_SHARE]]);
  for (const [key, namespaces] of namespacesOf)
    shares.set(
      key,
      [...namespaces].reduce((sum, name) => sum + shareIn(name), 0),
    );
  return shares;
}
