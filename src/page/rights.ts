/**
 * Finds what a person may see, by Gitea's answers to the person's own token:
 *
 *     a repository's jobs ... GET /repos/OWNER/NAME/actions/tasks: 200 for who may read its Actions, else 403 or 404
 *     a group ............... owners of its scope: GET /users/LOGIN/orgs/ORG/permissions, GET /repos/OWNER/NAME; site administrators
 *                             whose tokens may read organizations: GET /orgs/ORG, GET /user/orgs
 *
 * (routers/api/v1/api.go and org/org.go, read in 1.26.0 and 1.27.3.) An answer is asked for again after two minutes, and counts for four: who
 * loses his rights loses sight within five. A person's sessions share the answers. Any other token has its own: it may be for less.
 */
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import * as z from 'zod';
import { requestTo } from '../clients/gitea/api.ts';
import { isGiteaName } from '../clients/gitea/endpoints.ts';
import { Deadline, isHeaderText, parseJson } from '../clients/http/request.ts';
import { Token } from '../clients/tokens/token.ts';
import type { Giteas } from '../serve/looks/giteas.ts';
import { BACKGROUND } from '../serve/looks/request-budget.ts';
import type { Clock } from '../shared/clock.ts';
import { Failure, orFailure } from '../shared/failure.ts';
import { atMost } from '../shared/keys.ts';
import type { Scope } from '../shared/scope.ts';
import type { Figures, Reader } from './view.ts';

/** How long an answer is used before Gitea is asked again, ms. It counts for twice as long at most. */
const FRESH_MS = 120_000;
/** How long an answer counts at most, ms. Then Gitea must have answered again, or nothing is shown. */
const LONGEST_MS = 240_000;
/** Most remembered tokens. In four minutes come fewer, so nobody removes entries of others. All answers: 10 MiB. */
const MOST_TOKENS = 5_000;
/** Most remembered answers of all tokens. The least recently used one is forgotten and asked for again. */
const MOST_ANSWERS = 50_000;
/** Questions about one person at one visit. The next visit asks on. */
const MOST_QUESTIONS = 300;
const AT_ONCE = 8;
/** Time limit for all requests of a visit, ms. */
const VISIT_MS = 5_000;
/** Most characters of a token. A longer one is refused without a request to Gitea. */
const LONGEST_TOKEN = 2_048;

/** Gitea does not know the token (any more), or does not tell it whose it is. */
export class NotSignedIn extends Error {}
/** Gitea does not answer whose token it is. */
export class GiteaIsDown extends Error {}

/** A client with a token of Gitea. `login`: name of a signed-in person at the time of sign-in. */
export type Visitor = Readonly<{ token: string; login?: string }>;
export type Sends = Pick<Giteas, 'send'>;
/** The queues at Gitea in which this room asks. */
export const QUEUES = { rights: 'rights', signIn: 'sign-in', strangers: BACKGROUND } as const;
type Queue = keyof typeof QUEUES;

type RightsWanted = Pick<Figures, 'repositories' | 'scopes'>;
/** `id`: a name may be given to somebody else. */
type Person = Readonly<{ login: string; isAdmin: boolean; id: string }>;

const User = z.object({ id: z.number().nullish(), login: z.string().min(1).max(100), is_admin: z.boolean().nullish() });

/** A request to Gitea that asks for one right. `yes`: an answer with status 200 that grants it. */
type RightsQuestion = Readonly<{ path: string; query?: readonly (readonly [string, string])[]; yes: z.ZodType }>;

/** A key for maps: no token can be read from it. */
function keyOf(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url');
}

export type ReaderRights = ReturnType<typeof readerRights>;

/** Options of a cache whose entries count for `LONGEST_MS`. */
function lifeBy(clock: Clock) {
  return { ttl: LONGEST_MS, ttlResolution: 0, perf: { now: () => clock.steadyMs() } };
}

function visitsInTurn() {
  /** The newest visit of each token and of each person: a browser that reloads in a loop asks nothing twice. */
  const visits = new Map<string, Promise<unknown>>();
  /** Runs `work` after all earlier work of this key. */
  const oneByOne = async <T>(key: string, work: () => Promise<T>): Promise<T> => {
    const visit = (visits.get(key) ?? Promise.resolve()).then(work, work);
    visits.set(key, visit);
    return await visit.finally(() => visits.get(key) === visit && visits.delete(key));
  };
  return oneByOne;
}

