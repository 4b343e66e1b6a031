/**
 * Lets at most `width` pass at a time. The others wait in queues that take turns. So a queue with a thousand waiting requests
 * delays the next request of another queue by one place, not by a thousand.
 */
import type { Clock } from '../../shared/clock.ts';

/** What becomes of work that takes long: it goes on, but gives its place to others. */
export interface SlowWork {
  /** Work that takes longer is slow, ms. Asked when work begins. */
  readonly afterMs: () => number;
  /** Slow work that may go on without a place. What becomes slow beyond that keeps its place. */
  readonly most: number;
}

export class Gate {
  readonly #queues = new Map<string, (() => void)[]>();
  readonly #slowWork: SlowWork | undefined;
  readonly #clock: Pick<Clock, 'after'>;
  /** Slow work that still has its place. */
  readonly #late = new Set<() => void>();
  #free: number;
  /** How much slow work has none. */
  #slow = 0;

  constructor(width: number, clock: Pick<Clock, 'after'>, slowWork?: SlowWork) {
    this.#clock = clock;
    this.#free = width;
    this.#slowWork = slowWork;
  }

  /** Runs `work` when it is the turn of `queue` and there is room. Rejects without running it when `signal` is aborted by then. */
  async pass<T>(signal: AbortSignal, queue: string, work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#wait(queue, resolve));
    const leave = this.#enter();
    try {
      signal.throwIfAborted();
      return await work();
    } finally {
      leave();
    }
  }

  #wait(queue: string, go: () => void): void {
    const waiting = this.#queues.get(queue);
    if (waiting) waiting.push(go);
    else this.#queues.set(queue, [go]);
  }

  /** Takes a place. Answers the function that gives it back. */
  #enter(): () => void {
    if (this.#slowWork === undefined) return () => this.#next();
    let isSlow = false;
    const yieldPlace = (): void => {
      isSlow = true;
      this.#slow += 1;
      this.#next();
    };
    const takeBack = this.#clock.after(this.#slowWork.afterMs(), () => {
      this.#late.add(yieldPlace);
      this.#letYield();
    });
    return () => {
      takeBack();
      this.#late.delete(yieldPlace);
      if (isSlow) {
        this.#slow -= 1;
        this.#letYield();
      } else this.#next();
    };
  }

  /** Slow work that still has its place gives it up, as far as there may be more of it without one. */
  #letYield(): void {
    for (const yieldPlace of this.#late) {
      if (this.#slow >= (this.#slowWork?.most ?? 0)) return;
      this.#late.delete(yieldPlace);
      yieldPlace();
    }
  }

  /** The place that has become free goes to the queue whose turn it is; that queue then stands last. */
  #next(): void {
    for (const [queue, waiting] of this.#queues) {
      this.#queues.delete(queue);
      const go = waiting.shift();
      if (waiting.length > 0) this.#queues.set(queue, waiting);
      if (go === undefined) continue;
      go();
      return;
    }
    this.#free += 1;
  }
}
