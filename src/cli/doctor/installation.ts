/** Reads what `doctor` judges. What cannot be read is no error here: it says why. */
import * as z from 'zod';
import { Deadline } from '../../clients/http/deadline.ts';
import { parseJson } from '../../clients/http/request.ts';
import { KubeClient, unexpectedStatus } from '../../clients/kubernetes/client.ts';
import { observeCluster } from '../../clients/kubernetes/observe.ts';
import type { RunnerGroupObject } from '../../clients/kubernetes/resources.ts';
import { ClusterSecrets } from '../../clients/kubernetes/secrets.ts';
import type { SecretReader } from '../../clients/tokens/api-token.ts';
import type { RunnerGroup } from '../../config/runnergroup/runner-group.ts';
import type { LiveJob } from '../../planner/evidence.ts';
import { Failure, orFailure } from '../../shared/failure.ts';
import { NAME, SERVE_SECRET, SETTINGS } from '../../shared/installed/names.ts';
import { keyText } from '../../shared/key-text.ts';
import { type ClusterSource, listObjects, sortedOut } from '../explain/cluster-source.ts';
import { lookAround, type ServeSeen, type StatusSeen, statusSeen, type UnservedGroup } from '../explain/where.ts';
import { type Access, type Part, readAccess } from './access.ts';
import { type Deliveries, readDeliveries } from './deliveries.ts';
import { type GiteaSeen, lookAtGitea } from './gitea-seen.ts';
import { installedSecrets } from './mounted-secrets.ts';
import { Reader, type SeenOrNot, shaped, valueAt } from './reader.ts';
import { Application, Crd, Deployment, Namespace, Node, Service, Version, WithData } from './shapes.ts';

export interface Installation {
  readonly argocdNamespace: string;
  /** Empty: all namespaces were looked at for RunnerGroups. */
  readonly inNamespaces: readonly string[];
  readonly nowMs: number;
  readonly version: SeenOrNot<z.output<typeof Version>>;
  readonly crd: SeenOrNot<Crd>;
  readonly repoServer: SeenOrNot<Deployment>;
  readonly serve: SeenOrNot<Deployment>;
  /** With Argo CD's token and the secret of webhooks. */
  readonly serveSecret: SeenOrNot<WithData>;
  /** For webhooks. */
  readonly service: SeenOrNot<Service>;
  readonly networkPolicy: SeenOrNot<unknown>;
  readonly lease: ServeSeen;
  readonly accounts: SeenOrNot<WithData>;
  readonly rights: SeenOrNot<WithData>;
  /** In Kubernetes. Each a text: why it is not known. */
  readonly access: readonly (readonly Access[] | string)[];
  readonly applications: SeenOrNot<readonly Application[]>;
  readonly groups: readonly RunnerGroup[];
  readonly broken: readonly UnservedGroup[];
  readonly statuses: readonly StatusSeen[];
  /** Why the RunnerGroups cannot be read. */
  readonly groupsUnread?: string;
  readonly namespaces: ReadonlyMap<string, SeenOrNot<Namespace>>;
  /** Registration Secrets, by `registrationSecret`. */
  readonly secrets: ReadonlyMap<string, SeenOrNot<WithData>>;
  readonly nodes: SeenOrNot<readonly Node[]>;
  /** Nodes may come when a pod needs them. */
  readonly hasAutoscaler: boolean;
  readonly deliveries: Deliveries | string;
  readonly gitea: GiteaSeen;
  /** Listed after Gitea's rows. */
  readonly liveJobs: readonly LiveJob[] | Failure;
  /** The ConfigMap of the installation. */
  readonly settings: SeenOrNot<WithData>;
}

/** Groups that are looked at; more would load Gitea and the API server. */
export const MOST_GROUPS = 50;

/** Reads everything. @throws Failure when the API server cannot be reached at all, or does not know who asks. */
export async function readInstallation(source: ClusterSource, argocdNamespace: string): Promise<Installation> {
  const { config, settings, namespaces: inNamespaces } = source;
  const deadline = new Deadline(settings.timeoutMs);
  const client = new KubeClient(config, settings);
  const reader = new Reader(client, deadline, argocdNamespace);
  try {
    // The first question alone: a server that cannot be reached, or does not know who asks, is one error, not ten.
    const question = { what: 'ask the version of Kubernetes', path: '/version' };
    const versionAnswer = await client.send(question, deadline);
    if (versionAnswer.status === 401) throw unexpectedStatus(client.request(question), 401, 'a version', '');
    const { status } = versionAnswer;
    const version =
      status === 200
        ? shaped(Version, parseJson(versionAnswer.text))
        : { unread: `the cluster answered ${status}`, isMissing: false };
    const { objects, unread } = await groupsOf(client, inNamespaces, deadline);
    const { groups, broken } = sortedOut(objects);
    const plane = { argocdNamespace, nowMs: settings.now() };
    const [repoServer, serve, settingsMap, applications, around, rest] = await Promise.all([
      reader.inArgo('deployments', 'argocd-repo-server', Deployment),
      reader.inArgo('deployments', NAME, Deployment),
      reader.inArgo('configmaps', SETTINGS, WithData),
      reader.list(
        `/apis/argoproj.io/v1alpha1/namespaces/${encodeURIComponent(argocdNamespace)}/applications`,
        Application,
      ),
      lookAround(client, [], plane, deadline),
      readRest(reader),
    ]);
    const asked = groups.slice(0, MOST_GROUPS);
    const { namespaces, secrets } = await readNamespaces(reader, asked);
    const access = await readAccesses(client, { repoServer, serve }, [...namespaces.keys()], argocdNamespace, deadline);
    const clusterSecrets = new ClusterSecrets(client, deadline);
    const gitea = await lookAtGitea({
      groups: asked,
      settings,
      registrationTokens: new Map(asked.flatMap((group) => registrationOf(group, secrets))),
      ...secretsOf(source, { settingsMap, repoServer }, clusterSecrets, argocdNamespace),
    });
    const ofRunners = { deadlineMs: deadline.remainingMs() };
    const liveJobs = await orFailure(observeCluster([...namespaces.keys()], config, ofRunners));
    return {
      argocdNamespace,
      inNamespaces,
      nowMs: settings.now(),
      version,
      repoServer,
      serve,
      applications,
      lease: around.serve,
      access,
      groups,
      broken,
      statuses: objects.map((object) => statusSeen(object)),
      ...(unread !== undefined && { groupsUnread: unread }),
      namespaces,
      secrets,
      deliveries: await readDeliveries(client, argocdNamespace, deadline),
      gitea,
      liveJobs,
      settings: settingsMap,
      ...rest,
    };
  } finally {
    await client.close();
  }
}

