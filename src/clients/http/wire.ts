/** What `client.ts` wants of a transport: one request over one connection, nothing decided. */
import { Failure } from '../../shared/failure.ts';
import { giveCa } from './transport-error.ts';

/** Shows a TLS server who we are. PEM. */
export interface ClientCertificate {
  readonly cert: string;
  readonly key: string;
}

/** Whom a connection trusts, and as whom it comes. */
export interface Trust {
  /** PEM certificates that are trusted instead of the built-in ones. */
  readonly ca?: string;
  /** Where a person gives them, for messages. Default: `with --ca-file`. */
  readonly caFrom?: string;
  /** PEM of a client certificate and its key. */
  readonly clientCertificate?: ClientCertificate;
}

export interface ConnectOptions extends Trust {
  /** Connections at most. */
  readonly connections: number;
  /** Ends every connection at once, also one that is still being made. */
  readonly signal: AbortSignal;
}

/** A request as it goes out. */
export interface WireRequest {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

/** The head of an answer; its body must be read or the connection is lost. */
export interface WireAnswer {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The whole body; `undefined` when it is longer than `limit` bytes. Rejects when the connection breaks before its end. */
  readonly read: (limit: number) => Promise<Uint8Array | undefined>;
}

/** A request under way. Rejections carry the transport's own error. */
export interface Exchange {
  readonly answer: Promise<WireAnswer>;
  /** Drops the request, or what is still to come of its answer. Not an AbortSignal: listening to one costs a start 3 ms. */
  readonly cancel: () => void;
}

/** Connections to one origin. */
export interface Wire {
  readonly send: (request: WireRequest) => Exchange;
  /** Drops all connections, also those with a request under way. */
  readonly close: () => Promise<void>;
}

/** Throws `Failure` (exit 2) when `ca` is not PEM: Node would accept it without a message and trust no server. */
export function refuseBadCa(ca: string | undefined, caFrom?: string): void {
  if (ca === undefined || ca.includes('-----BEGIN CERTIFICATE-----')) return;
  throw new Failure(
    'GR-HTTP-14',
    2,
    `the CA holds no PEM certificate (no line "-----BEGIN CERTIFICATE-----"). ${giveCa(caFrom)}.`,
  );
}
