/**
 * From plans to `job-ended`: which jobs have ended since the last round, and how, by Gitea. Only of jobs whose group wants to notify somebody.
 *
 *     round ─► ended jobs ─► newest completed jobs of the scope (one request for all of them), names of workflows ─► event `job-ended`
 *
 * It waits for its turn behind looks, so a Gitea that hangs delays neither looks nor rounds. A job that is not listed yet is asked for again.
 */

import { type GiteaAccess, GiteaApi } from '../../clients/gitea/api.ts';
import { type JobEnd, levelsOf, readJobEnds, readWorkflows } from '../../clients/gitea/job-ends.ts';
import type { GiteaTarget } from '../../clients/gitea/observe.ts';
import { kindOf, type NotifyTarget } from '../../config/runnergroup/notify-fields.ts';
import type { RunnerGroup } from '../../config/runnergroup/runner-group.ts';
import type { EventOf, JobNotice } from '../../serve/events.ts';
import { accessOf, BACKGROUND, LONGEST_TURN_MS } from '../../serve/looks/guest.ts';
import { EndedJobs, type LeftJob } from '../../serve/planning/ended-jobs.ts';
import type { Turn } from '../../serve/queue.ts';
import type { StartTask, TaskContext } from '../../serve/task.ts';
import { Failure } from '../../shared/failure.ts';
import { keyText } from '../../shared/key-text.ts';
import { printable } from '../../shared/printable.ts';

export interface JobEndsOptions {
  /** For all requests about one scope. */
  readonly timeoutMs: number;
  /** Of groups that have no `notify`; absent: nobody. */
  readonly notifyDefaults?: readonly NotifyTarget[];
}

/** An ended job of a group that notifies somebody. */
interface AskedJob extends LeftJob {
  readonly target: GiteaTarget;
  readonly notify: readonly NotifyTarget[];
  /** Runners of its group stay so long after a failure; 0: they do not. */
  readonly keepFailedSeconds: number;
  /** Questions so far. */
  readonly tries: number;
  /** By the steady clock. */
  readonly dueMs: number;
}

/** A cancelled job cleans up before it is listed. After the last pause nothing is told of it. */
const PAUSES_MS = [1_000, 5_000, 30_000, 120_000];
/** Jobs that wait for an answer. More end at once only after an outage; the oldest ones are not told. */
const MOST_WAITING = 1_000;
/** Scopes that are asked at the same time: one that hangs holds up no other. */
const WIDTH = 8;

export function tellJobEnds({ notifyDefaults = [], timeoutMs }: JobEndsOptions): StartTask {
  return (context) => {
    const { clock, guest, queue, tell } = context;
    const ended = new EndedJobs();
    /** Oldest first. */
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

    const later = (job: AskedJob): void => {
      const pauseMs = PAUSES_MS[job.tries];
      if (pauseMs === undefined) giveUp(job);
      else ask([{ ...job, tries: job.tries + 1, dueMs: clock.steadyMs() + pauseMs }]);
    };

    /** All jobs of the scope that are due, with one question. */
    const askScope = async (key: string, { signal }: Turn): Promise<undefined> => {
      const nowMs = clock.steadyMs();
      const due = waiting.filter(({ target, dueMs }) => target.key === key && dueMs <= nowMs);
      const [first] = due;
      if (!first) return;
      const found = await guest
        .visit(
          first.target,
          BACKGROUND,
          () => readEnds(accessOf(guest, first.target, timeoutMs), first.target, due),
          signal,
        )
        // A question that fails says nothing of any job.
        .catch(ignoreFailure);
      if (signal.aborted) return;
      waiting = waiting.filter((each) => !due.includes(each));
      for (const asked of due) {
        const { job, notify, runners } = asked;
        const end = found?.ends.find(({ id, attempt }) => id === job.id && attempt === job.attempt);
        if (!end) later(asked);
        // Cancelled while it waited, or run by a runner of others: nothing to tell.
        else if (end.runner !== undefined && runners.includes(end.runner)) {
          const notice = noticeOf(asked, end.result, end.runner, found?.workflows.get(end.runId), clock.now());
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

    return (event) => {
      if (event.is === 'round-done') ask(endedJobs(event, ended, context, notifyDefaults));
    };
  };
}

function endedJobs(
  { verdicts }: EventOf<'round-done'>,
  ended: EndedJobs,
  { clock, targetOf }: TaskContext,
  defaults: readonly NotifyTarget[],
): readonly AskedJob[] {
  const plans = verdicts.map(({ application, planning }) =>
    planning.is === 'planned' ? { application, planned: planning } : { application },
  );
  const left = ended.take(plans);
  if (left.length === 0) return [];
  const groups = new Map<string, RunnerGroup | undefined>(
    verdicts.flatMap(({ groups: of }) => of.map(({ live }) => [live.key, live.group] as const)),
  );
  return left.flatMap((job) => {
    const group = groups.get(keyText(job.group));
    const target = group && targetOf().get(group);
    if (!group || !target || target instanceof Failure) return [];
    const notify = group.notify.length > 0 ? group.notify : defaults;
    if (notify.length === 0) return [];
    return [{ ...job, target, notify, keepFailedSeconds: group.keepFailedSeconds, tries: 0, dueMs: clock.steadyMs() }];
  });
}

async function readEnds(access: GiteaAccess, { scope }: GiteaTarget, asked: readonly AskedJob[]) {
  const api = new GiteaApi(access);
  const levels = await levelsOf(
    api,
    scope,
    asked.map(({ job }) => job.repository),
  );
  const ends = await Promise.all(levels.map((level) => readJobEnds(api, level)));
  // A message without the workflow's name is better than none.
  const workflows = await Promise.all(levels.map((level) => readWorkflows(api, level).catch(ignoreFailure)));
  return { ends: ends.flat(), workflows: new Map(workflows.flatMap((each) => [...(each ?? [])])) };
}

function noticeOf(
  { job, origin, group, keepFailedSeconds }: AskedJob,
  result: JobEnd['result'],
  runner: string,
  workflow: string | undefined,
  nowMs: number,
): JobNotice {
  return {
    namespace: group.namespace,
    group: group.name,
    gitea: origin,
    repository: job.repository,
    ...(workflow !== undefined && { workflow: shortName(workflow) }),
    job: shortName(job.name),
    jobId: job.id,
    attempt: job.attempt,
    result,
    url: job.url,
    runner,
    // By our clock; the plan goes by Gitea's. People need the minute.
    ...(result === 'failure' && keepFailedSeconds > 0 && { keptUntilMs: nowMs + keepFailedSeconds * 1000 }),
  };
}

const LONGEST_NAME = 200;
const HALF_CHARACTER = /\p{Cs}$/u;

/** A name as it may stand in a message: one printable line of bounded length. */
export function shortName(name: string): string {
  const line = printable(name);
  return line.length > LONGEST_NAME ? `${line.slice(0, LONGEST_NAME).replace(HALF_CHARACTER, '')}…` : line;
}

function ignoreFailure(error: unknown): undefined {
  if (error instanceof Failure) return undefined;
  throw error;
}
