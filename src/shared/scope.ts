/** Whose jobs a group serves, as Gitea divides runners. */
export type Scope =
  | { readonly kind: 'global' }
  | { readonly kind: 'org'; readonly org: string }
  | { readonly kind: 'user'; readonly user: string }
  | { readonly kind: 'repo'; readonly owner: string; readonly repo: string };

/** The owner or the repository whose jobs are in the scope: `acme`, `acme/web`. Undefined: all are. */
export function coverOf(scope: Scope): string | undefined {
  switch (scope.kind) {
    case 'global':
      return undefined;
    case 'org':
      return scope.org;
    case 'user':
      return scope.user;
    case 'repo':
      return `${scope.owner}/${scope.repo}`;
    default:
      return scope satisfies never;
  }
}

/** A scope in one word, as a policy names it: `org:acme`. */
export function scopeWord(scope: Scope): string {
  return scope.kind === 'global' ? scope.kind : `${scope.kind}:${coverOf(scope)}`;
}

/** True when the jobs of a repository are in the scope. Gitea's names are not case-sensitive. */
export function hasJobsOf(scope: Scope, owner: string, repo: string): boolean {
  const cover = coverOf(scope)?.toLowerCase() ?? '';
  return ['', owner, `${owner}/${repo}`].some((name) => name.toLowerCase() === cover);
}
