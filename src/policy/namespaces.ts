/**
 * A RunnerGroup lives in the destination namespace of its Application. In another one it would run with Secrets and cluster rights that
 * belong to another team.
 */
import { Failure } from '../failure.ts';
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
  const named = foreign
    .slice(0, MOST_NAMED)
    .map(({ namespace, name, place }) => `${namespace}/${name} (${place.file}:${place.line})`);
  const more = foreign.length > MOST_NAMED ? ` and ${foreign.length - MOST_NAMED} more` : '';
  throw new Failure(
    'GR-POLICY-01',
    3,
    `serve RunnerGroup ${named.join(', ')}${more}: the destination namespace of the Application is ${destination}, and its RunnerGroups ` +
      `live there. Remove metadata.namespace or set it to ${destination}. For another namespace, make another Application.`,
  );
}
