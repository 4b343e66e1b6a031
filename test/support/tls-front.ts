/** Gives a server TLS: what comes in is handed on to it. */
import { once } from 'node:events';
import { request } from 'node:http';
import { createServer, type Server } from 'node:https';

export class TlsFront {
  readonly #server: Server;
  /** Base URL, plain http. */
  target: string;

  private constructor(server: Server, target: string) {
    this.#server = server;
    this.target = target;
  }

  static async start(
    target: string,
    certificate: { readonly key: string; readonly cert: string },
    address = '127.0.0.1',
  ): Promise<TlsFront> {
    const { key, cert } = certificate;
    const server = createServer({ key, cert }, (incoming, response) => {
      const { method, url = '', headers } = incoming;
      const onward = request(front.target + url, { method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      });
      onward.on('error', () => response.destroy());
      incoming.pipe(onward);
    });
    const front = new TlsFront(server, target);
    server.listen(0, address);
    await once(server, 'listening');
    return front;
  }

  get port(): number {
    const at = this.#server.address();
    return typeof at === 'object' && at ? at.port : 0;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}
