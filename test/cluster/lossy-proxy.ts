/** A proxy before Gitea. When it is told to, it loses answers to registrations, is slow, or answers 429. */
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export class LossyProxy {
  /** Fate of the answer to the next registration; then back to `pass`. */
  next: 'pass' | 'lose' | 'hold' = 'pass';
  /** Answers that were lost, and that are held back until the end. */
  lost = 0;
  held = 0;
  /** Reports of runners about their CI jobs that were answered: a runner that reports has its CI job. */
  reports = 0;
  /** Delay before each request to the API, ms. */
  delayMs = 0;
  /** If not 0, requests to the API get 429 with this many seconds. */
  retryAfterSeconds = 0;
  readonly url: string;
  readonly #server: Server;

  private constructor(server: Server, url: string) {
    this.#server = server;
    this.url = url;
  }

  /**
   * Starts the proxy.
   * @param address to listen on
   * @param target base URL of Gitea
   * @param port that of a closed proxy. Default: any
   */
  static async start(address: string, target: string, port = 0): Promise<LossyProxy> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(port, address, resolve));
    const proxy = new LossyProxy(server, `http://${address}:${(server.address() as AddressInfo).port}`);
    server.on('request', (asked: IncomingMessage, answer: ServerResponse) => {
      const isApi = asked.url?.startsWith('/api/v1/') === true;
      if (isApi && proxy.retryAfterSeconds > 0)
        answer.writeHead(429, { 'retry-after': String(proxy.retryAfterSeconds) }).end();
      else setTimeout(() => proxy.#pass(target, asked, answer), isApi ? proxy.delayMs : 0);
    });
    return proxy;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #pass(target: string, asked: IncomingMessage, answer: ServerResponse): void {
    const { url = '' } = asked;
    passOn(target, asked, answer, (came) => {
      if (url.endsWith('/UpdateTask')) this.reports += 1;
      if (!url.endsWith('/Register') || came.statusCode !== 200 || this.next === 'pass') return false;
      const what = this.next;
      this.next = 'pass';
      came.resume();
      if (what === 'hold') this.held += 1;
      else {
        this.lost += 1;
        answer.destroy();
      }
      return true;
    });
  }
}

/** Sends the request to `target`, or to `other`, and returns the answer, unless `take` has handled it. */
export function passOn(
  target: string,
  asked: IncomingMessage,
  answer: ServerResponse,
  take: (came: IncomingMessage) => boolean,
  { method = asked.method, url = asked.url } = {},
): void {
  const onward = request(`${target}${url}`, { method, headers: asked.headers }, (came) => {
    if (take(came)) return;
    answer.writeHead(came.statusCode ?? 502, came.headers);
    came.pipe(answer);
  });
  onward.on('error', () => answer.destroy());
  asked.pipe(onward);
}
