/** Answers requests for former names. */
import type { Answer, Ask } from './ask.ts';
import { repoKey } from './renames.ts';

/**
 * Returns the redirect of a request for a former name. Undefined: none. Gitea replaces the first text that looks like
 * the name, wherever it is in the path (services/context: `RedirectToUser` with 307, `RedirectToRepo` with 301; read in
 * 1.26.0 and 1.27.3).
 */
export function redirectOf({ state, setup, path, query }: Ask): Answer | undefined {
  const [, , , room, first = '', second = '', third = ''] = path.split('/');
  const names = room === 'users' && second === 'orgs' ? [first, third] : [first];
  const to = (status: number, from: string, name: string): Answer => {
    const text = query.toString();
    const root = new URL(setup.root).pathname.replace(/\/$/, '');
    return { status, headers: { Location: `${root}${path.replace(from, name)}${text && `?${text}`}` } };
  };
  if (room !== 'orgs' && room !== 'users' && room !== 'repos') return undefined;
  for (const name of names) {
    if (state.orgs.has(name) || (state.users.has(name) && room !== 'orgs')) continue;
    const redirect = state.ownerRedirects.get(name.toLowerCase());
    const owner = redirect && [...state.orgs.values(), ...state.users.values()].find(({ id }) => id === redirect.id);
    if (owner) return to(307, name, owner.name);
  }
  const ownerId = (state.orgs.get(first) ?? state.users.get(first))?.id ?? 0;
  if (room !== 'repos' || state.repos.has(`${first}/${second}`)) return undefined;
  const redirect = state.repoRedirects.get(repoKey(ownerId, second));
  const repo = redirect && [...state.repos.values()].find(({ id }) => id === redirect.id);
  return repo && to(301, `${first}/${second}`, repo.fullName);
}
