/**
 * Runs and their jobs: pushed, made ready, cancelled, rerun, expired.
 *
 *     push ──► blocked ──needs done──► waiting ──claim──► running ──report──► success | failure
 *                 │                      │                   └─cancel─► cancelling (1.27) ──► cancelled
 *                 └── a need failed ─► skipped               └─cancel─► cancelled (up to 1.26)
 */
import { createHash } from 'node:crypto';
import {
  indexJob,
  isDone,
  type JobRow,
  jobsOfAttempt,
  mustGet,
  nextId,
  type RunRow,
  repoOf,
  type State,
  type Status,
  seconds,
} from './model.ts';

/** One job of a workflow file. */
export interface JobSpec {
  readonly key: string;
  /** Display name; default: the key. */
  readonly name?: string;
  /** Default `['ubuntu-latest']`. */
  readonly runsOn?: readonly string[] | null;
  readonly needs?: readonly string[];
  /** Legs of a matrix: one job for each, named `name (leg)`. Gitea does not enforce `max-parallel`. */
  readonly matrix?: readonly string[];
  /** `if: always()`: runs although a need failed. */
  readonly always?: boolean;
  /** 1.27: this row calls a reusable workflow with these jobs; its own `runsOn` is empty unless given. */
  readonly calls?: readonly JobSpec[];
}

/** One run of a workflow. */
export interface RunSpec {
  readonly jobs: readonly JobSpec[];
  readonly workflow?: string;
  readonly event?: string;
  readonly branch?: string;
  readonly actor?: string;
  /** A run from a fork that nobody has approved: everything is blocked until `approve`. */
  readonly needsApproval?: boolean;
}

/** Wakes runners of every scope that sees this repository (models/actions/tasks_version.go, IncreaseTaskVersion). */
export function wakeRunners(state: State, repoId: number): void {
  const repo = repoOf(state, { repoId });
  for (const scope of ['global', `owner:${repo.owner}`, `repo:${repo.fullName}`]) {
    state.tasksVersions.set(scope, (state.tasksVersions.get(scope) ?? 0) + 1);
  }
}

/** Changes the status and the `updated` column, by which the queue is ordered. */
export function setStatus(state: State, job: JobRow, status: Status): void {
  job.status = status;
  indexJob(state, job);
  job.updated = seconds(state);
  if (isDone(status) && job.stopped === 0) job.stopped = seconds(state);
  if (status === 'waiting' && !job.caller) wakeRunners(state, job.repoId);
}

interface Placement {
  readonly parentId: number;
  readonly prefix: string;
  readonly positions: { next: number };
}

function insertJob(state: State, run: RunRow, spec: JobSpec, name: string, at: Placement): JobRow {
  const caller = spec.calls !== undefined;
  if (caller && !state.traits.callerRows) throw new Error(`Gitea ${state.version} has no rows for reusable workflows`);
  const job: JobRow = {
    id: nextId(state, 'job'),
    runId: run.id,
    repoId: run.repoId,
    key: at.prefix + spec.key,
    position: at.positions.next,
    name,
    labels: spec.runsOn === undefined ? (caller ? [] : ['ubuntu-latest']) : spec.runsOn,
    needs: (spec.needs ?? []).map((need) => at.prefix + need),
    always: spec.always ?? false,
    caller,
    parentId: at.parentId,
    runAttempt: 1,
    created: seconds(state),
    status: 'blocked',
    attempt: state.traits.attemptGrowsAt === 'creation' ? 1 : 0,
    taskId: 0,
    sourceTaskId: 0,
    started: 0,
    stopped: 0,
    updated: seconds(state),
  };
  at.positions.next += 1;
  state.jobs.set(job.id, job);
  indexJob(state, job);
  return job;
}

function insertJobs(state: State, run: RunRow, specs: readonly JobSpec[], at: Placement): JobRow[] {
  return specs.flatMap((spec) => {
    const name = at.prefix + (spec.name ?? spec.key);
    const legs = spec.matrix ? spec.matrix.map((leg) => `${name} (${leg})`) : [name];
    return legs.flatMap((leg) => {
      const job = insertJob(state, run, spec, leg, at);
      if (!spec.calls) return [job];
      return [job, ...insertJobs(state, run, spec.calls, { ...at, parentId: job.id, prefix: `${leg} / ` })];
    });
  });
}

