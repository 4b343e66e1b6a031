/**
 * Says beside a commit in Gitea why a CI job waits (`commitStatusAfterSeconds`, docs/adr/0069): one key of the queue per Application and job.
 *
 *     reconcile ─► jobs that wait for too long ─► the words of `explain` ─► commit status
 *                  such a job runs, or is gone ─► that it does not wait any more
 *
 * Bounds: 200 jobs are followed, one request per second and Gitea. The words of a job change every two minutes at most.
 */
import { verdictText } from '../../answers/causes.ts';
import { explainerOf } from '../../answers/explanation.ts';
import { emittedRunners } from '../../answers/model.ts';
import { jobForReader, readersOf, runnerForReader, STRANGER } from '../../answers/reader.ts';
import type { GiteaAccess } from '../../clients/gitea/api.ts';
import { isRefusal } from '../../clients/gitea/failures.ts';
import type { GiteaTarget } from '../../clients/gitea/observe-gitea.ts';
import { readCommit, setCommitStatus } from '../../clients/gitea/set-commit-status.ts';
import type { RunnerGroup } from '../../config/runnergroup/runner-group.ts';
import type { TargetOf } from '../../plan/find-targets.ts';
import type { Planning } from '../../plan/plan-seen.ts';
import type { JobDecision } from '../../planner/decisions.ts';
import type { Job } from '../../planner/evidence.ts';
import { asking, LONGEST_TURN_MS } from '../../serve/looks/giteas.ts';
import type { AppVerdict, GroupVerdict } from '../../serve/planning/reconcile.ts';
import type { Retry, Turn } from '../../serve/queue/work-queue.ts';
import type { StartTask } from '../../serve/task.ts';
import { Failure } from '../../shared/failure.ts';
import { inTurns, keepOnly, keyText, stayKey } from '../../shared/keys.ts';
import { once } from '../../shared/once.ts';
import { duration, printable } from '../../shared/printable.ts';

/** A job of a group that wants commit statuses. Changed in place: a request about it may be under way. */
interface Wait {
  target: GiteaTarget;
  job: Job;
  /** Key of the job, the same in all Applications. */
  readonly stay: string;
  /** Key of its group. */
  readonly group: string;
  /** When the job was first seen queued, by Gitea's clock. */
  readonly sinceMs: number;
  /** Text of the next status. Undefined: none yet. */
  text?: string | undefined;
  /** True if the job no longer waits: this is the last status. */
  isOver: boolean;
  /** The last words, also those that were given up. */
  said?: string;
  /** True if the commit has words of this group. */
  isTold?: true;
  saidMs: number;
  failures: number;
  sha?: string;
}

/** Most waiting jobs with a commit status, by turns of the namespaces. Others get none until followed ones no longer wait. */
const MOST_FOLLOWED = 200;
/** Least time between two statuses of one job, ms: each is a request to Gitea. */
const BETWEEN_WORDS_MS = 120_000;
/** Pause after a refusal, such as of a token without the scope, ms. No status of this scope is written in that time. */
const REFUSED_MS = 600_000;
const MOST_TRIES = 3;
const GONE = 'waits no more';
/** Most characters of a job's name in the context. The rest is cut off. */
const LONGEST_NAME = 100;
const LONGEST_TEXT = 200;

/** Writes commit statuses of jobs that wait. @param timeoutMs for all requests about one job */
export function sayWhyJobsWait(timeoutMs: number): StartTask {
  return ({ clock, giteas, queue, targetOf, tell }) => {
    let waitByKey = new Map<string, Wait>();
    const refusedUntil = new Map<string, number>();

    /** Several Applications may have the job. Its commit shows the words of the one that wrote first. */
    const hasWords = (wait: Wait): boolean => {
      const isOthers = (other: Wait): boolean => other !== wait && other.stay === wait.stay && other.isTold === true;
      return isUnsaid(wait) && ![...waitByKey.values()].some(isOthers);
    };

    const say = async (key: string, { signal }: Turn): Promise<Retry | undefined> => {
      const wait = waitByKey.get(key);
      const text = wait?.text;
      if (!wait || text === undefined || !hasWords(wait)) return undefined;
      const { job, target, isOver } = wait;
      const pausedMs = Math.max(giteas.pauseMs(target), (refusedUntil.get(target.key) ?? 0) - clock.steadyMs());
      if (pausedMs > 0) return { inMs: pausedMs, firm: true };
      const { repository, url } = job;
      const context = contextOf(job);
      const description = printable(text).slice(0, LONGEST_TEXT);
      const set = async (access: GiteaAccess): Promise<void> => {
        wait.sha ??= await readCommit(access, repository, job.id);
        await setCommitStatus(access, { repository, sha: wait.sha, context, description, url });
      };
      await giteas.ask(target, timeoutMs, set, signal);
      Object.assign(wait, { said: text, isTold: true, saidMs: clock.steadyMs() });
      tell({ is: 'commit-status', repository });
      if (isOver) waitByKey.delete(key);
      return undefined;
    };

    const line = queue.open('commit-status', {
      ...asking((key) => waitByKey.get(key)?.target),
      nameOf: (key) => waitByKey.get(key)?.job.repository ?? key,
      deadlineMs: LONGEST_TURN_MS + timeoutMs,
      onFailure: (key, failure) => {
        const wait = waitByKey.get(key);
        if (!wait) return;
        wait.failures += 1;
        if (wait.failures % MOST_TRIES === 0) {
          Object.assign(wait, { said: wait.text, saidMs: clock.steadyMs() });
          if (wait.isOver) waitByKey.delete(key);
        }
        if (isRefusal(failure)) refusedUntil.set(wait.target.key, clock.steadyMs() + REFUSED_MS);
        tell({ is: 'commit-status', repository: wait.job.repository, failure });
      },
      run: say,
    });

    return (event) => {
      if (event.is !== 'reconciled') return;
      waitByKey = followWaits(event.verdicts, waitByKey, targetOf());
      line.keepOnly(waitByKey);
      keepOnly(refusedUntil, new Set([...waitByKey.values()].map(({ target }) => target.key)));
      for (const [key, wait] of waitByKey) {
        if (!hasWords(wait)) continue;
        const isAtOnce = wait.said === undefined || wait.isOver;
        // This may make a key that already waits due sooner.
        line.add(key, isAtOnce ? 0 : Math.max(0, wait.saidMs + BETWEEN_WORDS_MS - clock.steadyMs()));
      }
    };
  };
}

