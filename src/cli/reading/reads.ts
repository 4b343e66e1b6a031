/** Reads of `doctor` in the cluster: the place of each object, and its used fields. A new read is a row of `READS`. */
import { join } from 'node:path';
import * as z from 'zod';
import type { ClusterSecrets, SecretPlace } from '../../clients/kubernetes/cluster-secrets.ts';
import { KubePod } from '../../clients/kubernetes/resources.ts';
import type { SecretReader } from '../../clients/tokens/api-token.ts';
import { Failure } from '../../shared/failure.ts';
import { API_SECRETS_DIR, manual, NAME, SERVE_SECRET, SETTINGS } from '../../shared/installed/installed-names.ts';
import type { Texts } from '../../shared/marks.ts';
import { type ClusterReader, readObject, type SeenOrNot, shaped } from './read-object.ts';

const texts = z.record(z.string(), z.string()).default({});
const strings = z.array(z.string()).default([]);
const isSet = z.boolean().optional();
const maybeText = z.string().optional();
const optionalText = z.string().default('');
const anything = z.looseObject({});

export const Version = z.looseObject({ major: z.string(), minor: z.string() });

const Container = z.looseObject({
  name: z.string(),
  image: z.string(),
  command: strings,
  args: strings,
  securityContext: z.looseObject({ runAsUser: z.number().optional() }).optional(),
  envFrom: z.array(z.looseObject({ configMapRef: z.looseObject({ name: maybeText }).optional() })).default([]),
  env: z.array(z.looseObject({ name: z.string(), value: maybeText })).default([]),
  volumeMounts: z.array(z.looseObject({ name: z.string(), mountPath: z.string() })).default([]),
});
const Volume = z.looseObject({ name: z.string(), secret: z.looseObject({ secretName: maybeText }).optional() });
export type DeployedContainer = z.output<typeof Container>;
const PodSpec = z.looseObject({
  securityContext: Container.shape.securityContext,
  serviceAccountName: z.string().default('default'),
  containers: z.array(Container),
  volumes: z.array(Volume).default([]),
});
const Condition = z.looseObject({ type: z.string(), status: optionalText, message: optionalText });
const WithConditions = z.looseObject({ conditions: z.array(Condition).default([]) }).prefault({});
const Deployment = z.looseObject({
  metadata: z.looseObject({ name: z.string(), labels: texts, generation: z.int().optional() }),
  spec: z.looseObject({ replicas: z.int().default(1), template: z.looseObject({ spec: PodSpec }) }),
  status: z
    .looseObject({
      observedGeneration: z.int().optional(),
      readyReplicas: z.int().default(0),
      /** Pods of the newest template. */
      updatedReplicas: z.int().default(0),
      conditions: z.array(Condition).default([]),
    })
    .prefault({}),
});
export type Deployment = z.output<typeof Deployment>;

export const WithData = z.looseObject({ type: optionalText, data: texts });
export type WithData = z.output<typeof WithData>;

export const Namespace = z.looseObject({
  metadata: z.looseObject({ labels: texts, annotations: texts, deletionTimestamp: maybeText }),
  status: WithConditions,
});
export type Namespace = z.output<typeof Namespace>;

const Crd = z.looseObject({
  metadata: z.looseObject({ deletionTimestamp: maybeText }),
  spec: z.looseObject({
    versions: z.array(z.looseObject({ name: z.string(), served: z.boolean(), schema: z.unknown() })),
    conversion: z.looseObject({ strategy: optionalText }).prefault({}),
  }),
});

/** Argo CD 3.1 and newer can switch it off in place: `enabled: false`. */
const Automated = z.looseObject({ prune: isSet, allowEmpty: isSet, selfHeal: isSet, enabled: z.boolean().nullish() });
const SyncPolicy = z.looseObject({ automated: Automated.optional(), syncOptions: strings });
const Env = z.array(z.looseObject({ name: optionalText, value: optionalText })).default([]);
const Source = z.looseObject({
  repoURL: optionalText,
  path: optionalText,
  targetRevision: optionalText,
  plugin: z.looseObject({ name: maybeText, env: Env }).optional(),
});
const Resource = z.looseObject({ kind: optionalText, namespace: optionalText, name: optionalText });
const Application = z.looseObject({
  metadata: z.looseObject({ name: z.string(), namespace: z.string(), annotations: texts, finalizers: strings }),
  spec: z.looseObject({
    project: z.string().default('default'),
    destination: z.looseObject({ namespace: maybeText, server: maybeText, name: maybeText }).default({}),
    source: Source.optional(),
    sources: z.array(Source).default([]),
    sourceHydrator: z.looseObject({ drySource: Source.optional() }).optional(),
    syncPolicy: SyncPolicy.optional(),
    ignoreDifferences: z.array(z.looseObject({ kind: z.string() })).default([]),
  }),
  status: z
    .looseObject({ conditions: z.array(Condition).default([]), resources: z.array(Resource).default([]) })
    .prefault({}),
});
export type Application = z.output<typeof Application>;

