/** Which Application manages which RunnerGroup and Job, as their tracking annotations say. Pure. */
import {
  type ApplicationRef,
  applicationKey,
  applicationOf,
  type ObjectRef,
} from '../../clients/argocd/application.ts';
import type { LiveGroup, LiveRunner } from './live.ts';

export function refOf({ namespace, name }: { readonly namespace: string; readonly name: string }): ObjectRef {
  return { group: 'gitea.bpg.pw', kind: 'RunnerGroup', namespace, name };
}

/** Undefined: no Application manages the group. */
export function applicationOfGroup({ trackingId, object }: LiveGroup): ApplicationRef | undefined {
  return applicationOf(trackingId, refOf(object.metadata));
}

/** Key of the Application that manages a Job; undefined: none does. */
export function keyOfJob({ trackingId, job }: LiveRunner, controlPlaneNamespace: string): string | undefined {
  const app = applicationOf(trackingId, { group: 'batch', kind: 'Job', namespace: job.namespace, name: job.name });
  return app && applicationKey(app, controlPlaneNamespace);
}
