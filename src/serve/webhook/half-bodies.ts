/**
 * Bodies of requests while they arrive. Their senders are not known yet, so all bodies together have a bound. When they need more,
 * the oldest one is dropped. A body that arrives in one piece is complete at once and is never dropped.
 */

/** A body that is not complete yet. */
export interface HalfBody {
  /** Takes the next piece. False when the body has become too long; then its memory is freed. */
  readonly add: (chunk: Uint8Array) => boolean;
  /** What came so far. */
  readonly bytes: () => Buffer;
  /** Frees its memory: it is complete, or the rest is not needed. May be called several times. */
  readonly end: () => void;
}

interface Held {
  memory: Buffer;
  length: number;
  readonly giveWay: () => void;
}

const FIRST_BYTES = 8 * 1024;

export class HalfBodies {
  readonly #longest: number;
  readonly #limit: number;
  /** Oldest first: a Set keeps the order of insertion. */
  readonly #held = new Set<Held>();
  #total = 0;

  /** @param longest bytes of one body. @param limit bytes of all of them. */
  constructor(longest: number, limit: number) {
    this.#longest = longest;
    this.#limit = limit;
  }

  /** @param giveWay called when others need the memory: the body is lost. */
  begin(giveWay: () => void): HalfBody {
    const held: Held = { memory: Buffer.alloc(0), length: 0, giveWay };
    this.#held.add(held);
    return {
      add: (chunk) => this.#add(held, chunk),
      bytes: () => held.memory.subarray(0, held.length),
      end: () => this.#drop(held),
    };
  }

  #add(held: Held, chunk: Uint8Array): boolean {
    const length = held.length + chunk.length;
    if (length > this.#longest) {
      this.#drop(held);
      return false;
    }
    if (!this.#held.has(held)) return true;
    if (length > held.memory.length) this.#grow(held, length);
    held.memory.set(chunk, held.length);
    held.length = length;
    this.#makeRoom();
    return true;
  }

  /** One piece of memory, however small the pieces of the body: a Buffer per byte would take a hundred times as much. */
  #grow(held: Held, length: number): void {
    const size = Math.min(Math.max(length, held.memory.length * 2, FIRST_BYTES), this.#longest);
    const memory = Buffer.allocUnsafeSlow(size);
    memory.set(held.memory.subarray(0, held.length));
    this.#total += size - held.memory.length;
    held.memory = memory;
  }

  #makeRoom(): void {
    for (const oldest of this.#held) {
      if (this.#total <= this.#limit) return;
      this.#drop(oldest);
      oldest.giveWay();
    }
  }

  #drop(held: Held): void {
    if (!this.#held.delete(held)) return;
    this.#total -= held.memory.length;
  }
}
