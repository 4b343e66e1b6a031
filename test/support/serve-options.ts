import type { ServeOptions } from '../../src/serve/serving.ts';
import { systemClock } from '../../src/shared/clock.ts';
import { type ServeSettings, tasksOf } from '../../src/tasks/tasks.ts';
import { openMetrics } from '../../src/telemetry/metrics.ts';

export type ServeChoice = Partial<ServeOptions & ServeSettings>;

/** Options for one replica of `serve` on free ports of loopback, with metrics. */
export function serveOptions(over: Pick<ServeOptions, 'argocd' | 'cluster' | 'env'> & ServeChoice): ServeOptions {
  const metrics = openMetrics();
  const anywhere = { host: '127.0.0.1', port: 0 };
  const settings: ServeSettings = {
    secretsDir: '/nowhere',
    instance: '',
    timeoutMs: 5_000,
    namespaces: [],
    images: {},
    listen: anywhere,
    metricsListen: anywhere,
    probeListen: anywhere,
    identity: 'one',
    host: '127.0.0.1',
    pollMs: 100,
    giteaRequests: 1200,
    wakes: 4,
    clock: systemClock,
    random: Math.random,
    metricsPage: metrics.render,
    sweep: false,
    ...over,
    subscribers: [metrics.subscriber, ...(over.subscribers ?? [])],
  };
  return { ...tasksOf(settings), ...settings };
}
