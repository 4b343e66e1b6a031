/**
 * The demo's Kubernetes and Argo CD in one. Jobs are created when they are emitted, and pruned when they are not. Each Job's pod
 * starts after a while, registers its runner with the simulated Gitea and works.
 *
 *     created ─► starting ─► idle ─takes the oldest job that fits─► busy ─► done ─► gone
 */
import type { Gitea, GiteaJob } from '../simulator/gitea/gitea.ts';
import type { WantedJob } from './manifests.ts';

export type Phase = 'starting' | 'idle' | 'busy' | 'done';

/** A Job that exists, with its one pod. */
export interface DemoJob {
  readonly name: string;
  readonly group: string;
  readonly madeFor?: number;
  readonly labels: readonly string[];
  readonly phase: Phase;
  /** The job that its runner took. */
  readonly runs?: GiteaJob;
}

type MutableJob = { -readonly [K in keyof DemoJob]: DemoJob[K] } & {
  pinned: boolean;
  runnerId: number;
  /** When the present phase ends; milliseconds of the story. */
  until: number;
};

/** What happened, for the story. */
export type ClusterEvent =
  | { readonly what: 'created' | 'pruned' | 'expired'; readonly job: DemoJob }
  | { readonly what: 'took' | 'ended'; readonly job: DemoJob; readonly runs: GiteaJob }
  /** A prune hit a runner at work: must never happen. */
  | { readonly what: 'killed'; readonly job: DemoJob; readonly runs: GiteaJob };

/** Pods need different times to start, so that a younger one is often ready first. */
const START_MS = [900, 500, 1500, 700, 1100, 400];
/** How long each CI job works. */
const WORK_MS = [1800, 1400, 2200, 1600, 2600, 1200, 2000];
/** `ttlSecondsAfterFinished`, which is 10 minutes outside the demo. */
const TTL_MS = 900;

export class Cluster {
  readonly #gitea: Gitea;
  readonly #org: string;
  readonly #happened: (event: ClusterEvent) => void;
  readonly #jobs = new Map<string, MutableJob>();
  #created = 0;

  /** @param org the scope that the registration token of the demo's groups belongs to. */
  constructor(gitea: Gitea, org: string, happened: (event: ClusterEvent) => void) {
    this.#gitea = gitea;
    this.#org = org;
    this.#happened = happened;
  }

  /** Jobs that exist, oldest first. */
  jobs(): readonly DemoJob[] {
    return [...this.#jobs.values()];
  }

  /** How many Jobs were created so far. */
  created(): number {
    return this.#created;
  }

  /** Runners of a group that count against its cap. */
  active(group: string): number {
    return this.jobs().filter((job) => job.group === group && job.phase !== 'done').length;
  }

  /** Argo CD's sync with prune: creates what is emitted, but for what it is to skip. Deletes what is not, unless the live object is pinned. */
  sync(wanted: readonly WantedJob[], nowMs: number): void {
    const names = new Set(wanted.map((job) => job.name));
    for (const job of this.#jobs.values()) {
      if (names.has(job.name) || job.pinned) continue;
      if (job.phase === 'busy' && job.runs) this.#happened({ what: 'killed', job, runs: job.runs });
      this.#jobs.delete(job.name);
      this.#happened({ what: 'pruned', job });
    }
    for (const { pinned, skip, ...job } of wanted) {
      if (skip) continue;
      const live = this.#jobs.get(job.name);
      if (live) live.pinned = pinned;
      else this.#create(job, pinned, nowMs);
    }
  }

  /** Lets pods start, take work and end; Kubernetes removes finished Jobs. */
  step(nowMs: number): void {
    for (const job of this.#jobs.values()) {
      if (job.phase === 'starting' && nowMs >= job.until) this.#registers(job);
      if (job.phase === 'idle') this.#asksForWork(job, nowMs);
      if (job.phase === 'busy') this.#works(job, nowMs);
      if (job.phase === 'done' && nowMs >= job.until) this.#expires(job);
    }
  }

  #create(job: Omit<WantedJob, 'pinned' | 'skip'>, pinned: boolean, nowMs: number): void {
    const startMs = START_MS[this.#created % START_MS.length] ?? 0;
    const live: MutableJob = { ...job, phase: 'starting', pinned, runnerId: 0, until: nowMs + startMs };
    this.#jobs.set(job.name, live);
    this.#created += 1;
    this.#happened({ what: 'created', job: live });
  }

  #expires(job: MutableJob): void {
    this.#jobs.delete(job.name);
    this.#happened({ what: 'expired', job });
  }

  #registers(job: MutableJob): void {
    const scope = { kind: 'owner', owner: this.#org } as const;
    job.runnerId = this.#gitea.register({ name: job.name, scope, labels: job.labels }).id;
    job.phase = 'idle';
  }

  #asksForWork(job: MutableJob, nowMs: number): void {
    const runs = this.#gitea.poll(job.runnerId);
    if (!runs) return;
    job.runs = runs;
    job.phase = 'busy';
    job.until = nowMs + (WORK_MS[runs.id % WORK_MS.length] ?? 0);
    this.#happened({ what: 'took', job, runs });
  }

  #works(job: MutableJob, nowMs: number): void {
    if (!job.runs) return;
    this.#gitea.report(job.runnerId);
    if (nowMs < job.until) return;
    this.#gitea.finish(job.runnerId);
    job.phase = 'done';
    job.until = nowMs + TTL_MS;
    this.#happened({ what: 'ended', job, runs: job.runs });
  }
}
