/** How the pod of a runner ended badly, in Kubernetes' words, for people. Pure. Nothing is decided by it. */
import type { PodEnd } from '../../planner/evidence.ts';
import { printable } from '../../shared/printable.ts';
import { type LossReason, lossOf } from './pod-loss.ts';
import { conditionMet, runnerState } from './pod-parts.ts';
import { LONGEST_MESSAGE, troubleOfEnded } from './pod-trouble.ts';
import type { KubeJob, KubePod } from './shapes.ts';

const LOSS: Readonly<Record<LossReason, string>> = {
  Evicted: 'its pod was evicted',
  Preempted: 'a pod of higher priority took its place',
  NodeLost: 'its node is gone, or shuts down',
  OOMKilled: 'it needed more memory than its limit',
  PodDeleted: 'its pod was deleted',
};

/**
 * Undefined: it has not ended, it ended well, or Kubernetes does not say.
 * @param pods pods of this Job; others must not be among them.
 */
export function podEndOf(job: KubeJob, pods: readonly KubePod[]): PodEnd | undefined {
  const loss = lossOf(job, pods);
  if (loss !== undefined) return { reason: loss, message: toldBy(pods) ?? LOSS[loss] };
  const failed = conditionMet(job, 'Failed');
  if (!failed) return undefined;
  if (failed.reason === 'DeadlineExceeded')
    return { reason: failed.reason, message: 'it ran longer than activeDeadlineSeconds' };
  for (const pod of pods) {
    const trouble = troubleOfEnded(pod);
    if (trouble) return { reason: trouble.reason, ...(trouble.message !== undefined && { message: trouble.message }) };
    const runner = runnerState(pod)?.terminated;
    if (runner && runner.exitCode !== 0)
      return { reason: 'RunnerFailed', message: `container runner ended with exit code ${runner.exitCode}` };
  }
  return undefined;
}

/** What the kubelet writes about an eviction. */
function toldBy(pods: readonly KubePod[]): string | undefined {
  const message = pods.map(({ status }) => status?.message).find((each) => each != null && each !== '');
  return message == null ? undefined : printable(message).slice(0, LONGEST_MESSAGE);
}
