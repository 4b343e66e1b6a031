/** Reruns: up to 1.26 the rows are reset and keep their ids, 1.27 makes new rows for the whole run (services/actions/rerun.go). */
import {
  indexJob,
  isDone,
  type JobRow,
  jobsOfAttempt,
  mustGet,
  nextId,
  type RunRow,
  type State,
  seconds,
} from './model.ts';
import { setStatus, settle, wakeRunners } from './queue.ts';

/** Gitea refuses the rerun with HTTP 400. The message has the reason. */
export class RerunRefused extends Error {}

/**
 * Jobs of a run to rerun: one, the failed and cancelled ones (GetFailedJobsForRerun), or all. Always with all that need
 * them.
 */
export type RerunChoice = number | 'failed' | undefined;

/** Returns these jobs and all that need them, directly or not (GetAllRerunJobs). */
function withDependents(jobs: readonly JobRow[], first: readonly JobRow[]): Set<JobRow> {
  const chosen = new Set(first);
  for (let grown = true; grown; ) {
    grown = false;
    const keys = new Set([...chosen].map((job) => job.key));
    for (const job of jobs) {
      if (chosen.has(job) || !job.needs.some((need) => keys.has(need))) continue;
      chosen.add(job);
      grown = true;
    }
  }
  return chosen;
}

/** True if the job needs one that is rerun as well: then it starts blocked. */
function waitsFor(chosen: ReadonlySet<JobRow>, job: JobRow): boolean {
  const keys = new Set([...chosen].map((other) => other.key));
  return job.needs.some((need) => keys.has(need));
}

/**
 * Reruns a finished run, or jobs of it with their dependents.
 * @returns the rows of the new attempt. Up to 1.26 these are the old rows
 * @throws RerunRefused while the run is not done
 */
export function rerun(state: State, runId: number, choice?: RerunChoice): JobRow[] {
  const run = mustGet(state.runs, runId, 'run');
  const jobs = jobsOfAttempt(state, run);
  if (!jobs.every((job) => isDone(job.status))) throw new RerunRefused('this workflow run is not done');
  const first = jobs.filter((job) => {
    if (choice === 'failed') return job.status === 'failure' || job.status === 'cancelled';
    return choice === undefined || job.id === choice;
  });
  if (typeof choice === 'number' && first.length === 0) {
    throw new Error(`the simulator has no job ${choice} in run ${runId}`);
  }
  const chosen = withDependents(jobs, first);
  run.attempt += 1;
  if (state.traits.rerun === 'same-row') return resetRows(state, jobs, chosen);
  return copyRows(state, run, jobs, chosen);
}

function resetRows(state: State, jobs: JobRow[], chosen: ReadonlySet<JobRow>): JobRow[] {
  for (const job of chosen) {
    job.taskId = 0;
    job.started = 0;
    job.stopped = 0;
    setStatus(state, job, waitsFor(chosen, job) ? 'blocked' : 'waiting');
  }
  return jobs;
}

function copyRows(state: State, run: RunRow, jobs: readonly JobRow[], chosen: ReadonlySet<JobRow>): JobRow[] {
  const newIds = new Map<number, number>();
  const copies = jobs.map((job): JobRow => {
    const again = chosen.has(job);
    const copy: JobRow = {
      ...job,
      id: nextId(state, 'job'),
      parentId: newIds.get(job.parentId) ?? 0,
      runAttempt: run.attempt,
      created: seconds(state),
      updated: seconds(state),
      attempt: run.attempt,
      status: again ? (waitsFor(chosen, job) ? 'blocked' : 'waiting') : job.status,
      taskId: 0,
      sourceTaskId: again ? 0 : job.taskId || job.sourceTaskId,
      started: again ? 0 : job.started,
      stopped: again ? 0 : job.stopped,
    };
    newIds.set(job.id, copy.id);
    state.jobs.set(copy.id, copy);
    indexJob(state, copy);
    return copy;
  });
  settle(state, run);
  wakeRunners(state, run.repoId);
  return copies;
}
