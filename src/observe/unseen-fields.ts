import type { RunnerGroup } from '../config/runnergroup/runner-group.ts';
import { Failure } from '../shared/failure.ts';

/** Fields that need sight of the Jobs in the cluster, and whether a group has them. */
const NEED_SIGHT = {
  priorityTiers: ({ priorityTiers }: RunnerGroup) => priorityTiers.length > 0,
  keepFailedSeconds: ({ keepFailedSeconds }: RunnerGroup) => keepFailedSeconds > 0,
} as const;

/**
 * `priorityTiers`: a runner keeps the PriorityClass that its Job was created with. Only Kubernetes knows that class: Gitea does not, and a
 * rank among the runners that Gitea shows moves with every claim. A second sync would then change a field that cannot be changed
 * (docs/adr/0034).
 *
 * `keepFailedSeconds`: only Kubernetes knows whether the pod waits, and until when somebody wants it to (docs/adr/0037).
 * @throws Failure exit 2: a group has one of them, and nobody looked at Kubernetes.
 */
export function refuseUnseen(groups: readonly RunnerGroup[], jobsWereListed: boolean): void {
  if (jobsWereListed) return;
  for (const [field, isSet] of Object.entries(NEED_SIGHT)) {
    const group = groups.find(isSet);
    if (!group) continue;
    const { namespace, name, place } = group;
    throw new Failure(
      'GR-INPUT-92',
      2,
      `${place.file}:${place.line}: RunnerGroup ${namespace}/${name} has ${field}, which need${field.endsWith('Tiers') ? '' : 's'} sight of its Jobs in the cluster, and no ` +
        `cluster was looked at. Mount the service account token of gitea-runners or name a kubeconfig, do not use --cluster off, or remove ${field}.`,
    );
  }
}
