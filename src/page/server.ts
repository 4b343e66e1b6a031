/**
 * The requests to the page, on a port of their own. It only reads.
 *
 *     /sign-in, /signed-in, /sign-out ... sign-in.ts      /, /mine, /jobs/ID, /groups, /groups/NAMESPACE/NAME[/trends] ... HTML, with a session
 *     /events ... server-sent events, with a session      /api/v1/jobs, … ... the same as JSON, with a token in the header
 *
 * A session opens no JSON, and a token no page. A token in a URL is refused: it would stand in logs.
 */
import type { IncomingMessage, OutgoingHttpHeaders, RequestListener, ServerResponse } from 'node:http';
import { LRUCache } from 'lru-cache';
import { type Clock, pause } from '../shared/clock.ts';
import { defined } from '../shared/defined.ts';
import { Failure } from '../shared/failure.ts';
import { jsonText } from '../shared/printable.ts';
import { contentFinder } from './addresses.ts';
import { ASSETS } from './assets.ts';
import { type Frame, type Markup, messageContent, pageOf, signInContent } from './html.ts';
import type { Looker } from './look.ts';
import { GiteaIsDown, NotSignedIn, type ReaderRights, type Visitor } from './rights.ts';
import { type Sessions, SIGN_IN_S } from './session.ts';
import type { OAuth } from './sign-in.ts';
import type { TrendsOf } from './trends.ts';
import { repositoriesIn } from './view.ts';

interface PageServerOptions {
  /** Origin of the page, as browsers know it. */
  readonly url: string;
  readonly clock: Clock;
  /** CPU time that this process has used. */
  readonly cpuMs: () => number;
  readonly looker: Pick<Looker, 'shown' | 'watch'>;
  readonly trends: TrendsOf;
  readonly rights: ReaderRights;
  readonly sessions: Sessions;
  readonly oauth: OAuth;
  readonly logUrl: string;
  /** Called with an unexpected error. The person who asked learns only that there was one. */
  readonly onMistake: (error: unknown) => void;
}

const HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy':
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

/** Most open streams of events. Another one is refused with 429. */
export const MOST_STREAMS = 100;
/** Most open streams of one person. Another one is refused with 429. */
export const MOST_OF_ONE = 5;
/** Longest life of a stream, ms. Then the browser connects again, and its session is checked. */
const LONGEST_STREAM_MS = 300_000;
/** A proxy ends a stream that says nothing. */
const HEARTBEAT_MS = 20_000;
/** Most bytes that a browser has not received. Above it, its stream ends. */
const MOST_UNSENT = 16 * 1024;

const TOKEN_NAMES = ['access_token', 'token', 'authorization', 'private_token'];
/** Budget of all strangers together. */
const STRANGERS = { burst: 20, perS: 5 };
const TOO_MANY = 'Too many requests. Wait a few seconds.';
const RETRY = { 'retry-after': '5' };
const TRENDS = /^\/groups\/([^/]+\/[^/]+)\/trends$/;

/** An answer that ends a request. */
class Refusal extends Error {
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;

