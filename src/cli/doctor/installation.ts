/** Reads what `doctor` judges. What cannot be read is no error here: it says why. */

import { Deadline } from '../../clients/http/deadline.ts';
import { KubeClient, unexpectedStatus } from '../../clients/kubernetes/client.ts';
import { observeCluster } from '../../clients/kubernetes/observe.ts';
import { ClusterSecrets } from '../../clients/kubernetes/secrets.ts';
import type { SecretReader } from '../../clients/tokens/api-token.ts';
import type { RunnerGroup } from '../../config/runnergroup/runner-group.ts';
import type { LiveJob } from '../../planner/evidence.ts';
import { Failure, orFailure } from '../../shared/failure.ts';
import { keyText } from '../../shared/key-text.ts';
import { type ClusterSource, listObjects, sortedOut } from '../explain/cluster-source.ts';
import { readLease, type ServeSeen, type StatusSeen, statusSeen, type UnservedGroup } from '../explain/where.ts';
import { type ClusterReader, jsonOf, type SeenOrNot, shaped } from '../read-object.ts';
import { type Access, readAccess } from './access.ts';
import { type Deliveries, readDeliveries } from './deliveries.ts';
import { type GiteaSeen, lookAtGitea } from './gitea-seen.ts';
import { installedSecrets } from './mounted-secrets.ts';
import { Namespace, type Reads, readAll, readAt, Version, valueAt, WithData } from './reads.ts';

export interface Installation extends Reads {
  readonly argocdNamespace: string;
  /** Empty: all namespaces were looked at for RunnerGroups. */
  readonly inNamespaces: readonly string[];
  readonly nowMs: number;
  readonly version: SeenOrNot<{ readonly major: string; readonly minor: string }>;
  readonly lease: ServeSeen;
  readonly access: readonly SeenOrNot<Access>[];
  readonly groups: readonly RunnerGroup[];
  readonly broken: readonly UnservedGroup[];
  readonly statuses: readonly StatusSeen[];
  readonly groupsUnread: Failure | undefined;
  readonly namespaces: ReadonlyMap<string, SeenOrNot<Namespace>>;
  /** Registration Secrets, by `registrationSecret`. */
  readonly secrets: ReadonlyMap<string, SeenOrNot<WithData>>;
  /** A text: why nothing is known. */
  readonly deliveries: Deliveries | string;
  readonly gitea: GiteaSeen;
  /** Listed after Gitea's rows. */
  readonly liveJobs: readonly LiveJob[] | Failure;
}

/** Groups that are looked at; more would load Gitea and the API server. */
export const MOST_GROUPS = 50;

/** Reads everything. @throws Failure when the API server cannot be reached at all, or does not know who asks. */
export async function readInstallation(source: ClusterSource, argocdNamespace: string): Promise<Installation> {
  const { config, settings, namespaces: inNamespaces } = source;
  const deadline = new Deadline(settings.timeoutMs);
  const client = new KubeClient(config, settings);
  const reader: ClusterReader = { client, deadline, argocdNamespace };
  try {
    // The first question alone: a server that cannot be reached, or does not know who asks, is one error, not ten.
    const question = { what: 'ask the version of Kubernetes', path: '/version' };
    const answer = await client.send(question, deadline);
    if (answer.status === 401) throw unexpectedStatus(client.request(question), 401, 'a version', '');
    const version =
      answer.status === 200
        ? shaped(Version, jsonOf(answer))
        : { unread: `the cluster answered ${answer.status}`, isMissing: false };
    const listed = await orFailure(listObjects(client, inNamespaces, deadline));
    const objects = listed instanceof Failure ? [] : listed;
    const { groups, broken } = sortedOut(objects);
    const [reads, lease] = await Promise.all([readAll(reader), readLease(reader, settings.now())]);
    const asked = groups.slice(0, MOST_GROUPS);
    const { namespaces, secrets } = await readNamespaces(reader, asked);
    const access = await readAccesses(reader, reads, [...namespaces.keys()]);
    const gitea = await lookAtGitea({
      groups: asked,
      settings,
      registrationTokens: new Map(asked.flatMap((group) => registrationOf(group, secrets))),
      secrets: secretsOf(source, reads, reader),
    });
    const ofRunners = { deadlineMs: deadline.remainingMs() };
    const liveJobs = await orFailure(observeCluster([...namespaces.keys()], config, ofRunners));
    return {
      ...reads,
      argocdNamespace,
      inNamespaces,
      nowMs: settings.now(),
      version,
      lease,
      access,
      groups,
      broken,
      statuses: objects.map((object) => statusSeen(object)),
      groupsUnread: listed instanceof Failure ? listed : undefined,
      namespaces,
      secrets,
      deliveries: await readDeliveries(reader),
      gitea,
      liveJobs,
    };
  } finally {
    await client.close();
  }
}

async function readNamespaces(
  reader: ClusterReader,
  groups: readonly RunnerGroup[],
): Promise<Pick<Installation, 'namespaces' | 'secrets'>> {
  const namespaces = new Map<string, SeenOrNot<Namespace>>();
  const secrets = new Map<string, SeenOrNot<WithData>>();
  for (const group of groups) {
    const { namespace, registrationToken } = group;
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}`;
    if (!namespaces.has(namespace)) namespaces.set(namespace, await readAt(reader, path, Namespace));
    const key = registrationSecret(group);
    const secret = `${path}/secrets/${encodeURIComponent(registrationToken.name)}`;
    if (!secrets.has(key)) secrets.set(key, await readAt(reader, secret, WithData));
  }
  return { namespaces, secrets };
}

async function readAccesses(
  reader: ClusterReader,
  { repoServer, serve }: Reads,
  namespaces: readonly string[],
): Promise<Installation['access']> {
  const parts = [['sidecar', repoServer] as const, ['serve', serve] as const];
  const found: SeenOrNot<Access>[] = [];
  for (const namespace of namespaces)
    for (const [part, deployment] of parts) {
      if (!('value' in deployment)) continue;
      const { serviceAccountName } = deployment.value.spec.template.spec;
      found.push(await readAccess(reader, part, serviceAccountName, namespace));
    }
  return found;
}

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

/** Where the API tokens are; undefined: in files. From outside they are read where the sidecar has them from. */
function secretsOf(
  { isByHand, settings: { secrets } }: ClusterSource,
  { settings, repoServer }: Reads,
  { argocdNamespace, client, deadline }: ClusterReader,
): SecretReader | undefined {
  const clusterSecrets = new ClusterSecrets(client, deadline);
  if (!isByHand) return secrets === 'api' ? clusterSecrets : undefined;
  const installed = 'value' in settings ? settings.value.data : {};
  return installedSecrets(clusterSecrets, installed, argocdNamespace, repoServer);
}

/** True when no pod of `serve` can be at work: then there is nothing to say of what it does. */
export function serveIsDown({ serve: read }: Pick<Installation, 'serve'>): boolean {
  if ('unread' in read) return read.isMissing;
  return read.value.spec.replicas === 0 || read.value.status.readyReplicas === 0;
}
