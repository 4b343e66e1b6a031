import { performance } from 'node:perf_hooks';

/** The moment by which a whole operation of many requests must be done. A value, no timer: nothing to clean up. */
export class Deadline {
  /** What was granted in total, in milliseconds. */
  readonly ms: number;
  readonly #endsAt: number;

  constructor(ms: number) {
    this.ms = ms;
    this.#endsAt = performance.now() + ms;
  }

  remainingMs(): number {
    return Math.max(0, this.#endsAt - performance.now());
  }
}
