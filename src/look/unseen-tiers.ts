import { Failure } from '../failure.ts';
import type { RunnerGroup } from '../runnergroup/runner-group.ts';

/**
 * A runner keeps the PriorityClass that its Job was created with. Only Kubernetes knows that class: Gitea does not, and a rank among the
 * runners that Gitea shows moves with every claim. A second sync would then change a field that cannot be changed (docs/adr/0034).
 * @throws Failure exit 2: a group has priority tiers, and nobody looked at Kubernetes.
 */
export function refuseUnseenTiers(groups: readonly RunnerGroup[], jobsWereListed: boolean): void {
  if (jobsWereListed) return;
  const tiered = groups.find(({ priorityTiers }) => priorityTiers.length > 0);
  if (!tiered) return;
  const { namespace, name, place } = tiered;
  throw new Failure(
    'GR-INPUT-92',
    2,
    `${place.file}:${place.line}: RunnerGroup ${namespace}/${name} has priorityTiers, which need sight of its Jobs in the cluster, and no ` +
      'cluster was looked at. Mount the service account token of gitea-runners or name a kubeconfig, do not use --cluster off, or remove priorityTiers.',
  );
}
