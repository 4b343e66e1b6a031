/** Reads bodies of strangers, and answers them. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';

interface Body {
  memory: Buffer;
  length: number;
  /** Others need the memory: the body is lost. */
  readonly giveWay: () => void;
}

const FIRST_BYTES = 8 * 1024;

/**
 * Bodies while they arrive. Their senders are not known yet, so all together have a bound: when they need more, the oldest one is dropped. A
 * body that arrives in one piece is complete at once and is never dropped.
 */
export class Bodies {
  readonly #longest: number;
  readonly #limit: number;
  /** Oldest first: a Set keeps the order of insertion. */
  readonly #held = new Set<Body>();
  #total = 0;

  /** @param longest bytes of one body. @param limit bytes of all of them. */
  constructor(longest: number, limit: number) {
    this.#longest = longest;
    this.#limit = limit;
  }

  /**
   * The body; undefined as soon as it is known to be too long, and then the rest is not read. Rejects when the sender goes away, and when
   * it is dropped.
   */
  async read(request: Readable & Pick<IncomingMessage, 'headers'>): Promise<Buffer | undefined> {
    if (Number(request.headers['content-length'] ?? 0) > this.#longest) return undefined;
    return await new Promise((resolve, reject) => {
      const giveWay = (): void => reject(new Error('too many bodies are being read'));
      const body: Body = { memory: Buffer.alloc(0), length: 0, giveWay };
      this.#held.add(body);
      request.on('data', (chunk: Buffer) => {
        if (this.#add(body, chunk)) return;
        request.pause();
        resolve(undefined);
      });
      request.once('end', () => resolve(body.memory.subarray(0, body.length)));
      request.once('error', reject);
      request.once('close', () => {
        this.#drop(body);
        reject(new Error('the sender went away'));
      });
    });
  }

  /** False when the body has become too long; then its memory is freed. */
  #add(body: Body, chunk: Buffer): boolean {
    const length = body.length + chunk.length;
    if (length > this.#longest) {
      this.#drop(body);
      return false;
    }
    if (!this.#held.has(body)) return true;
    if (length > body.memory.length) this.#grow(body, length);
    body.memory.set(chunk, body.length);
    body.length = length;
    for (const oldest of this.#held) {
      if (this.#total <= this.#limit) break;
      this.#drop(oldest);
      oldest.giveWay();
    }
    return true;
  }

  /** One piece of memory, however small the pieces of the body: a Buffer per byte would take a hundred times as much. */
  #grow(body: Body, length: number): void {
    const size = Math.min(Math.max(length, body.memory.length * 2, FIRST_BYTES), this.#longest);
    const memory = Buffer.allocUnsafeSlow(size);
    memory.set(body.memory.subarray(0, body.length));
    this.#total += size - body.memory.length;
    body.memory = memory;
  }

  #drop(body: Body): void {
    if (this.#held.delete(body)) this.#total -= body.memory.length;
  }
}

/** The rest of an incomplete body is not read: then the connection is closed after the answer. */
export function answer(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  const text = message && `${message}\n`;
  response.writeHead(status, {
    ...(text && { 'content-type': 'text/plain; charset=utf-8' }),
    'content-length': Buffer.byteLength(text),
    ...(!request.complete && { connection: 'close' }),
    ...headers,
  });
  response.end(text);
}
