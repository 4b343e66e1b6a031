/** A TCP connection between two machines, over this side. It can be cut, like a failed network, and restored. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

export class Wire {
  readonly port: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isCut = false;

  private constructor(server: Server) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
  }

  /** @param address to listen on */
  static async lay(address: string, to: { readonly host: string; readonly port: number }): Promise<Wire> {
    const server = createServer();
    server.listen(0, address);
    await once(server, 'listening');
    const wire = new Wire(server);
    server.on('connection', (near) => {
      if (wire.#isCut) return void near.destroy();
      const far = connect(to.port, to.host);
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const) {
        wire.#sockets.add(one);
        one.on('error', () => other.destroy());
        one.on('close', () => {
          wire.#sockets.delete(one);
          other.destroy();
        });
        one.pipe(other);
      }
    });
    return wire;
  }

  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  mend(): void {
    this.#isCut = false;
  }

  close(): void {
    this.cut();
    this.#server.close();
  }
}
