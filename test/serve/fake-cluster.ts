/** A Kubernetes API small enough for a test: RunnerGroups, Jobs, pods and Leases that can be listed, watched and written. */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { ClusterConfig } from '../../src/clients/kubernetes/config.ts';
import { type Listening, serve } from '../support/server.ts';

export interface KubeObject {
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly resourceVersion?: string;
    readonly [more: string]: unknown;
  };
  readonly [more: string]: unknown;
}

type Kind = 'runnergroups' | 'jobs' | 'pods' | 'leases' | 'secrets' | 'events';

export interface FakeCluster {
  readonly config: ClusterConfig;
  /** Every write that came in: method and path. */
  readonly writes: readonly string[];
  /** All objects of a kind. */
  readonly all: (kind: Kind) => readonly KubeObject[];
  /** Makes or changes an object. */
  readonly put: (kind: Kind, object: KubeObject) => void;
  readonly remove: (kind: Kind, key: string) => void;
  /** Writes of this kind are answered with 403 until the returned function is called. */
  readonly refuse: (kind: Kind) => () => void;
  /** Lists of this namespace are answered with 403 and its watches end, until the returned function is called. */
  readonly forbid: (namespace: string) => () => void;
}

export interface FakeClusterOptions {
  /** Default: plain HTTP. */
  readonly listen?: (handler: RequestListener) => Promise<Listening>;
  /** Answers, or leaves unanswered, instead of the fake when it returns true. `handle` has the fake answer later. */
  readonly bend?: (request: IncomingMessage, response: ServerResponse, handle: () => void) => boolean;
}

interface Watcher {
  readonly kind: Kind;
  /** Undefined: all. */
  readonly namespace: string | undefined;
  readonly response: ServerResponse;
}

/** Status and body. */
type Answer = readonly [number, unknown];

const PATH = /^\/api(?:s\/[^/]+)?\/v1(?:alpha1)?(?:\/namespaces\/([^/]+))?\/(\w+)(?:\/([^/]+))?(?:\/(status))?$/;