/** Starts a run; jobs without needs are ready at once. @returns the run and its rows, which change as the simulator goes on. */
export function push(state: State, fullName: string, spec: RunSpec): { run: RunRow; jobs: JobRow[] } {
  const repo = mustGet(state.repos, fullName, 'repository');
  const id = nextId(state, 'run');
  const run: RunRow = {
    id,
    index: [...state.runs.values()].filter((other) => other.repoId === repo.id).length + 1,
    repoId: repo.id,
    workflow: spec.workflow ?? 'ci.yaml',
    event: spec.event ?? 'push',
    branch: spec.branch ?? 'main',
    sha: createHash('sha1').update(`${fullName}#${id}`).digest('hex'),
    actor: spec.actor ?? [...state.users.keys()][0] ?? 'ghost',
    attempt: 1,
    needsApproval: spec.needsApproval ?? false,
  };
  state.runs.set(id, run);
  const jobs = insertJobs(state, run, spec.jobs, { parentId: 0, prefix: '', positions: { next: 0 } });
  settle(state, run);
  return { run, jobs };
}

/** A run somebody must approve becomes ready. */
export function approve(state: State, runId: number): void {
  const run = mustGet(state.runs, runId, 'run');
  run.needsApproval = false;
  settle(state, run);
}

/** Status of several rows together (models/actions/run_job.go, AggregateJobStatus). */
export function aggregate(jobs: readonly JobRow[]): Status {
  const has = (status: Status) => jobs.some((job) => job.status === status);
  if (jobs.every((job) => job.status === 'skipped')) return 'skipped';
  if (jobs.every((job) => job.status === 'success' || job.status === 'skipped')) return 'success';
  for (const status of ['cancelling', 'running', 'waiting', 'blocked', 'cancelled', 'failure'] as const) {
    if (has(status)) return status;
  }
  throw new Error('a row without a status');
}

/** Moves blocked jobs on after any change, until nothing moves (services/actions/job_emitter.go, resolve). */
export function settle(state: State, run: RunRow): void {
  if (run.needsApproval) return;
  const jobs = jobsOfAttempt(state, run);
  const byId = new Map(jobs.map((job) => [job.id, job]));
  for (let moved = true; moved; ) {
    moved = false;
    for (const job of jobs) {
      const next = job.caller ? callerStatus(jobs, job) : unblocked(jobs, byId, job);
      if (next === undefined || next === job.status) continue;
      setStatus(state, job, next);
      moved = true;
    }
  }
}

/** The status that a blocked job takes now, undefined while it stays blocked. */
function unblocked(jobs: readonly JobRow[], byId: ReadonlyMap<number, JobRow>, job: JobRow): Status | undefined {
  if (job.status !== 'blocked') return undefined;
  const parent = byId.get(job.parentId);
  const needs = [...needed(jobs, job), ...(parent ? needed(jobs, parent) : [])];
  if (!needs.every((need) => isDone(need.status))) return undefined;
  return job.always || needs.every((need) => need.status === 'success') ? 'waiting' : 'skipped';
}

function needed(jobs: readonly JobRow[], job: JobRow): JobRow[] {
  return jobs.filter((other) => job.needs.includes(other.key));
}

/** A caller shows the sum of its children, so it can look ready (models/actions/run_job.go, RefreshReusableCallerStatus). */
function callerStatus(jobs: readonly JobRow[], caller: JobRow): Status {
  return aggregate(jobs.filter((job) => job.parentId === caller.id));
}

/** Ends a job that has a task, and deletes the row of its ephemeral runner (models/actions/task.go, UpdateTask). */
export function endTask(state: State, job: JobRow, status: Status): void {
  const task = mustGet(state.tasks, job.taskId, 'task');
  task.status = status;
  state.openTasks.delete(task.id);
  setStatus(state, job, status);
  const runner = state.runners.get(task.runnerId);
  if (runner?.ephemeral) runner.deleted = true;
  settle(state, mustGet(state.runs, job.runId, 'run'));
}

/** Cancels one job (models/actions/run_job.go, cancelOneJob, StopTask). A finished one stays as it is. @param force its runner is not waited for */
export function cancelJob(state: State, jobId: number, force = false): void {
  const job = mustGet(state.jobs, jobId, 'job');
  if (isDone(job.status)) return;
  if (job.taskId === 0) {
    setStatus(state, job, 'cancelled');
    settle(state, mustGet(state.runs, job.runId, 'run'));
    return;
  }
  const task = mustGet(state.tasks, job.taskId, 'task');
  const runner = state.runners.get(task.runnerId);
  if (!force && state.traits.cancelling && runner?.canClean && !runner.deleted) {
    task.status = 'cancelling';
    setStatus(state, job, 'cancelling');
    return;
  }
  endTask(state, job, 'cancelled');
}

/** Cancels every unfinished job of a run. */
export function cancelRun(state: State, runId: number, force = false): void {
  const run = mustGet(state.runs, runId, 'run');
  const jobs = jobsOfAttempt(state, run).filter((job) => !job.caller && !isDone(job.status));
  for (const job of jobs) if (job.taskId === 0) setStatus(state, job, 'cancelled');
  for (const job of jobs) cancelJob(state, job.id, force);
  settle(state, run);
}
