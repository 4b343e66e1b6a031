/**
 * Undefined: it is no URL. `URL.canParse` of Node 20 calls some URLs with letters like ü wrong, once it was called thousands of times (seen
 * with 20.20.2; 24 is right), and `URL.parse` came with Node 22.
 */
export function parseUrl(text: string, base?: string): URL | undefined {
  try {
    return new URL(text, base);
  } catch {
    return undefined;
  }
}
