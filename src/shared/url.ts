/** Base URLs of servers in normal form: two spellings of one address are equal. Tokens are bound to them. */

/** A byte that may stand in a path as it is (RFC 3986 section 2.3), written as `%41`. */
const ENCODED = /%[0-9a-fA-F]{2}/g;
const UNRESERVED = /[A-Za-z0-9._~-]/;
/** Encoded slashes. Some servers read them as a slash. */
const ENCODED_SLASH = /%2f|%5c/i;

/**
 * Returns the normal form: lower-case host, no default port, dot segment or last slash, percent-encoding only where
 * needed. Undefined: no http(s) URL, or one with credentials, a query or a fragment.
 */
export function normalBase(text: string): string | undefined {
  // The string is checked, because an empty query or fragment ("?", "#") leaves no part in a URL.
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

/** Parses a URL. Undefined: it is none. `URL.canParse` of Node 20 is sometimes wrong; `URL.parse` came with 22. */
export function parseUrl(text: string, base?: string): URL | undefined {
  try {
    return new URL(text, base);
  } catch {
    return undefined;
  }
}

/** Returns what is wrong with the address of a webhook. Undefined: nothing. */
export function webhookUrlProblem(text: string): string | undefined {
  const url = parseUrl(text);
  if (!url) return 'must be a URL, e.g. https://hooks.example.com/ci';
  const { protocol, username, password, hash } = url;
  if (protocol !== 'https:' && protocol !== 'http:') return 'must be a URL with https or http';
  if (username !== '' || password !== '') return 'must hold no login: it stands in git';
  return hash === '' ? undefined : 'must hold no fragment (#…)';
}
