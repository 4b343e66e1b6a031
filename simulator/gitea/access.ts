/**
 * Judges who sends a request, and whether Gitea allows it: tokens, scopes and rights, with Gitea's own words
 * (routers/api/v1/api.go).
 */
import type { IncomingMessage } from 'node:http';
import type { RepoRow, State, TokenRow, UserRow } from './model.ts';
import { ownsRepo, readsRepo } from './people.ts';

/** An answer that is an error; `message` is what the JSON body says. */
export class ErrorAnswer extends Error {
  readonly status: number;
  /** Up to 1.26 most 404s carry a list of texts, or null, besides; absent elsewhere. */
  readonly errors: readonly string[] | null | undefined;

  constructor(status: number, message: string, errors?: readonly string[] | null) {
    super(message);
    this.status = status;
    this.errors = errors;
  }
}

/** The sender of a request. Without a user, only public pages without a scope are shown. */
export interface Doer {
  readonly user?: UserRow;
  readonly token?: TokenRow;
}

function secretOf(header: string): string | undefined {
  const [scheme = '', value = ''] = header.split(' ');
  switch (scheme.toLowerCase()) {
    case 'token':
    case 'bearer':
      return value;
    case 'basic': {
      const [name = '', password = ''] = Buffer.from(value, 'base64').toString().split(':');
      return password === '' || password === 'x-oauth-basic' ? name : password;
    }
    default:
      return undefined;
  }
}

/** Reads the Authorization header. @throws ErrorAnswer 401 for a token that Gitea does not know, on every page of the API. */
export function authenticate(state: State, request: Pick<IncomingMessage, 'headers'>): Doer {
  const secret = secretOf(request.headers.authorization ?? '');
  if (secret === undefined) return {};
  const token = state.tokens.get(secret);
  const user = token && state.users.get(token.user);
  if (!token || !user) throw new ErrorAnswer(401, state.traits.badToken);
  return { user, token };
}

/** Subject of a page, as token scopes name it. */
export type Category = 'admin' | 'organization' | 'repository' | 'user';

/** @throws ErrorAnswer 403 when the token lacks the scope. Without a token nothing is checked here (tokenRequiresScopes). */
export function requireScope(doer: Doer, category: Category, method: string): void {
  if (!doer.token) return;
  const level = method === 'GET' || method === 'HEAD' ? 'read' : 'write';
  const { scopes } = doer.token;
  const enough = ['all', `write:${category}`, ...(level === 'read' ? [`read:${category}`] : [])];
  if (scopes.some((scope) => enough.includes(scope))) return;
  const required = `${level}:${category}`;
  const message = 'token does not have at least one of required scope(s)';
  throw new ErrorAnswer(403, `${message}, required=[${required}], token scope=${scopes.join(',')}`);
}

/** @throws ErrorAnswer 401 without a user. */
export function requireUser(doer: Doer): UserRow {
  if (!doer.user) throw new ErrorAnswer(401, 'token is required');
  return doer.user;
}

/** True when the token sees public things only, and this version cares. */
export function publicOnly(state: State, doer: Doer): boolean {
  return state.traits.enforcesPublicOnly && (doer.token?.scopes.includes('public-only') ?? false);
}

/** HTTP 404. @param text of 1.27. @param old message and detail up to 1.26. All texts were measured on 1.26.0 and 1.27.3. */
export function notFound(
  state: State,
  text = 'not found',
  old: readonly [message: string, detail?: string] = ['not found'],
): ErrorAnswer {
  if (!state.traits.notFoundErrors) return new ErrorAnswer(404, text);
  return new ErrorAnswer(404, old[0], old[1] === undefined ? null : [old[1]]);
}

/** Allows site admins only. @throws ErrorAnswer 403 */
export function requireAdmin(user: UserRow): void {
  if (!user.admin) throw new ErrorAnswer(403, 'user should be the site admin');
}

/** @throws ErrorAnswer 403 when the user has not this place in the organization. Site admins always have. */
export function requirePlace(state: State, user: UserRow, orgName: string, place: 'owner' | 'member'): void {
  const org = state.orgs.get(orgName);
  if (user.admin || org?.owners.includes(user.name)) return;
  if (place === 'owner') throw new ErrorAnswer(403, 'Must be an organization owner');
  if (!org?.members.includes(user.name)) throw new ErrorAnswer(403, 'Must be an organization member');
}

/** Returns the repository. @throws ErrorAnswer 404 if it does not exist or is hidden from the sender */
export function visibleRepo(state: State, doer: Doer, fullName: string): RepoRow {
  const repo = state.repos.get(fullName);
  const owner = fullName.split('/')[0] ?? '';
  if (!repo && !state.users.has(owner) && !state.orgs.has(owner)) {
    throw notFound(state, 'not found', ['GetUserByName', `user redirect does not exist [name: ${owner}]`]);
  }
  const hidden =
    repo?.private && (publicOnly(state, doer) || !doer.user || !(doer.user.admin || readsRepo(state, doer.user, repo)));
  if (!repo || hidden) throw notFound(state);
  return repo;
}

/** @throws ErrorAnswer 403 unless the user owns the repository or is a site admin. */
export function requireRepoOwner(state: State, user: UserRow, repo: RepoRow): void {
  if (!user.admin && !ownsRepo(state, user, repo)) throw new ErrorAnswer(403, 'user should be the owner of the repo');
}
