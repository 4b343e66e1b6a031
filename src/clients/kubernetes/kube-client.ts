/** Client for one Kubernetes API server: requests with a fresh token, and lines of a watch. Knows no resource. */
import { X509Certificate } from 'node:crypto';
import * as z from 'zod';
import { type Clock, systemClock } from '../../shared/clock.ts';
import { Failure } from '../../shared/failure.ts';
import { TRACKING_LABEL } from '../../shared/marks.ts';
import { printable } from '../../shared/printable.ts';
import { HttpClient, type HttpOptions } from '../http/http-client.ts';
import { type Deadline, failure, type HttpAnswer, type HttpRequest, parseJson } from '../http/request.ts';
import type { ServerClocks } from '../http/server-clocks.ts';
import { transportFailure } from '../http/transport-error.ts';
import type { Trust } from '../http/wire.ts';
import type { ClusterConfig } from './config.ts';

export interface KubeQuestion {
  /** Operation and object: `list jobs.batch of namespace ci`. */
  readonly what: string;
  readonly method?: HttpRequest['method'];
  /** Path from the root, with encoded segments. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Becomes JSON; of a `PATCH` a merge patch. */
  readonly body?: unknown;
}

/** A longer line ends the watch: a server that sends no line break must not fill the memory. */
const LONGEST_LINE_BYTES = 16 * 1024 * 1024;
const LINE_FEED = 10;
/** A page of 500 Jobs with managedFields is about 4 MiB. */
const BODY_LIMIT = 64 * 1024 * 1024;

/** 429: API priority and fairness. 503: a load balancer, or a server that starts. 504: a slow etcd. */
const BUSY: ReadonlySet<number> = new Set([429, 503, 504]);

function trustOf({ ca, clientCertificate, context }: ClusterConfig): Trust {
  const caFrom = context
    ? 'in certificate-authority-data of the kubeconfig'
    : 'as ca.crt beside the token of the service account';
  const urlIs = context && `the address of context ${printable(context.name)} in the kubeconfig, the VPN`;
  return { ca, clientCertificate, caFrom, urlIs };
}

export type KubeClientOptions = Pick<HttpOptions, 'bodyLimit' | 'clock' | 'clocks' | 'onRequest'>;

/** The part of `KubeClient` that other files use. The simulation has its own. */
export type KubeApi = Pick<KubeClient, 'clock' | 'origin' | 'request' | 'send' | 'stream' | 'trackingLabel'>;

/** Requests to one API server, until `close`. */
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
    this.#http = new HttpClient({ env: {}, bodyLimit, busy: BUSY, clock, clocks, onRequest, ...trustOf(config) });
  }

  get origin(): string {
    return new URL(this.#config.url).origin;
  }

  get trackingLabel(): string {
    return this.#config.trackingLabel ?? TRACKING_LABEL;
  }

  /** The answer, whatever its status. @throws Failure when there is none. */
  async send(question: KubeQuestion, deadline: Deadline): Promise<HttpAnswer> {
    const { body, method } = question;
    const authorization = await this.#authorization();
    const request = {
      ...this.request(question),
      authorization: authorization === undefined ? undefined : () => authorization,
      body: body === undefined ? undefined : JSON.stringify(body),
      contentType: method === 'PATCH' ? 'application/merge-patch+json' : undefined,
    };
    return await this.#http.send(request, deadline);
  }

  /** The lines of an answer, until `signal`, the server or a silence of `idleMs` ends it. @throws Failure: it breaks */
  async *stream(question: KubeQuestion, idleMs: number, signal: AbortSignal): AsyncGenerator<string> {
    const request = this.request(question);
    const requestAbort = new AbortController();
    // Ends a connection that has no answer yet: undici's `destroy` would wait for one. With an answer, ending the request
    // is enough. Then this signal must not reach the socket: Node 20 aborts if TLS is paused ("onread->IsFunction()").
    const connectAbort = new AbortController();
    let isAnswered = false;
    const stop = (): void => {
      if (!isAnswered) connectAbort.abort();
      requestAbort.abort();
    };
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    const authorization = await this.#authorization();
    const trust = trustOf(this.#config);
    const { connectTo } = await import('../http/connect.ts');
    const dispatcher = connectTo(request.url.origin, { connections: 1, signal: connectAbort.signal, ...trust });
    let cancelIdle = this.clock.after(idleMs, stop);
    try {
      const sentMs = this.clock.now();
      const response = await dispatcher.request({
        origin: request.url.origin,
        path: request.url.pathname + request.url.search,
        method: 'GET',
        headers: { accept: 'application/json', ...(authorization !== undefined && { authorization }) },
        signal: requestAbort.signal,
      });
      isAnswered = true;
      if (response.statusCode !== 200) throw unexpectedStatus(request, response.statusCode, '');
      const { date } = response.headers;
      if (typeof date === 'string')
        this.#clocks?.note(request.url.origin, { sentMs, receivedMs: this.clock.now(), date });
      for await (const line of splitLines(response.body as AsyncIterable<Uint8Array>)) {
        cancelIdle();
        yield line;
        cancelIdle = this.clock.after(idleMs, stop);
      }
    } catch (error) {
      if (error instanceof Failure) throw error;
      if (signal.aborted) return;
      if (error instanceof RangeError) throw unreadable(request, `a line longer than ${LONGEST_LINE_BYTES >> 20} MiB`);
      if (requestAbort.signal.aborted) {
        if (isAnswered) return;
        throw failure(request, 'GR-CLUSTER-09', `no answer for ${idleMs / 1000} s`, 'It is started again', 'cluster');
      }
      throw transportFailure(request, error, { host: request.url.host, ...trust });
    } finally {
      cancelIdle();
      signal.removeEventListener('abort', stop);
      stop();
      await dispatcher.destroy();
    }
  }

  /** The request behind a question, as errors need it. */
  request({ what, method = 'GET', path, query = {} }: KubeQuestion): HttpRequest {
    const url = new URL(path, this.#config.url);
    url.search = new URLSearchParams(query).toString();
    const { clientCertificate, token } = this.#config;
    return { what, method, url, ...(clientCertificate && !token && { certificate: clientCertificate.cert }) };
  }

  async close(): Promise<void> {
    await this.#http.close();
  }

  async #authorization(): Promise<string | undefined> {
    const { token } = this.#config;
    return token && `Bearer ${await token()}`;
  }
}

/** Splits a stream into lines of UTF-8, without an unfinished last one. @throws RangeError (too long), TypeError (no UTF-8) */
export async function* splitLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      const last = chunk.subarray(start, end);
      yield decoder.decode(pieces.length === 0 ? last : Buffer.concat([...pieces, last]));
      pieces = [];
      bytes = 0;
      start = end + 1;
    }
    if (start === chunk.length) continue;
    pieces.push(chunk.subarray(start));
    bytes += chunk.length - start;
    if (bytes > LONGEST_LINE_BYTES) throw new RangeError('a line without end');
  }
}

