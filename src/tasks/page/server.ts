/**
 * The requests to the page, on a port of their own. It only reads.
 *
 *     /sign-in, /signed-in, /sign-out ... sign-in.ts      /, /jobs/ID, /groups, /groups/NAMESPACE/NAME ... HTML, with a session
 *     /api/v1/jobs, … ... the same as JSON, with a token in the header
 *
 * A session opens no JSON, and a token no page. A token in a URL is refused: it would stand in logs.
 */
import type { IncomingMessage, OutgoingHttpHeaders, RequestListener, ServerResponse } from 'node:http';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../shared/clock.ts';
import { jsonText } from '../../shared/printable.ts';
import { ASSETS } from './assets.ts';
import {
  groupContent,
  groupsContent,
  jobContent,
  jobsContent,
  type Markup,
  messageContent,
  pageOf,
  signInContent,
} from './html.ts';
import type { Looker, Shown } from './look.ts';
import { GiteaIsDown, keyOf, NotSignedIn, type ReaderRights } from './rights.ts';
import { type Sessions, SIGN_IN_S } from './session.ts';
import type { OAuth } from './sign-in.ts';
import { type Figures, groupFor, groupsFor, jobFor, jobsFor, type Reader } from './view.ts';

export interface PageServerOptions {
  /** Origin of the page, as browsers know it. */
  readonly url: string;
  readonly clock: Clock;
  readonly looker: Looker;
  readonly rights: ReaderRights;
  readonly sessions: Sessions;
  readonly oauth: OAuth;
  readonly logUrl: string;
  /** Is told of an unexpected error. The person who asked learns only that there was one. */
  readonly onMistake: (error: unknown) => void;
}

const HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': [
    ...["default-src 'none'", "style-src 'self'", "script-src 'self'", "connect-src 'self'", "form-action 'self'"],
    ...["base-uri 'none'", "frame-ancestors 'none'"],
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

/** Pages of one person. An open page asks again every five seconds. */
const OF_PERSON = { burst: 30, perS: 2, most: 1_000 };
/** Pages of all people: a hundred open ones at once, and as many visits besides. */
const OF_ALL = { burst: 200, perS: 40, most: 1 };
/** What is asked by somebody whom nobody knows costs Gitea a request. */
const OF_STRANGERS = { burst: 20, perS: 5, most: 1 };

const TOKEN_NAMES = ['access_token', 'token', 'authorization', 'private_token'];
const HTML = 'text/html; charset=utf-8';
const RETRY = { 'retry-after': '5' };

/** An answer that ends a request. */
class Answer extends Error {
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;

