/**
 * Registers the runners of groups with `registration.by: serve`, and gives each Job its credentials: one key of the queue per runner.
 *
 *     the plan wants it: register ──► credentials in memory, for a minute ──► its Job is there: create its Secret
 *     its Job is there, and no Secret: register ────────────────▲
 *
 * `serve` may not read Secrets: a try to create one tells whether it is there. Rows that are left in Gitea are swept (sweep/sweeper.ts).
 * Bounds: eight runners of one Gitea at a time, within its request budget, and `MOST_AHEAD` credentials in memory. They go from Gitea's
 * answer into the Secret, and nowhere else (test/tasks/registration/registering.test.ts).
 */
import { LRUCache } from 'lru-cache';
import type { GiteaAccess } from '../../clients/gitea/api.ts';
import type { GiteaTarget } from '../../clients/gitea/observe-gitea.ts';
import { credentialsFile, registerRunner } from '../../clients/gitea/register.ts';
import { readRegistrationToken } from '../../clients/gitea/registrations.ts';
import { Deadline } from '../../clients/http/request.ts';
import { createCredentials } from '../../clients/kubernetes/cluster-secrets.ts';
import type { RunnerGroup } from '../../config/runnergroup/runner-group.ts';
import type { TargetOf } from '../../plan/find-targets.ts';
import { asking, LONGEST_TURN_MS } from '../../serve/looks/giteas.ts';
import { subscriberOf } from '../../serve/planning/events.ts';
import type { AppVerdict } from '../../serve/planning/reconcile.ts';
import type { KeyQueue, Retry, Turn } from '../../serve/queue/work-queue.ts';
import { keyOfRunner } from '../../serve/seen/live.ts';
import type { StartTask, TaskContext } from '../../serve/task.ts';
import { type Clock, doubled } from '../../shared/clock.ts';
import { Failure, orFailure } from '../../shared/failure.ts';
import { keepOnly, keyText } from '../../shared/keys.ts';
import { type Scope, scopeWord } from '../../shared/scope.ts';
import { levelOf, levelsSeen, unusedWishes, type Wish, type Wishes, wishesOf } from './follow.ts';

/** How long credentials wait for their Job, ms. Less than `SIGHTINGS_APART_MS`, after which a row without a Job is dead. */
export const AHEAD_MS = 60_000;
/** Most credentials in memory. Further runners are registered when their Jobs come. */
const MOST_AHEAD = 200;
/** Most registration tokens and refusals in memory. The least recently used one is forgotten and requested again. */
const MOST_TOKENS = 200;
/** How long a registration token is kept, ms. It belongs to a repository, and another one may get the name. */
const TOKEN_MS = 60_000;
/** Pause before the next look for the Secret, ms. Somebody may delete it, or it may belong to an earlier Job. */
const lookAgainMs = (looks: number): number => doubled(1_000, looks, 60_000);
const tryAgainMs = (failures: number): number => doubled(1_000, failures - 1, 10_000);

/** A runner that was registered before its Job came. Without `file` (credentials) the Job was late: it is registered again when its Job comes. */
type Ahead = Readonly<{ wish: Wish; file?: string; untilMs: number }>;

type Refused = Readonly<{ failure: Failure; times: number; untilMs: number }>;

/** Notes why the Jobs of a group wait at the level of this wish. */
function noteFailure(wish: Wish, failure: Failure, wishes: Wishes, unregistered: TaskContext['unregistered']): void {
  const group = groupOf(wish);
  const levels = new Set([...wishes.values()].flatMap((each) => (groupOf(each) === group ? each.at : [])));
  const failures = new Map(unregistered.get(group)?.failures).set(wish.at, failure);
  unregistered.set(group, { failures, levels: levels.size });
}

/** Forgets failures at levels where no Job waits. @param levels where Jobs wait, each with its group @returns whether it forgot any */
function forgetAllBut(levels: ReadonlySet<string>, unregistered: TaskContext['unregistered']): boolean {
  const before = [...unregistered];
  for (const [group, { failures, ...state }] of before) {
    const remaining = new Map([...failures].filter(([at]) => levels.has(`${group} ${at}`)));
    if (remaining.size === 0) unregistered.delete(group);
    else if (remaining.size < failures.size) unregistered.set(group, { failures: remaining, ...state });
  }
  return before.some(([group, is]) => unregistered.get(group) !== is);
}

/** Reads registration tokens, and keeps them and the refusals: hundreds of runners may wait for one level that gives no token. */
function registrationTokens(clock: Clock) {
  const refusals = new LRUCache<string, Refused>({ max: MOST_TOKENS });
  const perf = { now: () => clock.steadyMs() };
  const tokens = new LRUCache<string, string>({ max: MOST_TOKENS, ttl: TOKEN_MS, ttlResolution: 0, perf });
  const tokenFor = async (access: GiteaAccess, key: string, scope: Scope): Promise<string> => {
    const token = tokens.get(key);
    if (token !== undefined) return token;
    const refused = refusals.get(key);
    if (refused && clock.steadyMs() < refused.untilMs) throw refused.failure;
    const read = await orFailure(readRegistrationToken(access, scope));
    if (read instanceof Failure) {
      const times = (refused?.times ?? 0) + 1;
      // Half a pause: else a runner that tries again after the same one would meet its own refusal.
      refusals.set(key, { failure: read, times, untilMs: clock.steadyMs() + tryAgainMs(times) / 2 });
      throw read;
    }
    refusals.delete(key);
    const subject = `ask for the registration token of ${scopeWord(scope)}: Gitea gives it to that user alone`;
    if (read === undefined) throw new Failure('GR-REG-03', 1, `${subject}. Use an API token of that user.`);
    tokens.set(key, read.token);
    return read.token;
  };
  return { tokenFor, forgetToken: (key: string) => tokens.delete(key) };
}