async function readRest(
  reader: Reader,
): Promise<
  Pick<
    Installation,
    'crd' | 'serveSecret' | 'service' | 'networkPolicy' | 'accounts' | 'rights' | 'nodes' | 'hasAutoscaler'
  >
> {
  const anything = z.looseObject({});
  const [crd, serveSecret, service, networkPolicy, accounts, rights, nodes, autoscaler, pools] = await Promise.all([
    reader.read('/apis/apiextensions.k8s.io/v1/customresourcedefinitions/runnergroups.gitea.bpg.pw', Crd),
    reader.inArgo('secrets', SERVE_SECRET, WithData),
    reader.inArgo('services', NAME, Service),
    reader.inArgo('networkpolicies', NAME, anything),
    reader.inArgo('configmaps', 'argocd-cm', WithData),
    reader.inArgo('configmaps', 'argocd-rbac-cm', WithData),
    reader.list('/api/v1/nodes', Node),
    // What the cluster autoscaler and Karpenter leave behind.
    reader.read('/api/v1/namespaces/kube-system/configmaps/cluster-autoscaler-status', anything),
    reader.list('/apis/karpenter.sh/v1/nodepools', anything),
  ]);
  const hasPools = 'value' in pools && pools.value.length > 0;
  return {
    crd,
    serveSecret,
    service,
    networkPolicy,
    accounts,
    rights,
    nodes,
    hasAutoscaler: 'value' in autoscaler || hasPools,
  };
}

async function readNamespaces(
  reader: Reader,
  groups: readonly RunnerGroup[],
): Promise<Pick<Installation, 'namespaces' | 'secrets'>> {
  const namespaces = new Map<string, SeenOrNot<Namespace>>();
  const secrets = new Map<string, SeenOrNot<WithData>>();
  for (const group of groups) {
    const { namespace, registrationToken } = group;
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}`;
    if (!namespaces.has(namespace)) namespaces.set(namespace, await reader.read(path, Namespace));
    const called = registrationSecret(group);
    if (secrets.has(called)) continue;
    secrets.set(called, await reader.read(`${path}/secrets/${encodeURIComponent(registrationToken.name)}`, WithData));
  }
  return { namespaces, secrets };
}

type Parts = Readonly<Record<'repoServer' | 'serve', SeenOrNot<Deployment>>>;

async function readAccesses(
  client: KubeClient,
  { repoServer, serve }: Parts,
  namespaces: readonly string[],
  argocdNamespace: string,
  deadline: Deadline,
): Promise<Installation['access']> {
  const parts: readonly (readonly [Part, SeenOrNot<Deployment>])[] = [
    ['sidecar', repoServer],
    ['serve', serve],
  ];
  const found: (readonly Access[] | string)[] = [];
  for (const namespace of namespaces)
    for (const [part, deployment] of parts) {
      if (!('value' in deployment)) continue;
      const { serviceAccountName } = deployment.value.spec.template.spec;
      const account = `system:serviceaccount:${argocdNamespace}:${serviceAccountName}`;
      found.push(await readAccess(client, part, account, namespace, deadline));
    }
  return found;
}

/** The key of a group's registration Secret in `Installation.secrets`. */
export function registrationSecret({ namespace, registrationToken: { name } }: RunnerGroup): string {
  return keyText({ namespace, name });
}

/** The registration token of a group, to be compared. */
function registrationOf(
  group: RunnerGroup,
  secrets: Installation['secrets'],
): readonly (readonly [RunnerGroup, string])[] {
  const secret = secrets.get(registrationSecret(group));
  if (!secret || !('value' in secret)) return [];
  const text = valueAt(secret.value, group.registrationToken.key);
  return text === '' ? [] : [[group, text]];
}

/** From outside, the API tokens are read where the sidecar has them from. */
function secretsOf(
  { isByHand, settings }: ClusterSource,
  seen: { readonly settingsMap: SeenOrNot<WithData>; readonly repoServer: SeenOrNot<Deployment> },
  clusterSecrets: ClusterSecrets,
  argocdNamespace: string,
): { readonly secrets?: SecretReader } {
  const { settingsMap, repoServer } = seen;
  if (!isByHand) return settings.secrets === 'api' ? { secrets: clusterSecrets } : {};
  const installed = 'value' in settingsMap ? settingsMap.value.data : {};
  return { secrets: installedSecrets(clusterSecrets, installed, argocdNamespace, repoServer) };
}

async function groupsOf(
  ...source: Parameters<typeof listObjects>
): Promise<{ readonly objects: readonly RunnerGroupObject[]; readonly unread?: string }> {
  try {
    return { objects: await listObjects(...source) };
  } catch (error) {
    if (error instanceof Failure) return { objects: [], unread: `${error.code} ${error.message}` };
    throw error;
  }
}
