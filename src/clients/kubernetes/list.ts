/** Reads complete lists. Any answer that is not one is a `Failure`. */
import type { Failure } from '../../shared/failure.ts';
import { withTrackingId } from '../../shared/marks.ts';
import { type Deadline, failure, type HttpRequest, isTooLong } from '../http/request.ts';
import { type KubeApi, type KubeQuestion, parseAnswer, parseValue, unexpectedStatus } from './kube-client.ts';
import { KubeList, listPath, type Resource, RUNNER_GROUPS, selectorOf } from './resources.ts';

/** Rows per page, as in kubectl. The server keeps a snapshot for the pages that follow. */
const PAGE_LIMIT = 500;
/** Rows per page if a page is too long for the client: so many of the longest objects fit into one. */
const SMALL_PAGE_LIMIT = 5;
/** Snapshots expire after 5 minutes, or sooner on a server under pressure. */
const MAX_LISTINGS = 3;
const MOST_OBJECTS = 200 * PAGE_LIMIT;

/** Lists a kind as of one moment: a watch from its version misses nothing. @param namespace undefined: all */
export async function listAll<T>(
  client: KubeApi,
  resource: Resource<T>,
  namespace: string | undefined,
  deadline: Deadline,
) {
  for (let listing = 1; listing <= MAX_LISTINGS; listing += 1) {
    const snapshot = await listOnce(client, resource, namespace, deadline);
    if (snapshot !== 'expired') return snapshot;
  }
  const request = client.request(questionFor(resource, namespace, '', PAGE_LIMIT));
  const received = `the API server dropped the list ${MAX_LISTINGS} times before its end`;
  throw failure(request, 'GR-CLUSTER-04', received, 'Check the load of the API server', 'cluster');
}

async function listOnce<T>(
  client: KubeApi,
  resource: Resource<T>,
  namespace: string | undefined,
  deadline: Deadline,
): Promise<'expired' | { readonly items: readonly T[]; readonly resourceVersion: string }> {
  const items: T[] = [];
  let token = '';
  let limit = PAGE_LIMIT;
  for (let pages = 1; ; pages += 1) {
    const question = questionFor(resource, namespace, token, limit);
    const request = client.request(question);
    const answer = await client.send(question, deadline).catch((error: unknown) => {
      if (limit > SMALL_PAGE_LIMIT && isTooLong(error)) return undefined;
      throw error;
    });
    if (answer === undefined) {
      limit = SMALL_PAGE_LIMIT;
      continue;
    }
    if (answer.status === 410) return 'expired';
    if (answer.status !== 200) throw failureOfList(request, answer.status, resource.name, namespace);
    const page = parseAnswer(request, KubeList, answer.text, 'list');
    for (const item of page.items) items.push(parseItem(client, request, resource, item));
    const next = page.metadata.continue ?? '';
    if (next === '') return { items, resourceVersion: page.metadata.resourceVersion ?? '' };
    // A page may be empty although more follow (ListOptions.limit). But a token names a place in the list: it never comes twice.
    if (next === token) throw endless(request, `page ${pages} leads to itself`);
    token = next;
    if (pages * limit >= MOST_OBJECTS) throw endless(request, `more than ${pages} pages of ${limit}`);
  }
}

/** Checks an item of a list or watch. @throws Failure that names the place only */
export function parseItem<T>(client: KubeApi, request: HttpRequest, { item, kind }: Resource<T>, value: unknown): T {
  const tracked = kind === undefined ? value : withTrackingId(value, kind, client.trackingLabel);
  return parseValue(request, item, tracked, 'an item without a usable');
}

function endless(request: HttpRequest, received: string): Failure {
  const remedy = 'Delete objects that are not needed any more, or check the API server and what stands before it';
  return failure(request, 'GR-CLUSTER-14', `the list has no end: ${received}`, remedy, 'cluster');
}

function questionFor(
  resource: Resource<unknown>,
  namespace: string | undefined,
  token: string,
  limit: number,
): KubeQuestion {
  return {
    what: `list ${resource.name} ${inNamespace(namespace)}`,
    path: listPath(resource, namespace),
    query: { ...selectorOf(resource), limit: String(limit), ...(token !== '' && { continue: token }) },
  };
}

export function inNamespace(namespace: string | undefined): string {
  return namespace === undefined ? 'of all namespaces' : `of namespace ${namespace}`;
}

function failureOfList(request: HttpRequest, status: number, resource: string, namespace: string | undefined): Failure {
  const isRunnerGroups = resource === RUNNER_GROUPS.name;
  if (status === 404 && isRunnerGroups) {
    const remedy = 'Look at the cluster of the installation (--kubeconfig), or apply install/crd.yaml to this one';
    return failure(request, 'GR-CLUSTER-16', 'this cluster does not know RunnerGroups (404)', remedy, 'not-found');
  }
  // A plan is possible without a look at Jobs. RunnerGroups are only in the cluster.
  const advice = isRunnerGroups ? '' : ', or use --cluster off (in generate and explain)';
  if (status !== 403) return unexpectedStatus(request, status, advice);
  const namespaceText = namespace === undefined ? 'in the whole cluster' : `in namespace "${namespace}"`;
  const remedy = `Grant the account that asks the verb "list" on "${resource}" ${namespaceText}${isRunnerGroups ? ', or choose another namespace' : advice}`;
  return failure(request, 'GR-CLUSTER-06', 'the cluster refused (403)', remedy, 'cluster-forbidden');
}
