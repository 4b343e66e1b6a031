/**
 * Presses of the button "Keep 1 h longer", as Slack sends them: `POST /slack/interactive`, `payload=<JSON>`, signed. One is believed when, in
 * this order:
 *
 *   X-Slack-Request-Timestamp is at most five minutes off ..... else 401 old
 *   X-Slack-Signature is v0=HMAC-SHA256(secret, v0:time:body) . else 401 signature
 *   the same request was not seen before ...................... else 409 replayed
 *   the body is a press of our button ......................... else 422 payload
 *
 * Source: Slack, "Verifying requests from Slack". Slack shows the button to all members of the channel, and each may press it.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import * as z from 'zod';
import { type Delivery, header } from '../../serve/webhook/gate.ts';
import { EXTEND_ACTION } from './slack-message.ts';

/** A runner that somebody wants to keep, and the message with the button. */
export interface Press {
  readonly namespace: string;
  readonly runner: string;
  /** Ids of the channel and of the person, as Slack writes them. */
  readonly channel: string;
  readonly person: string;
  /** Of the message: answers go into its thread. */
  readonly thread: string;
}

export type PressVerdict =
  | { readonly is: 'accepted'; readonly press: Press }
  | { readonly is: 'refused'; readonly status: number; readonly message: string };

export interface PressGateOptions {
  /** Signing secret of the Slack app; asked for each request. Undefined: presses are not taken. */
  readonly secret: () => string | undefined;
  readonly nowMs: () => number;
}

const WINDOW_MS = 300_000;
/** Within the window; people press buttons. */
const MOST_REMEMBERED = 10_000;
const NAME = /^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$/;

const Id = z.string().regex(/^[A-Z0-9]{2,32}$/);

const Payload = z.object({
  type: z.literal('block_actions'),
  user: z.object({ id: Id }),
  container: z.object({ channel_id: Id, message_ts: z.string().regex(/^\d{1,12}\.\d{1,8}$/) }),
  actions: z.tuple([
    z.object({
      action_id: z.literal(EXTEND_ACTION),
      value: z
        .string()
        .max(127)
        .transform((text) => text.split('/'))
        .pipe(z.tuple([z.string().regex(NAME), z.string().regex(NAME)])),
    }),
  ]),
});

export class PressGate {
  readonly #options: PressGateOptions;
  readonly #seen: LRUCache<string, true>;

  constructor(options: PressGateOptions) {
    this.#options = options;
    const perf = { now: options.nowMs };
    this.#seen = new LRUCache({ max: MOST_REMEMBERED, ttl: 2 * WINDOW_MS, ttlResolution: 0, perf });
  }

  judge(request: Delivery): PressVerdict {
    const secret = this.#options.secret();
    if (secret === undefined || secret === '') return refused(404, 'No signing secret is configured.');
    const { body } = request;
    const time = header(request, 'x-slack-request-timestamp');
    const sentMs = /^\d{1,12}$/.test(time) ? Number(time) * 1000 : Number.NaN;
    if (!(Math.abs(this.#options.nowMs() - sentMs) <= WINDOW_MS)) return refused(401, 'The request is too old.');
    const signature = header(request, 'x-slack-signature');
    if (!isSigned(signature, time, body, secret)) return refused(401, 'The signature is wrong.');
    if (this.#seen.has(signature)) return refused(409, 'This request was taken before.');
    const press = readPress(body);
    if (!press) return refused(422, 'This is no press of our button.');
    this.#seen.set(signature, true);
    return { is: 'accepted', press };
  }
}

function isSigned(signature: string, time: string, body: Uint8Array, secret: string): boolean {
  const given = /^v0=([0-9a-f]{64})$/.exec(signature)?.[1];
  if (given === undefined) return false;
  const right = createHmac('sha256', secret).update(`v0:${time}:`).update(body).digest();
  return timingSafeEqual(Buffer.from(given, 'hex'), right);
}

function readPress(body: Uint8Array): Press | undefined {
  const json = new URLSearchParams(Buffer.from(body).toString()).get('payload') ?? '';
  return pressIn(parsed(json));
}

/** Undefined: it is no press of our button. */
export function pressIn(payload: unknown): Press | undefined {
  const { data } = Payload.safeParse(payload);
  if (!data) return undefined;
  const [{ value }] = data.actions;
  const [namespace, runner] = value;
  const { channel_id: channel, message_ts: thread } = data.container;
  return { namespace, runner, channel, thread, person: data.user.id };
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch {
    return undefined;
  }
}

function refused(status: number, message: string): PressVerdict {
  return { is: 'refused', status, message };
}
