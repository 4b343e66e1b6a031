/** Finds the groups that may serve a job, in the order in which they are asked (law P7), or why there are none. */
import { addTo, compareText, count, memo } from './collections.ts';
import type { GroupKey } from './decisions.ts';
import type { Group, ListedJob, Look, ScopeWidth } from './evidence.ts';
import { patternFinder } from './patterns.ts';
import { nameBefore } from './repositories.ts';

const WIDTH: Readonly<Record<ScopeWidth, number>> = { repo: 0, owner: 1, global: 2 };

/** The groups that cover a job, first owner first, or why there is none. */
export type Owners =
  | { readonly covered: true; readonly groups: readonly [Group, ...Group[]] }
  | { readonly covered: false; readonly because: 'no-labels' }
  | {
      readonly covered: false;
      readonly because: 'labels-not-covered';
      readonly missing: readonly string[];
      readonly nearest: GroupKey;
    }
  | { readonly covered: false; readonly because: 'repository-not-chosen'; readonly nearest: GroupKey };

/** Finds the owners of a job, once for jobs with the same labels, looks and choosing groups. */
export function ownersFinder(groups: readonly Group[], looksByKey: Looks): (listed: ListedJob) => Owners {
  const inOrder = [...groups].sort(byOwnership);
  const choosing = choosersFinder(inOrder, looksByKey);
  const notChosenBy = memo((repository: string) => {
    const chosenBy = choosing(repository);
    return inOrder.flatMap((group, nth) => (chosenBy.has(group) ? [] : nth));
  });
  const finder = memo((keys: string) => {
    const [looks, without]: readonly [readonly string[], readonly number[]] = JSON.parse(keys);
    const excluded = new Set(without);
    const candidates = toCandidates(inOrder.filter(({ look }, nth) => looks.includes(look) && !excluded.has(nth)));
    return memo((labels: string) => findOwners(JSON.parse(labels), candidates));
  });
  return memo(({ job: { labels, repository }, looks }) => {
    const without = (excluded: readonly number[]) => finder(JSON.stringify([looks, excluded]))(JSON.stringify(labels));
    // If no group that has chosen the repository covers the job, all groups tell whether its labels are the reason.
    const owners = without(notChosenBy(repository));
    if (owners.covered) return owners;
    const allOwners = without([]);
    if (!allOwners.covered) return allOwners;
    const { namespace, name } = allOwners.groups[0];
    return { covered: false, because: 'repository-not-chosen', nearest: { namespace, name } };
  });
}

type Looks = ReadonlyMap<string, Pick<Look, 'renamedTo'>>;

/** Finds the groups that choose a repository. A pattern may still have the scope's name from before a rename. */
export function choosersFinder(
  groups: readonly Group[],
  looksByKey: Looks,
): (repository: string) => ReadonlySet<Group> {
  const all = new Set(groups);
  if (groups.every(({ repositories }) => !repositories)) return () => all;
  const chosenBy = repositoryFinder(groups, ({ repositories = ['*'] }) => repositories);
  const scopes = new Map(groups.map(({ look, covers = '' }) => [look, covers]));
  return (repository) => {
    const name = repository.toLowerCase();
    const ofBefore = [...scopes].flatMap(([look, covers]) => {
      const before = nameBefore(name, { covers }, looksByKey.get(look)?.renamedTo);
      return before === undefined ? [] : chosenBy(before).filter((group) => group.look === look);
    });
    return new Set([...chosenBy(name), ...ofBefore]);
  };
}

/** Finds the values with a pattern for a repository (in lower case). One without a slash fits the name alone. */
export function repositoryFinder<V>(all: readonly V[], patternsOf: (value: V) => readonly string[]) {
  // A pattern for the name alone begins with a slash here. No repository does.
  const find = patternFinder(all, (value) =>
    patternsOf(value).map((pattern) => (pattern.includes('/') ? pattern : `/${pattern}`)),
  );
  return (repository: string): readonly V[] => {
    const nameAlone = repository.slice(repository.indexOf('/'));
    return [...find(repository), ...find(nameAlone)];
  };
}

/** @param groups those that have one of the looks of a job, first owner first */
function toCandidates(groups: readonly Group[]) {
  const byLabel = new Map<string, Group[]>();
  for (const group of groups) for (const label of new Set(group.labels)) addTo(byLabel, label, group);
  return { groups, byLabel };
}

/** Narrowest scope, then fewest labels, then name. */
export function byOwnership(a: Group, b: Group): number {
  return (
    WIDTH[a.scope] - WIDTH[b.scope] ||
    a.labels.length - b.labels.length ||
    compareText(a.name, b.name) ||
    compareText(a.namespace, b.namespace) ||
    compareText(a.size ?? '', b.size ?? '')
  );
}

/** Counts how many of the job's labels each group has. It looks up each label once: authors choose up to 200 for each of 20,000 jobs. */
function findOwners(labels: readonly string[], { byLabel, groups }: ReturnType<typeof toCandidates>): Owners {
  // Gitea gives a job without labels to any runner. But on 1.27 it may be the caller of a reusable workflow, which no runner ever gets.
  const accepting = labels.length > 0 ? groups : groups.filter((group) => group.acceptUnlabelledJobs);
  // Only a job that asks for a size gets a runner of that size, though the runner could take other jobs.
  const willing = accepting.filter(({ size }) => size === undefined || labels.includes(size));
  const counts = new Map<Group, number>();
  for (const label of labels) {
    for (const group of byLabel.get(label) ?? []) count(counts, group, 1);
  }
  const most = Math.max(0, ...counts.values());
  const [nearest, ...rest] = willing.filter((group) => (counts.get(group) ?? 0) === most);
  if (!nearest) return { covered: false, because: 'no-labels' };
  if (most === labels.length) return { covered: true, groups: [nearest, ...rest] };
  const { namespace, name } = nearest;
  const missing = [...new Set(labels)].filter((label) => !byLabel.get(label)?.includes(nearest)).sort(compareText);
  return { covered: false, because: 'labels-not-covered', missing, nearest: { namespace, name } };
}

/** The first owner that is not suspended. */
export function firstWorking(owners: Owners): Group | undefined {
  return owners.covered ? owners.groups.find(({ suspend }) => !suspend) : undefined;
}

/** True when repositories take turns in one of these groups. */
export function takeTurns(groups: readonly Group[]): boolean {
  return groups.some(({ fairness }) => fairness === 'per-repository');
}
