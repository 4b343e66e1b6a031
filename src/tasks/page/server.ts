/**
 * The requests to the page, on a port of their own. It only reads.
 *
 *     /sign-in, /signed-in, /sign-out ... sign-in.ts      /, /jobs/ID, /groups, /groups/NAMESPACE/NAME ... HTML, with a session
 *     /events ... server-sent events, with a session      /api/v1/jobs, … ... the same as JSON, with a token in the header
 *
 * A session opens no JSON, and a token no page. A token in a URL is refused: it would stand in logs.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { type Clock, pause } from '../../shared/clock.ts';
import { jsonText } from '../../shared/printable.ts';
import { ASSETS } from './assets.ts';
import {
  type Frame,
  groupContent,
  groupsContent,
  jobContent,
  jobsContent,
  messageContent,
  pageOf,
  signInContent,
} from './html.tsx';
import { RateLimit } from './limits.ts';
import type { Looker, Shown } from './look.ts';
import { GiteaIsDown, NotSignedIn, ReaderRights } from './rights.ts';
import type { Session, Sessions } from './session.ts';
import type { OAuth } from './sign-in.ts';
import {
  type Figures,
  type GroupAnswer,
  type GroupsPage,
  groupFor,
  groupsFor,
  type JobAnswer,
  type JobsPage,
  jobFor,
  jobsFor,
  type Reader,
} from './view.ts';

export interface PageServerOptions {
  /** Origin of the page, as browsers know it. */
  readonly url: string;
  readonly clock: Clock;
  readonly looker: Looker;
  readonly rights: ReaderRights;
  readonly sessions: Sessions;
  readonly oauth: OAuth;
  readonly logUrl: string;
  readonly signal: AbortSignal;
  /** Is told of an unexpected error. The person who asked learns only that there was one. */
  readonly onMistake: (error: unknown) => void;
}

const CSP = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');
const HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': CSP,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
} as const;

/** Pages of one person. A page with live updates asks for one every five seconds. */
const OF_PERSON = { burst: 30, perS: 2, most: 1_000 };
/** Pages of all people, and what is asked by somebody whom nobody knows: each of these costs Gitea a request. */
const OF_ALL = { burst: 60, perS: 20, most: 1 };
const OF_STRANGERS = { burst: 20, perS: 5, most: 1 };
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

/** An answer that ends a request. */
class Answer extends Error {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[]>>;

  constructor(status: number, message: string, headers: Readonly<Record<string, string | string[]>> = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

interface Visit {
  readonly shown: Shown & { readonly figures: Figures };
  readonly reader: Reader;
}

/** What an address shows, as HTML or as JSON. */
type FoundPage =
  | { readonly is: 'jobs'; readonly data: JobsPage; readonly repository: string }
  | { readonly is: 'job'; readonly data: JobAnswer }
  | { readonly is: 'groups'; readonly data: GroupsPage }
  | { readonly is: 'group'; readonly data: GroupAnswer };

export function pageRequests(options: PageServerOptions): RequestListener {
  const server = new PageServer(options);
  return (request, response) => {
    server.answer(request, response).catch(() => response.destroy());
  };
}

class PageServer {
  readonly #options: PageServerOptions;
  readonly #ofPerson: RateLimit;
  readonly #ofAll: RateLimit;
  readonly #ofStrangers: RateLimit;
  readonly #streams = new Map<ServerResponse, string>();

  constructor(options: PageServerOptions) {
    this.#options = options;
    const { clock } = options;
    this.#ofPerson = new RateLimit({ ...OF_PERSON, clock });
    this.#ofAll = new RateLimit({ ...OF_ALL, clock });
    this.#ofStrangers = new RateLimit({ ...OF_STRANGERS, clock });
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url: own } = this.#options;
    const url = new URL(/^\/(?!\/)/.test(request.url ?? '') ? (request.url ?? '/') : '/', own);
    const isApi = url.pathname.startsWith('/api/');
    try {
      this.#refuseForeign(request, url);
      if (isApi) await this.#api(request, response, url);
      else await this.#page(request, response, url);
    } catch (error) {
      const { headers, message, status } = await this.#answerTo(error, isApi);
      if (isApi) return send(response, status, 'application/json', jsonText({ message }), headers);
      const wantsSignIn = status === 401 && request.method === 'GET';
      const content = wantsSignIn ? signInContent(`${url.pathname}${url.search}`, message) : messageContent(message);
      const title = wantsSignIn ? 'Sign in' : 'This did not work';
      send(response, status, HTML, pageOf({ title, path: url.pathname }, content), headers);
    }
  }

  async #answerTo(error: unknown, isApi: boolean): Promise<Answer> {
    const { sessions } = this.#options;
    if (error instanceof Answer) return error;
    if (error instanceof NotSignedIn) {
      if (isApi) return new Answer(401, 'Gitea does not know this token. Send "Authorization: token TOKEN".');
      const why = 'Your session has ended. Sign in to see the CI jobs of the repositories that you can read.';
      return new Answer(401, why, { 'set-cookie': sessions.endCookie('session') });
    }
    if (error instanceof GiteaIsDown)
      return new Answer(503, 'Gitea does not answer, so nobody knows what you may see.', { 'retry-after': '5' });
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
    const asset = ASSETS.get(url.pathname);
    if (asset) {
      const forEver = { 'cache-control': 'public, max-age=31536000, immutable' };
      return send(response, 200, asset.contentType, asset.text, forEver);
    }
    switch (url.pathname) {
      case '/favicon.ico':
        throw new Answer(404, 'There is none.');
      case '/sign-in':
        return await this.#signIn(response, url.searchParams.get('to') ?? '/');
      case '/signed-in':
        return await this.#signedIn(request, response, url.searchParams);
      case '/sign-out':
        return this.#signOut(request, response);
      default: {
        const session = await this.#options.sessions.sessionOf(request);
        if (!session)
          throw new Answer(401, 'Sign in to see the CI jobs of the repositories that you can read, and why they wait.');
        this.#limit(ReaderRights.keyOf(session.token));
        if (url.pathname === '/events') return await this.#events(response, session);
        return await this.#html(response, url, session);
      }
    }
  }

