/**
 * Runners at work whose group is gone from its Application: it was renamed, or removed (docs/adr/0054). Their names are of none of its groups
 * any more. They are known by Argo CD's mark on their Jobs, so nothing is taken from another Application.
 */
import type { GroupKey } from './decisions.ts';
import {
  type Evidence,
  type Group,
  isPinnedAlive,
  type ListedJob,
  type LiveJob,
  liveJobsOf,
  type RegisteredRunner,
} from './evidence.ts';
import { parseRunnerName } from './names.ts';
import { byOwnership, type Owners } from './owners.ts';
import { groupFinder, isOfOtherPlace } from './traces.ts';

/**
 * Names of such runners, and the group that each belongs to now. It is the one with the same scope and labels, where a row tells them. Else it
 * is the owner of its CI job, if it has one. A pinned one of which neither is listed goes to the first group that its Job could be of.
 */
export function findHeirs(
  groups: readonly Group[],
  evidence: Evidence,
  jobs: readonly ListedJob[],
  ownersOf: (listed: ListedJob) => Owners,
): ReadonlyMap<string, Group> {
  const heirs = new Map<string, Group>();
  const orphans = new Map(orphansOf(groups, evidence).map((live) => [live.name, live]));
  if (orphans.size === 0) return heirs;
  const inOrder = [...groups].sort(byOwnership);
  const isNear = (group: Group, name: string): boolean => group.namespace === orphans.get(name)?.namespace;
  const bequeath = (name: string, willing: readonly Group[]): void => {
    const heir = willing.find((group) => isNear(group, name));
    if (heir) heirs.set(name, heir);
    else heirs.delete(name);
  };
  for (const live of [...orphans.values()].filter(isPinnedAlive)) {
    bequeath(
      live.name,
      inOrder.filter((group) => !isOfOtherPlace(live, group, evidence.looks.get(group.look))),
    );
  }
  for (const listed of jobs) {
    const { runner = '', labels } = listed.job;
    if (!orphans.has(runner) || labels.length === 0) continue;
    const owners = ownersOf(listed);
    bequeath(runner, owners.covered ? owners.groups : []);
  }
  const ran = new Set(jobs.map(({ job }) => job.runner));
  const isAtWork = ({ name, online, busy }: RegisteredRunner): boolean => ran.has(name) || (online && busy);
  // The list of a wide scope may have runners of narrower ones.
  for (const group of inOrder.toReversed()) {
    const isOfGroup = ({ name, labels }: RegisteredRunner): boolean =>
      isNear(group, name) && hasSame(labels, group.labels);
    const rows = evidence.looks.get(group.look)?.runners ?? [];
    for (const row of rows) if (isAtWork(row) && isOfGroup(row)) heirs.set(row.name, group);
  }
  return heirs;
}

/** Jobs of this Application whose names are of none of its groups. */
function orphansOf(groups: readonly Group[], evidence: Evidence): readonly LiveJob[] {
  const { application, instance, troubled = [] } = evidence;
  if (application === undefined) return [];
  const findGroup = groupFinder<GroupKey>([...groups, ...troubled], instance);
  return liveJobsOf(evidence).filter((live) => {
    const parts = live.application === application ? parseRunnerName(live.name) : undefined;
    return parts !== undefined && findGroup(parts) === undefined;
  });
}

function hasSame(labels: readonly string[], others: readonly string[]): boolean {
  return labels.length === others.length && labels.every((label) => others.includes(label));
}
