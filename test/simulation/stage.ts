/** Common state of all parts of a run: the clock, the Gitea, the history, and the record of events. */
import { Gitea, type GiteaJob } from '../../simulator/gitea/gitea.ts';
import { type RunnerScope, repoOf } from '../../simulator/gitea/model.ts';
import { scopeNow } from '../../simulator/gitea/renames.ts';
import { scopeKey, sees } from '../../simulator/gitea/runners.ts';
import type { GroupSpec, History } from './history.ts';
import { draw, type Stream } from './random.ts';
import { Timeline } from './timeline.ts';

/** Begin of every history: any fixed moment. */
export const START_MS = Date.UTC(2026, 10, 21, 12, 0, 0);
/** Cron of Gitea that ends the jobs of lost runners. */
const EXPIRE_EVERY_MS = 300_000;

/** An organization that no group covers but one of the whole Gitea. */
export const ELSEWHERE = 'beta';

/** A claim: how long the job had been ready. */
export interface Claim {
  readonly jobId: number;
  readonly waitMs: number;
}

/** State of git about the groups. */
export interface Commit {
  /** Part of the names of new runners. */
  readonly template: string;
  /** Groups that are not as their history begins. */
  readonly specs: ReadonlyMap<GroupSpec, GroupSpec>;
}

/** A group as a commit has it. Everything else names it by what it was at the beginning. */
export function specIn({ specs }: Commit, group: GroupSpec): GroupSpec {
  return specs.get(group) ?? group;
}

export class Stage {
  readonly history: History;
  readonly timeline = new Timeline(START_MS);
  readonly gitea: Gitea;
  readonly claims: Claim[] = [];
  /** Events in words. Undefined if nobody reads them. */
  readonly story: string[] | undefined;
  /** Grows with every change of Gitea or Kubernetes: a look at an unchanged world can be left out. */
  version = 0;
  /** Current state of git. */
  commit: Commit = { template: 't1', specs: new Map() };
  /** Time of its last change, ms. */
  changedMs = START_MS;
  /** Commits before this one, newest last. */
  readonly #before: Commit[] = [];
  readonly #undone: Commit[] = [];
  /** Called before Gitea's cron, so that live runners are not taken for silent. */
  reportAll: () => void = () => undefined;
  /** CI jobs that Gitea leaves in progress for ever. */
  readonly left = new Set<number>();
  #lastPlan = '';
  readonly #readySinceMs = new Map<number, number>();
  readonly #scopes = new Map<RunnerScope, RunnerScope>();
  readonly #counts = new Map<Stream, number>();
  /** Numbers of ready jobs for each group, after every change. */
  readonly #readyCounts = new Map<GroupSpec, { readonly atMs: number; readonly jobs: readonly number[] }[]>();

  constructor(history: History, withStory: boolean) {
    this.history = history;
    this.story = withStory ? [] : undefined;
    this.gitea = new Gitea(history.gitea, () => this.timeline.nowMs);
    this.gitea.addUser('anna');
    this.gitea.addOrg('acme', { owners: ['anna'] });
    this.gitea.addOrg(ELSEWHERE, { owners: ['anna'] });
    for (const repo of new Set(history.pushes.map((push) => push.repo))) this.gitea.addRepo(repo);
    for (const { scope } of [...history.groups, ...history.statics]) {
      if (scope.kind === 'repo' && !this.gitea.state.repos.has(scope.repo)) this.gitea.addRepo(scope.repo);
    }
    this.#expireForEver();
  }

  get nowMs(): number {
    return this.timeline.nowMs;
  }

  /** Somebody commits, or takes the last commit back. */
  push(commit: Commit): void {
    this.#before.push(this.commit);
    this.#set(commit);
  }

  rollBack(): void {
    const before = this.#before.pop();
    if (!before) return;
    this.#undone.push(this.commit);
    this.#set(before);
  }

