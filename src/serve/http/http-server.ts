/** The small HTTP servers of `serve`: what they have in common, and the pages for metrics and probes. */
import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Failure, systemCode, systemReason } from '../../shared/failure.ts';

/** Address to listen on. Without `host`: all addresses of the machine, IPv6 and IPv4. Port 0 takes a free one. */
export type ListenAddress = Readonly<{ host?: string; port: number }>;

export interface HttpServerOptions {
  readonly what: string;
  readonly address: ListenAddress;
  readonly onRequest: RequestListener;
  /** Called for a connection that is not HTTP, too slow or broken off. */
  readonly onMalformed?: () => void;
  /** Time limit of a whole request, ms: Gitea waits no longer (5,000). Headers have at most 2,000 of it. */
  readonly requestMs?: number;
  readonly connections?: typeof CONNECTIONS;
  readonly onDropped?: () => void;
}

export type HttpServer = Awaited<ReturnType<typeof startHttpServer>>;

/** Time limit of a whole request, ms: Gitea waits no longer for an answer. */
const REQUEST_MS = 5000;
/** Time limit of the headers, ms. It also ends a connection that sends no byte. */
const HEADERS_MS = 2000;
const KEEP_ALIVE_MS = 5000;
/** Most open connections. An idle one costs some 20 KB: less than a client that is closed and comes back at once. */
const CONNECTIONS = { total: 2048, perAddress: 1024 };
/** Connections that the kernel may keep until we accept them; Node's default, 511, is full sooner than our limits. */
const BACKLOG = 4096;
/** Most bytes of headers. Gitea sends about 1 KB. */
const MAX_HEADER_BYTES = 16 * 1024;
/** Most headers of a request. Node ignores further ones. */
const MAX_HEADERS = 100;

/** Starts a server. @throws Failure (exit 1) when it cannot listen on the address */
export async function startHttpServer(options: HttpServerOptions) {
  const { what: purpose, address, onRequest, onMalformed, onDropped, requestMs = REQUEST_MS } = options;
  const server = createServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      requestTimeout: requestMs,
      headersTimeout: Math.min(HEADERS_MS, requestMs),
      keepAliveTimeout: KEEP_ALIVE_MS,
      // Node looks for late requests only this often; its default is 30 s.
      connectionsCheckingInterval: Math.min(500, requestMs),
    },
    onRequest,
  );
  limitConnections(server, options.connections ?? CONNECTIONS, () => onDropped?.());
  server.maxHeadersCount = MAX_HEADERS;
  server.on('clientError', (error: Error, socket) => {
    onMalformed?.();
    answerMalformed(error, socket);
  });
  await listen(server, purpose, address);
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  };
  return { port, close };
}

export type WebPage = Readonly<{ status: number; contentType: string; body: string }>;

/** Serves pages by their exact path without query, to GET and HEAD. A page that throws is a 500 without a word of the error. */
export function servePages(pages: Readonly<Record<string, () => WebPage | Promise<WebPage>>>): RequestListener {
  const byPath = new Map(Object.entries(pages));
  const show = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const page = byPath.get((request.url ?? '').split('?', 1).join(''));
    if (page === undefined) return answer(request, response, plain(404, 'not found'));
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return answer(request, response, plain(405, 'only GET'), { allow: 'GET, HEAD', connection: 'close' });
    answer(request, response, await page());
  };
  return (request, response) =>
    void show(request, response).catch(() => answer(request, response, plain(500, 'an error')));
}

/** Returns a page of plain text, with a line end. Without text it is empty. */
export function plain(status: number, text: string): WebPage {
  return { status, contentType: 'text/plain; charset=utf-8', body: text && `${text}\n` };
}

/** Sends a page. If the body of the request is incomplete, its rest is not read, and the connection is closed. */
export function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { status, contentType, body }: WebPage,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, {
    ...(body && { 'content-type': contentType }),
    'content-length': Buffer.byteLength(body),
    'x-content-type-options': 'nosniff',
    ...(!request.complete && { connection: 'close' }),
    ...headers,
  });
  response.end(body);
}

async function listen(server: Server, purpose: string, { host, port }: ListenAddress): Promise<void> {
  server.listen({ port, backlog: BACKLOG, ...(host !== undefined && { host }) });
  await once(server, 'listening').catch((error: Error) => {
    const shown = `${host?.includes(':') ? `[${host}]` : (host ?? '')}:${port}`;
    const remedy = 'Give an address of this machine and a port that is free and allowed';
    throw new Failure('GR-LISTEN-01', 1, `listen for ${purpose} on ${shown}: ${systemReason(error)}. ${remedy}.`);
  });
}

interface Connection {
  readonly address: string;
  readonly last?: { readonly request: IncomingMessage; readonly response: ServerResponse };
}

/**
 * Limits open connections. Any client that reaches a port can open connections and hold them. A new one replaces the
 * connection that has been idle longest, first of its own address, then of all. If none is idle, the new one is closed.
 * A connection is idle unless its complete request waits for our answer: clients that send nothing, send slowly or read
 * slowly go first.
 */
function limitConnections(server: Server, limits: typeof CONNECTIONS, onDropped: () => void): void {
  /** The longest idle one first: a Map keeps the order of insertion. */
  const open = new Map<Socket, Connection>();
  /** Open connections of each address. A client that floods the port must not make each new connection slower. */
  const ofAddress = new Map<string, number>();
  const count = (address: string, delta: 1 | -1): void => {
    const sum = (ofAddress.get(address) ?? 0) + delta;
    if (sum > 0) ofAddress.set(address, sum);
    else ofAddress.delete(address);
  };
  const forget = (socket: Socket): void => {
    const connection = open.get(socket);
    if (connection && open.delete(socket)) count(connection.address, -1);
  };
  const drop = (socket: Socket): void => {
    forget(socket);
    socket.destroy();
    onDropped();
  };
  /** Closes one idle connection if there are too many. @param address only connections of this address count. Absent: all do */
  const makeRoom = (connections: number, limit: number, address?: string): boolean => {
    if (connections < limit) return true;
    for (const [socket, { address: ownAddress, last }] of open) {
      const isBusy = last?.request.complete === true && !last.response.writableEnded;
      if (isBusy || (address !== undefined && ownAddress !== address)) continue;
      drop(socket);
      return true;
    }
    return false;
  };
  server.on('connection', (socket) => {
    const address = socket.remoteAddress ?? '';
    const hasRoom =
      makeRoom(ofAddress.get(address) ?? 0, limits.perAddress, address) && makeRoom(open.size, limits.total);
    if (!hasRoom) return drop(socket);
    open.set(socket, { address });
    count(address, 1);
    socket.once('close', () => forget(socket));
  });
  server.on('request', (request, response) => {
    const { socket } = request;
    const connection = open.get(socket);
    // It is taken out and put in again, so that it is the last in line.
    if (connection && open.delete(socket)) open.set(socket, { ...connection, last: { request, response } });
  });
}

/** Status by the code of Node's error; any other is 400. */
const STATUS_OF: ReadonlyMap<string, number> = new Map([
  ['ERR_HTTP_REQUEST_TIMEOUT', 408],
  ['HPE_HEADER_OVERFLOW', 431],
]);

/** Answers a connection that is not HTTP as Node would. A listener for `clientError` takes over that duty from Node. */
function answerMalformed(error: Error, socket: Duplex): void {
  const code = systemCode(error);
  if (code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const status = STATUS_OF.get(code ?? '') ?? 400;
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\n\r\n`, () => socket.destroy());
}