const groupOf = ({ object }: Wish): string => keyText(object.metadata);

/** What is asked of Gitea and of Kubernetes for one runner. @param timeoutMs for each question */
function requestsFor({ clock, giteas, secretsClient, tell }: TaskContext, timeoutMs: number) {
  const { forgetToken, tokenFor } = registrationTokens(clock);
  return {
    register: async (wish: Wish, target: GiteaTarget, signal: AbortSignal): Promise<Required<Ahead>> => {
      const { at, own, runner: name } = wish;
      const scope = levelOf(wish);
      const tokenKey = `${target.key} ${at}`;
      let untilMs = 0;
      const visit = async (access: GiteaAccess) => {
        const token = await tokenFor(access, tokenKey, scope);
        // The row may be seen before the answer comes.
        untilMs = clock.steadyMs() + AHEAD_MS;
        const labels = own.labels.map((label) => label.name);
        const registered = await orFailure(registerRunner(access, token, { name, labels }));
        if (!(registered instanceof Failure)) return registered;
        // The next try asks for another token. Of any other failure nobody knows whether there is a row.
        if (registered.kind === 'unauthorized') forgetToken(tokenKey);
        else tellLeft(tell, wish);
        throw registered;
      };
      const made = await giteas.ask(target, timeoutMs, visit, signal);
      const labels = own.labels.map(({ text }) => text);
      return { wish, file: credentialsFile(made, { name, labels, address: target.url }), untilMs };
    },

    /** Creates the Secret. Without a file this only tells whether it is there. */
    create: async ({ object, runner: name, uid }: Wish, file?: string) => {
      const { name: group, namespace } = object.metadata;
      const deadline = new Deadline(timeoutMs, clock);
      return await createCredentials(secretsClient, { namespace, name, group, uid }, file, deadline);
    },
  };
}

type Row = Pick<Wish, 'at' | 'object' | 'target'>;

/** Tells that the runner's row in Gitea stays unused, if the Gitea is known. */
function tellLeft(tell: TaskContext['tell'], { at, object, target }: Row, guess?: { readonly isGuess: true }): void {
  if (target && !(target instanceof Failure)) tell({ is: 'row-left', object, target, at, ...guess });
}

/** Where a leader before this one may have left rows. Each group is named once. */
function guessedRows(verdict: AppVerdict, targetOf: TargetOf, guessed: WeakSet<RunnerGroup>): readonly Row[] {
  const levelsOf = levelsSeen(verdict);
  return verdict.groups.flatMap(({ live: { group, object } }) => {
    if (!group || guessed.has(group)) return [];
    const levels = levelsOf(group);
    if (levels.length > 0) guessed.add(group);
    return levels.map((at) => ({ at, object, target: targetOf.get(group) }));
  });
}

/** Returns what is left of credentials in memory. Undefined: nothing. @param now the wish of this runner */
function keptAhead(ahead: Ahead, now: Wish | undefined, nowMs: number): Ahead | undefined {
  const isSame = now?.at === ahead.wish.at && (now.is === 'wanted' || now.is === 'starting');
  if (isSame && nowMs < ahead.untilMs) return ahead;
  return now?.is === 'wanted' ? { wish: now, untilMs: 0 } : undefined;
}

/** Levels where Jobs wait for their Secret, each with its group. */
function levelsWaiting(wishes: Wishes, handedOver: ReadonlyMap<string, { readonly uid: string }>): ReadonlySet<string> {
  const waiting = [...wishes].filter(([key, { is, uid }]) => is === 'starting' && handedOver.get(key)?.uid !== uid);
  return new Set(waiting.map(([, wish]) => `${groupOf(wish)} ${wish.at}`));
}

/** Runners for which something is to be done, and that are not in the queue for it. */
function dueKeys(wishes: Wishes, before: Wishes, ahead: ReadonlyMap<string, Ahead>, line: Pick<KeyQueue, 'has'>) {
  return [...wishes].flatMap(([key, { is, uid }]) => {
    const old = before.get(key);
    const needsStep = is === 'starting' || (is === 'wanted' && !ahead.has(key));
    return needsStep && (old?.is !== is || old.uid !== uid || !line.has(key)) ? key : [];
  });
}

/** True if the Job of this uid is the one that `wish` waits for, and may get its Secret. */
function isItsJob(cluster: TaskContext['cluster'], key: string, uid: string, wish: Wish): boolean {
  const live = cluster.runners().find((each) => keyOfRunner(each) === key);
  if (live?.uid !== uid || live.job.registeredAt !== wish.at || live.job.state !== 'starting') return false;
  return !cluster.hasOtherPod(key, uid);
}

