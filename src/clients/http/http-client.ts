/**
 * The requests of all clients. One call of `send` is:
 *
 *   wait for a free connection ─► attempt (own time limit) ─► 2xx, 4xx, 5xx ─► answer
 *                     ▲                    │ 3xx: again, within the origin only
 *                     └── pause, try again ┘ 429, 503 with Retry-After; GET: 500, 502, 504 (`busy`), broken connection
 *
 * All else is a `Failure` (exit 1): operation, method, address without query, what came, what to do. It never holds a
 * header, a body or a token.
 */
import { isUtf8 } from 'node:buffer';
import { setMaxListeners } from 'node:events';
import { type Clock, pause, systemClock } from '../../shared/clock.ts';
import { Failure } from '../../shared/failure.ts';
import { secondsText } from '../../shared/printable.ts';
import { parseUrl } from '../../shared/url.ts';
import { directWire } from './direct.ts';
import { type Env, proxyFor } from './proxy.ts';
import { type Deadline, failure, type HttpAnswer, type HttpRequest, type RequestLine, TimeLimit } from './request.ts';
import { type AskedPause, type RetryAfter, retryAfterMs } from './retry-after.ts';
import type { ServerClocks } from './server-clocks.ts';
import { isBrokenConnection, type Route, transportFailure } from './transport-error.ts';
import { refuseBadCa, type Trust, type Wire, type WireAnswer } from './wire.ts';

export interface HttpOptions extends Trust {
  /** Source of HTTPS_PROXY, HTTP_PROXY and NO_PROXY. */
  readonly env: Env;
  /** Where a person writes the address of the server: `in spec.gitea.url`. */
  readonly addressIn?: string | undefined;
  /** Requests to one origin at the same time, default 8. */
  readonly connections?: number | undefined;
  /** Time limit of one attempt, from a free connection to the last byte, ms. Default 10 000. */
  readonly attemptMs?: number | undefined;
  /** Longest accepted body, default 16 MiB. */
  readonly bodyLimit?: number | undefined;
  readonly onRequest?: ((line: RequestLine) => void) | undefined;
  readonly clocks?: ServerClocks | undefined;
  /** Statuses of a busy server without `Retry-After`: GET is tried again soon, as after 500. Default: none. */
  readonly busy?: ReadonlySet<number> | undefined;
  /** Remembers `Retry-After` between requests. Absent: it holds only for the request that was answered with it. */
  readonly retryAfter?: RetryAfter | undefined;
  /** Default: the real one. */
  readonly clock?: Clock | undefined;
  /** Makes the connections to an origin. Default: sockets. */
  readonly wireTo?: ((origin: string) => Wire) | undefined;
}

const QUICK_PAUSES_MS = [100, 400];
const QUICK_STATUSES = new Set([500, 502, 504]);
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const MAX_REDIRECTS = 3;
/** How often one request obeys `Retry-After`: a server that always says 0 must not keep us busy until the deadline. */
const MAX_OBEYED = 5;
/** Shortest pause before a repetition, ms: a server may send `Retry-After: 0`. */
const SHORTEST_PAUSE_MS = 100;

/** What an attempt returns. `Failure`: the connection broke. `AskedPause`: the server has asked to wait, so nothing was sent. */
type Outcome = HttpAnswer | Failure | AskedPause;

interface Lane {
  /** Loads its modules at the first request. */
  readonly wire: Promise<Wire>;
  readonly turns: ConnectionTurns;
  readonly route: Route;
}

/** The part of the client that a look uses: `serve` records it, and `generate` replays it. */
export type Sender = Pick<HttpClient, 'send'>;

/** Sends requests. Keeps connections until `close`, which must be called: open sockets keep the process alive. */
export class HttpClient {
  readonly #options: HttpOptions;
  readonly #lanes = new Map<string, Lane>();
  readonly #life = new AbortController();
  readonly #attemptMs: number;
  readonly #bodyLimit: number;
  readonly #clock: Clock;

