/**
 * The measure for all other policies. It sees the true state of Gitea and Kubernetes in the instant of its decision
 * (not the future: a pod that never starts looks slow to it, too), counts, and keeps no names. It has the same Argo CD.
 */
import type { GiteaJob } from '../../../simulator/gitea/gitea.ts';
import { repoOf } from '../../../simulator/gitea/model.ts';
import { type Ceiling, ceilingsOf, countsJobs, isOverBranch, partOf, weightOf } from '../ceilings.ts';
import { type Cluster, isAstray, isFree, type KubeJob, type Pod } from '../cluster.ts';
import { type GroupSpec, neverStarts } from '../history.ts';
import { staying } from '../keeping.ts';
import type { Observation } from '../look.ts';
import type { Stage } from '../stage.ts';
import type { Generator, Wanted } from './policy.ts';

const WIDTH = { repo: 0, owner: 1, global: 2 } as const;

export const EXACT: Generator = { kind: 'generator', seesPods: true, decide };

function decide(stage: Stage, cluster: Cluster, sight: Observation): readonly Wanted[] {
  const groups = [...sight.groups].sort(byOwnership);
  const wanted: Wanted[] = [];
  const taken: { readonly pod: Pod; readonly group: GroupSpec }[] = [];
  // It sees runners of other Applications, too.
  for (const group of stage.history.groups) {
    // Runners whose Job was deleted while they worked hold their slot, too.
    const busy = cluster.pods.filter((pod) => pod.group === group && pod.phase === 'busy');
    const kept = staying(cluster.pods, group, stage.nowMs);
    const coming = [...cluster.jobs.values()].flatMap(({ pod }) => (pod.group === group && isFree(pod) ? pod : []));
    const others = groups.includes(group) ? [] : coming;
    taken.push(...[...busy, ...kept, ...others].map((pod) => ({ pod, group })));
    if (!groups.includes(group)) continue;
    wanted.push(...waiting(cluster, group, kept));
    for (const pod of busy) {
      const job = cluster.jobs.get(pod.name);
      if (job?.pod === pod) wanted.push({ name: pod.name, group, pinned: true, skip: job.pinned, madeFor: undefined });
    }
  }
  const ready = new Map(groups.flatMap((group) => stage.readyJobs(group).map((job) => [job.id, job])));
  const queue = [...ready.values()].sort((a, b) => a.updated - b.updated || a.id - b.id);
  for (const [group, share] of shareOut(stage, groups, queue, taken))
    wanted.push(...fill(stage, cluster, group, share));
  return wanted;
}

