/** Slack's side of socket mode: `apps.connections.open`, `chat.postMessage`, and the WebSocket. */
import { createServer as createHttp, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttps } from 'node:https';
import { text } from 'node:stream/consumers';
import { type WebSocket, WebSocketServer } from 'ws';
import type { SlackOptions } from '../../../src/tasks/notify/slack.ts';
import { EXTEND_ACTION } from '../../../src/tasks/notify/slack-presses.ts';
import { json } from '../../support/gitea-stand-in.ts';
import { listen } from '../../support/server.ts';
import type { Received } from './receiver.ts';

export type Workspace = Awaited<ReturnType<typeof startWorkspace>>;

/** @param tls key and certificate: https and wss. */
export async function startWorkspace(tls?: { readonly key: string; readonly cert: string }) {
  const calls: Received[] = [];
  const opened: IncomingMessage['headers'][] = [];
  const said: unknown[] = [];
  const sockets: WebSocket[] = [];
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    calls.push({ path: request.url ?? '', headers: request.headers, body: await text(request) });
    if (request.url !== '/api/apps.connections.open') json(response, { ok: true });
    else if (workspace.refuseWith) workspace.refuseWith(response);
    else json(response, { ok: true, url: `${origin.replace('http', 'ws')}/link/?ticket=1&app_id=2` });
  };
  const server = tls ? createHttps(tls, handle) : createHttp(handle);
  const { close, origin } = await listen(server, tls ? 'https://localhost' : 'http://127.0.0.1');
  new WebSocketServer({ server, autoPong: false }).on('connection', (socket, request) => {
    opened.push(request.headers);
    sockets.push(socket);
    socket.on('ping', (data) => workspace.answersPings && socket.pong(data));
    socket.on('message', (data) => said.push(JSON.parse(String(data))));
    if (workspace.greets) socket.send(JSON.stringify({ type: 'hello', num_connections: 1 }));
  });
  const workspace = {
    origin,
    apiUrl: `${origin}/api/`,
    /** Calls of the Web API. */
    calls,
    /** Headers of each WebSocket that was opened. */
    opened,
    /** Messages that came over WebSockets. */
    said,
    /** Answers `apps.connections.open` with this; undefined: as Slack does. */
    refuseWith: undefined as ((response: ServerResponse) => void) | undefined,
    /** True if a new connection is greeted. */
    greets: true,
    /** True if a new connection answers pings. */
    answersPings: true,
    close,
    /** The newest connection. */
    socket: () => {
      const newest = sockets.at(-1);
      if (!newest) throw new Error('nobody has connected');
      return newest;
    },
  };
  return workspace;
}

/** Makes Slack's message about a press of our button. */
export function pressPayload(more: object = {}): object {
  return {
    type: 'block_actions',
    user: { id: 'U024BE7LH', name: 'mia' },
    container: { type: 'message', message_ts: '1548261231.000200', channel_id: 'CBR2V3XEX' },
    actions: [{ type: 'button', action_id: EXTEND_ACTION, value: 'runners/ci-7-1-9c31e0aa' }],
    ...more,
  };
}

/** A press as it comes over a WebSocket. */
export function pressEnvelope(id: string, payload: object = pressPayload()): string {
  return JSON.stringify({ type: 'interactive', envelope_id: id, payload, accepts_response_payload: true });
}

/** Keeps no runner, and tells which ones it was asked for. */
export function startExtender() {
  const extended: string[] = [];
  const extend: SlackOptions['extend'] = async ({ namespace, name }) => {
    extended.push(`${namespace}/${name}`);
    return `job/${name} stays until 2026-11-23T12:00:00Z.`;
  };
  return { extended, extend };
}

/** Arguments of the reply in Slack after such a press. */
export const EXTENDED = ['runners/ci-7-1-9c31e0aa'];
export const REPLY = {
  channel: 'CBR2V3XEX',
  thread_ts: '1548261231.000200',
  text: '<@U024BE7LH> job/ci-7-1-9c31e0aa stays until 2026-11-23T12:00:00Z.',
};
