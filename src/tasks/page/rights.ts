/**
 * What a person may see, as Gitea says it to the person's own token:
 *
 *     a repository's jobs ... GET /repos/OWNER/NAME/actions/tasks: 200 for who may read its Actions, else 403 or 404
 *     a group ............... owners of its scope: GET /users/LOGIN/orgs/ORG/permissions, GET /repos/OWNER/NAME; site administrators
 *
 * (routers/api/v1/api.go and org/org.go, read in 1.26.0 and 1.27.3.) An answer counts for four minutes at most, and is asked for again
 * after two. So who loses his rights loses sight within five. What Gitea does not answer is not shown.
 */
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import * as z from 'zod';
import { requestTo } from '../../clients/gitea/api.ts';
import { isGiteaName } from '../../clients/gitea/endpoints.ts';
import type { HttpClient } from '../../clients/http/client.ts';
import { Deadline, isHeaderText, parseJson } from '../../clients/http/request.ts';
import { Token } from '../../clients/tokens/token.ts';
import type { Clock } from '../../shared/clock.ts';
import { Failure, orFailure } from '../../shared/failure.ts';
import type { Scope } from '../../shared/scope.ts';
import type { Figures, Reader } from './view.ts';

const FRESH_MS = 120_000;
const LONGEST_MS = 240_000;
/** People whose rights are remembered, and answers about all of them: 10 MiB. A cache for each person would take 100 KiB when it is empty. */
const MOST_PEOPLE = 500;
const MOST_ANSWERS = 50_000;
/** Questions about one person at one visit. The next visit asks on. */
const MOST_QUESTIONS = 300;
const AT_ONCE = 8;
/** For all questions of a visit. */
const VISIT_MS = 5_000;
const LONGEST_TOKEN = 2_048;

/** Gitea does not know the token (any more), or does not say to it whose it is. */
export class NotSignedIn extends Error {}
/** Gitea does not say who it is. */
export class GiteaIsDown extends Error {}

interface RightsOptions {
  /** Base URL of Gitea, as pods reach it. */
  readonly url: string;
  readonly http: HttpClient;
  readonly clock: Clock;
}

type RightsWanted = Pick<Figures, 'repositories' | 'scopes'>;

interface Person {
  readonly login: string;
  readonly isAdmin: boolean;
}

const User = z.object({ login: z.string().min(1).max(100), is_admin: z.boolean().nullish() });

interface RightsQuestion {
  readonly path: string;
  readonly query?: readonly (readonly [string, string])[];
  /** An answer with status 200 that means yes. */
  readonly yes: z.ZodType;
}

/** A key for limits: no token can be read from it. */
export function keyOf(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url');
}

export class ReaderRights {
  readonly #options: RightsOptions;
  readonly #people: LRUCache<string, Person>;
  /** By person and path of the question. */
  readonly #answers: LRUCache<string, boolean>;
  /** Visits under way: a browser that reloads in a loop asks nothing twice. */
  readonly #asking = new Map<string, Promise<Person>>();

  constructor(options: RightsOptions) {
    this.#options = options;
    const life = { ttl: LONGEST_MS, ttlResolution: 0, perf: { now: () => options.clock.steadyMs() } };
    this.#people = new LRUCache({ max: MOST_PEOPLE, ...life });
    this.#answers = new LRUCache({ max: MOST_ANSWERS, ...life });
  }

  isKnown(secret: string): boolean {
    return this.#people.has(keyOf(secret));
  }

  /** @param wanted absent: only who it is @throws NotSignedIn, GiteaIsDown */
  async readerOf(
    secret: string,
    wanted: RightsWanted = { repositories: new Set(), scopes: new Map() },
  ): Promise<Reader> {
    const key = keyOf(secret);
    if (!isHeaderText(secret) || secret.length > LONGEST_TOKEN) throw new NotSignedIn();
    const before = this.#asking.get(key);
    const asking = before ?? this.#visit(key, secret, wanted).finally(() => this.#asking.delete(key));
    if (!before) this.#asking.set(key, asking);
    const { isAdmin, login } = await asking;
    const answerTo = (question: RightsQuestion | undefined): boolean | undefined =>
      question && this.#answers.get(`${key} ${question.path}`);
    return {
      login,
      isAdmin,
      // Asked for site administrators, too: their token may be for less.
      mayRead: (repository) => answerTo(ofRepository(repository)) === true,
      owns: (scope) =>
        isAdmin ||
        (scope.kind === 'user' && scope.user.toLowerCase() === login.toLowerCase()) ||
        answerTo(ofScope(scope, login)) === true,
      unknown: [...wanted.repositories].filter((each) => answerTo(ofRepository(each)) === undefined).length,
    };
  }

