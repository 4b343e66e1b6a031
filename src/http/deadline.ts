/** The moment by which a whole operation of many requests must be done. A value, no timer: nothing to clean up. */
export class Deadline {
  /** What was granted in total, in milliseconds. */
  readonly ms: number;
  readonly #endsAt: number;

  constructor(ms: number) {
    this.ms = ms;
    this.#endsAt = nowMs() + ms;
  }

  remainingMs(): number {
    return Math.max(0, this.#endsAt - nowMs());
  }
}

/** A clock that cannot be set back. Not `performance.now()`, which loads eight modules at its first use. */
export function nowMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}
