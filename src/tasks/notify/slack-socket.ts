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
import { setMaxListeners } from 'node:events';
import { SocketModeClient, type SocketModeOptions } from '@slack/socket-mode';
import type { Dispatcher } from 'undici';
import * as z from 'zod';
import { HttpClient } from '../../clients/http/client.ts';
import { connectTo } from '../../clients/http/connect.ts';
import { type Env, proxyFor } from '../../clients/http/proxy.ts';
import { type Clock, doubled, pause } from '../../shared/clock.ts';
import { Failure } from '../../shared/failure.ts';
import { readSecretFile } from './secret-file.ts';
import { judgeSlackError, SILENT, webClientOptions } from './slack-client.ts';
import { type Press, pressIn } from './slack-presses.ts';

export interface SlackSocketOptions {
  /** Holds the app-level token (`xapp-…`). It is read for each connection. */
  readonly tokenFile: string;
  /** Default: Slack's own. For tests. */
  readonly apiUrl?: string;
  readonly env: Env;
  readonly clock: Clock;
  /** 0 to 1. */
  readonly random: () => number;
  /** Called after Slack was answered. It must not throw. */
  readonly onPress: (press: Press) => void;
  /** There is no connection. The next one is tried after a pause. */
  readonly onFailure: (failure: Failure) => void;
  /** Shortest pause between two connections. Default: 1 s. */
  readonly pauseMs?: number;
}

const OPEN_MS = 10_000;
const LONGEST_ANSWER = 64 * 1024;
const PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 300_000;
/** Pauses are up to a quarter shorter, by chance. */
const JITTER = 0.25;
/** Slack renews connections about once an hour. One that ends sooner than this has failed. */
const SHORT_MS = 60_000;

/** Holds a connection until `signal` is aborted. Never rejects. */
export type ListenToSlack = (options: SlackSocketOptions, signal: AbortSignal) => Promise<void>;

export const listenToSlack: ListenToSlack = async (options, signal) => {
  const { clock, env, onFailure, pauseMs = PAUSE_MS, random } = options;
  const http = new HttpClient({ clock, env, attemptMs: OPEN_MS, bodyLimit: LONGEST_ANSWER });
  // A request under way would hold up the end.
  signal.addEventListener('abort', () => void http.close(), { once: true });
  for (let failures = 0; !signal.aborted; ) {
    const failure = await holdConnection(options, http, signal);
    if (signal.aborted) return;
    if (failure) onFailure(failure);
    failures = failure ? failures + 1 : 0;
    const longest = doubled(pauseMs, failures, LONGEST_PAUSE_MS);
    await pause(clock, longest * (1 - JITTER * random()), signal);
  }
};

/** Answers when the connection is over, and why it failed. */
async function holdConnection(
  { apiUrl, clock, env, onPress, tokenFile }: SlackSocketOptions,
  http: HttpClient,
  signal: AbortSignal,
): Promise<Failure | undefined> {
  const sockets = new Sockets(env);
  const stop = (): void => sockets.close();
  signal.addEventListener('abort', stop, { once: true });
  try {
    const client = new Client({
      appToken: await readSecretFile(tokenFile),
      // Its own way to connect again ends the process when Slack cannot be reached.
      autoReconnectEnabled: false,
      logger: SILENT,
      clientOptions: webClientOptions(http, WHAT, apiUrl),
      dispatcher: sockets,
    });
    client.on('interactive', (event: unknown) => {
      const { ack, body } = Interactive.parse(event);
      void ack().catch(nothing);
      const press = pressIn(body);
      if (press) onPress(press);
    });
    const over = new Promise<void>((resolve) => {
      client.once('disconnected', resolve);
    });
    await greeted(client, clock);
    const beganMs = clock.steadyMs();
    await over;
    return clock.steadyMs() - beganMs < SHORT_MS ? failed('Slack ended the connection at once') : undefined;
  } catch (error) {
    return error instanceof Failure ? error : judgeSlackError(error, 'the connection failed', failed).failure;
  } finally {
    signal.removeEventListener('abort', stop);
    sockets.close();
  }
}

/** The package waits for Slack's greeting without an end. */
async function greeted(client: SocketModeClient, clock: Clock): Promise<void> {
  const started = client.start();
  started.catch(nothing);
  const late = new AbortController();
  try {
    await Promise.race([
      started,
      pause(clock, OPEN_MS, late.signal).then(() => {
        if (!late.signal.aborted) throw failed(`no greeting within ${OPEN_MS / 1000} s`);
      }),
    ]);
  } finally {
    late.abort();
  }
}

class Client extends SocketModeClient {
  /** The package takes the form of a message for granted. A wrong one would end the process. */
  protected override async onWebSocketMessage(data: string | ArrayBuffer, isBinary: boolean): Promise<void> {
    await super.onWebSocketMessage(data, isBinary).catch(nothing);
  }
}

const Interactive = z.object({
  ack: z.custom<() => Promise<void>>((value) => typeof value === 'function'),
  body: z.unknown(),
});

/** The connections of one client, through the proxy if there is one. `close` ends them at once. */
class Sockets implements NonNullable<SocketModeOptions['dispatcher']> {
  readonly #env: Env;
  readonly #life = new AbortController();
  readonly #pools: Dispatcher[] = [];

  constructor(env: Env) {
    this.#env = env;
    setMaxListeners(0, this.#life.signal);
  }

  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const origin = String(options.origin);
    const proxy = proxyFor(new URL(origin), this.#env);
    const pool = connectTo(origin, { connections: 1, signal: this.#life.signal, ...(proxy && { proxy }) });
    this.#pools.push(pool);
    return pool.dispatch(options, handler);
  }

  close(): void {
    this.#life.abort();
    for (const pool of this.#pools) void pool.destroy().catch(nothing);
  }
}

const WHAT = 'connect to Slack';
const REMEDY = 'Check the app-level token, its scope connections:write, and that socket mode is on';

function failed(received: string): Failure {
  return new Failure('GR-NOTIFY-08', 1, `${WHAT}: ${received}. ${REMEDY}.`);
}

function nothing(): void {}
