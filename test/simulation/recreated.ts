/** Finds new pods that no plan has requested: the return of a runner that existed when the plan was made. */
import type { GiteaJob } from '../../simulator/gitea/gitea.ts';
import type { Pod } from './cluster.ts';

/** The parts of a pod that this depends on. */
export type Namesake = Pick<
  Pod,
  'nth' | 'name' | 'createdMs' | 'claimedMs' | 'endedMs' | 'pinnedMs' | 'unpinnedMs' | 'deletedMs'
> & { readonly job: Pick<GiteaJob, 'status'> | undefined };

/** The pods, and the Jobs that are there by name. */
interface Pods {
  readonly pods: readonly Namesake[];
  readonly jobs: ReadonlyMap<string, { readonly askedAtMs: number }>;
}

/**
 * True when an earlier pod of that name
 *
 * - is at work, was pruned in the moment of its claim, or is lost: the new pod is no runner for a ready job;
 * - or was at work when the look began that asked for this one. Its Job is printed once without `hook: Skip`, so that it gets its pin. A
 *   sync that applies these manifests after the Job has gone creates it again. No plan can pin a Job without printing it once.
 */
export function isRecreated({ pods, jobs }: Pods, pod: Namesake): boolean {
  const askedAtMs = jobs.get(pod.name)?.askedAtMs ?? pod.createdMs;
  return pods.some(
    (other) => other.name === pod.name && other.nth < pod.nth && (hasOpenJob(other) || wasAtWork(other, askedAtMs)),
  );
}

/**
 * True when the Job of an earlier pod of that name was there, alive or pinned, when the look began that asked for this one, and was pruned
 * since. The plan asked for no start:
 *
 * - It printed a runner that lives. The sync of an older plan, which did not want that one, was slower, and pruned it in between.
 * - It printed the Job without `hook: Skip`, so that a sync takes its pin off. Of two syncs of these manifests the faster one does, a newer
 *   plan prunes the Job, and the slower one creates it again. No plan can take a pin off without printing its Job.
 *
 * For the look after this one the pod is a free runner like any other.
 */
export function comesBack({ pods, jobs }: Pods, pod: Namesake): boolean {
  const askedAtMs = jobs.get(pod.name)?.askedAtMs ?? pod.createdMs;
  return pods.some(
    (other) =>
      other.name === pod.name &&
      other.nth < pod.nth &&
      (wasPinned(other, askedAtMs) || wasAlive(other, askedAtMs)) &&
      isGone(other, askedAtMs),
  );
}

function wasPinned({ pinnedMs, unpinnedMs }: Namesake, atMs: number): boolean {
  return pinnedMs !== undefined && pinnedMs <= atMs && unpinnedMs !== undefined && unpinnedMs >= atMs;
}

function wasAlive({ createdMs, endedMs }: Namesake, atMs: number): boolean {
  return createdMs < atMs && (endedMs ?? atMs) >= atMs;
}

function isGone({ deletedMs }: Namesake, sinceMs: number): boolean {
  return deletedMs !== undefined && deletedMs >= sinceMs;
}

function wasAtWork({ claimedMs, endedMs }: Namesake, atMs: number): boolean {
  return claimedMs !== undefined && claimedMs <= atMs && endedMs !== undefined && endedMs >= atMs;
}

/** True when Gitea shows its CI job in progress. */
export function hasOpenJob({ job }: Pick<Namesake, 'job'>): boolean {
  return job?.status === 'running' || job?.status === 'cancelling';
}