  constructor(status: number, message: string, headers: OutgoingHttpHeaders = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

type Answer = Readonly<{ status: number; headers: OutgoingHttpHeaders; body: string }>;

export function pageRequests(options: PageServerOptions): RequestListener {
  const { clock, cpuMs, logUrl, looker, oauth, onMistake, sessions, url: ownUrl } = options;
  const budgets = budgetsOf(clock, cpuMs);
  const { atCostOf } = budgets;
  const { admit, visit } = visitsOf(options, budgets.takeRequest);
  // People who return from a sign-in have a budget of their own.
  const signIns = tokenBuckets(STRANGERS, clock);
  const streams = new Map<ServerResponse, string>();
  const lookUp = contentFinder(logUrl);
  const contentOf = (...address: Parameters<typeof lookUp>) => {
    const content = lookUp(...address);
    if (content) return content;
    const why = 'There is no such thing, or nothing that you may see. Jobs that ended long ago are in Gitea only.';
    throw new Refusal(404, why);
  };

  const events = async (response: ServerResponse, visitor: Visitor): Promise<undefined> => {
    const login = await admit(visitor);
    const streamsOfOne = [...streams.values()].filter((each) => each === login).length;
    if (streams.size >= MOST_STREAMS || streamsOfOne >= MOST_OF_ONE) throw new Refusal(429, TOO_MANY, RETRY);
    if (response.destroyed) return;
    streams.set(response, login);
    await streamLooks(response, looker, clock);
    streams.delete(response);
    response.end();
  };

  const page = async (request: IncomingMessage, url: URL, response: ServerResponse): Promise<Answer | undefined> => {
    const { pathname: path, searchParams: query } = url;
    const asset = ASSETS.get(path);
    const forEver = { 'cache-control': 'public, max-age=31536000, immutable' };
    if (asset) return { status: 200, headers: { 'content-type': asset.contentType, ...forEver }, body: asset.text };
    if (path === '/favicon.ico') throw new Refusal(404, 'There is none.');
    if (path === '/sign-in') {
      const { location, signIn } = await oauth.begin(query.get('to') ?? '/');
      return redirect(location, [(await sessions.signIn.begin(signIn, SIGN_IN_S)) ?? '']);
    }
    if (path === '/signed-in') return await endSignIn(request, query, options, () => signIns.take());
    if (path === '/sign-out') return redirect('/', [sessions.session.end]);
    const session = await sessions.session.read(request);
    if (!session)
      throw new Refusal(401, 'Sign in to see the CI jobs of the repositories that you can read, and why they wait.');
    if (path === '/events') return await events(response, session);
    const view = await visit(session, path);
    return atCostOf(session.login, () => {
      const { content, title } = contentOf(path === '/' ? '/jobs' : path, query, view);
      return pageAnswer(200, { title, path, age: view.age, login: view.reader.login }, content());
    });
  };

  const api = async ({ headers }: IncomingMessage, { pathname, searchParams }: URL): Promise<Answer> => {
    const token = /^(?:token|bearer) +([\x21-\x7e]+)$/i.exec(headers.authorization ?? '')?.[1];
    if (token === undefined) throw new NotSignedIn();
    const path = pathname.replace(/^\/api\/v1/, '');
    const view = await visit({ token }, path);
    const { age } = view;
    const ageSeconds = Math.max(0, Math.round((age.nowMs - age.atMs) / 1000));
    return atCostOf(view.reader.login, () => {
      const { data } = contentOf(path, searchParams, view);
      return jsonAnswer(200, { ageSeconds, trouble: age.trouble, ...data });
    });
  };

  const mistakeOf = (error: unknown): Refusal => {
    onMistake(error);
    return new Refusal(500, 'This is a mistake of the page. Its log says more.');
  };

  /** Answers a request. Undefined: the answer was a stream, which has ended. */
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<Answer | undefined> => {
    const url = new URL(/^\/(?!\/)/.test(request.url ?? '') ? (request.url ?? '/') : '/', ownUrl);
    const isApi = url.pathname.startsWith('/api/');
    try {
      refuseForeign(ownUrl, request, url);
      return await (isApi ? api(request, url) : page(request, url, response));
    } catch (error) {
      const refusal = refusalOf(error, isApi, sessions.session.end) ?? mistakeOf(error);
      if (isApi) return jsonAnswer(refusal.status, { message: refusal.message }, refusal.headers);
      if (refusal.status === 401 && request.method === 'GET') return signInPage(refusal, url);
      return refusalPage(refusal, url, (await sessions.session.read(request))?.login || undefined);
    }
  };

  return async (request, response) => {
    try {
      const answered = await answer(request, response);
      if (!answered) return;
      const { body, headers, status } = answered;
      const length = { 'content-length': Buffer.byteLength(body) };
      // Node sends no body to a HEAD.
      response.writeHead(status, { ...HEADERS, ...length, ...headers }).end(body);
    } catch {
      response.destroy();
    }
  };
}

/** Who asks, and what there is to show. An unknown token costs a request to Gitea: strangers share one budget. */
function visitsOf(options: PageServerOptions, takeRequest: (login: string) => void) {
  const { clock, looker, rights, trends: trendsOf } = options;
  const strangers = tokenBuckets(STRANGERS, clock);

  /** Returns the login of a token that Gitea knows. @throws Refusal, NotSignedIn, GiteaIsDown, as `visit` does */
  const admit = async ({ login: signedIn, token }: Visitor): Promise<string> => {
    const knownLogin = signedIn ?? rights.loginOf(token);
    if (knownLogin === undefined) strangers.take();
    const login = knownLogin ?? (await rights.whoIs(token, 'strangers')).login;
    takeRequest(login);
    return (await rights.whoIs(token, 'rights')).login;
  };

  /** Returns the newest figures for a visitor. */
  const visit = async (visitor: Visitor, path: string) => {
    await admit(visitor);
    const { atMs, figures, trouble } = await looker.shown();
    if (!figures) throw new Refusal(503, trouble ? silentText(trouble) : 'Gitea was not read yet.', RETRY);
    let reader = await rights.readerOf(visitor, figures);
    const group = TRENDS.exec(path)?.[1];
    const trends = group !== undefined && reader.owns(group) ? trendsOf(group) : undefined;
    if (trends === 'asked') throw new Refusal(503, 'Gitea is asked for the last days of this group.', RETRY);
    if (trends instanceof Failure) throw new Refusal(503, silentText(trends), RETRY);
    if (trends) {
      const repositories = new Set([...figures.repositories, ...repositoriesIn(trends)]);
      reader = await rights.readerOf(visitor, { ...figures, repositories });
    }
    // The message of a failure may name repositories of others.
    const troubleText = trouble && (reader.isAdmin ? `The last look failed: ${trouble.message}` : silentText(trouble));
    return { figures, reader, trends, age: { atMs, nowMs: clock.now(), trouble: troubleText } };
  };

  return { admit, visit };
}

/** Answers the return from Gitea's sign-in: a session begins. @param takeBudget throws if too many return */
async function endSignIn(
  request: IncomingMessage,
  query: URLSearchParams,
  { oauth, rights, sessions }: PageServerOptions,
  takeBudget: () => void,
): Promise<Answer> {
  const signIn = await sessions.signIn.read(request);
  if (!signIn) throw new Refusal(400, 'This sign-in was not begun in this browser, or too long ago. Begin again.');
  takeBudget();
  const grant = await oauth.end(query, signIn);
  const endCookie = sessions.signIn.end;
  if (!grant) throw new Refusal(400, 'Gitea did not confirm this sign-in. Begin again.', { 'set-cookie': endCookie });
  const { login } = await rights.whoIs(grant.token, 'signIn');
  const session = await sessions.session.begin({ token: grant.token, login }, grant.seconds);
  if (session === undefined) throw new Refusal(500, 'The token of Gitea is too long for a cookie.');
  return redirect(signIn.to, [session, endCookie]);
}

function signInPage({ headers, message, status }: Refusal, { pathname: path, search }: URL): Answer {
  return pageAnswer(status, { title: 'Sign in', path }, signInContent(`${path}${search}`, message), headers);
}

function refusalPage({ headers, message, status }: Refusal, { pathname: path }: URL, login?: string): Answer {
  const refresh = headers['retry-after'];
  const content = messageContent(refresh === undefined ? message : `${message} This page tries again by itself.`);
  const frame = defined({ title: 'This did not work', path, login });
  return pageAnswer(status, frame, content, defined({ ...headers, refresh }));
}

/** Sends `looked` after each look, until the client leaves, reads too slowly, or the longest life is over. */
async function streamLooks(response: ServerResponse, { watch }: Pick<Looker, 'watch'>, clock: Clock): Promise<void> {
  const life = new AbortController();
  response.once('close', () => life.abort());
  const write = (text: string): void => {
    if (response.writableLength > MOST_UNSENT) life.abort();
    else response.write(text);
  };
  response.writeHead(200, { ...HEADERS, 'content-type': 'text/event-stream' });
  write('retry: 5000\n\n');
  const stop = watch(() => write(`event: looked\ndata: ${new Date(clock.now()).toISOString()}\n\n`));
  const endMs = clock.steadyMs() + LONGEST_STREAM_MS;
  while (!life.signal.aborted && clock.steadyMs() < endMs) {
    await pause(clock, HEARTBEAT_MS, life.signal);
    write(':\n\n');
  }
  stop();
}

/** Returns the refusal that an error stands for. Undefined: the error is a mistake of the page. */
function refusalOf(error: unknown, isApi: boolean, endOfSession: string): Refusal | undefined {
  if (error instanceof Refusal) return error;
  if (error instanceof GiteaIsDown)
    return new Refusal(503, 'Gitea does not answer, so nobody knows what you may see.', RETRY);
  if (!(error instanceof NotSignedIn)) return undefined;
  const why = 'Gitea does not know this token, or it lacks the scope read:user';
  if (isApi) return new Refusal(401, `${why}. Send "Authorization: token TOKEN".`);
  const text = 'Your session has ended. Sign in to see the CI jobs of the repositories that you can read.';
  return new Refusal(401, text, { 'set-cookie': endOfSession });
}

/** Names the server that does not answer. The message of the failure may name repositories of others. */
function silentText({ kind }: Pick<Failure, 'kind'>): string {
  if (kind === 'cluster' || kind === 'cluster-forbidden') return 'The Kubernetes cluster does not answer.';
  if (kind === 'unauthorized' || kind === 'forbidden' || kind === 'user-refused')
    return 'Gitea refuses the token of the runners.';
  return kind === 'other' ? 'Gitea or the cluster does not answer.' : 'Gitea does not answer.';
}

function budgetsOf(clock: Clock, cpuMs: () => number) {
  // Requests count by Gitea's login: a person can have any number of tokens. An open page sends one request every 5 s.
  const requestsOf = tokenBuckets({ burst: 30, perS: 2, mostCallers: 1_000 }, clock);
  // Milliseconds of CPU time: an eighth of a core for all clients, and half of that for one. Looks have another eighth.
  const cpuOfOne = tokenBuckets({ burst: 1_000, perS: 62.5, mostCallers: 1_000 }, clock);
  const cpuOfAll = tokenBuckets({ burst: 2_000, perS: 125 }, clock);
  return {
    /** Takes one request from the budgets. @throws Refusal: a budget of this person, or of all, is used up */
    takeRequest: (login: string): void => {
      for (const buckets of [requestsOf, cpuOfOne, cpuOfAll]) buckets.take(login);
    },
    atCostOf: (login: string, make: () => Answer): Answer => {
      const begunMs = cpuMs();
      try {
        return make();
      } finally {
        const costMs = cpuMs() - begunMs;
        for (const buckets of [cpuOfOne, cpuOfAll]) buckets.pay(login, costMs);
      }
    },
  };
}

/** Token buckets. A caller may take `burst` at once, and `perS` a second. Without `mostCallers` all callers share one bucket. */
function tokenBuckets(limits: Readonly<{ burst: number; perS: number; mostCallers?: number }>, clock: Clock) {
  const { burst, mostCallers, perS } = limits;
  const buckets = new LRUCache<string, { readonly tokens: number; readonly atMs: number }>({ max: mostCallers ?? 1 });
  /** Takes `cost`. Returns the amount before; the amount may go below 0. */
  const pay = (caller: string, cost: number): number => {
    const [key, atMs] = [mostCallers === undefined ? 'all' : caller, clock.steadyMs()];
    const before = buckets.get(key) ?? { tokens: burst, atMs };
    const tokens = Math.min(burst, before.tokens + ((atMs - before.atMs) / 1000) * perS);
    buckets.set(key, { tokens: tokens - cost, atMs });
    return tokens;
  };
  return {
    pay,
    /** Takes one. @throws Refusal: nothing is left */
    take: (caller = 'all'): void => {
      if (pay(caller, 0) < 1) throw new Refusal(429, TOO_MANY, RETRY);
      pay(caller, 1);
    },
  };
}

/** Refuses foreign requests. @throws Refusal: another site has sent it, or its address is not ours */
function refuseForeign(ownUrl: string, { headers, method = 'GET' }: IncomingMessage, url: URL): void {
  // Another host name may belong to a foreign site that points here.
  if (headers.host !== new URL(ownUrl).host) throw new Refusal(421, `This page is ${ownUrl} only.`);
  const isSignOut = url.pathname === '/sign-out';
  const allowed = isSignOut ? ['POST'] : ['GET', 'HEAD'];
  if (!allowed.includes(method)) throw new Refusal(405, 'This page only reads.', { allow: allowed.join(', ') });
  const isOwn = headers.origin === ownUrl || headers['sec-fetch-site'] === 'same-origin';
  if (isSignOut && !isOwn) throw new Refusal(403, 'Another site has sent this.');
  const hasToken = [...url.searchParams.keys()].some((name) => TOKEN_NAMES.includes(name.toLowerCase()));
  const why = 'A token in a URL is not read, and may stand in logs now: delete it in Gitea';
  if (hasToken) throw new Refusal(400, `${why}. Send it in the header Authorization.`);
}

function pageAnswer(status: number, frame: Frame, content: Markup, headers: OutgoingHttpHeaders = {}): Answer {
  return { status, headers: { 'content-type': 'text/html; charset=utf-8', ...headers }, body: pageOf(frame, content) };
}

function jsonAnswer(status: number, value: object, headers: OutgoingHttpHeaders = {}): Answer {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: jsonText(value) };
}

function redirect(location: string, cookies: readonly string[]): Answer {
  return { status: 303, headers: { location, 'set-cookie': [...cookies] }, body: '' };
}
