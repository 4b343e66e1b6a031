/** Which groups may serve a job, in the order in which they are asked (law P7), and why none can. */
import type { GroupKey } from './decisions.ts';
import type { Group, Job, ScopeWidth } from './evidence.ts';
import { compareText, type ListedJob } from './listed-jobs.ts';

const WIDTH: Readonly<Record<ScopeWidth, number>> = { repo: 0, owner: 1, global: 2 };

/** The groups that cover a job, first owner first; when there are none, why. */
export type Owners =
  | { readonly covered: true; readonly groups: readonly [Group, ...Group[]] }
  | { readonly covered: false; readonly because: 'no-labels' }
  | {
      readonly covered: false;
      readonly because: 'labels-not-covered';
      readonly missing: readonly string[];
      readonly nearest: GroupKey;
    };

/** A function that finds the owners of a job. Jobs with the same labels, seen by the same looks, are worked out once. */
export function ownersFinder(groups: readonly Group[]): (seen: ListedJob) => Owners {
  const inOrder = [...groups].sort(byOwnership);
  const labelSets = new Map(groups.map((group) => [group, new Set(group.labels)]));
  const ofOneLabel = new Map<ReadonlySet<string>, Map<string, Owners>>();
  const ofLabels = new Map<ReadonlySet<string>, Map<string, Owners>>();
  return ({ job, looks }) => {
    // One label, as most jobs have, needs no text made of all.
    const isOne = job.labels.length === 1;
    const known = isOne ? ofOneLabel : ofLabels;
    const key = isOne ? (job.labels[0] ?? '') : JSON.stringify(job.labels);
    let ofLooks = known.get(looks);
    if (!ofLooks) {
      ofLooks = new Map<string, Owners>();
      known.set(looks, ofLooks);
    }
    let owners = ofLooks.get(key);
    if (!owners) {
      const candidates = inOrder.filter((group) => looks.has(group.look));
      owners = findOwners(job, candidates, labelSets);
      ofLooks.set(key, owners);
    }
    return owners;
  };
}

/** Narrowest scope, then fewest labels, then name. */
function byOwnership(a: Group, b: Group): number {
  return (
    WIDTH[a.scope] - WIDTH[b.scope] ||
    a.labels.length - b.labels.length ||
    compareText(a.name, b.name) ||
    compareText(a.namespace, b.namespace)
  );
}

function findOwners(
  job: Job,
  candidates: readonly Group[],
  labelSets: ReadonlyMap<Group, ReadonlySet<string>>,
): Owners {
  // Gitea gives a job without labels to any runner, but on 1.27 it may be a reusable-workflow caller that no runner ever gets.
  const willing = job.labels.length > 0 ? candidates : candidates.filter((group) => group.acceptUnlabelledJobs);
  const lacks = willing.map((group) => ({
    group,
    missing: job.labels.filter((label) => !labelSets.get(group)?.has(label)),
  }));
  const [first, ...rest] = lacks.filter(({ missing }) => missing.length === 0).map(({ group }) => group);
  if (first) return { covered: true, groups: [first, ...rest] };
  const [nearest] = lacks.sort((a, b) => a.missing.length - b.missing.length);
  if (!nearest) return { covered: false, because: 'no-labels' };
  const { namespace, name } = nearest.group;
  const missing = [...new Set(nearest.missing)].sort(compareText);
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
