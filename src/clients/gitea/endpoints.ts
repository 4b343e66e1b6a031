/** Paths and rights of Gitea's API per level (routers/api/v1/api.go, read in 1.25 to 1.27). */

import type { Scope } from '../../config/runnergroup/runner-group.ts';
import { Failure } from '../../shared/failure.ts';
import type { Rights } from './failures.ts';

/** One level at which Gitea lists jobs and runners. */
export interface Level {
  /** As an error says it: `org acme`. */
  readonly name: string;
  readonly jobsPath: string;
  readonly runnersPath: string;
  /** For the text of a 403. */
  readonly jobsRights: Rights;
  readonly runnersRights: Rights;
  /** What a 404 means. */
  readonly missing: string;
}

/** The whole instance. The runner list holds the runners of all levels (routers/api/v1/shared/runners.go). */
export const GLOBAL_LEVEL: Level = {
  name: 'the whole instance',
  jobsPath: '/admin/actions/jobs',
  runnersPath: '/admin/actions/runners',
  jobsRights: { scope: 'scope read:admin', user: 'a site administrator' },
  runnersRights: { scope: 'scope read:admin', user: 'a site administrator' },
  missing: 'Check spec.gitea.url',
};

/**
 * An organization. From 1.27 a mere member sees only the repositories whose Actions he may read, without a hint that others exist. So
 * the token should belong to an owner. Runner lists need an owner in every version.
 */
export function orgLevel(org: string): Level {
  return {
    name: `org ${org}`,
    jobsPath: `/orgs/${segment(org)}/actions/jobs`,
    runnersPath: `/orgs/${segment(org)}/actions/runners`,
    jobsRights: { scope: 'scope read:organization', user: 'an owner of the org' },
    runnersRights: { scope: 'scope read:organization', user: 'an owner of the org' },
    missing: `Check that org ${org} exists and that the token's user may see it. If ${org} is a user, write scope: user and user: ${org}`,
  };
}

/** The user the token belongs to. */
export function ownUserLevel(user: string): Level {
  return {
    name: `user ${user}`,
    jobsPath: '/user/actions/jobs',
    runnersPath: '/user/actions/runners',
    jobsRights: { scope: 'scope read:user without public-only' },
    runnersRights: { scope: 'scope read:user without public-only' },
    missing: 'Check spec.gitea.url',
  };
}

/** One repository. */
export function repoLevel(owner: string, repo: string): Level {
  const path = `/repos/${segment(owner)}/${segment(repo)}/actions`;
  return {
    name: `repository ${owner}/${repo}`,
    jobsPath: `${path}/jobs`,
    runnersPath: `${path}/runners`,
    jobsRights: {
      scope: 'scope read:repository',
      user: 'one who may read the Actions of the repository (up to 1.25 its owner)',
    },
    runnersRights: { scope: 'scope read:repository', user: 'an administrator of the repository' },
    missing: `Check that ${owner}/${repo} exists, has Actions switched on and that the token's user may see it`,
  };
}

/** A scope as an error says it. */
export function describeScope(scope: Scope): string {
  switch (scope.kind) {
    case 'global':
      return GLOBAL_LEVEL.name;
    case 'org':
      return `org ${scope.org}`;
    case 'user':
      return `user ${scope.user}`;
    case 'repo':
      return `repository ${scope.owner}/${scope.repo}`;
    default:
      return unreachable(scope);
  }
}

/** Says at compile time that a switch covers every case. */
export function unreachable(value: never): never {
  throw new Error(`unexpected value ${JSON.stringify(value)}`);
}

/**
 * One path segment. `..` survives percent-encoding and would climb out of the path, and with it out of what the token was meant for;
 * Gitea allows ASCII letters, digits, `-`, `_` and `.` in names (models/user `IsUsableUsername`, models/repo `IsUsableRepoName`).
 */
export function segment(name: string): string {
  if (!isGiteaName(name))
    throw new Failure(
      'GR-GITEA-14',
      2,
      `${JSON.stringify(name.slice(0, 40))} cannot be the name of an org, user or repository.`,
    );
  return encodeURIComponent(name);
}

/** True for what Gitea accepts as the name of a user, org or repository. */
export function isGiteaName(name: string): boolean {
  return /^[\w.-]{1,100}$/.test(name) && !/^\.+$/.test(name);
}
