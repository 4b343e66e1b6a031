/** Requests and answers over HTTP, and the failures about them. */
import { type Clock, systemClock } from '../../shared/clock.ts';
import { Failure, type FailureKind } from '../../shared/failure.ts';

/** The facts about one attempt that `-v` prints. Never headers or bodies. */
export interface RequestLine {
  readonly method: string;
  /** Origin, path and query, as we asked. A redirect is another line with the same address. */
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
  /** The certificate by which the connection logs in, without its key. */
  readonly certificate?: string;
  /** Checks the target of a redirect within the origin. Default: any path. @throws Failure of its own */
  readonly mayLeadTo?: (url: URL, from: URL, status: number) => boolean;
  /** True to follow a redirect with the same method and body. Default: only a GET is repeated. */
  readonly repeats?: boolean;
  readonly body?: string | Uint8Array | undefined;
  /** Further headers; names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Type of `body`; default `application/json`. */
  readonly contentType?: string | undefined;
  /** Name of the queue. While all connections are in use, queues take turns. Default: one queue for all. */
  readonly queue?: string | undefined;
  /** Send it once: no second attempt after an error or `Retry-After`. For callers that try again later by themselves. */
  readonly once?: boolean | undefined;
  /** Longest body of the answer, bytes. Default: the client's limit. */
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
  /** Host and port of the proxy that it came through. */
  readonly proxy?: string | undefined;
}

/** Makes the Failure (exit 1) of a request. Its address has no query, which would add length only. */
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

/** Makes the Failure for a 407. No server of ours sends it. */
export function proxyWantsLogin(request: HttpRequest): Failure {
  const remedy = 'Put user and password into the proxy URL';
  return failure(request, 'GR-HTTP-08', 'the proxy wants a login (407)', remedy, 'unreachable');
}

/** Names the content that came instead of JSON: a login page, a portal, another program, or the page of a proxy. */
export function insteadOfJson(answer: HttpAnswer): string {
  const problem = answer.mediaType === 'text/html' ? 'a web page instead of JSON' : 'the answer is not JSON';
  return `${problem}${throughProxy(answer)}`;
}

export function throughProxy({ proxy }: HttpAnswer): string {
  return proxy === undefined ? '' : ` through the proxy ${proxy}`;
}

/** Adds to a remedy what to check if a proxy answered in place of the server. */
export function orProxy(remedy: string, { proxy }: HttpAnswer, { url }: Pick<HttpRequest, 'url'>): string {
  return proxy === undefined
    ? remedy
    : `${remedy}. If the proxy is not to be used for ${url.hostname}, add it to NO_PROXY`;
}

/** True for what a header can hold. With anything else as a token, the text of the error would hold the token. */
export function isHeaderText(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text);
}

/** Parses JSON. Undefined: it is none. The error of `JSON.parse` is dropped: it quotes the body. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns the place of the first fault, e.g. `labels[0].name`, in words of the schema. Empty: the whole answer. */
export function placeOf({ issues }: { readonly issues: readonly { readonly path: readonly PropertyKey[] }[] }): string {
  const parts = issues[0]?.path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)) ?? [];
  return parts.join('').replace(/^\./, '');
}

/** The moment by which a whole operation of many requests must be done. A value, no timer: nothing to clean up. */
export class Deadline {
  /** The whole time limit, ms. */
  readonly ms: number;
  /** Aborted: nobody waits any more. */
  readonly signal: AbortSignal | undefined;
  readonly #clock: Pick<Clock, 'steadyMs'>;
  readonly #endsAt: number;

  constructor(ms: number, clock: Pick<Clock, 'steadyMs'> = systemClock, signal?: AbortSignal) {
    this.ms = ms;
    this.signal = signal;
    this.#clock = clock;
    this.#endsAt = clock.steadyMs() + ms;
  }

  remainingMs(): number {
    return this.signal?.aborted ? 0 : Math.max(0, this.#endsAt - this.#clock.steadyMs());
  }
}

export class TimeLimit {
  /** Rejects when the time is up, or `signal` is aborted. */
  readonly reached: Promise<never>;
  isReached = false;
  /** Called then. */
  stop = (): void => undefined;
  clear = (): void => undefined;

  constructor(ms: number, { after }: Pick<Clock, 'after'>, signal?: AbortSignal) {
    this.reached = new Promise((_resolve, reject) => {
      const end = (): void => {
        this.isReached = true;
        reject(new Error('the time is up'));
        this.stop();
      };
      const takeBack = after(ms, end);
      signal?.addEventListener('abort', end, { once: true });
      this.clear = () => {
        takeBack();
        signal?.removeEventListener('abort', end);
      };
    });
  }
}
