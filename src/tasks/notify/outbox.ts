/**
 * Messages on their way, one lane per addressee. A lane sends one message at a time, at most one per second, and tries again after a failure. So an
 * addressee that is dead delays nobody else, and memory is bounded: what does not fit is dropped and counted.
 */

import type { Again, KeyQueue, WorkQueue } from '../../serve/queue.ts';

/** How an attempt to send ended. `again`: the same message may be accepted later. */
export type SendResult = { readonly is: 'sent' } | { readonly is: 'failed'; readonly again: boolean };

export interface OutboxOptions<T> {
  readonly queue: WorkQueue;
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
  /** Of the first one. */
  tries: number;
}

/** A message is sent within seconds, whatever its addressee does. */
const LONGEST_SEND_MS = 60_000;

export class Outbox<T> {
  readonly #options: OutboxOptions<T>;
  readonly #times: OutboxTimes;
  /** By addressee, as in the queue. */
  readonly #lanes = new Map<string, Lane<T>>();
  readonly #line: KeyQueue;

  constructor(options: OutboxOptions<T>) {
    this.#options = options;
    this.#times = options.times ?? TIMES;
    this.#line = options.queue.open('notify', {
      width: MOST_LANES,
      gapMs: this.#times.gapMs,
      deadlineMs: LONGEST_SEND_MS,
      run: (addressee, { signal }) => this.#send(addressee, signal),
    });
  }

  /** Takes a message about a group of this namespace, and returns at once. @param addressee its lane. */
  add(addressee: string, namespace: string, message: T): void {
    const lane = this.#lanes.get(addressee);
    // The first one is on its way.
    if (lane ? lane.waiting.length > MOST_IN_LANE : this.#isFull(namespace)) {
      this.#options.onEnd(message, 'dropped');
      return;
    }
    if (lane) lane.waiting.push(message);
    else this.#lanes.set(addressee, { namespace, waiting: [message], tries: 0 });
    this.#line.add(addressee);
  }

  /** No lane can be opened for this namespace. */
  #isFull(namespace: string): boolean {
    if (this.#lanes.size >= MOST_LANES) return true;
    return [...this.#lanes.values()].filter((lane) => lane.namespace === namespace).length >= MOST_LANES_OF_ONE;
  }

  async #send(addressee: string, signal: AbortSignal): Promise<Again | undefined> {
    const lane = this.#lanes.get(addressee);
    const [message] = lane?.waiting ?? [];
    if (!lane || message === undefined) return undefined;
    const result = await this.#options.send(message);
    if (signal.aborted) return undefined;
    const pauseMs = this.#times.pausesMs[lane.tries];
    if (result.is === 'failed' && result.again && pauseMs !== undefined) {
      lane.tries += 1;
      return { inMs: pauseMs, firm: true };
    }
    lane.tries = 0;
    lane.waiting.shift();
    if (lane.waiting.length === 0) this.#lanes.delete(addressee);
    this.#options.onEnd(message, result.is);
    return lane.waiting.length > 0 ? { inMs: 0 } : undefined;
  }
}
