/** Which Application manages which RunnerGroup and Job, as their tracking annotations say. Pure. */
import { type ApplicationRef, applicationKey, applicationOf, type ObjectRef } from '../../argocd/application.ts';
import type { LiveGroup, LiveRunnerOfApp } from '../cluster/live-cluster.ts';

export function refOf({ namespace, name }: { readonly namespace: string; readonly name: string }): ObjectRef {
  return { group: 'gitea.bpg.pw', kind: 'RunnerGroup', namespace, name };
}

/** Undefined: of no Application. */
export function applicationOfGroup({ trackingId, object }: LiveGroup): ApplicationRef | undefined {
  return applicationOf(trackingId, refOf(object.metadata));
}

/** Key of the Application that manages a Job. */
export function keyOfJob({ trackingId, job }: LiveRunnerOfApp, controlPlaneNamespace: string): string | undefined {
  const app = applicationOf(trackingId, { group: 'batch', kind: 'Job', namespace: job.namespace, name: job.name });
  return app && applicationKey(app, controlPlaneNamespace);
}

/** Groups by their Application's key; empty: of none. */
export function byApplication(
  groups: readonly LiveGroup[],
  controlPlaneNamespace: string,
): ReadonlyMap<string, readonly LiveGroup[]> {
  const found = new Map<string, LiveGroup[]>();
  for (const group of groups) {
    const app = applicationOfGroup(group);
    const key = app ? applicationKey(app, controlPlaneNamespace) : '';
    const members = found.get(key);
    if (members) members.push(group);
    else found.set(key, [group]);
  }
  return found;
}
