/**
 * Runners at work whose group is gone from its Application: it was renamed, or removed (docs/adr/0054). Their names are of none of its groups
 * any more. They are known by Argo CD's mark on their Jobs, so nothing is taken from another Application.
 */
import type { GroupKey } from './decisions.ts';
import type { Evidence, Group, LiveJob, RegisteredRunner } from './evidence.ts';
import type { ListedJob } from './listed-jobs.ts';
import { parseRunnerName } from './names.ts';
import { byOwnership, type Owners } from './owners.ts';
import { groupFinder } from './traces.ts';

/** Names of such runners, and the group that each belongs to now: one with the same scope and labels, else the owner of its CI job. */
export function findHeirs(
  groups: readonly Group[],
  evidence: Evidence,
  jobs: readonly ListedJob[],
  ownersOf: (listed: ListedJob) => Owners,
): ReadonlyMap<string, Group> {
  const heirs = new Map<string, Group>();
  const namespaceOf = namespacesOfOrphans(groups, evidence);
  if (namespaceOf.size === 0) return heirs;
  for (const listed of jobs) {
    const { runner = '' } = listed.job;
    const owners = namespaceOf.has(runner) ? ownersOf(listed) : NO_OWNERS;
    const heir = owners.covered && owners.groups.find(({ namespace }) => namespace === namespaceOf.get(runner));
    if (heir) heirs.set(runner, heir);
  }
  const ran = new Set(jobs.map(({ job }) => job.runner));
  // The list of a wide scope may have runners of narrower ones.
  for (const group of [...groups].sort(byOwnership).toReversed()) {
    const isOfGroup = ({ name, labels, online, busy }: RegisteredRunner): boolean =>
      group.namespace === namespaceOf.get(name) && (ran.has(name) || (online && busy)) && hasSame(labels, group.labels);
    for (const row of evidence.looks.get(group.look)?.runners ?? []) if (isOfGroup(row)) heirs.set(row.name, group);
  }
  return heirs;
}

const NO_OWNERS = { covered: false } as const;

/** Jobs of this Application whose names are of none of its groups, and their namespaces. */
function namespacesOfOrphans(
  groups: readonly Group[],
  { application, instance, liveJobs, troubled = [] }: Evidence,
): ReadonlyMap<string, string> {
  if (application === undefined) return new Map();
  const findGroup = groupFinder<GroupKey>([...groups, ...troubled], instance);
  const isOrphan = ({ application: of, name }: LiveJob): boolean => {
    const parts = of === application ? parseRunnerName(name) : undefined;
    return parts !== undefined && findGroup(parts) === undefined;
  };
  return new Map(liveJobs.filter(isOrphan).map(({ name, namespace }) => [name, namespace]));
}

function hasSame(labels: readonly string[], others: readonly string[]): boolean {
  return labels.length === others.length && labels.every((label) => others.includes(label));
}
