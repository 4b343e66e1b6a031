/** Reads and formats what `explain` sees besides Jobs and pods: the cluster, `serve`, Applications, statuses. */
import * as z from 'zod';
import { LOOK_LATE_MS } from '../../answers/not-created.ts';
import {
  type ApplicationSeen,
  type ServeSeen,
  type StatusSeen,
  statusSeen,
  type WhereIAm,
} from '../../answers/where.ts';
import { AppShapeError, operationWords, readApplication } from '../../clients/argocd/app-state.ts';
import { type ApplicationRef, applicationOf, shardCount, shardNames } from '../../clients/argocd/application.ts';
import type { RunnerGroupObject } from '../../clients/kubernetes/resources.ts';
import { defined } from '../../shared/defined.ts';
import { SERVE_LEASE } from '../../shared/installed/installed-names.ts';
import { keyText } from '../../shared/keys.ts';
import { API_GROUP, KIND, TRACKING_ID } from '../../shared/marks.ts';
import { duration, printable } from '../../shared/printable.ts';
import { type ClusterReader, readObject } from './read-object.ts';

/** Applications that are asked for; more would fill the screen and load the API server. */
const MOST_APPLICATIONS = 20;
/** A Lease that was not renewed for so long has no holder: `serve` renews every 2 s. */
const LEASE_LATE_MS = 30_000;

const LeaseSpec = z.object({ holderIdentity: z.string().nullish(), renewTime: z.string().nullish() });
const LeaseRead = z.object({ spec: LeaseSpec.nullish() });

/** Reads what this user may read. A missing object or a refusal is not an error here. */
export async function lookAround(reader: ClusterReader, objects: readonly RunnerGroupObject[]) {
  const applicationIn = (object: RunnerGroupObject) => applicationOfObject(object, reader.argocdNamespace);
  const statuses = objects.map((object) => statusSeen(object, applicationIn(object)));
  const namesOf = (object: RunnerGroupObject): readonly string[] => {
    const first = applicationIn(object);
    return first === undefined ? [] : shardNames(first, shardCount(object.metadata.annotations) ?? 1);
  };
  const names = new Set(objects.flatMap(namesOf));
  const [serve, ...applications] = await Promise.all([
    readLease(reader),
    ...[...names].slice(0, MOST_APPLICATIONS).map((name) => readApp(reader, name)),
  ]);
  return { lookedAt: new Date(reader.now()).toISOString(), serve, applications, statuses };
}

/** The Application that made the object: `argocd/runners`. */
function applicationOfObject(object: RunnerGroupObject, argocdNamespace: string): string | undefined {
  const made = madeBy(object);
  return made && keyText({ namespace: made.namespace ?? argocdNamespace, name: made.name });
}

export function madeBy({ metadata }: RunnerGroupObject): ApplicationRef | undefined {
  const { namespace, name, annotations } = metadata;
  return applicationOf(annotations?.[TRACKING_ID], { group: API_GROUP, kind: KIND, namespace, name });
}

