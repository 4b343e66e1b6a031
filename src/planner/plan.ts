/**
 * Which runners are needed right now, and why. A pure function: the same groups and evidence give the same plan. Each step reads what the
 * steps before it found, and returns data:
 *
 *     1 JOIN, 2 JUDGE .. every job and every runner once, what is true of it, who may serve it      evidence.ts, facts.ts, judge.ts
 *                        where nobody sees Kubernetes: which runners may be starting (handed in)    unseen/
 *     3 QUEUE .......... the ready jobs, the longest ready first                                    queue.ts
 *     4 ALLOT .......... each gets a slot under each limit of a group: its cap, and others         allot.ts, limits.ts
 *     5 ASSIGN ......... and a runner, unless another Application has one for it                    assign.ts
 *     6 IDLE ........... runners that are kept for jobs to come: warm pool, spares                  idle.ts
 *     7 DECIDE ......... one decision for every job and every runner                                decide.ts
 *     8 TROUBLE ........ Jobs of groups that cannot be planned stay                                 `withTroubled`
 *     9 SHARDS ......... where several Applications print the folder: whose each runner is          shards.ts
 *
 * The laws P1 to P28 (docs/spec.md) are kept here. Every busy runner is in the output, pinned. Every ready job within the caps has one
 * runner. Nothing else is started, but for the pools. Doubt keeps.
 */
import { giveRunners } from './assign.ts';
import { byGroupAndName, decide } from './decide.ts';
import type { GroupKey, Plan, RunnerDecision } from './decisions.ts';
import { type Evidence, type Group, liveJobsOf } from './evidence.ts';
import { establishFacts, type Facts } from './facts.ts';
import { keepIdle } from './idle.ts';
import { queueReadyJobs } from './queue.ts';
import { inShards, waitingForSlots } from './shards.ts';
import { jobGroupFinder } from './traces.ts';

/** Type of `withPast` in `unseen/`. Only programs that cannot read Kubernetes load it. */
export type WithPast = (facts: Facts) => Facts;

/**
 * Plans one pass over all groups, which must be unique by namespace and name.
 * @param withPast where nobody sees Kubernetes
 * @throws GroupsCollide when two groups would share runner names; Error when a group's look is missing, or the past of an unseen cluster
 */
export function plan(groups: readonly Group[], evidence: Evidence, withPast?: WithPast): Plan {
  const presentFacts = establishFacts(groups, evidence);
  const isUnseen = evidence.cluster.is === 'unseen' && groups.length > 0;
  if (isUnseen && !withPast) throw new Error('nobody sees the cluster, and nobody has given the past');
  const facts = isUnseen && withPast ? withPast(presentFacts) : presentFacts;
  const queue = queueReadyJobs(facts);
  const allocation = giveRunners(queue, facts, evidence);
  const idle = keepIdle(allocation, facts);
  const decided = withTroubled(decide(facts, queue, allocation, idle), groups, evidence);
  const { shards } = evidence;
  return shards === undefined ? decided : inShards(decided, shards, evidence, waitingForSlots(allocation, idle, facts));
}

/**
 * The plan, and a decision for each live Job of a group that cannot be planned now: its Gitea does not answer, or its spec is not valid. What
 * Kubernetes shows stays as it is, and nothing is started (docs/adr/0036). For all other groups these are full groups: they have no free slot. A
 * job that one of their runners was made for waits for it, as for a runner of another Application (assign.ts).
 */
function withTroubled(plan: Plan, groups: readonly GroupKey[], evidence: Evidence): Plan {
  const { instance, troubled = [] } = evidence;
  if (troubled.length === 0) return plan;
  const findGroup = jobGroupFinder([...groups, ...troubled], instance);
  const isTroubled = new Set(troubled);
  const leftAlone = liveJobsOf(evidence).flatMap((live): readonly RunnerDecision[] => {
    const { name: runner, pinned = false, priorityClass } = live;
    const group = findGroup(live);
    if (!group || !isTroubled.has(group)) return [];
    const decision = { emit: true, runner, group, because: 'group-in-trouble', pinned, skip: true } as const;
    return [priorityClass === undefined ? decision : { ...decision, priorityClass }];
  });
  const runners = [...plan.runners, ...leftAlone].sort(byGroupAndName);
  return Object.freeze({ ...plan, runners: Object.freeze(runners) });
}
