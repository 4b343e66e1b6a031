/**
 * Limits the connections to a server of ours. Any client that reaches a port can open connections and hold them. That must not
 * keep others out:
 *
 *     new connection ─► within both limits ──────────────────────────► stays
 *          ├─ its address has too many ─► the longest idle one of that address is closed for it
 *          ├─ all together are too many ─► the longest idle one of all is closed for it
 *          └─ none is idle ─────────────► the new one is closed
 *
 * A connection is idle unless a complete request waits for our answer. So clients that send nothing, send slowly, read slowly or
 * only keep a connection open are closed first. A request that arrives in one piece is answered long before its turn comes.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Connections at a time. */
export interface ConnectionLimits {
  readonly total: number;
  /** Of these, of one IP address. */
  readonly perAddress: number;
}

/** Holds a server to the limits. @param onDropped called for each connection that is closed for them. */
export function limitConnections(server: Server, limits: ConnectionLimits, onDropped: () => void): void {
  const crowd = new Crowd();
  /** True when there is room for one more of these, if need be in the place of the longest idle one. */
  const makeRoom = (sockets: ReadonlySet<Socket>, limit: number): boolean => {
    if (sockets.size < limit) return true;
    const idle = crowd.longestIdle(sockets);
    if (!idle) return false;
    crowd.remove(idle);
    idle.destroy();
    onDropped();
    return true;
  };
  server.on('connection', (socket) => {
    const hasRoom = makeRoom(crowd.sameAddress(socket), limits.perAddress) && makeRoom(crowd.all, limits.total);
    if (hasRoom) {
      crowd.add(socket);
      socket.once('close', () => crowd.remove(socket));
      return;
    }
    socket.destroy();
    onDropped();
  });
  server.on('request', (request, response) => crowd.asked(request, response));
}

/** All connections of a server. A Set keeps the order of insertion: in each of these the longest idle one comes first. */
class Crowd {
  readonly all = new Set<Socket>();
  readonly #byAddress = new Map<string, Set<Socket>>();
  /** A socket that was closed has no address any more. */
  readonly #addressOf = new WeakMap<Socket, string>();
  /** The last request of a connection. */
  readonly #last = new WeakMap<Socket, { readonly request: IncomingMessage; readonly response: ServerResponse }>();

  sameAddress(socket: Socket): ReadonlySet<Socket> {
    return this.#byAddress.get(socket.remoteAddress ?? '') ?? new Set();
  }

  add(socket: Socket): void {
    const address = this.#addressOf.get(socket) ?? socket.remoteAddress ?? '';
    this.#addressOf.set(socket, address);
    this.all.add(socket);
    const neighbours = this.#byAddress.get(address);
    if (neighbours) neighbours.add(socket);
    else this.#byAddress.set(address, new Set([socket]));
  }

  remove(socket: Socket): void {
    this.all.delete(socket);
    const address = this.#addressOf.get(socket) ?? '';
    const neighbours = this.#byAddress.get(address);
    neighbours?.delete(socket);
    if (neighbours?.size === 0) this.#byAddress.delete(address);
  }

  /** A request has begun: its connection goes to the end of the line. */
  asked(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    this.#last.set(socket, { request, response });
    if (!this.all.has(socket)) return;
    this.remove(socket);
    this.add(socket);
  }

  longestIdle(sockets: ReadonlySet<Socket>): Socket | undefined {
    for (const socket of sockets) if (!this.#isBusy(socket)) return socket;
    return undefined;
  }

  /** True while a complete request waits for us. */
  #isBusy(socket: Socket): boolean {
    const last = this.#last.get(socket);
    return last?.request.complete === true && !last.response.writableEnded;
  }
}
