/** Real Kueue in a cluster of a test: its manager, and quota. */
import { join } from 'node:path';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { writeImage } from '../../scripts/oci-image.mjs';
import { buildKueue } from '../servers/build.ts';
import { waitUntil } from '../servers/process.ts';
import { apply } from './migrate-old.ts';
import type { Cluster } from './stack/cluster.ts';
import { USERS } from './stack/images.ts';
import { succeeds } from './stack/kubernetes.ts';

export const KUEUE_NAMESPACE = 'kueue-system';
export const KUEUE_MANAGER = 'deployment/kueue-controller-manager';

const IMAGE = 'local/kueue:0.17.0';
const CONFIG = 'controller_manager_config.yaml';

/** Kueue with its own manifests. @param config in place of fields of its configuration */
export async function startKueue(cluster: Omit<Cluster, 'close'>, config: object = {}): Promise<void> {
  const { kubernetes, images } = cluster;
  const build = buildKueue((line) => process.stdout.write(`servers: ${line}\n`));
  const tar = join(images, 'kueue.tar');
  const files = [...USERS, { path: '/manager', source: join(build, 'kueue'), mode: 0o755 }];
  await writeImage({ out: tar, name: IMAGE, layers: [{ files }], config: { User: '1000' } });
  await kubernetes.importImage(tar);
  const text = await kubernetes.kubectl(['kustomize', join(build, 'config', 'default')]);
  for (const object of parseAllDocuments(text).map((document) => document.toJS())) {
    const [manager] = object.kind === 'Deployment' ? object.spec.template.spec.containers : [];
    if (manager) Object.assign(manager, { image: IMAGE, imagePullPolicy: 'IfNotPresent' });
    if (object.data?.[CONFIG]) object.data[CONFIG] = stringify({ ...parse(object.data[CONFIG]), ...config });
    await apply(cluster, object);
  }
  await kubernetes.rolledOut(KUEUE_NAMESPACE, KUEUE_MANAGER);
}

export function kueueObject(kind: string, name: string, rest: object): object {
  return { apiVersion: 'kueue.x-k8s.io/v1beta2', kind, metadata: { name }, ...rest };
}

/** A team with quota for so many pods, whatever they ask for. @param more of its ClusterQueue */
export interface Quota {
  readonly team: string;
  readonly pods: number;
  readonly more?: Readonly<Record<string, unknown>>;
}

/** Gives each team its quota, in namespace runners. */
export async function giveQuota(cluster: Pick<Cluster, 'kubernetes'>, quotas: readonly Quota[]): Promise<void> {
  const objects = [
    kueueObject('ResourceFlavor', 'any', { spec: {} }),
    ...quotas.flatMap(({ team, pods, more }) => {
      const flavors = [{ name: 'any', resources: [{ name: 'pods', nominalQuota: pods }] }];
      const resourceGroups = [{ coveredResources: ['pods'], flavors }];
      return [
        kueueObject('ClusterQueue', team, { spec: { namespaceSelector: {}, resourceGroups, ...more } }),
        kueueObject('LocalQueue', team, {
          metadata: { name: team, namespace: 'runners' },
          spec: { clusterQueue: team },
        }),
      ];
    }),
  ];
  // Kueue's webhook answers a moment after its pod is ready.
  const isTaken = (): Promise<boolean> => succeeds(apply(cluster, ...objects));
  await waitUntil('Kueue takes a quota', isTaken, { timeoutMs: 150_000 });
}
