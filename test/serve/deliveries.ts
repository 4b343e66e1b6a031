/** Webhook deliveries as Gitea sends them: recorded ones, and ones made for a test. */
import { createHmac, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import * as z from 'zod';

export const SECRET = 'a webhook secret';

const Recorded = z.object({ secret: z.string(), headers: z.record(z.string(), z.string()), body: z.string() });

/**
 * Returns a recorded request of a real Gitea, with headers in lower case, signed with `secret`. Recorded with
 * `[security] ALLOWED_HOST_LIST = loopback`, `ROOT_URL = https://gitea.example.com/`, `PUBLIC_URL_DETECTION = never`, a
 * webhook of org acme and a job that a runner took.
 */
export function recorded(name: string): z.infer<typeof Recorded> {
  return Recorded.parse(JSON.parse(readFileSync(`test/serve/recorded/${name}.json`, 'utf8')));
}

export const RECORDED = [
  ['gitea-1.27.3-queued', { jobId: 1, attempt: 1, status: 'queued' }],
  ['gitea-1.27.3-waiting', { jobId: 2, attempt: 1, status: 'waiting' }],
  ['gitea-1.27.3-in-progress', { jobId: 1, attempt: 1, status: 'in_progress' }],
  ['gitea-1.26.0-queued', { jobId: 1, attempt: 0, status: 'queued' }],
  ['gitea-1.26.0-in-progress', { jobId: 1, attempt: 1, status: 'in_progress' }],
] as const;

export interface TestDelivery {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** A payload of a job, with parts replaced. */
export function payload(job: object = {}, more: object = {}): object {
  return {
    action: 'queued',
    workflow_job: { id: 7, run_id: 3, run_attempt: 1, status: 'queued', labels: ['linux'], steps: null, ...job },
    repository: { full_name: 'acme/web', owner: { login: 'acme' } },
    ...more,
  };
}

/** Signed as Gitea does; `headers` replace or, when undefined, remove ours. */
export function delivery(
  body: object | string | Buffer = payload(),
  headers: Readonly<Record<string, string | undefined>> = {},
): TestDelivery {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  const all: Record<string, string | undefined> = {
    'content-type': 'application/json',
    'x-gitea-event': 'workflow_job',
    'x-gitea-delivery': randomUUID(),
    'x-gitea-signature': sign(bytes),
    ...headers,
  };
  const present = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return { headers: Object.fromEntries(present), body: bytes };
}

export function sign(body: Uint8Array, secret = SECRET): string {
  return createHmac('sha256', secret).update(body).digest('hex');
}