export async function startFakeCluster({
  listen = serve,
  bend = () => false,
}: FakeClusterOptions = {}): Promise<FakeCluster> {
  const store: Record<Kind, Map<string, KubeObject>> = {
    runnergroups: new Map(),
    jobs: new Map(),
    pods: new Map(),
    leases: new Map(),
    secrets: new Map(),
    events: new Map(),
  };
  const watchers = new Set<Watcher>();
  const writes: string[] = [];
  const refused = new Set<Kind>();
  const forbidden = new Set<string>();
  let version = 0;

  const tell = (kind: Kind, type: string, object: KubeObject): void => {
    for (const { response, kind: wanted, namespace = object.metadata.namespace } of watchers) {
      if (wanted === kind && namespace === object.metadata.namespace)
        response.write(`${JSON.stringify({ type, object })}\n`);
    }
  };
  const put = (kind: Kind, object: KubeObject): KubeObject => {
    version += 1;
    const key = `${object.metadata.namespace}/${object.metadata.name}`;
    const known = store[kind].get(key);
    const uid = known?.metadata['uid'] ?? `uid-${version}`;
    const creationTimestamp = known?.metadata['creationTimestamp'] ?? new Date().toISOString();
    const metadata = { generation: 1, ...object.metadata, uid, creationTimestamp, resourceVersion: String(version) };
    const made = { ...object, metadata };
    store[kind].set(key, made);
    tell(kind, known ? 'MODIFIED' : 'ADDED', made);
    return made;
  };

  const listening = await listen((request, response) => {
    const later = () => void handle(request, response);
    if (!bend(request, response, later)) later();
  });

  const list = (kind: Kind, namespace: string | undefined): object => {
    const items = [...store[kind].values()].filter((item) => !namespace || item.metadata.namespace === namespace);
    return { kind: 'TheList', metadata: { resourceVersion: String(version) }, items };
  };
  const watch = (kind: Kind, namespace: string | undefined, since: number, response: ServerResponse): void => {
    response.flushHeaders();
    const watcher = { kind, namespace, response };
    watchers.add(watcher);
    // What was written between the list and this watch.
    for (const object of store[kind].values()) {
      const isWatched = namespace === undefined || object.metadata.namespace === namespace;
      if (isWatched && Number(object.metadata.resourceVersion) > since)
        response.write(`${JSON.stringify({ type: 'MODIFIED', object })}\n`);
    }
    response.on('close', () => watchers.delete(watcher));
  };
  const mergeSecret = (known: KubeObject | undefined, body: KubeObject): Answer => {
    if (!known) return [404, {}];
    const { resourceVersion } = body.metadata;
    if (resourceVersion !== undefined && resourceVersion !== known.metadata.resourceVersion) return [409, {}];
    const texts = ({ metadata }: KubeObject) => metadata['annotations'] as object | undefined;
    const annotations = { ...texts(known), ...texts(body) };
    const metadata = { ...known.metadata, annotations };
    return [
      200,
      put('secrets', { ...known, metadata, data: { ...(known['data'] as object), ...(body['data'] as object) } }),
    ];
  };
  const write = (kind: Kind, method: string, known: KubeObject | undefined, body: KubeObject): Answer => {
    if (method === 'PATCH' && kind === 'secrets') return mergeSecret(known, body);
    if (method === 'PATCH') {
      // A merge patch leaves what it does not name.
      const status = { ...(known?.['status'] as object | undefined), ...(body['status'] as object) };
      return known ? [200, put(kind, { ...known, status })] : [404, {}];
    }
    const stale = known && known.metadata.resourceVersion !== body.metadata.resourceVersion;
    if (stale || (method === 'POST' && known)) return [409, {}];
    return [method === 'POST' ? 201 : 200, put(kind, body)];
  };

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', url: target = '/' } = request;
    const url = new URL(target, 'http://cluster');
    const [, namespace, plural = '', name] = PATH.exec(url.pathname) ?? [];
    const kind = plural as Kind;
    if (!(kind in store)) return answer(response, [404, {}]);
    if (forbidden.has(namespace ?? '')) return answer(response, [403, {}]);
    const since = Number(url.searchParams.get('resourceVersion') ?? version);
    if (url.searchParams.has('watch')) return watch(kind, namespace, since, response);
    const known = store[kind].get(`${namespace}/${name}`);
    if (method === 'GET' && name === undefined) return answer(response, [200, list(kind, namespace)]);
    if (method === 'GET') return answer(response, known ? [200, known] : [404, {}]);
    answer(response, await written(kind, url, request, name));
  }

  async function written(kind: Kind, url: URL, request: IncomingMessage, name: string | undefined): Promise<Answer> {
    const { method = '' } = request;
    const isDry = url.searchParams.get('dryRun') === 'All';
    writes.push(`${method} ${url.pathname}${isDry ? ' (dry run)' : ''}`);
    if (refused.has(kind)) return [403, {}];
    const body = JSON.parse(await bodyOf(request)) as KubeObject;
    // Another write may have come while the body was read.
    const [, namespace] = PATH.exec(url.pathname) ?? [];
    const known = store[kind].get(`${namespace}/${name ?? body.metadata.name}`);
    return isDry ? [known ? 409 : 201, {}] : write(kind, method, known, body);
  }

  return {
    config: { url: listening.origin, token: async () => 'cluster-token' },
    writes,
    all: (kind) => [...store[kind].values()],
    put: (kind, object) => void put(kind, object),
    refuse: (kind) => {
      refused.add(kind);
      return () => void refused.delete(kind);
    },
    forbid: (namespace) => {
      forbidden.add(namespace);
      for (const watcher of watchers) if (watcher.namespace === namespace) watcher.response.end();
      return () => void forbidden.delete(namespace);
    },
    remove: (kind, key) => {
      const known = store[kind].get(key);
      store[kind].delete(key);
      if (known) tell(kind, 'DELETED', known);
    },
  };
}

function answer(response: ServerResponse, [status, body]: Answer): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
