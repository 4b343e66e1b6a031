/** Names of runners follow from some settings of the installation. Who looks from outside does not have them in the environment. */
import type { Deadline } from '../../http/deadline.ts';
import { SETTINGS } from '../../install/names.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { WithData } from '../doctor/shapes.ts';
import { readObject } from '../read-object.ts';

const NAMES: ReadonlySet<string> = new Set([
  'GITEA_RUNNERS_INSTANCE',
  'GITEA_RUNNERS_RUNNER_IMAGE',
  'GITEA_RUNNERS_RUNNER_IMAGE_ROOTLESS',
  'GITEA_RUNNERS_DOCKER_IMAGE',
  'GITEA_RUNNERS_SECRETS',
]);

/** These variables, as the sidecar and `serve` have them. Empty: there are none, or they may not be read. */
export async function installedSettings(
  client: KubeClient,
  argocdNamespace: string,
  deadline: Deadline,
): Promise<Readonly<Record<string, string>>> {
  const path = `/api/v1/namespaces/${encodeURIComponent(argocdNamespace)}/configmaps/${SETTINGS}`;
  const answer = await readObject(client, `read ${path}`, path, deadline);
  const map = WithData.safeParse('json' in answer ? answer.json : {});
  return Object.fromEntries(Object.entries(map.data?.data ?? {}).filter(([name]) => NAMES.has(name)));
}
