/**
 * Kubernetes and the runners in its pods.
 *
 *     Job made ──► pod starting ──► runner idle ──claim──► busy ──► ended ──► Job complete ──► TTL
 *       │                             │                         └► kept: its group keeps runners, and its CI job did not succeed
 *       │ quota, no node: it waits    │ SIGTERM: ends at once   │ SIGTERM: ends its CI job if the grace period allows, else killed
 *
 * Deleting a Job (background) removes the object at once; its pod gets SIGTERM a moment later.
 */

import type { GiteaJob } from '../../simulator/gitea/gitea.ts';
import { scopeKey } from '../../simulator/gitea/runners.ts';
import { type MadeFor, POOL_LIFE_MS, parseRunnerName } from '../../src/planner/names.ts';
import type { GroupSpec, PodFate, Trouble } from './history.ts';
import { neverStarts, ORDINARY_POD } from './history.ts';
import { type PrintedStay, type Stay, stayThatEnds, waits } from './keeping.ts';
import { draw } from './random.ts';
import type { Stage } from './stage.ts';

export type PodPhase = 'waiting' | 'starting' | 'idle' | 'busy' | 'kept' | 'ended';

/**
 * How a pod ended. `done`: with its CI job. `dropped`: pruned before it took one. `killed`: pruned at work, and the
 * grace period was too short. The others are bad luck from outside.
 */
export type PodEnd = 'done' | 'dropped' | 'killed' | 'crashed' | 'lost' | 'deadline';

/** A pod of ours and its runner, from beginning to end. */
export interface Pod {
  readonly nth: number;
  readonly name: string;
  readonly group: GroupSpec;
  readonly madeFor: MadeFor | undefined;
  readonly fate: PodFate;
  readonly createdMs: number;
  /** PriorityClass that was printed when its Job was created. */
  readonly priorityClass: string | undefined;
  /** `owner/name`, as it was printed then: Gitea gives it only jobs of this repository. */
  readonly boundTo: string | undefined;
  /** Id of the repository that it is bound to, whatever its current name. */
  readonly repoId: number | undefined;
  /** Pod template that it was made from. */
  readonly template: string;
  phase: PodPhase;
  /** Id of its row. 0: it has none, or Gitea has lost it. */
  rowId: number;
  /** Scope at which it is registered. */
  place: string | undefined;
  /** Gitea was restored from a backup, or a repository was deleted: Gitea knows nothing of its CI job, or of its row. */
  forgotten: boolean;
  /** True if git asked for another runner in its place when it ended: its group has another template, name or scope. */
  outdated: boolean;
  job: GiteaJob | undefined;
  /** When its CI job will be over. */
  workUntilMs: number;
  /** When its Job was deleted. */
  deletedMs: number | undefined;
  /** Pruned while it worked: only the grace period saved it. */
  closeCall: boolean;
  stopping: boolean;
  /** Kubernetes has made it; a quota can forbid that. */
  isMade: boolean;
  /** Somebody has suspended its Job. */
  suspended: boolean;
  /** When it came to its node. */
  onNodeMs: number | undefined;
  /** Gitea has refused to register its runner. */
  refused: boolean;
  registeredMs: number | undefined;
  claimedMs: number | undefined;
  pinnedMs: number | undefined;
  unpinnedMs: number | undefined;
  /** Since when it has waited after its CI job. */
  waitsSinceMs: number | undefined;
  /** When its CI job failed. */
  failedMs: number | undefined;
  endedMs: number | undefined;
  end: PodEnd | undefined;
}

/** State of a pod after its start. */
export const NOTHING_YET = {
  boundTo: undefined,
  repoId: undefined,
  place: undefined,
  forgotten: false,
  outdated: false,
  job: undefined,
  workUntilMs: 0,
  deletedMs: undefined,
  closeCall: false,
  stopping: false,
  suspended: false,
  onNodeMs: undefined,
  refused: false,
  claimedMs: undefined,
  pinnedMs: undefined,
  unpinnedMs: undefined,
  waitsSinceMs: undefined,
  failedMs: undefined,
  endedMs: undefined,
  end: undefined,
} as const;

/** True when it may still take a CI job. */
export function isFree({ phase }: Pod): boolean {
  return phase === 'waiting' || phase === 'starting' || phase === 'idle';
}

/** True for a runner that is registered at a former scope of its group. */
export function isElsewhere({ place, group }: Pod, stage: Stage): boolean {
  return place !== undefined && place !== scopeKey(stage.specOf(group).scope);
}