const ApplicationSet = z.looseObject({
  metadata: z.looseObject({ name: z.string() }),
  spec: z.looseObject({ template: z.looseObject({ spec: Application.shape.spec.partial() }) }),
  status: WithConditions,
});
const PodEvent = z.looseObject({
  reason: optionalText,
  message: optionalText,
  lastTimestamp: z.string().nullish(),
  involvedObject: z.looseObject({ name: optionalText }).prefault({}),
});

const Destination = z.looseObject({ server: optionalText, name: optionalText, namespace: optionalText });
const Kinds = z.array(z.looseObject({ group: optionalText, kind: optionalText }));
const SyncWindow = z.looseObject({
  ...{ kind: optionalText, schedule: optionalText, duration: optionalText, timeZone: optionalText },
  ...{ applications: strings, clusters: strings, namespaces: strings, andOperator: isSet, manualSync: isSet },
});
const AppProject = z.looseObject({
  metadata: z.looseObject({ name: z.string() }),
  spec: z.looseObject({
    destinations: z.array(Destination).default([]),
    sourceRepos: strings,
    sourceNamespaces: strings,
    syncWindows: z.array(SyncWindow).default([]),
    signatureKeys: z.array(anything).default([]),
    sourceIntegrity: anything.nullish(),
    destinationServiceAccounts: z.array(Destination).default([]),
    /** Absent: all. */
    namespaceResourceWhitelist: Kinds.nullish(),
    namespaceResourceBlacklist: Kinds.nullish(),
  }),
});
export type AppProject = z.output<typeof AppProject>;

const Service = z.looseObject({ spec: z.looseObject({ clusterIP: maybeText }) });

const Taint = z.looseObject({ key: z.string(), value: optionalText, effect: z.string() });
/** Kubelets tell the features from 1.30 on, of runtimes that do. */
const RuntimeHandler = z.looseObject({
  features: z.looseObject({ userNamespaces: z.boolean().default(false) }).prefault({}),
});
const NodeInfo = z.looseObject({ containerRuntimeVersion: optionalText, kernelVersion: optionalText });
export const Node = z.looseObject({
  metadata: z.looseObject({ name: z.string(), labels: texts }),
  spec: z.looseObject({ taints: z.array(Taint).default([]), unschedulable: z.boolean().default(false) }).prefault({}),
  status: z
    .looseObject({
      allocatable: texts,
      capacity: texts,
      nodeInfo: NodeInfo.prefault({}),
      runtimeHandlers: z.array(RuntimeHandler).default([]),
    })
    .prefault({}),
});
export type Node = z.output<typeof Node>;

/** A requirement of a label selector, or of a node's terms. */
export const Expression = z.looseObject({ key: z.string(), operator: z.string(), values: strings });
const Selector = z.looseObject({ matchLabels: texts, matchExpressions: z.array(Expression).default([]) });
export type Selector = z.output<typeof Selector>;

export const ResourceQuota = z.looseObject({
  metadata: z.looseObject({ name: z.string() }),
  status: z.looseObject({ hard: texts, used: texts }).prefault({}),
});
const Port = z.looseObject({
  protocol: z.string().default('TCP'),
  port: z.union([z.string(), z.number()]).optional(),
  endPort: z.number().optional(),
});
const Peer = z.looseObject({ ipBlock: anything.optional(), namespaceSelector: anything.optional() });
export const NetworkPolicy = z.looseObject({
  metadata: z.looseObject({ name: z.string() }),
  spec: z.looseObject({
    podSelector: Selector.prefault({}),
    policyTypes: strings,
    egress: z.array(z.looseObject({ to: z.array(Peer).default([]), ports: z.array(Port).default([]) })).default([]),
  }),
});
export type EgressRule = z.output<typeof NetworkPolicy>['spec']['egress'][number];

export const ServiceAccount = z.looseObject({
  imagePullSecrets: z.array(z.looseObject({ name: optionalText })).default([]),
});

export const listOf = <T extends z.ZodType>(item: T) =>
  z.looseObject({ items: z.array(item) }).transform(({ items }) => items);

