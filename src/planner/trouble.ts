/**
 * 8 TROUBLE: runners of groups that cannot be planned now: their Gitea does not answer, or their spec is not valid. What Kubernetes shows of them
 * stays as it is, and nothing is started (docs/adr/0036). For all other groups these are full groups: they have no room. A job that one of
 * their runners was made for waits for it, as for a runner of another Application (`elsewhere.ts`).
 */
import type { GroupKey, Plan, RunnerDecision } from './decisions.ts';
import { type Evidence, liveJobsOf } from './evidence.ts';
import { compareText } from './join.ts';
import { parseRunnerName } from './names.ts';
import { groupFinder } from './traces.ts';

/**
 * The plan, and a decision for each live Job of a troubled group.
 * @throws GroupsCollide when two groups would share runner names
 */
export function withTroubled(plan: Plan, groups: readonly GroupKey[], evidence: Evidence): Plan {
  const { instance, troubled = [] } = evidence;
  if (troubled.length === 0) return plan;
  const findGroup = groupFinder([...groups, ...troubled], instance);
  const isTroubled = new Set(troubled);
  const leftAlone = liveJobsOf(evidence).flatMap((live): readonly RunnerDecision[] => {
    const { namespace, name: runner, pinned = false, priorityClass } = live;
    const parts = parseRunnerName(runner);
    const group = parts && findGroup(parts);
    if (!group || group.namespace !== namespace || !isTroubled.has(group)) return [];
    const decision = { emit: true, runner, group, because: 'group-in-trouble', pinned, skip: true } as const;
    return [priorityClass === undefined ? decision : { ...decision, priorityClass }];
  });
  const runners = [...plan.runners, ...leftAlone].sort(byGroupAndName);
  return Object.freeze({ ...plan, runners: Object.freeze(runners) });
}

function byGroupAndName(a: RunnerDecision, b: RunnerDecision): number {
  return (
    compareText(a.group.namespace, b.group.namespace) ||
    compareText(a.group.name, b.group.name) ||
    compareText(a.runner, b.runner)
  );
}