/** True for a runner of ours whose group had another name when it was made. */
export function isRenamed({ name, group }: Pod, stage: Stage): boolean {
  const parts = parseRunnerName(name);
  return parts !== undefined && parts.prefix !== stage.specOf(group).name;
}

/** True for a runner that gets no CI job of its group: it is registered elsewhere, or Gitea has lost its row. */
export function isAstray(pod: Pod, stage: Stage): boolean {
  if (pod.boundTo !== undefined && !isBoundHere(pod, stage)) return true;
  return isElsewhere(pod, stage) || (pod.place !== undefined && pod.rowId === 0);
}

/** True for a bound runner whose repository is in the scope of its group. */
function isBoundHere({ group, repoId = 0 }: Pod, stage: Stage): boolean {
  const repo = stage.repoNow(repoId);
  return repo !== undefined && stage.isCovered(stage.specOf(group), repo);
}

/** True for a runner that was started for a warm pool. */
export function isWarm({ madeFor }: Pod): boolean {
  return madeFor !== undefined && 'poolIndex' in madeFor;
}

/** A CI job in an annotation. */
export interface Print {
  readonly jobId: number | undefined;
  readonly runId: number;
  readonly repository: string | undefined;
  readonly sinceMs: number;
}

/** A Kubernetes Job of ours. */
export interface KubeJob {
  readonly name: string;
  readonly group: GroupSpec;
  /** Scope of the group when it was made. */
  readonly scope: GroupSpec['scope'];
  readonly createdMs: number;
  /** Begin of the look after which it was requested. */
  readonly askedAtMs: number;
  readonly pod: Pod;
  pinned: boolean;
  /** Its stay, by its annotations. */
  stay: PrintedStay | undefined;
  /** Runners that were given up before it. */
  triedBefore: number | undefined;
  /** Its tracking annotation and its label, if there are shards. */
  tracked: { readonly application: string; readonly shard: number } | undefined;
  /** Id of the CI job in its annotation, now and before, newest first. */
  readonly prints: Print[];
  /** Somebody has deleted it, and it is there until its pod has ended. */
  deleting: boolean;
  finished: 'complete' | 'failed' | undefined;
  finishedMs: number | undefined;
}

/** Annotations that a sync writes on an existing Job. */
export interface Annotations {
  readonly pinned: boolean;
  /** Id of the CI job that it works on or is wanted for. */
  readonly printedFor?: number | undefined;
  /** Repository of the CI job. */
  readonly repository?: string | undefined;
  readonly stay?: PrintedStay | undefined;
  readonly triedBefore?: number | undefined;
}

type HoldingTrouble = Extract<Trouble, { readonly kind: 'quota' | 'full' }>;

/** Returns the duration of a CI job, ms. */
export type CiTime = (job: GiteaJob) => number;

/** Outcome of a CI job. */
export interface Ci {
  readonly timeMs: CiTime;
  readonly fails: (job: GiteaJob) => boolean;
}

const FETCH_EVERY_MS = 2000;
/** Time between requests of a warm runner, ms (src/manifests/stamp.ts). */
const WARM_FETCH_EVERY_MS = 1000;
/** Ten tries to register, 5 s apart (src/manifests/init-containers.ts). */
const REFUSED_AFTER_MS = 45_000;
/** Pods that come so soon after each other may as well come in the same moment. */
const SOON_MS = 3000;

export class Cluster {
  readonly jobs = new Map<string, KubeJob>();
  /** All pods that ever existed. */
  readonly pods: Pod[] = [];
  /** Names of which there were several. */
  readonly madeAgain = new Set<string>();
  readonly #names = new Set<string>();
  /** Runners that might have taken a job soon, and that a sync dropped for new ones of the same group. */
  exchanged = 0;
  /** Times at which a sync would have changed the PriorityClass of a Job that exists. */
  reclassed = 0;
  /** Runners that waited after their CI job until their Jobs were deleted. */
  readonly stays: Stay[] = [];
  /** Called after a Job was made and after a claim. */
  onGrowth: (job: KubeJob | undefined, pod: Pod) => void = () => undefined;
  readonly #stage: Stage;
  readonly #ci: Ci;

