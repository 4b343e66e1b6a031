/** Which cluster `explain` looked at, and what stands there besides Jobs and pods: `serve`, Argo CD's Applications, statuses. */
import * as z from 'zod';
import { AppShapeError, readApplication } from '../../argocd/app-state.ts';
import { type ApplicationRef, applicationOf } from '../../argocd/application.ts';
import { TRACKING_ID } from '../../charts/marks.ts';
import { Failure } from '../../failure.ts';
import type { Deadline } from '../../http/deadline.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import type { RunnerGroupObject } from '../../kubernetes/resources.ts';
import { API_VERSION, KIND } from '../../runnergroup/schema.ts';
import { RunnerGroupStatus } from '../../runnergroup/status.ts';

/** The cluster, and what its control plane says. */
export interface WhereIAm {
  /** `https://host:port` */
  readonly server: string;
  /** Of the kubeconfig. Absent: the service account of this pod. */
  readonly context?: string;
  /** Empty: all. */
  readonly namespaces: readonly string[];
  readonly serve: ServeSeen;
  readonly applications: readonly ApplicationSeen[];
  /** RunnerGroups that cannot be served. They are in no other list. */
  readonly broken: readonly UnservedGroup[];
  /** What `serve` wrote into the RunnerGroups. */
  readonly statuses: readonly StatusSeen[];
}

/** `unread`: why nothing is known. Times are ISO 8601. */
export type ServeSeen =
  | { readonly leader: string; readonly renewedAt?: string; readonly isLate: boolean }
  | { readonly unread: string };

export interface ApplicationSeen {
  /** `argocd/runners` */
  readonly name: string;
  readonly sync?: string;
  readonly health?: string;
  /** Its last error, or that of its last sync. */
  readonly error?: string;
  readonly unread?: string;
}

export interface UnservedGroup {
  /** `runners/ci` */
  readonly group: string;
  readonly problem: string;
}

export interface StatusSeen {
  readonly group: string;
  /** When `serve` last looked at Gitea for it. */
  readonly lastCheckTime?: string;
  /** Why it is not ready: reason and message. */
  readonly notReady?: string;
}

/** Where the Lease and the Applications are. */
export interface ControlPlane {
  readonly argocdNamespace: string;
  readonly lease: string;
  readonly nowMs: number;
}

/** Applications that are asked for; more would fill the screen and load the API server. */
const MOST_APPLICATIONS = 20;
/** A Lease that was not renewed for so long has no holder: `serve` renews every 2 s. */
const LEASE_LATE_MS = 30_000;

const LeaseRead = z.object({
  spec: z.object({ holderIdentity: z.string().nullish(), renewTime: z.string().nullish() }).nullish(),
});

/** Reads what may be read. Nothing that is missing or refused is an error here. */
export async function lookAround(
  client: KubeClient,
  objects: readonly RunnerGroupObject[],
  plane: ControlPlane,
  deadline: Deadline,
): Promise<Pick<WhereIAm, 'serve' | 'applications' | 'statuses'>> {
  const references = applicationsOf(objects, plane.argocdNamespace).slice(0, MOST_APPLICATIONS);
  const [serve, ...applications] = await Promise.all([
    readLease(client, plane, deadline),
    ...references.map((reference) => readApp(client, reference, deadline)),
  ]);
  return { serve, applications, statuses: objects.map(statusOf) };
}

/** Each Application once. */
function applicationsOf(
  objects: readonly RunnerGroupObject[],
  argocdNamespace: string,
): readonly Required<ApplicationRef>[] {
  const found = new Map<string, Required<ApplicationRef>>();
  for (const { metadata } of objects) {
    const { namespace, name } = metadata;
    const [group = ''] = API_VERSION.split('/');
    const application = applicationOf(metadata.annotations?.[TRACKING_ID], { group, kind: KIND, namespace, name });
    if (!application) continue;
    const reference = { namespace: application.namespace ?? argocdNamespace, name: application.name };
    found.set(`${reference.namespace}/${reference.name}`, reference);
  }
  return [...found.values()];
}

async function readLease(
  client: KubeClient,
  { argocdNamespace, lease, nowMs }: ControlPlane,
  deadline: Deadline,
): Promise<ServeSeen> {
  const path = `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(argocdNamespace)}/leases/${encodeURIComponent(lease)}`;
  const read = await readObject(client, `read the Lease ${argocdNamespace}/${lease}`, path, deadline);
  if ('unread' in read) return read;
  const { holderIdentity, renewTime } = LeaseRead.safeParse(read.json).data?.spec ?? {};
  if (!holderIdentity) return { unread: 'its Lease has no holder: no replica of serve leads' };
  const renewedMs = Date.parse(renewTime ?? '');
  return {
    leader: holderIdentity,
    ...(!Number.isNaN(renewedMs) && { renewedAt: new Date(renewedMs).toISOString() }),
    isLate: Number.isNaN(renewedMs) || nowMs - renewedMs > LEASE_LATE_MS,
  };
}

async function readApp(
  client: KubeClient,
  { namespace, name }: Required<ApplicationRef>,
  deadline: Deadline,
): Promise<ApplicationSeen> {
  const called = `${namespace}/${name}`;
  const path = `/apis/argoproj.io/v1alpha1/namespaces/${encodeURIComponent(namespace)}/applications/${encodeURIComponent(name)}`;
  const read = await readObject(client, `read the Application ${called}`, path, deadline);
  if ('unread' in read) return { name: called, ...read };
  try {
    const { sync, health, errors, operation } = readApplication(read.json);
    const failed = operation?.phase === 'Failed' || operation?.phase === 'Error' ? operation : undefined;
    const [error] = errors.map(({ type, message }) => `${type}: ${message}`);
    const told = error ?? (failed && `its last sync has ended with ${failed.phase}: ${failed.message}`);
    return { name: called, sync, ...(health !== undefined && { health }), ...(told !== undefined && { error: told }) };
  } catch (error) {
    if (error instanceof AppShapeError) return { name: called, unread: error.message };
    throw error;
  }
}

/** An object, or why it cannot be read. */
export async function readObject(
  client: KubeClient,
  what: string,
  path: string,
  deadline: Deadline,
): Promise<{ readonly json: unknown } | { readonly unread: string }> {
  try {
    const { status, text } = await client.send({ what, path }, deadline);
    if (status === 403) return { unread: 'you may not read it (403)' };
    if (status === 404) return { unread: 'it does not exist (404)' };
    if (status !== 200) return { unread: `the cluster answered ${status}` };
    return { json: JSON.parse(text) };
  } catch (error) {
    if (error instanceof Failure) return { unread: `the cluster did not answer (${error.code})` };
    if (error instanceof SyntaxError) return { unread: 'the answer is no JSON' };
    throw error;
  }
}

/** What `serve` wrote into a RunnerGroup. */
export function statusOf({ metadata, status }: RunnerGroupObject): StatusSeen {
  const { data } = RunnerGroupStatus.safeParse(status ?? {});
  const ready = data?.conditions?.find(({ type }) => type === 'Ready');
  return {
    group: `${metadata.namespace}/${metadata.name}`,
    ...(data?.lastCheckTime !== undefined && { lastCheckTime: data.lastCheckTime }),
    ...(ready && ready.status !== 'True' && { notReady: `${ready.reason}: ${ready.message}` }),
  };
}
