/**
 * The ports of `serve`:
 *
 *     webhooks   from anywhere: Gitea is behind an Ingress or outside
 *     metrics    from every namespace but that of the runners
 *     probes     from the node only: the NetworkPolicy of install/ opens this port to no pod, and the kubelet needs no policy
 *     looks      where it is asked for: from Argo CD's repo-server
 */
import type { RequestListener } from 'node:http';
import { count } from '../shared/printable.ts';
import { table } from '../shared/table.ts';
import {
  type HttpServer,
  type HttpServerOptions,
  type ListenAddress,
  plain,
  servePages,
  startHttpServer,
  type WebPage,
} from './http/http-server.ts';
import type { Listener, Ports, Tell } from './planning/events.ts';
import type { QueueRow } from './queue/work-queue.ts';
import type { RefusalReason, WebhookGate } from './webhook/gate.ts';
import { type TakeDelivery, webhookListener } from './webhook/listener.ts';

export interface ListenersOptions {
  readonly listen: ListenAddress;
  readonly metricsListen: ListenAddress;
  readonly probeListen: ListenAddress;
  /** Address at which `generate` gets looks. Absent: nobody gets any. */
  readonly looksListen?: ListenAddress;
  readonly looks?: RequestListener;
  readonly tell: Tell;
  readonly gate: WebhookGate;
  readonly take: TakeDelivery;
  /** Handlers of requests that are not webhooks, by path. Absent: they are refused like requests to any other path. */
  readonly otherRequests?: ReadonlyMap<string, RequestListener>;
  readonly isReady: () => boolean;
  readonly queue: () => readonly QueueRow[];
  readonly leads: () => boolean;
  readonly metricsPage: () => Promise<{ readonly contentType: string; readonly body: string }>;
}

/** Listens on all ports. `close` ends all connections at once. @throws Failure if one cannot be opened */
export async function startListeners(options: ListenersOptions) {
  const { gate, take, tell } = options;
  const open: HttpServer[] = [];
  const start = async (listener: Listener, serverOptions: Omit<HttpServerOptions, 'what'>): Promise<number> => {
    const onDropped = () => tell({ is: 'connection-dropped', listener });
    const server = await startHttpServer({ ...serverOptions, what: listener, onDropped });
    open.push(server);
    return server.port;
  };
  const close = async (): Promise<void> => {
    await Promise.all(open.map((server) => server.close()));
  };
  const tellRefusal = (result: RefusalReason): void => tell({ is: 'webhook', result });
  const probes = {
    '/healthz': () => plain(200, 'ok'),
    '/readyz': () => (options.isReady() ? plain(200, 'ok') : plain(503, 'not ready')),
  };
  const webhooksOnly = webhookListener(gate, take, tellRefusal);
  try {
    const ports: Ports = {
      webhooks: await start('webhooks', {
        address: options.listen,
        onRequest: (request, response) =>
          (options.otherRequests?.get(request.url ?? '') ?? webhooksOnly)(request, response),
        onMalformed: () => tellRefusal('malformed'),
      }),
      metrics: await start('metrics', {
        address: options.metricsListen,
        onRequest: servePages({ ...probes, '/metrics': oncePerTurn(options.metricsPage) }),
      }),
      probes: await start('probes', {
        address: options.probeListen,
        onRequest: servePages({
          ...probes,
          '/debug/queue': () => plain(200, queuePage(options.queue(), options.leads())),
        }),
      }),
      ...(options.looksListen &&
        options.looks && {
          looks: await start('looks', { address: options.looksListen, onRequest: options.looks, connections: READERS }),
        }),
    };
    return { ports, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Each `generate` opens one connection or a few for a moment. All of a repo-server come from one address. */
const READERS = { total: 256, perAddress: 256 };

/** Renders one page for all requests of one turn of the event loop, so that a thousand clients cost little more than one. */
function oncePerTurn(render: ListenersOptions['metricsPage']): () => Promise<WebPage> {
  let next: Promise<WebPage> | undefined;
  return () => {
    next ??= new Promise(setImmediate).then(async () => {
      next = undefined;
      return { status: 200, ...(await render()) };
    });
    return next;
  };
}

/** Most rows of the page: those that have run longest and those due first. The page counts the others. */
const MOST_ROWS = 1_000;

export function queuePage(rows: readonly QueueRow[], leads: boolean): string {
  const title = leads ? 'This process leads.' : 'This process does not lead: ask the other replicas.';
  if (rows.length === 0) return title;
  const shown = rows.slice(0, MOST_ROWS).map((row) => [row.of, whenText(row), `${row.key}${failureText(row)}`]);
  const hiddenCount = rows.length - shown.length;
  const lines = table(['', '', ''], shown, { colour: false, whole: true });
  return `${title}\n${lines}${hiddenCount > 0 ? `… and ${count(hiddenCount, 'more row')}` : ''}`.trimEnd();
}

function whenText({ is, ms }: QueueRow): string {
  const seconds = (Math.abs(ms) / 1000).toFixed(1);
  if (is === 'running') return `running for ${seconds} s`;
  return ms > 0 ? `due in ${seconds} s` : `waits for its turn for ${seconds} s`;
}

function failureText({ failed, failures }: QueueRow): string {
  if (!failed) return '';
  const times = failures > 0 ? `, ${count(failures, 'time')} in a row` : '';
  return `  (failed with ${failed.code} ${Math.round(failed.agoMs / 1000)} s ago${times})`;
}