  constructor(stage: Stage, ci: Ci) {
    this.#stage = stage;
    this.#ci = ci;
    stage.reportAll = () => this.report(0);
    for (const trouble of stage.history.troubles) {
      if (trouble.kind === 'node-loss') stage.timeline.after(trouble.atS * 1000, () => this.#loseNode(trouble.node));
    }
  }

  /** Makes a Job. An existing one of that name stays as it is. */
  create(
    name: string,
    group: GroupSpec,
    madeFor: MadeFor | undefined,
    askedAtMs = this.#stage.nowMs,
    { priorityClass, boundTo }: Pick<Pod, 'priorityClass' | 'boundTo'> = {
      priorityClass: undefined,
      boundTo: undefined,
    },
  ): void {
    const known = this.jobs.get(name);
    if (known && known.pod.priorityClass !== priorityClass) this.reclassed += 1;
    if (known) return;
    const { timeline, history, nowMs } = this.#stage;
    const fate = history.pods[this.pods.length] ?? ORDINARY_POD;
    const pod: Pod = {
      nth: this.pods.length,
      name,
      group,
      madeFor,
      fate,
      createdMs: nowMs,
      priorityClass,
      template: this.#stage.templateOf(group),
      phase: 'waiting',
      rowId: 0,
      isMade: false,
      registeredMs: undefined,
      ...NOTHING_YET,
      boundTo,
      repoId: boundTo === undefined ? undefined : this.#stage.repoIdOf(boundTo),
    };
    const job: KubeJob = {
      name,
      group,
      scope: this.#stage.specOf(group).scope,
      createdMs: nowMs,
      askedAtMs,
      pod,
      pinned: false,
      stay: undefined,
      triedBefore: undefined,
      tracked: undefined,
      prints: [],
      deleting: false,
      finished: undefined,
      finishedMs: undefined,
    };
    this.pods.push(pod);
    this.#registerAhead(pod);
    if (this.#names.has(name)) this.madeAgain.add(name);
    this.#names.add(name);
    this.jobs.set(name, job);
    this.#stage.version += 1;
    this.#stage.tell(() => `Kubernetes: Job ${name} is made (pod ${pod.nth})`);
    this.onGrowth(job, pod);
    const waitsMs = isWarm(pod) ? POOL_LIFE_MS : 0;
    timeline.after(group.activeDeadlineS * 1000 + waitsMs, () => this.#end(pod, 'deadline'));
    if (fate.suspendedS === undefined) {
      this.#schedule(pod);
      return;
    }
    pod.suspended = true;
    timeline.after(fate.suspendedS * 1000, () => {
      pod.suspended = false;
      this.#stage.version += 1;
      this.#schedule(pod);
    });
  }

  /** Sets the annotations: those that keep Argo CD from pruning it, and the CI job that it is for. */
  annotate(job: KubeJob, { pinned, printedFor, repository, stay, triedBefore }: Annotations): void {
    job.triedBefore = triedBefore;
    if (job.stay?.untilMs !== stay?.untilMs || job.stay?.endedAtMs !== stay?.endedAtMs) this.#stage.version += 1;
    job.stay = stay;
    if (job.prints[0]?.jobId !== printedFor || job.prints[0]?.repository !== repository) {
      const runId = this.#stage.gitea.state.jobs.get(printedFor ?? 0)?.runId ?? 0;
      job.prints.unshift({ jobId: printedFor, runId, repository, sinceMs: this.#stage.nowMs });
      this.#stage.version += 1;
    }
    if (job.pinned === pinned) return;
    job.pinned = pinned;
    this.#stage.version += 1;
    if (pinned) job.pod.pinnedMs ??= this.#stage.nowMs;
    else job.pod.unpinnedMs = this.#stage.nowMs;
  }

  /** Deletes a Job in the background, as Argo CD prunes. */
  delete(name: string): void {
    const job = this.jobs.get(name);
    if (!job) return;
    const { pod } = job;
    this.jobs.delete(name);
    this.#stage.version += 1;
    pod.deletedMs ??= this.#stage.nowMs;
    if (pod.phase === 'ended') return;
    pod.closeCall = pod.phase === 'busy';
    this.#stage.tell(() => `Argo CD: Job ${name} is pruned while its runner is ${pod.phase}${workOf(pod)}`);
    this.#stage.timeline.after(50 + 2000 * this.#stage.luck('signal-lag') ** 3, () => this.#terminate(pod));
  }

  /** Deletes the Job of a pod in the foreground: it goes when the pod has ended. */
  deleteInForeground(nth: number): void {
    const pod = this.pods[nth];
    const job = this.jobs.get(pod?.name ?? '');
    if (!pod || job?.pod !== pod || pod.phase === 'ended') return;
    job.deleting = true;
    pod.deletedMs ??= this.#stage.nowMs;
    pod.closeCall = pod.phase === 'busy';
    this.#stage.tell(() => `somebody deletes Job ${pod.name} while its runner is ${pod.phase}${workOf(pod)}`);
    this.#terminate(pod);
  }

  /** Runners at work report, but each with this probability not within the last 10 s. */
  report(silence: number): void {
    const { gitea, nowMs } = this.#stage;
    for (const pod of this.pods) {
      if (pod.phase !== 'busy') continue;
      const row = gitea.state.runners.get(pod.rowId);
      if (!row || row.deleted) continue;
      const overdue = nowMs / 1000 - row.lastOnline > 30;
      if (overdue || silence === 0 || this.#stage.luck('silence') >= silence) gitea.report(pod.rowId);
    }
  }

  /** People cancelled: runners whose job is over or being cancelled notice it. */
  notice(): void {
    for (const pod of this.pods) {
      if (pod.phase !== 'busy' || !pod.job || pod.job.status === 'running') continue;
      const noticedMs = 500 + 4500 * this.#stage.luck('cancel-notice');
      const cleaningMs = pod.job.status === 'cancelling' ? 20_000 * this.#stage.luck('cancel-notice') : 0;
      this.#workUntil(pod, Math.min(pod.workUntilMs, this.#stage.nowMs + noticedMs + cleaningMs));
    }
  }

  /** Call it before Gitea loses rows: a runner keeps its work, whatever becomes of its row. */
  beforeLoss(): void {
    for (const pod of this.pods) if (pod.job) pod.job = { ...pod.job };
  }

  /** Gitea was restored, or a repository was deleted: it has lost rows of CI jobs, of tasks, of runners. */
  afterLoss(): void {
    const { gitea } = this.#stage;
    for (const pod of this.pods) {
      const row = gitea.state.runners.get(pod.rowId);
      // After two restores, the row of that id may be another runner's.
      if (pod.rowId !== 0 && (row?.name !== pod.name || row.deleted)) {
        pod.rowId = 0;
        pod.forgotten = true;
      }
      if (!pod.job) continue;
      const job = gitea.state.jobs.get(pod.job.id);
      if (job?.taskId === pod.job.taskId) pod.job = job;
      else pod.forgotten = true;
    }
  }

  /** Returns what keeps new pods from their nodes now. */
  heldBy(): HoldingTrouble | undefined {
    const { history, nowS } = this.#stage;
    return history.troubles.find(
      (trouble): trouble is HoldingTrouble =>
        (trouble.kind === 'quota' || trouble.kind === 'full') && nowS >= trouble.atS && nowS < trouble.untilS,
    );
  }

  #schedule(pod: Pod): void {
    const trouble = this.heldBy();
    if (trouble) {
      // At least 1 ms: a rest below the clock's precision would come at this very moment, for ever.
      const restMs = Math.max(1, (trouble.untilS - this.#stage.nowS) * 1000);
      this.#stage.timeline.after(restMs, () => this.#schedule(pod));
      return;
    }
    if (pod.phase !== 'waiting') return;
    pod.phase = 'starting';
    pod.onNodeMs = this.#stage.nowMs;
    pod.isMade = true;
    const { startS, start, evictedAfterS } = pod.fate;
    if (evictedAfterS !== undefined) {
      this.#stage.timeline.after(evictedAfterS * 1000, () => this.#end(pod, 'lost'));
    }
    if (neverStarts(pod.fate)) return;
    this.#stage.timeline.after(startS * 1000, () => {
      if (start === 'crash') this.#end(pod, 'crashed');
      else if (this.#isRefused() && pod.boundTo === undefined) this.#refuse(pod);
      else this.#start(pod);
    });
  }

  /** The registration token is wrong. */
  #isRefused(): boolean {
    const { history, nowS } = this.#stage;
    return history.troubles.some((each) => each.kind === 'bad-token' && nowS >= each.atS && nowS < each.untilS);
  }

  #refuse(pod: Pod): void {
    this.#stage.timeline.after(REFUSED_AFTER_MS, () => {
      if (pod.phase !== 'starting') return;
      pod.refused = true;
      this.#end(pod, 'crashed');
    });
  }

  #start(pod: Pod): void {
    this.#register(pod);
    this.#fetch(pod);
  }

  /** `serve` registers it at its repository. Its row is offline until it calls. */
  #registerAhead(pod: Pod): void {
    const { gitea } = this.#stage;
    const repo = pod.repoId === undefined ? undefined : this.#stage.repoNow(pod.repoId);
    if (!repo) return;
    const { labels } = this.#stage.specOf(pod.group);
    pod.rowId = gitea.register({ name: pod.name, scope: { kind: 'repo', repo }, labels, isAhead: true }).id;
  }

