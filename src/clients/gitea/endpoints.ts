/** Paths and rights of Gitea's API per level (routers/api/v1/api.go, read in 1.25 to 1.27). */
import { Failure } from '../../shared/failure.ts';
import type { Scope } from '../../shared/scope.ts';
import type { AccessHints, Rights } from './failures.ts';

/** A list of a level: where it is, and what an error says about it. */
type Endpoint = AccessHints & { readonly path: string };

/** A level at which Gitea lists jobs and runners. */
export interface Level {
  /** Name for error messages: `org acme`. */
  readonly name: string;
  /** Begin of the level's paths: `/orgs/acme`. */
  readonly root: string;
  readonly jobs: Endpoint;
  /** The rights that list jobs list runs. */
  readonly runs: Endpoint;
  readonly runners: Endpoint;
}

/** Makes a level. @param missing what a 404 means */
function level(name: string, root: string, missing: string, jobs: Rights, runners: Rights = jobs): Level {
  const listOf = (list: string, rights: Rights): Endpoint => ({ path: `${root}/actions/${list}`, rights, missing });
  return { name, root, jobs: listOf('jobs', jobs), runs: listOf('runs', jobs), runners: listOf('runners', runners) };
}

/** The whole instance. The runner list holds the runners of all levels (routers/api/v1/shared/runners.go). */
export const GLOBAL_LEVEL = level('the whole instance', '/admin', 'Check spec.gitea.url', {
  scope: 'scope read:admin',
  user: 'a site administrator',
});

/** Returns the level of an organization. A member sees what he may read (1.27); runner lists need an owner. */
export function orgLevel(org: string): Level {
  const missing = `Check that org ${org} exists and that the token's user may see it. If ${org} is a user, write scope: user and user: ${org}`;
  const rights = { scope: 'scope read:organization', user: 'an owner of the org' };
  return level(`org ${org}`, `/orgs/${segment(org)}`, missing, rights);
}

export function ownUserLevel(user: string): Level {
  return level(`user ${user}`, '/user', 'Check spec.gitea.url', { scope: 'scope read:user without public-only' });
}

export function repoLevel(owner: string, repo: string): Level {
  const scope = 'scope read:repository';
  return level(
    `repository ${owner}/${repo}`,
    `/repos/${segment(owner)}/${segment(repo)}`,
    `Check that ${owner}/${repo} exists, has Actions switched on and that the token's user may see it`,
    { scope, user: 'one who may read the Actions of the repository (up to 1.25 its owner)' },
    { scope, user: 'an administrator of the repository' },
  );
}

export function levelOfRepository(repository: string): Level {
  const [owner = '', name = ''] = repository.split('/');
  return repoLevel(owner, name);
}

/** Returns the level of a scope. A user's level needs his own token. */
export function levelOf(scope: Scope): Level {
  switch (scope.kind) {
    case 'global':
      return GLOBAL_LEVEL;
    case 'org':
      return orgLevel(scope.org);
    case 'user':
      return ownUserLevel(scope.user);
    case 'repo':
      return repoLevel(scope.owner, scope.repo);
    default:
      return scope satisfies never;
  }
}

export function describeScope(scope: Scope): string {
  return levelOf(scope).name;
}

/** Encodes a path segment. Refuses `..`, which survives encoding and leads to other paths. @throws Failure (exit 2) */
export function segment(name: string): string {
  if (isGiteaName(name)) return encodeURIComponent(name);
  const message = `${JSON.stringify(name.slice(0, 40))} cannot be the name of an org, user or repository in Gitea. Correct it in the RunnerGroup or flag that says it.`;
  throw new Failure('GR-GITEA-14', 2, message);
}

/** Number of names after this word in a path. */
const NAMES_AFTER: ReadonlyMap<string, number> = new Map(Object.entries({ repos: 2, orgs: 1, users: 1 }));

/** Returns the name in a path below `/api/v1`, and the rest of the path. Undefined: it has no name. */
export function placeIn(path: string) {
  const [, kind = '', ...parts] = path.split('/');
  const names = parts.slice(0, NAMES_AFTER.get(kind) ?? 0);
  const pathRest = parts.slice(names.length).join('/');
  return names.length > 0 && names.every(isGiteaName) ? { kind, name: names.join('/'), rest: pathRest } : undefined;
}

/** True for what Gitea accepts as the name of a user, org or repository. */
export function isGiteaName(name: string): boolean {
  return /^[\w.-]{1,100}$/.test(name) && !/^\.+$/.test(name);
}
