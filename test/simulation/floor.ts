/**
 * The oracle of warm pools. A successful sync, after a look that saw a gap in a pool, has filled the gap. So a pool is
 * never below its floor for longer than Argo CD and a start take.
 */
import type { GiteaJob } from '../../simulator/gitea/gitea.ts';
import { type Ceiling, ceilingsOf, weightOf } from './ceilings.ts';
import { type Cluster, isElsewhere, isRenamed, type Pod } from './cluster.ts';
import { type GroupSpec, isInTrouble } from './history.ts';
import { completedRows } from './look.ts';
import { hasOpenJob, isRecreated } from './recreated.ts';
import { START_MS, type Stage } from './stage.ts';

type Pods = Pick<Cluster, 'pods' | 'jobs' | 'madeAgain'>;

/** A plan that has just been synced. */
interface Synced {
  /** Begin of its look. */
  readonly lookedAtMs: number;
  readonly seesPods: boolean;
}

interface Now extends Synced {
  readonly nowMs: number;
  /** How long a slot waits after a runner whose CI job nothing shows any more, ms. */
  readonly forgetsForMs: number;
  /** A look does not show which runner ran this completed CI job. */
  readonly isForgotten: (job: GiteaJob) => boolean;
  /** The cap of its group. */
  readonly cap: number;
  /** Number of idle runners that the group should have. */
  readonly minIdle: number;
  /** True for a runner at a former scope of its group: it does not fill the pool. */
  readonly isOut: (pod: Pod) => boolean;
  /** A runner at work of whose CI job Gitea has no row: its repository was deleted, or Gitea restored. */
  readonly isUnlisted: (pod: Pod) => boolean;
  /** Slots that shared limits leave for idle runners. */
  readonly room: number;
  /** A runner that has ended, and that a restored Gitea believes at work. */
  readonly isGhost: (pod: Pod) => boolean;
}

/** Gitea calls a runner that is gone online for a minute; a little more for the look. */
const ROW_LASTS_MS = 70_000;
/** The 10 s of `src/planner/idle.ts`, and a little more for look and sync. */
const SLOT_WAITS_MS = 20_000;

/** How long a runner without a row counts as one on its way, ms (`src/planner/debugging.ts`). */
const LISTED_WITHIN_MS = 90_000;

/** The pools of these groups that the sync has left with a gap, in words. */
export function gapsInPools(
  stage: Stage,
  cluster: Cluster,
  groups: readonly GroupSpec[],
  synced: Synced,
): readonly string[] {
  const { nowMs, nowS, history } = stage;
  const lookedAtS = (synced.lookedAtMs - START_MS) / 1000;
  const isCleanedUp = history.acts.some(({ kind, atS }) => kind === 'clean-up' && atS < nowS);
  const forgetsForMs = SLOT_WAITS_MS + 1000 * Math.abs(history.clockSkewS);
  // A runner of a renamed group may take a place of another one: when its CI job is over, or while the group is in trouble.
  const isInAnother = ({ phase, group, endedMs = nowMs }: Pod): boolean =>
    phase === 'kept' || (endedMs >= synced.lookedAtMs && isInTrouble(history, group.name, lookedAtS, nowS));
  if (cluster.pods.some((pod) => isInAnother(pod) && isRenamed(pod, stage))) return [];
  let atWork: ReadonlySet<string> | undefined;
  const isGhost = (pod: Pod): boolean => {
    if (pod.phase !== 'ended' || hasOpenJob(pod)) return false;
    atWork ??= runnersAtWork(stage);
    return atWork.has(pod.name);
  };
  const ceilings = ceilingsOf(history, (group) => stage.specOf(group));
  return groups.flatMap((group) => {
    const { cap, minIdle = 0, suspend = false } = stage.specOf(group);
    if (minIdle === 0 || suspend) return [];
    const above = ceilings.filter((ceiling) => ceiling.groups.includes(group));
    // A waiting job comes first, and a heavy one may keep the rest.
    const sharing = above.filter((ceiling) => ceiling.groups.length > 1).flatMap((ceiling) => ceiling.groups);
    if (sharing.some((other) => stage.mostReady(other, synced.lookedAtMs) > 0)) return [];
    // Gitea would give an idle runner to any job.
    if (group.limits?.some(({ per, branches }) => per || branches)) return [];
    // A look before the last commit was for another pool.
    if (isInTrouble(history, group.name, lookedAtS, nowS) || stage.changedMs >= synced.lookedAtMs) return [];
    let completed: readonly GiteaJob[] | undefined;
    const isForgotten = (job: GiteaJob): boolean => {
      completed ??= completedRows(stage, stage.specOf(group).scope, synced.seesPods);
      return isCleanedUp || !completed.includes(job);
    };
    const isOut = (pod: Pod): boolean => isElsewhere(pod, stage);
    const isUnlisted = ({ job }: Pod): boolean => job !== undefined && stage.gitea.state.jobs.get(job.id) !== job;
    const around = { ...synced, nowMs, cap, minIdle, forgetsForMs, isForgotten, isOut, isUnlisted, isGhost };
    const now = { ...around, room: Math.min(...above.map((ceiling) => roomFor(cluster, group, ceiling, around))) };
    return gapInPool(cluster, group, now) ?? [];
  });
}

