/**
 * A small world around the real client and the real planner: a simulated Gitea behind HTTP, the Jobs that Argo CD has made of
 * the last plan, and their pods. Commands change it; after each one somebody looks and plans.
 */

import type { GiteaJob } from '../../simulator/gitea/gitea.ts';
import { scopeNow } from '../../simulator/gitea/renames.ts';
import { type Simulator, startSimulator } from '../../simulator/gitea/simulator.ts';
import type { GiteaVersion } from '../../simulator/gitea/versions.ts';
import type { VersionCache } from '../../src/clients/gitea/api.ts';
import { type GiteaTarget, observe } from '../../src/clients/gitea/observe-gitea.ts';
import { Token } from '../../src/clients/tokens/token.ts';
import type { Plan } from '../../src/planner/decisions.ts';
import type { Evidence, LiveJob, Group as PlannedGroup } from '../../src/planner/evidence.ts';
import { Failure } from '../../src/shared/failure.ts';
import type { Scope } from '../../src/shared/scope.ts';
import { plan } from '../support/plan.ts';
import { group, namesAtWork, podsOf } from '../support/scenario.ts';
import type { Fault } from './faults.ts';

/** Settings of one history. */
export interface Setting {
  readonly version: GiteaVersion;
  /** `MAX_RESPONSE_ITEMS`: small ones make every list span pages. */
  readonly pageSize: number;
  /** True if the repository acme/web has a second group beside that of the organization. */
  readonly twoGroups: boolean;
  /** True if the planner sees the Jobs in Kubernetes. */
  readonly seesCluster: boolean;
  /** True if blocked jobs are listed, too, as for `explain`. */
  readonly explains: boolean;
}

/** A Job in Kubernetes, and its pod. */
export interface KubeJob {
  readonly name: string;
  readonly group: string;
  readonly labels: readonly string[];
  readonly createdAtMs: number;
  state: LiveJob['state'];
  /** Repository of the CI job that it was last printed for. */
  repository?: string | undefined;
  finishedAtMs?: number;
  pinned: boolean;
  /** True if its pod never starts (a missing image, no node with room). */
  hangs?: boolean;
  /** The row in Gitea, once its runner has registered. */
  runnerId?: number;
}

/** Repositories by their names at the beginning. */
export const REPOS = ['acme/web', 'acme/api'];
const TTL_MS = 600_000;

export class World {
  readonly setting: Setting;
  readonly simulator: Simulator;
  readonly clock: { now: number };
  readonly kubeJobs = new Map<string, KubeJob>();
  readonly story: string[] = [];
  groups: readonly PlannedGroup[];
  /** The last good plan: what Argo CD applies when it syncs. */
  lastPlan: Plan | undefined;
  readonly #versions: VersionCache = new Map();

  private constructor(setting: Setting, simulator: Simulator, clock: { now: number }) {
    this.setting = setting;
    this.simulator = simulator;
    this.clock = clock;
    const org = group({ origin: simulator.url, look: 'org', covers: 'acme', maxActiveRunners: 3 });
    const web = { look: 'repo', scope: 'repo', covers: 'acme/web' } as const;
    const repo = group({ ...org, ...web, name: 'web', labels: ['linux', 'gpu'] });
    this.groups = setting.twoGroups ? [org, repo] : [org];
  }

  static async start(setting: Setting): Promise<World> {
    const clock = { now: Date.UTC(2026, 8, 1) };
    const simulator = await startSimulator({
      version: setting.version,
      now: () => clock.now,
      maxResponseItems: setting.pageSize,
    });
    const { gitea } = simulator;
    gitea.addUser('olga');
    gitea.addToken('olga', ['all'], 'olga-all');
    gitea.addOrg('acme', { owners: ['olga'] });
    for (const repo of REPOS) gitea.addRepo(repo);
    return new World(setting, simulator, clock);
  }

  get gitea(): Simulator['gitea'] {
    return this.simulator.gitea;
  }

  /** Adds a line to the story, which is printed when a law breaks. */
  tell(line: string): void {
    this.story.push(line);
  }

  /** Makes one look and one plan, as `generate` does. A Failure is a result; any other error is a defect. */
  async look(fault?: Fault): Promise<Plan | Failure> {
    const keys = new Set(this.groups.map(({ look }) => look));
    const scopes: Readonly<Record<string, Scope>> = {
      org: { kind: 'org', org: 'acme' },
      repo: { kind: 'repo', owner: 'acme', repo: 'web' },
    };
    const token = new Token('olga-all', new URL(this.simulator.url).origin);
    const targets = Object.entries(scopes)
      .filter(([key]) => keys.has(key))
      .map(([key, scope]): GiteaTarget => ({ key, url: this.simulator.url, scope, token }));
    this.simulator.intercept(fault?.hook(this.simulator.url));
    try {
      const looks = await observe(targets, {
        deadlineMs: fault?.deadlineMs ?? 20_000,
        includeBlocked: this.setting.explains,
        env: {},
        versions: this.#versions,
      });
      const { now } = this.clock;
      const cluster: Evidence['cluster'] = this.setting.seesCluster
        ? { is: 'seen', jobs: this.liveJobs(), pods: podsOf(namesAtWork(looks.values())), listedAtMs: now - 20_000 }
        : { is: 'unseen' };
      return plan(this.groups, { instance: 'model', looks, cluster, nowMs: now });
    } catch (error) {
      if (error instanceof Failure) return error;
      throw error;
    } finally {
      this.simulator.intercept();
    }
  }