/** Returns the context. It is never one of Gitea's own, which end with an event in brackets: a success there could let a pull request be merged. */
function contextOf({ name }: Job): string {
  const context = `runner / ${printable(name).slice(0, LONGEST_NAME)}`;
  return context.endsWith(')') ? `${context} (runner)` : context;
}

function isUnsaid({ said, text }: Wait): boolean {
  return text !== undefined && text !== said;
}

/** Returns the waiting jobs, and those that ended and still need a last status. Known facts stay. */
function followWaits(verdicts: readonly AppVerdict[], waitByKey: ReadonlyMap<string, Wait>, targetOf: TargetOf) {
  const waits = verdicts.flatMap((verdict) => waitsIn(verdict, waitByKey, targetOf));
  const byNamespace = inTurns(waits, ({ namespace }) => namespace);
  const shown = byNamespace.filter(({ key }, at) => waitByKey.has(key) || at < MOST_FOLLOWED);
  const next = new Map(shown.map(({ key, waitNow }) => [key, waitNow()]));
  const asking = verdicts.flatMap(groupsThatAsk);
  const groups = new Map(asking.map((group) => [group.live.key, group]));
  for (const [key, wait] of waitByKey) {
    const group = groups.get(wait.group);
    if (next.has(key) || !group) continue;
    // While a group is in trouble, its jobs are unknown.
    if (group.facts.counts === undefined || wait.isOver) next.set(key, wait);
    // The job was cancelled, or ended between two looks: more is not known.
    else if (wait.said !== undefined) next.set(key, Object.assign(wait, { isOver: true, text: GONE }));
  }
  return next;
}

/** Anybody may write a RunnerGroup, and name an Application there. Only one that Argo CD lists speaks. */
function groupsThatAsk({ groups, listing }: AppVerdict): readonly GroupVerdict[] {
  return groups.filter(({ live: { group, key } }) => group && group.commitStatusAfterSeconds > 0 && listing?.get(key));
}

/** A job that may be followed. `waitNow` brings its entry up to date, for followed jobs only: their words cost time. */
type Following = Readonly<{ key: string; namespace: string; waitNow: () => Wait }>;

/** Returns the jobs that wait, and those that did and of which something was said. */
function waitsIn(verdict: AppVerdict, waitByKey: ReadonlyMap<string, Wait>, targetOf: TargetOf) {
  const { application, planning } = verdict;
  const asking = groupsThatAsk(verdict);
  const wanting = new Map(asking.flatMap(({ live: { group, key } }) => (group ? [[key, group]] : [])));
  if (wanting.size === 0 || planning.is !== 'planned') return [];
  const { atMs } = planning;
  const wordsOf = wordsFor(planning, [...wanting.values()]);
  return planning.plan.jobs.flatMap((decision): readonly Following[] => {
    const { job } = decision;
    const group = 'group' in decision && decision.group ? wanting.get(keyText(decision.group)) : undefined;
    const target = group && targetOf.get(group);
    if (!group || !target || target instanceof Failure) return [];
    const stay = stayKey(decision);
    const key = `${application} ${stay}`;
    const before = waitByKey.get(key);
    if (decision.verdict === 'held' || decision.verdict === 'served') {
      const wait = before ?? { stay, group: keyText(group), sinceMs: atMs, saidMs: 0, failures: 0 };
      const isLate = atMs - wait.sinceMs >= group.commitStatusAfterSeconds * 1000;
      const now = () => ({ target, job, isOver: false, text: isLate ? wordsOf(decision) : undefined });
      return [{ key, namespace: group.namespace, waitNow: () => Object.assign(wait, now()) }];
    }
    if (before?.said === undefined) return [];
    const text = decision.verdict === 'running' ? `has a runner, after ${duration(atMs - before.sinceMs)}` : GONE;
    const last = () => (before.isOver ? before : Object.assign(before, { target, job, isOver: true, text }));
    return [{ key, namespace: group.namespace, waitNow: last }];
  });
}

/** Returns the text for all readers of the repository: no other repository, and of a pod only Kubernetes' reason. */
export function wordsFor({ plan, atMs, seen }: Planning & { readonly is: 'planned' }, groups: readonly RunnerGroup[]) {
  const details = once(() => explainerOf(groups, plan, atMs, seen).details());
  const runners = once(() =>
    emittedRunners({ runners: plan.runners.map((decision) => runnerForReader(decision, STRANGER)) }),
  );
  return (decision: JobDecision & { readonly verdict: 'held' | 'served' }): string => {
    // The sentence does not depend on the state.
    const job = jobForReader(details()({ ...decision, state: 'held' }), readersOf(decision.job.repository));
    return verdictText(job, atMs, runners());
  };
}
