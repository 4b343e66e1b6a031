/** Checks addresses of notifications. Authors choose them, so `serve` calls only those that `--notify-urls` allows. */
import { Failure } from '../../shared/failure.ts';
import { webhookUrlProblem } from '../../shared/url.ts';

/** Servers decode these in different ways: such a path may mean another one. */
const AMBIGUOUS = /%(?:2e|2f|5c)|\\|\/\//i;
/** Paths that servers read differently: `/..;x/` is `/../` for Java's, and `%252e` is `%2e` for one that decodes twice. */
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
  // The parsed URL has lost the original spelling, and the string has line breaks that URLs leave out.
  const isAmbiguous = [pathname, text.slice(text.indexOf('://') + 3)].some((each) => AMBIGUOUS.test(each));
  if (isAmbiguous || AMBIGUOUS_PATH.test(pathname)) return false;
  return allowed.some((prefix) => {
    const below = prefix.pathname.endsWith('/') ? prefix.pathname : `${prefix.pathname}/`;
    return prefix.origin === origin && (pathname === prefix.pathname || pathname.startsWith(below));
  });
}
