/** The jobs that a group serves, as Gitea divides runners. */
export type Scope = (
  | { readonly kind: 'global' }
  | { readonly kind: 'org'; readonly org: string }
  | { readonly kind: 'user'; readonly user: string }
  | { readonly kind: 'repo'; readonly owner: string; readonly repo: string }
) & {
  /** The name that Gitea has for it now. Absent: the same, or it was not looked at. */
  readonly now?: string | undefined;
};

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

/** Writes a scope as a policy does: `org:acme`. A policy judges the written name, before any look shows another one. */
export function scopeWord(scope: Scope): string {
  return scope.kind === 'global' ? scope.kind : `${scope.kind}:${scope.now ?? coverOf(scope)}`;
}

/** True if the repository's jobs are in the scope, by its former or current name. Gitea's names ignore case. */
export function hasJobsOf(scope: Scope, repository: string): boolean {
  const [owner = ''] = repository.split('/');
  const covers = [coverOf(scope) ?? '', scope.now].map((name) => name?.toLowerCase());
  return ['', owner, repository].some((name) => covers.includes(name.toLowerCase()));
}
