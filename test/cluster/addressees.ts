/** Receivers of notifications on this side of a stack: a webhook that accepts all of them, and a Slack that is down. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcp, type Server, type Socket } from 'node:net';

/** The address under which pods expect Slack's API: https. */
const SLACK_PORT = 443;

export class Addressees {
  /** Bodies of the webhooks that came. */
  readonly told: string[] = [];
  /** Number of connections to Slack. It accepts each one and never answers. */
  asked = 0;
  /** URL of the webhook. */
  readonly url: string;
  readonly #servers: readonly Server[];
  readonly #sockets = new Set<Socket>();

  private constructor(webhook: Server, slack: Server, url: string) {
    this.#servers = [webhook, slack];
    this.url = url;
    for (const server of this.#servers) server.on('connection', (socket) => this.#keep(socket));
    slack.on('connection', () => {
      this.asked += 1;
    });
  }

  /** @param address to listen on, for pods. */
  static async start(address: string): Promise<Addressees> {
    const webhook = createServer();
    const slack = createTcp();
    for (const [server, port] of [
      [webhook, 0],
      [slack, SLACK_PORT],
    ] as const) {
      server.listen(port, address);
      await once(server, 'listening');
    }
    const made = new Addressees(webhook, slack, `http://${address}:${(webhook.address() as AddressInfo).port}/ci`);
    webhook.on('request', async (request, response) => {
      made.told.push((await request.toArray()).join(''));
      response.end();
    });
    return made;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    for (const server of this.#servers) await new Promise((resolve) => server.close(resolve));
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => this.#sockets.delete(socket));
  }
}
