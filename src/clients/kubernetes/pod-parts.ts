/** What several judges read of a pod or Job. Pure. */
import type { KubePod } from './shapes.ts';

/** The state of container `runner`. Undefined: Kubernetes does not show it yet. */
export function runnerState({ status }: Pick<KubePod, 'status'>) {
  return status?.containerStatuses?.find(({ name }) => name === 'runner')?.state;
}

interface WithConditions<C> {
  readonly status?: { readonly conditions?: readonly C[] | null | undefined } | null | undefined;
}

/** A condition, whatever its status. */
export function conditionOf<C extends { readonly type: string }>(
  object: WithConditions<C>,
  wanted: string,
): C | undefined {
  return object.status?.conditions?.find(({ type }) => type === wanted);
}

/** A condition whose status is True. */
export function conditionMet<C extends { readonly type: string; readonly status: string }>(
  object: WithConditions<C>,
  wanted: string,
): C | undefined {
  return object.status?.conditions?.find(({ type, status }) => type === wanted && status === 'True');
}

/** The Job that made a pod, as the pod refers to it. */
export function jobOf<R extends { readonly kind: string }>({
  metadata,
}: {
  readonly metadata: { readonly ownerReferences?: readonly R[] | null | undefined };
}): R | undefined {
  return metadata.ownerReferences?.find(({ kind }) => kind === 'Job');
}

/** The uid of the Job that made a pod. */
export function jobUidOf(pod: KubePod): string | undefined {
  return jobOf(pod)?.uid;
}
