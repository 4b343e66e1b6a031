/** Reads the objects that `doctor` judges. The result has the reason for each that cannot be read. */
import * as z from 'zod';
import { statusSeen } from '../../answers/where.ts';
import { parseJson } from '../../clients/http/request.ts';
import { openClusterSecrets } from '../../clients/kubernetes/cluster-secrets.ts';
import { unexpectedStatus } from '../../clients/kubernetes/kube-client.ts';
import { observeCluster } from '../../clients/kubernetes/observe-cluster.ts';
import type { SecretReader } from '../../clients/tokens/api-token.ts';
import type { RunnerGroup } from '../../config/runnergroup/runner-group.ts';
import { withSizes } from '../../config/runnergroup/sizes.ts';
import { ownTemplate } from '../../plan/own-pod.ts';
import { Failure, orFailure } from '../../shared/failure.ts';
import { METRICS_PORT, SERVE_RULES, SERVE_SELECTOR, SIDECAR_RULES } from '../../shared/installed/installed-names.ts';
import { keyText } from '../../shared/keys.ts';
import { type ClusterSource, listObjects, sortedOut } from '../reading/cluster-source.ts';
import type { DoctorFinding } from '../reading/finding.ts';
import { askOwnRight, askReview } from '../reading/own-rights.ts';
import { type ClusterReader, jsonOf, type SeenOrNot, shaped } from '../reading/read-object.ts';
import {
  installedSecrets,
  listOf,
  Namespace,
  NetworkPolicy,
  type Reads,
  ResourceQuota,
  readAll,
  readAt,
  ServiceAccount,
  secretValue,
  Version,
  WithData,
} from '../reading/reads.ts';
import { readLease } from '../reading/surroundings.ts';
import { lookAtGitea } from './gitea-seen.ts';

export type Installation = Awaited<ReturnType<typeof readInstallation>>;
/** The installation with the findings so far. */
export type Judged = Installation & { readonly above: readonly DoctorFinding[] };

/** Groups that are looked at; more would load Gitea and the API server. */
export const MOST_GROUPS = 50;

/** Reads everything. @throws Failure if the API server cannot be reached, or does not accept the login */
export async function readInstallation(source: ClusterSource, reader: ClusterReader) {
  const { config, settings, namespaces: inNamespaces } = source;
  const { argocdNamespace, client, deadline } = reader;
  // The first request runs alone: an unreachable server or a bad login is one error, not ten.
  const question = { what: 'ask the version of Kubernetes', path: '/version' };
  const answer = await client.send(question, deadline);
  if (answer.status === 401) throw unexpectedStatus(client.request(question), 401, '');
  const version =
    answer.status === 200
      ? shaped(Version, jsonOf(answer))
      : { unread: `the cluster answered ${answer.status}`, isMissing: false };
  const listed = await orFailure(listObjects(client, inNamespaces, deadline));
  const objects = listed instanceof Failure ? [] : listed;
  const { groups, broken } = sortedOut(objects);
  const [reads, lease] = await Promise.all([readAll(reader), readLease(reader)]);
  const shownGroups = groups.slice(0, MOST_GROUPS);
  const { namespaces, secrets, serviceAccounts } = await readNamespaces(reader, shownGroups);
  const access = await readAccesses(reader, reads, [...namespaces.keys()], shownGroups);
  const tries = shownGroups.map(async (group) => {
    const may = namespaces.get(group.namespace)?.mayTry;
    return [group, may ? await tryPods(reader, group, may) : []] as const;
  });
  const tried = new Map(await Promise.all(tries));
  const gitea = await lookAtGitea({
    groups: shownGroups,
    settings,
    registrationTokens: new Map(shownGroups.flatMap((group) => registrationOf(group, secrets))),
    secrets: secretsOf(source, reads, reader),
  });
  const ofRunners = { deadlineMs: deadline.remainingMs() };
  const liveJobs = await orFailure(observeCluster([...namespaces.keys()], config, ofRunners));
  return {
    ...reads,
    argocdNamespace,
    /** Empty: all namespaces were looked at for RunnerGroups. */
    inNamespaces,
    nowMs: reader.now(),
    version,
    lease,
    access,
    groups,
    broken,
    statuses: objects.map((object) => statusSeen(object)),
    groupsUnread: listed instanceof Failure ? listed : undefined,
    namespaces,
    /** Registration Secrets and those of `imagePullSecrets`, by `keyText`. */
    secrets,
    serviceAccounts,
    /** Answers of the API server about a pod of each size. */
    tried,
    deliveries: await readDeliveries(reader),
    gitea,
    /** Listed after Gitea's rows. */
    liveJobs,
  };
}