/** Keeps the persons behind tokens, as Gitea has named them lately. */
function personsOf(url: string, giteas: Sends, clock: Clock, oneByOne: ReturnType<typeof visitsInTurn>) {
  /** Persons by `keyOf` their token. */
  const people = new LRUCache<string, Person>({ ...atMost(MOST_TOKENS), ...lifeBy(clock) });

  /** Returns a function that asks Gitea. It returns undefined if Gitea does not answer. */
  const asking =
    (secret: string, queue: Queue, deadline: Deadline) => async (question: Omit<RightsQuestion, 'yes'>) => {
      const token = new Token(secret, url, 'token', 'the person who looks');
      const request = requestTo({ url, token }, { what: 'ask for rights', method: 'GET', query: [], ...question });
      const answer = await orFailure(giteas.send({ ...request, once: true }, QUEUES[queue], deadline));
      if (answer instanceof Failure) return undefined;
      if (answer.status !== 401) return answer;
      people.delete(keyOf(secret));
      throw new NotSignedIn();
    };

  /** Returns the person that Gitea names for this token. @throws NotSignedIn, GiteaIsDown */
  const whoIs = async (secret: string, queue: Queue): Promise<Person> => {
    if (!isHeaderText(secret) || secret.length > LONGEST_TOKEN) throw new NotSignedIn();
    const key = keyOf(secret);
    const ask = asking(secret, queue, new Deadline(VISIT_MS, clock));
    return await oneByOne(key, async () => {
      const knownPerson = people.get(key);
      if (knownPerson && isFresh(people, key)) return knownPerson;
      const answer = await ask({ path: '/user' });
      // The token lacks the scope read:user.
      if (answer?.status === 403 && !knownPerson) throw new NotSignedIn();
      const user = answer?.status === 200 ? User.safeParse(parseJson(answer.text)).data : undefined;
      if (user) people.set(key, { login: user.login, isAdmin: user.is_admin ?? false, id: `${user.id}` });
      const person = people.get(key);
      if (!person) throw new GiteaIsDown();
      return person;
    });
  };

  return { asking, whoIs, loginOf: (secret: string) => people.get(keyOf(secret))?.login };
}

/** Keeps Gitea's answers about persons and their rights, and asks for others. @param url base URL of Gitea, as pods reach it */
export function readerRights(url: string, giteas: Sends, clock: Clock) {
  const oneByOne = visitsInTurn();
  const { asking, loginOf, whoIs } = personsOf(url, giteas, clock, oneByOne);
  /** Answers by owner (a person, or one token) and path of the question. */
  const answers = new LRUCache<string, boolean>({ ...atMost(MOST_ANSWERS), ...lifeBy(clock) });

  /** Asks what Gitea has not answered lately for this owner of answers. @throws NotSignedIn */
  const learn = async (secret: string, owner: string, { login }: Person, questions: readonly RightsQuestion[]) => {
    const deadline = new Deadline(VISIT_MS, clock);
    const ask = asking(secret, 'rights', deadline);
    const due = (): readonly RightsQuestion[] =>
      questions.filter(({ path }) => !isFresh(answers, `${owner} ${path}`)).slice(0, MOST_QUESTIONS);
    if (due().length === 0) return;
    await oneByOne(login, async () => {
      const queue = due().values();
      const askOn = async (): Promise<void> => {
        for (const question of queue) {
          if (deadline.remainingMs() <= 0) return;
          const answer = await ask(question);
          if (!answer || ![200, 403, 404].includes(answer.status)) continue;
          const isYes = answer.status === 200 && question.yes.safeParse(parseJson(answer.text)).success;
          answers.set(`${owner} ${question.path}`, isYes);
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, askOn));
    });
  };

  return {
    /** Returns the login of a token. Undefined: Gitea has not said lately whose token it is. */
    loginOf,

    whoIs,

    /** Returns the person with what he may see of this. @throws NotSignedIn, GiteaIsDown */
    readerOf: async ({ login: signedIn, token }: Visitor, wanted: RightsWanted): Promise<Reader> => {
      const person = await whoIs(token, 'rights');
      const owner = signedIn === undefined ? keyOf(token) : `${person.id} ${person.login}`;
      const ofScopes = new Map([...wanted.scopes].map(([group, scope]) => [group, questionOfScope(scope, person)]));
      const ofRepositories = [...wanted.repositories].map(questionOfRepository);
      const all = [...ofScopes.values(), ...ofRepositories, person.isAdmin && ANY_ORG];
      const questions = new Map(all.flatMap((each) => (each ? [[each.path, each]] : [])));
      await learn(token, owner, person, [...questions.values()]);
      return readerFrom(person, wanted, ofScopes, (question) => question && answers.get(`${owner} ${question.path}`));
    },
  };
}

