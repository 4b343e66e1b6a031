/**
 * Finds the rules for a group: the first matching entries of `groups` and `namespaces`, then the policy. The nearest
 * value counts; `projects`, `repositories` and `maxActiveRunners` hold on each level.
 */
import { type Scope, scopeWord } from '../../shared/scope.ts';
import type { Path } from '../runnergroup/documents.ts';
import { valueAt } from '../runnergroup/paths.ts';
import type { RunnerGroup } from '../runnergroup/runner-group.ts';
import { matchesGlob } from './policy-patterns.ts';
import type { GroupMatch, Policy, PolicyEntry } from './policy-schema.ts';

/** Fields that are allowed at the top and in entries. */
export type Rules = Omit<PolicyEntry, 'defaults' | 'enforcement' | 'enforcementOf'>;

export function allLevels(policy: Policy) {
  return placedLevels(policy).map(([, level]) => level);
}

/** The policy and all of its entries, with their places. */
export function placedLevels(policy: Policy) {
  const entriesOf = (list: 'namespaces' | 'groups') =>
    (policy[list] ?? []).map((level, index) => [['spec', list, index] as Path, level] as const);
  return [[['spec'] as Path, policy] as const, ...entriesOf('namespaces'), ...entriesOf('groups')];
}

/** Returns the matching entries, the nearest one first, and the rules of all levels, after precedence. */
export function levelsOf(policy: Policy, group: RunnerGroup) {
  const ofGroup = policy.groups?.find(({ match }) => fits(match, group));
  const ofNamespace = entryOf(policy, group);
  const entries: readonly PolicyEntry[] = [ofGroup ?? [], ofNamespace ?? []].flat();
  const rules: Rules = { ...policy, ...ofNamespace, ...ofGroup };
  return { entries, rules };
}

/** Returns the first matching entry: a later one that allows more must not replace it. */
export function entryOf({ namespaces: entries = [] }: Policy, { namespace }: Pick<RunnerGroup, 'namespace'>) {
  return entries.find(({ name }) => matchesGlob(name, namespace));
}

function fits({ namespace = '**', name = '**', scope, labels = {} }: GroupMatch, group: RunnerGroup): boolean {
  return (
    matchesGlob(namespace, group.namespace) &&
    matchesGlob(name, group.name) &&
    (scope === undefined || coversScope([scope], group.scope)) &&
    Object.entries(labels).every(([key, value]) => valueAt(group.manifest, ['metadata', 'labels', key]) === value)
  );
}

/** True if a pattern covers the scope. A repository is covered by its owner, too. Case does not matter, as in Gitea. */
export function coversScope(patterns: readonly string[], scope: Scope): boolean {
  const ofOwner = scope.kind === 'repo' ? [`org:${scope.owner}`, `user:${scope.owner}`] : [];
  return [scopeWord(scope), ...ofOwner].some((word) =>
    patterns.some((pattern) => matchesGlob(pattern.toLowerCase(), word.toLowerCase())),
  );
}