const PodNames = z.looseObject({
  serviceAccountName: z.string().default('default'),
  imagePullSecrets: ServiceAccount.shape.imagePullSecrets,
});
export const podOf = (group: RunnerGroup) => PodNames.parse(ownTemplate(group).spec);

export type NamespaceReads = Awaited<ReturnType<typeof readNamespace>>;

async function readNamespace(reader: ClusterReader, name: string) {
  const path = `namespaces/${encodeURIComponent(name)}`;
  return {
    namespace: await readAt(reader, `/api/v1/${path}`, Namespace),
    quotas: await readAt(reader, `/api/v1/${path}/resourcequotas`, listOf(ResourceQuota)),
    /** Whether you may create pods there, as a try needs. */
    mayTry: await askOwnRight(reader, { verb: 'create', resource: 'pods', namespace: name }),
    networkPolicies: await readAt(reader, `/apis/networking.k8s.io/v1/${path}/networkpolicies`, listOf(NetworkPolicy)),
  };
}

async function readNamespaces(reader: ClusterReader, groups: readonly RunnerGroup[]) {
  const namespaces = new Map<string, NamespaceReads>();
  const secrets = new Map<string, SeenOrNot<WithData>>();
  const serviceAccounts = new Map<string, SeenOrNot<z.output<typeof ServiceAccount>>>();
  for (const group of groups) {
    const { namespace, registrationToken } = group;
    const readNamed = async <T>(all: Map<string, SeenOrNot<T>>, plural: string, name = '', shape: z.ZodType<T>) => {
      const key = keyText({ namespace, name });
      const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/${plural}/${encodeURIComponent(name)}`;
      if (name !== '' && !all.has(key)) all.set(key, await readAt(reader, path, shape));
      return all.get(key);
    };
    if (!namespaces.has(namespace)) namespaces.set(namespace, await readNamespace(reader, namespace));
    const { imagePullSecrets, serviceAccountName } = podOf(group);
    const account = await readNamed(serviceAccounts, 'serviceaccounts', serviceAccountName, ServiceAccount);
    const ofAccount = account && 'value' in account ? account.value.imagePullSecrets : [];
    for (const { name } of [registrationToken ?? [], imagePullSecrets, ofAccount].flat())
      await readNamed(secrets, 'secrets', name, WithData);
  }
  return { namespaces, secrets, serviceAccounts };
}

export function registrationSecret({ namespace, registrationToken }: RunnerGroup): string {
  return keyText({ namespace, name: registrationToken?.name ?? '' });
}

function registrationOf(group: RunnerGroup, secrets: ReadonlyMap<string, SeenOrNot<WithData>>) {
  const secret = secrets.get(registrationSecret(group));
  if (!group.registrationToken || !secret || !('value' in secret)) return [];
  const text = secretValue(secret.value, group.registrationToken.key);
  return text === '' ? [] : [[group, text] as const];
}

/** Returns the source of API tokens: from outside, the Secrets that the sidecar uses. Undefined: files. */
function secretsOf(
  { isByHand, settings: { secrets } }: ClusterSource,
  { settings, repoServer }: Reads,
  { argocdNamespace, client, deadline }: ClusterReader,
): SecretReader | undefined {
  const clusterSecrets = openClusterSecrets(client, deadline);
  if (!isByHand) return secrets === 'api' ? clusterSecrets : undefined;
  const installed = 'value' in settings ? settings.value.data : {};
  return installedSecrets(clusterSecrets, installed, argocdNamespace, repoServer);
}

/** True when no pod of `serve` can be at work: then there is nothing to say of what it does. */
export function serveIsDown({ serve: read }: Pick<Reads, 'serve'>): boolean {
  if ('unread' in read) return read.isMissing;
  return read.value.spec.replicas === 0 || read.value.status.readyReplicas === 0;
}

type Deed = ReturnType<typeof deedsOf>[number];

/** Rights that no part may have: only Argo CD creates and deletes Jobs, and no part lists Secrets. */
const FORBIDDEN: readonly Deed[] = [
  { verb: 'create', group: 'batch', resource: 'jobs' },
  { verb: 'delete', group: 'batch', resource: 'jobs' },
  { verb: 'list', group: '', resource: 'secrets' },
];

/** The right that `serve` needs where it registers runners. */
const HAND_OVER: Deed = { verb: 'create', group: '', resource: 'secrets' };

const NEEDED = { sidecar: deedsOf(SIDECAR_RULES), serve: deedsOf(SERVE_RULES) };

function deedsOf(rules: typeof SERVE_RULES) {
  return rules.flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap((group) => resources.flatMap((resource) => verbs.map((verb) => ({ verb, group, resource })))),
  );
}

/** Reads the rights of both parts. The API server answers, which knows all roles and bindings. */
async function readAccesses(
  reader: ClusterReader,
  { repoServer, serve }: Reads,
  namespaces: readonly string[],
  groups: readonly RunnerGroup[],
) {
  const byServe = new Set(groups.flatMap(({ namespace, registration: { by } }) => (by === 'serve' ? namespace : [])));
  const parts = [['sidecar', repoServer] as const, ['serve', serve] as const];
  const accesses: Awaited<ReturnType<typeof readAccess>>[] = [];
  for (const namespace of namespaces)
    for (const [part, deployment] of parts) {
      if (!('value' in deployment)) continue;
      const { serviceAccountName } = deployment.value.spec.template.spec;
      const handsOver = part === 'serve' && byServe.has(namespace);
      accesses.push(await readAccess(reader, part, serviceAccountName, namespace, handsOver));
    }
  return accesses;
}

/** Returns how the rights of a part in a namespace differ from the right ones. Each is a deed: `list jobs.batch`. */
async function readAccess(
  reader: ClusterReader,
  part: keyof typeof NEEDED,
  account: string,
  namespace: string,
  handsOver: boolean,
) {
  const ask = async (deed: Deed) => ({ deed, review: await review(reader, deed, account, namespace) });
  const allowed = new Set<Deed>();
  const deeds = [...NEEDED[part], ...FORBIDDEN, ...(handsOver ? [HAND_OVER] : [])];
  for (const { deed, review: read } of await Promise.all(deeds.map(ask))) {
    if ('unread' in read) return read;
    if (read.value) allowed.add(deed);
  }
  const textOf = ({ verb, group, resource }: Deed): string => `${verb} ${resource}${group && `.${group}`}`;
  const lackingDeeds = NEEDED[part].filter((deed) => !allowed.has(deed)).map(textOf);
  const beyond = FORBIDDEN.filter((deed) => allowed.has(deed)).map(textOf);
  return {
    value: { part, namespace, lacks: lackingDeeds, beyond, lacksHandOver: handsOver && !allowed.has(HAND_OVER) },
  };
}

/** @param account name of a service account in Argo CD's namespace */
async function review(reader: ClusterReader, { verb, group, resource }: Deed, account: string, namespace: string) {
  const { argocdNamespace } = reader;
  const [kind, subresource] = resource.split('/');
  const spec = {
    user: `system:serviceaccount:${argocdNamespace}:${account}`,
    // Groups that every service account is in.
    groups: ['system:authenticated', 'system:serviceaccounts', `system:serviceaccounts:${argocdNamespace}`],
    resourceAttributes: { verb, group, resource: kind, ...(subresource && { subresource }), namespace },
  };
  return await askReview(reader, 'SubjectAccessReview', spec);
}

const Refusal = z.looseObject({ message: z.string(), reason: z.string().optional() });
/** Statuses of an admission that refuses: forbidden, invalid, a webhook that does not answer. */
const REFUSING = [403, 422, 500];

/**
 * A webhook that names no status refuses with 400, without a reason. One that cannot be tried has the reason `BadRequest`
 * (Kubernetes 1.37: apiserver/pkg/admission/plugin/webhook/errors/statuserror.go).
 */
function isRefusal(status: number, { reason }: z.output<typeof Refusal>): boolean {
  return REFUSING.includes(status) || (status === 400 && !reason);
}

/** Asks whether the API server would take a pod of each size. It creates nothing (`dryRun`). Returns why not; `[]`: it would. */
async function tryPods(reader: ClusterReader, group: RunnerGroup, may: NamespaceReads['mayTry']) {
  const { name, namespace } = group;
  if ('unread' in may) return [may];
  if (!may.value) return [{ unread: `you may not create pods in namespace ${namespace}`, isMissing: false }];
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`;
  const answers = withSizes(group).map(async (each): Promise<SeenOrNot<string | readonly []>> => {
    const { metadata, spec } = ownTemplate(each);
    const body = { apiVersion: 'v1', kind: 'Pod', metadata: { ...metadata, generateName: `${name}-` }, spec };
    const question = { what: 'try a pod', method: 'POST', path, query: { dryRun: 'All' }, body } as const;
    const answer = await orFailure(reader.client.send(question, reader.deadline));
    if (answer instanceof Failure) return { unread: `the cluster did not answer (${answer.code})`, isMissing: false };
    const { data } = Refusal.safeParse(parseJson(answer.text));
    if (data && isRefusal(answer.status, data)) return { value: data.message };
    const read = jsonOf(answer);
    return 'unread' in read ? read : { value: [] };
  });
  return await Promise.all(answers);
}

/** Deliveries to all pods of `serve` together. Times are ms since 1970, by the clocks of these pods. */
export interface Deliveries {
  /** Since when all pods have counted. */
  readonly sinceMs: number;
  /** When the last delivery with each result came: `accepted`, `forwarded`, or why it was refused. */
  readonly lastMs: ReadonlyMap<string, number>;
}

/** `serve` has two. More are not asked. */
const MOST_PODS = 5;

const ServePod = z.looseObject({
  metadata: z.looseObject({ name: z.string() }),
  status: z.looseObject({ phase: z.string().optional() }).default({}),
});

/** Reads deliveries from the metrics of `serve`, because Gitea does not list them. A string: why they cannot be read. */
async function readDeliveries({ client, argocdNamespace, deadline }: ClusterReader): Promise<Deliveries | string> {
  const pods = `/api/v1/namespaces/${encodeURIComponent(argocdNamespace)}/pods`;
  const get = async (objectName: string, path: string, query = {}): Promise<string | { readonly status: number }> => {
    const { status, text } = await client.send({ what: objectName, path, query }, deadline);
    return status === 200 ? text : { status };
  };
  try {
    const list = await get('list the pods of serve', pods, { labelSelector: SERVE_SELECTOR });
    if (typeof list !== 'string') return `its pods cannot be listed (${list.status})`;
    const { data = [] } = listOf(ServePod).safeParse(JSON.parse(list));
    const running = data.filter(({ status }) => status.phase === 'Running').slice(0, MOST_PODS);
    if (running.length === 0) return 'none of its pods runs';
    const texts: string[] = [];
    for (const { metadata } of running) {
      const path = `${pods}/${encodeURIComponent(metadata.name)}:${METRICS_PORT}/proxy/metrics`;
      const text = await get('read the metrics of serve', path);
      if (typeof text !== 'string') return `the metrics of pod ${metadata.name} cannot be read (${text.status})`;
      texts.push(text);
    }
    return deliveriesIn(texts);
  } catch (error) {
    if (error instanceof Failure) return `its metrics cannot be read (${error.code})`;
    if (error instanceof SyntaxError) return 'the list of its pods is no JSON';
    throw error;
  }
}

const STARTED = /^process_start_time_seconds (\S+)$/m;
const LAST = /^gitea_runners_webhook_last_delivery_timestamp_seconds\{result="([a-z-]+)"\} (\S+)$/gm;

/** @param texts what `/metrics` of each pod says. */
export function deliveriesIn(texts: readonly string[]): Deliveries | string {
  const lastMs = new Map<string, number>();
  let sinceMs = 0;
  for (const text of texts) {
    const started = Number(STARTED.exec(text)?.[1]);
    if (!Number.isFinite(started)) return 'its metrics do not say when it started';
    sinceMs = Math.max(sinceMs, started * 1000);
    for (const [, result = '', seconds] of text.matchAll(LAST))
      lastMs.set(result, Math.max(lastMs.get(result) ?? 0, Number(seconds) * 1000));
  }
  return { sinceMs, lastMs };
}
