/** Receives presses of the button "Keep 1 h longer" from Slack ("Verifying requests from Slack", "Using Socket Mode"). Each member of the channel may press it. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { channel } from 'node:diagnostics_channel';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { LRUCache } from 'lru-cache';
import { ping, WebSocket } from 'undici';
import * as z from 'zod';
import { connectTo } from '../../clients/http/connect.ts';
import { type Env, proxyFor } from '../../clients/http/proxy.ts';
import { parseJson } from '../../clients/http/request.ts';
import { answer, plain } from '../../serve/http/http-server.ts';
import { bodyReader, header } from '../../serve/webhook/listener.ts';
import { type Clock, doubled, pause } from '../../shared/clock.ts';
import { Failure } from '../../shared/failure.ts';
import { parseUrl } from '../../shared/url.ts';
import type { ReceiverContext, Refusal } from './notifier.ts';

export const INTERACTIVE_PATH = '/slack/interactive';
/** `action_id` of the button; its `value` is `<namespace>/<runner>`. */
export const EXTEND_ACTION = 'gitea-runners-extend-1h';

/** Called when Slack was answered. A rejection ends the process. */
type OnPress = (press: Press) => Promise<void>;

/** Largest age of a request, ms, as Slack recommends it. Older ones are replays. */
const WINDOW_MS = 300_000;
/** Most presses that are remembered while they could be replayed. People press buttons, so there are fewer. */
const MOST_REMEMBERED = 10_000;
/** Slack repeats the whole message in a press; ours have about 2 KB. */
const MAX_PRESS_BYTES = 64 * 1024;
/** Bytes of all incomplete bodies. At the limit the oldest body is dropped. */
const MEMORY_BYTES = 4 * 1024 * 1024;

/**
 * `POST /slack/interactive` on the port of webhooks, `payload=<JSON>`, signed. One is believed when, in this order:
 *
 *   X-Slack-Request-Timestamp is at most five minutes off ..... else 401 old
 *   X-Slack-Signature is v0=HMAC-SHA256(secret, v0:time:body) . else 401 signature
 *   the same request was not seen before ...................... else 409 replayed
 *   the body is a press of our button ......................... else 422 payload
 *
 * Slack waits 3 s, so the answer is sent before the runner is extended.
 * @param secretNow signing secret of the Slack app. Undefined: presses are not taken
 */
export function interactiveListener(
  secretNow: () => string | undefined,
  nowMs: () => number,
  onPress: OnPress,
): RequestListener {
  const readBody = bodyReader(MAX_PRESS_BYTES, MEMORY_BYTES);
  const memory = { max: MOST_REMEMBERED, ttl: 2 * WINDOW_MS, ttlResolution: 0, perf: { now: nowMs } };
  const takenSignatures = new LRUCache<string, true>(memory);
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const refuse = (status: number, why: string): void => answer(request, response, plain(status, why));
    if (request.method !== 'POST') return refuse(405, 'Slack sends POST.');
    const body = await readBody(request);
    if (body === undefined) return refuse(413, `The body is longer than ${MAX_PRESS_BYTES} bytes.`);
    const secret = secretNow();
    if (secret === undefined) return refuse(404, 'No signing secret is configured.');
    const time = header(request, 'x-slack-request-timestamp');
    const sentMs = /^\d{1,12}$/.test(time) ? Number(time) * 1000 : Number.NaN;
    if (!(Math.abs(nowMs() - sentMs) <= WINDOW_MS)) return refuse(401, 'The request is too old.');
    const signature = header(request, 'x-slack-signature');
    if (!isSigned(signature, time, body, secret)) return refuse(401, 'The signature is wrong.');
    if (takenSignatures.has(signature)) return refuse(409, 'This request was taken before.');
    const press = Press.safeParse(parseJson(new URLSearchParams(body.toString()).get('payload') ?? '')).data;
    if (!press) return refuse(422, 'This is no press of our button.');
    takenSignatures.set(signature, true);
    answer(request, response, plain(200, ''));
    void onPress(press);
  };
  return (request, response) => void take(request, response).catch(() => response.destroy());
}

function isSigned(signature: string, time: string, body: Uint8Array, secret: string): boolean {
  const digest = /^v0=([0-9a-f]{64})$/.exec(signature)?.[1];
  if (digest === undefined) return false;
  const right = createHmac('sha256', secret).update(`v0:${time}:`).update(body).digest();
  return timingSafeEqual(Buffer.from(digest, 'hex'), right);
}

const Id = z.string().regex(/^[A-Z0-9]{2,32}$/);
const Name = z.string().regex(/^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$/);

const RunnerKey = z
  .string()
  .max(127)
  .transform((text) => text.split('/'))
  .pipe(z.tuple([Name, Name]));
/** A runner that somebody wants to keep, and the message with the button: answers go into its thread. */
const Press = z
  .object({
    type: z.literal('block_actions'),
    user: z.object({ id: Id }),
    container: z.object({ channel_id: Id, message_ts: z.string().regex(/^\d{1,12}\.\d{1,8}$/) }),
    actions: z.tuple([z.object({ action_id: z.literal(EXTEND_ACTION), value: RunnerKey })]),
  })
  .transform(({ actions, container, user }) => {
    const [namespace, runner] = actions[0].value;
    return { namespace, runner, channel: container.channel_id, person: user.id, thread: container.message_ts };
  });
export type Press = z.output<typeof Press>;

