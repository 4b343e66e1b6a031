/**
 * Runners: any runner of a scope takes the oldest ready job whose labels it covers. Nothing ties a runner to a job
 * (models/actions/task.go, CreateTaskForRunner).
 */
import {
  type JobRow,
  mustGet,
  nextId,
  type RepoRow,
  type RunnerRow,
  type RunnerScope,
  repoOf,
  type State,
  seconds,
  type TaskRow,
} from './model.ts';
import { endTask, setStatus } from './queue.ts';

/** Data that a runner registers with. */
export interface RunnerSpec {
  readonly name: string;
  readonly scope: RunnerScope;
  /** Names only, without schema: that is all the real runner sends. */
  readonly labels: readonly string[];
  /** Default true. */
  readonly ephemeral?: boolean;
  /** False for a runner that knows no `cancelling` (before the capability came). Default true. */
  readonly canClean?: boolean;
  /** Somebody registers it ahead (`by: serve`): it has not called yet, so it is offline. */
  readonly isAhead?: boolean;
}

/** Register and Declare: always a new row, whatever the name. Online at once, because Declare counts as contact. */
export function register(state: State, spec: RunnerSpec): RunnerRow {
  if (spec.scope.kind === 'repo') mustGet(state.repos, spec.scope.repo, 'repository');
  const runner: RunnerRow = {
    id: nextId(state, 'runner'),
    name: spec.name.slice(0, 255),
    scope: spec.scope,
    labels: spec.labels,
    ephemeral: spec.ephemeral ?? true,
    canClean: spec.canClean ?? true,
    disabled: false,
    lastOnline: spec.isAhead ? 0 : seconds(state),
    lastActive: 0,
    tasksVersion: 0,
    deleted: false,
  };
  state.runners.set(runner.id, runner);
  return runner;
}

/** Every call of a runner: refused when the row is gone; writes the times (routers/api/actions/runner/interceptor.go). */
function contact(state: State, runnerId: number, kind: 'poll' | 'report'): RunnerRow {
  const runner = state.runners.get(runnerId);
  if (!runner || runner.deleted) throw new Error('unregistered runner');
  const now = seconds(state);
  if (now - runner.lastOnline >= state.traits.onlineEvery) runner.lastOnline = now;
  if (kind === 'report' && now - runner.lastActive >= state.traits.activeEvery) runner.lastActive = now;
  return runner;
}

/** The scope as a text, the same for equal scopes. */
export function scopeKey(scope: RunnerScope): string {
  switch (scope.kind) {
    case 'global':
      return 'global';
    case 'owner':
      return `owner:${scope.owner}`;
    case 'repo':
      return `repo:${scope.repo}`;
    default: {
      const unknown: never = scope;
      throw new Error(`no such scope: ${String(unknown)}`);
    }
  }
}

function tasksVersion(state: State, scope: RunnerScope): number {
  const key = scopeKey(scope);
  const known = state.tasksVersions.get(key);
  if (known !== undefined) return known;
  state.tasksVersions.set(key, 1);
  return 1;
}

/** True when runners of this scope get jobs of the repository. */
export function sees(scope: RunnerScope, repo: RepoRow): boolean {
  switch (scope.kind) {
    case 'global':
      return true;
    case 'owner':
      return repo.owner === scope.owner;
    case 'repo':
      return repo.fullName === scope.repo;
    default: {
      const unknown: never = scope;
      throw new Error(`no such scope: ${String(unknown)}`);
    }
  }
}

/** The job that the runner is working on. */
export function jobOfRunner(state: State, runnerId: number): JobRow | undefined {
  for (const task of state.openTasks.values()) {
    if (task.runnerId === runnerId) return mustGet(state.jobs, task.jobId, 'job');
  }
  return undefined;
}

/** Ready jobs that this runner may take, in the order in which Gitea hands them out: `updated`, then id. */
function readyFor(state: State, runner: RunnerRow): JobRow[] {
  const labels = new Set(runner.labels);
  return [...state.openJobs.values()]
    .filter((job) => job.status === 'waiting' && job.taskId === 0 && !job.caller)
    .filter((job) => (job.labels ?? []).every((label) => labels.has(label)))
    .filter((job) => sees(runner.scope, repoOf(state, job)) && repoOf(state, job).hasActions)
    .sort((a, b) => a.updated - b.updated || a.id - b.id);
}

