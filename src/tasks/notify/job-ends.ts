/**
 * From plans to `job-ended`: which jobs have ended since the last reconcile, and how, by Gitea. Only of jobs whose group wants to notify somebody.
 *
 *     reconcile ─► ended jobs ─► newest completed jobs of the scope (one request for all of them), names of workflows ─► event `job-ended`
 *
 * It waits for its turn behind looks, so a Gitea that hangs delays neither looks nor reconciles. A job that is not listed yet is asked for again.
 */
import { LRUCache } from 'lru-cache';
import { type GiteaAccess, GiteaApi } from '../../clients/gitea/api.ts';
import { type JobEnd, levelsOf, readJobEnds, readWorkflows } from '../../clients/gitea/ended-jobs.ts';
import type { GiteaTarget } from '../../clients/gitea/observe-gitea.ts';
import { kindOf, type NotifyTarget } from '../../config/runnergroup/notify-fields.ts';
import type { RunnerGroup } from '../../config/runnergroup/runner-group.ts';
import type { GroupKey, Plan } from '../../planner/decisions.ts';
import type { Job } from '../../planner/evidence.ts';
import { LONGEST_TURN_MS } from '../../serve/looks/giteas.ts';
import type { EventOf, JobNotice } from '../../serve/planning/events.ts';
import type { AppVerdict } from '../../serve/planning/reconcile.ts';
import type { Turn } from '../../serve/queue/work-queue.ts';
import type { StartTask } from '../../serve/task.ts';
import { defined } from '../../shared/defined.ts';
import { Failure } from '../../shared/failure.ts';
import { atMost, groupBy, keyText, stayKey } from '../../shared/keys.ts';
import { cut, printable } from '../../shared/printable.ts';

interface AskedJob extends OurJob {
  readonly group: RunnerGroup;
  readonly target: GiteaTarget;
  readonly notify: readonly NotifyTarget[];
  readonly tries: number;
  readonly dueMs: number;
}

/** Pauses before a job is looked up again, ms: a cancelled one cleans up first. After the last one no message is sent. */
const PAUSES_MS = [1_000, 5_000, 30_000, 120_000];
/** Jobs that wait for an answer. More end at once only after an outage; the oldest ones are not told. */
const MOST_WAITING = 1_000;
/** Most scopes that are read at the same time: one that hangs delays no other. */
const WIDTH = 8;