  async #html(response: ServerResponse, url: URL, { token }: Session): Promise<void> {
    const visit = await this.#visit(token);
    const { pathname: path, searchParams } = url;
    const { content, title } = contentOf(this.#find(path === '/' ? '/jobs' : path, searchParams, visit));
    send(response, 200, HTML, pageOf({ ...this.#frameOf(visit), title, path }, content));
  }

  /** @throws Answer 404 */
  #find(path: string, query: URLSearchParams, { reader, shown: { figures } }: Visit): FoundPage {
    if (path === '/jobs') {
      const wanted = jobsWanted(query);
      return { is: 'jobs', data: jobsFor(figures, reader, wanted), repository: wanted.repository };
    }
    if (path === '/groups') return { is: 'groups', data: groupsFor(figures, reader) };
    const [, of, ...rest] = path.split('/');
    const job = of === 'jobs' && /^\d{1,15}$/.test(rest.join('/')) && jobFor(figures, reader, Number(rest[0]));
    if (job) return { is: 'job', data: job };
    const group = of === 'groups' && groupFor(figures, reader, rest.join('/'), this.#options.logUrl);
    if (group) return { is: 'group', data: group };
    throw new Answer(
      404,
      'There is no such thing, or nothing that you may see. Jobs that ended long ago are in Gitea only.',
    );
  }

  async #api(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    const { authorization = '' } = request.headers;
    const token = /^(?:token|bearer) +([\x21-\x7e]+)$/i.exec(authorization)?.[1];
    if (token === undefined) throw new NotSignedIn();
    if (!this.#options.rights.isKnown(token) && !this.#ofStrangers.take('')) throw tooMany();
    this.#limit(ReaderRights.keyOf(token));
    const visit = await this.#visit(token);
    const ageMs = this.#options.clock.now() - visit.shown.atMs;
    const { trouble } = this.#frameOf(visit);
    const { data } = this.#find(url.pathname.replace(/^\/api\/v1/, ''), url.searchParams, visit);
    const around = { ageSeconds: Math.max(0, Math.round(ageMs / 1000)), ...(trouble !== undefined && { trouble }) };
    send(response, 200, 'application/json', jsonText({ ...around, ...data }));
  }

  /** @throws Answer, NotSignedIn, GiteaIsDown */
  async #visit(token: string): Promise<Visit> {
    const { looker, rights } = this.#options;
    // A stranger causes no look at anything: Gitea must know the token first.
    if (!rights.isKnown(token)) await rights.readerOf(token, { repositories: [], scopes: [] });
    const shown = await looker.shown();
    const { figures } = shown;
    if (!figures) throw new Answer(503, 'Gitea or the cluster was not read yet. Try again in a moment.', RETRY);
    const jobs = [...figures.explanation.jobs.map(({ job }) => job), ...figures.begun];
    const repositories = new Set(jobs.map(({ repository }) => repository));
    const scopes = [
      ...figures.explanation.groups.flatMap((group) => figures.scopeOf(group) ?? []),
      ...figures.broken.flatMap(({ scope }) => scope ?? []),
    ];
    return { shown: { ...shown, figures }, reader: await rights.readerOf(token, { repositories, scopes }) };
  }

  #frameOf({
    reader,
    shown: { atMs, trouble },
  }: Visit): Pick<Frame, 'login' | 'figures'> & { readonly trouble?: string } {
    // What exactly fails may name others' repositories.
    const why = reader.isAdmin ? `The last look failed: ${trouble}` : 'Gitea or the cluster does not answer.';
    const figures = { atMs, nowMs: this.#options.clock.now() };
    return { login: reader.login, figures, ...(trouble !== undefined && { trouble: why }) };
  }

  /** @throws Answer 429 */
  #limit(person: string): void {
    if (!this.#ofPerson.take(person) || !this.#ofAll.take('')) throw tooMany();
  }

  async #signIn(response: ServerResponse, to: string): Promise<void> {
    const { oauth, sessions } = this.#options;
    const { location, signIn } = await oauth.begin(to);
    redirect(response, location, [(await sessions.signInCookie(signIn)) ?? '']);
  }

