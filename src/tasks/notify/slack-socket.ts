/**
 * Slack's socket mode: presses of the button come over a WebSocket that `serve` opens. So Slack needs no way into the cluster.
 *
 *     token ─► apps.connections.open ─► WebSocket ─► hello ─► interactive: acknowledged, then the press
 *       ▲                                                │
 *       └──────────── pause ◄── ended, or failed ◄───────┘
 *
 * Slack gives each press to one connection of the app. So each replica holds one, also one that does not lead.
 * Source: Slack, "Using Socket Mode".
 */
import { channel } from 'node:diagnostics_channel';
import { ping, WebSocket } from 'undici';
import * as z from 'zod';
import { connectTo } from '../../clients/http/connect.ts';
import { type Env, proxyFor } from '../../clients/http/proxy.ts';
import { parseJson } from '../../clients/http/request.ts';
import { type Clock, doubled, pause } from '../../shared/clock.ts';
import { Failure } from '../../shared/failure.ts';
import { parseUrl } from '../../shared/parse-url.ts';
import type { ReceiverContext, Refusal } from './receiver.ts';
import { type OnPress, pressIn } from './slack-button.ts';

export interface ConnectionOptions extends Pick<ReceiverContext, 'clock' | 'env' | 'random' | 'tell'> {
  /** Asks Slack for an address: it is good for one connection. @throws Failure */
  readonly open: () => Promise<{ readonly url?: string | undefined } | Refusal>;
  readonly onPress: OnPress;
  /** Shortest pause between two connections. Default: 1 s. */
  readonly pauseMs?: number;
  /** Default: 10 s. A connection that does not answer a ping until the next one is dead. */
  readonly pingMs?: number;
}

const OPEN_MS = 10_000;
const LONGEST_PAUSE_MS = 300_000;
/** Pauses are up to a quarter shorter, by chance. */
const JITTER = 0.25;
/** Slack renews connections about once an hour. One that ends sooner than this has failed. */
const SHORT_MS = 60_000;

/** The request for an address, and whatever fails about the connection. */
export const OPENING = {
  method: 'apps.connections.open',
  code: 'GR-NOTIFY-08',
  what: 'connect to Slack',
  remedy: 'Check the app-level token, its scope connections:write, and that socket mode is on',
} as const;

/** Holds a connection until `signal` is aborted. Never rejects. */
export async function holdConnections(options: ConnectionOptions, signal: AbortSignal): Promise<void> {
  const { clock, pauseMs = 1_000, random, tell } = options;
  for (let failures = 0; !signal.aborted; ) {
    const failure = await holdConnection(options, signal).catch(failureOf);
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
  const life = new AbortController();
  const end = (): void => life.abort();
  signal.addEventListener('abort', end, { once: true });
  const socket = connect(url, env, life.signal);
  try {
    return await new Promise((resolve) => {
      let beganMs: number | undefined;
      const over = (): void => {
        if (beganMs === undefined) resolve(failed('the connection failed'));
        else if (clock.steadyMs() - beganMs < SHORT_MS) resolve(failed('Slack ended the connection at once'));
        else resolve(undefined);
      };
      void pause(clock, OPEN_MS, life.signal).then(() => {
        if (beganMs === undefined) resolve(failed(`no greeting within ${OPEN_MS / 1000} s`));
      });
      socket.addEventListener('close', over);
      socket.addEventListener('message', ({ data }) => {
        const message = Message.safeParse(typeof data === 'string' ? parseJson(data) : undefined).data;
        switch (message?.type) {
          case 'hello':
            beganMs ??= clock.steadyMs();
            void untilDead(socket, clock, pingMs, life.signal).then(over);
            return;
          case 'disconnect':
            over();
            return;
          case 'interactive': {
            socket.send(JSON.stringify({ envelope_id: message.envelope_id }));
            const press = pressIn(message.payload);
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
    signal.removeEventListener('abort', end);
    life.abort();
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

/** A network that loses everything ends no connection: one that answers no ping is over. */
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

function failureOf(error: unknown): Failure {
  if (error instanceof Failure) return error;
  return failed('the connection failed');
}
