/**
 * The three ports of `serve`:
 *
 *     webhooks   from anywhere: Gitea is behind an Ingress or outside
 *     metrics    from every namespace but that of the runners
 *     probes     from the node only: the NetworkPolicy of install/ opens this port to no pod, and the kubelet needs no policy
 */

import type { RequestListener } from 'node:http';
import { INTERACTIVE_PATH } from '../../tasks/notify/slack-interactive.ts';
import type { Listener, Ports, Tell } from '../events.ts';
import type { QueueRow } from '../queue.ts';
import type { RefusalReason, WebhookEvent, WebhookGate } from '../webhook/gate.ts';
import { type RawDelivery, webhookListener } from '../webhook/listener.ts';
import { queuePage } from './queue-page.ts';
import {
  type HttpServer,
  type HttpServerOptions,
  type ListenAddress,
  plain,
  servePages,
  startHttpServer,
  type WebPage,
} from './server.ts';

export interface ListenersOptions {
  readonly listen: ListenAddress;
  readonly metricsListen: ListenAddress;
  readonly probeListen: ListenAddress;
  readonly tell: Tell;
  readonly gate: WebhookGate;
  /** Takes an accepted delivery and gives the status to answer. */
  readonly take: (event: WebhookEvent, raw: RawDelivery) => Promise<number>;
  /** Takes presses of buttons in Slack. Absent: they are refused as other paths are. */
  readonly interactive?: RequestListener;
  readonly isReady: () => boolean;
  readonly queue: () => readonly QueueRow[];
  readonly leads: () => boolean;
  /** What `/metrics` shows. */
  readonly metricsPage: () => Promise<{ readonly contentType: string; readonly body: string }>;
}

export interface Listeners {
  readonly ports: Ports;
  /** Stops listening and ends all connections at once. */
  readonly close: () => Promise<void>;
}

/** Listens on all three. @throws Failure when it cannot listen on one of them; then it listens on none. */
export async function startListeners(options: ListenersOptions): Promise<Listeners> {
  const { gate, take, tell } = options;
  const open: HttpServer[] = [];
  const start = async (parameters: HttpServerOptions & { readonly what: Listener }): Promise<number> => {
    const listener = parameters.what;
    const onDropped = () => tell({ is: 'connection-dropped', listener });
    const server = await startHttpServer({ ...parameters, onDropped });
    open.push(server);
    return server.port;
  };
  const close = async (): Promise<void> => {
    await Promise.all(open.map((server) => server.close()));
  };
  const refused = (result: RefusalReason): void => tell({ is: 'webhook', result });
  const probes = probePages(options.isReady);
  const metricsPage = { '/metrics': shared(() => metricsOf(options)) };
  const webhooksOnly = webhookListener({ gate, onAccepted: take, onRefused: refused });
  const { interactive = webhooksOnly } = options;
  try {
    const webhooks = await start({
      what: 'webhooks',
      address: options.listen,
      onRequest: (request, response) =>
        (request.url === INTERACTIVE_PATH ? interactive : webhooksOnly)(request, response),
      onMalformed: () => refused('malformed'),
    });
    const ports = {
      webhooks,
      metrics: await start({
        what: 'metrics',
        address: options.metricsListen,
        onRequest: servePages({ ...probes, ...metricsPage }),
      }),
      probes: await start({
        what: 'probes',
        address: options.probeListen,
        onRequest: servePages({
          ...probes,
          '/debug/queue': () => plain(200, queuePage(options.queue(), options.leads())),
        }),
      }),
    };
    return { ports, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function probePages(isReady: () => boolean): Readonly<Record<string, () => WebPage>> {
  return {
    '/healthz': () => plain(200, 'ok'),
    '/readyz': () => (isReady() ? plain(200, 'ok') : plain(503, 'not ready')),
  };
}

async function metricsOf({ metricsPage }: ListenersOptions): Promise<WebPage> {
  return { status: 200, ...(await metricsPage()) };
}

/** Renders one page for all requests of one turn of the event loop, so that a thousand clients cost little more than one. */
function shared(render: () => Promise<WebPage>): () => Promise<WebPage> {
  let next: Promise<WebPage> | undefined;
  return () => {
    next ??= new Promise(setImmediate).then(() => {
      next = undefined;
      return render();
    });
    return next;
  };
}
