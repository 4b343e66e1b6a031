/** Real servers for tests, closed by the test that opened them. */
import { createServer as createHttp, type RequestListener, type Server } from 'node:http';
import { createServer as createHttps } from 'node:https';
import type { Server as NetServer, Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export interface Listening {
  readonly server: NetServer;
  readonly port: number;
  /** `http://127.0.0.1:port` or https with `localhost`. */
  readonly origin: string;
  close(): Promise<void>;
}

/** Registers a clean-up at the end of a test. Concurrent tests pass their own `onTestFinished`. */
export type AtEnd = (cleanUp: () => void | Promise<void>) => void;

/** Listens on a free port of loopback and is gone, with all connections, when the test ends. */
export async function listen(
  server: NetServer,
  base = 'http://127.0.0.1',
  atEnd: AtEnd = onTestFinished,
): Promise<Listening> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const close = async () => {
    for (const socket of sockets) socket.destroy();
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  };
  atEnd(close);
  return { server, port: address.port, origin: `${base}:${address.port}`, close };
}

export async function serve(handler: RequestListener, atEnd?: AtEnd): Promise<Listening> {
  return await listen(createHttp(handler), undefined, atEnd);
}

export async function serveTls(
  tls: { readonly key: string; readonly cert: string },
  handler: RequestListener,
): Promise<Listening> {
  const server: Server = createHttps(tls, handler);
  return await listen(server, 'https://localhost');
}
