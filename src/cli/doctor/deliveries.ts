/** What `serve` knows of webhooks: its metrics, read from each of its pods through the API server. Gitea's API tells nothing of deliveries. */
import * as z from 'zod';
import { Failure } from '../../shared/failure.ts';
import { METRICS_PORT, SERVE_SELECTOR } from '../../shared/installed/names.ts';
import type { ClusterReader } from '../read-object.ts';
import { listOf } from './reads.ts';

/** Of all pods of `serve` together. Times are ms since 1970, by the clocks of these pods. */
export interface Deliveries {
  /** Since when all of them count. */
  readonly sinceMs: number;
  /** When the last delivery with this result came: `accepted`, `forwarded`, or why it was refused. */
  readonly lastMs: ReadonlyMap<string, number>;
}

/** `serve` has two. More are not asked. */
const MOST_PODS = 5;

const ServePod = z.looseObject({
  metadata: z.looseObject({ name: z.string() }),
  status: z.looseObject({ phase: z.string().optional() }).default({}),
});

/** A text: why nothing is known. */
export async function readDeliveries({
  client,
  argocdNamespace,
  deadline,
}: ClusterReader): Promise<Deliveries | string> {
  const pods = `/api/v1/namespaces/${encodeURIComponent(argocdNamespace)}/pods`;
  const get = async (what: string, path: string, query = {}): Promise<string | { readonly status: number }> => {
    const { status, text } = await client.send({ what, path, query }, deadline);
    return status === 200 ? text : { status };
  };
  try {
    const list = await get('list the pods of serve', pods, { labelSelector: SERVE_SELECTOR });
    if (typeof list !== 'string') return `its pods cannot be listed (${list.status})`;
    const { data = [] } = listOf(ServePod).safeParse(JSON.parse(list));
    const running = data.filter(({ status }) => status.phase === 'Running').slice(0, MOST_PODS);
    if (running.length === 0) return 'none of its pods runs';
    const texts: string[] = [];
    for (const { metadata } of running) {
      const path = `${pods}/${encodeURIComponent(metadata.name)}:${METRICS_PORT}/proxy/metrics`;
      const text = await get('read the metrics of serve', path);
      if (typeof text !== 'string') return `the metrics of pod ${metadata.name} cannot be read (${text.status})`;
      texts.push(text);
    }
    return deliveriesIn(texts);
  } catch (error) {
    if (error instanceof Failure) return `its metrics cannot be read (${error.code})`;
    if (error instanceof SyntaxError) return 'the list of its pods is no JSON';
    throw error;
  }
}

const STARTED = /^process_start_time_seconds (\S+)$/m;
const LAST = /^gitea_runners_webhook_last_delivery_timestamp_seconds\{result="([a-z-]+)"\} (\S+)$/gm;

/** @param texts what `/metrics` of each pod says. */
export function deliveriesIn(texts: readonly string[]): Deliveries | string {
  const lastMs = new Map<string, number>();
  let sinceMs = 0;
  for (const text of texts) {
    const started = Number(STARTED.exec(text)?.[1]);
    if (!Number.isFinite(started)) return 'its metrics do not say when it started';
    sinceMs = Math.max(sinceMs, started * 1000);
    for (const [, result = '', seconds] of text.matchAll(LAST))
      lastMs.set(result, Math.max(lastMs.get(result) ?? 0, Number(seconds) * 1000));
  }
  return { sinceMs, lastMs };
}
