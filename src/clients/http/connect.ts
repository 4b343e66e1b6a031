/** Connections over undici: for a proxy or a watch alone, as loading it takes as long as a start (docs/adr/0012). */
import { type Dispatcher, Pool, ProxyAgent } from 'undici';
import { Body, type ConnectOptions, refuseBadCa, type Wire, type WireAnswer } from './wire.ts';

/** Opens connections. `signal` ends one in the making; `destroy` would wait for it. @throws Failure (exit 2): bad `ca` */
export function connectTo(origin: string, options: ConnectOptions & { readonly proxy?: URL }): Dispatcher {
  const { ca, caFrom, clientCertificate, connections, proxy, signal } = options;
  refuseBadCa(ca, caFrom);
  const socket = { signal, timeout: 0, ca, ...clientCertificate };
  // Time is limited by the caller's signals; undici's own limits would only describe the same error in a second way.
  const limits = { connections, headersTimeout: 0, bodyTimeout: 0 };
  if (proxy === undefined) return new Pool(origin, { ...limits, connect: socket });
  return new ProxyAgent({
    ...limits,
    uri: proxy.href,
    requestTls: socket,
    proxyTls: socket,
    // Many proxies allow CONNECT to port 443 only (squid's default), so plain http is forwarded.
    proxyTunnel: origin.startsWith('https:'),
  });
}

export function proxiedWire(origin: string, options: ConnectOptions & { readonly proxy: URL }): Wire {
  const dispatcher = connectTo(origin, options);
  return {
    send: ({ url, method, headers, body }) => {
      const controller = new AbortController();
      const { signal } = controller;
      const path = url.pathname + url.search;
      const response = dispatcher.request({ origin, path, method, headers, body: body ?? null, signal });
      return { answer: response.then(answerOf), cancel: () => controller.abort() };
    },
    close: () => dispatcher.destroy(),
  };
}

function answerOf({ statusCode, headers, body }: Dispatcher.ResponseData): WireAnswer {
  return { status: statusCode, headers, read: (limit) => readBody(body as AsyncIterable<Uint8Array>, limit) };
}

async function readBody(chunks: AsyncIterable<Uint8Array>, limit: number): Promise<Uint8Array | undefined> {
  const body = new Body(limit);
  for await (const chunk of chunks) if (!body.add(chunk)) return undefined;
  return body.bytes();
}
