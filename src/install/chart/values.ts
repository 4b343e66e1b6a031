/**
 * Values of the Helm chart. This schema is the only source: `values.yaml` with its comments, `values.schema.json` and the table in
 * docs/helm.md are made of it. The defaults are those of `install/*.yaml`; a test renders the chart and compares.
 */
import * as z from 'zod';
import packageJson from '../../../package.json' with { type: 'json' };
import { DEFAULT_IMAGES } from '../../runnergroup/defaults.ts';
import { SAMPLERS } from '../../tracing/settings.ts';
import { API_SECRET, REGISTRATION_SECRET, REPO_SERVER_ACCOUNT, RUNNERS_NAMESPACE } from '../names.ts';
import { OUTSIDE_PORTS } from '../network.ts';

const Text = z.string().min(1);
const Name = z.string().regex(/^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/);
const Port = z.int().min(1).max(65_535);
const Quantity = z.union([z.string().regex(/^[0-9.]+[a-zA-Z]*$/), z.number().min(0)]);
const StringMap = z.record(z.string(), z.string());
const Resources = z.strictObject({
  requests: z.record(z.string(), Quantity).optional(),
  limits: z.record(z.string(), Quantity).optional(),
});
const Toleration = z.strictObject({
  key: z.string().optional(),
  operator: z.enum(['Exists', 'Equal']).optional(),
  value: z.string().optional(),
  effect: z.enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute']).optional(),
  tolerationSeconds: z.int().optional(),
});
/** An object of Kubernetes that the API server checks. */
const Named = z.looseObject({ name: Text });
const LINUX = { 'kubernetes.io/os': 'linux' };

const Image = z.strictObject({
  repository: Text.default(packageJson.name).describe('Where you pushed the image, with the host of the registry.'),
  tag: z.string().default('').describe('Empty: the version of the chart.'),
  digest: z
    .string()
    .regex(/^(?:sha256:[0-9a-f]{64})?$/)
    .default('')
    .describe('"sha256:…". It wins over the tag: if somebody moves the tag, nothing changes for you.'),
  pullPolicy: z.enum(['Always', 'IfNotPresent', 'Never']).default('IfNotPresent').describe('When the node pulls it.'),
});

const Serve = z.strictObject({
  replicas: z
    .int()
    .min(0)
    .max(10)
    .default(2)
    .describe('One works, the others are ready to. All of them take webhooks.'),
  extraArgs: z
    .array(z.string().startsWith('--'))
    .default([])
    .describe(
      'More flags of "gitea-runners serve", such as --verbose. What the sidecar must know, too, belongs into settings.',
    ),
  resources: Resources.default({
    limits: { memory: '512Mi' },
    requests: { cpu: '20m', memory: '128Mi' },
  }).describe('No CPU limit: a throttled serve makes CI jobs wait.'),
  nodeSelector: StringMap.default(LINUX).describe('Nodes that may run it.'),
  tolerations: z.array(Toleration).default([]).describe('Taints that it accepts.'),
  affinity: z
    .looseObject({})
    .default({})
    .describe('Affinity of the pods. Replicas are spread over nodes without it, too.'),
  priorityClassName: z.string().default('').describe('PriorityClass of the pods.'),
  podAnnotations: StringMap.default({}).describe('Annotations of the pods.'),
  extraVolumes: z.array(Named).default([]).describe('More volumes, such as the Secret of a second Gitea.'),
  extraVolumeMounts: z
    .array(z.looseObject({ name: Text, mountPath: Text }))
    .default([])
    .describe('Where they are mounted, such as /var/run/secrets/gitea-runners/gitea-second.'),
});

