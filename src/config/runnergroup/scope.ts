import type { Scope } from './runner-group.ts';

/** A scope in one word, as a policy names it: `org:acme`. */
export function scopeWord(scope: Scope): string {
  switch (scope.kind) {
    case 'global':
      return 'global';
    case 'org':
      return `org:${scope.org}`;
    case 'user':
      return `user:${scope.user}`;
    case 'repo':
      return `repo:${scope.owner}/${scope.repo}`;
    default:
      return scope satisfies never;
  }
}

/** True when the jobs of a repository are in the scope. Gitea's names are not case-sensitive. */
export function hasJobsOf(scope: Scope, owner: string, repo: string): boolean {
  const same = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();
  switch (scope.kind) {
    case 'global':
      return true;
    case 'org':
      return same(scope.org, owner);
    case 'user':
      return same(scope.user, owner);
    case 'repo':
      return same(scope.owner, owner) && same(scope.repo, repo);
    default:
      return scope satisfies never;
  }
}
