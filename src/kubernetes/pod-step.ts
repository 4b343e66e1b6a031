/** How far a runner's pod has come, for traces. Judges only. */
import { REGISTER } from '../charts/marks.ts';
import type { KubePod } from './shapes.ts';

/**
 * - `created`: the API server has it. `scheduled`: it has a node.
 * - `registering`: the init container that registers the runner has begun. `registered`: it is done.
 * - `started`: the runner's container runs or has run.
 */
export const POD_STEPS = ['created', 'scheduled', 'registering', 'registered', 'started'] as const;
export type PodStep = (typeof POD_STEPS)[number];

export function podStep({ status }: KubePod): PodStep {
  const runner = status?.containerStatuses?.find(({ name }) => name === 'runner')?.state;
  if (runner?.running || runner?.terminated) return 'started';
  const register = status?.initContainerStatuses?.find(({ name }) => name === REGISTER)?.state;
  if (register?.terminated?.exitCode === 0) return 'registered';
  if (register?.running || register?.terminated) return 'registering';
  const isScheduled = status?.conditions?.some(({ type, status: is }) => type === 'PodScheduled' && is === 'True');
  return isScheduled ? 'scheduled' : 'created';
}

/** The uid of the Job that made it. */
export function jobUidOf({ metadata }: KubePod): string | undefined {
  return metadata.ownerReferences?.find(({ kind }) => kind === 'Job')?.uid;
}
