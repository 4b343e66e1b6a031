/**
 * The measure for all others: it sees the true state of Gitea and Kubernetes in the instant in which it decides (not the future:
 * a pod that will never start looks like a slow one to it, too), counts, and keeps no names. It has the same Argo CD.
 */
import type { GiteaJob } from '../../../model/gitea/gitea.ts';
import { type Cluster, isAstray, type KubeJob, type Pod } from '../cluster.ts';
import type { GroupSpec } from '../history.ts';
import { staying } from '../keeping.ts';
import type { Observation } from '../look.ts';
import type { Stage } from '../stage.ts';
import type { Generator, Wanted } from './policy.ts';

const WIDTH = { repo: 0, owner: 1, global: 2 } as const;

export const EXACT: Generator = { kind: 'generator', seesPods: true, decide };

function decide(stage: Stage, cluster: Cluster, sight: Observation): readonly Wanted[] {
  const groups = [...sight.groups].sort(byOwnership);
  const wanted: Wanted[] = [];
  const room = new Map<GroupSpec, number>();
  for (const group of groups) {
    // Those whose Job was deleted while they worked hold their slot, too.
    const busy = cluster.pods.filter((pod) => pod.group === group && pod.phase === 'busy');
    const kept = staying(cluster.pods, group, stage.nowMs);
    room.set(group, Math.max(0, group.cap - busy.length - kept.length));
    wanted.push(...waiting(cluster, group, kept));
    for (const pod of busy) {
      const job = cluster.jobs.get(pod.name);
      if (job?.pod === pod) wanted.push({ name: pod.name, group, pinned: true, skip: job.pinned, madeFor: undefined });
    }
  }
  const shares = new Map<GroupSpec, GiteaJob[]>(groups.map((group) => [group, []]));
  const given = new Set<number>();
  const ready = new Map(groups.flatMap((group) => stage.readyJobs(group).map((job) => [job.id, job])));
  for (const job of [...ready.values()].sort((a, b) => a.updated - b.updated || a.id - b.id)) {
    for (const group of groups) {
      const share = shares.get(group) ?? [];
      if (given.has(job.id) || share.length >= (room.get(group) ?? 0) || !stage.isFor(group, job)) continue;
      given.add(job.id);
      share.push(job);
    }
  }
  for (const [group, share] of shares) wanted.push(...fill(stage, cluster, group, share));
  return wanted;
}

/** Runners that wait after their CI job: those that are to stay, and those that lose their pin before they go. */
function waiting({ jobs }: Cluster, group: GroupSpec, kept: readonly Pod[]): readonly Wanted[] {
  return [...jobs.values()].flatMap((job) => {
    const stays = kept.includes(job.pod);
    if (job.group !== group || job.pod.phase !== 'kept' || !(stays || job.pinned)) return [];
    return [{ name: job.name, group, pinned: stays, skip: stays && job.pinned, madeFor: undefined }];
  });
}

/** Narrowest scope, then fewest labels, then name (law P7). */
export function byOwnership(a: GroupSpec, b: GroupSpec): number {
  return WIDTH[a.scope.kind] - WIDTH[b.scope.kind] || a.labels.length - b.labels.length || (a.name < b.name ? -1 : 1);
}

/** Keeps as many free runners as there are jobs, registered ones first, and makes what is missing. */
function fill(stage: Stage, cluster: Cluster, group: GroupSpec, share: readonly GiteaJob[]): readonly Wanted[] {
  const free = [...cluster.jobs.values()]
    .filter((job) => job.group === group && isFree(job, stage))
    .sort((a, b) => Number(b.pod.phase === 'idle') - Number(a.pod.phase === 'idle') || a.createdMs - b.createdMs);
  const kept = free.slice(0, share.length).map(({ name }) => ({ name, group, pinned: false, madeFor: undefined }));
  const missing = share.slice(kept.length).map((job) => {
    let ordinal = 0;
    while (cluster.jobs.has(nameOf(group, job, ordinal))) ordinal += 1;
    return { name: nameOf(group, job, ordinal), group, pinned: false, madeFor: undefined };
  });
  return [...kept, ...missing];
}

function nameOf(group: GroupSpec, job: GiteaJob, ordinal: number): string {
  return `${group.name}-${job.id}-${ordinal}`;
}

/** Runners of an older pod template that have not come are replaced, as ours are: that is asked for, and costs starts. */
function isFree({ pod, createdMs, group }: KubeJob, stage: Stage): boolean {
  const { nowMs } = stage;
  if (isAstray(pod, stage) || (pod.phase !== 'idle' && pod.template !== stage.templateOf(group))) return false;
  switch (pod.phase) {
    case 'idle':
      // It lets a ready job wait: it has lost a race and sleeps (#38200).
      return nowMs - (pod.registeredMs ?? nowMs) < group.spawnTimeoutS * 1000;
    case 'waiting':
      return true;
    case 'starting':
      // Only of an image that cannot be pulled is it known that it does not come.
      return pod.fate.start !== 'image' || nowMs - createdMs < group.pendingDeadlineS * 1000;
    case 'busy':
    case 'kept':
    case 'ended':
      return false;
    default:
      return pod.phase satisfies never;
  }
}
