/**
 * Judges one delivery of Gitea's webhook `workflow_job`. A delivery is believed when, in this order:
 *
 *   a secret is configured ................. else 404 no-secret
 *   X-Gitea-Signature is 64 hex digits ..... else 401 unsigned
 *   it is HMAC-SHA256(secret, body) ........ else 403 signature   (any of the secrets; each may be for one Gitea)
 *   X-Gitea-Event is workflow_job .......... else 422 event
 *   the body is such an event .............. else 422 payload
 *   it was not seen before ................. else 409 replayed
 *
 * Source: Gitea 1.27.3 services/webhook/deliver.go (`addDefaultHeaders`), modules/structs/hook.go (`WorkflowJobPayload`).
 *
 * Gitea signs the body and not the headers. So a replay is recognized by its signature; the delivery's id is only a second check.
 * Gitea never repeats a delivery by itself. A person can, in the web form, and gets the 409, too.
 * An event only asks for a look at Gitea and proves nothing. So a replay that is older than the memory costs one look.
 */
import { isUtf8 } from 'node:buffer';
import { createHmac, timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import * as z from 'zod';
import type { GiteaTarget } from '../../clients/gitea/observe-gitea.ts';
import { parseJson } from '../../clients/http/request.ts';
import { hasJobsOf } from '../../shared/scope.ts';
import { normalBase } from '../../shared/url.ts';
import { secretLine } from './secret-files.ts';

export interface WebhookEvent {
  readonly owner: string;
  readonly repo: string;
  /** Status as the API lists it: `waiting` is blocked. */
  readonly status: 'queued' | 'waiting' | 'in_progress' | 'completed';
  readonly jobId: number;
  readonly attempt: number;
  /** Base URLs of the only Giteas that the sender may speak for. Absent: it may speak for all. */
  readonly giteas?: readonly string[];
}

/** A label of the metric. The last five are about HTTP (listener.ts). */
export type RefusalReason =
  | 'no-secret'
  | 'unsigned'
  | 'signature'
  | 'event'
  | 'payload'
  | 'replayed'
  | 'path'
  | 'method'
  | 'media-type'
  | 'too-large'
  | 'malformed';

type WebhookVerdict =
  | { readonly is: 'accepted'; readonly event: WebhookEvent }
  /** `status`: 4xx. `message`: for the answer, which Gitea shows in its list of deliveries. A fixed string. */
  | { readonly is: 'refused'; readonly status: number; readonly reason: RefusalReason; readonly message: string };

/** One request, which another replica can judge again. Header names are in lower case, values joined as node:http does. */
export type Delivery = Readonly<{ headers: Readonly<Record<string, string>>; body: Uint8Array }>;

/** Most accepted deliveries that are remembered. */
const REMEMBERED = 10_000;
/** How long an accepted delivery is remembered, ms. A later replay only costs a look. */
const REMEMBERED_MS = 24 * 3_600_000;
const NAME = /^[A-Za-z0-9_.-]{1,255}$/;

const Payload = z.object({
  action: z.string(),
  workflow_job: z.object({
    id: z.int().positive(),
    run_id: z.int().positive(),
    run_attempt: z.int().min(0),
    status: z.enum(['queued', 'waiting', 'in_progress', 'completed']),
  }),
  repository: z.object({
    full_name: z
      .string()
      .max(600)
      .transform((text) => text.split('/'))
      .pipe(z.tuple([z.string().regex(NAME), z.string().regex(NAME)])),
  }),
});

export class WebhookGate {
  readonly #secrets: () => readonly string[];
  /** Marks of accepted deliveries: the signature and the id of each. The least recently used is the oldest. */
  readonly #seen: LRUCache<string, true>;

  /** @param secrets lines as `secretLine` reads them. Called for each delivery, so that they can be replaced */
  constructor(secrets: () => readonly string[], nowMs: () => number) {
    this.#secrets = secrets;
    const perf = { now: nowMs };
    this.#seen = new LRUCache({ max: 2 * REMEMBERED, ttl: REMEMBERED_MS, ttlResolution: 0, perf });
  }

  judge(delivery: Delivery): WebhookVerdict {
    const secrets = this.#secrets();
    if (secrets.length === 0) return refuse(404, 'no-secret', 'No webhook secret is configured, so none is accepted.');
    const signature = signatureOf(delivery);
    if (!signature) return refuse(401, 'unsigned', 'X-Gitea-Signature is missing: give the webhook a secret.');
    const signers = signersOf(delivery.body, signature, secrets);
    if (signers.length === 0)
      return refuse(403, 'signature', 'X-Gitea-Signature is wrong: the secrets of both sides differ.');
    if (delivery.headers['x-gitea-event'] !== 'workflow_job')
      return refuse(422, 'event', 'The secret is right, but only the event "Workflow Job" is read.');
    const event = readEvent(delivery.body);
    if (event === undefined) return refuse(422, 'payload', 'The body is no workflow_job event of Gitea.');
    const marks = marksOf(delivery);
    if (marks.some((mark) => this.#seen.has(mark)))
      return refuse(409, 'replayed', 'This delivery was accepted before.');
    for (const mark of marks) this.#seen.set(mark, true);
    const giteas = signers.flatMap(({ base }) => base ?? []);
    return { is: 'accepted', event: giteas.length < signers.length ? event : { ...event, giteas } };
  }

  /** Forgets an accepted delivery, so that it may come again: it could not be passed on. */
  forget(delivery: Delivery): void {
    for (const mark of marksOf(delivery)) this.#seen.delete(mark);
  }
}

/** Returns the marks that identify a delivery. No signature looks like an id: none begins with `id `. */
function marksOf(delivery: Delivery): readonly string[] {
  const signature = signatureOf(delivery);
  const { 'x-gitea-delivery': id = '' } = delivery.headers;
  return /^[A-Za-z0-9-]{1,64}$/.test(id) ? [signature, `id ${id}`] : [signature];
}

/** Returns the signature of a delivery. Empty: there is none. */
function signatureOf({ headers: { 'x-gitea-signature': text = '' } }: Delivery): string {
  return /^[0-9a-f]{64}$/.test(text) ? text : '';
}

/** Returns the secrets that fit. All are tried, also after a match, so that the time reveals nothing. */
function signersOf(body: Uint8Array, signature: string, lines: readonly string[]) {
  const claimed = Buffer.from(signature, 'hex');
  return lines
    .map(secretLine)
    .filter(({ secret }) => timingSafeEqual(createHmac('sha256', secret).update(body).digest(), claimed));
}

function readEvent(body: Uint8Array): WebhookEvent | undefined {
  const { data } = Payload.safeParse(isUtf8(body) ? parseJson(new TextDecoder().decode(body)) : undefined);
  if (!data) return undefined;
  const { workflow_job: job, repository } = data;
  const [owner, repo] = repository.full_name;
  return { owner, repo, status: job.status, jobId: job.id, attempt: job.run_attempt };
}

function refuse(status: number, reason: RefusalReason, message: string): WebhookVerdict {
  return { is: 'refused', status, reason, message };
}

/** True when the event's job may belong to the scope of this Gitea. */
export function concerns({ giteas, owner, repo }: WebhookEvent, { scope, url }: Pick<GiteaTarget, 'scope' | 'url'>) {
  return hasJobsOf(scope, `${owner}/${repo}`) && (giteas === undefined || giteas.includes(normalBase(url) ?? url));
}