  #set(commit: Commit): void {
    this.commit = commit;
    this.changedMs = this.nowMs;
  }

  /** A group as git has it now. */
  specOf(group: GroupSpec): GroupSpec {
    return specIn(this.commit, group);
  }

  /** The most idle runners that a group was to have at one moment since then. */
  largestPool(group: GroupSpec, sinceMs: number): number {
    const commits = this.changedMs >= sinceMs ? [this.commit, ...this.#before, ...this.#undone] : [this.commit];
    return Math.max(...commits.map((commit) => specIn(commit, group).minIdle ?? 0));
  }

  /** Returns the template of new runners of a group: runners of another template get other names. */
  templateOf(group: GroupSpec): string {
    const { name, scope } = this.specOf(group);
    return `${this.commit.template} ${name} ${scopeKey(scope)}`;
  }

  /** Seconds since the start, for stories. */
  get nowS(): number {
    return (this.nowMs - START_MS) / 1000;
  }

  tell(words: () => string): void {
    if (!this.story) return;
    const text = words();
    // A plan with the same text as the last one is not written again.
    if (text.startsWith('plan: ') && text === this.#lastPlan) return;
    if (text.startsWith('plan: ')) this.#lastPlan = text;
    this.story.push(`${this.nowS.toFixed(1).padStart(7)} s  ${text}`);
  }

  /** The next number of a stream of chance. */
  luck(stream: Stream): number {
    const count = (this.#counts.get(stream) ?? 0) + 1;
    this.#counts.set(stream, count);
    return draw(this.history.seed, stream, count);
  }

  /** The most jobs, of one repository or of all, that were ready for a group at one moment since then. */
  mostReady(group: GroupSpec, sinceMs: number, repoId?: number): number {
    const counts = this.#readyCounts.get(group) ?? [];
    // The state at `sinceMs` was recorded before it.
    const first = counts.findLastIndex(({ atMs }) => atMs <= sinceMs);
    const countOf = (jobs: readonly number[]): number =>
      repoId === undefined ? jobs.length : jobs.filter((each) => each === repoId).length;
    return counts.slice(Math.max(0, first)).reduce((most, { jobs }) => Math.max(most, countOf(jobs)), 0);
  }

  /** Jobs that call workflows count: Gitea shows them as ready, and no runner ever gets them. */
  #countReady(): void {
    const waiting = [...this.gitea.state.openJobs.values()].filter(({ status }) => status === 'waiting');
    for (const group of this.history.groups) {
      const counts = this.#readyCounts.get(group) ?? [];
      this.#readyCounts.set(group, counts);
      const jobs = waiting.flatMap((job) => (this.isFor(group, job) ? job.repoId : []));
      counts.push({ atMs: this.nowMs, jobs });
    }
  }

  /** Forgets data about CI jobs after a restore of Gitea: it may be about other jobs. */
  forget(): void {
    this.#readySinceMs.clear();
    this.left.clear();
  }

  /** Notes which jobs have become ready. Call it after every change in Gitea. */
  settle(): void {
    this.version += 1;
    this.#scopes.clear();
    this.#countReady();
    for (const id of this.#readySinceMs.keys()) {
      if (this.gitea.state.jobs.get(id)?.status !== 'waiting') this.#readySinceMs.delete(id);
    }
    for (const job of this.gitea.state.openJobs.values()) {
      const ready = job.status === 'waiting' && !job.caller;
      if (ready && !this.#readySinceMs.has(job.id)) this.#readySinceMs.set(job.id, this.nowMs);
    }
  }

  readySinceMs(job: GiteaJob): number {
    return this.#readySinceMs.get(job.id) ?? this.nowMs;
  }

  noteClaim(job: GiteaJob): void {
    this.claims.push({ jobId: job.id, waitMs: this.nowMs - this.readySinceMs(job) });
    this.settle();
  }

  /** Ready jobs that a group's runners may take, in Gitea's order. */
  readyJobs(group: GroupSpec): readonly GiteaJob[] {
    return [...this.gitea.state.openJobs.values()]
      .filter((job) => job.status === 'waiting' && job.taskId === 0 && !job.caller && this.isFor(group, job))
      .sort((a, b) => a.updated - b.updated || a.id - b.id);
  }

  /** A scope by the name that it has now. */
  scopeNow(scope: RunnerScope): RunnerScope {
    const known = this.#scopes.get(scope) ?? scopeNow(this.gitea.state, scope);
    this.#scopes.set(scope, known);
    return known;
  }

  /** The id of a repository by the name that it has now, or that Gitea redirects from. */
  repoIdOf(name: string): number | undefined {
    const now = scopeNow(this.gitea.state, { kind: 'repo', repo: name });
    return now.kind === 'repo' ? this.gitea.state.repos.get(now.repo)?.id : undefined;
  }

  /** Returns the current name of a repository. Undefined: it was deleted. */
  repoNow(id: number): string | undefined {
    return [...this.gitea.state.repos.values()].find((repo) => repo.id === id)?.fullName;
  }

  /** True for a repository in the scope of a group, and in its list. */
  isCovered({ scope, repositories }: Pick<GroupSpec, 'scope' | 'repositories'>, repository: string): boolean {
    const repo = this.gitea.state.repos.get(repository);
    return repo !== undefined && sees(this.scopeNow(scope), repo) && (repositories?.includes(repo.name) ?? true);
  }

  isSeenBy(scope: GroupSpec['scope'], job: GiteaJob): boolean {
    return sees(this.scopeNow(scope), repoOf(this.gitea.state, job));
  }

  #expireForEver(): void {
    this.timeline.after(EXPIRE_EVERY_MS, () => {
      this.reportAll();
      const before = this.#statuses();
      this.gitea.expire();
      if (this.#statuses() !== before) this.settle();
      this.#expireForEver();
    });
  }

  /** Changes with every open job: one may have ended while another one became ready. */
  #statuses(): string {
    return [...this.gitea.state.openJobs.values()].map(({ id, status }) => `${id} ${status}`).join();
  }

  /**
   * True while jobs run, are being cancelled, or wait for runners of ours. Called after every event, so it does not
   * count them.
   */
  hasOpenJobs(): boolean {
    for (const job of this.gitea.state.openJobs.values()) if (this.#isOpen(job)) return true;
    return false;
  }

  #isOpen(job: GiteaJob): boolean {
    if (job.caller || this.left.has(job.id)) return false;
    if (job.status === 'waiting') return this.history.groups.some((group) => this.isFor(group, job));
    return job.status === 'running' || job.status === 'cancelling';
  }

  /** True when runners of this group may take the job, and should: unlabelled jobs are left to others. */
  isFor(group: GroupSpec, job: GiteaJob): boolean {
    const { scope, labels, size, repositories } = this.specOf(group);
    const wanted = job.labels ?? [];
    if (size !== undefined && !wanted.includes(size)) return false;
    if (wanted.length === 0 || !wanted.every((label) => labels.includes(label))) return false;
    return this.isCovered({ scope, ...(repositories && { repositories }) }, repoOf(this.gitea.state, job).fullName);
  }
}
