/**
 * The three ports of `serve`:
 *
 *     webhooks   from anywhere: Gitea is behind an Ingress or outside
 *     metrics    from every namespace but that of the runners
 *     probes     from the node only: the NetworkPolicy of install/ names this port to nobody, and the kubelet needs no leave
 */

import type { Log } from '../subscribers/log.ts';
import type { Metrics } from '../subscribers/metrics.ts';
import type { WebhookEvent, WebhookGate } from '../webhook/gate.ts';
import { type RawDelivery, webhookListener } from '../webhook/listener.ts';
import { type HttpServer, type ListenAddress, type Page, plain, servePages, startHttpServer } from './server.ts';

export interface ListenersOptions {
  readonly listen: ListenAddress;
  readonly metricsListen: ListenAddress;
  readonly probeListen: ListenAddress;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly gate: WebhookGate;
  /** Takes an accepted delivery and gives the status to answer. */
  readonly take: (event: WebhookEvent, raw: RawDelivery) => Promise<number>;
  readonly isReady: () => boolean;
  /** Brings the gauges up to date. */
  readonly measure: () => void;
}

export interface Listeners {
  /** The real ports. */
  readonly ports: { readonly webhooks: number; readonly metrics: number; readonly probes: number };
  /** Stops listening and ends all connections at once. */
  readonly close: () => Promise<void>;
}

/** The log tells of dropped connections at most this often per port; the metric counts each. */
const DROPPED_LOG_MS = 60_000;

/** Listens on all three. @throws Failure when one address cannot be had; then none is kept. */
export async function startListeners(options: ListenersOptions): Promise<Listeners> {
  const { metrics, gate, take } = options;
  const open: HttpServer[] = [];
  const start = async (parameters: Parameters<typeof startHttpServer>[0]): Promise<number> => {
    const server = await startHttpServer({ ...parameters, onDropped: tellOfDropped(parameters.what, options) });
    open.push(server);
    return server.port;
  };
  const close = async (): Promise<void> => {
    await Promise.all(open.map((server) => server.close()));
  };
  const refused = (result: string): void => metrics.webhooks.inc({ result });
  const probes = probePages(options.isReady);
  const metricsPage = { '/metrics': shared(() => metricsOf(options)) };
  try {
    const webhooks = await start({
      what: 'webhooks',
      address: options.listen,
      onRequest: webhookListener({ gate, onAccepted: take, onRefused: refused }),
      onMalformed: () => refused('malformed'),
    });
    const ports = {
      webhooks,
      metrics: await start({
        what: 'metrics',
        address: options.metricsListen,
        onRequest: servePages({ ...probes, ...metricsPage }),
      }),
      probes: await start({ what: 'probes', address: options.probeListen, onRequest: servePages(probes) }),
    };
    return { ports, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function probePages(isReady: () => boolean): Readonly<Record<string, () => Page>> {
  return {
    '/healthz': () => plain(200, 'ok'),
    '/readyz': () => (isReady() ? plain(200, 'ok') : plain(503, 'not ready')),
  };
}

async function metricsOf({ measure, metrics: { registry } }: ListenersOptions): Promise<Page> {
  measure();
  return { status: 200, contentType: registry.contentType, body: await registry.metrics() };
}

/** One page for all who ask in the same turn of the event loop: a crowd costs little more than one of them. */
function shared(render: () => Promise<Page>): () => Promise<Page> {
  let next: Promise<Page> | undefined;
  return () => {
    next ??= new Promise(setImmediate).then(() => {
      next = undefined;
      return render();
    });
    return next;
  };
}

/** Counts connections that were closed because there were too many, and says so in the log now and then. */
function tellOfDropped(listener: string, { log, metrics }: ListenersOptions): () => void {
  let toldMs = Number.NEGATIVE_INFINITY;
  return () => {
    metrics.droppedConnections.inc({ listener });
    if (performance.now() - toldMs < DROPPED_LOG_MS) return;
    toldMs = performance.now();
    log.warn(
      { code: 'GR-LISTEN-02', listener },
      'too many connections: the longest idle ones are closed. Look for a client that opens connections and does not use them',
    );
  };
}
