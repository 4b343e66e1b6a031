/** What is asked and answered over HTTP, and how a failure says so. */
import { Failure, type FailureKind } from '../../shared/failure.ts';

/** What `-v` shows of one attempt. Never headers or bodies. */
export interface RequestLine {
  readonly method: string;
  /** Origin, path and query. */
  readonly url: string;
  /** 0 when there was no answer. */
  readonly status: number;
  readonly ms: number;
  /** `HttpRequest.queue`. */
  readonly queue: string;
}

export interface HttpRequest {
  /** Operation and object, as an error says it: `list jobs of org acme`. */
  readonly what: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly url: URL;
  /** Gives the `Authorization` header for an address; asked again for each redirect, so it can refuse foreign ones. */
  readonly authorization?: ((url: URL) => string) | undefined;
  /** Where a redirect within the origin may lead. Default: anywhere in it. */
  readonly mayLeadTo?: (url: URL) => boolean;
  readonly body?: string | Uint8Array | undefined;
  /** Besides our own ones; lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Of `body`; default `application/json`. */
  readonly contentType?: string | undefined;
  /** On whose behalf it is sent. While all connections are in use, such queues take turns. Default: one queue for all. */
  readonly queue?: string | undefined;
  /** Send it once: no second attempt after an error or `Retry-After`. For callers that try again later by themselves. */
  readonly once?: boolean | undefined;
  /** Longest body of the answer. Default: that of the client. */
  readonly mostBytes?: number | undefined;
}

/** A complete answer, of any status but a followed redirect. */
export interface HttpAnswer {
  readonly status: number;
  /** Lower case, without parameters; empty when absent. */
  readonly mediaType: string;
  readonly text: string;
  /** A header by its lower-case name. */
  readonly header: (name: string) => string | undefined;
}

/** The Failure (exit 1) about a request: operation, method, address, what came, what to do. The query is left out: it adds length only. */
export function failure(
  request: Pick<HttpRequest, 'what' | 'method' | 'url'>,
  code: string,
  received: string,
  remedy: string,
  kind: FailureKind = 'other',
): Failure {
  const message = `${request.what}: ${request.method} ${request.url.origin}${request.url.pathname}: ${received}. ${remedy}.`;
  return new Failure(code, 1, message, kind);
}

/** True for the Failure of an answer that was longer than allowed. */
export function isTooLong(error: unknown): boolean {
  return error instanceof Failure && error.kind === 'too-long';
}

/** The Failure for a 407, which no server of ours sends. */
export function proxyWantsLogin(request: HttpRequest): Failure {
  const remedy = 'Put user and password into the proxy URL';
  return failure(request, 'GR-HTTP-08', 'the proxy wants a login (407)', remedy, 'unreachable');
}

/** What came instead of JSON: a login page, a portal, another program. */
export function insteadOfJson({ mediaType }: HttpAnswer): string {
  return mediaType === 'text/html' ? 'a web page instead of JSON' : 'the answer is not JSON';
}

/** True for what a header can hold. With anything else as a token, the text of the error would hold the token. */
export function isHeaderText(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text);
}

/** Undefined: it is no JSON (JSON has no undefined). The error of `JSON.parse` is dropped, because its message quotes the body. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
