/**
 * Gitea's tables, as far as Actions needs them. Rows are changed only by `people.ts`, `queue.ts` and `runners.ts`;
 * everybody else reads. Times are whole seconds since 1970, as in Gitea (modules/timeutil/timestamp.go); 0 is "not set".
 */
import { type GiteaVersion, type Traits, traitsOf } from './versions.ts';

/** Gitea's own words (models/actions/status.go). The API shows others: see `shownStatus` in json.ts. */
export type Status =
  /** Ready: the API says `queued`. */
  | 'waiting'
  /** Waits for `needs` or approval: the API says `waiting`. */
  | 'blocked'
  | 'running'
  /** 1.27: cancelled, its runner still cleans up. */
  | 'cancelling'
  | 'success'
  | 'failure'
  | 'cancelled'
  | 'skipped';

export interface UserRow {
  readonly id: number;
  readonly name: string;
  readonly admin: boolean;
}

export interface OrgRow {
  readonly id: number;
  readonly name: string;
  readonly owners: readonly string[];
  readonly members: readonly string[];
}

export interface RepoRow {
  readonly id: number;
  /** `owner/name`. */
  readonly fullName: string;
  readonly owner: string;
  readonly ownerId: number;
  readonly name: string;
  readonly private: boolean;
  /** False: jobs are listed as before, and no runner gets them. */
  hasActions: boolean;
}

export interface TokenRow {
  readonly secret: string;
  readonly user: string;
  /** E.g. `read:repository`, `write:organization`, `all`, `public-only`. */
  readonly scopes: readonly string[];
}

export interface RunRow {
  readonly id: number;
  /** Number of the run in its repository. */
  readonly index: number;
  readonly repoId: number;
  readonly workflow: string;
  readonly event: string;
  readonly branch: string;
  readonly sha: string;
  readonly actor: string;
  /** Latest attempt, from 1. */
  attempt: number;
  needsApproval: boolean;
}

export interface JobRow {
  readonly id: number;
  readonly runId: number;
  readonly repoId: number;
  /** The job's key in the workflow; shared by all legs of a matrix. */
  readonly key: string;
  /** Position in the run, from 0, the same in every attempt. */
  readonly position: number;
  readonly name: string;
  /** `runs-on`; null is possible in the API. */
  readonly labels: readonly string[] | null;
  readonly needs: readonly string[];
  readonly always: boolean;
  /** True for a row that stands for the call of a reusable workflow (1.27). */
  readonly caller: boolean;
  /** The caller row that this job belongs to, 0 for none. */
  readonly parentId: number;
  /** Attempt of the run that this row belongs to. Up to 1.26 there is one row for all attempts. */
  readonly runAttempt: number;
  readonly created: number;
  status: Status;
  /** The API's `run_attempt`. */
  attempt: number;
  /** 0 until claimed. */
  taskId: number;
  /** 1.27: task of the row that this one was copied from, because a rerun did not touch it. */
  sourceTaskId: number;
  started: number;
  stopped: number;
  updated: number;
}

export interface TaskRow {
  readonly id: number;
  readonly jobId: number;
  readonly runnerId: number;
  status: Status;
  /** Last report, for the zombie check. */
  updated: number;
}

/** Level at which a runner is registered. `owner` is an org or a user. */
export type RunnerScope =
  | { readonly kind: 'global' }
  | { readonly kind: 'owner'; readonly owner: string }
  | { readonly kind: 'repo'; readonly repo: string };

export interface RunnerRow {
  readonly id: number;
  /** Not unique: registering a name again makes a second row. */
  readonly name: string;
  readonly scope: RunnerScope;
  readonly labels: readonly string[];
  readonly ephemeral: boolean;
  /** True if the runner tells Gitea that it can clean up after a cancel (1.27). */
  readonly canClean: boolean;
  disabled: boolean;
  lastOnline: number;
  lastActive: number;
  /** Version of the queue that this runner has seen; it only tries to pick when Gitea's differs. */
  tasksVersion: number;
  /** Soft delete: the row is gone for lists, but its name is still found until the nightly clean-up. */
  deleted: boolean;
}

