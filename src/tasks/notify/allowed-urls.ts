/**
 * Checks the addresses to which `serve` may send notifications. Authors of RunnerGroups name the address, and `serve`
 * runs inside the cluster: so only addresses that the administrator allows (`--notify-urls`) are used, and no redirect
 * is followed.
 */

import { Failure } from '../../shared/failure.ts';
import { webhookUrlProblem } from '../../shared/url.ts';

/** Servers decode these in different ways: such a path may mean another one. */
const AMBIGUOUS = /%(?:2e|2f|5c)|\\|\/\//i;
/**
 * Paths that servers read differently. `/..;x/` is `/../` for Java's servers, and `%252e` is `%2e` for one that decodes
 * twice.
 */
const AMBIGUOUS_PATH = /\/\.\.;|%25/;

/** A list with commas. @throws Failure exit 2 */
export function readAllowedUrls(text: string, { name }: { readonly name: string }): readonly URL[] {
  const parts = text.split(',').map((part) => part.trim());
  return parts
    .filter((part) => part !== '')
    .map((part) => {
      const problem = webhookUrlProblem(part) ?? (part.includes('?') ? 'must hold no query' : undefined);
      if (problem === undefined) return new URL(part);
      throw new Failure('GR-NOTIFY-07', 2, `read ${name}: each entry ${problem}.`);
    });
}

/** True when the address has the scheme, host and port of an allowed one, and lies at or below its path. */
export function isAllowedUrl(text: string, allowed: readonly URL[]): boolean {
  if (webhookUrlProblem(text) !== undefined) return false;
  const { origin, pathname } = new URL(text);
  // Both forms are checked: the parsed URL has lost the original spelling, and the string has line breaks that URLs
  // leave out.
  const isAmbiguous = [pathname, text.slice(text.indexOf('://') + 3)].some((each) => AMBIGUOUS.test(each));
  if (isAmbiguous || AMBIGUOUS_PATH.test(pathname)) return false;
  return allowed.some((prefix) => {
    const below = prefix.pathname.endsWith('/') ? prefix.pathname : `${prefix.pathname}/`;
    return prefix.origin === origin && (pathname === prefix.pathname || pathname.startsWith(below));
  });
}
