/**
 * Who may wake Argo CD now. A refresh costs a core about a second, so few Applications are woken at the same time. The others stand in
 * line: whose need became due first goes first, and an Application that was woken stands last again.
 *
 * A wake that takes much longer than others hangs: it goes on, but gives its place to the next in line. Where all are slow, Argo CD has
 * too much to do, and more wakes would not help it.
 */
import type { Clock } from '../../clock.ts';
import { Gate } from '../../http/gate.ts';

/** Wakes that hang at the same time. With more, the others wait until one of them ends. */
const MOST_HANGING = 120;
/** Compared with the wakes before it, a wake that takes so many times as long hangs … */
const TIMES_AS_LONG = 4;
/** … but not before, and at the latest after these times, ms. Before any wake has ended the longest one holds. */
const SHORTEST_MS = 5_000;
const LONGEST_MS = 60_000;
/** Wakes that are remembered. */
const REMEMBERED = 8;

export class WakeLine {
  readonly #gate: Gate;
  readonly #clock: Clock;
  /** How long the last wakes took, ms. */
  #lastMs: readonly number[] = [];

  /** @param width wakes at the same time. */
  constructor(width: number, clock: Clock) {
    this.#gate = new Gate(width, clock, { afterMs: () => hangsAfterMs(this.#lastMs), most: MOST_HANGING });
    this.#clock = clock;
  }

  /** Has `wake` run when it is its turn. It answers whether Argo CD has refreshed; only then does its time count. */
  async pass(signal: AbortSignal, application: string, wake: () => Promise<boolean>): Promise<void> {
    await this.#gate.pass(signal, application, async () => {
      const beganMs = this.#clock.now();
      if (await wake()) this.#lastMs = [...this.#lastMs, this.#clock.now() - beganMs].slice(-REMEMBERED);
    });
  }
}

/** Pure. After how long a wake gives its place to others, when the wakes before it took these times, ms. */
export function hangsAfterMs(lastMs: readonly number[]): number {
  const median = [...lastMs].sort((a, b) => a - b)[Math.floor(lastMs.length / 2)] ?? LONGEST_MS;
  return Math.min(Math.max(TIMES_AS_LONG * median, SHORTEST_MS), LONGEST_MS);
}
