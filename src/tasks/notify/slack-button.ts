/**
 * Presses of the button "Keep 1 h longer", as Slack sends them: `POST /slack/interactive` on the port of webhooks, `payload=<JSON>`, signed.
 * One is believed when, in this order:
 *
 *   X-Slack-Request-Timestamp is at most five minutes off ..... else 401 old
 *   X-Slack-Signature is v0=HMAC-SHA256(secret, v0:time:body) . else 401 signature
 *   the same request was not seen before ...................... else 409 replayed
 *   the body is a press of our button ......................... else 422 payload
 *
 * Slack waits 3 s, so the answer is sent before the runner is extended. Slack shows the button to all members of the channel, and each may
 * press it. Source: Slack, "Verifying requests from Slack".
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { LRUCache } from 'lru-cache';
import * as z from 'zod';
import { parseJson } from '../../clients/http/request.ts';
import { answer, Bodies } from '../../serve/webhook/body.ts';
import { header } from '../../serve/webhook/gate.ts';

export const INTERACTIVE_PATH = '/slack/interactive';
/** Of the button; `value` is `<namespace>/<runner>`. */
export const EXTEND_ACTION = 'gitea-runners-extend-1h';

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

/** Called when Slack was answered. A rejection ends the process. */
export type OnPress = (press: Press) => Promise<void>;

export interface InteractiveOptions {
  /** Signing secret of the Slack app, as of now. Undefined: presses are not taken. */
  readonly secret: () => string | undefined;
  readonly nowMs: () => number;
  readonly onPress: OnPress;
}

const WINDOW_MS = 300_000;
/** Within the window; people press buttons. */
const MOST_REMEMBERED = 10_000;
/** Slack repeats the whole message in a press; ours have about 2 KB. */
const MAX_PRESS_BYTES = 64 * 1024;
/** All bodies that are not complete yet. The oldest one gives way. */
const MEMORY_BYTES = 4 * 1024 * 1024;

export function interactiveListener(options: InteractiveOptions): RequestListener {
  const bodies = new Bodies(MAX_PRESS_BYTES, MEMORY_BYTES);
  const perf = { now: options.nowMs };
  const seen: Seen = new LRUCache({ max: MOST_REMEMBERED, ttl: 2 * WINDOW_MS, ttlResolution: 0, perf });
  return (request, response) => {
    take(request, response, options, bodies, seen).catch(() => response.destroy());
  };
}

/** Signatures of requests that were taken. */
type Seen = LRUCache<string, true>;

async function take(
  request: IncomingMessage,
  response: ServerResponse,
  options: InteractiveOptions,
  bodies: Bodies,
  seen: Seen,
): Promise<void> {
  const refuse = (status: number, why: string): void => answer(request, response, status, why);
  if (request.method !== 'POST') return refuse(405, 'Slack sends POST.');
  const body = await bodies.read(request);
  if (body === undefined) return refuse(413, `The body is longer than ${MAX_PRESS_BYTES} bytes.`);
  const secret = options.secret();
  if (secret === undefined) return refuse(404, 'No signing secret is configured.');
  const time = header(request, 'x-slack-request-timestamp');
  const sentMs = /^\d{1,12}$/.test(time) ? Number(time) * 1000 : Number.NaN;
  if (!(Math.abs(options.nowMs() - sentMs) <= WINDOW_MS)) return refuse(401, 'The request is too old.');
  const signature = header(request, 'x-slack-signature');
  if (!isSigned(signature, time, body, secret)) return refuse(401, 'The signature is wrong.');
  if (seen.has(signature)) return refuse(409, 'This request was taken before.');
  const press = pressIn(parseJson(new URLSearchParams(body.toString()).get('payload') ?? ''));
  if (!press) return refuse(422, 'This is no press of our button.');
  seen.set(signature, true);
  answer(request, response, 200, '');
  void options.onPress(press);
}

function isSigned(signature: string, time: string, body: Uint8Array, secret: string): boolean {
  const given = /^v0=([0-9a-f]{64})$/.exec(signature)?.[1];
  if (given === undefined) return false;
  const right = createHmac('sha256', secret).update(`v0:${time}:`).update(body).digest();
  return timingSafeEqual(Buffer.from(given, 'hex'), right);
}

const Id = z.string().regex(/^[A-Z0-9]{2,32}$/);
const Name = z.string().regex(/^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$/);

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
        .pipe(z.tuple([Name, Name])),
    }),
  ]),
});

/** Undefined: it is no press of our button. */
export function pressIn(payload: unknown): Press | undefined {
  const { data } = Payload.safeParse(payload);
  if (!data) return undefined;
  const [{ value }] = data.actions;
  const [namespace, runner] = value;
  const { channel_id: channel, message_ts: thread } = data.container;
  return { namespace, runner, channel, thread, person: data.user.id };
}