/**
 * Returns the slots that a limit leaves for idle runners of a group, beside all other runners. A runner that the look
 * saw may have gone since.
 */
function roomFor({ pods }: Pods, group: GroupSpec, { groups, most }: Ceiling, now: Omit<Now, 'room'>): number {
  const isThere = (pod: Pod): boolean =>
    (pod.endedMs ?? now.nowMs) >= now.lookedAtMs || isBusy(pod, now) || hasOpenJob(pod) || now.isGhost(pod);
  const isIdleHere = (pod: Pod): boolean =>
    pod.group === group && !isBusy(pod, now) && !now.isGhost(pod) && !mayBeHeld(pod, now);
  const others = pods.filter((pod) => groups.includes(pod.group) && isThere(pod) && !isIdleHere(pod));
  return most() - others.reduce((sum, pod) => sum + weightOf(pod.group), 0);
}

/** Names of the runners of which Gitea believes that they run a job. */
function runnersAtWork({ gitea: { state } }: Stage): ReadonlySet<string> {
  const { tasks, runners, openJobs } = state;
  const names = [...openJobs.values()].flatMap(
    ({ taskId }) => runners.get(tasks.get(taskId)?.runnerId ?? 0)?.name ?? [],
  );
  return new Set(names);
}

/** Describes a gap in a pool. Undefined: there is none. */
export function gapInPool(cluster: Pods, group: GroupSpec, now: Now): string | undefined {
  const { cap, minIdle, room } = now;
  if (minIdle === 0) return undefined;
  let idle = 0;
  let busy = 0;
  for (const pod of cluster.pods) {
    if (pod.group !== group) continue;
    if (mayWait(pod, now) || isExcuse(pod, group, now.nowMs) || comesAgain(cluster, pod)) return undefined;
    if (isIdle(cluster, pod, now) && !now.isOut(pod)) idle += 1;
    if (isBusy(pod, now) || now.isGhost(pod) || mayBeHeld(pod, now)) busy += 1;
  }
  const floor = Math.min(minIdle, cap - busy, room);
  return idle < floor
    ? `${group.name}: ${idle} idle runners, ${busy} busy under a cap of ${cap}, ${minIdle} are to be idle`
    : undefined;
}

/** True if the pod is re-created, like `isRecreated`. Nearly all names are made once. */
function comesAgain(cluster: Pods, pod: Pod): boolean {
  return cluster.madeAgain.has(pod.name) && isRecreated(cluster, pod);
}