interface ConnectionOptions extends Pick<ReceiverContext, 'clock' | 'env' | 'random' | 'tell'> {
  /** Asks Slack for an address: it is good for one connection. @throws Failure */
  readonly open: () => Promise<{ readonly url?: string | undefined } | Refusal>;
  readonly onPress: OnPress;
  /** Shortest pause between two connections. Default: 1 s. */
  readonly pauseMs?: number;
  /** Default: 10 s. A connection that does not answer a ping until the next one is dead. */
  readonly pingMs?: number;
}

/** Time limit until Slack greets on a new connection, ms. Then the connection has failed. */
const OPEN_MS = 10_000;
const LONGEST_PAUSE_MS = 300_000;
/** Pauses are up to a quarter shorter, by chance. */
const JITTER = 0.25;
/** Shortest life of a good connection, ms. Slack renews it about once an hour. One that ends sooner has failed. */
const SHORT_MS = 60_000;

/** The request for an address, and whatever fails about the connection. */
export const OPENING = {
  method: 'apps.connections.open',
  code: 'GR-NOTIFY-08',
  what: 'connect to Slack',
  remedy: 'Check the app-level token, its scope connections:write, and that socket mode is on',
} as const;

/**
 * Slack's socket mode: presses come over a WebSocket that `serve` opens. So Slack needs no way into the cluster.
 *
 *     token ─► apps.connections.open ─► WebSocket ─► hello ─► interactive: acknowledged, then the press
 *       ▲                                                │
 *       └──────────── pause ◄── ended, or failed ◄───────┘
 *
 * Slack gives each press to one connection of the app. So each replica holds one, also one that does not lead. Never rejects.
 */
export async function holdConnections(options: ConnectionOptions, signal: AbortSignal): Promise<void> {
  const { clock, pauseMs = 1_000, random, tell } = options;
  for (let failures = 0; !signal.aborted; ) {
    const failure = await holdConnection(options, signal).catch((error: unknown) =>
      error instanceof Failure ? error : failed('the connection failed'),
    );
    if (signal.aborted) return;
    if (failure) tell('slack', 'unconnected', failure);
    failures = failure ? failures + 1 : 0;
    const longest = doubled(pauseMs, failures, LONGEST_PAUSE_MS);
    await pause(clock, longest * (1 - JITTER * random()), signal);
  }
}

/** Answers when the connection is over, and why it failed. */
async function holdConnection(
  { clock, env, onPress, open, pingMs = 10_000 }: ConnectionOptions,
  signal: AbortSignal,
): Promise<Failure | undefined> {
  const opened = await open();
  if ('failure' in opened) return opened.failure;
  const url = parseUrl(opened.url ?? '');
  if (!url || signal.aborted) return failed('its answer has no address');
  const ownEnd = new AbortController();
  const life = AbortSignal.any([signal, ownEnd.signal]);
  const socket = connect(url, env, life);
  try {
    return await new Promise((resolve) => {
      let beganMs: number | undefined;
      const end = (): void => {
        if (beganMs === undefined) resolve(failed('the connection failed'));
        else if (clock.steadyMs() - beganMs < SHORT_MS) resolve(failed('Slack ended the connection at once'));
        else resolve(undefined);
      };
      void pause(clock, OPEN_MS, life).then(() => {
        if (beganMs === undefined) resolve(failed(`no greeting within ${OPEN_MS / 1000} s`));
      });
      socket.addEventListener('close', end);
      socket.addEventListener('message', ({ data }) => {
        const message = Message.safeParse(typeof data === 'string' ? parseJson(data) : undefined).data;
        switch (message?.type) {
          case 'hello':
            beganMs ??= clock.steadyMs();
            void untilDead(socket, clock, pingMs, life).then(end);
            return;
          case 'disconnect':
            end();
            return;
          case 'interactive': {
            socket.send(JSON.stringify({ envelope_id: message.envelope_id }));
            const press = Press.safeParse(message.payload).data;
            if (press) void onPress(press);
            return;
          }
          case undefined:
            return;
          default:
            message satisfies never;
        }
      });
    });
  } finally {
    ownEnd.abort();
  }
}

const Message = z.discriminatedUnion('type', [
  z.object({ type: z.literal('hello') }),
  z.object({ type: z.literal('disconnect') }),
  z.object({ type: z.literal('interactive'), envelope_id: z.string(), payload: z.unknown() }),
]);

/** Through the proxy if there is one. The connection ends at once with the signal: undici's `close` would wait for Slack. */
function connect(url: URL, env: Env, signal: AbortSignal): WebSocket {
  const { origin } = new URL(url.href.replace(/^ws/, 'http'));
  const proxy = proxyFor(new URL(origin), env);
  const dispatcher = connectTo(origin, { connections: 1, signal, ...(proxy && { proxy }) });
  signal.addEventListener('abort', () => void dispatcher.destroy().catch(() => undefined), { once: true });
  return new WebSocket(url, { dispatcher });
}

/** Resolves when the connection answers no ping. A network that drops all packets ends no connection by itself. */
async function untilDead(socket: WebSocket, clock: Clock, pingMs: number, signal: AbortSignal): Promise<void> {
  const pongs = channel('undici:websocket:pong');
  let isAnswered = true;
  const onPong = (pong: unknown): void => {
    if ((pong as { readonly websocket?: unknown }).websocket === socket) isAnswered = true;
  };
  pongs.subscribe(onPong);
  while (isAnswered && !signal.aborted) {
    isAnswered = false;
    ping(socket);
    await pause(clock, pingMs, signal);
  }
  pongs.unsubscribe(onPong);
}

function failed(received: string): Failure {
  return new Failure(OPENING.code, 1, `${OPENING.what}: ${received}. ${OPENING.remedy}.`);
}
