/** One Kubernetes API server: requests with a fresh token, pages of lists, and the lines of a watch. Knows no resource. */
import type * as z from 'zod';
import { type Clock, systemClock } from '../../shared/clock.ts';
import { Failure } from '../../shared/failure.ts';
import { HttpClient } from '../http/client.ts';
import type { ServerClocks } from '../http/clock.ts';
import type { Deadline } from '../http/deadline.ts';
import { parseJson } from '../http/parse-json.ts';
import { failure, type HttpAnswer, type HttpRequest, type RequestLine } from '../http/request.ts';
import { partsOfTransportError } from '../http/transport-error.ts';
import type { ClusterConfig } from './config.ts';
import { LONGEST_LINE_BYTES, splitLines } from './lines.ts';

/** One question to the API server. */
export interface KubeQuestion {
  /** Operation and object: `list jobs.batch of namespace ci`. */
  readonly what: string;
  readonly method?: HttpRequest['method'];
  /** From the root, segments already encoded. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Becomes JSON. */
  readonly body?: unknown;
  readonly contentType?: string;
}

/** A page of 500 Jobs with managedFields is about 4 MiB. */
const BODY_LIMIT = 64 * 1024 * 1024;

/** Where the CA of the API server is given. */
function caFrom({ context }: ClusterConfig): string {
  return context === undefined
    ? 'as ca.crt beside the token of the service account'
    : 'in certificate-authority-data of the kubeconfig';
}

export interface KubeClientOptions {
  readonly onRequest?: (line: RequestLine) => void;
  /** Told the time of the API server. */
  readonly clocks?: ServerClocks;
  /** Longest answer, bytes. */
  readonly bodyLimit?: number;
  /** Default: the real one. */
  readonly clock?: Clock;
}

/** The part of `KubeClient` that others need. A simulation has one of its own. */
export type KubeApi = Pick<KubeClient, 'clock' | 'origin' | 'request' | 'send' | 'stream'>;

export class KubeClient {
  readonly #config: ClusterConfig;
  readonly #clocks: ServerClocks | undefined;
  readonly clock: Clock;
  readonly #http: HttpClient;

