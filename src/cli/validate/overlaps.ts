/** Which groups may serve the same jobs. */

import type { RunnerGroup, Scope } from '../../config/runnergroup/runner-group.ts';
import { hasJobsOf } from '../../config/runnergroup/scope.ts';
import { isSame } from '../../shared/key-text.ts';

/** An earlier group, and the labels that both have. */
export interface Overlap {
  readonly other: RunnerGroup;
  readonly labels: readonly string[];
}

/**
 * By group, the first one before it that overlaps: same Gitea, a scope in common and a label in common. Suspended groups serve nothing.
 * Groups are compared within their owner only, so that thousands of tenants are no work.
 */
export function overlappingGroup(groups: readonly RunnerGroup[]): ReadonlyMap<RunnerGroup, Overlap> {
  const overlaps = new Map<RunnerGroup, Overlap>();
  const before = new Map<string, RunnerGroup[]>();
  const listOf = (key: string): RunnerGroup[] => {
    const list = before.get(key) ?? [];
    before.set(key, list);
    return list;
  };
  for (const group of groups.filter(({ suspend }) => !suspend)) {
    const { giteaUrl } = group;
    const owner = ownerOf(group.scope);
    const all = listOf(giteaUrl);
    const own = listOf(`${giteaUrl} ${owner ?? '*'}`);
    const overlap = firstOverlap(group, owner === undefined ? all : [...own, ...listOf(`${giteaUrl} *`)]);
    if (overlap) overlaps.set(group, overlap);
    all.push(group);
    own.push(group);
  }
  return overlaps;
}

function firstOverlap(group: RunnerGroup, candidates: readonly RunnerGroup[]): Overlap | undefined {
  for (const other of candidates) {
    // Two groups of one name are an error already.
    if (isSame(other, group)) continue;
    const labels = isInCommon(group.scope, other.scope) ? labelsInCommon(group, other) : [];
    if (labels.length > 0) return { other, labels };
  }
  return undefined;
}

/** In lower case, as Gitea compares. Undefined: all owners. */
function ownerOf(scope: Scope): string | undefined {
  switch (scope.kind) {
    case 'global':
      return undefined;
    case 'org':
      return scope.org.toLowerCase();
    case 'user':
      return scope.user.toLowerCase();
    case 'repo':
      return scope.owner.toLowerCase();
    default:
      return scope satisfies never;
  }
}

/** The owners are the same, or one scope is global. */
function isInCommon(a: Scope, b: Scope): boolean {
  return a.kind !== 'repo' || b.kind !== 'repo' || hasJobsOf(a, b.owner, b.repo);
}

function labelsInCommon(a: RunnerGroup, b: RunnerGroup): readonly string[] {
  const names = new Set(b.labels.map(({ name }) => name));
  return a.labels.flatMap(({ name }) => (names.has(name) ? [name] : []));
}
