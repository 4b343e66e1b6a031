/** Why a pod does not start, or has ended before its runner started, as Kubernetes shows it. Pure. */

import { NO_POD, type PodTrouble } from '../../planner/evidence.ts';
import { REGISTER } from '../../shared/marks.ts';
import { printable } from '../../shared/printable.ts';
import { conditionOf, runnerState } from './pod-parts.ts';
import type { KubePod } from './shapes.ts';

/** Longest message, in characters: it goes into the status of a RunnerGroup and into an Event. */
export const LONGEST_MESSAGE = 300;

/** The kubelet's words for a container that it cannot start (1.34: pkg/kubelet/images/types.go, container/sync_result.go, kuberuntime). */
const CANNOT_START: ReadonlySet<string> = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'ErrImageNeverPull',
  'InvalidImageName',
  'ImageInspectError',
  'RegistryUnavailable',
  'CreateContainerConfigError',
  'CreateContainerError',
  'RunContainerError',
  'CrashLoopBackOff',
]);

/** Kubernetes has created no pod. It tells the cause in an Event only, which we do not read. */
export const NO_POD_YET: PodTrouble = {
  reason: NO_POD,
  message: 'Kubernetes has created no pod: a quota or an admission rule may refuse it',
};

/** Undefined: the pod is on its way. */
export function troubleOfPending(pod: KubePod): PodTrouble | undefined {
  const { status } = pod;
  const scheduled = conditionOf(pod, 'PodScheduled');
  if (scheduled?.status === 'False') return trouble(scheduled.reason ?? 'Unschedulable', scheduled.message);
  const containers = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  const waiting = containers.map(({ state }) => state?.waiting).find((each) => CANNOT_START.has(each?.reason ?? ''));
  if (!waiting) return undefined;
  // The two words take turns every few minutes. They are one trouble.
  const reason = waiting.reason === 'ErrImagePull' ? 'ImagePullBackOff' : waiting.reason;
  const message = waiting.message?.replace(/^Back-off pulling image "[^"]*": (?:ErrImagePull: )?/, '');
  return { ...trouble(reason ?? '', message), ofNode: true };
}

/** Undefined: its runner has started, or nobody knows. */
export function troubleOfEnded(pod: KubePod | undefined): PodTrouble | undefined {
  const runner = pod && runnerState(pod);
  // A docker sidecar may end with any code after the runner has done its work.
  if (runner?.running || runner?.terminated) return undefined;
  for (const { name, state } of pod?.status?.initContainerStatuses ?? []) {
    const code = state?.terminated?.exitCode ?? 0;
    if (code === 0) continue;
    const reason = name === REGISTER ? 'RegistrationFailed' : 'InitContainerFailed';
    return trouble(reason, `container ${name} ended with exit code ${code}`);
  }
  return undefined;
}

function trouble(reason: string, message: string | null | undefined): PodTrouble {
  const text = printable(message ?? '').slice(0, LONGEST_MESSAGE);
  return { reason: printable(reason), ...(text !== '' && { message: text }) };
}
