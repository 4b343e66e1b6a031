/**
 * The simulator's controls: what people, runners and time do to a Gitea. Synchronous, so a test or the demo can act
 * between two requests. Rows that come back are live views: they change as the simulator goes on.
 */
import { cleanUp, expire } from './cron.ts';
import {
  emptyState,
  type JobRow,
  jobsOfAttempt,
  mustGet,
  type OrgRow,
  type RepoRow,
  type RunnerRow,
  type RunnerScope,
  type RunRow,
  type State,
  type UserRow,
} from './model.ts';
import { addOrg, addRepo, addToken, addUser, transferRepo } from './people.ts';
import { approve, cancelJob, cancelRun, push, type RunSpec } from './queue.ts';
import { newRegistrationToken, registrationToken } from './registration-tokens.ts';
import { renameOwner, renameRepo } from './renames.ts';
import { rerun } from './reruns.ts';
import {
  deleteRunner,
  finish,
  isBusy,
  isOnline,
  jobOfRunner,
  poll,
  pollTogether,
  type RunnerSpec,
  register,
  releaseClaim,
  report,
} from './runners.ts';
import type { GiteaVersion } from './versions.ts';

export type GiteaJob = Readonly<JobRow>;
export type GiteaRun = Readonly<RunRow>;
export type GiteaRunner = Readonly<RunnerRow>;

export class Gitea {
  readonly state: State;

  /** @param now ms since 1970. Gitea's own times are whole seconds of it */
  constructor(version: GiteaVersion, now: () => number) {
    this.state = emptyState(version, now);
  }

  /** Adds a user; `admin` makes a site admin. */
  addUser(name: string, options?: { readonly admin?: boolean }): UserRow {
    return addUser(this.state, name, options);
  }

  /** Adds an organization; owners and members are names of users. */
  addOrg(name: string, people?: { readonly owners?: readonly string[]; readonly members?: readonly string[] }): OrgRow {
    return addOrg(this.state, name, people);
  }

  /** Adds the repository `owner/name` with Actions on; public unless told. */
  addRepo(fullName: string, options?: { readonly private?: boolean }): RepoRow {
    return addRepo(this.state, fullName, options);
  }

  /** Gives a repository to another owner. */
  transferRepo(fullName: string, owner: string): RepoRow {
    return transferRepo(this.state, fullName, owner);
  }

  /** Gives a repository another name. */
  renameRepo(fullName: string, to: string): RepoRow {
    return renameRepo(this.state, fullName, to);
  }

  /** Gives a user or an organization another name. */
  renameOwner(name: string, to: string): void {
    renameOwner(this.state, name, to);
  }

  /** Switches Actions off or on in the settings of a repository. */
  setActions(fullName: string, hasActions: boolean): void {
    mustGet(this.state.repos, fullName, 'repository').hasActions = hasActions;
  }

  /** Adds an access token for a user. Scopes as in Gitea: `read:organization`, `write:admin`, `all`, `public-only`. */
  addToken(user: string, scopes: readonly string[], secret: string): void {
    addToken(this.state, user, scopes, secret);
  }

  /** Deletes an access token: from now on it is refused. */
  removeToken(secret: string): void {
    this.state.tokens.delete(secret);
  }

  /** Starts a run of a workflow. @returns the run and its jobs in the order of their ids. */
  push(fullName: string, spec: RunSpec): { readonly run: GiteaRun; readonly jobs: readonly GiteaJob[] } {
    return push(this.state, fullName, spec);
  }

  /** Somebody approves a run that was pushed with `needsApproval`. */
  approve(runId: number): void {
    approve(this.state, runId);
  }

  /** Cancels a run, as the web page's button does. The API has no request for it. */
  cancelRun(runId: number): void {
    cancelRun(this.state, runId);
  }

  /** Cancels one job. */
  cancelJob(jobId: number): void {
    cancelJob(this.state, jobId);
  }

  /** Reruns a finished run, or one job with its dependents. @returns the jobs of the new attempt. @throws RerunRefused */
  rerun(runId: number, jobId?: number): readonly GiteaJob[] {
    return rerun(this.state, runId, jobId);
  }

  /** Returns the current registration token of a scope. The first call makes it. */
  registrationToken(scope: RunnerScope): string {
    return registrationToken(this.state, scope);
  }

  /** Somebody makes a new one on the web page: the old one is valid no more. */
  resetRegistrationToken(scope: RunnerScope): string {
    return newRegistrationToken(this.state, scope);
  }

  /** A runner registers: always a new row. */
  register(spec: RunnerSpec): GiteaRunner {
    return register(this.state, spec);
  }

  /** The runner asks for work. @throws 'unregistered runner' when its row is gone. */
  poll(runnerId: number): GiteaJob | undefined {
    return poll(this.state, runnerId);
  }

  /** Several runners ask at the same moment. */
  pollTogether(runnerIds: readonly number[]): readonly (GiteaJob | undefined)[] {
    return pollTogether(this.state, runnerIds);
  }

  /** The runner reports progress and so shows as busy for 10 s. @returns true when its job is being cancelled. */
  report(runnerId: number): boolean {
    return report(this.state, runnerId);
  }

  /** The runner's job ends. @throws 'unregistered runner' when its row is gone. */
  finish(runnerId: number, result: 'success' | 'failure' = 'success'): GiteaJob {
    return finish(this.state, runnerId, result);
  }

  /** 1.27: the answer to a claim was lost; the job is ready again at the tail of the queue. */
  releaseClaim(jobId: number): void {
    releaseClaim(this.state, jobId);
  }

  /** An admin switches a runner off or on (1.26+). */
  setDisabled(runnerId: number, disabled: boolean): void {
    if (!this.state.traits.disabledRunners) throw new Error(`Gitea ${this.state.version} cannot disable runners`);
    const runner = mustGet(this.state.runners, runnerId, 'runner');
    runner.disabled = disabled;
    runner.tasksVersion = 0;
  }

  /** Deletes a runner's row, busy or not. */
  deleteRunner(runnerId: number): void {
    deleteRunner(this.state, runnerId);
  }

  /** Gitea's periodic checks at the present time: silent and endless tasks fail, old queued jobs are cancelled. */
  expire(): void {
    expire(this.state);
  }

  /** The nightly clean-up: completed jobs lose the name of their ephemeral runner. */
  cleanUp(): void {
    cleanUp(this.state);
  }

  /** Returns one job. */
  job(jobId: number): GiteaJob {
    return mustGet(this.state.jobs, jobId, 'job');
  }

  /** Returns all jobs by id, including those of older attempts. */
  jobs(): readonly GiteaJob[] {
    return [...this.state.jobs.values()];
  }

  /** Jobs of a run's latest attempt. */
  jobsOfRun(runId: number): readonly GiteaJob[] {
    return jobsOfAttempt(this.state, mustGet(this.state.runs, runId, 'run'));
  }

  /** Rows of the runner list, by id. */
  runners(): readonly GiteaRunner[] {
    return [...this.state.runners.values()].filter((runner) => !runner.deleted);
  }

  /** Returns the job that the runner works on. */
  jobOfRunner(runnerId: number): GiteaJob | undefined {
    return jobOfRunner(this.state, runnerId);
  }

  isOnline(runner: GiteaRunner): boolean {
    return isOnline(this.state, runner);
  }

  isBusy(runner: GiteaRunner): boolean {
    return isBusy(this.state, runner);
  }
}
