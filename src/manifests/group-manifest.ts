import type { RunnerGroup } from '../config/runnergroup/runner-group.ts';

/** What every Kubernetes object has. */
export interface ObjectManifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

/** The object as it was written, with the namespace that was found for it. */
export function groupManifest({ manifest, name, namespace }: RunnerGroup): ObjectManifest {
  const { metadata } = manifest;
  const written = typeof metadata === 'object' && metadata !== null ? metadata : {};
  return {
    ...manifest,
    apiVersion: 'gitea.bpg.pw/v1alpha1',
    kind: 'RunnerGroup',
    metadata: { ...written, name, namespace },
  };
}

/**
 * True when the destination cluster has the RunnerGroup CRD. Argo CD lists what a cluster serves in `KUBE_API_VERSIONS`,
 * separated by commas, as `group/version/Kind` (measured on 3.5.3).
 */
export function knowsRunnerGroups(env: Readonly<Record<string, string | undefined>>): boolean {
  return (env['KUBE_API_VERSIONS'] ?? '')
    .split(',')
    .some((kind) => kind.trim() === 'gitea.bpg.pw/v1alpha1/RunnerGroup');
}
