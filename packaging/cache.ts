/**
 * `cache.yaml`, an option: a `gitea-runner cache-server` for the groups whose `spec.cache` names it (docs/cache.md). One replica: which CI
 * job may read what is in its memory, and its index is a file that one process opens.
 */
import { k8s } from 'cdk8s-plus-28';
import type { Construct } from 'constructs';
import { DEFAULT_IMAGES } from '../src/config/runnergroup/group-schema.ts';
import { RUNNER_ID } from '../src/manifests/container-mode.ts';
import { CACHE_SECRET_VARIABLE, PRINT_WITH_SECRET, SECRET_CONFIG_FILE } from '../src/manifests/init-containers.ts';
import { withoutExpansion } from '../src/manifests/job-manifest.ts';
import { RUNNER_APP } from '../src/shared/marks.ts';
import { RUNNERS_NAMESPACE } from './names.ts';
import { tcp } from './network.ts';

/** Name of all objects, and of the Secret that a person creates. */
const NAME = 'gitea-runner-cache';
const PORT = 8088;
const LABELS = { 'app.kubernetes.io/name': NAME, 'app.kubernetes.io/part-of': 'argocd-gitea-runners' } as const;
const METADATA = { name: NAME, namespace: RUNNERS_NAMESPACE, labels: LABELS };

/**
 * The server reads its secret from a file only, too. It handles no SIGTERM, which ends a program unless it is process 1: so a shell is
 * that. `--host` is the host of the URLs that clients get: they must reach it by the same name.
 */
const SCRIPT = `${PRINT_WITH_SECRET}folder=\${1%/*}
echo 'cache:' > "$folder/base.yaml" || exit 1
(umask 077 && with_secret "$folder/base.yaml" > "$1") || exit 1
unset ${CACHE_SECRET_VARIABLE}
trap 'kill $!; wait $!; exit 0' TERM INT
gitea-runner cache-server --config "$1" --dir "$2" --host "$3" --port "$4" &
wait $!
`;

/** The objects in the order of the file. */
export function cacheServer(scope: Construct): {
  readonly claim: k8s.KubePersistentVolumeClaim;
  readonly deployment: k8s.KubeDeployment;
} {
  const claim = new k8s.KubePersistentVolumeClaim(scope, 'claim', {
    metadata: METADATA,
    spec: {
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: k8s.Quantity.fromString('20Gi') } },
    },
  });
  const deployment = new k8s.KubeDeployment(scope, 'deployment', {
    metadata: METADATA,
    spec: {
      replicas: 1,
      selector: { matchLabels: LABELS },
      strategy: { type: 'Recreate' },
      template: { metadata: { labels: LABELS }, spec: podSpec() },
    },
  });
  new k8s.KubeService(scope, 'service', {
    metadata: METADATA,
    spec: { selector: LABELS, ports: [{ name: 'cache', port: PORT, targetPort: k8s.IntOrString.fromString('cache') }] },
  });
  new k8s.KubeNetworkPolicy(scope, 'network', {
    metadata: METADATA,
    spec: {
      podSelector: { matchLabels: LABELS },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ from: [{ podSelector: { matchLabels: RUNNER_APP } }], ports: [tcp(PORT)] }],
      egress: [],
    },
  });
  return { claim, deployment };
}

function podSpec(): k8s.PodSpec {
  return {
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    nodeSelector: { 'kubernetes.io/os': 'linux' },
    terminationGracePeriodSeconds: 10,
    securityContext: {
      fsGroup: RUNNER_ID,
      runAsGroup: RUNNER_ID,
      runAsNonRoot: true,
      runAsUser: RUNNER_ID,
      seccompProfile: { type: 'RuntimeDefault' },
    },
    containers: [container()],
    volumes: [
      { name: 'cache', persistentVolumeClaim: { claimName: NAME } },
      { name: 'config', emptyDir: { medium: 'Memory', sizeLimit: k8s.Quantity.fromString('1Mi') } },
    ],
  };
}

function container(): k8s.Container {
  const words = [SECRET_CONFIG_FILE, '/data/cache', `${NAME}.${RUNNERS_NAMESPACE}.svc`, String(PORT)];
  return {
    name: 'cache',
    image: DEFAULT_IMAGES.host,
    imagePullPolicy: 'IfNotPresent',
    command: ['sh', '-c', withoutExpansion(SCRIPT), 'cache', ...words],
    env: [{ name: CACHE_SECRET_VARIABLE, valueFrom: { secretKeyRef: { name: NAME, key: 'secret' } } }],
    ports: [{ name: 'cache', containerPort: PORT }],
    readinessProbe: { tcpSocket: { port: k8s.IntOrString.fromString('cache') }, periodSeconds: 5 },
    resources: {
      requests: { cpu: k8s.Quantity.fromString('20m'), memory: k8s.Quantity.fromString('64Mi') },
      limits: { memory: k8s.Quantity.fromString('512Mi') },
    },
    securityContext: {
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
      readOnlyRootFilesystem: true,
    },
    volumeMounts: [
      { name: 'cache', mountPath: '/data' },
      { name: 'config', mountPath: SECRET_CONFIG_FILE.slice(0, SECRET_CONFIG_FILE.lastIndexOf('/')) },
    ],
  };
}
