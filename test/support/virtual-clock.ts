/** A clock whose time passes as fast as the program can follow. Nothing but what it started may be waited for: no sockets, no files. */
import type { Clock } from '../../src/shared/clock.ts';

/** Most calls at one moment. More are a loop without a pause. */
const MOST_CALLS = 5_000;

interface Timer {
  readonly atMs: number;
  readonly call: () => void;
}

export class VirtualClock implements Clock {
  /** Ms since this clock was made. */
  #nowMs = 0;
  /** Timers of this moment so far. */
  #calls = 0;
  /** How far the wall clock is ahead, ms since 1970. It may be set: `clock.aheadMs -= 3_600_000`. */
  aheadMs = Date.UTC(2026, 10, 25);
  /** Timers sorted by time; those of the same time in the order of their setting. */
  #timers: Timer[] = [];

  readonly now = (): number => Math.floor(this.aheadMs + this.#nowMs);
  readonly steadyMs = (): number => this.#nowMs;
  readonly nextTurn = async (): Promise<void> => undefined;

  readonly after = (ms: number, call: () => void): (() => void) => {
    // Whole ms, as Node's own timers: a rest that is smaller than the digits of the time would come at this very moment, for ever.
    const timer = { atMs: this.#nowMs + Math.max(0, Math.ceil(ms)), call };
    let low = 0;
    for (let high = this.#timers.length; low < high; ) {
      const middle = (low + high) >> 1;
      if ((this.#timers[middle]?.atMs ?? 0) <= timer.atMs) low = middle + 1;
      else high = middle;
    }
    this.#timers.splice(low, 0, timer);
    return () => {
      const at = this.#timers.indexOf(timer);
      if (at >= 0) this.#timers.splice(at, 1);
    };
  };

  /** Lets so much time pass. All that follows from a moment has happened before the next one. */
  async pass(ms: number): Promise<void> {
    const untilMs = this.#nowMs + ms;
    await settled();
    for (;;) {
      const [next] = this.#timers;
      if (!next || next.atMs > untilMs) break;
      this.#timers.shift();
      this.#calls = next.atMs > this.#nowMs ? 1 : this.#calls + 1;
      if (this.#calls > MOST_CALLS) throw new Error(`time stands still: ${MOST_CALLS} timers in one millisecond`);
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.call();
      await settled();
    }
    this.#nowMs = untilMs;
  }
}

/** Resolves when all promises that can go on have gone on. */
async function settled(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}