/** A status of a commit. The newest one of a context counts; older ones stay. */
/** A text beside a commit. The newest of a context counts; older ones stay. */
export interface CommitStatusRow {
  readonly repoId: number;
  readonly sha: string;
  readonly state: string;
  readonly context: string;
  readonly description: string;
  readonly targetUrl: string;
}

export interface State {
  readonly version: GiteaVersion;
  readonly traits: Traits;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly users: Map<string, UserRow>;
  readonly orgs: Map<string, OrgRow>;
  readonly repos: Map<string, RepoRow>;
  /** Names that users and organizations had, in lower case, and whose they were. */
  readonly ownerRedirects: Map<string, { readonly id: number }>;
  /** New names of repositories, by the old `repoKey`. */
  readonly repoRedirects: Map<string, { readonly id: number }>;
  readonly tokens: Map<string, TokenRow>;
  readonly runs: Map<number, RunRow>;
  readonly jobs: Map<number, JobRow>;
  readonly tasks: Map<number, TaskRow>;
  readonly runners: Map<number, RunnerRow>;
  /** Index of `jobs`: those that are not done, in no order. Most rows of a Gitea are done, and nearly every question is about the rest. */
  readonly openJobs: Map<number, JobRow>;
  /** Index of `tasks`: those that are running or being cancelled, by id. */
  readonly openTasks: Map<number, TaskRow>;
  /** Version of the queue by scope (models/actions/tasks_version.go). */
  readonly tasksVersions: Map<string, number>;
  readonly lastIds: Map<string, number>;
  /** Valid registration tokens by scope. Absent: none was requested yet. */
  readonly registrationTokens: Map<string, string>;
  /** Oldest first. */
  readonly commitStatuses: CommitStatusRow[];
}

/** A Gitea nobody has used yet. */
export function emptyState(version: GiteaVersion, now: () => number): State {
  return {
    version,
    traits: traitsOf(version),
    now,
    users: new Map(),
    orgs: new Map(),
    repos: new Map(),
    ownerRedirects: new Map(),
    repoRedirects: new Map(),
    tokens: new Map(),
    runs: new Map(),
    jobs: new Map(),
    tasks: new Map(),
    runners: new Map(),
    openJobs: new Map(),
    openTasks: new Map(),
    tasksVersions: new Map(),
    lastIds: new Map(),
    registrationTokens: new Map(),
    commitStatuses: [],
  };
}

/** Next id of a table; users and organizations share one, as in Gitea. */
export function nextId(
  state: State,
  table: 'account' | 'repo' | 'run' | 'job' | 'task' | 'runner' | 'registration-token',
): number {
  const id = (state.lastIds.get(table) ?? 0) + 1;
  state.lastIds.set(table, id);
  return id;
}

/** Now in Gitea's resolution: whole seconds. */
export function seconds(state: State): number {
  return Math.floor(state.now() / 1000);
}

/** Looks a row up; an unknown key is a mistake of the test or demo, not of the program under test. */
export function mustGet<K, V>(table: ReadonlyMap<K, V>, key: K, what: string): V {
  const row = table.get(key);
  if (row === undefined) throw new Error(`the simulator has no ${what} ${String(key)}`);
  return row;
}

/** Done for good (models/actions/status.go, IsDone). */
export function isDone(status: Status): boolean {
  return status === 'success' || status === 'failure' || status === 'cancelled' || status === 'skipped';
}

/** Indexes a job. Call it for a new row and after every change of its status. */
export function indexJob(state: State, job: JobRow): void {
  if (isDone(job.status)) state.openJobs.delete(job.id);
  else state.openJobs.set(job.id, job);
}

/** The repository of a row. */
export function repoOf(state: State, row: { readonly repoId: number }): RepoRow {
  for (const repo of state.repos.values()) if (repo.id === row.repoId) return repo;
  throw new Error(`the simulator has no repository ${row.repoId}`);
}

/** Rows of a run's attempt, oldest first. Up to 1.26 a run has one set of rows. */
export function jobsOfAttempt(state: State, run: RunRow): JobRow[] {
  const attempt = state.traits.rerun === 'new-rows' ? run.attempt : 1;
  return [...state.jobs.values()].filter((job) => job.runId === run.id && job.runAttempt === attempt);
}
