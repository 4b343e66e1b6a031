/**
 * What we add to Argo CD's own objects. Each is a part of an object, good for two uses:
 *
 * - server-side apply with a field manager of our own, which adds these fields and owns nothing else;
 * - kustomize's strategic merge.
 */
import { ApiObject } from 'cdk8s';
import { k8s } from 'cdk8s-plus-28';
import type { Construct } from 'constructs';
import { ACCOUNT, ARGOCD_NAMESPACE, PROJECT } from '../src/shared/installed/installed-names.ts';
import { ACTIONS } from './actions.ts';
import { HEALTH_LUA } from './health.ts';
import { REPO_SERVER_ACCOUNT } from './names.ts';
import { sidecar, sidecarVolumes } from './sidecar.ts';

/** Keys of the ConfigMap argocd-cm. */
export const ARGOCD_CM = {
  [`accounts.${ACCOUNT}`]: 'apiKey',
  'resource.customizations.health.gitea.bpg.pw_RunnerGroup': HEALTH_LUA,
  'resource.customizations.actions.gitea.bpg.pw_RunnerGroup': ACTIONS,
  // A new time of the last look is no reason to compare the Application again.
  'resource.customizations.ignoreResourceUpdates.gitea.bpg.pw_RunnerGroup':
    'jsonPointers:\n  - /status/lastCheckTime\n',
} as const;

/**
 * Keys of the ConfigMap argocd-rbac-cm. The name keeps it apart from `policy.csv`, which belongs to others: Argo CD joins all
 * keys `policy.*.csv`. `get` covers the hard refresh, `sync` the sync; nothing else is ever asked.
 */
export const ARGOCD_RBAC_CM = {
  [`policy.${ACCOUNT}.csv`]: ['get', 'sync']
    .map((action) => `p, ${ACCOUNT}, applications, ${action}, ${PROJECT}/*, allow\n`)
    .join(''),
} as const;

/** The sidecar and its volumes. */
export function repoServerPatch(scope: Construct): ApiObject {
  return new ApiObject(scope, 'patch', {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'argocd-repo-server', namespace: ARGOCD_NAMESPACE },
    spec: {
      template: {
        // kustomize puts our container first; `kubectl logs` and `exec` must still mean Argo CD's.
        metadata: { annotations: { 'kubectl.kubernetes.io/default-container': 'argocd-repo-server' } },
        spec: {
          containers: [k8s.toJson_Container(sidecar())],
          volumes: sidecarVolumes().map(k8s.toJson_Volume),
        },
      },
    },
  });
}

/** Account, health check, actions, and what is no news. */
export function argoCdCmPatch(scope: Construct): k8s.KubeConfigMap {
  return new k8s.KubeConfigMap(scope, 'patch', { metadata: metadata('argocd-cm'), data: ARGOCD_CM });
}

/** What the account may do. */
export function argoCdRbacPatch(scope: Construct): k8s.KubeConfigMap {
  return new k8s.KubeConfigMap(scope, 'patch', { metadata: metadata('argocd-rbac-cm'), data: ARGOCD_RBAC_CM });
}

/** With the labels that Argo CD's manifests have: it does not read a ConfigMap without them, so they are better stated twice. */
function metadata(name: string): k8s.ObjectMeta {
  const labels = { 'app.kubernetes.io/name': name, 'app.kubernetes.io/part-of': 'argocd' };
  return { name, namespace: ARGOCD_NAMESPACE, labels };
}

/**
 * Values of the community chart `argo-cd` that have the effect of the patches. The chart passes `extraContainers` through its template engine; nothing of
 * ours holds `{{`.
 */
export function helmValues(): unknown {
  return {
    configs: { cm: ARGOCD_CM, rbac: ARGOCD_RBAC_CM },
    repoServer: {
      // By default its name follows from that of the release, and our role binding would not find it.
      serviceAccount: { name: REPO_SERVER_ACCOUNT },
      extraContainers: [plain(k8s.toJson_Container(sidecar()))],
      volumes: sidecarVolumes().map((volume) => plain(k8s.toJson_Volume(volume))),
    },
  };
}

/** Without the `undefined` members of the constructs, which YAML would show as null. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
