/**
 * The sidecar in Argo CD's repo-server pod: Argo CD's own cmp-server, which starts `generate` for each request. Pure data,
 * so that the kustomize patch and the Helm values are made of the same.
 */
import { k8s } from 'cdk8s-plus-28';
import { SERVICE_ACCOUNT_DIR } from '../src/clients/kubernetes/config.ts';
import {
  API_SECRET,
  API_SECRETS_DIR,
  CA_DIR,
  IMAGE,
  PLUGIN,
  PLUGIN_SERVER,
  PLUGIN_SERVER_DIR,
  PLUGIN_SOCKETS_DIR,
  POLICY,
  SETTINGS,
} from '../src/shared/installed/installed-names.ts';
import { CA_BUNDLE, POLICY_DIR, PROXY_SECRET, TINI, USER_ID } from './names.ts';

/** What every container of ours may do: Pod Security Standard "restricted", and no writable root. */
export const CONFINED: k8s.SecurityContext = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  readOnlyRootFilesystem: true,
  runAsGroup: USER_ID,
  runAsNonRoot: true,
  runAsUser: USER_ID,
  seccompProfile: { type: 'RuntimeDefault' },
};

/** Kubernetes' own value: the token is renewed when 80 % of it have passed. */
const TOKEN_SECONDS = 3607;

/**
 * `requests`: cmp-server has 105 MB resident; one run of `generate` takes 85 to 150 MB for less than a second.
 * Memory limit: nothing in Argo CD limits how many run at once; four large ones fit. No CPU limit: a throttled run
 * is a CI job that waits, and it may last into Argo CD's time limit.
 */
const RESOURCES: k8s.ResourceRequirements = {
  requests: { cpu: k8s.Quantity.fromString('50m'), memory: k8s.Quantity.fromString('256Mi') },
  limits: { memory: k8s.Quantity.fromString('768Mi') },
};

/** Volumes of the pod that Argo CD's own manifests (and chart) have. */
const PLUGIN_SOCKETS = 'plugins';
const ARGOCD_BINARY = 'var-files';

/**
 * The container. tini is process 1, because cmp-server does not reap processes that lose their parent
 * (argoproj/argo-cd#29349). `/var/run/argocd` holds the argocd binary for all plugins: read-only, so that none can change it.
 */
export function sidecar(): k8s.Container {
  return {
    name: PLUGIN,
    image: IMAGE,
    imagePullPolicy: 'IfNotPresent',
    command: [TINI, '--', PLUGIN_SERVER],
    envFrom: [
      { secretRef: { name: PROXY_SECRET, optional: true } },
      { configMapRef: { name: SETTINGS, optional: true } },
    ],
    resources: RESOURCES,
    securityContext: CONFINED,
    volumeMounts: [
      { name: ARGOCD_BINARY, mountPath: PLUGIN_SERVER_DIR, readOnly: true },
      { name: PLUGIN_SOCKETS, mountPath: PLUGIN_SOCKETS_DIR },
      { name: 'gitea-runners-tmp', mountPath: '/tmp' },
      { name: 'gitea-runners-api', mountPath: `${API_SECRETS_DIR}/${API_SECRET}`, readOnly: true },
      { name: 'gitea-runners-ca', mountPath: CA_DIR, readOnly: true },
      { name: 'gitea-runners-policy', mountPath: POLICY_DIR, readOnly: true },
      { name: 'gitea-runners-kube', mountPath: SERVICE_ACCOUNT_DIR, readOnly: true },
    ],
  };
}

/**
 * What the sidecar mounts beyond the pod's own volumes. All of it is mounted into the sidecar alone. What a person creates
 * is optional: Argo CD must start without it.
 */
export function sidecarVolumes(): readonly k8s.Volume[] {
  return [
    // Not the repo-server's /tmp: Argo CD asks for its own, against path traversal.
    { name: 'gitea-runners-tmp', emptyDir: {} },
    apiSecretVolume(),
    caVolume(),
    policyVolume(),
    {
      name: 'gitea-runners-kube',
      projected: {
        defaultMode: READABLE,
        sources: [
          { serviceAccountToken: { path: 'token', expirationSeconds: TOKEN_SECONDS } },
          { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
        ],
      },
    },
  ];
}

/** 0444: files of a Secret belong to root, and the pod of Argo CD has no group that we could give them to. */
const READABLE = 0o444;

/** The token for Gitea's API, and the URL of the one Gitea it may be sent to. Optional: with `--secrets api` it lies elsewhere. */
export function apiSecretVolume(): k8s.Volume {
  return { name: 'gitea-runners-api', secret: { secretName: API_SECRET, defaultMode: READABLE, optional: true } };
}

/** A RunnerPolicy; used when `GITEA_RUNNERS_POLICY` names it. Once named, it must be there: without it nothing is served. */
export function policyVolume(): k8s.Volume {
  return { name: 'gitea-runners-policy', configMap: { name: POLICY, defaultMode: READABLE, optional: true } };
}

/** PEM of a private CA; used when `GITEA_RUNNERS_CA_FILE` names it. */
export function caVolume(): k8s.Volume {
  return { name: 'gitea-runners-ca', configMap: { name: CA_BUNDLE, defaultMode: READABLE, optional: true } };
}
