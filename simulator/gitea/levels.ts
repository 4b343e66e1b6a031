/** The four levels (admin, user, org, repo) at which Gitea shows jobs and runners, and whom it lets see them. */
import {
  ErrorAnswer,
  notFound,
  publicOnly,
  requireAdmin,
  requirePlace,
  requireRepoOwner,
  requireScope,
  requireUser,
  visibleRepo,
} from './access.ts';
import type { Ask } from './ask.ts';
import type { RepoRow, RunnerRow, RunnerScope } from './model.ts';
import { readsRepo } from './people.ts';

/** Data of one of the four levels (admin, org, user, repo), and who may read it. */
export interface ListedLevel {
  readonly repos: (repo: RepoRow) => boolean;
  readonly runners: (runner: RunnerRow) => boolean;
  /** Scope at which runners register with the level's token. */
  readonly scope: RunnerScope;
  readonly requireReader: () => void;
  readonly requireOwner: () => void;
  readonly repo?: RepoRow;
}

export function adminLevel({ doer, method }: Ask): ListedLevel {
  requireScope(doer, 'admin', method);
  requireAdmin(requireUser(doer));
  const all = () => true;
  return { repos: all, runners: all, scope: { kind: 'global' }, requireReader: () => {}, requireOwner: () => {} };
}

export function userLevel({ state, doer, method }: Ask): ListedLevel {
  requireScope(doer, 'user', method);
  const user = requireUser(doer);
  if (publicOnly(state, doer)) throw new ErrorAnswer(403, 'this endpoint is not available for public-only tokens');
  return ownerLevel(
    user.name,
    () => true,
    () => {},
    () => {},
  );
}

export function orgLevel({ state, doer, method }: Ask, name: string): ListedLevel {
  requireScope(doer, 'organization', method);
  if (!state.orgs.has(name)) {
    throw notFound(state, 'not found', ['GetOrgByName', `user redirect does not exist [name: ${name}]`]);
  }
  const user = requireUser(doer);
  const { orgJobsFor } = state.traits;
  const readable = (repo: RepoRow) => {
    if (orgJobsFor !== 'readable') return true;
    if (repo.private && publicOnly(state, doer)) return false;
    return user.admin || readsRepo(state, user, repo);
  };
  const requireOwner = () => requirePlace(state, user, name, 'owner');
  const requireMember = () => requirePlace(state, user, name, 'member');
  return ownerLevel(name, readable, orgJobsFor === 'owners' ? requireOwner : requireMember, requireOwner);
}

function ownerLevel(
  owner: string,
  readable: (repo: RepoRow) => boolean,
  requireReader: () => void,
  requireOwner: () => void,
): ListedLevel {
  return {
    repos: (repo) => repo.owner === owner && readable(repo),
    runners: ({ scope }) => scope.kind === 'owner' && scope.owner === owner,
    scope: { kind: 'owner', owner },
    requireReader,
    requireOwner,
  };
}

export function repoLevel({ state, doer, method }: Ask, fullName: string): ListedLevel {
  requireScope(doer, 'repository', method);
  const repo = visibleRepo(state, doer, fullName);
  const user = requireUser(doer);
  const requireOwner = () => requireRepoOwner(state, user, repo);
  return {
    repo,
    repos: (other) => other.id === repo.id,
    runners: ({ scope }) => scope.kind === 'repo' && scope.repo === repo.fullName,
    scope: { kind: 'repo', repo: repo.fullName },
    // Everybody who sees the repository reads its Actions here; repositories without the Actions unit are not
    // simulated.
    requireReader: state.traits.repoJobsFor === 'owners' ? requireOwner : () => {},
    requireOwner,
  };
}
