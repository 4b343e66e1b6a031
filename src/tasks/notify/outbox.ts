/**
 * Messages on their way, one lane per addressee. A lane sends one message at a time, at most one per second, and tries again after a failure.
 * So an addressee that is dead delays nobody else, and memory is bounded: what does not fit is dropped and counted.
 */

import type { NotifyResult } from '../../serve/events.ts';
import type { Again, KeyQueue, WorkQueue } from '../../serve/queue.ts';
import { Failure } from '../../shared/failure.ts';
import type { Message, Refusal } from './receiver.ts';

export interface OutboxOptions {
  readonly queue: WorkQueue;
  readonly tell: TellOfMessage;
  /** For tests. */
  readonly times?: OutboxTimes;
}

/** What became of it. */
export type TellOfMessage = (message: Message, result: NotifyResult, failure?: Failure) => void;

export interface OutboxTimes {
  /** Between two messages of a lane. Chats take one per second and channel. */
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
/** A message is sent within seconds, whatever its addressee does. */
const LONGEST_SEND_MS = 60_000;

interface Lane {
  /** Whose message has opened it. */
  readonly namespace: string;
  readonly waiting: Message[];
  /** Of the first one. */
  tries: number;
}

export class Outbox {
  readonly #tell: TellOfMessage;
  readonly #pausesMs: readonly number[];
  /** By addressee, as in the queue. */
  readonly #lanes = new Map<string, Lane>();
  readonly #line: KeyQueue;

  constructor({ queue, tell, times = TIMES }: OutboxOptions) {
    this.#tell = tell;
    this.#pausesMs = times.pausesMs;
    this.#line = queue.open('notify', {
      width: MOST_LANES,
      gapMs: times.gapMs,
      deadlineMs: LONGEST_SEND_MS,
      run: (addressee, { signal }) => this.#send(addressee, signal),
    });
  }

  /** Takes a message, and returns at once. */
  add(message: Message): void {
    const { addressee, namespace } = message;
    const lane = this.#lanes.get(addressee);
    // The first one is on its way.
    if (lane ? lane.waiting.length > MOST_IN_LANE : this.#isFull(namespace)) {
      this.#tell(message, 'dropped');
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
    if (!lane || !message) return undefined;
    const refusal = await refusalOf(message);
    if (signal.aborted) return undefined;
    if (refusal) this.#tell(message, 'retried', refusal.failure);
    const pauseMs = this.#pausesMs[lane.tries];
    if (refusal?.again && pauseMs !== undefined) {
      lane.tries += 1;
      return { inMs: pauseMs, firm: true };
    }
    lane.tries = 0;
    lane.waiting.shift();
    if (lane.waiting.length === 0) this.#lanes.delete(addressee);
    this.#tell(message, refusal ? 'failed' : 'sent');
    return lane.waiting.length > 0 ? { inMs: 0 } : undefined;
  }
}

async function refusalOf({ send }: Message): Promise<Refusal | undefined> {
  try {
    return await send();
  } catch (failure) {
    if (failure instanceof Failure) return { failure, again: true };
    throw failure;
  }
}
