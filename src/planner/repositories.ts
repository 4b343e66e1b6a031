/** Names of owners and repositories, as Gitea has them now and had them before a rename. Gitea ignores case. */
import type { Group, Look } from './evidence.ts';

/** The owner of a repository or scope, in lower case. */
export function ownerOf(path: string): string {
  const [owner = ''] = path.toLowerCase().split('/', 1);
  return owner;
}

/** A repository by the name that Gitea has for the group's scope now, in lower case. Undefined: it is not in the scope, by either name. */
export function nameNow(repository: string, { covers = '' }: Group, look: Look | undefined): string | undefined {
  const [name, now = covers] = [repository.toLowerCase(), look?.renamedTo?.toLowerCase()];
  return covers === '' ? name : (renamed(name, covers, now) ?? renamed(name, now, now));
}

/** A repository, in lower case, with the name that its scope had before a rename: a pattern may have it. Undefined: there was none. */
export function nameBefore(
  repository: string,
  { covers = '' }: Pick<Group, 'covers'>,
  renamedTo: string | undefined,
): string | undefined {
  return renamedTo === undefined ? undefined : renamed(repository, renamedTo, covers);
}

/** Replaces the owner or repository name at the start of a path. Undefined if the path does not start with `from`. */
export function renamed(path: string, from: string, to: string): string | undefined {
  return `${path}/`.toLowerCase().startsWith(`${from.toLowerCase()}/`) ? to + path.slice(from.length) : undefined;
}