/** All values. Every field is optional. */
export const ChartValues = z.strictObject({
  image: Image.optional().describe(
    'Our image. The sidecar of the repo-server names its own: install/helm-values.yaml.',
  ),
  imagePullSecrets: z
    .array(z.strictObject({ name: Text }))
    .default([])
    .describe('Secrets with the login of a private registry, such as [{name: registry}].'),
  argocd: z
    .strictObject({
      url: z
        .string()
        .regex(/^https?:\/\/\S+$/)
        .default('https://argocd-server')
        .describe("Argo CD's server. With the chart argo-cd its Service is called RELEASE-server."),
      repoServerAccount: Name.default(REPO_SERVER_ACCOUNT).describe(
        'Service account of the repo-server: the sidecar lists Jobs and pods with its token.',
      ),
    })
    .optional()
    .describe('Argo CD. The chart belongs into its namespace.'),
  settings: StringMap.default({}).describe(
    'Environment for sidecar and serve (docs/commands.md), as ConfigMap gitea-runners-settings. Restart the repo-server after a change.',
  ),
  serve: Serve.optional().describe('The Deployment gitea-runners.'),
  service: z
    .strictObject({
      type: z.enum(['ClusterIP', 'NodePort', 'LoadBalancer']).default('ClusterIP').describe('How webhooks come in.'),
      annotations: StringMap.default({}).describe('For a load balancer.'),
    })
    .optional()
    .describe("The Service for Gitea's webhooks."),
  networkPolicy: z
    .strictObject({
      enabled: z.boolean().default(true).describe('Policies for serve, for runners and for the cache server.'),
      egressPorts: z
        .array(Port)
        .min(1)
        .default(OUTSIDE_PORTS)
        .describe('Ports behind which Gitea, a proxy or the API server is.'),
    })
    .optional()
    .describe('They have an effect only where the network of the cluster enforces them.'),
  runners: z
    .strictObject({
      namespaces: z
        .array(Name)
        .min(1)
        .max(100)
        .default([RUNNERS_NAMESPACE])
        .describe('Namespaces with RunnerGroups. Sidecar and serve have rights in these only.'),
      createNamespaces: z
        .boolean()
        .default(true)
        .describe('Makes them. They stay when the chart is uninstalled, because CI jobs may run there.'),
      podSecurity: z
        .enum(['privileged', 'baseline', 'restricted'])
        .default('privileged')
        .describe('Pod Security level of these namespaces. Docker in a pod needs privileged.'),
    })
    .optional()
    .describe("Where the runners' Jobs run."),
  secretsApi: z
    .strictObject({
      enabled: z
        .boolean()
        .default(false)
        .describe('Tokens lie in the namespace of their RunnerGroup and are read there.'),
      secretNames: z
        .array(Name)
        .min(1)
        .default([API_SECRET])
        .describe('Secrets that may be read there. None may be listed.'),
    })
    .optional()
    .describe('Rights for GITEA_RUNNERS_SECRETS=api, and that setting.'),
  tracing: z
    .strictObject({
      endpoint: z
        .string()
        .default('')
        .describe(
          'OpenTelemetry collector, OTLP over HTTP, such as https://otel-collector.observability:4318. Empty: nothing is traced. Its port belongs into networkPolicy.egressPorts.',
        ),
      insecure: z.boolean().default(false).describe('The endpoint may be http.'),
      sampler: z
        .enum(['', ...SAMPLERS])
        .default('')
        .describe('Which traces are kept. Empty: parentbased_always_on.'),
      samplerArg: z
        .string()
        .regex(/^(?:[01]|0?\.[0-9]{1,9}|1\.0{1,9})?$/)
        .default('')
        .describe('Share that the ratio samplers keep, such as "0.1". Empty: 1.'),
      resourceAttributes: StringMap.default({}).describe('About the installation, on each span.'),
    })
    .optional()
    .describe(
      'Traces of sidecar and serve (docs/tracing.md). There is no value for headers: no token belongs into an environment.',
    ),
  registrationSecrets: z
    .strictObject({
      enabled: z
        .boolean()
        .default(false)
        .describe("serve keeps Secrets filled with Gitea's registration token. They must exist."),
      secretNames: z
        .array(Name)
        .min(1)
        .max(100)
        .default([REGISTRATION_SECRET])
        .describe('Secrets that it may read and write there. No other token may lie in them.'),
    })
    .optional()
    .describe('Rights for GITEA_RUNNERS_REGISTRATION_SECRETS, and that setting.'),
  cache: z
    .strictObject({
      enabled: z
        .boolean()
        .default(false)
        .describe('Needs a Secret gitea-runner-cache with a key "secret" (docs/cache.md).'),
      namespace: Name.default(RUNNERS_NAMESPACE).describe('One of runners.namespaces.'),
      image: Text.default(DEFAULT_IMAGES.host).describe('Keep its release near that of your runners.'),
      size: Quantity.default('20Gi').describe('Room for the entries.'),
      storageClassName: z.string().default('').describe("Empty: the cluster's default."),
      resources: Resources.default({
        limits: { memory: '512Mi' },
        requests: { cpu: '20m', memory: '64Mi' },
      }).describe('Of the container.'),
      nodeSelector: StringMap.default(LINUX).describe('Nodes that may run it.'),
      tolerations: z.array(Toleration).default([]).describe('Taints that it accepts.'),
    })
    .optional()
    .describe('A cache server, so that actions/cache works between runners.'),
  crds: z
    .strictObject({
      enabled: z
        .boolean()
        .default(true)
        .describe('Installs and upgrades the CRD. It stays when the chart is uninstalled.'),
    })
    .optional()
    .describe('The CustomResourceDefinition RunnerGroup.'),
  global: z.looseObject({}).optional().describe('Helm hands it to charts inside of other charts. Not used.'),
});
