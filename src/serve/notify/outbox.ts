/**
 * Messages on their way, one lane per addressee. A lane sends one message at a time, at most one per second, and tries again after a failure. So an
 * addressee that is dead delays nobody else, and memory is bounded: what does not fit is dropped and counted.
 */

import type { Clock } from '../../clock.ts';

/** How an attempt to send ended. `again`: the same message may be accepted later. */
export type SendResult = { readonly is: 'sent' } | { readonly is: 'failed'; readonly again: boolean };

export interface OutboxOptions<T> {
  readonly clock: Clock;
  /** Sends one message. It never rejects, and ends within seconds. */
  readonly send: (message: T) => Promise<SendResult>;
  /** Told when a message has left the outbox. `dropped`: there was no room for it. */
  readonly onEnd: (message: T, result: 'sent' | 'failed' | 'dropped') => void;
  /** For tests. */
  readonly times?: OutboxTimes;
}

export interface OutboxTimes {
  /** Between two messages of a lane. Slack takes one per second and channel. */
  readonly gapMs: number;
  /** Before the second, third … attempt. After the last one the message has failed. */
  readonly pausesMs: readonly number[];
}

const TIMES: OutboxTimes = { gapMs: 1_000, pausesMs: [2_000, 10_000, 60_000] };
/** Messages that wait in one lane: more than a minute of them is no news any more. */
export const MOST_IN_LANE = 100;
/** Addressees with messages under way. */
export const MOST_LANES = 200;
/** Of these, those that one namespace has opened: dead addressees of one team must leave room for others. */
export const MOST_LANES_OF_ONE = 50;

interface Lane<T> {
  /** Whose message has opened it. */
  readonly namespace: string;
  readonly waiting: T[];
}

export class Outbox<T> {
  readonly #options: OutboxOptions<T>;
  readonly #times: OutboxTimes;
  readonly #lanes = new Map<string, Lane<T>>();
  readonly #pauses = new Map<() => void, () => void>();
  #closed = false;

  constructor(options: OutboxOptions<T>) {
    this.#options = options;
    this.#times = options.times ?? TIMES;
  }

  /** Takes a message about a group of this namespace, and returns at once. @param addressee its lane. */
  add(addressee: string, namespace: string, message: T): void {
    if (this.#closed) return;
    const lane = this.#lanes.get(addressee);
    if (lane ? lane.waiting.length >= MOST_IN_LANE : this.#isFull(namespace)) {
      this.#options.onEnd(message, 'dropped');
      return;
    }
    if (lane) {
      lane.waiting.push(message);
      return;
    }
    const opened = { namespace, waiting: [message] };
    this.#lanes.set(addressee, opened);
    void this.#work(addressee, opened);
  }

  /** No lane can be opened for this namespace. */
  #isFull(namespace: string): boolean {
    if (this.#lanes.size >= MOST_LANES) return true;
    return [...this.#lanes.values()].filter((lane) => lane.namespace === namespace).length >= MOST_LANES_OF_ONE;
  }

  /** Sends nothing more. What waits is lost. */
  close(): void {
    this.#closed = true;
    for (const [takeBack, wake] of this.#pauses) {
      takeBack();
      wake();
    }
    this.#pauses.clear();
  }

  async #work(addressee: string, { waiting }: Lane<T>): Promise<void> {
    for (;;) {
      const message = waiting.shift();
      if (message === undefined || this.#closed) break;
      const result = await this.#deliver(message);
      if (this.#closed) break;
      this.#options.onEnd(message, result);
      await this.#pause(this.#times.gapMs);
    }
    this.#lanes.delete(addressee);
  }

  async #deliver(message: T): Promise<'sent' | 'failed'> {
    for (const pauseMs of [...this.#times.pausesMs, undefined]) {
      const result = await this.#options.send(message);
      if (result.is === 'sent') return 'sent';
      if (!result.again || pauseMs === undefined || this.#closed) return 'failed';
      await this.#pause(pauseMs);
    }
    return 'failed';
  }

  async #pause(ms: number): Promise<void> {
    if (this.#closed) return;
    await new Promise<void>((resolve) => {
      const takeBack = this.#options.clock.after(ms, () => {
        this.#pauses.delete(takeBack);
        resolve();
      });
      this.#pauses.set(takeBack, resolve);
    });
  }
}
