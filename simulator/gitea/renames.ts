/**
 * Renames users, organizations and repositories. Gitea then redirects requests for the former name to the same path
 * with the new one, until somebody else takes the former name (models/user/redirect.go, models/repo/redirect.go).
 */
import { mustGet, type RepoRow, type RunnerScope, type State } from './model.ts';

/** Renames a user or an organization (services/user/user.go, `RenameUser`). */
export function renameOwner(state: State, name: string, to: string): void {
  const [user, org] = [state.users.get(name), state.orgs.get(name)];
  const { id } = user ?? org ?? mustGet(state.users, name, 'user or organization');
  if (state.users.has(to) || state.orgs.has(to)) throw new Error(`the simulator has ${to} already`);
  state.users.delete(name);
  state.orgs.delete(name);
  const named = (one: string): string => (one === name ? to : one);
  if (user) {
    state.users.set(to, { ...user, name: to });
    for (const each of state.orgs.values())
      state.orgs.set(each.name, { ...each, owners: each.owners.map(named), members: each.members.map(named) });
    for (const token of state.tokens.values()) state.tokens.set(token.secret, { ...token, user: named(token.user) });
  }
  if (org) state.orgs.set(to, { ...org, name: to });
  const before: RunnerScope = { kind: 'owner', owner: name };
  moveScope(state, before, { kind: 'owner', owner: to });
  for (const repo of [...state.repos.values()]) if (repo.owner === name) moveRepo(state, repo, to, repo.name);
  state.ownerRedirects.delete(to.toLowerCase());
  state.ownerRedirects.set(name.toLowerCase(), { id });
}

/** Renames `owner/name` (services/repository/transfer.go, `ChangeRepositoryName`). */
export function renameRepo(state: State, fullName: string, to: string): RepoRow {
  const repo = mustGet(state.repos, fullName, 'repository');
  if (state.repos.has(`${repo.owner}/${to}`)) throw new Error(`the simulator has ${repo.owner}/${to} already`);
  return redirectRepo(state, repo, moveRepo(state, repo, repo.owner, to));
}

/** Redirects requests for the former name to the new one. */
export function redirectRepo(state: State, before: RepoRow, now: RepoRow): RepoRow {
  state.repoRedirects.delete(repoKey(now.ownerId, now.name));
  state.repoRedirects.set(repoKey(before.ownerId, before.name), { id: before.id });
  return now;
}

/** A scope by the name that it has now. */
export function scopeNow(state: State, scope: RunnerScope): RunnerScope {
  if (scope.kind === 'global') return scope;
  const [owner = '', name = ''] = scope.kind === 'repo' ? scope.repo.split('/') : [scope.owner];
  const accounts = new Map<string, { readonly id: number; readonly name: string }>([...state.users, ...state.orgs]);
  const ownerId = accounts.get(owner)?.id ?? state.ownerRedirects.get(owner.toLowerCase())?.id ?? 0;
  const owners = [...accounts.values()].find(({ id }) => id === ownerId);
  if (scope.kind === 'owner') return { kind: 'owner', owner: owners?.name ?? owner };
  const known = state.repos.get(`${owners?.name}/${name}`);
  const repoId = known?.id ?? state.repoRedirects.get(repoKey(ownerId, name))?.id;
  return { kind: 'repo', repo: [...state.repos.values()].find(({ id }) => id === repoId)?.fullName ?? scope.repo };
}

export function repoKey(ownerId: number, name: string): string {
  return `${ownerId}/${name.toLowerCase()}`;
}

function moveRepo(state: State, repo: RepoRow, owner: string, name: string): RepoRow {
  const moved = { ...repo, owner, name, fullName: `${owner}/${name}` };
  state.repos.delete(repo.fullName);
  state.repos.set(moved.fullName, moved);
  moveScope(state, { kind: 'repo', repo: repo.fullName }, { kind: 'repo', repo: moved.fullName });
  return moved;
}

/** Moves the runners and tokens of a scope to its new name. */
export function moveScope(state: State, before: RunnerScope, now: RunnerScope): void {
  const [was, is] = [JSON.stringify(before), JSON.stringify(now)];
  for (const runner of state.runners.values())
    if (JSON.stringify(runner.scope) === was) Object.assign(runner, { scope: now });
  const token = state.registrationTokens.get(was);
  if (token !== undefined) state.registrationTokens.set(is, token);
  state.registrationTokens.delete(was);
}