/** Registers runners and hands their credentials over. @param timeoutMs for each question to Kubernetes or Gitea */
export function registerRunners(timeoutMs: number): StartTask {
  return (context) => {
    const { changed, clock, cluster, queue, targetOf, tell, unregistered } = context;
    const { create, register } = requestsFor(context, timeoutMs);
    let wishes: Wishes = new Map();
    const sinceMs = clock.steadyMs();
    const ahead = new Map<string, Ahead>();
    /** Uid of the Job that has a Secret, and how many looks in a row have shown the Secret. */
    const handedOver = new Map<string, { readonly uid: string; readonly looks: number }>();
    const guessed = new WeakSet<RunnerGroup>();

    /** A leader before this one may have registered runners, and died. */
    const possiblyLeft = (before: Wishes): readonly Wish[] =>
      clock.steadyMs() - sinceMs < AHEAD_MS ? [...wishes.values()] : unusedWishes(before, wishes);

    const registerAhead = async (key: string, wish: Wish, target: GiteaTarget, signal: AbortSignal) => {
      const registered = await register(wish, target, signal);
      ahead.set(key, registered);
      tell({ is: 'runner-registration', object: wish.object, runner: wish.runner, result: 'registered' });
      return registered.file;
    };

    const handOver = async (key: string, wish: Wish, target: GiteaTarget, signal: AbortSignal): Promise<Retry> => {
      const { object, runner, uid } = wish;
      const file = ahead.get(key)?.file;
      if (file !== undefined || (await create(wish)) === 'created') {
        const is = await create(wish, file ?? (await registerAhead(key, wish, target, signal)));
        if (is === 'created') tell({ is: 'runner-registration', object, runner, result: 'handed-over' });
        // Somebody was faster, or the Secret is ours and the answer was lost.
        else tellLeft(tell, wish);
      }
      const before = handedOver.get(key);
      const looks = before?.uid === uid ? before.looks + 1 : 0;
      ahead.delete(key);
      handedOver.set(key, { uid, looks });
      if (unregistered.size > 0) changed();
      return { inMs: lookAgainMs(looks) };
    };

    const follow = async (key: string, { signal }: Turn): Promise<Retry | undefined> => {
      const wish = wishes.get(key);
      if (!wish?.target) return undefined;
      const { is, target } = wish;
      if (target instanceof Failure) throw target;
      forgetLate(key);
      if (is === 'starting') return await handOver(key, wish, target, signal);
      if (is === 'wanted' && !ahead.has(key) && ahead.size < MOST_AHEAD) await registerAhead(key, wish, target, signal);
      return undefined;
    };

    const forgetLate = (key: string): void => {
      const before = ahead.get(key);
      const after = before && keptAhead(before, wishes.get(key), clock.steadyMs());
      if (!before || after === before) return;
      if (before.file !== undefined) tellLeft(tell, before.wish);
      if (after) ahead.set(key, after);
      else ahead.delete(key);
    };

    const line = queue.open('register', {
      ...asking((key) => wishes.get(key)?.target),
      width: 32,
      perLane: 8,
      gapMs: 0,
      deadlineMs: LONGEST_TURN_MS + 4 * timeoutMs,
      backOffMs: tryAgainMs,
      onFailure: (key, failure) => {
        const wish = wishes.get(key);
        if (!wish) return;
        const { is, object, runner } = wish;
        tell({ is: 'runner-registration', object, runner, result: 'failed', failure });
        if (is !== 'starting') return;
        noteFailure(wish, failure, wishes, unregistered);
        changed();
      },
      run: follow,
    });

    return subscriberOf({
      'runner-seen': ({ name, namespace, step, uid }) => {
        const key = keyText({ namespace, name });
        const wish = wishes.get(key);
        if (step !== 'job' || wish?.is !== 'wanted' || ahead.get(key)?.file === undefined || !cluster.fresh) return;
        if (!isItsJob(cluster, key, uid, wish)) return;
        wishes = new Map(wishes).set(key, { ...wish, is: 'starting', uid });
        line.add(key);
      },
      reconciled: ({ verdicts }) => {
        const before = wishes;
        const living = new Map(cluster.runners().map((live) => [keyOfRunner(live), live]));
        wishes = wishesOf(verdicts, living, targetOf(), before, (key, uid) => cluster.hasOtherPod(key, uid));
        for (const wish of possiblyLeft(before)) tellLeft(tell, wish);
        const guesses = verdicts.flatMap((verdict) => guessedRows(verdict, targetOf(), guessed));
        for (const row of guesses) tellLeft(tell, row, { isGuess: true });
        for (const key of ahead.keys()) forgetLate(key);
        keepOnly(handedOver, wishes);
        line.keepOnly(wishes);
        for (const key of dueKeys(wishes, before, ahead, line)) line.add(key);
        if (forgetAllBut(levelsWaiting(wishes, handedOver), unregistered)) changed();
      },
    });
  };
}