/** Tells the ends of CI jobs. @param timeoutMs for all requests about one scope @param notifyDefaults if a group has none */
export function tellJobEnds(timeoutMs: number, notifyDefaults: readonly NotifyTarget[] = []): StartTask {
  return ({ clock, giteas, queue, targetOf, tell }) => {
    const collector = new EndedJobs();
    let waiting: readonly AskedJob[] = [];

    const giveUp = ({ notify }: AskedJob): void => {
      for (const target of notify) tell({ is: 'notified', to: kindOf(target), result: 'unknown' });
    };

    /** Asks when they are due, and returns at once. */
    const ask = (jobs: readonly AskedJob[]): void => {
      const all = [...waiting, ...jobs];
      const dropped = Math.max(0, all.length - MOST_WAITING);
      for (const job of all.slice(0, dropped)) giveUp(job);
      waiting = all.slice(dropped);
      for (const { target, dueMs } of jobs) line.add(target.key, dueMs - clock.steadyMs());
    };

    const askAgainLater = (job: AskedJob): void => {
      const pauseMs = PAUSES_MS[job.tries];
      if (pauseMs === undefined) giveUp(job);
      else ask([{ ...job, tries: job.tries + 1, dueMs: clock.steadyMs() + pauseMs }]);
    };

    const askScope = async (key: string, { signal }: Turn): Promise<undefined> => {
      const nowMs = clock.steadyMs();
      const due = waiting.filter(({ target, dueMs }) => target.key === key && dueMs <= nowMs);
      const [first] = due;
      if (!first) return;
      // A question that fails says nothing of any job.
      const result = await giteas
        .ask(first.target, timeoutMs, (access) => readEnds(access, first.target, due), signal)
        .catch(ignoreFailure);
      if (signal.aborted) return;
      waiting = waiting.filter((each) => !due.includes(each));
      for (const request of due) {
        const { job, notify, runners } = request;
        const end = result?.ends.find(({ id, attempt }) => id === job.id && attempt === job.attempt);
        if (!end) askAgainLater(request);
        // The job was cancelled while it waited, or ran on a foreign runner: no message.
        else if (end.runner !== undefined && runners.includes(end.runner)) {
          const notice = noticeOf(request, end.result, end.runner, result?.workflows.get(end.runId), clock.now());
          tell({ is: 'job-ended', notice, notify });
        }
      }
    };

    const line = queue.open('job-end', {
      nameOf: (key) => waiting.find(({ target }) => target.key === key)?.job.repository ?? key,
      width: WIDTH,
      deadlineMs: LONGEST_TURN_MS + timeoutMs,
      run: askScope,
    });

    const endedJobs = ({ verdicts }: EventOf<'reconciled'>): readonly AskedJob[] => {
      const jobs = collector.take(verdicts);
      if (jobs.length === 0) return [];
      const allGroups = verdicts.flatMap(({ groups }) => groups);
      const groups = new Map(allGroups.map(({ live }) => [live.key, live.group]));
      return jobs.flatMap((job) => {
        const group = groups.get(keyText(job.group));
        const target = group && targetOf().get(group);
        if (!group || !target || target instanceof Failure) return [];
        const notify = group.notify.length > 0 ? group.notify : notifyDefaults;
        return notify.length > 0 ? [{ ...job, group, target, notify, tries: 0, dueMs: clock.steadyMs() }] : [];
      });
    };

    return (event) => {
      if (event.is === 'reconciled') ask(endedJobs(event));
    };
  };
}

async function readEnds(access: GiteaAccess, { scope }: GiteaTarget, jobs: readonly AskedJob[]) {
  const api = new GiteaApi(access);
  const repositories = jobs.map(({ job }) => job.repository);
  const levels = await levelsOf(api, scope, repositories);
  const ends = await Promise.all(levels.map((level) => readJobEnds(api, level)));
  // A message without the workflow's name is better than none.
  const workflows = await Promise.all(levels.map((level) => readWorkflows(api, level).catch(ignoreFailure)));
  return { ends: ends.flat(), workflows: new Map(workflows.flatMap((each) => [...(each ?? [])])) };
}

/** Makes the notice. Its fields have the order of the manual: a plain webhook sends it so. */
function noticeOf(
  { job, origin: gitea, group: { namespace, name: group, keepFailedSeconds } }: AskedJob,
  result: JobEnd['result'],
  runner: string,
  workflow: string | undefined,
  nowMs: number,
): JobNotice {
  return defined({
    result,
    repository: job.repository,
    workflow: workflow === undefined ? undefined : shortName(workflow),
    job: shortName(job.name),
    jobId: job.id,
    attempt: job.attempt,
    url: job.url,
    gitea,
    namespace,
    group,
    runner,
    // This is by this machine's clock, and the plan uses Gitea's. The difference is small: people need the minute only.
    keptUntilMs: result === 'failure' && keepFailedSeconds > 0 ? nowMs + keepFailedSeconds * 1000 : undefined,
  });
}

/** Most characters of a name in a message. A longer one is cut. */
const LONGEST_NAME = 200;

/** A name as it may stand in a message: one printable line of bounded length. */
export function shortName(name: string): string {
  return cut(printable(name), LONGEST_NAME);
}

function ignoreFailure(error: unknown): undefined {
  if (error instanceof Failure) return undefined;
  throw error;
}

/**
 * A CI job that has probably ended on a runner of ours:
 *
 *     running on a runner of ours, then gone or done
 *     served (it waits, and runners are on their way), then gone: it came and went between two looks, or was cancelled
 *     done on a runner of ours, and never seen before
 */
