/** Rows as the API shows them (modules/structs/repo_actions.go, services/convert/convert.go). */
import {
  isDone,
  type JobRow,
  jobsOfAttempt,
  mustGet,
  type RepoRow,
  type RunnerRow,
  type RunRow,
  repoOf,
  type State,
  type Status,
  type UserRow,
} from './model.ts';
import { aggregate } from './queue.ts';
import { isBusy, isOnline } from './runners.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** Unset times are 1970, not null. */
function time(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace('.000Z', 'Z');
}

/** Gitea's status as the API shows it (ToActionsStatus). `waiting` means ready, so it becomes `queued`; `blocked` becomes `waiting`. */
export function shownStatus(status: Status): { readonly status: string; readonly conclusion?: string } {
  switch (status) {
    case 'waiting':
      return { status: 'queued' };
    case 'blocked':
      return { status: 'waiting' };
    case 'running':
    case 'cancelling':
      return { status: 'in_progress' };
    case 'success':
    case 'failure':
    case 'cancelled':
    case 'skipped':
      return { status: 'completed', conclusion: status };
    default: {
      const unknown: never = status;
      throw new Error(`no such status: ${String(unknown)}`);
    }
  }
}

/** Runner and steps of the task that ran the job; a runner whose row was cleaned up has lost its name. */
function taskJson(state: State, job: JobRow): JsonObject {
  const task = state.tasks.get(job.taskId || job.sourceTaskId);
  if (!task) return { steps: state.traits.unclaimedSteps };
  const name = state.runners.get(task.runnerId)?.name;
  const step = { name: 'Run', number: 0, ...shownStatus(job.status) };
  return {
    runner_id: task.runnerId,
    ...(name ? { runner_name: name } : {}),
    steps: [{ ...step, started_at: time(job.started), completed_at: time(job.stopped) }],
  };
}

/** A job as `ActionWorkflowJob`. @param root Gitea's ROOT_URL without a trailing slash. */
export function jobJson(state: State, job: JobRow, root: string): JsonObject {
  const repo = repoOf(state, job);
  const run = mustGet(state.runs, job.runId, 'run');
  const api = `${root}/api/v1/repos/${repo.fullName}/actions`;
  const page = state.traits.htmlUrlBy === 'id' ? `${run.id}/jobs/${job.id}` : `${run.index}/jobs/${job.position}`;
  return {
    id: job.id,
    url: `${api}/jobs/${job.id}`,
    html_url: `${root}/${repo.fullName}/actions/runs/${page}`,
    run_id: job.runId,
    run_url: `${api}/runs/${job.runId}`,
    name: job.name,
    labels: job.labels,
    run_attempt: job.attempt,
    head_sha: run.sha,
    head_branch: run.branch,
    ...shownStatus(job.status),
    ...taskJson(state, job),
    created_at: time(job.created),
    started_at: time(job.started),
    completed_at: time(job.stopped),
  };
}

/** A row of the runner list as `ActionRunner`. */
export function runnerJson(state: State, runner: RunnerRow): JsonObject {
  return {
    id: runner.id,
    name: runner.name,
    status: isOnline(state, runner) ? 'online' : 'offline',
    busy: isBusy(state, runner),
    ...(state.traits.disabledRunners ? { disabled: runner.disabled } : {}),
    ephemeral: runner.ephemeral,
    labels: runner.labels.map((name, id) => ({ id, name, type: 'custom' })),
  };
}

/** A user as `User`, with the fields that clients read. */
export function userJson(
  user: { readonly id: number; readonly name: string },
  admin: boolean,
  root: string,
): JsonObject {
  return {
    id: user.id,
    login: user.name,
    username: user.name,
    full_name: '',
    html_url: `${root}/${user.name}`,
    is_admin: admin,
  };
}

/** A repository as `Repository`, with the fields that clients read. */
export function repoJson(repo: RepoRow, root: string): JsonObject {
  return {
    id: repo.id,
    owner: userJson({ id: repo.ownerId, name: repo.owner }, false, root),
    name: repo.name,
    full_name: repo.fullName,
    private: repo.private,
    empty: false,
    archived: false,
    has_actions: repo.hasActions,
    html_url: `${root}/${repo.fullName}`,
  };
}

/** Status of the run's latest attempt. */
export function runStatus(state: State, run: RunRow): Status {
  return aggregate(jobsOfAttempt(state, run).filter((job) => job.parentId === 0));
}

/** A run as `ActionWorkflowRun`. */
export function runJson(state: State, run: RunRow, root: string): JsonObject {
  const repo = repoOf(state, run);
  const jobs = jobsOfAttempt(state, run);
  const status = runStatus(state, run);
  const actor = state.users.get(run.actor) ?? ({ id: -1, name: 'Ghost', admin: false } satisfies UserRow);
  const api = `${root}/api/v1/repos/${repo.fullName}/actions/runs`;
  const started = jobs.map((job) => job.started).filter((at) => at > 0);
  return {
    id: run.id,
    url: `${api}/${run.id}`,
    ...(state.traits.rerun === 'new-rows'
      ? { previous_attempt_url: run.attempt > 1 ? `${api}/${run.id}/attempts/${run.attempt - 1}` : null }
      : {}),
    html_url: `${root}/${repo.fullName}/actions/runs/${state.traits.htmlUrlBy === 'id' ? run.id : run.index}`,
    display_title: `run ${run.index}`,
    path: `${run.workflow}@refs/heads/${run.branch}`,
    event: run.event,
    run_attempt: state.traits.rerun === 'new-rows' ? run.attempt : 0,
    run_number: run.index,
    head_sha: run.sha,
    head_branch: run.branch,
    ...shownStatus(status),
    actor: userJson(actor, actor.admin, root),
    repository: repoJson(repo, root),
    started_at: time(started.length > 0 ? Math.min(...started) : 0),
    completed_at: time(isDone(status) ? Math.max(0, ...jobs.map((job) => job.stopped)) : 0),
  };
}
