/** The API tokens as the sidecar gets them: from Secrets of Argo CD's namespace that are mounted into it. */
import { join } from 'node:path';
import type { ClusterSecrets, SecretPlace } from '../../clients/kubernetes/secrets.ts';
import type { SecretReader } from '../../clients/tokens/api-token.ts';
import { Failure } from '../../shared/failure.ts';
import { API_SECRETS_DIR, NAME } from '../../shared/installed/names.ts';
import type { SeenOrNot } from '../read-object.ts';
import type { Deployment } from './reads.ts';

/** @param repoServer undefined: it was not read. Without a sidecar a Secret is looked for under the name that a group gives it */
export function installedSecrets(
  secrets: ClusterSecrets,
  settings: Readonly<Record<string, string>>,
  argocdNamespace: string,
  repoServer: SeenOrNot<Deployment> | undefined,
): SecretReader {
  if (settings['GITEA_RUNNERS_SECRETS'] === 'api') return secrets;
  const mounted = repoServer && 'value' in repoServer ? mountedSecrets(repoServer.value) : undefined;
  const placeOf = (namespace: string, name: string): SecretPlace => {
    const common = join(API_SECRETS_DIR, name);
    const found = mounted ? (mounted.get(join(API_SECRETS_DIR, namespace, name)) ?? mounted.get(common)) : name;
    if (found !== undefined) return { namespace: argocdNamespace, name: found };
    throw new Failure(
      'GR-DOCTOR-02',
      1,
      `find the API token of namespace ${namespace}: no Secret is mounted into the sidecar at ${common}. ` +
        'If authToken is right, mount it ("A second Gitea" in docs/install.md).',
      'not-found',
    );
  };
  const read: SecretReader['read'] = async (namespace, name) => {
    const place = placeOf(namespace, name);
    return await secrets.read(place.namespace, place.name);
  };
  // The registration Secret is judged by itself.
  return { read, placeOf, readUrl: async () => undefined };
}

/** Names of Secrets by the folder of the sidecar that they are mounted at; undefined: there is no sidecar. */
function mountedSecrets({ spec }: Deployment): ReadonlyMap<string, string> | undefined {
  const { containers, volumes } = spec.template.spec;
  const sidecar = containers.find(({ name }) => name === NAME);
  const sources = new Map(volumes.map(({ name, secret }) => [name, secret?.secretName]));
  const mounts = sidecar?.volumeMounts.flatMap(({ name, mountPath }) => {
    const secret = sources.get(name);
    return secret === undefined ? [] : [[join(mountPath), secret] as const];
  });
  return mounts && new Map(mounts);
}