function claim(state: State, runner: RunnerRow, job: JobRow): JobRow {
  const taskId = nextId(state, 'task');
  const task: TaskRow = {
    id: taskId,
    jobId: job.id,
    runnerId: runner.id,
    status: 'running',
    updated: seconds(state),
  };
  state.tasks.set(taskId, task);
  state.openTasks.set(taskId, task);
  job.taskId = taskId;
  job.started = seconds(state);
  if (state.traits.attemptGrowsAt === 'claim') job.attempt += 1;
  setStatus(state, job, 'running');
  // The runner asks again after each job, whatever the version (runner internal/app/poll/poller.go).
  runner.tasksVersion = 0;
  return job;
}

/** True when this poll may pick: the queue has changed since the last one, and the runner is free and enabled. */
function mayPick(state: State, runner: RunnerRow): boolean {
  const version = tasksVersion(state, runner.scope);
  if (runner.tasksVersion === version) return false;
  runner.tasksVersion = version;
  return !runner.disabled && (!runner.ephemeral || jobOfRunner(state, runner.id) === undefined);
}

/**
 * FetchTask of one runner. It tries only if the queue's version differs from the one that it has seen; a new runner
 * always tries.
 * @returns the claimed job
 * @throws 'unregistered runner' if its row is gone
 */
export function poll(state: State, runnerId: number): JobRow | undefined {
  const runner = contact(state, runnerId, 'poll');
  if (!mayPick(state, runner)) return undefined;
  const job = readyFor(state, runner)[0];
  return job ? claim(state, runner, job) : undefined;
}

/**
 * FetchTask of several runners at the same moment. Up to 1.26 they all aim at their first job: losers get nothing, but
 * the newest version, and then sleep until it changes (#38200). 1.27: a loser tries the next job.
 */
export function pollTogether(state: State, runnerIds: readonly number[]): (JobRow | undefined)[] {
  if (state.traits.loserTriesNext) return runnerIds.map((id) => poll(state, id));
  const aims = runnerIds.map((id) => {
    const runner = contact(state, id, 'poll');
    return { runner, job: mayPick(state, runner) ? readyFor(state, runner)[0] : undefined };
  });
  return aims.map(({ runner, job }) => (job?.taskId === 0 ? claim(state, runner, job) : undefined));
}

/** UpdateTask or UpdateLog without an end: the runner shows as busy for the next 10 s. @returns true when the job was cancelled. */
export function report(state: State, runnerId: number): boolean {
  contact(state, runnerId, 'report');
  const job = jobOfRunner(state, runnerId);
  if (!job) return false;
  mustGet(state.tasks, job.taskId, 'task').updated = seconds(state);
  return job.status === 'cancelling';
}

/**
 * UpdateTask with a result: the job ends, and the row of an ephemeral runner disappears. A job that is being cancelled
 * ends as cancelled whatever the runner says. @throws 'unregistered runner' when the row is gone, e.g. after a cancel up to 1.26.
 */
export function finish(state: State, runnerId: number, result: 'success' | 'failure'): JobRow {
  contact(state, runnerId, 'report');
  const job = jobOfRunner(state, runnerId);
  if (!job) throw new Error(`runner ${runnerId} has no job to finish`);
  endTask(state, job, job.status === 'cancelling' ? 'cancelled' : result);
  return job;
}

/** 1.27: the answer to the claim was lost; the job is ready again, at the tail of the queue (ReleaseTaskForRunner). */
export function releaseClaim(state: State, jobId: number): void {
  const job = mustGet(state.jobs, jobId, 'job');
  if (job.status !== 'running') throw new Error(`job ${jobId} is ${job.status}, there is no claim to release`);
  state.tasks.delete(job.taskId);
  state.openTasks.delete(job.taskId);
  job.taskId = 0;
  job.started = 0;
  setStatus(state, job, 'waiting');
}

/** DELETE of a row: no busy check. A busy runner's job shows `in_progress` until the zombie check. */
export function deleteRunner(state: State, runnerId: number): void {
  mustGet(state.runners, runnerId, 'runner').deleted = true;
}

/** Online: last contact less than a minute ago (models/actions/runner.go, Status). */
export function isOnline(state: State, runner: RunnerRow): boolean {
  return state.now() / 1000 - runner.lastOnline <= 60;
}

/** Busy: online, and a report within the last 10 s. Not the same as "has a job". */
export function isBusy(state: State, runner: RunnerRow): boolean {
  return isOnline(state, runner) && state.now() / 1000 - runner.lastActive <= 10;
}