/** What this person may see, by Gitea's answers. @param answerTo undefined: Gitea has not answered lately */
function readerFrom(
  person: Person,
  { repositories, scopes }: RightsWanted,
  questionOf: ReadonlyMap<string, RightsQuestion | undefined>,
  answerTo: (question: RightsQuestion | undefined) => boolean | undefined,
): Reader {
  const isAdmin = person.isAdmin && answerTo(ANY_ORG) === true;
  const ownsScope = ([group, scope]: readonly [string, Scope]): boolean => {
    const question = questionOf.get(group);
    return question ? answerTo(question) === true : isAdmin || isOfUser(scope, person);
  };
  const owned = new Set([...scopes].filter(ownsScope).map(([group]) => group));
  const mayReadNow = (repository: string) => answerTo(questionOfRepository(repository));
  const rights = [...repositories].map((each) => [each.toLowerCase(), mayReadNow(each)] as const);
  const readable = new Set(rights.flatMap(([repository, mayRead]) => (mayRead === true ? repository : [])));
  return {
    login: person.login,
    isAdmin,
    // This holds for site administrators, too: their tokens may be for less.
    mayRead: (repository) => readable.has(repository.toLowerCase()),
    owns: (group) => owned.has(group) || (isAdmin && !scopes.has(group)),
    unknown: rights.filter(([, mayRead]) => mayRead === undefined).length,
    rights: [isAdmin, ...rights.map(([, mayRead]) => mayRead), ...owned].join(),
  };
}

function isFresh(cache: Pick<LRUCache<string, object>, 'getRemainingTTL'>, key: string): boolean {
  return cache.getRemainingTTL(key) > LONGEST_MS - FRESH_MS;
}

/** Returns the question whether a person may read the Actions of a repository. Undefined: none has such a name. */
function questionOfRepository(repository: string): RightsQuestion | undefined {
  const names = repository.split('/');
  if (names.length !== 2 || !names.every(isGiteaName)) return undefined;
  return { path: `/repos/${repository}/actions/tasks`, query: [['limit', '1']], yes: z.unknown() };
}

const OWNER = z.object({ is_owner: z.literal(true) });
const ADMINISTRATOR = z.object({ permissions: z.object({ admin: z.literal(true) }) });
/** Succeeds if the token of this site administrator may read organizations. */
const ANY_ORG: RightsQuestion = { path: '/user/orgs', query: [['limit', '1']], yes: z.unknown() };

function isOfUser(scope: Scope, { login }: Person): boolean {
  return scope.kind === 'user' && (scope.now ?? scope.user).toLowerCase() === login.toLowerCase();
}

/** Returns the question whether a person owns a scope. Undefined: none is needed, or nothing has such a name. */
function questionOfScope(scope: Scope, { isAdmin, login }: Person): RightsQuestion | undefined {
  switch (scope.kind) {
    case 'global':
    case 'user':
      return undefined;
    case 'org':
      if (!isGiteaName(login) || !isGiteaName(scope.now ?? scope.org)) return undefined;
      if (isAdmin) return { path: `/orgs/${scope.now ?? scope.org}`, yes: z.unknown() };
      return { path: `/users/${login}/orgs/${scope.now ?? scope.org}/permissions`, yes: OWNER };
    case 'repo':
      if (!isGiteaName(scope.owner) || !isGiteaName(scope.repo)) return undefined;
      return { path: `/repos/${scope.owner}/${scope.repo}`, yes: ADMINISTRATOR };
    default:
      return scope satisfies never;
  }
}
