/**
 * A RunnerGroup lives in the destination namespace of its Application. In another one it would run with Secrets and cluster rights that
 * belong to another team.
 */
import { Failure } from '../../shared/failure.ts';
import { firstNames } from '../../shared/printable.ts';
import type { RunnerGroup } from '../runnergroup/runner-group.ts';

/** Groups that the message names; the others are counted. */
const MOST_NAMED = 5;

/**
 * @param destination Argo CD's `ARGOCD_APP_NAMESPACE`. Undefined or empty: no Application asks, and nothing is refused.
 * @throws Failure exit 3: a group names another namespace.
 */
export function refuseForeignNamespaces(groups: readonly RunnerGroup[], destination: string | undefined): void {
  if (destination === undefined || destination === '') return;
  const foreign = groups.filter(({ namespace }) => namespace !== destination);
  if (foreign.length === 0) return;
  const named = foreign.map(({ namespace, name, place }) => `${namespace}/${name} (${place.file}:${place.line})`);
  throw new Failure(
    'GR-POLICY-01',
    3,
    `serve RunnerGroup ${firstNames(named, MOST_NAMED)}: the destination namespace of the Application is ${destination}, and its RunnerGroups ` +
      `live there. Remove metadata.namespace or set it to ${destination}. For another namespace, make another Application.`,
    'policy',
  );
}
