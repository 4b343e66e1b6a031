/** Chooses the proxy of a request by the variables and rules of curl and Go programs. */
import { BlockList, isIP } from 'node:net';
import { Failure } from '../../shared/failure.ts';
import { parseUrl } from '../../shared/url.ts';

/** The environment, as a value. */
export type Env = Readonly<Record<string, string | undefined>>;

/** Returns the proxy for `url`, or undefined. Lower-case variables win. @throws Failure (exit 2): no http(s) URL */
export function proxyFor(url: URL, env: Env): URL | undefined {
  const name = url.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY';
  const value = (env[name.toLowerCase()] ?? env[name] ?? '').trim();
  if (value === '' || isExempt(url, env['no_proxy'] ?? env['NO_PROXY'] ?? '')) return undefined;
  const text = value.includes('://') ? value : `http://${value}`;
  const proxy = parseUrl(text);
  if (proxy === undefined || !['http:', 'https:'].includes(proxy.protocol) || proxy.hostname === '') {
    // The value itself is not shown: proxy URLs carry passwords.
    const message =
      `choose the proxy for ${url.host}: the environment variable ${name} is no http or https URL, so nothing was sent. ` +
      'Write it like http://proxy.example.com:3128, or remove it to connect directly.';
    throw new Failure('GR-HTTP-08', 2, message, 'unreachable');
  }
  return proxy;
}

/** True if `noProxy` covers the host: `*`, a name and all below it, an IP address or a CIDR block, perhaps with `:port`. */
function isExempt(url: URL, noProxy: string): boolean {
  const host = url.hostname.replace(/^\[|\]$/g, '').toLowerCase();
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  return noProxy
    .toLowerCase()
    .split(/[,\s]+/)
    .filter((entry) => entry !== '')
    .some((entry) => covers(entry, host, port));
}

function covers(entry: string, host: string, port: string): boolean {
  if (entry === '*') return true;
  if (entry.includes('/')) return inBlock(entry, host);
  // `[::1]:443`, `example.com:443`; an IPv6 address without brackets has no port.
  const parts = isIP(entry) === 6 ? undefined : /^(?:\[([^\]]+)\]|(.+?))(?::(\d+))?$/.exec(entry);
  const [, bracketed, plain, wantedPort] = parts ?? [];
  if (wantedPort !== undefined && wantedPort !== port) return false;
  const bare = (bracketed ?? plain ?? entry).replace(/^\*?\./, '');
  return host === bare || (isIP(host) === 0 && host.endsWith(`.${bare}`));
}

function inBlock(entry: string, host: string): boolean {
  const [net = '', bits = ''] = entry.split('/');
  const family = isIP(net);
  if (family === 0 || isIP(host) !== family || !/^\d{1,3}$/.test(bits) || Number(bits) > (family === 4 ? 32 : 128))
    return false;
  const type = family === 4 ? 'ipv4' : 'ipv6';
  const block = new BlockList();
  block.addSubnet(net, Number(bits), type);
  return block.check(host, type);
}
