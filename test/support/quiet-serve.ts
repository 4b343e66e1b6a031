/** One replica of `serve` in the test's own process. It finds no Argo CD unless the test gives one. */

import { join } from 'node:path';
import type { ServeEvent } from '../../src/serve/planning/events.ts';
import { type ServeOptions, serve } from '../../src/serve/serving.ts';
import { folderWith } from './run-cli.ts';
import { type ServeChoice, serveOptions } from './serve-options.ts';
import type { AtEnd } from './server.ts';

export interface QuietServe {
  /** Events so far. */
  readonly events: readonly ServeEvent[];
  readonly end: () => Promise<void>;
}

export function startQuietServe(
  wanted: Pick<ServeOptions, 'cluster' | 'env'> & ServeChoice,
  atEnd?: AtEnd,
): QuietServe {
  const events: ServeEvent[] = [];
  const ending = new AbortController();
  const tokenFile = join(folderWith({ token: 'x' }, atEnd), 'token');
  const options = serveOptions({
    argocd: { url: 'http://127.0.0.1:1', tokenFile, namespace: 'argocd' },
    ...{ timeoutMs: 10_000, pollMs: 200, subscribers: [(event) => void events.push(event)] },
    ...wanted,
  });
  const running = serve(options, ending.signal);
  const end = async (): Promise<void> => {
    ending.abort();
    await running;
  };
  return { events, end };
}
