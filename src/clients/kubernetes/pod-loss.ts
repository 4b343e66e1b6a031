/**
 * How a runner was lost: something other than its own end has ended its pod, as Kubernetes shows it. Pure. The first rule that fits
 * decides; a runner that no rule fits was not lost.
 *
 *   1. The Job itself is deleted ....................... not lost: Argo CD or a person removes the runner
 *   2. The pod waits for its end on a node that is gone  NodeLost
 *   3. The Job has not ended, or by its own deadline ... not lost
 *   4. The Job has failed, its pod has gone ............ PodDeleted: deleted, or evicted by the API, which deletes it
 *   5. The kubelet's word for the pod .................. Evicted, Preempted, NodeLost
 *   6. Condition DisruptionTarget ...................... Evicted, Preempted, NodeLost by its reason
 *   7. Container `runner` was OOM-killed ............... OOMKilled
 *
 * A lost runner may have been idle, or may have ended its CI job just before. So a loss alone is no reason to re-run anything. A Job
 * may also be complete: the dind images end with exit code 0, whatever ended their runner (src/planner/judge.ts).
 */
import { conditionMet, runnerState } from './pod-parts.ts';
import type { KubeJob, KubePod } from './shapes.ts';

export type LossReason = 'Evicted' | 'Preempted' | 'NodeLost' | 'OOMKilled' | 'PodDeleted';

/** Reasons of `DisruptionTarget` (Kubernetes: Disruptions, "Pod disruption conditions"). Others are told as evictions. */
const DISRUPTIONS: ReadonlyMap<string, LossReason> = new Map([
  ['PreemptionByScheduler', 'Preempted'],
  ['DeletionByTaintManager', 'NodeLost'],
  ['DeletionByPodGC', 'NodeLost'],
]);

/** `status.reason` of a pod that the kubelet has ended (1.34: pkg/kubelet/eviction, nodeshutdown, preemption). */
const KUBELET_WORDS: ReadonlyMap<string, LossReason> = new Map([
  ['Evicted', 'Evicted'],
  ['Preempting', 'Preempted'],
  // A node that shuts down.
  ['Terminated', 'NodeLost'],
]);

const FINAL: ReadonlySet<string> = new Set(['Complete', 'Failed']);

/**
 * @param pods pods of this Job; others must not be among them.
 * @returns undefined: not lost, as far as Kubernetes shows.
 */
export function lossOf(job: KubeJob, pods: readonly KubePod[]): LossReason | undefined {
  if (job.metadata.deletionTimestamp != null) return undefined;
  if (pods.some(isOnLostNode)) return 'NodeLost';
  const ends = job.status?.conditions?.filter(({ type, status }) => FINAL.has(type) && status === 'True') ?? [];
  if (ends.length === 0 || ends.some(({ reason }) => reason === 'DeadlineExceeded')) return undefined;
  if (pods.length === 0) return ends.some(({ type }) => type === 'Failed') ? 'PodDeleted' : undefined;
  return pods.map(lossOfEnded).find((reason) => reason !== undefined);
}

function lossOfEnded(pod: KubePod): LossReason | undefined {
  const told = KUBELET_WORDS.get(pod.status?.reason ?? '');
  if (told) return told;
  const disruption = conditionMet(pod, 'DisruptionTarget');
  if (disruption) return DISRUPTIONS.get(disruption.reason ?? '') ?? 'Evicted';
  // Also told of a container that has lost only one of its processes, e.g. a step of the CI job. Its runner then reports the end.
  return runnerState(pod)?.terminated?.reason === 'OOMKilled' ? 'OOMKilled' : undefined;
}

/**
 * The node controller evicts the pods of an unreachable node. Their kubelet does not answer, so they wait for their end until the node is
 * removed.
 */
function isOnLostNode(pod: KubePod): boolean {
  return wasOnLostNode(pod) && !conditionMet(pod, 'Ready');
}

/** True for a runner that `lossOf` has called lost and whose node answers again: it goes on with its CI job, and reports the end. */
export function hasComeBack(pods: readonly KubePod[]): boolean {
  return pods.some((pod) => wasOnLostNode(pod) && conditionMet(pod, 'Ready'));
}

function wasOnLostNode(pod: KubePod): boolean {
  return (
    pod.metadata.deletionTimestamp != null &&
    conditionMet(pod, 'DisruptionTarget')?.reason === 'DeletionByTaintManager' &&
    runnerState(pod)?.running != null
  );
}
