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
  /** Is told of an unexpected error. The person who asked learns only that there was one. */
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

/** Streams of events, of all and of one person. */
export const MOST_STREAMS = 100;
export const MOST_OF_ONE = 5;
/** Then the browser connects again, and is asked who it is. */
const LONGEST_STREAM_MS = 300_000;
/** A proxy ends a stream that says nothing. */
const HEARTBEAT_MS = 20_000;
/** Bytes that a reader has not taken. */
const MOST_UNSENT = 16 * 1024;

const TOKEN_NAMES = ['access_token', 'token', 'authorization', 'private_token'];
const STRANGERS = { burst: 20, perS: 5, most: 1 };
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
  const { clock, cpuMs, logUrl, looker, oauth, onMistake, rights, sessions, trends: trendsOf, url: ownUrl } = options;
  // By Gitea's login: a person can have any number of tokens. A page with live updates asks for one every five seconds.
  const requestsOf = tokenBuckets({ burst: 30, perS: 2, most: 1_000 }, clock);
  // Milliseconds of CPU time: an eighth of a core for all, and half of that for one. Looks have another eighth.
  const cpuOfOne = tokenBuckets({ burst: 1_000, perS: 62.5, most: 1_000 }, clock);
  const cpuOfAll = tokenBuckets({ burst: 2_000, perS: 125, most: 1 }, clock);
  // Each request with an unknown token costs a request to Gitea. People who come back from a sign-in have a budget of their own.
  const [strangers, signIns] = [tokenBuckets(STRANGERS, clock), tokenBuckets(STRANGERS, clock)];
  const streams = new Map<ServerResponse, string>();
  const lookUp = contentFinder(logUrl);
  const find = (...asked: Parameters<typeof lookUp>) => {
    const found = lookUp(...asked);
    if (found) return found;
    const why = 'There is no such thing, or nothing that you may see. Jobs that ended long ago are in Gitea only.';
    throw new Refusal(404, why);
  };

  /**
   * Whose token it is. A stranger causes no look at anything: Gitea must know the token first.
   * @throws Refusal, NotSignedIn, GiteaIsDown
   */
  const admit = async ({ login, token }: Visitor): Promise<string> => {
    const known = login ?? rights.loginOf(token);
    if (known === undefined) strangers.take();
    const person = known ?? (await rights.whoIs(token, 'strangers')).login;
    for (const each of [requestsOf, cpuOfOne, cpuOfAll]) each.take(person);
    return (await rights.whoIs(token, 'rights')).login;
  };

  /** Makes an answer at this person's cost. */
  const atCostOf = (login: string, make: () => Answer): Answer => {
    const begunMs = cpuMs();
    try {
      return make();
    } finally {
      const costMs = cpuMs() - begunMs;
      for (const each of [cpuOfOne, cpuOfAll]) each.pay(login, costMs);
    }
  };

  /** @throws Refusal, NotSignedIn, GiteaIsDown */
  const visit = async (asker: Visitor, path: string) => {
    await admit(asker);
    const { atMs, figures, trouble } = await looker.shown();
    if (!figures) throw new Refusal(503, trouble ? silentText(trouble) : 'Gitea was not read yet.', RETRY);
    let reader = await rights.readerOf(asker, figures);
    const group = TRENDS.exec(path)?.[1];
    const trends = group !== undefined && reader.owns(group) ? trendsOf(group) : undefined;
    if (trends === 'asked') throw new Refusal(503, 'Gitea is asked for the last days of this group.', RETRY);
    if (trends instanceof Failure) throw new Refusal(503, silentText(trends), RETRY);
    if (trends) {
      const repositories = new Set([...figures.repositories, ...repositoriesIn(trends)]);
      reader = await rights.readerOf(asker, { ...figures, repositories });
    }
    // What exactly fails may name others' repositories.
    const told = reader.isAdmin ? `The last look failed: ${trouble?.message}` : trouble && silentText(trouble);
    return { figures, reader, trends, age: { atMs, nowMs: clock.now(), trouble: trouble && told } };
  };

  /** A stream that says `looked` after each look. Undefined: it is over. @throws Refusal, NotSignedIn, GiteaIsDown */
  const events = async (response: ServerResponse, asker: Visitor): Promise<undefined> => {
    const person = await admit(asker);
    const ofOne = [...streams.values()].filter((each) => each === person).length;
    if (streams.size >= MOST_STREAMS || ofOne >= MOST_OF_ONE) throw new Refusal(429, TOO_MANY, RETRY);
    if (response.destroyed) return;
    streams.set(response, person);
    const life = new AbortController();
    response.once('close', () => life.abort());
    const write = (text: string): void => {
      if (response.writableLength > MOST_UNSENT) life.abort();
      else response.write(text);
    };
    response.writeHead(200, { ...HEADERS, 'content-type': 'text/event-stream' });
    write('retry: 5000\n\n');
    const stop = looker.watch(() => write(`event: looked\ndata: ${new Date(clock.now()).toISOString()}\n\n`));
    const endMs = clock.steadyMs() + LONGEST_STREAM_MS;
    while (!life.signal.aborted && clock.steadyMs() < endMs) {
      await pause(clock, HEARTBEAT_MS, life.signal);
      write(':\n\n');
    }
    stop();
    streams.delete(response);
    response.end();
  };

  const signedIn = async (request: IncomingMessage, query: URLSearchParams): Promise<Answer> => {
    const signIn = await sessions.signIn.read(request);
    const ended = sessions.signIn.end;
    if (!signIn) throw new Refusal(400, 'This sign-in was not begun in this browser, or too long ago. Begin again.');
    signIns.take();
    const found = await oauth.end(query, signIn);
    if (!found) throw new Refusal(400, 'Gitea did not confirm this sign-in. Begin again.', { 'set-cookie': ended });
    const { login } = await rights.whoIs(found.token, 'signIn');
    const session = await sessions.session.begin({ token: found.token, login }, found.seconds);
    if (session === undefined) throw new Refusal(500, 'The token of Gitea is too long for a cookie.');
    return redirect(signIn.to, [session, ended]);
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
    if (path === '/signed-in') return await signedIn(request, query);
    if (path === '/sign-out') return redirect('/', [sessions.session.end]);
    const session = await sessions.session.read(request);
    if (!session)
      throw new Refusal(401, 'Sign in to see the CI jobs of the repositories that you can read, and why they wait.');
    if (path === '/events') return await events(response, session);
    const seen = await visit(session, path);
    return atCostOf(session.login, () => {
      const { content, title } = find(path === '/' ? '/jobs' : path, query, seen);
      return pageAnswer(200, { title, path, age: seen.age, login: seen.reader.login }, content());
    });
  };

  const api = async ({ headers }: IncomingMessage, { pathname, searchParams }: URL): Promise<Answer> => {
    const token = /^(?:token|bearer) +([\x21-\x7e]+)$/i.exec(headers.authorization ?? '')?.[1];
    if (token === undefined) throw new NotSignedIn();
    const path = pathname.replace(/^\/api\/v1/, '');
    const seen = await visit({ token }, path);
    const { age } = seen;
    const ageSeconds = Math.max(0, Math.round((age.nowMs - age.atMs) / 1000));
    return atCostOf(seen.reader.login, () => {
      const { data } = find(path, searchParams, seen);
      return jsonAnswer(200, { ageSeconds, trouble: age.trouble, ...data });
    });
  };

  const refusalOf = (error: unknown, isApi: boolean): Refusal => {
    if (error instanceof Refusal) return error;
    if (error instanceof NotSignedIn) {
      if (isApi) {
        const why = 'Gitea does not know this token, or it lacks the scope read:user';
        return new Refusal(401, `${why}. Send "Authorization: token TOKEN".`);
      }
      const why = 'Your session has ended. Sign in to see the CI jobs of the repositories that you can read.';
      return new Refusal(401, why, { 'set-cookie': sessions.session.end });
    }
    if (error instanceof GiteaIsDown)
      return new Refusal(503, 'Gitea does not answer, so nobody knows what you may see.', RETRY);
    onMistake(error);
    return new Refusal(500, 'This is a mistake of the page. Its log says more.');
  };

  /** Undefined: there is nothing more to say. */
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<Answer | undefined> => {
    const url = new URL(/^\/(?!\/)/.test(request.url ?? '') ? (request.url ?? '/') : '/', ownUrl);
    const isApi = url.pathname.startsWith('/api/');
    try {
      refuseForeign(ownUrl, request, url);
      return await (isApi ? api(request, url) : page(request, url, response));
    } catch (error) {
      const { headers, message, status } = refusalOf(error, isApi);
      if (isApi) return jsonAnswer(status, { message }, headers);
      const path = url.pathname;
      if (status === 401 && request.method === 'GET')
        return pageAnswer(status, { title: 'Sign in', path }, signInContent(`${path}${url.search}`, message), headers);
      const refresh = headers['retry-after'];
      const told = messageContent(refresh === undefined ? message : `${message} This page tries again by itself.`);
      const all = { ...headers, ...(refresh && { refresh }) };
      const login = (await sessions.session.read(request))?.login;
      return pageAnswer(status, { title: 'This did not work', path, ...(login && { login }) }, told, all);
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

/** Says which server does not answer, and no more: the message of a failure may name repositories of others. */
function silentText({ kind }: Pick<Failure, 'kind'>): string {
  if (kind === 'cluster' || kind === 'cluster-forbidden') return 'The Kubernetes cluster does not answer.';
  if (kind === 'unauthorized' || kind === 'forbidden' || kind === 'user-refused')
    return 'Gitea refuses the token of the runners.';
  return kind === 'other' ? 'Gitea or the cluster does not answer.' : 'Gitea does not answer.';
}

/** Token buckets: `burst` at once, then `perS`, of each of `most` keys. One is for all, whatever its key. */
function tokenBuckets({ burst, most, perS }: Record<'burst' | 'most' | 'perS', number>, clock: Clock) {
  const buckets = new LRUCache<string, { readonly tokens: number; readonly atMs: number }>({ max: most });
  /** Below 0: something cost more than was left. */
  const pay = (by: string, cost: number): number => {
    const [key, atMs] = [most === 1 ? '' : by, clock.steadyMs()];
    const before = buckets.get(key) ?? { tokens: burst, atMs };
    const tokens = Math.min(burst, before.tokens + ((atMs - before.atMs) / 1000) * perS);
    buckets.set(key, { tokens: tokens - cost, atMs });
    return tokens;
  };
  return {
    pay,
    /** @throws Refusal: nothing is left */
    take: (by = ''): void => {
      if (pay(by, 0) < 1) throw new Refusal(429, TOO_MANY, RETRY);
      pay(by, 1);
    },
  };
}

/** @throws Refusal: another site has sent it, or it is none of ours */
function refuseForeign(ownUrl: string, { headers, method = 'GET' }: IncomingMessage, url: URL): void {
  // Another name may be that of a foreign site that leads here.
  if (headers.host !== new URL(ownUrl).host) throw new Refusal(421, `This page is ${ownUrl} only.`);
  const isSignOut = url.pathname === '/sign-out';
  const allowed = isSignOut ? ['POST'] : ['GET', 'HEAD'];
  if (!allowed.includes(method)) throw new Refusal(405, 'This page only reads.', { allow: allowed.join(', ') });
  const isOwn = headers.origin === ownUrl || headers['sec-fetch-site'] === 'same-origin';
  if (isSignOut && !isOwn) throw new Refusal(403, 'Another site has sent this.');
  const isTokenTold = TOKEN_NAMES.some((name) => url.searchParams.has(name));
  const why = 'A token in a URL is not read, and may stand in logs now: delete it in Gitea';
  if (isTokenTold) throw new Refusal(400, `${why}. Send it in the header Authorization.`);
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
