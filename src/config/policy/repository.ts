/**
 * Addresses of git repositories in one spelling: `git@host:a/b.git` and `ssh://git@host/a/b` are one, `https://HOST:443/a/b.git/` and
 * `https://host/a/b` are one.
 */
import { normalBase } from '../../shared/base-url.ts';

/** `user@host:path`, as git reads it: no slash before the colon. */
const SCP_LIKE = /^(?:[\w.-]+@)?([A-Za-z0-9.-]+):(?!\/\/)\/*(.+)$/;
const SSH = /^ssh:\/\/(?:[\w.-]+@)?([A-Za-z0-9.-]+(?::[0-9]{1,5})?)\/+(.+)$/i;
/** What some reader takes for a slash, an end or nothing: never in the address of a repository. */
const ODD = /[^\x21-\x7e]|[\\?#]|%2f|%5c|%00/i;

/**
 * The normal form. Undefined for what is no http, https or ssh address, has credentials (but for the user of ssh), or can be read in two
 * ways. Upper and lower case of the path stay apart. Stars of a pattern stay as they are.
 */
export function normalRepository(text: string): string | undefined {
  if (ODD.test(text)) return undefined;
  const [, host, path] = SSH.exec(text) ?? (text.includes('://') ? [] : (SCP_LIKE.exec(text) ?? []));
  if (host === undefined || path === undefined) return withoutEnding(normalBase(text));
  // The path is read as that of a URL: dot segments are resolved, and escapes have one spelling.
  const base = normalBase(`http://${host.replace(/:22$/, '')}/${path}`);
  return withoutEnding(base?.replace(/^http:/, 'ssh:'));
}

function withoutEnding(base: string | undefined): string | undefined {
  return base?.replace(/\/{2,}/g, (slashes, at: number) => (at < 8 ? slashes : '/')).replace(/\.git$/, '');
}