/** The jobs that each group has places for. A job over a limit per repository stops younger ones (docs/adr/0072): it knows Gitea's order. */
function shareOut(
  stage: Stage,
  groups: readonly GroupSpec[],
  queue: readonly GiteaJob[],
  taken: readonly { readonly pod: Pod; readonly group: GroupSpec }[],
  onlySize: ReadonlySet<GroupSpec> = new Set(),
): ReadonlyMap<GroupSpec, readonly GiteaJob[]> {
  const ceilings = ceilingsOf(stage.history, (group) => stage.specOf(group));
  const used = new Map<string, number>();
  const repository = (job: GiteaJob): string => repoOf(stage.gitea.state, job).fullName.toLowerCase();
  const branchOf = ({ runId }: GiteaJob): string => stage.gitea.state.runs.get(runId)?.branch ?? 'main';
  const keysOf = (group: GroupSpec, job: GiteaJob | undefined): readonly (readonly [string, Ceiling])[] =>
    ceilings
      .filter((each) => each.groups.includes(group) && (job === undefined || isOverBranch(each, branchOf(job))))
      .map((each) => [each.per && job ? `${each.name} ${partOf(each, repository(job))}` : each.name, each]);
  const take = (group: GroupSpec, job: GiteaJob | undefined): void => {
    for (const [key] of keysOf(group, job)) used.set(key, (used.get(key) ?? 0) + weightOf(group));
  };
  for (const { pod, group } of taken) take(group, pod.job && stage.gitea.state.jobs.get(pod.job.id));
  const shares = new Map<GroupSpec, GiteaJob[]>(groups.map((group) => [group, []]));
  const stopped = new Set(onlySize);
  const stoppedIn = new Map<string, Set<number>>();
  const stop = (group: GroupSpec, { repoId, labels }: GiteaJob): void => {
    // A bound runner gets jobs of its repository only.
    if (stage.specOf(group).isBound) stoppedIn.set(group.name, (stoppedIn.get(group.name) ?? new Set()).add(repoId));
    else
      for (const other of groups)
        if (other.name === group.name && labels?.every((label) => other.labels.includes(label))) stopped.add(other);
  };
  const isStopped = (group: GroupSpec, { repoId }: GiteaJob): boolean =>
    stopped.has(group) || stoppedIn.get(group.name)?.has(repoId) === true;
  for (const job of queue) {
    const owners = groups.filter((group) => stage.isFor(group, job));
    const lackingIn = (group: GroupSpec) =>
      keysOf(group, job).find(([key, { most }]) => most() - (used.get(key) ?? 0) < weightOf(group));
    const open = owners.filter((group) => {
      if (isStopped(group, job)) return false;
      const lacking = lackingIn(group);
      if (lacking && countsJobs(lacking[1])) stop(group, job);
      return !lacking;
    });
    const [first] = open;
    if (first) {
      take(first, job);
      shares.get(first)?.push(job);
      continue;
    }
    const [owner] = owners;
    const lacking = owner && !isStopped(owner, job) ? lackingIn(owner) : undefined;
    if (lacking) used.set(lacking[0], Math.max(lacking[1].most(), used.get(lacking[0]) ?? 0));
  }
  // A runner of another size could take an older job.
  const sizes = [...stopped].filter((group) => (shares.get(group)?.length ?? 0) > 0);
  const rankOf = (group: GroupSpec): number => queue.indexOf(shares.get(group)?.[0] as GiteaJob);
  const late = sizes.filter((group) =>
    sizes.some((other) => other.name === group.name && rankOf(other) < rankOf(group)),
  );
  return late.length === 0 ? shares : shareOut(stage, groups, queue, taken, new Set([...onlySize, ...late]));
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

/** Keeps as many free runners as there are jobs, registered ones first, and makes the missing ones. */
function fill(stage: Stage, cluster: Cluster, group: GroupSpec, share: readonly GiteaJob[]): readonly Wanted[] {
  const repos = stage.specOf(group).isBound ? [...new Set(share.map(({ repoId }) => repoId))] : [undefined];
  return repos.flatMap((repoId) => {
    const jobs = repoId === undefined ? share : share.filter((job) => job.repoId === repoId);
    return fillFrom(stage, cluster, group, jobs, repoId);
  });
}

/** @param repoId its runners are bound to this repository */
function fillFrom(
  stage: Stage,
  cluster: Cluster,
  group: GroupSpec,
  share: readonly GiteaJob[],
  repoId: number | undefined,
): readonly Wanted[] {
  const free = [...cluster.jobs.values()]
    .filter((job) => job.group === group && job.pod.repoId === repoId && mayTakeJob(job, stage))
    .sort((a, b) => Number(b.pod.phase === 'idle') - Number(a.pod.phase === 'idle') || a.createdMs - b.createdMs);
  const kept = free.slice(0, share.length).map(({ name }) => ({ name, group, pinned: false, madeFor: undefined }));
  const missing = share.slice(kept.length).map((job) => {
    let ordinal = 0;
    while (cluster.jobs.has(nameOf(group, job, ordinal))) ordinal += 1;
    const boundTo = repoId === undefined ? undefined : stage.repoNow(repoId);
    return { name: nameOf(group, job, ordinal), group, pinned: false, madeFor: undefined, boundTo };
  });
  return [...kept, ...missing];
}

function nameOf(group: GroupSpec, job: GiteaJob, ordinal: number): string {
  return `${group.name}${group.size ?? ''}-${job.id}-${ordinal}`;
}

/** Runners of an older pod template that have not come are replaced, as ours are: that is asked for, and costs starts. */
function mayTakeJob({ pod, createdMs, group }: KubeJob, stage: Stage): boolean {
  const { nowMs } = stage;
  if (isAstray(pod, stage) || (pod.phase !== 'idle' && pod.template !== stage.templateOf(group))) return false;
  switch (pod.phase) {
    case 'idle':
      // The runner lets a ready job wait: it has lost a race and sleeps (#38200).
      return nowMs - (pod.registeredMs ?? nowMs) < group.spawnTimeoutS * 1000;
    case 'waiting':
      return true;
    case 'starting':
      return !neverStarts(pod.fate) || nowMs - createdMs < group.pendingDeadlineS * 1000;
    case 'busy':
    case 'kept':
    case 'ended':
      return false;
    default:
      return pod.phase satisfies never;
  }
}
