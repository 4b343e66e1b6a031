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
import { asking, LONGEST_TURN_MS } from '../../serve/looks/giteas.ts';
import { subscriberOf } from '../../serve/planning/events.ts';
import type { AppVerdict } from '../../serve/planning/reconcile.ts';
import type { Retry, Turn } from '../../serve/queue/work-queue.ts';
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

interface Ahead {
  readonly wish: Wish;
  /** Registration file. Absent: the Job did not come in time. The runner is registered again when the Job comes. */
  readonly file?: string;
  readonly untilMs: number;
}

interface Refused {
  readonly failure: Failure;
  readonly times: number;
  readonly untilMs: number;
}

/** @param levels each with its group, where Jobs wait @returns whether there were others */
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

/** @param timeoutMs for each question to Kubernetes or Gitea. */
export function registerRunners(timeoutMs: number): StartTask {
  return ({ changed, clock, cluster, giteas, queue, secretsClient, targetOf, tell, unregistered }) => {
    let wishes: Wishes = new Map();
    const sinceMs = clock.steadyMs();
    const ahead = new Map<string, Ahead>();
    /** The Job that has a Secret, as told at so many looks for it. */
    const handedOver = new Map<string, { readonly uid: string; readonly looks: number }>();
    /** Groups whose repositories were told as places where a leader before this one may have left rows. */
    const guessed = new WeakSet<RunnerGroup>();
    const { forgetToken, tokenFor } = registrationTokens(clock);

    /** Notes that nobody will use the runner's row, if there is one. */
    const tellLeft = (
      { at, object, target }: Pick<Wish, 'at' | 'object' | 'target'>,
      guess?: { isGuess: true },
    ): void => {
      if (target && !(target instanceof Failure)) tell({ is: 'row-left', object, target, at, ...guess });
    };

    /** A leader before this one may have registered runners, and died. */
    const possiblyLeft = (before: Wishes): readonly Wish[] =>
      clock.steadyMs() - sinceMs < AHEAD_MS ? [...wishes.values()] : unusedWishes(before, wishes);

    const tellGuessed = (verdict: AppVerdict): void => {
      const levelsOf = levelsSeen(verdict);
      for (const { live } of verdict.groups) {
        const { group, object } = live;
        if (!group || guessed.has(group)) continue;
        for (const level of levelsOf(group)) {
          guessed.add(group);
          tellLeft({ at: level, object, target: targetOf().get(group) }, { isGuess: true });
        }
      }
    };

    const register = async (key: string, wish: Wish, target: GiteaTarget, signal: AbortSignal): Promise<string> => {
      const { at, object, own, runner: name } = wish;
      const scope = levelOf(wish);
      const tokenKey = `${target.key} ${at}`;
      let untilMs = 0;
      const visit = async (access: GiteaAccess) => {
        const names = own.labels.map((label) => label.name);
        const token = await tokenFor(access, tokenKey, scope);
        // The row may be seen before the answer comes.
        untilMs = clock.steadyMs() + AHEAD_MS;
        const registered = await orFailure(registerRunner(access, token, { name, labels: names }));
        if (!(registered instanceof Failure)) return registered;
        // The next try asks for another token. Of any other failure nobody knows whether there is a row.
        if (registered.kind === 'unauthorized') forgetToken(tokenKey);
        else tellLeft(wish);
        throw registered;
      };
      const made = await giteas.ask(target, timeoutMs, visit, signal);
      const file = credentialsFile(made, { name, labels: own.labels.map(({ text }) => text), address: target.url });
      ahead.set(key, { wish, file, untilMs });
      tell({ is: 'runner-registration', object, runner: name, result: 'registered' });
      return file;
    };

    const handOver = async (key: string, wish: Wish, target: GiteaTarget, signal: AbortSignal): Promise<Retry> => {
      const { object, runner: name, uid } = wish;
      const { name: group, namespace } = object.metadata;
      const create = (file?: string) =>
        createCredentials(secretsClient, { namespace, name, group, uid }, file, new Deadline(timeoutMs, clock));
      const file = ahead.get(key)?.file;
      if (file !== undefined || (await create()) === 'created') {
        const is = await create(file ?? (await register(key, wish, target, signal)));
        if (is === 'created') tell({ is: 'runner-registration', object, runner: name, result: 'handed-over' });
        // Somebody was faster. Or an answer was lost, and it is ours.
        else tellLeft(wish);
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
      if (is === 'wanted' && !ahead.has(key) && ahead.size < MOST_AHEAD) await register(key, wish, target, signal);
      return undefined;
    };

    const forgetLate = (key: string): void => {
      const { file, untilMs = 0, wish } = ahead.get(key) ?? {};
      const now = wishes.get(key);
      const isOf = (is: Wish['is']): boolean => now?.is === is && now.at === wish?.at;
      if (!wish || ((isOf('wanted') || isOf('starting')) && clock.steadyMs() < untilMs)) return;
      if (file !== undefined) tellLeft(wish);
      if (now?.is === 'wanted') ahead.set(key, { wish: now, untilMs: 0 });
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
        const { at, is, object, runner } = wish;
        tell({ is: 'runner-registration', object, runner, result: 'failed', failure });
        if (is !== 'starting') return;
        const group = keyText(object.metadata);
        const levels = new Set([...wishes.values()].flatMap((each) => (groupOf(each) === group ? each.at : [])));
        const failures = new Map(unregistered.get(group)?.failures).set(at, failure);
        unregistered.set(group, { failures, levels: levels.size });
        changed();
      },
      run: follow,
    });

    return subscriberOf({
      'runner-seen': ({ name, namespace, step, uid }) => {
        const key = keyText({ namespace, name });
        const wish = wishes.get(key);
        if (step !== 'job' || wish?.is !== 'wanted' || ahead.get(key)?.file === undefined || !cluster.fresh) return;
        const live = cluster.runners().find((each) => keyOfRunner(each) === key);
        if (live?.uid !== uid || live.job.registeredAt !== wish.at || live.job.state !== 'starting') return;
        if (cluster.hasOtherPod(key, uid)) return;
        wishes = new Map(wishes).set(key, { ...wish, is: 'starting', uid });
        line.add(key);
      },
      reconciled: ({ verdicts }) => {
        const before = wishes;
        const living = new Map(cluster.runners().map((live) => [keyOfRunner(live), live]));
        wishes = wishesOf(verdicts, living, targetOf(), before, (key, uid) => cluster.hasOtherPod(key, uid));
        for (const wish of possiblyLeft(before)) tellLeft(wish);
        verdicts.forEach(tellGuessed);
        for (const key of ahead.keys()) forgetLate(key);
        keepOnly(handedOver, wishes);
        line.keepOnly(wishes);
        for (const [key, { is, uid }] of wishes) {
          const old = before.get(key);
          const needsStep = is === 'starting' || (is === 'wanted' && !ahead.has(key));
          if (needsStep && (old?.is !== is || old.uid !== uid || !line.has(key))) line.add(key);
        }
        const waiting = [...wishes].filter(
          ([key, { is, uid }]) => is === 'starting' && handedOver.get(key)?.uid !== uid,
        );
        const levels = new Set(waiting.map(([, wish]) => `${groupOf(wish)} ${wish.at}`));
        if (forgetAllBut(levels, unregistered)) changed();
      },
    });
  };
}
