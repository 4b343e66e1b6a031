/** Links to Gitea's pages. */
import { parseUrl } from '../../shared/parse-url.ts';

/** The address of a page. People click on it, so it is http(s); undefined: it is not. */
export function readLink(text: string): string | undefined {
  if (text === '' || isPlainLink(text)) return text;
  const url = parseUrl(text);
  return url?.protocol === 'http:' || url?.protocol === 'https:' ? url.href : undefined;
}

/** Segments that a URL keeps as they are: no `.`, no `..`, nothing to encode. */
const PLAIN_LINK = /^(https?:\/\/[^/?#]+)(?:\/[A-Za-z0-9_-][A-Za-z0-9_.-]*)+$/;
const MOST_ORIGINS = 200;
/** Origins that a URL keeps as they are, or not. There is one per Gitea. */
const plainOrigins = new Map<string, boolean>();

/** True when `new URL(text).href` is `text`, found out without it: parsing a URL takes as long as reading the rest of a job. */
function isPlainLink(text: string): boolean {
  const origin = PLAIN_LINK.exec(text)?.[1];
  if (origin === undefined) return false;
  let plain = plainOrigins.get(origin);
  if (plain === undefined) {
    plain = parseUrl(origin)?.href === `${origin}/`;
    if (plainOrigins.size < MOST_ORIGINS) plainOrigins.set(origin, plain);
  }
  return plain;
}
