interface Event {
  readonly atMs: number;
  readonly run: () => void;
}

/**
 * The clock of a run: it jumps from event to event. Events of one moment happen in the order in which they were
 * planned.
 */
export class Timeline {
  #nowMs: number;
  /** The next one is the last: most are planned for soon, and nothing behind them moves then. */
  readonly #events: Event[] = [];

  constructor(startMs: number) {
    this.#nowMs = startMs;
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  /** Plans `run` for later, in whole milliseconds rounded up; what lies in the past happens now. */
  after(delayMs: number, run: () => void): void {
    this.at(this.#nowMs + delayMs, run);
  }

  at(wantedMs: number, run: () => void): void {
    const atMs = Math.max(Math.ceil(wantedMs), this.#nowMs);
    let place = 0;
    for (let high = this.#events.length; place < high; ) {
      const middle = (place + high) >> 1;
      if ((this.#events[middle]?.atMs ?? 0) > atMs) place = middle + 1;
      else high = middle;
    }
    this.#events.splice(place, 0, { atMs, run });
  }

  /** Runs the next event. @returns false when there is none up to `untilMs`. */
  step(untilMs: number): boolean {
    const next = this.#events.at(-1);
    if (!next || next.atMs > untilMs) return false;
    this.#events.pop();
    this.#nowMs = next.atMs;
    next.run();
    return true;
  }
}
