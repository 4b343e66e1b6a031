/**
 * The oracle of warm pools. A sync that went well, of a look that saw a gap in a pool, has filled the gap. So a pool is never below its floor
 * for longer than Argo CD and a start take.
 */
import type { Cluster, Pod } from './cluster.ts';
import type { GroupSpec } from './history.ts';
import { hasOpenJob, isRecreated } from './recreated.ts';

/** Gitea calls a runner that is gone online for a minute; a little more for the look. */
const ROW_LASTS_MS = 70_000;

/**
 * What must not be, in words.
 * @param now `lookedAtMs`: when the look began whose plan has just been synced. `forgetsForMs`: so long a slot waits after a runner whose
 *   name Gitea has forgotten.
 */
export function gapInPool(
  cluster: Cluster,
  group: GroupSpec,
  now: {
    readonly nowMs: number;
    readonly lookedAtMs: number;
    readonly seesPods: boolean;
    readonly forgetsForMs: number;
  },
): string | undefined {
  const { minIdle = 0, cap } = group;
  if (minIdle === 0) return undefined;
  const { nowMs, lookedAtMs } = now;
  let idle = 0;
  let busy = 0;
  for (const pod of cluster.pods) {
    if (pod.group !== group) continue;
    if (nowMs - (pod.endedMs ?? 0) < now.forgetsForMs) return undefined;
    if (isExcuse(pod, group, nowMs) || isRecreated(cluster, pod)) return undefined;
    const leftMs = Math.min(...[pod.claimedMs, pod.endedMs, pod.deletedMs].map((ms) => ms ?? Number.POSITIVE_INFINITY));
    // What has come or gone since the look began was not to be seen.
    if (leftMs >= lookedAtMs || looksIdle(pod) || (!now.seesPods && isDeadUnseen(cluster, pod))) idle += 1;
    if (pod.claimedMs !== undefined && (hasOpenJob(pod) || (pod.endedMs ?? nowMs) >= lookedAtMs)) busy += 1;
  }
  const floor = Math.min(minIdle, cap - busy);
  return idle < floor
    ? `${group.name}: ${idle} idle runners, ${busy} busy under a cap of ${cap}, ${minIdle} are to be idle`
    : undefined;
}

/** Gitea shows a runner whose CI job is being cancelled as idle, and lists no such job. */
function looksIdle({ job }: Pod): boolean {
  return job?.status === 'cancelling';
}

/** Its slot backs off, or Gitea still shows its row. */
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

/** It has ended without a CI job, and its Job holds its name until Kubernetes removes it. Gitea alone does not show that. */
function isDeadUnseen(cluster: Cluster, pod: Pod): boolean {
  return pod.claimedMs === undefined && pod.phase === 'ended' && cluster.jobs.get(pod.name)?.pod === pod;
}
