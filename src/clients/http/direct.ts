/** Connections without a proxy, over Node's own HTTP client: any package costs a start 15 ms more (docs/adr/0012). */
import type { Agent, IncomingMessage, request as requestOverHttp } from 'node:http';
import { urlToHttpOptions } from 'node:url';
import { Body, type ConnectOptions, type Wire, type WireAnswer } from './wire.ts';

/** An idle connection is closed after this time, sooner when the server says so: most servers wait 5 s or longer. */
const IDLE_MS = 4000;

/** Connections are made when they are needed. */
export async function directWire(origin: string, options: ConnectOptions): Promise<Wire> {
  const { ca, clientCertificate, connections } = options;
  const keeping = { keepAlive: true, maxSockets: connections, timeout: IDLE_MS };
  // node:https loads all of TLS, which a plain request does not need.
  if (!origin.startsWith('https:')) {
    const http = await import('node:http');
    return wireOf(origin, new http.Agent(keeping), http.request);
  }
  const https = await import('node:https');
  const { createSecureContext } = await import('node:tls');
  // Once for all connections: parsing a bundle of all public CAs takes 20 ms of CPU time.
  const secureContext = createSecureContext({ ca, ...clientCertificate });
  const agent = new https.Agent({ ...keeping, secureContext });
  return wireOf(origin, agent, https.request);
}

function wireOf(origin: string, agent: Agent, request: typeof requestOverHttp): Wire {
  const { protocol, hostname, port } = urlToHttpOptions(new URL(origin));
  // The common part of all requests: Node would parse the URL again for each.
  const server = { agent, protocol, hostname, port };
  return {
    send: ({ url, method, headers, body }) => {
      const outgoing = request({ ...server, path: url.pathname + url.search, method, headers });
      const answer = new Promise<WireAnswer>((resolve, reject) => {
        outgoing.on('error', reject);
        outgoing.on('response', (incoming) => {
          const { statusCode: status = 0, headers: received } = incoming;
          resolve({ status, headers: received, read: (limit) => readBody(incoming, limit) });
        });
      });
      // With the body in one piece, Node sends its length instead of chunks.
      outgoing.end(body);
      return { answer, cancel: () => outgoing.destroy() };
    },
    close: async () => agent.destroy(),
  };
}

function readBody(incoming: IncomingMessage, limit: number): Promise<Uint8Array | undefined> {
  return new Promise((resolve, reject) => {
    const body = new Body(limit);
    incoming.on('data', (chunk: Uint8Array) => {
      if (body.add(chunk)) return;
      resolve(undefined);
      incoming.destroy();
    });
    incoming.on('error', reject);
    incoming.on('end', () => resolve(body.bytes()));
  });
}
