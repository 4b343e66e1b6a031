/** Users, organizations, repositories and access tokens. Adding something twice replaces it. */
import { mustGet, nextId, type OrgRow, type RepoRow, type State, type TokenRow, type UserRow } from './model.ts';
import { moveScope, redirectRepo, repoKey } from './renames.ts';

/** Adds a user; the first one is what most tests call `root`, with `admin: true`. */
export function addUser(state: State, name: string, options: { readonly admin?: boolean } = {}): UserRow {
  const user = { id: nextId(state, 'account'), name, admin: options.admin ?? false };
  state.users.set(name, user);
  state.ownerRedirects.delete(name.toLowerCase());
  return user;
}

/** Adds an organization. Owners are members, too. */
export function addOrg(
  state: State,
  name: string,
  people: { readonly owners?: readonly string[]; readonly members?: readonly string[] } = {},
): OrgRow {
  const org = { id: nextId(state, 'account'), name, owners: people.owners ?? [], members: people.members ?? [] };
  state.orgs.set(name, org);
  state.ownerRedirects.delete(name.toLowerCase());
  return org;
}

/** Adds `owner/name`; the owner, a user or organization, must be there. Public unless told. */
export function addRepo(state: State, fullName: string, options: { readonly private?: boolean } = {}): RepoRow {
  const [owner = '', name = ''] = fullName.split('/');
  const account = state.orgs.get(owner) ?? mustGet(state.users, owner, 'user or organization');
  const repo = {
    id: nextId(state, 'repo'),
    fullName,
    owner,
    ownerId: account.id,
    name,
    private: options.private ?? false,
    hasActions: true,
  };
  state.repos.set(fullName, repo);
  state.repoRedirects.delete(repoKey(account.id, name));
  return repo;
}

/** Gives a repository to another user or organization. Its runs and jobs go with it, also those at work. */
export function transferRepo(state: State, fullName: string, owner: string): RepoRow {
  const { id, ...old } = mustGet(state.repos, fullName, 'repository');
  const moved = { ...addRepo(state, `${owner}/${old.name}`, old), hasActions: old.hasActions, id };
  state.repos.delete(fullName);
  state.repos.set(moved.fullName, moved);
  moveScope(state, { kind: 'repo', repo: fullName }, { kind: 'repo', repo: moved.fullName });
  return redirectRepo(state, { ...old, id }, moved);
}

/** Adds an access token; `secret` is what goes into the Authorization header. */
export function addToken(state: State, user: string, scopes: readonly string[], secret: string): TokenRow {
  mustGet(state.users, user, 'user');
  const token = { secret, user, scopes };
  state.tokens.set(secret, token);
  return token;
}

/** Owner of the repository: its user, or an owner of its organization. */
export function ownsRepo(state: State, user: UserRow, repo: RepoRow): boolean {
  return repo.owner === user.name || (state.orgs.get(repo.owner)?.owners.includes(user.name) ?? false);
}

/** May read the repository's Actions, without the site admin's privilege. Membership in the organization alone is not enough. */
export function readsRepo(state: State, user: UserRow, repo: RepoRow): boolean {
  return !repo.private || ownsRepo(state, user, repo);
}