  async #visit(key: string, secret: string, { repositories, scopes }: RightsWanted): Promise<Person> {
    const token = new Token(secret, this.#options.url, 'token', 'the person who looks');
    const deadline = new Deadline(VISIT_MS, this.#options.clock);
    const person = await this.#personOf(key, token, deadline);
    const { login } = person;
    const asked = [
      ...[...scopes.values()].map((scope) => ofScope(scope, login)),
      ...[...repositories].map(ofRepository),
    ];
    const questions = new Map(asked.flatMap((each) => (each ? [[`${key} ${each.path}`, each] as const] : [])));
    const due = [...questions].filter(([place]) => !isFresh(this.#answers, place));
    const queue = due.slice(0, MOST_QUESTIONS).values();
    const ask = async (): Promise<void> => {
      for (const [place, question] of queue) {
        if (deadline.remainingMs() <= 0) return;
        const answer = await this.#send(key, token, question, deadline);
        if (!answer || ![200, 403, 404].includes(answer.status)) continue;
        const yes = answer.status === 200 && question.yes.safeParse(parseJson(answer.text)).success;
        this.#answers.set(place, yes);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, ask));
    return person;
  }

  async #personOf(key: string, token: Token, deadline: Deadline): Promise<Person> {
    const known = this.#people.get(key);
    if (known && isFresh(this.#people, key)) return known;
    const answer = await this.#send(key, token, { path: '/user' }, deadline);
    // The token lacks the scope read:user.
    if (answer?.status === 403 && !known) throw new NotSignedIn();
    const user = answer?.status === 200 ? User.safeParse(parseJson(answer.text)).data : undefined;
    if (!user) {
      if (known) return known;
      throw new GiteaIsDown();
    }
    const { login, is_admin } = user;
    const person = { login, isAdmin: is_admin ?? false };
    this.#people.set(key, person);
    return person;
  }

  /** Undefined: no answer. @throws NotSignedIn */
  async #send(key: string, token: Token, { path, query = [] }: Omit<RightsQuestion, 'yes'>, deadline: Deadline) {
    const { http, url } = this.#options;
    const request = requestTo({ url, token }, { what: 'ask for rights', method: 'GET', path, query });
    const answer = await orFailure(http.send({ ...request, queue: key, once: true }, deadline));
    if (answer instanceof Failure) return undefined;
    if (answer.status !== 401) return answer;
    this.#people.delete(key);
    throw new NotSignedIn();
  }
}

function isFresh(known: Pick<LRUCache<string, object>, 'getRemainingTTL'>, key: string): boolean {
  return known.getRemainingTTL(key) > LONGEST_MS - FRESH_MS;
}

/** Undefined: no repository has such a name. */
function ofRepository(repository: string): RightsQuestion | undefined {
  const [owner = '', name = '', ...more] = repository.split('/');
  if (!isGiteaName(owner) || !isGiteaName(name) || more.length > 0) return undefined;
  return { path: `/repos/${owner}/${name}/actions/tasks`, query: [['limit', '1']], yes: z.unknown() };
}

const OWNER = z.object({ is_owner: z.literal(true) });
const ADMINISTRATOR = z.object({ permissions: z.object({ admin: z.literal(true) }) });

/** Undefined: nothing need be asked, or nothing has such a name. */
function ofScope(scope: Scope, login: string): RightsQuestion | undefined {
  switch (scope.kind) {
    case 'global':
    case 'user':
      return undefined;
    case 'org':
      if (!isGiteaName(login) || !isGiteaName(scope.org)) return undefined;
      return { path: `/users/${login}/orgs/${scope.org}/permissions`, yes: OWNER };
    case 'repo':
      if (!isGiteaName(scope.owner) || !isGiteaName(scope.repo)) return undefined;
      return { path: `/repos/${scope.owner}/${scope.repo}`, yes: ADMINISTRATOR };
    default:
      return scope satisfies never;
  }
}
