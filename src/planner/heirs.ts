/**
 * Runners at work whose group is gone from its Application: it was renamed, or removed (docs/adr/0054). Their names are of none of its groups
 * any more. They are known by Argo CD's mark on their Jobs, so nothing is taken from another Application.
 */
import type { GroupKey } from './decisions.ts';
import {
  type Evidence,
  type Group,
  isOfApplication,
  isPinnedAlive,
  type ListedJob,
  type LiveJob,
  liveJobsOf,
  looksOf,
} from './evidence.ts';
import { WHOLE_GITEA } from './limits.ts';
import { parseRunnerName } from './names.ts';
import { byOwnership, type Owners } from './owners.ts';
import { isOfOtherScope, jobGroupFinder } from './traces.ts';

/**
 * Finds the current group of each runner whose group is gone, by runner name. If the Job tells a scope and groups have
 * that scope, only those groups count. The first match wins: the group with the scope and labels of the runner's row;
 * else an owner of its CI job. A pinned runner with neither goes to a group that its Job could belong to: one with the
 * labels of the Job, or else the first.
 */
export function findHeirs(
  groups: readonly Group[],
  evidence: Evidence,
  jobs: readonly ListedJob[],
  ownersOf: (listed: ListedJob) => Owners,
): ReadonlyMap<string, Group> {
  const orphans = orphansOf(groups, evidence);
  if (orphans.length === 0) return new Map();
  const inOrder = [...groups].sort(byOwnership);
  const ran = new Map(jobs.flatMap((listed) => (listed.job.runner ? [[listed.job.runner, listed] as const] : [])));
  const rows = looksOf(groups, evidence).flatMap(([{ look }, { runners }]) => runners.map((row) => ({ look, row })));
  const heirOf = (live: LiveJob): Group | undefined => {
    const near = inOrder.filter(({ namespace }) => namespace === live.namespace);
    const coveringGroups = near.filter(({ covers = WHOLE_GITEA }) => covers === live.scope);
    const willing = coveringGroups.length > 0 ? coveringGroups : near;
    const listed = ran.get(live.name);
    const atWork = rows.filter(({ row }) => row.name === live.name && (listed || (row.online && row.busy)));
    // The row of a bound runner is in the list of its repository, whatever the scope of its group.
    const isOfRow = (group: Group): boolean =>
      atWork.some(
        ({ look, row }) => (coveringGroups.length > 0 || look === group.look) && hasSame(row.labels, group.labels),
      );
    const ofRow = willing.find(isOfRow);
    if (ofRow) return ofRow;
    const owners = listed && listed.job.labels.length > 0 ? ownersOf(listed) : undefined;
    if (!owners && !isPinnedAlive(live)) return undefined;
    const able = willing.filter((group) =>
      owners
        ? owners.covered && owners.groups.includes(group)
        : !isOfOtherScope(live, group, evidence.looks.get(group.look)),
    );
    const names = live.labels?.split(',').map((label) => label.replace(/:.*/, ''));
    return able.find(({ labels }) => names && hasSame(names, labels)) ?? able[0];
  };
  const heirs = new Map<string, Group>();
  for (const live of orphans) {
    const heir = heirOf(live);
    if (heir) heirs.set(live.name, heir);
  }
  return heirs;
}

/** Jobs of this Application whose names are of none of its groups. */
function orphansOf(groups: readonly Group[], evidence: Evidence): readonly LiveJob[] {
  const { application, instance, troubled = [] } = evidence;
  if (application === undefined) return [];
  const findGroup = jobGroupFinder<GroupKey>([...groups, ...troubled], instance);
  const ours = liveJobsOf(evidence).filter((live) => isOfApplication(live, evidence) && parseRunnerName(live.name));
  return ours.filter((live) => findGroup(live) === undefined);
}

function hasSame(labels: readonly string[], otherLabels: readonly string[]): boolean {
  return labels.length === otherLabels.length && labels.every((label) => otherLabels.includes(label));
}