  #register(pod: Pod): void {
    if (pod.phase !== 'starting' || pod.stopping) return;
    const { scope, labels } = this.#stage.specOf(pod.group);
    // Gitea knows nothing of its credentials, or it never got any.
    if (pod.boundTo !== undefined && pod.rowId === 0) {
      this.#end(pod, 'crashed');
      return;
    }
    pod.place = scopeKey(scope);
    // Its registration token belongs to the same scope, whatever its current name.
    if (pod.boundTo === undefined)
      pod.rowId = this.#stage.gitea.register({ name: pod.name, scope: this.#stage.scopeNow(scope), labels }).id;
    pod.phase = 'idle';
    pod.registeredMs = this.#stage.nowMs;
    this.#stage.version += 1;
    this.#stage.tell(() => `runner ${pod.name} (pod ${pod.nth}) is registered`);
  }

  #fetch(pod: Pod): void {
    if (pod.phase !== 'idle' || pod.stopping) return;
    const { history } = this.#stage;
    const job = this.#poll(pod);
    if (job && history.gitea === '1.27.3' && this.#stage.luck('claim-lost') < history.claimLoss) {
      this.#stage.gitea.releaseClaim(job.id);
      this.#stage.settle();
      this.#stage.tell(() => `the answer to the claim of ${job.name} by ${pod.name} is lost; Gitea puts the job back`);
    } else if (job) {
      this.#claim(pod, job);
      return;
    }
    const jitterMs = 200 * draw(history.seed, 'poll-phase', pod.nth);
    this.#stage.timeline.after((isWarm(pod) ? WARM_FETCH_EVERY_MS : FETCH_EVERY_MS) + jitterMs, () => this.#fetch(pod));
  }

  /** Idle, or it registers within seconds: as well now. */
  #comesSoon({ phase, createdMs, fate }: Pod): boolean {
    if (phase === 'idle') return true;
    const inMs = createdMs + fate.startS * 1000 - this.#stage.nowMs;
    return phase === 'starting' && fate.start === undefined && inMs > 0 && inMs < SOON_MS;
  }

  /** Asks for work, by chance in the same moment as another runner. */
  #poll(pod: Pod): GiteaJob | undefined {
    const { gitea, history } = this.#stage;
    // Gitea knows it no more.
    if (pod.rowId === 0) return undefined;
    if (history.pollTogether === 0 || this.#stage.luck('poll-together') >= history.pollTogether) {
      return gitea.poll(pod.rowId);
    }
    const rival = this.pods.find((other) => other !== pod && !other.stopping && this.#comesSoon(other));
    if (!rival) return gitea.poll(pod.rowId);
    if (rival.phase === 'starting') this.#register(rival);
    if (rival.phase !== 'idle' || rival.rowId === 0) return gitea.poll(pod.rowId);
    const [first, own] = gitea.pollTogether([rival.rowId, pod.rowId]);
    if (first) this.#claim(rival, first);
    return own;
  }

  #claim(pod: Pod, job: GiteaJob): void {
    pod.job = job;
    pod.phase = 'busy';
    pod.claimedMs = this.#stage.nowMs;
    const waitS = (this.#stage.nowMs - this.#stage.readySinceMs(job)) / 1000;
    this.#stage.tell(() => `runner ${pod.name} takes job ${job.id} "${job.name}", which waited ${waitS.toFixed(1)} s`);
    this.#stage.noteClaim(job);
    // Deleted already, SIGTERM on its way: as good as pruned at work.
    if (pod.deletedMs !== undefined) pod.closeCall = true;
    this.onGrowth(undefined, pod);
    this.#workUntil(pod, this.#stage.nowMs + this.#ci.timeMs(job));
  }

  #workUntil(pod: Pod, atMs: number): void {
    pod.workUntilMs = atMs;
    this.#stage.timeline.at(atMs, () => {
      if (pod.phase === 'busy' && pod.workUntilMs <= this.#stage.nowMs) this.#finish(pod);
    });
  }

  /** SIGTERM: a runner at work stops asking for more and has the grace period to end its CI job. */
  #terminate(pod: Pod): void {
    if (pod.phase === 'ended') return;
    pod.stopping = true;
    if (pod.phase !== 'busy') {
      this.#end(pod, pod.phase === 'kept' ? 'done' : 'dropped');
      return;
    }
    this.#stage.timeline.after(pod.group.gracefulStopS * 1000, () => this.#end(pod, 'killed'));
  }

  #loseNode(node: number): void {
    this.#stage.tell(() => `node ${node} is lost with its pods`);
    for (const pod of this.pods) if (pod.nth % 3 === node && pod.phase !== 'waiting') this.#end(pod, 'lost');
  }

  /** Ends its CI job. */
  #finish(pod: Pod): void {
    const { nowMs } = this.#stage;
    const isLeft = pod.fate.leavesJob === true && this.#leaveJob(pod);
    if (!isLeft) this.#tellGitea(pod, pod.job && this.#ci.fails(pod.job) ? 'failure' : 'success');
    if (pod.stopping || isLeft || !waits(pod.group, pod.job?.status)) {
      this.#end(pod, 'done');
      return;
    }
    pod.phase = 'kept';
    pod.waitsSinceMs = nowMs;
    if (pod.job?.status === 'failure') pod.failedMs = nowMs;
    this.#stage.version += 1;
    this.#stage.tell(() => `pod ${pod.nth} (${pod.name}) waits${workOf(pod)}, which is ${pod.job?.status}`);
  }

  #leaveJob({ job, rowId }: Pod): boolean {
    const { gitea, left } = this.#stage;
    const [row, task] = [gitea.state.runners.get(rowId), gitea.state.tasks.get(job?.taskId ?? 0)];
    if (!job || !row || !task || job.status !== 'running' || gitea.jobOfRunner(rowId) !== job) return false;
    task.status = 'success';
    gitea.state.openTasks.delete(task.id);
    row.deleted = true;
    left.add(job.id);
    this.#stage.settle();
    return true;
  }

  /** The runner reports how its CI job ended, if it still has it. */
  #tellGitea(pod: Pod, result: 'success' | 'failure'): void {
    const { gitea } = this.#stage;
    this.#endUnlisted(pod, result);
    const row = gitea.state.runners.get(pod.rowId);
    if (!row || row.deleted || !gitea.jobOfRunner(pod.rowId)) return;
    gitea.finish(pod.rowId, result);
    this.#stage.settle();
  }

  /** The CI job of a runner is over, of which Gitea has no row any more. */
  #endUnlisted(pod: Pod, status: 'success' | 'failure'): void {
    const { job } = pod;
    if (job?.status === 'running' && this.#stage.gitea.state.jobs.get(job.id) !== job) pod.job = { ...job, status };
  }

  #end(pod: Pod, end: PodEnd): void {
    if (pod.phase === 'ended') return;
    const wasBusy = pod.phase === 'busy';
    this.#endUnlisted(pod, 'failure');
    const stay = stayThatEnds(pod);
    if (stay) this.stays.push(stay);
    pod.phase = 'ended';
    pod.end = end;
    pod.outdated = pod.template !== this.#stage.templateOf(pod.group);
    pod.endedMs = this.#stage.nowMs;
    this.#stage.version += 1;
    this.#stage.tell(() => `pod ${pod.nth} (${pod.name}) ends: ${end}${workOf(pod)}`);
    if (wasBusy && (end === 'killed' || end === 'deadline')) this.#tellGitea(pod, 'failure');
    const lagMs = 200 + 1500 * this.#stage.luck('condition-lag');
    this.#stage.timeline.after(lagMs, () => this.#finishJob(pod));
  }

  #finishJob(pod: Pod): void {
    const job = this.jobs.get(pod.name);
    if (!job || job.pod !== pod) return;
    if (job.deleting) {
      this.jobs.delete(pod.name);
      this.#stage.version += 1;
      return;
    }
    job.finished = pod.end === 'done' ? 'complete' : 'failed';
    job.finishedMs = this.#stage.nowMs;
    this.#stage.version += 1;
    this.#stage.timeline.after(pod.group.ttlS * 1000, () => {
      if (this.jobs.get(pod.name) === job) {
        this.jobs.delete(pod.name);
        this.#stage.version += 1;
      }
    });
  }
}

/** " with job 7 "build"", when it has one. */
function workOf({ job }: Pod): string {
  return job ? ` with job ${job.id} "${job.name}"` : '';
}