export async function readLease(reader: ClusterReader): Promise<ServeSeen> {
  const namespace = encodeURIComponent(reader.argocdNamespace);
  const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/${SERVE_LEASE}`;
  const read = await readObject(reader, { path });
  if ('unread' in read) return { unread: read.unread, ...(read.isMissing && { isMissing: true }) };
  const { holderIdentity, renewTime } = LeaseRead.safeParse(read.value).data?.spec ?? {};
  if (!holderIdentity) return { unread: 'its Lease has no holder: no replica of serve leads', isMissing: true };
  const renewedMs = Date.parse(renewTime ?? '');
  return {
    leader: holderIdentity,
    ...(!Number.isNaN(renewedMs) && { renewedAt: new Date(renewedMs).toISOString() }),
    isLate: Number.isNaN(renewedMs) || reader.now() - renewedMs > LEASE_LATE_MS,
  };
}

async function readApp(reader: ClusterReader, applicationName: string): Promise<ApplicationSeen> {
  const [namespace = '', name = ''] = applicationName.split('/').map(encodeURIComponent);
  const read = await readObject(reader, {
    path: `/apis/argoproj.io/v1alpha1/namespaces/${namespace}/applications/${name}`,
  });
  if ('unread' in read)
    return { name: applicationName, unread: read.unread, ...(read.isMissing && { isMissing: true }) };
  return applicationSeen(read.value, applicationName, reader.now());
}

/** @param applicationName `argocd/runners` */
export function applicationSeen(json: unknown, applicationName: string, nowMs: number): ApplicationSeen {
  try {
    const app = readApplication(json);
    const { sync, health, errors, operation, warnings, pluginless, groups, differing } = app;
    const { says: doing, ...lasting } = operationWords(app, nowMs) ?? {};
    const notices = [doing ?? [], warnings].flat().join('; ');
    const failed = operation?.phase === 'Failed' || operation?.phase === 'Error' ? operation : undefined;
    // The operation itself has the reason of its objects. `SyncError` repeats its message without that.
    const [error] = errors
      .filter(({ type }) => !(failed && type === 'SyncError'))
      .map(({ type, message }) => `${type}: ${message}`);
    const git = InGit.safeParse(json).data?.spec.source;
    const parent = parentOf(json);
    const errorText = error ?? (failed && `its last sync has ended with ${failed.phase}: ${failed.message}`);
    return {
      name: applicationName,
      sync,
      ...defined({ health, error: errorText }),
      ...(failed && error === undefined && { isSyncFailed: true }),
      ...(notices !== '' && { says: notices }),
      ...lasting,
      isAutomated: IsAutomated.safeParse(json).success,
      ...(git && { source: `folder ${git.path || '.'} of ${git.repoURL}` }),
      ...defined({ pluginless, groups, differing, parent }),
    };
  } catch (error) {
    if (error instanceof AppShapeError) return { name: applicationName, unread: error.message };
    throw error;
  }
}

/** The Application that made this one. */
function parentOf(json: unknown): string | undefined {
  const { namespace, name, annotations } = Tracked.safeParse(json).data?.metadata ?? {};
  if (!namespace || !name) return undefined;
  const made = applicationOf(annotations?.[TRACKING_ID], { ...APPLICATION, namespace, name });
  return made && keyText({ namespace, ...made });
}

const APPLICATION = { group: 'argoproj.io', kind: 'Application' };
const annotations = z.record(z.string(), z.string()).nullish();
const Tracked = z.object({ metadata: z.object({ name: z.string(), namespace: z.string(), annotations }) });
/** Argo CD 3.1 and newer can switch it off in place: `enabled: false`. */
const Automated = z.object({ enabled: z.literal(true).nullish() });
const InGit = z.object({ spec: z.object({ source: z.object({ repoURL: z.string(), path: z.string().nullish() }) }) });
const IsAutomated = z.object({ spec: z.object({ syncPolicy: z.object({ automated: Automated }) }) });

/** Formats the surroundings. @param below texts that follow below: here only their first words are printed */
export function whereText(
  { server, context, namespaces, lookedAt, serve, applications, broken, statuses }: WhereIAm,
  below = '',
): string {
  const firstWord = (text: string): string => `${text.split(': ')[0]} (see below)`;
  const short = (text: string): string => (below.includes(text) ? firstWord(text) : text);
  // Without the plugin the plan always differs. The reason that `serve` guesses for it is cut short.
  const pluginless = new Set<string | undefined>(applications.flatMap((each) => (each.pluginless ? each.name : [])));
  const nowMs = Date.parse(lookedAt);
  const account = context === undefined ? 'service account of this pod' : `context ${context}`;
  const namespacesText = namespaces.length === 0 ? 'all namespaces' : `namespace ${namespaces.join(', ')}`;
  const lines = [
    `Cluster: ${server} (${account}), ${namespacesText}`,
    `serve: ${serveText(serve, nowMs)}; ${lastLookText(statuses, nowMs)}`,
    ...applications.map((application) => `Application ${application.name}: ${applicationText(application, short)}`),
    ...statuses.flatMap(({ application, group, notReady }) =>
      notReady === undefined || broken.some((each) => each.group === group)
        ? []
        : [`RunnerGroup ${group} is not ready: ${pluginless.has(application) ? firstWord(notReady) : short(notReady)}`],
    ),
    ...broken.map(({ group, problem }) => `RunnerGroup ${group} cannot be served: ${short(problem)}`),
  ];
  return lines.map((line) => `${printable(line)}\n`).join('');
}

function serveText(serve: ServeSeen, nowMs: number): string {
  if ('unread' in serve) return `not known: ${serve.unread}`;
  const { leader, renewedAt, isLate } = serve;
  const ago = renewedAt === undefined ? '' : ` ${duration(nowMs - Date.parse(renewedAt))} ago`;
  return isLate ? `nobody leads: ${leader} last renewed its Lease${ago}` : `${leader} leads (Lease renewed${ago})`;
}

function lastLookText(statuses: readonly StatusSeen[], nowMs: number): string {
  const times = statuses.flatMap(({ lastCheckTime = '' }) => (lastCheckTime === '' ? [] : [Date.parse(lastCheckTime)]));
  if (times.length === 0) return 'it has not looked at these RunnerGroups yet';
  const agoMs = nowMs - Math.max(...times);
  return `it last looked ${duration(agoMs)} ago${agoMs > LOOK_LATE_MS ? ', which is too long: read its log' : ''}`;
}

function applicationText(application: ApplicationSeen, short: (text: string) => string) {
  const { sync, health, error, pluginless, says, unread } = application;
  if (unread !== undefined) return `not known: ${unread}`;
  const noticeLines = [error, says].flatMap((text) => (text === undefined ? [] : short(text)));
  return [sync, health, pluginless, ...noticeLines].filter((part) => part !== undefined).join(', ');
}
