/**
 * Lets at most `width` pass at a time. The others wait in queues that take turns. So a queue with a thousand waiting requests
 * delays the next request of another queue by one place, not by a thousand.
 */
export class Gate {
  readonly #queues = new Map<string, (() => void)[]>();
  #free: number;

  constructor(width: number) {
    this.#free = width;
  }

  /** Runs `work` when it is the turn of `queue` and there is room. Rejects without running it when `signal` is aborted by then. */
  async pass<T>(signal: AbortSignal, queue: string, work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#wait(queue, resolve));
    try {
      signal.throwIfAborted();
      return await work();
    } finally {
      this.#next();
    }
  }

  #wait(queue: string, go: () => void): void {
    const waiting = this.#queues.get(queue);
    if (waiting) waiting.push(go);
    else this.#queues.set(queue, [go]);
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