/** The JSON of an answer in the wanted shape. @throws Failure that names the place only: values come from outside. */
export function parseAnswer<T>(request: HttpRequest, shape: z.ZodType<T>, text: string, shapeName = 'object'): T {
  const body = parseJson(text);
  if (body === undefined) throw unreadable(request, 'no JSON');
  return parseValue(request, shape, body, `no ${shapeName}:`);
}

/** Checks a part of an answer. @param lacking words of the error, before the place of the fault */
export function parseValue<T>(request: HttpRequest, shape: z.ZodType<T>, value: unknown, lacking: string): T {
  const { data, error } = shape.safeParse(value);
  if (error) throw unreadable(request, `${lacking} ${error.issues[0]?.path.join('.') || 'object'}`);
  return data as T;
}

/** `Status` of the API server. `details` names the object. A cause of its own schema names a field. */
const Refusal = z.object({
  kind: z.literal('Status'),
  reason: z.string().nullish(),
  details: z.looseObject({ causes: z.array(z.object({ field: z.string().nullish() })).nullish() }).nullish(),
});

/**
 * The failure of a write that admission has refused, not RBAC. A webhook's refusal has no `details`, and that of a
 * ValidatingAdmissionPolicy a cause without a field (1.37: webhookerrors.ToStatusErr, plugin/policy/validating).
 * Undefined: it was not admission, or the answer does not tell.
 */
export function admissionFailure(
  request: HttpRequest,
  { status, text }: Pick<HttpAnswer, 'status' | 'text'>,
): Failure | undefined {
  if (request.method === 'GET' || !REFUSALS.has(status)) return undefined;
  const { data } = Refusal.safeParse(parseJson(text));
  const isAdmission = data?.details
    ? data.details.causes?.some(({ field }) => !field)
    : data && data.reason !== 'BadRequest';
  if (!isAdmission) return undefined;
  const [, name = 'that webhook or policy'] = ADMISSION.exec(text.slice(0, 2_000).replaceAll('\\"', '"')) ?? [];
  const remedy = `Ask who runs ${name} to except this account or namespace: kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations,validatingadmissionpolicies`;
  return failure(request, 'GR-CLUSTER-19', `an admission webhook or policy refuses it (${status})`, remedy, 'cluster');
}

/** A webhook chooses 400 or 403, a policy 422 or another of these. */
const REFUSALS: ReadonlySet<number> = new Set([400, 403, 422]);
/** Nothing else of the text is used, and this only when it is a name. */
const ADMISSION = /(?:admission webhook "|ValidatingAdmissionPolicy ')([a-z0-9.-]{1,253})["']/;

/** Makes the Failure of an unusable status. A busy server has a code and a remedy of its own. @param code of others */
export function statusFailure(request: HttpRequest, status: number, code: string, remedy: string): Failure {
  if (!BUSY.has(status)) return failure(request, code, `status ${status}`, remedy, 'cluster');
  const wait = 'Wait: it is asked again. If it stays so, look at the load of the API server and of etcd';
  return failure(request, 'GR-CLUSTER-18', `the API server is busy (${status})`, wait, 'cluster');
}

/** Makes the Failure of an unexpected status. @param alternative another way, after a comma; not for 5xx */
export function unexpectedStatus(request: HttpRequest, status: number, alternative: string): Failure {
  if (status !== 401)
    return statusFailure(request, status, 'GR-CLUSTER-07', `Check the API server${status < 500 ? alternative : ''}`);
  const until = request.certificate && new X509Certificate(request.certificate).validTo;
  const received = `the cluster does not know the ${until ? `client certificate, which is valid until ${until}` : 'token or certificate'} (401)`;
  const remedy = until
    ? `Get a new certificate for the kubeconfig from who runs the cluster (with kubeadm: kubeadm certs renew), or log in again${alternative}`
    : `Mount a valid token, or log in again if it is of a kubeconfig${alternative}`;
  return failure(request, 'GR-CLUSTER-05', received, remedy, 'cluster');
}

/** Makes the Failure for an answer of another form. @param received without values of the answer */
export function unreadable(request: HttpRequest, received: string): Failure {
  const remedy = 'Check that this is the address of a Kubernetes API server, or use --cluster off';
  return failure(request, 'GR-CLUSTER-08', `the answer is ${received}`, remedy, 'cluster');
}