  constructor(status: number, message: string, headers: OutgoingHttpHeaders = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

interface Visit {
  readonly shown: Shown;
  readonly figures: Figures;
  readonly reader: Reader;
}

/** What an address shows: `data` as JSON, the same as `content` in HTML. */
interface FoundPage {
  readonly title: string;
  readonly data: object;
  readonly content: () => Markup;
}

export function pageRequests(options: PageServerOptions): RequestListener {
  const server = new PageServer(options);
  return (request, response) => {
    server.answer(request, response).catch(() => response.destroy());
  };
}

/** Token buckets: `burst` at once, then `perS`, of each of `most` keys. @returns false: too much was asked */
function rateLimit({ burst, most, perS }: typeof OF_ALL, clock: Clock): (key?: string) => boolean {
  const buckets = new LRUCache<string, { readonly tokens: number; readonly atMs: number }>({ max: most });
  return (key = '') => {
    const atMs = clock.steadyMs();
    const before = buckets.get(key) ?? { tokens: burst, atMs };
    const tokens = Math.min(burst, before.tokens + ((atMs - before.atMs) / 1000) * perS);
    buckets.set(key, { tokens: tokens < 1 ? tokens : tokens - 1, atMs });
    return tokens >= 1;
  };
}

class PageServer {
  readonly #options: PageServerOptions;
  readonly #ofPerson: ReturnType<typeof rateLimit>;
  readonly #ofAll: ReturnType<typeof rateLimit>;
  readonly #ofStrangers: ReturnType<typeof rateLimit>;

  constructor(options: PageServerOptions) {
    this.#options = options;
    this.#ofPerson = rateLimit(OF_PERSON, options.clock);
    this.#ofAll = rateLimit(OF_ALL, options.clock);
    this.#ofStrangers = rateLimit(OF_STRANGERS, options.clock);
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(/^\/(?!\/)/.test(request.url ?? '') ? (request.url ?? '/') : '/', this.#options.url);
    const isApi = url.pathname.startsWith('/api/');
    try {
      this.#refuseForeign(request, url);
      if (isApi) await this.#api(request, response, url);
      else await this.#page(request, response, url);
    } catch (error) {
      const { headers, message, status } = this.#answerTo(error, isApi);
      if (isApi) return send(response, status, 'application/json', jsonText({ message }), headers);
      const wantsSignIn = status === 401 && request.method === 'GET';
      const seconds = headers['retry-after'];
      const told = seconds === undefined ? message : `${message} This page tries again by itself.`;
      const content = wantsSignIn ? signInContent(`${url.pathname}${url.search}`, message) : messageContent(told);
      const title = wantsSignIn ? 'Sign in' : 'This did not work';
      const refresh = seconds !== undefined && { refresh: seconds };
      send(response, status, HTML, pageOf({ title, path: url.pathname }, content), { ...headers, ...refresh });
    }
  }

  #answerTo(error: unknown, isApi: boolean): Answer {
    if (error instanceof Answer) return error;
    if (error instanceof NotSignedIn) {
      if (isApi) return new Answer(401, 'Gitea does not know this token. Send "Authorization: token TOKEN".');
      const why = 'Your session has ended. Sign in to see the CI jobs of the repositories that you can read.';
      return new Answer(401, why, { 'set-cookie': this.#options.sessions.endCookie('session') });
    }
    if (error instanceof GiteaIsDown)
      return new Answer(503, 'Gitea does not answer, so nobody knows what you may see.', RETRY);
    this.#options.onMistake(error);
    return new Answer(500, 'This is a mistake of the page. Its log says more.');
  }

  /** @throws Answer */
  #refuseForeign({ headers, method = 'GET' }: IncomingMessage, { pathname, searchParams }: URL): void {
    // Another name may be that of a foreign site that leads here.
    if (headers.host !== new URL(this.#options.url).host)
      throw new Answer(421, `This page is ${this.#options.url} only.`);
    const allowed = pathname === '/sign-out' ? ['POST'] : ['GET', 'HEAD'];
    if (!allowed.includes(method)) throw new Answer(405, 'This page only reads.', { allow: allowed.join(', ') });
    if (TOKEN_NAMES.some((name) => searchParams.has(name)))
      throw new Answer(
        400,
        'A token in a URL is not read, and may stand in logs now: delete it in Gitea. Send it in the header Authorization.',
      );
  }

  async #page(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    const { pathname: path, searchParams: query } = url;
    const asset = ASSETS.get(path);
    const forEver = { 'cache-control': 'public, max-age=31536000, immutable' };
    if (asset) return send(response, 200, asset.contentType, asset.text, forEver);
    if (path === '/favicon.ico') throw new Answer(404, 'There is none.');
    if (path === '/sign-in') return await this.#signIn(response, query.get('to') ?? '/');
    if (path === '/signed-in') return await this.#signedIn(request, response, query);
    if (path === '/sign-out') return this.#signOut(request, response);
    const session = await this.#options.sessions.read('session', request);
    if (!session)
      throw new Answer(401, 'Sign in to see the CI jobs of the repositories that you can read, and why they wait.');
    this.#limit(keyOf(session.token));
    const visit = await this.#visit(session.token);
    const { content, title } = this.#find(path === '/' ? '/jobs' : path, query, visit);
    const frame = { ...troubleOf(visit), title, path, login: visit.reader.login };
    const figures = { atMs: visit.shown.atMs, nowMs: this.#options.clock.now() };
    send(response, 200, HTML, pageOf({ ...frame, figures }, content()));
  }

  /** @throws Answer 404 */
  #find(path: string, query: URLSearchParams, { figures, reader }: Visit): FoundPage {
    const [, of, ...rest] = path.split('/');
    const key = rest.join('/');
    if (path === '/jobs') {
      const repository = (query.get('repository') ?? '').slice(0, 200);
      const data = jobsFor(figures, reader, Math.trunc(Number(query.get('page'))) || 1, repository);
      return { title: 'My jobs', data, content: () => jobsContent(data, repository) };
    }
    if (path === '/groups') {
      const data = groupsFor(figures, reader);
      return { title: 'Groups', data, content: () => groupsContent(data) };
    }
    const job = of === 'jobs' && /^\d{1,15}$/.test(key) && jobFor(figures, reader, Number(key));
    if (job) return { title: `Job ${job.job.id}`, data: job, content: () => jobContent(job) };
    const group = of === 'groups' && groupFor(figures, reader, key, this.#options.logUrl);
    if (group) return { title: `Group ${key}`, data: group, content: () => groupContent(group) };
    const why = 'There is no such thing, or nothing that you may see. Jobs that ended long ago are in Gitea only.';
    throw new Answer(404, why);
  }

  async #api({ headers }: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    const token = /^(?:token|bearer) +([\x21-\x7e]+)$/i.exec(headers.authorization ?? '')?.[1];
    if (token === undefined) throw new NotSignedIn();
    if (!this.#options.rights.isKnown(token) && !this.#ofStrangers()) throw tooMany();
    this.#limit(keyOf(token));
    const visit = await this.#visit(token);
    const ageMs = this.#options.clock.now() - visit.shown.atMs;
    const { data } = this.#find(url.pathname.replace(/^\/api\/v1/, ''), url.searchParams, visit);
    const age = { ageSeconds: Math.max(0, Math.round(ageMs / 1000)), ...troubleOf(visit) };
    send(response, 200, 'application/json', jsonText({ ...age, ...data }));
  }

  /** @throws Answer, NotSignedIn, GiteaIsDown */
  async #visit(token: string): Promise<Visit> {
    const { looker, rights } = this.#options;
    // A stranger causes no look at anything: Gitea must know the token first.
    if (!rights.isKnown(token)) await rights.readerOf(token);
    const shown = await looker.shown();
    const { figures } = shown;
    if (!figures) throw new Answer(503, 'Gitea or the cluster was not read yet.', RETRY);
    return { shown, figures, reader: await rights.readerOf(token, figures) };
  }

  /** @throws Answer 429 */
  #limit(person: string): void {
    if (!this.#ofPerson(person) || !this.#ofAll()) throw tooMany();
  }

  async #signIn(response: ServerResponse, to: string): Promise<void> {
    const { oauth, sessions } = this.#options;
    const { location, signIn } = await oauth.begin(to);
    redirect(response, location, [(await sessions.cookie('sign-in', signIn, SIGN_IN_S)) ?? '']);
  }

  async #signedIn(request: IncomingMessage, response: ServerResponse, query: URLSearchParams): Promise<void> {
    const { oauth, rights, sessions } = this.#options;
    const signIn = await sessions.read('sign-in', request);
    const ended = sessions.endCookie('sign-in');
    if (!signIn) throw new Answer(400, 'This sign-in was not begun in this browser, or too long ago. Begin again.');
    if (!this.#ofStrangers()) throw tooMany();
    const found = await oauth.end(query, signIn);
    if (found === 'down') throw new GiteaIsDown();
    if (found === 'refused')
      throw new Answer(400, 'Gitea did not confirm this sign-in. Begin again.', { 'set-cookie': ended });
    const { login } = await rights.readerOf(found.token);
    const session = await sessions.cookie('session', { token: found.token, login }, found.seconds);
    if (session === undefined) throw new Answer(500, 'The token of Gitea is too long for a cookie.');
    redirect(response, signIn.to, [session, ended]);
  }

  /** @throws Answer 403: another site has sent it */
  #signOut({ headers }: IncomingMessage, response: ServerResponse): void {
    const isOwn = headers.origin === this.#options.url || headers['sec-fetch-site'] === 'same-origin';
    if (!isOwn) throw new Answer(403, 'Another site has sent this.');
    redirect(response, '/', [this.#options.sessions.endCookie('session')]);
  }
}

/** Why the figures are not newer. What exactly fails may name others' repositories. */
function troubleOf({ reader, shown: { trouble } }: Visit): { readonly trouble?: string } {
  if (trouble === undefined) return {};
  return { trouble: reader.isAdmin ? `The last look failed: ${trouble}` : 'Gitea or the cluster does not answer.' };
}

function tooMany(): Answer {
  return new Answer(429, 'Too many requests. Wait a few seconds.', RETRY);
}

function redirect(response: ServerResponse, location: string, cookies: readonly string[]): void {
  response.writeHead(303, { ...HEADERS, location, 'content-length': 0, 'set-cookie': [...cookies] }).end();
}

/** Node sends no body to a HEAD. */
function send(
  response: ServerResponse,
  status: number,
  contentType: string,
  body: string,
  headers: OutgoingHttpHeaders = {},
): void {
  const length = Buffer.byteLength(body);
  response
    .writeHead(status, { ...HEADERS, 'content-type': contentType, 'content-length': length, ...headers })
    .end(body);
}