  constructor(
    config: ClusterConfig,
    { bodyLimit = BODY_LIMIT, clock = systemClock, clocks, onRequest }: KubeClientOptions = {},
  ) {
    this.#config = config;
    this.clock = clock;
    this.#clocks = clocks;
    // No proxy: the API server is a neighbour, and its token must not travel further.
    this.#http = new HttpClient({
      env: {},
      bodyLimit,
      clock,
      caFrom: caFrom(config),
      ...(config.ca !== undefined && { ca: config.ca }),
      ...(config.clientCertificate && { clientCertificate: config.clientCertificate }),
      ...(onRequest && { onRequest }),
      ...(clocks && { clocks }),
    });
  }

  /** Where the API server is: `https://host:port`. */
  get origin(): string {
    return new URL(this.#config.url).origin;
  }

  /** The answer, whatever its status. @throws Failure when there is none. */
  async send(question: KubeQuestion, deadline: Deadline): Promise<HttpAnswer> {
    const { body, contentType } = question;
    const authorization = await this.#authorization();
    return await this.#http.send(
      {
        ...this.request(question),
        ...(authorization !== undefined && { authorization: () => authorization }),
        ...(body !== undefined && { body: JSON.stringify(body) }),
        ...(contentType !== undefined && { contentType }),
      },
      deadline,
    );
  }

  /**
   * The lines of a streamed answer, until the server or `signal` ends it, or nothing comes for `idleMs`. A dead connection looks like a
   * quiet one. @throws Failure when it breaks, or does not begin within `idleMs`.
   */
  async *stream(question: KubeQuestion, idleMs: number, signal: AbortSignal): AsyncGenerator<string> {
    const request = this.request(question);
    const life = new AbortController();
    // For the time until there is an answer, when undici's `destroy` would wait. Later the end of the request ends the connection: a
    // signal of the socket itself makes Node 20 abort when TLS is paused at that moment ("onread->IsFunction()").
    let connecting: AbortController | undefined = new AbortController();
    const stop = (): void => {
      connecting?.abort();
      life.abort();
    };
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    const authorization = await this.#authorization();
    const { ca, clientCertificate } = this.#config;
    const { connectTo } = await import('../http/connect.ts');
    const dispatcher = connectTo(request.url.origin, {
      connections: 1,
      signal: connecting.signal,
      caFrom: caFrom(this.#config),
      ...(ca !== undefined && { ca }),
      ...(clientCertificate && { clientCertificate }),
    });
    let takeBack = this.clock.after(idleMs, stop);
    try {
      const sentMs = this.clock.now();
      const response = await dispatcher.request({
        origin: request.url.origin,
        path: request.url.pathname + request.url.search,
        method: 'GET',
        headers: { accept: 'application/json', ...(authorization !== undefined && { authorization }) },
        signal: life.signal,
      });
      connecting = undefined;
      if (response.statusCode !== 200) {
        throw failure(request, 'GR-CLUSTER-07', `status ${response.statusCode}`, 'Check the API server');
      }
      const { date } = response.headers;
      if (typeof date === 'string')
        this.#clocks?.note(request.url.origin, { sentMs, receivedMs: this.clock.now(), date });
      for await (const line of splitLines(response.body as AsyncIterable<Uint8Array>)) {
        takeBack();
        yield line;
        takeBack = this.clock.after(idleMs, stop);
      }
    } catch (error) {
      if (error instanceof Failure) throw error;
      if (signal.aborted) return;
      if (error instanceof RangeError) throw unreadable(request, `a line longer than ${LONGEST_LINE_BYTES >> 20} MiB`);
      if (life.signal.aborted) {
        if (connecting === undefined) return;
        throw failure(request, 'GR-CLUSTER-09', `no answer for ${idleMs / 1000} s`, 'It is started again');
      }
      const { code, received, remedy } = partsOfTransportError(error, {
        host: request.url.host,
        caFrom: caFrom(this.#config),
      });
      throw failure(request, code, received, remedy);
    } finally {
      takeBack();
      signal.removeEventListener('abort', stop);
      stop();
      await dispatcher.destroy();
    }
  }

  /** The request behind a question, as errors need it. */
  request({ what, method = 'GET', path, query = {} }: KubeQuestion): HttpRequest {
    const url = new URL(path, this.#config.url);
    url.search = new URLSearchParams(query).toString();
    return { what, method, url };
  }

  async close(): Promise<void> {
    await this.#http.close();
  }

  async #authorization(): Promise<string | undefined> {
    const { token } = this.#config;
    return token && `Bearer ${await token()}`;
  }
}

/** The JSON of an answer in the wanted shape. @throws Failure that names the place only: values come from outside. */
export function parseAnswer<T>(request: HttpRequest, shape: z.ZodType<T>, text: string, wanted = 'object'): T {
  const body = parseJson(text);
  if (body === undefined) throw unreadable(request, 'no JSON');
  const parsed = shape.safeParse(body);
  if (!parsed.success) throw unreadable(request, `no ${wanted}: ${firstPath(parsed.error)}`);
  return parsed.data;
}

/**
 * For an answer of which nothing special is to be said.
 * @param expected `a list`
 * @param instead another way than this one, with a comma before it
 */
export function unexpectedStatus(request: HttpRequest, status: number, expected: string, instead: string): Failure {
  return status === 401
    ? failure(
        request,
        'GR-CLUSTER-05',
        'the cluster does not know the token or certificate (401)',
        `Mount a valid token, or log in again if it is of a kubeconfig${instead}`,
      )
    : failure(
        request,
        'GR-CLUSTER-07',
        `status ${status} where ${expected} was expected`,
        `Check the API server${instead}`,
      );
}

/** An answer that is no answer of Kubernetes. */
export function unreadable(request: HttpRequest, received: string): Failure {
  return failure(
    request,
    'GR-CLUSTER-08',
    `the answer is ${received}`,
    'Check that KUBERNETES_SERVICE_HOST is a Kubernetes API server, or use --cluster off',
  );
}

/** Where a shape does not fit. */
export function firstPath(error: z.ZodError): string {
  return error.issues[0]?.path.join('.') || 'object';
}
