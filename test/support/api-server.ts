/**
 * An API server of Kubernetes: real HTTP before the objects of simulator/kubernetes. It lists, watches and writes them,
 * page by page, and refuses with Status objects. Lists may also be rows that the test writes, however odd.
 */
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { json } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { stringify } from 'yaml';
import {
  type Answer,
  type Change,
  type Kind,
  type KubeObject,
  KubeObjects,
  type Place,
  placeOf,
  type StoredObject,
} from '../../simulator/kubernetes/objects.ts';
import type { ClusterConfig } from '../../src/clients/kubernetes/config.ts';
import { type AtEnd, listen } from './server.ts';

export const TOKEN = 'sa-token-that-nobody-may-see';

/** Answers, or leaves unanswered, instead of the server when it returns true. `handle` has the server answer later. */
export type Override = (url: URL, response: ServerResponse, request: IncomingMessage, handle: () => void) => boolean;

type Rows = Readonly<Record<string, readonly object[]>>;

export interface Cluster {
  /** Rows by namespace, beside the objects. */
  readonly jobs?: Rows;
  readonly pods?: Rows;
  /** RunnerGroups. Absent: this cluster does not know them, until one is put there. */
  readonly groups?: Rows;
  /** Rows per page, when smaller than the limit that was asked for. */
  readonly pageSize?: number;
  readonly override?: Override;
  /** Serves https on `localhost`, as a kubeconfig wants it. */
  readonly tls?: { readonly key: string; readonly cert: string; readonly requestCert?: true; readonly ca?: string };
  /** Default: it ends with the test. */
  readonly atEnd?: AtEnd;
}

export interface ApiServer {
  readonly config: ClusterConfig;
  /** Requests in order. */
  readonly seen: readonly URL[];
  /** Every write that came in: method and path. */
  readonly writes: readonly string[];
  readonly close: () => Promise<void>;
  /** Returns all objects of a kind. */
  readonly all: (kind: Kind) => readonly StoredObject[];
  /** Makes or changes an object. */
  readonly put: (kind: Kind, object: KubeObject) => StoredObject;
  readonly remove: (kind: Kind, namespace: string, name: string) => void;
  /** Writes of this kind are answered with 403 until the returned function is called. */
  readonly refuse: (kind: Kind) => () => void;
  /** Requests about this namespace are answered with 403 and its watches end, until the returned function is called. */
  readonly forbid: (namespace: string) => () => void;
}

interface Watcher extends Place {
  readonly response: ServerResponse;
}

