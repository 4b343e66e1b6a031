/** Reads one Gitea with one token: builds the address, sends, checks status and JSON. Knows no endpoint. */
import { systemClock } from '../../shared/clock.ts';
import { Failure } from '../../shared/failure.ts';
import { coverOf, type Scope } from '../../shared/scope.ts';
import type { Sender } from '../http/http-client.ts';
import { type Deadline, failure, type HttpAnswer, type HttpRequest, parseJson } from '../http/request.ts';
import type { Token } from '../tokens/token.ts';
import { Shelf } from './bounds.ts';
import { placeIn } from './endpoints.ts';
import {
  type AccessHints,
  ANY_RIGHTS,
  failureOfOtherContent,
  failureOfShape,
  failureOfStatus,
  foreignToken,
  isRefusal,
} from './failures.ts';
import { readVersionText, ShapeError } from './shapes.ts';
import { judgeVersion, type VersionFacts } from './version.ts';

export interface Question extends AccessHints {
  /** Operation and object: `list running jobs of org acme`. */
  readonly what: string;
  /** Gitea answers some questions to a `POST` only. Default: `GET`. */
  readonly method?: HttpRequest['method'];
  /** Path below `/api/v1`, with encoded segments. */
  readonly path: string;
  /** Parameters in order. A key may come twice (`status`): Gitea does not split commas. */
  readonly query?: readonly (readonly [string, string])[];
  readonly mostBytes?: number;
}

/** Parses the JSON of an answer. Throws `ShapeError`. */
export type AnswerReader<T> = (json: unknown, version: VersionFacts, answer: HttpAnswer) => T;

/** Versions by base URL; a Promise, so that targets of one Gitea ask once. */
export type VersionCache = Map<string, Promise<VersionFacts>>;

export interface GiteaAccess {
  readonly http: Sender;
  /** Base URL, perhaps with a path. */
  readonly url: string;
  readonly token: Token;
  readonly deadline: Deadline;
  readonly versions: VersionCache;
  /** The clock by which times in answers are judged, ms since 1970. Default: the real one. */
  readonly now?: (() => number) | undefined;
  /** Name of the queue of these requests. Queues take turns at the connections to one Gitea (`HttpRequest.queue`). */
  readonly queue?: string | undefined;
  /** The first answer is awaited before other requests: a Gitea that is down gets one. `once`: none is repeated. */
  readonly careful?: boolean | 'once';
  /** Shelf that holds the rows of the look. Default: a shelf for a single look that knows no labels. */
  readonly shelf?: Shelf;
  /** New names by the old ones, as redirects tell them. */
  readonly names?: Map<string, string>;
}

/** The key of a Gitea in a `VersionCache`. */
export function giteaBase(url: string): string {
  return url.replace(/\/+$/, '');
}

/** Requests of one look. The longest list that is read (20,000 rows) needs 400. */
const MOST_REQUESTS = 2_000;

/** The questions of one look to one Gitea. */
export class GiteaApi {
  readonly #access: GiteaAccess;
  readonly #base: string;
  readonly shelf: Shelf;
  readonly nowMs: () => number;
  #requests = 0;

  constructor(access: GiteaAccess) {
    this.#access = { ...access, names: new Map() };
    this.#base = giteaBase(access.url);
    this.shelf = access.shelf ?? new Shelf();
    this.nowMs = access.now ?? systemClock.now;
  }