  constructor(options: HttpOptions) {
    this.#options = options;
    // Every socket and every pause listens; Node would print a warning from the eleventh on.
    setMaxListeners(0, this.#life.signal);
    this.#attemptMs = options.attemptMs ?? 10_000;
    this.#clock = options.clock ?? systemClock;
    this.#bodyLimit = options.bodyLimit ?? 16 * 1024 * 1024;
  }

  /** Returns the answer, whatever its status. @throws Failure: no complete, readable answer before the deadline */
  async send(request: HttpRequest, deadline: Deadline): Promise<HttpAnswer> {
    const [quickPauses, mostObeyed] = request.once ? [[], 0] : [QUICK_PAUSES_MS, MAX_OBEYED];
    let obeyed = 0;
    let quick = 0;
    for (;;) {
      const answer = await this.#followRedirects(request, deadline);
      if ('ms' in answer) {
        await this.#obey(request, answer, deadline);
        continue;
      }
      const isBroken = answer instanceof Failure;
      const askedPause = isBroken ? undefined : pauseAskedFor(answer, this.#clock.now());
      if (askedPause && obeyed < mostObeyed) {
        obeyed += 1;
        await this.#obey(request, askedPause, deadline);
        continue;
      }
      const quickMs = quickPauses[quick];
      const isWorthAnotherTry =
        isBroken ||
        (request.method === 'GET' && (QUICK_STATUSES.has(answer.status) || this.#options.busy?.has(answer.status)));
      if (isWorthAnotherTry && quickMs !== undefined && quickMs < deadline.remainingMs()) {
        quick += 1;
        await this.#pause(quickMs);
        continue;
      }
      if (!isBroken) return answer;
      throw quickMs === undefined ? answer : outOfTime(request, deadline);
    }
  }

  /** Drops all connections at once, also those with a request under way. The client cannot be used again. */
  async close(): Promise<void> {
    this.#life.abort();
    // A wire that could not be made has nothing to close. Its senders already have the failure.
    const wires = [...this.#lanes.values()].map(({ wire }) => wire.catch(() => undefined));
    await Promise.all(wires.map(async (wire) => (await wire)?.close()));
    this.#lanes.clear();
  }

  async #obey(request: HttpRequest, { status, ms: waitMs }: AskedPause, deadline: Deadline): Promise<void> {
    if (waitMs >= deadline.remainingMs()) {
      const seconds = Math.ceil(waitMs / 1000);
      const received = `the server is busy (${status}) and asks to wait ${seconds} s, which does not fit into what is left of ${secondsText(deadline.ms)}`;
      throw failure(request, 'GR-HTTP-10', received, 'Try again later, or raise --timeout', 'told-to-wait');
    }
    await this.#pause(waitMs);
  }

  /** Rejects when the client is closed meanwhile. */
  async #pause(ms: number): Promise<void> {
    await pause(this.#clock, ms, this.#life.signal);
    this.#life.signal.throwIfAborted();
  }

  async #followRedirects(request: HttpRequest, deadline: Deadline): Promise<Outcome> {
    let url = request.url;
    for (let hops = 0; ; hops += 1) {
      const answer = await this.#attempt(request, url, deadline);
      if (answer instanceof Failure || 'ms' in answer) return answer;
      if (!REDIRECTS.has(answer.status) || (request.method !== 'GET' && !request.repeats)) return answer;
      if (hops === MAX_REDIRECTS) {
        const remedy = 'Use the address that the server gives itself';
        throw failure(request, 'GR-HTTP-11', `more than ${MAX_REDIRECTS} redirects`, remedy, 'redirected');
      }
      url = redirectTarget(request, url, answer, this.#options.addressIn);
    }
  }

  async #attempt(request: HttpRequest, url: URL, deadline: Deadline): Promise<Outcome> {
    const lane = this.#laneTo(url);
    // Looked up only now: the pause may have begun while the request waited for its turn.
    const work = async () =>
      this.#options.retryAfter?.pauseOf(url.origin) ?? (await this.#send(request, url, lane, deadline));
    return await lane.turns.pass(this.#life.signal, request.queue ?? '', work);
  }

  /** Returns the Failure of a broken connection. @throws all other Failures */
  async #send(request: HttpRequest, url: URL, lane: Lane, deadline: Deadline): Promise<HttpAnswer | Failure> {
    const limitMs = Math.min(this.#attemptMs, deadline.remainingMs());
    const limit = new TimeLimit(limitMs, this.#clock, deadline.signal);
    try {
      const answer = await Promise.race([this.#exchange(request, url, lane, limit), limit.reached]);
      const askedPause = pauseAskedFor(answer, this.#clock.now());
      if (askedPause) this.#options.retryAfter?.note(url.origin, askedPause);
      return answer;
    } catch (error) {
      if (error instanceof Failure) throw error;
      if (limit.isReached && limitMs < this.#attemptMs) throw outOfTime(request, deadline);
      if (limit.isReached) {
        const received = `no complete answer within ${secondsText(limitMs)}`;
        throw tooLate(request, received, 'and the network on the way to it');
      }
      const failed = transportFailure(request, error, lane.route);
      if (request.method === 'GET' && isBrokenConnection(error)) return failed;
      throw failed;
    } finally {
      limit.clear();
    }
  }

  async #exchange(request: HttpRequest, url: URL, lane: Lane, limit: TimeLimit): Promise<HttpAnswer> {
    const started = this.#clock.steadyMs();
    let status = 0;
    try {
      const wire = await lane.wire;
      if (limit.isReached) return await limit.reached;
      const sentMs = this.#clock.now();
      const { method, body } = request;
      const exchange = wire.send({ url, method, headers: headersOf(request, url), body });
      limit.stop = exchange.cancel;
      const answer = await exchange.answer;
      status = answer.status;
      const { headers } = answer;
      this.#noteClock(url, answer, sentMs);
      const text = await this.#readText(request, answer);
      return {
        status,
        text,
        mediaType: (oneHeader(headers['content-type']) ?? '').split(';', 1).join('').trim().toLowerCase(),
        header: (name) => oneHeader(headers[name]),
        proxy: lane.route.proxy,
      };
    } finally {
      const { method, queue = '' } = request;
      // Not the target of a redirect: a server may have put the token into it.
      this.#options.onRequest?.({ method, url: request.url.href, status, ms: this.#clock.steadyMs() - started, queue });
    }
  }

  /** Skips errors, which may come from a proxy with another clock, and answers of a cache, whose time is over. */
  #noteClock({ origin }: URL, { status, headers }: WireAnswer, sentMs: number): void {
    const date = oneHeader(headers['date']);
    if (date === undefined || headers['age'] !== undefined || status < 200 || status > 299) return;
    this.#options.clocks?.note(origin, { sentMs, receivedMs: this.#clock.now(), date });
  }

  async #readText(request: HttpRequest, answer: WireAnswer): Promise<string> {
    const { mostBytes = this.#bodyLimit } = request;
    const bytes = await answer.read(mostBytes);
    if (bytes === undefined) {
      const received = `the answer is longer than ${Math.round(mostBytes / 1024)} KiB`;
      throw failure(request, 'GR-HTTP-12', received, 'Check that the URL is that of the right server', 'too-long');
    }
    if (!isUtf8(bytes)) {
      const remedy = 'Check the server and what stands before it';
      throw failure(request, 'GR-HTTP-13', 'the answer is not UTF-8 text', remedy, 'unreachable');
    }
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
    // A TextDecoder drops the byte order mark, too.
    return text.startsWith('\ufeff') ? text.slice(1) : text;
  }

  #laneTo(url: URL): Lane {
    const knownLane = this.#lanes.get(url.origin);
    if (knownLane !== undefined) return knownLane;
    const { ca, caFrom, urlIs, clientCertificate, connections = 8, env, wireTo } = this.#options;
    refuseBadCa(ca, caFrom);
    const proxy = proxyFor(url, env);
    const { signal } = this.#life;
    const options = { connections, signal, ca, clientCertificate };
    const ofNetwork = () =>
      proxy
        ? import('./connect.ts').then(({ proxiedWire }) => proxiedWire(url.origin, { ...options, proxy }))
        : directWire(url.origin, options);
    const wire = wireTo ? Promise.resolve(wireTo(url.origin)) : ofNetwork();
    // Each sender reports the rejection. This handler keeps Node from ending the process when no sender waits yet.
    wire.catch(() => undefined);
    const route = { host: url.host, proxy: proxy?.host, caFrom, urlIs };
    const lane = { wire, turns: new ConnectionTurns(connections), route };
    this.#lanes.set(url.origin, lane);
    return lane;
  }
}

export function outOfTime(request: HttpRequest, { ms }: Deadline): Failure {
  return tooLate(request, `not done within the time limit of ${secondsText(ms)}`, 'or raise --timeout');
}

function tooLate(request: HttpRequest, received: string, also: string): Failure {
  return failure(request, 'GR-HTTP-09', received, `Check the load of the server, ${also}`, 'timeout');
}

/** Refuses other origins: the token belongs to this one. @throws Failure: the redirect is not followed */
function redirectTarget(request: HttpRequest, from: URL, { header, status }: HttpAnswer, addressIn?: string): URL {
  const refusal = (targetText: string, remedy: string): Failure =>
    failure(request, 'GR-HTTP-11', `a redirect (${status}) ${targetText}`, remedy, 'redirected');
  const location = header('location') ?? '';
  const target = location === '' ? undefined : parseUrl(location, from.href);
  if (target === undefined) throw refusal('that leads nowhere', 'Check the server and what stands before it');
  const isElsewhere = target.origin !== request.url.origin;
  if (!isElsewhere && request.mayLeadTo?.(target, from, status) !== false) return target;
  const place = isElsewhere ? `${target.origin}, another server` : 'another path of this server';
  const base = movedBase(request.url, target);
  const remedy =
    base === undefined
      ? 'That is a login page, as a rule: exempt /api from it'
      : `The server is at ${base} now: write that ${addressIn ?? 'as its address'}`;
  throw refusal(`to ${place}, which is not followed`, remedy);
}

/** Returns the base address under which a redirect has the same request. Only its plain words may be shown. */
function movedBase({ pathname: asked }: URL, { origin, pathname }: URL): string | undefined {
  const path = asked.slice(Math.max(0, asked.search(/\/apis?\//)));
  const base = pathname.endsWith(path) ? pathname.slice(0, -path.length) : undefined;
  return base !== undefined && /^[\w./-]{0,60}$/.test(base) ? origin + base : undefined;
}

function headersOf(request: HttpRequest, url: URL): Record<string, string> {
  return {
    accept: 'application/json',
    'user-agent': 'argocd-gitea-runners',
    ...(request.authorization && { authorization: request.authorization(url) }),
    ...(request.body !== undefined && { 'content-type': request.contentType ?? 'application/json' }),
    ...request.headers,
  };
}

function pauseAskedFor({ header, status }: HttpAnswer, nowMs: number): AskedPause | undefined {
  const ms = status === 429 || status === 503 ? retryAfterMs(header('retry-after'), nowMs) : undefined;
  return ms === undefined ? undefined : { status, ms: Math.max(ms, SHORTEST_PAUSE_MS) };
}

function oneHeader(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

/** Lets at most `width` pass. Queues take turns, so a long one delays the next request of another by one place. */
export class ConnectionTurns {
  readonly #queues = new Map<string, (() => void)[]>();
  #free: number;

  constructor(width: number) {
    this.#free = width;
  }

  /** Runs `work` when `queue` has its turn and there is room. Rejects if `signal` is aborted by then. */
  async pass<T>(signal: AbortSignal, queue: string, work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#wait(queue, resolve));
    try {
      signal.throwIfAborted();
      return await work();
    } finally {
      this.#next();
    }
  }

  #wait(queue: string, start: () => void): void {
    const waiting = this.#queues.get(queue);
    if (waiting) waiting.push(start);
    else this.#queues.set(queue, [start]);
  }

  /** The place that has become free goes to the queue whose turn it is; that queue then stands last. */
  #next(): void {
    for (const [queue, waiting] of this.#queues) {
      this.#queues.delete(queue);
      const start = waiting.shift();
      if (waiting.length > 0) this.#queues.set(queue, waiting);
      if (start === undefined) continue;
      start();
      return;
    }
    this.#free += 1;
  }
}
