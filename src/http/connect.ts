/** The one place that knows undici: opens connections to an origin, directly or through a proxy. */
import { type Dispatcher, Pool, ProxyAgent } from 'undici';
import { Failure } from '../failure.ts';

export interface ConnectOptions {
  /** Connections at most. */
  readonly connections: number;
  /** PEM certificates that are trusted instead of the built-in ones. */
  readonly ca?: string;
  readonly proxy?: URL;
  /** Ends every connection at once, also one that is still being made: undici's `destroy` waits for those. */
  readonly signal: AbortSignal;
}

/** Throws `Failure` (exit 2) when `ca` is no PEM: Node would take it silently and trust nobody. */
export function connectTo(origin: string, options: ConnectOptions): Dispatcher {
  const { ca, connections, proxy, signal } = options;
  if (ca !== undefined && !ca.includes('-----BEGIN CERTIFICATE-----')) {
    throw new Failure(
      'GR-HTTP-14',
      2,
      'the CA file holds no PEM certificate (no line "-----BEGIN CERTIFICATE-----"): give another --ca-file.',
    );
  }
  const socket = { signal, timeout: 0, ...(ca !== undefined && { ca }) };
  // Time is limited by the caller's signals; undici's own limits would only give the same fault a second wording.
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
