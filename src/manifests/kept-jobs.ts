/** The Jobs of a group whose template nobody knows, because its spec cannot be used (docs/adr/0036). Loaded when there is one. */
import type { EmittedRunner } from '../planner/decisions.ts';
import { groupLabels } from '../shared/marks.ts';
import type { ObjectManifest } from './group-manifest.ts';
import { inOrder, jobAnnotations, present, runnerLabels } from './labels.ts';

/**
 * Argo CD keeps the Job that is there, and neither changes nor creates it (`Skip`, docs/adr/0020). Where its spec was not
 * seen its pod does not matter: it is valid and suspended, in case somebody applies it by hand.
 */
export function keptJob(decision: EmittedRunner, liveSpec?: object): ObjectManifest {
  const { group, runner: name } = decision;
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      annotations: present(jobAnnotations(decision)),
      labels: inOrder(groupLabels(group.name), runnerLabels(name)),
      name,
      namespace: group.namespace,
    },
    spec: liveSpec ?? {
      suspend: true,
      template: { spec: { containers: [{ image: 'kept', name: 'runner' }], restartPolicy: 'Never' } },
    },
  } as ObjectManifest;
}