  async #signedIn(request: IncomingMessage, response: ServerResponse, query: URLSearchParams): Promise<void> {
    const { oauth, rights, sessions } = this.#options;
    const signIn = await sessions.signInOf(request);
    const ended = sessions.endCookie('sign-in');
    if (!signIn) throw new Answer(400, 'This sign-in was not begun in this browser, or too long ago. Begin again.');
    if (!this.#ofStrangers.take('')) throw tooMany();
    const found = await oauth.end(query, signIn);
    if (found.is !== 'signed-in') {
      if (found.is === 'down') throw new GiteaIsDown();
      throw new Answer(400, 'Gitea did not confirm this sign-in. Begin again.', { 'set-cookie': ended });
    }
    const { login } = await rights.readerOf(found.token, { repositories: [], scopes: [] });
    const session = await sessions.startCookie({ token: found.token, login }, found.seconds);
    if (session === undefined) throw new Answer(500, 'The token of Gitea is too long for a cookie.');
    redirect(response, signIn.to, [session, ended]);
  }

  /** @throws Answer 403: another site has sent it */
  #signOut({ headers }: IncomingMessage, response: ServerResponse): void {
    const isOwn = headers.origin === this.#options.url || headers['sec-fetch-site'] === 'same-origin';
    if (!isOwn) throw new Answer(403, 'Another site has sent this.');
    redirect(response, '/', [this.#options.sessions.endCookie('session')]);
  }

  async #events(response: ServerResponse, { token }: Session): Promise<void> {
    const { clock, looker, rights, signal } = this.#options;
    await rights.readerOf(token, { repositories: [], scopes: [] });
    const person = ReaderRights.keyOf(token);
    const ofOne = [...this.#streams.values()].filter((each) => each === person).length;
    if (this.#streams.size >= MOST_STREAMS || ofOne >= MOST_OF_ONE) throw tooMany();
    if (response.destroyed) return;
    this.#streams.set(response, person);
    const life = new AbortController();
    const write = (text: string): void => {
      if (response.writableLength > MOST_UNSENT) life.abort();
      else response.write(text);
    };
    const stop = looker.watch(() => write(`event: looked\ndata: ${new Date(clock.now()).toISOString()}\n\n`));
    const end = (): void => life.abort();
    response.once('close', end);
    signal.addEventListener('abort', end, { once: true });
    response.writeHead(200, { ...HEADERS, 'content-type': 'text/event-stream' });
    write('retry: 5000\n\n');
    const beganMs = clock.steadyMs();
    while (!life.signal.aborted && !signal.aborted && clock.steadyMs() - beganMs < LONGEST_STREAM_MS) {
      await pause(clock, HEARTBEAT_MS, life.signal);
      write(':\n\n');
    }
    stop();
    signal.removeEventListener('abort', end);
    this.#streams.delete(response);
    response.end();
  }
}

const HTML = 'text/html; charset=utf-8';
const RETRY = { 'retry-after': '5' };

function contentOf(found: FoundPage) {
  switch (found.is) {
    case 'jobs':
      return { title: 'My jobs', content: jobsContent(found.data, found.repository) };
    case 'job':
      return { title: `Job ${found.data.job.id}`, content: jobContent(found.data) };
    case 'groups':
      return { title: 'Groups', content: groupsContent(found.data) };
    case 'group':
      return { title: `Group ${found.data.group}`, content: groupContent(found.data) };
    default:
      return found satisfies never;
  }
}

function tooMany(): Answer {
  return new Answer(429, 'Too many requests. Wait a few seconds.', RETRY);
}

function jobsWanted(query: URLSearchParams) {
  const page = Number(query.get('page') ?? 1);
  return {
    page: Number.isSafeInteger(page) ? page : 1,
    repository: (query.get('repository') ?? '').slice(0, 200),
  };
}

function redirect(response: ServerResponse, location: string, cookies: readonly string[]): void {
  response.writeHead(303, { ...HEADERS, location, 'content-length': 0, 'set-cookie': [...cookies] });
  response.end();
}

function send(
  response: ServerResponse,
  status: number,
  contentType: string,
  body: string,
  headers: Readonly<Record<string, string | string[]>> = {},
): void {
  const length = Buffer.byteLength(body);
  response.writeHead(status, { ...HEADERS, 'content-type': contentType, 'content-length': length, ...headers });
  // Node sends no body to a HEAD.
  response.end(body);
}
