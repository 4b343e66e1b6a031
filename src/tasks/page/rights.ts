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
import { atMost } from '../../shared/keys.ts';
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

type RightsWanted = Pick<Figures, 'repositories' | 'scopes'>;
const NOTHING: RightsWanted = { repositories: new Set(), scopes: new Map() };
type Person = Pick<Reader, 'login' | 'isAdmin'>;

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

export type ReaderRights = ReturnType<typeof readerRights>;

/** @param url base URL of Gitea, as pods reach it */
export function readerRights(url: string, http: HttpClient, clock: Clock) {
  const life = { ttl: LONGEST_MS, ttlResolution: 0, perf: { now: () => clock.steadyMs() } };
  const people = new LRUCache<string, Person>({ ...atMost(MOST_PEOPLE), ...life });
  /** By person and path of the question. */
  const answers = new LRUCache<string, boolean>({ ...atMost(MOST_ANSWERS), ...life });
  /** Visits under way: a browser that reloads in a loop asks nothing twice. */
  const visits = new Map<string, Promise<Person>>();

  /** @throws NotSignedIn, GiteaIsDown */
  const visit = async (key: string, secret: string, { repositories, scopes }: RightsWanted): Promise<Person> => {
    const token = new Token(secret, url, 'token', 'the person who looks');
    const deadline = new Deadline(VISIT_MS, clock);
    /** Undefined: no answer. @throws NotSignedIn */
    const ask = async ({ path, query = [] }: Omit<RightsQuestion, 'yes'>) => {
      const request = requestTo({ url, token }, { what: 'ask for rights', method: 'GET', path, query });
      const answer = await orFailure(http.send({ ...request, queue: key, once: true }, deadline));
      if (answer instanceof Failure) return undefined;
      if (answer.status !== 401) return answer;
      people.delete(key);
      throw new NotSignedIn();
    };
    const known = people.get(key);
    const answer = known && isFresh(people, key) ? undefined : await ask({ path: '/user' });
    // The token lacks the scope read:user.
    if (answer?.status === 403 && !known) throw new NotSignedIn();
    const user = answer?.status === 200 ? User.safeParse(parseJson(answer.text)).data : undefined;
    if (user) people.set(key, { login: user.login, isAdmin: user.is_admin ?? false });
    const person = people.get(key);
    if (!person) throw new GiteaIsDown();
    const asked = [
      ...[...scopes.values()].map((scope) => ofScope(scope, person.login)),
      ...[...repositories].map(ofRepository),
    ];
    const questions = new Map(asked.flatMap((each) => (each ? [[`${key} ${each.path}`, each] as const] : [])));
    const due = [...questions].filter(([place]) => !isFresh(answers, place));
    const queue = due.slice(0, MOST_QUESTIONS).values();
    const askOn = async (): Promise<void> => {
      for (const [place, question] of queue) {
        if (deadline.remainingMs() <= 0) return;
        const answer = await ask(question);
        if (!answer || ![200, 403, 404].includes(answer.status)) continue;
        answers.set(place, answer.status === 200 && question.yes.safeParse(parseJson(answer.text)).success);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, askOn));
    return person;
  };

  return {
    isKnown: (secret: string): boolean => people.has(keyOf(secret)),

    /** @param wanted absent: only who it is @throws NotSignedIn, GiteaIsDown */
    readerOf: async (secret: string, wanted = NOTHING): Promise<Reader> => {
      const key = keyOf(secret);
      if (!isHeaderText(secret) || secret.length > LONGEST_TOKEN) throw new NotSignedIn();
      const before = visits.get(key);
      const asking = before ?? visit(key, secret, wanted).finally(() => visits.delete(key));
      if (!before) visits.set(key, asking);
      const { isAdmin, login } = await asking;
      const answerTo = (question: RightsQuestion | undefined): boolean | undefined =>
        question && answers.get(`${key} ${question.path}`);
      const ownsScope = (scope: Scope | undefined): boolean =>
        scope?.kind === 'user'
          ? (scope.now ?? scope.user).toLowerCase() === login.toLowerCase()
          : answerTo(scope && ofScope(scope, login)) === true;
      return {
        login,
        isAdmin,
        // Asked for site administrators, too: their token may be for less.
        mayRead: (repository) => answerTo(ofRepository(repository)) === true,
        owns: (group) => isAdmin || ownsScope(wanted.scopes.get(group)),
        unknown: [...wanted.repositories].filter((each) => answerTo(ofRepository(each)) === undefined).length,
      };
    },
  };
}

function isFresh(known: Pick<LRUCache<string, object>, 'getRemainingTTL'>, key: string): boolean {
  return known.getRemainingTTL(key) > LONGEST_MS - FRESH_MS;
}

/** Undefined: no repository has such a name. */
function ofRepository(repository: string): RightsQuestion | undefined {
  const names = repository.split('/');
  if (names.length !== 2 || !names.every(isGiteaName)) return undefined;
  return { path: `/repos/${repository}/actions/tasks`, query: [['limit', '1']], yes: z.unknown() };
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
      if (!isGiteaName(login) || !isGiteaName(scope.now ?? scope.org)) return undefined;
      return { path: `/users/${login}/orgs/${scope.now ?? scope.org}/permissions`, yes: OWNER };
    case 'repo':
      if (!isGiteaName(scope.owner) || !isGiteaName(scope.repo)) return undefined;
      return { path: `/repos/${scope.owner}/${scope.repo}`, yes: ADMINISTRATOR };
    default:
      return scope satisfies never;
  }
}
