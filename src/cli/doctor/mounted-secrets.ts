/** The API tokens as the sidecar gets them: from Secrets of Argo CD's namespace that are mounted into it. */
import { join } from 'node:path';
import type { ClusterSecrets, SecretPlace } from '../../clients/kubernetes/secrets.ts';
import type { SecretKeys, SecretReader } from '../../clients/tokens/api-token.ts';
import { Failure } from '../../shared/failure.ts';
import { API_SECRETS_DIR, NAME } from '../../shared/installed/names.ts';
import type { SeenOrNot } from './reader.ts';
import type { Deployment } from './shapes.ts';

/**
 * Where somebody who looks from outside finds the API tokens: where the sidecar has them. @param repoServer undefined: it was not read
 */
export function installedSecrets(
  secrets: ClusterSecrets,
  settings: Readonly<Record<string, string>>,
  argocdNamespace: string,
  repoServer: SeenOrNot<Deployment> | undefined,
): SecretReader {
  const isByApi = settings['GITEA_RUNNERS_SECRETS'] === 'api';
  const sidecar = repoServer && 'value' in repoServer ? repoServer.value : undefined;
  return isByApi ? secrets : new MountedSecrets(secrets, argocdNamespace, sidecar);
}

class MountedSecrets implements SecretReader {
  readonly #secrets: ClusterSecrets;
  readonly #argocdNamespace: string;
  readonly #names: ReadonlyMap<string, string> | undefined;

  /** @param repoServer undefined: it is not known, and then a Secret is looked for under the name that a group gives it. */
  constructor(secrets: ClusterSecrets, argocdNamespace: string, repoServer: Deployment | undefined) {
    this.#secrets = secrets;
    this.#argocdNamespace = argocdNamespace;
    this.#names = repoServer && mountedSecrets(repoServer);
  }

  async read(namespace: string, name: string): Promise<SecretKeys> {
    const place = this.placeOf(namespace, name);
    return await this.#secrets.read(place.namespace, place.name);
  }

  /** @throws Failure when it is not mounted */
  placeOf(namespace: string, name: string): SecretPlace {
    const [own, common] = [join(API_SECRETS_DIR, namespace, name), join(API_SECRETS_DIR, name)];
    const mounted = this.#names ? (this.#names.get(own) ?? this.#names.get(common)) : name;
    if (mounted !== undefined) return { namespace: this.#argocdNamespace, name: mounted };
    throw new Failure(
      'GR-DOCTOR-02',
      1,
      `find the API token of namespace ${namespace}: no Secret is mounted into the sidecar at ${common}. ` +
        'If authToken is right, mount it ("A second Gitea" in docs/install.md).',
      'not-found',
    );
  }

  /** The registration Secret is judged by itself. */
  async readUrl(): Promise<undefined> {
    return undefined;
  }
}

/** Names of Secrets by the folder of the sidecar that they are mounted at; undefined: there is no sidecar. */
function mountedSecrets({ spec }: Deployment): ReadonlyMap<string, string> | undefined {
  const { containers, volumes } = spec.template.spec;
  const sidecar = containers.find(({ name }) => name === NAME);
  if (!sidecar) return undefined;
  const bySource = new Map(volumes.map(({ name, secret }) => [name, secret?.secretName]));
  return new Map(
    sidecar.volumeMounts.flatMap(({ name, mountPath }) => {
      const secret = bySource.get(name);
      return secret === undefined ? [] : [[join(mountPath), secret] as const];
    }),
  );
}
