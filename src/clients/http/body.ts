/**
 * The body of an answer while it arrives, in one piece of memory. A server may send it byte by byte, and a Buffer for each byte would take
 * three hundred times as much.
 */
const FIRST_BYTES = 16 * 1024;

export class Body {
  readonly #limit: number;
  #memory: Uint8Array = new Uint8Array(0);
  #length = 0;

  /** @param limit bytes */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** False when the body has become longer than the limit. */
  add(chunk: Uint8Array): boolean {
    const length = this.#length + chunk.length;
    if (length > this.#limit) return false;
    // Most bodies come in one piece, which need not be copied.
    if (this.#length === 0) this.#memory = chunk;
    else {
      if (length > this.#memory.length) this.#grow(length);
      this.#memory.set(chunk, this.#length);
    }
    this.#length = length;
    return true;
  }

  bytes(): Uint8Array {
    return this.#memory.subarray(0, this.#length);
  }

  #grow(length: number): void {
    const size = Math.min(Math.max(length, this.#memory.length * 2, FIRST_BYTES), this.#limit);
    const memory = Buffer.allocUnsafeSlow(size);
    memory.set(this.bytes());
    this.#memory = memory;
  }
}