  /** Returns the Jobs that Kubernetes shows the planner. */
  liveJobs(): readonly LiveJob[] {
    return [...this.kubeJobs.values()].map(({ name, state, createdAtMs, finishedAtMs, pinned, repository }) => {
      return {
        namespace: 'runners',
        name,
        state,
        createdAtMs,
        ...(finishedAtMs !== undefined && { finishedAtMs }),
        pinned,
        giteaUrl: this.simulator.url,
        ...(repository !== undefined && { repository }),
      };
    });
  }

  /** Argo CD applies the last plan: new Jobs start, dropped ones are pruned; a runner that has just taken a job may finish it. */
  sync(): void {
    const wanted = new Map(this.lastPlan?.runners.flatMap((of) => (of.emit ? [[of.runner, of] as const] : [])));
    for (const job of [...this.kubeJobs.values()]) {
      const decision = wanted.get(job.name);
      if (decision && !decision.skip)
        Object.assign(job, { pinned: decision.pinned, repository: decision.job?.repository });
      if (decision || job.pinned) continue;
      if (this.jobRunBy(job)) job.state = 'deleting';
      else this.kubeJobs.delete(job.name);
    }
    for (const [name, { group, job, pinned, skip }] of wanted) {
      if (skip || this.kubeJobs.has(name)) continue;
      const labels = this.groups.find((of) => of.name === group.name)?.labels ?? [];
      const createdAtMs = this.clock.now;
      this.kubeJobs.set(name, {
        name,
        group: group.name,
        labels,
        createdAtMs,
        state: 'starting',
        pinned,
        repository: job?.repository,
      });
    }
  }

  /** The CI job that this Job's living runner works on. */
  jobRunBy({ runnerId, state }: KubeJob): GiteaJob | undefined {
    if (runnerId === undefined || (state !== 'running' && state !== 'deleting')) return undefined;
    return this.gitea.jobOfRunner(runnerId);
  }

  /** Jobs whose pod has not started but may. */
  starting(): readonly KubeJob[] {
    return [...this.kubeJobs.values()].filter(({ state, hangs }) => state === 'starting' && !hangs);
  }

  /** Jobs with a living, registered runner: busy ones and idle ones. */
  living(kind: 'busy' | 'idle'): readonly KubeJob[] {
    return [...this.kubeJobs.values()].filter((job) => {
      const lives = job.runnerId !== undefined && (job.state === 'running' || job.state === 'deleting');
      return lives && (this.jobRunBy(job) !== undefined) === (kind === 'busy');
    });
  }

  /** Returns the current name of a repository. */
  nameOf(repo: string): string {
    const now = scopeNow(this.gitea.state, { kind: 'repo', repo });
    return now.kind === 'repo' ? now.repo : repo;
  }

  register(job: KubeJob): void {
    const scope =
      job.group === 'web' ? { kind: 'repo' as const, repo: 'acme/web' } : { kind: 'owner' as const, owner: 'acme' };
    // Its registration token belongs to the same scope, whatever its current name.
    const now = scopeNow(this.gitea.state, scope);
    job.runnerId = this.gitea.register({ name: job.name, scope: now, labels: job.labels }).id;
    job.state = 'running';
  }

  end(job: KubeJob, state: 'complete' | 'failed'): void {
    if (job.state === 'deleting') this.kubeJobs.delete(job.name);
    job.state = state;
    job.finishedAtMs = this.clock.now;
  }

  /** Makes one call of a runner to Gitea. If its row is gone, the runner ends. */
  call<T>(job: KubeJob, request: (runnerId: number) => T): T | undefined {
    if (job.runnerId === undefined) throw new Error(`${job.name} has not registered`);
    try {
      return request(job.runnerId);
    } catch (error) {
      if (!(error instanceof Error) || error.message !== 'unregistered runner') throw error;
      this.end(job, 'failed');
      return undefined;
    }
  }

  /** Time goes by; living runners report or ask for work, Gitea looks for silent ones, Kubernetes removes old Jobs. */
  pass(ms: number): void {
    this.clock.now += ms;
    for (const job of this.living('busy')) this.call(job, (id) => this.gitea.report(id));
    for (const job of this.living('idle')) this.call(job, (id) => this.gitea.poll(id));
    this.gitea.expire();
    for (const job of [...this.kubeJobs.values()]) {
      if (job.finishedAtMs !== undefined && this.clock.now - job.finishedAtMs >= TTL_MS) this.kubeJobs.delete(job.name);
    }
  }

  async close(): Promise<void> {
    await this.simulator.close();
  }
}