  /** Asked once per base URL. Throws `Failure` when it is older than 1.25.0, Forgejo, or no version at all. */
  version(): Promise<VersionFacts> {
    const { versions } = this.#access;
    const knownVersion = versions.get(this.#base);
    // The token of another group was refused: that says nothing about ours.
    if (knownVersion !== undefined)
      return knownVersion.catch((error) =>
        error instanceof Failure && isRefusal(error) ? this.#askVersion() : knownVersion,
      );
    const answer = this.#askVersion();
    versions.set(this.#base, answer);
    // A long-running process must ask again after a failure.
    answer.catch(() => versions.delete(this.#base));
    return answer;
  }

  /** Also asks for an unknown version. Its failure is reported first: an old Gitea answers the other request with a plain 404. */
  async get<T>(question: Question, read: AnswerReader<T>): Promise<T> {
    this.#requests += 1;
    if (this.#requests > MOST_REQUESTS) {
      const remedy =
        'Cancel old jobs, delete dead runners, use narrower scopes, or use a token of the user himself for scope user';
      throw this.failure(question, 'GR-GITEA-10', `the look needs more than ${MOST_REQUESTS} requests`, remedy);
    }
    const request = this.#request(question);
    const sent = this.#access.http.send(request, this.#access.deadline);
    sent.catch(() => undefined);
    // A 404 needs a version to be understood: an old Gitea does not know the path.
    if (this.#access.careful && (await sent).status !== 404) this.#refuse(request, await sent, question);
    const version = await this.version();
    const answer = await sent;
    this.#refuse(request, answer, question);
    return readAs(request, answer, (json) => read(json, version, answer));
  }

  /** The name that Gitea has for the scope now. Undefined: no question about it was redirected (docs/adr/0077). */
  renamedTo(scope: Scope): string | undefined {
    return this.#access.names?.get(coverOf(scope) ?? '');
  }

  failure(question: Question, code: string, received: string, remedy: string): Failure {
    return failure(this.#request(question), code, received, remedy);
  }

  async #askVersion(): Promise<VersionFacts> {
    // With REQUIRE_SIGNIN_VIEW, this path needs a token, too, but no scope.
    const question = {
      what: 'ask the version of Gitea',
      path: '/version',
      rights: ANY_RIGHTS,
      missing: 'Check that spec.gitea.url is the base address of a Gitea',
    };
    const request = this.#request(question);
    const answer = await this.#access.http.send(request, this.#access.deadline);
    this.#refuse(request, answer, question);
    const verdict = judgeVersion(readAs(request, answer, readVersionText));
    if ('code' in verdict) throw failure(request, verdict.code, verdict.received, verdict.remedy);
    return verdict;
  }

  #refuse(request: HttpRequest, answer: HttpAnswer, hints: AccessHints): void {
    if (answer.status !== 200) throw failureOfStatus(request, answer, hints, this.#access.token);
  }

  #request(question: Question): HttpRequest {
    const { careful, queue } = this.#access;
    return { ...requestTo(this.#access, question), queue, once: careful === 'once', mostBytes: question.mostBytes };
  }
}

/** Changes something in Gitea. Returns an answer with one of these statuses. @throws Failure for all others */
export async function change(
  access: GiteaAccess,
  question: Question & Pick<HttpRequest, 'method'>,
  expected: readonly number[],
  body?: object,
): Promise<HttpAnswer> {
  const text = body && JSON.stringify(body);
  const request = { ...requestTo(access, question), queue: access.queue, body: text };
  const answer = await access.http.send(request, access.deadline);
  if (expected.includes(answer.status)) return answer;
  throw failureOfStatus(request, answer, question, access.token);
}

/** Builds a request that is redirected only to what the token covers. @throws Failure (exit 3): the token does not cover it */
export function requestTo(
  { url: base, token, names }: Pick<GiteaAccess, 'url' | 'token' | 'names'>,
  { what, method = 'GET', path, query = [] }: Pick<Question, 'what' | 'method' | 'path' | 'query'>,
): HttpRequest {
  const url = new URL(`${giteaBase(base)}/api/v1${path}`);
  if (!token.covers(url)) throw foreignToken(what, `${url.origin}${url.pathname}`, token);
  for (const [name, value] of query) url.searchParams.append(name, value);
  const asked = placeIn(path);
  const mayLeadTo = (to: URL, from: URL, status: number): boolean => {
    if (!asked) return token.covers(to);
    const place = placeAt(to);
    if (!place) return false;
    if (place.kind === 'repos' && status !== OWNER_RENAMED)
      refuseTransfer({ what, method, url }, placeAt(from)?.name ?? '', place.name, token);
    names?.set(asked.name, place.name);
    return token.covers(to) && place.kind === asked.kind && place.rest === asked.rest;
  };
  const authorization = (to: URL) => token.headerFor(to);
  return { what, method, url, authorization, mayLeadTo, repeats: asked !== undefined };
}

function placeAt({ pathname }: URL) {
  return placeIn(pathname.replace(/^.*?\/api\/v1(?=\/)/, ''));
}

/** Redirect because the owner has another name (`RedirectToUser`). Others lead to another repository (docs/adr/0086). */
const OWNER_RENAMED = 307;

/** Refuses a repository that moved to an owner for whom the policy allows nothing. @throws Failure exit 3 */
function refuseTransfer(request: Parameters<typeof failure>[0], from: string, to: string, { reach }: Token): void {
  const [formerOwner] = from.toLowerCase().split('/');
  const [owner = '', repo = ''] = to.split('/');
  if (formerOwner === owner.toLowerCase() || !reach || reach.covers(owner, repo)) return;
  const received = `the repository is ${to} now, and the policy does not allow this namespace to serve ${owner}`;
  const remedy = `Remove the RunnerGroup, or ask for repo:${to} to be allowed`;
  const { message } = failure(request, 'GR-POLICY-06', received, remedy);
  throw new Failure('GR-POLICY-06', 3, message, 'policy');
}

/** Reads the JSON of an answer. @throws Failure: it is no JSON, too large, or of another form */
export function readAs<T>(request: HttpRequest, answer: HttpAnswer, read: (json: unknown) => T): T {
  // Gitea always answers application/json. Anything else comes from a proxy or portal in between.
  if (answer.mediaType !== 'application/json') throw failureOfOtherContent(request, answer);
  const excess = excessOf(answer.text);
  if (excess !== undefined) throw failureOfShape(request, excess);
  const json = parseJson(answer.text);
  if (json === undefined) throw failureOfOtherContent(request, answer);
  try {
    return read(json);
  } catch (error) {
    if (error instanceof ShapeError) throw failureOfShape(request, error.message);
    throw error;
  }
}

/** Most levels of JSON. Gitea's answers have six, and each open level costs memory while the JSON is parsed. */
const MOST_DEPTH = 64;
/** Most opening brackets and commas: about as many as 4 MiB can hold. Each can cost 40 times its text in memory. */
const MOST_PARTS = 3_000_000;
/** Shorter answers need no check: they cost little memory, whatever they hold. Most answers are shorter. */
const PARTS_MATTER = 1024 * 1024;
const [QUOTE, BACKSLASH, COMMA, ...BRACKETS] = ['"', '\\', ',', '[', '{', ']', '}'].map((sign) => sign.charCodeAt(0));

/** Returns what an answer has too much of. Undefined: nothing. */
function excessOf(text: string): string | undefined {
  if (text.length < PARTS_MATTER) return undefined;
  let depth = 0;
  let parts = 0;
  let inString = false;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === QUOTE) inString = !inString;
    else if (code === BACKSLASH) index += 1;
    else if (!inString) {
      const step = [1, 1, -1, -1][BRACKETS.indexOf(code)] ?? 0;
      depth += step;
      if (step === 1 || code === COMMA) parts += 1;
    }
    if (depth > MOST_DEPTH) return `it is nested deeper than ${MOST_DEPTH} levels`;
    if (parts > MOST_PARTS) return `it has more than ${MOST_PARTS} parts`;
  }
  return undefined;
}