/** True for an idle pod. Changes since the begin of the look could not be seen. */
function isIdle(cluster: Pods, pod: Pod, { lookedAtMs, seesPods, isUnlisted }: Now): boolean {
  // Gitea no longer has the row of its CI job. The runner's own row is idle if it is silent for 10 s, or gone like that
  // of a registering runner.
  if (isUnlisted(pod) && (pod.endedMs ?? lookedAtMs) >= lookedAtMs) return true;
  const leftMs = Math.min(...[pod.claimedMs, pod.endedMs, pod.deletedMs].map((ms) => ms ?? Number.POSITIVE_INFINITY));
  return leftMs >= lookedAtMs || lookedIdle(pod, lookedAtMs) || (!seesPods && isDeadUnseen(cluster, pod));
}

/**
 * True if Gitea was restored and has no row of the runner, which is at a former scope of its group. Its CI job may have
 * failed, or its pin says that it works: a restored Gitea may have shown its name at work. It does not fill the pool
 * either.
 */
function mayBeHeld(pod: Pod, { isOut }: Pick<Now, 'isOut'>): boolean {
  const isPinned = pod.pinnedMs !== undefined && pod.unpinnedMs === undefined;
  return pod.forgotten && pod.phase !== 'ended' && (isPinned || pod.group.keepFailedS !== undefined) && isOut(pod);
}

function isBusy({ claimedMs, endedMs, job }: Pod, { nowMs, lookedAtMs }: Pick<Now, 'nowMs' | 'lookedAtMs'>): boolean {
  if (claimedMs === undefined) return false;
  // The CI job of a lost runner ends minutes after its pod.
  return hasOpenJob({ job }) || (endedMs ?? nowMs) >= lookedAtMs || endMs(job) >= lookedAtMs;
}

/** Gitea shows a runner whose CI job is being cancelled as idle, and lists no such job. */
function lookedIdle({ job }: Pod, lookedAtMs: number): boolean {
  return job?.status === 'cancelling' || (job?.status === 'cancelled' && endMs(job) >= lookedAtMs);
}

/** Returns the latest end of a CI job in Gitea, which has whole seconds. 0: it has not ended. */
function endMs(job: GiteaJob | undefined): number {
  return job && job.stopped > 0 ? job.stopped * 1000 + 999 : 0;
}

/**
 * True while the runner's slot waits, because nothing has shown that it was at work: neither Gitea nor, at the begin of
 * the look, a pin.
 */
function mayWait({ pinnedMs, unpinnedMs, job, ...pod }: Pod, now: Now): boolean {
  const endedMs = pod.phase === 'kept' ? (pod.registeredMs ?? 0) + LISTED_WITHIN_MS : (pod.endedMs ?? 0);
  const never = Number.POSITIVE_INFINITY;
  const isPinned = (pinnedMs ?? never) <= now.lookedAtMs && (unpinnedMs ?? never) > now.lookedAtMs;
  if (isPinned || now.nowMs - endedMs >= now.forgetsForMs) return false;
  return job !== undefined && now.isForgotten(job);
}

/** True if the slot is in back-off, or Gitea still shows its row. */
function isExcuse(
  { claimedMs, endedMs, deletedMs, fate, refused, end }: Pod,
  group: GroupSpec,
  nowMs: number,
): boolean {
  if (claimedMs !== undefined) return false;
  if (deletedMs !== undefined && nowMs - deletedMs < ROW_LASTS_MS) return true;
  const hasFailed = fate.start === 'crash' || refused || end === 'lost';
  return hasFailed && endedMs !== undefined && nowMs - endedMs < group.spawnTimeoutS * 1000 + ROW_LASTS_MS;
}

/**
 * True for a runner that has ended without a CI job, whose Job holds its name until Kubernetes removes it. Gitea alone
 * does not show that.
 */
function isDeadUnseen(cluster: Pods, pod: Pod): boolean {
  return pod.claimedMs === undefined && pod.phase === 'ended' && cluster.jobs.get(pod.name)?.pod === pod;
}