/** `namespace` is a part of a path: `namespaces/argocd`. */
export const READS = {
  crd: objectAt(() => '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/runnergroups.gitea.bpg.pw', Crd),
  repoServer: objectAt((namespace) => `/apis/apps/v1/${namespace}/deployments/argocd-repo-server`, Deployment),
  deployments: objectAt((namespace) => `/apis/apps/v1/${namespace}/deployments`, listOf(Deployment)),
  serve: objectAt((namespace) => `/apis/apps/v1/${namespace}/deployments/${NAME}`, Deployment),
  /** Secret with Argo CD's token and the secret of webhooks. */
  serveSecret: objectAt((namespace) => `/api/v1/${namespace}/secrets/${SERVE_SECRET}`, WithData),
  service: objectAt((namespace) => `/api/v1/${namespace}/services/${NAME}`, Service),
  networkPolicy: objectAt((namespace) => `/apis/networking.k8s.io/v1/${namespace}/networkpolicies/${NAME}`, anything),
  settings: objectAt((namespace) => `/api/v1/${namespace}/configmaps/${SETTINGS}`, WithData),
  accounts: objectAt((namespace) => `/api/v1/${namespace}/configmaps/argocd-cm`, WithData),
  rights: objectAt((namespace) => `/api/v1/${namespace}/configmaps/argocd-rbac-cm`, WithData),
  applications: objectAt((namespace) => `/apis/argoproj.io/v1alpha1/${namespace}/applications`, listOf(Application)),
  params: objectAt((namespace) => `/api/v1/${namespace}/configmaps/argocd-cmd-params-cm`, WithData),
  applicationSets: objectAt(
    (namespace) => `/apis/argoproj.io/v1alpha1/${namespace}/applicationsets`,
    listOf(ApplicationSet),
  ),
  podEvents: objectAt((namespace) => `/api/v1/${namespace}/events`, listOf(PodEvent), {
    fieldSelector: 'involvedObject.kind=Pod,type=Warning',
    limit: '500',
  }),
  pods: objectAt((namespace) => `/api/v1/${namespace}/pods`, listOf(KubePod)),
  projects: objectAt((namespace) => `/apis/argoproj.io/v1alpha1/${namespace}/appprojects`, listOf(AppProject)),
  nodes: objectAt(() => '/api/v1/nodes', listOf(Node)),
  /** Traces of the cluster autoscaler and of Karpenter: nodes may be added when a pod needs them. */
  autoscaler: objectAt(() => '/api/v1/namespaces/kube-system/configmaps/cluster-autoscaler-status', anything),
  nodePools: objectAt(() => '/apis/karpenter.sh/v1/nodepools', listOf(anything)),
};

type Read<T> = ReturnType<typeof objectAt<T>>;

function objectAt<T>(path: (namespace: string) => string, shape: z.ZodType<T>, query: Texts = {}) {
  return { path, query, shape };
}

export type Reads = {
  readonly [K in keyof typeof READS]: (typeof READS)[K] extends Read<infer T> ? SeenOrNot<T> : never;
};

export async function readOne<T>(reader: ClusterReader, { path, query, shape }: Read<T>): Promise<SeenOrNot<T>> {
  return await readAt(reader, path(`namespaces/${encodeURIComponent(reader.argocdNamespace)}`), shape, query);
}

/** Reads the object at a path of the Kubernetes API, and checks its shape. */
export async function readAt<T>(reader: ClusterReader, path: string, shape: z.ZodType<T>, query: Texts = {}) {
  return shaped(shape, await readObject(reader, { path, query }));
}

export async function readAll(reader: ClusterReader): Promise<Reads> {
  const rows = Object.entries(READS).map(async ([name, read]) => [name, await readOne<unknown>(reader, read)] as const);
  return Object.fromEntries(await Promise.all(rows)) as unknown as Reads;
}

/** A key of a Secret as text, without white space around it; empty when there is none. */
export function secretValue(secret: WithData, key: string): string {
  return rawValue(secret, key).trim();
}

export function rawValue({ data }: WithData, key: string): string {
  return Buffer.from(data[key] ?? '', 'base64').toString();
}

/** Reads the API tokens as the sidecar gets them: from Secrets of Argo CD's namespace that are mounted into it. */
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
    const mountedKey = mounted ? (mounted.get(join(API_SECRETS_DIR, namespace, name)) ?? mounted.get(common)) : name;
    if (mountedKey !== undefined) return { namespace: argocdNamespace, name: mountedKey };
    const message = `find the API token of namespace ${namespace}: no Secret is mounted into the sidecar at ${common}. If authToken is right, mount it (${manual('install.md#a-second-gitea')}).`;
    throw new Failure('GR-DOCTOR-02', 1, message, 'not-found');
  };
  const read: SecretReader['read'] = async (namespace, name) => {
    const place = placeOf(namespace, name);
    return await secrets.read(place.namespace, place.name);
  };
  // The registration Secret is judged by itself.
  return { read, placeOf, readUrl: async () => undefined };
}

/** Returns the names of the mounted Secrets, by the folder in the sidecar. Undefined: there is no sidecar. */
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
