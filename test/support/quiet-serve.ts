/** One replica of `serve` in the test's own process. It finds Argo CD nowhere, unless it is told where. */

import { join } from 'node:path';
import type { ServeEvent } from '../../src/serve/events.ts';
import { type ServeOptions, serve } from '../../src/serve/serve.ts';
import { systemClock } from '../../src/shared/clock.ts';
import { type TaskSettings, tasksOf } from '../../src/tasks/tasks.ts';
import { openMetrics } from '../../src/telemetry/metrics.ts';
import { folderWith } from './run-cli.ts';
import type { AtEnd } from './server.ts';

export interface QuietServe {
  /** What has happened so far. */
  readonly events: readonly ServeEvent[];
  readonly end: () => Promise<void>;
}

export function startQuietServe(
  wanted: Pick<ServeOptions, 'cluster' | 'env'> & Partial<ServeOptions & TaskSettings>,
  atEnd?: AtEnd,
): QuietServe {
  const events: ServeEvent[] = [];
  const metrics = openMetrics();
  const ending = new AbortController();
  const nowhere = { host: '127.0.0.1', port: 0 };
  const running = serve(
    {
      secretsDir: '/nowhere',
      instance: '',
      timeoutMs: 10_000,
      namespaces: [],
      images: {},
      argocd: {
        url: 'http://127.0.0.1:1',
        tokenFile: join(folderWith({ token: 'x' }, atEnd), 'token'),
        namespace: 'argocd',
      },
      listen: nowhere,
      metricsListen: nowhere,
      probeListen: nowhere,
      identity: 'one',
      host: '127.0.0.1',
      pollMs: 200,
      giteaRequests: 1200,
      wakes: 4,
      clock: systemClock,
      random: Math.random,
      metricsPage: metrics.render,
      subscribers: [metrics.subscriber, (event) => void events.push(event)],
      ...tasksOf({ instance: '', timeoutMs: 10_000, sweep: false, ...wanted }),
      ...wanted,
    },
    ending.signal,
  );
  const end = async (): Promise<void> => {
    ending.abort();
    await running;
  };
  return { events, end };
}
