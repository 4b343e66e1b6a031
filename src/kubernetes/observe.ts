/**
 * Reads our Jobs and their pods from Kubernetes. It only ever lists, in the namespaces it is told, with the label that all
 * our Jobs carry; everything it finds is judged by `judgeJob`. Any answer that is not a complete list is a `Failure`.
 */
import type * as z from 'zod';
import type { Failure } from '../failure.ts';
import { failure, HttpClient, type HttpRequest, type RequestLine } from '../http/client.ts';
import { Deadline } from '../http/deadline.ts';
import type { LiveJob } from '../plan/evidence.ts';
import type { ClusterConfig } from './config.ts';
import { judgeJob } from './judge.ts';
import { KubeJob, KubeList, KubePod } from './shapes.ts';

export interface ObserveClusterOptions {
  /** For everything, in ms. */
  readonly deadlineMs: number;
  readonly onRequest?: (line: RequestLine) => void;
}

interface Resource<T> {
  /** As RBAC names it, e.g. `jobs.batch`. */
  readonly name: string;
  readonly path: (namespace: string) => string;
  readonly item: z.ZodType<T>;
}

const JOBS: Resource<KubeJob> = {
  name: 'jobs.batch',
  path: (namespace) => `/apis/batch/v1/namespaces/${encodeURIComponent(namespace)}/jobs`,
  item: KubeJob,
};
const PODS: Resource<KubePod> = {
  name: 'pods',
  path: (namespace) => `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`,
  item: KubePod,
};
const SELECTOR = 'gitea.bpg.pw/managed-by=argocd-gitea-runners';
/** What kubectl asks for; the server keeps a snapshot for the pages that follow. */
const PAGE_LIMIT = '500';
/** A page of 500 Jobs with managedFields is about 4 MiB. */
const BODY_LIMIT = 64 * 1024 * 1024;
/** Snapshots expire after 5 minutes, or sooner on a server under pressure. */
const MAX_LISTINGS = 3;

/** All Jobs of ours in these namespaces, each once, by namespace and name. Throws `Failure` (exit 1). */
export async function observeCluster(
  namespaces: readonly string[],
  config: ClusterConfig,
  { deadlineMs, onRequest }: ObserveClusterOptions,
): Promise<readonly LiveJob[]> {
  const deadline = new Deadline(deadlineMs);
  // No proxy: the API server is a neighbour, and its token must not travel further.
  const http = new HttpClient({
    env: {},
    bodyLimit: BODY_LIMIT,
    ...(config.ca !== undefined && { ca: config.ca }),
    ...(onRequest && { onRequest }),
  });
  try {
    const token = await config.token();
    const api: Api = { http, deadline, url: config.url, authorization: `Bearer ${token}` };
    const found = await Promise.all(
      [...new Set(namespaces)].sort().map((namespace) => observeNamespace(api, namespace)),
    );
    return found.flat();
  } finally {
    await http.close();
  }
}

interface Api {
  readonly http: HttpClient;
  readonly deadline: Deadline;
  readonly url: string;
  readonly authorization: string;
}

async function observeNamespace(api: Api, namespace: string): Promise<readonly LiveJob[]> {
  const [jobs, pods] = await Promise.all([list(api, JOBS, namespace), list(api, PODS, namespace)]);
  const podsOf = new Map<string, KubePod[]>();
  for (const pod of pods) {
    const owner = pod.metadata.ownerReferences?.find(({ kind }) => kind === 'Job')?.uid;
    if (owner !== undefined) podsOf.set(owner, [...(podsOf.get(owner) ?? []), pod]);
  }
  return jobs
    .map((job) => judgeJob(job, podsOf.get(job.metadata.uid) ?? []))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** All items of one list. A snapshot that expires between two pages (410) is begun anew. */
async function list<T>(api: Api, resource: Resource<T>, namespace: string): Promise<readonly T[]> {
  for (let listing = 1; ; listing += 1) {
    const items = await listOnce(api, resource, namespace);
    if (items !== 'expired') return items;
    if (listing === MAX_LISTINGS) {
      throw failure(
        requestFor(api, resource, namespace, ''),
        'GR-CLUSTER-04',
        `the list expired ${MAX_LISTINGS} times while it was read`,
        'Check the load of the API server',
      );
    }
  }
}

async function listOnce<T>(api: Api, resource: Resource<T>, namespace: string): Promise<readonly T[] | 'expired'> {
  const items: T[] = [];
  let token = '';
  do {
    const request = requestFor(api, resource, namespace, token);
    const answer = await api.http.send(request, api.deadline);
    if (answer.status === 410) return 'expired';
    if (answer.status !== 200) throw refusal(request, answer.status, resource.name, namespace);
    const page = parsePage(request, answer.text);
    for (const item of page.items) items.push(parseItem(request, resource, item));
    token = page.metadata.continue ?? '';
  } while (token !== '');
  return items;
}

function requestFor<T>(api: Api, resource: Resource<T>, namespace: string, token: string): HttpRequest {
  const url = new URL(resource.path(namespace), api.url);
  url.search = new URLSearchParams({
    labelSelector: SELECTOR,
    limit: PAGE_LIMIT,
    ...(token !== '' && { continue: token }),
  }).toString();
  return {
    what: `list ${resource.name} of namespace ${namespace}`,
    method: 'GET',
    url,
    authorization: () => api.authorization,
  };
}

function refusal(request: HttpRequest, status: number, resource: string, namespace: string): Failure {
  const off = 'or use --cluster off';
  switch (status) {
    case 401:
      return failure(
        request,
        'GR-CLUSTER-05',
        'the cluster does not know the service account token (401)',
        `Mount a valid token, ${off}`,
      );
    case 403:
      return failure(
        request,
        'GR-CLUSTER-06',
        'the cluster refused (403)',
        `Grant the service account the verb "list" on "${resource}" in namespace "${namespace}", ${off}`,
      );
    default:
      return failure(
        request,
        'GR-CLUSTER-07',
        `status ${status} where a list was expected`,
        `Check the API server, ${off}`,
      );
  }
}

function parsePage(request: HttpRequest, text: string): z.infer<typeof KubeList> {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw unreadable(request, 'no JSON');
  }
  const page = KubeList.safeParse(body);
  if (!page.success) throw unreadable(request, `no list: ${firstPath(page.error)}`);
  return page.data;
}

function parseItem<T>(request: HttpRequest, resource: Resource<T>, item: unknown): T {
  const parsed = resource.item.safeParse(item);
  if (!parsed.success) throw unreadable(request, `an item without a usable ${firstPath(parsed.error)}`);
  return parsed.data;
}

/** The place only: values come from outside. */
function firstPath(error: z.ZodError): string {
  return error.issues[0]?.path.join('.') || 'object';
}

function unreadable(request: HttpRequest, received: string): Failure {
  return failure(
    request,
    'GR-CLUSTER-08',
    `the answer is ${received}`,
    'Check that KUBERNETES_SERVICE_HOST is a Kubernetes API server, or use --cluster off',
  );
}
