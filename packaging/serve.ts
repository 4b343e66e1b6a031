/** `gitea-runners serve` beside Argo CD: it wakes Argo CD when the queue in Gitea changes. */
import { k8s } from 'cdk8s-plus-28';
import type { Construct } from 'constructs';
import {
  API_SECRET,
  API_SECRETS_DIR,
  ARGOCD_NAMESPACE,
  CA_DIR,
  IMAGE,
  METRICS_PORT,
  NAME,
  SERVE_LABELS,
  SERVE_SECRET,
  SETTINGS,
} from '../src/shared/installed/installed-names.ts';
import {
  ARGOCD_TLS_DIR,
  BUNDLE,
  DEFAULTS,
  LOOKS_PORT,
  NODE,
  PAGE_PORT,
  POLICY_DIR,
  PROBE_PORT,
  PROXY_SECRET,
  RUNNERS_NAMESPACE,
  SERVE_SECRET_DIR,
  TINI,
  WEBHOOK_PORT,
} from './names.ts';
import { apiSecretVolume, CONFINED, caVolume, policyVolume } from './sidecar.ts';

const METADATA = { name: NAME, namespace: ARGOCD_NAMESPACE, labels: SERVE_LABELS };

/** The account has no rights by itself: access.ts binds them. */
export function serveAccount(scope: Construct): k8s.KubeServiceAccount {
  return new k8s.KubeServiceAccount(scope, 'account', { metadata: METADATA, automountServiceAccountToken: false });
}

/** Environment of serve that follows from these manifests. */
const SERVE_DEFAULTS = {
  GITEA_RUNNERS_ARGOCD_NAMESPACE: ARGOCD_NAMESPACE,
  // Its service by the short name, which stands in the certificate that Argo CD makes for itself.
  GITEA_RUNNERS_ARGOCD_URL: 'https://argocd-server',
  GITEA_RUNNERS_ARGOCD_CA_FILE: `${ARGOCD_TLS_DIR}/tls.crt`,
  GITEA_RUNNERS_ARGOCD_TOKEN_FILE: `${SERVE_SECRET_DIR}/argocd-token`,
  GITEA_RUNNERS_WEBHOOK_SECRET_FILE: `${SERVE_SECRET_DIR}/webhook-secret`,
  GITEA_RUNNERS_NAMESPACES: RUNNERS_NAMESPACE,
} as const;

/** Defaults of the environment; the optional ConfigMap gitea-runners-settings comes after it and wins. */
export function serveDefaults(scope: Construct): k8s.KubeConfigMap {
  return new k8s.KubeConfigMap(scope, 'defaults', { metadata: { ...METADATA, name: DEFAULTS }, data: SERVE_DEFAULTS });
}

/** Two replicas: one works, the other is ready to; both take webhooks. */
export function serveDeployment(scope: Construct): k8s.KubeDeployment {
  return new k8s.KubeDeployment(scope, 'deployment', {
    metadata: METADATA,
    spec: {
      replicas: 2,
      selector: { matchLabels: SERVE_LABELS },
      template: { metadata: { labels: SERVE_LABELS }, spec: podSpec() },
    },
  });
}

function podSpec(): k8s.PodSpec {
  return {
    serviceAccountName: NAME,
    automountServiceAccountToken: true,
    enableServiceLinks: false,
    nodeSelector: { 'kubernetes.io/os': 'linux' },
    // Ready in a second, ended in five, three of them before SIGTERM: a longer wait would only delay the other replica.
    terminationGracePeriodSeconds: 10,
    topologySpreadConstraints: [
      {
        labelSelector: { matchLabels: SERVE_LABELS },
        maxSkew: 1,
        topologyKey: 'kubernetes.io/hostname',
        whenUnsatisfiable: 'ScheduleAnyway',
      },
    ],
    containers: [container()],
    volumes: [
      apiSecretVolume(),
      { name: 'gitea-runners-serve', secret: { secretName: SERVE_SECRET, defaultMode: 0o444 } },
      // Only the certificate; the key in the same Secret is not mounted. Optional: Argo CD may have another certificate.
      {
        name: 'argocd-tls',
        secret: {
          secretName: 'argocd-secret',
          items: [{ key: 'tls.crt', path: 'tls.crt' }],
          defaultMode: 0o444,
          optional: true,
        },
      },
      caVolume(),
      policyVolume(),
    ],
  };
}

