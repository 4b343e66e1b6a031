/** How far a runner's pod has come, for traces. Judges only. */
import { REGISTER } from '../../shared/marks.ts';
import { conditionMet, runnerState } from './pod-parts.ts';
import type { KubePod } from './shapes.ts';

/**
 * - `created`: the API server has it. `scheduled`: it has a node.
 * - `registering`: the init container that registers the runner has begun. `registered`: it is done.
 * - `started`: the runner's container runs or has run.
 */
const POD_STEPS = ['created', 'scheduled', 'registering', 'registered', 'started'] as const;
export type PodStep = (typeof POD_STEPS)[number];

export function podStep(pod: KubePod): PodStep {
  const runner = runnerState(pod);
  if (runner?.running || runner?.terminated) return 'started';
  const register = pod.status?.initContainerStatuses?.find(({ name }) => name === REGISTER)?.state;
  if (register?.terminated?.exitCode === 0) return 'registered';
  if (register?.running || register?.terminated) return 'registering';
  return conditionMet(pod, 'PodScheduled') ? 'scheduled' : 'created';
}