interface OurJob {
  readonly job: Job;
  readonly origin: string;
  readonly group: GroupKey;
  /** Names of the runners of the group that may have run it. */
  readonly runners: readonly string[];
}

/** State of one Application: the time of its first plan, and the running or served jobs, by key. */
type ActiveJobs = Readonly<{ application: string; sinceMs: number; active: ReadonlyMap<string, OurJob> }>;

/** Most remembered ended jobs, so that no end is reported twice. A look shows 150 completed jobs of a scope. */
const MOST_REMEMBERED = 20_000;

export class EndedJobs {
  #seen: ReadonlyMap<string, ActiveJobs> = new Map();
  readonly #ended = new LRUCache<string, true>(atMost(MOST_REMEMBERED));

  /** Takes all plans of one reconcile, and answers the jobs that have ended since the last one, each once. Without a plan nothing is known. */
  take(verdicts: readonly Pick<AppVerdict, 'application' | 'planning'>[]): readonly OurJob[] {
    const seenByApplication = new Map<string, ActiveJobs>();
    const newJobs: OurJob[] = [];
    for (const { application, planning } of verdicts) {
      const before = this.#seen.get(application);
      if (planning.is === 'planned') {
        const { plan, atMs } = planning;
        const earlier = before ?? { application, sinceMs: atMs, active: new Map() };
        const ourJobs = jobsOfOurRunners(plan);
        const endedJobs = this.#endedIn(plan, ourJobs, earlier);
        // Jobs that are done in the first plan had ended before it.
        if (before) newJobs.push(...endedJobs);
        const active = new Map([...ourJobs].filter(([, { job }]) => job.status !== 'completed'));
        seenByApplication.set(application, { ...earlier, active });
      } else if (before) seenByApplication.set(application, before);
    }
    this.#seen = seenByApplication;
    return newJobs;
  }

  #endedIn(plan: Plan, ourJobs: ReadonlyMap<string, OurJob>, { application, active, sinceMs }: ActiveJobs) {
    const listed = new Set(plan.jobs.filter(({ job }) => job.status !== 'completed').map(stayKey));
    const goneJobs = [...active].filter(([key]) => !listed.has(key));
    // A look reads no completed jobs while nothing is queued or runs, so a plan may list jobs that ended long before it.
    // Gitea's times are whole seconds: an earlier leader may have reported an end in the second of `sinceMs`.
    const sinceSecondMs = Math.floor(sinceMs / 1000) * 1000;
    const isNew = ({ completedAtMs = Number.POSITIVE_INFINITY }: Job): boolean => completedAtMs > sinceSecondMs;
    const done = [...ourJobs].filter(([, { job }]) => job.status === 'completed' && isNew(job));
    return [...goneJobs, ...done].flatMap(([stay, job]) => {
      // Several Applications may have waited for it. The one whose runner has run it tells its end.
      const key = `${application} ${stay}`;
      if (this.#ended.has(key)) return [];
      this.#ended.set(key, true);
      return [job];
    });
  }
}

/** Jobs that run or are served, and those that are done on a runner that the plan still knows, so it is of one of its groups. */
function jobsOfOurRunners({ jobs, runners }: Plan): ReadonlyMap<string, OurJob> {
  const groupOf = new Map(runners.map(({ runner, group }) => [runner, group]));
  // One list for all jobs of a group.
  const byGroup = groupBy(runners, ({ group }) => keyText(group));
  const names = new Map([...byGroup].map(([key, list]) => [key, list.map(({ runner }) => runner)]));
  return new Map(
    jobs.flatMap((decision) => {
      const { job, origin, verdict } = decision;
      if (verdict === 'held') return [];
      const group = verdict === 'done' ? groupOf.get(job.runner ?? '') : decision.group;
      if (!group) return [];
      const mayHaveRunIt = job.runner === undefined ? (names.get(keyText(group)) ?? []) : [job.runner];
      return [[stayKey(decision), { job, origin, group, runners: mayHaveRunIt }] as const];
    }),
  );
}