function container(): k8s.Container {
  return {
    name: 'serve',
    image: IMAGE,
    imagePullPolicy: 'IfNotPresent',
    // Node alone gives itself half of the limit. The rest is for code, buffers and TLS. Young objects get three spaces of 4 MiB: with 16
    // MiB the page for developers costs 37 MiB, with 4 MiB 13.
    command: [TINI, '--', NODE, '--max-old-space-size-percentage=70', '--max-semi-space-size=4', BUNDLE, 'serve'],
    envFrom: [
      { configMapRef: { name: DEFAULTS } },
      { secretRef: { name: PROXY_SECRET, optional: true } },
      { configMapRef: { name: SETTINGS, optional: true } },
    ],
    env: [fieldVariable('POD_IP', 'status.podIP'), fieldVariable('POD_NAME', 'metadata.name')],
    ports: [
      { name: 'webhook', containerPort: WEBHOOK_PORT },
      { name: 'metrics', containerPort: METRICS_PORT },
      { name: 'probes', containerPort: PROBE_PORT },
    ],
    // A pod that is to end gets connections until kube-proxy and the Ingress know of it. Gitea sends a webhook once, so it goes on meanwhile.
    lifecycle: { preStop: { exec: { command: [NODE, '-e', 'setTimeout(() => undefined, 3000)'] } } },
    livenessProbe: { ...probe('/healthz'), periodSeconds: 10, failureThreshold: 6, timeoutSeconds: 5 },
    readinessProbe: { ...probe('/readyz'), periodSeconds: 5, timeoutSeconds: 5 },
    resources: {
      requests: { cpu: k8s.Quantity.fromString('20m'), memory: k8s.Quantity.fromString('128Mi') },
      limits: { memory: k8s.Quantity.fromString('512Mi') },
    },
    securityContext: CONFINED,
    volumeMounts: [
      { name: 'gitea-runners-api', mountPath: `${API_SECRETS_DIR}/${API_SECRET}`, readOnly: true },
      { name: 'gitea-runners-serve', mountPath: SERVE_SECRET_DIR, readOnly: true },
      { name: 'argocd-tls', mountPath: ARGOCD_TLS_DIR, readOnly: true },
      { name: 'gitea-runners-ca', mountPath: CA_DIR, readOnly: true },
      { name: 'gitea-runners-policy', mountPath: POLICY_DIR, readOnly: true },
    ],
  };
}

function fieldVariable(name: string, fieldPath: string): k8s.EnvVar {
  return { name, valueFrom: { fieldRef: { fieldPath } } };
}

function probe(path: string): k8s.Probe {
  return { httpGet: { path, port: k8s.IntOrString.fromString('probes') } };
}

function service(scope: Construct, name: string, port: k8s.ServicePort, id: string, more: k8s.ServiceSpec = {}) {
  return new k8s.KubeService(scope, id, {
    metadata: { ...METADATA, name },
    spec: { ...more, selector: SERVE_LABELS, ports: [port] },
  });
}

/** For Gitea's webhooks: `http://gitea-runners.argocd.svc/webhook`. */
export function webhookService(scope: Construct): k8s.KubeService {
  const targetPort = k8s.IntOrString.fromString('webhook');
  return service(scope, NAME, { name: 'webhook', port: 80, targetPort }, 'webhook');
}

/** Apart from the webhooks, so that an Ingress for these does not show the metrics. */
export function metricsService(scope: Construct): k8s.KubeService {
  const targetPort = k8s.IntOrString.fromString('metrics');
  return service(scope, `${NAME}-metrics`, { name: 'metrics', port: METRICS_PORT, targetPort }, 'metrics');
}

/** Of the page for developers, so that an Ingress for it shows nothing else. */
export function pageService(scope: Construct): k8s.KubeService {
  const targetPort = k8s.IntOrString.fromNumber(PAGE_PORT);
  return service(scope, `${NAME}-page`, { name: 'page', port: 80, targetPort }, 'service');
}

/** Of looks. It has the address of each replica: `generate` asks all, and the one that leads answers. */
export function looksService(scope: Construct): k8s.KubeService {
  const targetPort = k8s.IntOrString.fromNumber(LOOKS_PORT);
  const port = { name: 'looks', port: LOOKS_PORT, targetPort };
  return service(scope, `${NAME}-looks`, port, 'service', { clusterIp: 'None' });
}

/** A drained node takes one replica at a time. */
export function serveBudget(scope: Construct): k8s.KubePodDisruptionBudget {
  return new k8s.KubePodDisruptionBudget(scope, 'budget', {
    metadata: METADATA,
    spec: { maxUnavailable: k8s.IntOrString.fromNumber(1), selector: { matchLabels: SERVE_LABELS } },
  });
}
