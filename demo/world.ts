/** The demo's world: what was committed and pushed, what runs, what was told. One `step` is 100 ms of story. */
import type { GiteaJob } from '../simulator/gitea/gitea.ts';
import type { Simulator } from '../simulator/gitea/simulator.ts';
import { Cluster, type ClusterEvent } from './cluster.ts';
import type { WantedJob } from './manifests.ts';
import { ACTS, type Act, type Chapter, type CommittedGroup, GPU, ORG, STEP_MS, UNCOVERED_FROM_MS } from './story.ts';

/** One line of the log: when, who, what. */
export interface Told {
  readonly atMs: number;
  readonly who: string;
  readonly what: string;
}

/** When a CI job became ready and when a runner took it. */
export interface DemoWait {
  readonly readyMs: number;
  tookMs?: number;
}

export class DemoWorld {
  readonly simulator: Simulator;
  readonly cluster: Cluster;
  readonly groups: CommittedGroup[] = [];
  readonly told: Told[] = [];
  readonly waits = new Map<number, DemoWait>();
  /** Most runners of a group at once. */
  readonly most = new Map<string, number>();
  chapter: Chapter = 'zero';
  nowMs = 0;
  killed = 0;
  /** Jobs that no group covered at first. */
  readonly uncovered = new Set<number>();
  /** Jobs that ran on a runner made for another one. */
  crossings = 0;
  #acts: readonly Act[] = ACTS;

  constructor(simulator: Simulator) {
    this.simulator = simulator;
    this.cluster = new Cluster(simulator.gitea, ORG, (event) => this.#clusterEvent(event));
  }

  jobs(): readonly GiteaJob[] {
    return this.simulator.gitea.jobs();
  }

  /** Everything that was to happen has happened and left nothing behind. */
  isOver(): boolean {
    const done = this.jobs().every((job) => job.stopped > 0);
    return this.#acts.length === 0 && done && this.cluster.jobs().length === 0;
  }

  /** True when no committed group covers the job. */
  isUncovered(job: GiteaJob): boolean {
    return !this.groups.some((group) => covers(group, job));
  }

  /** Where jobs are pushed and groups committed. @param commit writes the group's file. */
  async step(commit: (group: CommittedGroup) => Promise<void>): Promise<void> {
    const due = this.#acts.filter((act) => act.atMs <= this.nowMs);
    this.#acts = this.#acts.slice(due.length);
    for (const act of due) await this.#play(act, commit);
    this.cluster.step(this.nowMs);
    this.#noteWaits();
    this.#noteChapter();
    this.nowMs += STEP_MS;
  }

  /** Argo CD has new manifests. */
  sync(wanted: readonly WantedJob[]): void {
    this.cluster.sync(wanted, this.nowMs);
    for (const { name } of this.groups) {
      this.most.set(name, Math.max(this.most.get(name) ?? 0, this.cluster.active(name)));
    }
    this.#noteChapter();
  }

  /** Adds a line to the log. */
  tell(who: string, what: string): void {
    this.told.push({ atMs: this.nowMs, who, what });
  }

  async #play(act: Act, commit: (group: CommittedGroup) => Promise<void>): Promise<void> {
    switch (act.does) {
      case 'commit':
        this.groups.push(act.group);
        await commit(act.group);
        this.tell('git', `${act.group.name}.yaml committed: labels ${act.group.labels}, cap ${act.group.cap}`);
        if (act.group === GPU) this.chapter = 'covered';
        return;
      case 'push': {
        const { jobs } = this.simulator.gitea.push(act.repo, act.spec);
        const first = jobs[0]?.id ?? 0;
        this.tell('git', `push to ${act.repo}: jobs #${first} to #${first + jobs.length - 1} queued or blocked`);
        return;
      }
      default:
        act satisfies never;
    }
  }

  #noteWaits(): void {
    for (const job of this.jobs()) {
      if (job.status === 'blocked' || this.waits.has(job.id)) continue;
      this.waits.set(job.id, { readyMs: this.nowMs });
      if (this.isUncovered(job)) this.uncovered.add(job.id);
    }
  }

  /** Each chapter is told once, when what it explains can be seen. */
  #noteChapter(): void {
    const queued = this.jobs().filter((job) => job.status === 'waiting');
    const held = queued.length > 4;
    if (this.chapter === 'zero' && this.jobs().length > 0) this.chapter = 'first';
    if (this.chapter === 'first' && held) this.chapter = 'cap';
    if (this.chapter === 'cap' && this.crossings > 0) this.chapter = 'crossing';
    const late = this.nowMs >= UNCOVERED_FROM_MS && this.chapter !== 'covered' && this.chapter !== 'drain';
    if (late && queued.some((job) => this.isUncovered(job))) this.chapter = 'uncovered';
    const left = this.jobs().some((job) => job.stopped === 0 && job.started === 0);
    if (this.chapter === 'covered' && !left) this.chapter = 'drain';
    if (this.isOver()) this.chapter = 'end';
  }

  #clusterEvent(event: ClusterEvent): void {
    const { job } = event;
    switch (event.what) {
      case 'created':
        this.tell('Argo CD', `creates Job ${job.name}`);
        return;
      case 'pruned':
        this.tell('Argo CD', `prunes Job ${job.name}`);
        return;
      case 'expired':
        this.tell('cluster', `removes finished Job ${job.name}`);
        return;
      case 'took': {
        const wait = this.waits.get(event.runs.id);
        if (wait) wait.tookMs = this.nowMs;
        const crossed = job.madeFor !== undefined && job.madeFor !== event.runs.id;
        if (crossed) this.crossings += 1;
        const madeFor = crossed ? ` (made for #${job.madeFor})` : '';
        this.tell('runner', `${job.name}${madeFor} takes ${title(event.runs)}`);
        return;
      }
      case 'ended':
        this.tell('runner', `${job.name} ends ${title(event.runs)}: ${event.runs.status}`);
        return;
      case 'killed':
        this.killed += 1;
        this.tell('Argo CD', `KILLED ${job.name} at work on ${title(event.runs)}`);
        return;
      default:
        event satisfies never;
    }
  }
}

/** True when these labels are all that the CI job asks for. */
export function covers({ labels }: { readonly labels: readonly string[] }, job: GiteaJob): boolean {
  return (job.labels ?? []).every((label) => labels.includes(label));
}

/** A CI job for people: `#7 test (node 20)`. */
function title(job: GiteaJob): string {
  return `#${job.id} ${job.name}`;
}
