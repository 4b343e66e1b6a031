/**
 * Base URLs of servers: scheme, host, port and path. Two spellings of one address have the same normal form. A token is bound to
 * a base URL and is sent to addresses below it only (test/clients/tokens/url-binding.test.ts).
 */

/** A byte that may stand in a path as it is (RFC 3986 section 2.3), written as `%41`. */
const ENCODED = /%[0-9a-fA-F]{2}/g;
const UNRESERVED = /[A-Za-z0-9._~-]/;
/** Encoded slashes. Some servers read them as a slash. */
const ENCODED_SLASH = /%2f|%5c/i;

/**
 * Returns the normal form: host in lower case, no default port, no dot segment, no slash at the end; percent-encoding
 * only where it is needed, in capitals. Undefined if it is not an http or https URL, or has credentials, a query or a
 * fragment.
 */
export function normalBase(text: string): string | undefined {
  // Checked in the string: an empty query or fragment ("?", "#") leaves no part in a URL.
  const url = /[?#]/.test(text) ? undefined : parseUrl(text);
  if (!url || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') return undefined;
  return `${url.origin}${normalPath(url)}`;
}

/** True for the base itself and for addresses below it. `base` is a normal form. */
export function isBelow(url: URL, base: string): boolean {
  if (url.username !== '' || url.password !== '') return false;
  const place = `${url.origin}${normalPath(url)}`;
  if (place === base) return true;
  return place.startsWith(`${base}/`) && !ENCODED_SLASH.test(place.slice(base.length));
}

/** `URL` itself has resolved dot segments, encoded ones too. */
function normalPath({ pathname }: URL): string {
  const decoded = pathname.replace(ENCODED, (encoded) => {
    const character = String.fromCharCode(Number.parseInt(encoded.slice(1), 16));
    return UNRESERVED.test(character) ? character : encoded.toUpperCase();
  });
  return decoded.replace(/\/+$/, '');
}

/**
 * Parses a URL. Undefined: it is not one. `URL.canParse` of Node 20 rejects some URLs with letters like ü after
 * thousands of calls (seen with 20.20.2; 24 is right), and `URL.parse` came with Node 22.
 */
export function parseUrl(text: string, base?: string): URL | undefined {
  try {
    return new URL(text, base);
  } catch {
    return undefined;
  }
}

/** Undefined: it is an address that a webhook can have. */
export function webhookUrlProblem(text: string): string | undefined {
  const url = parseUrl(text);
  if (!url) return 'must be a URL, e.g. https://hooks.example.com/ci';
  const { protocol, username, password, hash } = url;
  if (protocol !== 'https:' && protocol !== 'http:') return 'must be a URL with https or http';
  if (username !== '' || password !== '') return 'must hold no login: it stands in git';
  return hash === '' ? undefined : 'must hold no fragment (#…)';
}
