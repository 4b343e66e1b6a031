/** A transport, as `http-client.ts` needs it: it sends one request over one connection, and decides nothing. */
import { Failure } from '../../shared/failure.ts';

/** PEM. */
export type ClientCertificate = Readonly<Record<'cert' | 'key', string>>;

/** CA and client certificate of a connection. */
export interface Trust {
  /** PEM certificates that are trusted instead of the built-in ones. */
  readonly ca?: string | undefined;
  /** Where a person configures them, for messages. Default: `with --ca-file`. */
  readonly caFrom?: string | undefined;
  /** What a person checks, if the address may be wrong. Default: `the URL`. */
  readonly urlIs?: string | undefined;
  readonly clientCertificate?: ClientCertificate | undefined;
}

export interface ConnectOptions extends Trust {
  readonly connections: number;
  /** Ends every connection at once, also one in the making. */
  readonly signal: AbortSignal;
}

export interface WireRequest {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | undefined;
}

/** The head of an answer; its body must be read or the connection is lost. */
export interface WireAnswer {
  readonly status: number;
  /** Headers by lower-case name. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The whole body; `undefined` if it is longer than `limit` bytes. Rejects when the connection breaks. */
  readonly read: (limit: number) => Promise<Uint8Array | undefined>;
}

/** A request under way. Rejections carry the transport's own error. */
export interface Exchange {
  readonly answer: Promise<WireAnswer>;
  /** Drops the request, or the rest of its answer. Not an AbortSignal: listening to one takes 3 ms of a start. */
  readonly cancel: () => void;
}

export interface Wire {
  readonly send: (request: WireRequest) => Exchange;
  /** Drops all connections, also those with a request under way. */
  readonly close: () => Promise<void>;
}

/** Returns the remedy for a missing or unusable CA. @param caFrom where a person configures it */
export function giveCa(caFrom = 'with --ca-file'): string {
  return `Give the CA as PEM ${caFrom}`;
}

/** Throws `Failure` (exit 2) when `ca` is not PEM: Node would accept it without a message and trust no server. */
export function refuseBadCa(ca: string | undefined, caFrom?: string): void {
  if (ca === undefined || ca.includes('-----BEGIN CERTIFICATE-----')) return;
  const message =
    `trust a CA: the given one has no line "-----BEGIN CERTIFICATE-----", so nothing was sent. ${giveCa(caFrom)}: ` +
    'openssl x509 -inform der turns a DER file into PEM.';
  throw new Failure('GR-HTTP-14', 2, message, 'unreachable');
}

/** First size of the memory, bytes. It is doubled while the body grows. */
const FIRST_BYTES = 16 * 1024;

/** Collects a body in one piece of memory: a Buffer for each single byte would take 300 times as much. */
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
    // Most bodies come in one piece, which is not copied.
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