export async function startApiServer(cluster: Cluster = {}): Promise<ApiServer> {
  const { atEnd = onTestFinished, override, pageSize = 500, tls } = cluster;
  const seen: URL[] = [];
  const writes: string[] = [];
  const watchers = new Set<Watcher>();
  const refused = new Set<Kind>();
  const forbidden = new Set<string>();
  let knowsGroups = cluster.groups !== undefined;

  const objects = new KubeObjects(Date.now, (change) => {
    knowsGroups ||= change.kind === 'runnergroups';
    for (const watcher of watchers) tell(watcher, change);
  });

  const watch = (place: Place, since: number, response: ServerResponse): void => {
    response.flushHeaders();
    const watcher = { ...place, response };
    watchers.add(watcher);
    // Objects that were written between the list and this watch.
    for (const object of objects.all(place.kind))
      if (Number(object.metadata.resourceVersion) > since)
        tell(watcher, { kind: place.kind, type: 'MODIFIED', object });
    response.on('close', () => watchers.delete(watcher));
  };

  const list = ({ kind, namespace }: Place, query: URLSearchParams): object => {
    const rows = { jobs: cluster.jobs, pods: cluster.pods, runnergroups: cluster.groups }[kind as string] ?? {};
    const all = [...(rows[namespace ?? ''] ?? []), ...objects.all(kind, namespace)];
    const start = Number(query.get('continue') ?? '0');
    const end = start + Math.min(Number(query.get('limit') ?? pageSize), pageSize);
    const more = end < all.length && { continue: String(end), remainingItemCount: all.length - end };
    const metadata = { resourceVersion: String(objects.version), ...more };
    return { kind: `${kind}List`, metadata, items: all.slice(start, end) };
  };

  const written = async (place: Place, url: URL, request: IncomingMessage): Promise<Answer | number> => {
    const { method = '' } = request;
    const isDry = url.searchParams.get('dryRun') === 'All';
    writes.push(`${method} ${url.pathname}${isDry ? ' (dry run)' : ''}`);
    if (refused.has(place.kind)) return 403;
    return objects.answer(method, place, (await json(request)) as KubeObject, isDry);
  };

  const answer = async (url: URL, request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const place = placeOf(url.pathname);
    const { method = 'GET' } = request;
    if (!place || (place.kind === 'runnergroups' && !knowsGroups)) return refuseWith(response, 404);
    if (forbidden.has(place.namespace ?? '')) return refuseWith(response, 403);
    const { searchParams: query } = url;
    if (query.has('watch')) return watch(place, Number(query.get('resourceVersion') ?? objects.version), response);
    if (method === 'GET' && place.name === undefined) return void send(response, 200, list(place, query));
    const found = method === 'GET' ? objects.answer(method, place) : await written(place, url, request);
    if (typeof found === 'number') refuseWith(response, found);
    else send(response, ...found);
  };

  const handle: RequestListener = (request, response) => {
    const url = new URL(request.url ?? '/', 'http://api');
    seen.push(url);
    const itself = () => void answer(url, request, response);
    // With `requestCert`, no other client passes the handshake.
    const isKnown = tls?.requestCert || request.headers.authorization === `Bearer ${TOKEN}`;
    if (!isKnown) status(response, 401, 'Unauthorized');
    else if (!override?.(url, response, request, itself)) itself();
  };
  const server = tls ? createTlsServer(tls, handle) : createServer(handle);
  const { origin, close } = await listen(server, tls && 'https://localhost', atEnd);
  return {
    config: { url: origin, token: async () => TOKEN },
    seen,
    writes,
    close,
    all: (kind) => objects.all(kind),
    put: (kind, object) => objects.put(kind, object),
    remove: (kind, namespace, name) => objects.remove(kind, namespace, name),
    refuse: (kind) => {
      refused.add(kind);
      return () => void refused.delete(kind);
    },
    forbid: (namespace) => {
      forbidden.add(namespace);
      for (const watcher of watchers) if (watcher.namespace === namespace) watcher.response.end();
      return () => void forbidden.delete(namespace);
    },
  };
}

/** A kubeconfig as text. @param ca PEM @param user default: the token that the server accepts */
export function kubeconfigOf(server: string, ca: string, user: object = { token: TOKEN }): string {
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'runners',
    contexts: [{ name: 'runners', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster: { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') } }],
    users: [{ name: 'u', user }],
  });
}

function tell({ kind, namespace, response }: Watcher, { object, type, ...change }: Omit<Change, 'before'>): void {
  const isSeen = kind === change.kind && (namespace === undefined || namespace === object.metadata.namespace);
  if (isSeen) response.write(`${JSON.stringify({ type, object })}\n`);
}

function refuseWith(response: ServerResponse, code: number): void {
  status(response, code, { 403: 'Forbidden', 404: 'NotFound' }[code] ?? 'Refused');
}

/** A Status object, as the API server refuses. True, as an `Override` says that it has answered. */
export function status(response: ServerResponse, code: number, reason: string): true {
  return send(response, code, {
    kind: 'Status',
    status: 'Failure',
    message: `secret words of the server`,
    reason,
    // The API server names the object. A webhook's refusal has no details.
    details: { kind: 'things' },
    code,
  });
}

export function send(response: ServerResponse, code: number, body: unknown): true {
  response.writeHead(code, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
  return true;
}
