import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { ClusterConfig } from '../../src/clients/kubernetes/config.ts';
import { listen } from './server.ts';

export const TOKEN = 'sa-token-that-nobody-may-see';

/** Answers instead of the list when it returns true. */
export type Override = (url: URL, response: ServerResponse, request: IncomingMessage) => boolean;

/** A node:http server that lists Jobs, Pods and RunnerGroups as the API server does: label selector, limit, continue, Status objects. */
export interface ApiServer {
  readonly config: ClusterConfig;
  /** Each request, in order. */
  readonly seen: readonly URL[];
  readonly close: () => Promise<void>;
}

export interface Cluster {
  /** By namespace. */
  readonly jobs?: Readonly<Record<string, readonly object[]>>;
  readonly pods?: Readonly<Record<string, readonly object[]>>;
  /** RunnerGroups. Absent: this cluster does not know them. */
  readonly groups?: Readonly<Record<string, readonly object[]>>;
  /** Rows per page, when smaller than the limit that was asked for. */
  readonly pageSize?: number;
  readonly override?: Override;
  /** Serves https on `localhost`, as a kubeconfig wants it. */
  readonly tls?: { readonly key: string; readonly cert: string; readonly requestCert?: true; readonly ca?: string };
}

export async function startApiServer(cluster: Cluster): Promise<ApiServer> {
  const seen: URL[] = [];
  const handle: RequestListener = (request, response) => {
    const url = new URL(request.url ?? '/', 'http://api');
    seen.push(url);
    // With `requestCert` no one else gets through the handshake.
    const isKnown = cluster.tls?.requestCert || request.headers.authorization === `Bearer ${TOKEN}`;
    if (!isKnown) status(response, 401, 'Unauthorized');
    else if (!cluster.override?.(url, response, request)) answer(cluster, url, response);
  };
  const options = { keepAliveTimeout: 5 };
  const server = cluster.tls ? createTlsServer({ ...options, ...cluster.tls }, handle) : createServer(options, handle);
  const { origin, close } = await listen(server, cluster.tls && 'https://localhost', () => undefined);
  return { config: { url: origin, token: async () => TOKEN }, seen, close };
}

function answer(cluster: Cluster, url: URL, response: ServerResponse): void {
  const path = /^\/(?:apis\/(?:batch\/v1|gitea\.bpg\.pw\/v1alpha1)|api\/v1)\/namespaces\/([^/]+)\/(\w+)$/.exec(
    url.pathname,
  );
  const [, namespace = '', kind = ''] = path ?? [];
  const lists = { jobs: cluster.jobs ?? {}, pods: cluster.pods ?? {}, runnergroups: cluster.groups };
  const list = lists[kind as keyof typeof lists];
  if (!list) {
    status(response, 404, 'NotFound');
    return;
  }
  const of = list[namespace] ?? [];
  const limit = Math.min(Number(url.searchParams.get('limit')), cluster.pageSize ?? 500);
  const start = Number(url.searchParams.get('continue') ?? '0');
  const end = start + limit;
  send(response, 200, {
    kind: `${kind}List`,
    metadata: {
      resourceVersion: '1',
      ...(end < of.length && { continue: String(end), remainingItemCount: of.length - end }),
    },
    items: of.slice(start, end),
  });
}

/** A Status object, as the API server refuses. True, as an `Override` says that it has answered. */
export function status(response: ServerResponse, code: number, reason: string): true {
  return send(response, code, {
    kind: 'Status',
    status: 'Failure',
    message: `secret words of the server`,
    reason,
    code,
  });
}

export function send(response: ServerResponse, code: number, body: unknown): true {
  response.writeHead(code, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
  return true;
}
