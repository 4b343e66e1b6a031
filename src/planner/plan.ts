/**
 * Which runners are needed right now, and why. A pure function: the same groups and evidence give the same plan. Each step reads what the
 * steps before it found, and returns data:
 *
 *     1 JOIN, 2 JUDGE .. every job and every runner once, what is true of it, who may serve it      facts.ts, join.ts, judge.ts
 *                        where nobody sees Kubernetes: which runners may be starting                unseen/
 *     3 QUEUE .......... the ready jobs, the longest ready first                                    queue.ts
 *     4 ALLOT .......... each gets a place of a group                                               allot.ts
 *     5 ASSIGN ......... and a runner, unless another Application has one for it                    assign.ts
 *     6 IDLE ........... runners that are kept for jobs to come: warm pool, spares                  idle.ts
 *     7 DECIDE ......... one decision for every job and every runner                                decide.ts
 *     8 TROUBLE ........ Jobs of groups that cannot be planned stay                                 trouble.ts
 *
 * The laws P1 to P21 (docs/spec.md) are kept here. Every busy runner is in the output, pinned. Every ready job within the caps has one
 * runner. Nothing else is started, but for the pools. Doubt keeps.
 */
import { giveRunners } from './assign.ts';
import { decide } from './decide.ts';
import type { Plan } from './decisions.ts';
import type { Evidence, Group } from './evidence.ts';
import { establishFacts, type Facts } from './facts.ts';
import { keepIdle } from './idle.ts';
import type { ListedJob } from './join.ts';
import { queueReadyJobs } from './queue.ts';
import { withTroubled } from './trouble.ts';
import { withPast } from './unseen/index.ts';

/**
 * Plans one pass over all groups, which must be unique by namespace and name.
 * @throws GroupsCollide when two groups would share runner names; Error when a group's look is missing
 */
export function plan(groups: readonly Group[], evidence: Evidence): Plan {
  const facts = factsOf(groups, evidence);
  const queue = queueReadyJobs(facts);
  const given = giveRunners(queue, facts, evidence);
  const idle = keepIdle(given, facts);
  return withTroubled(decide(facts, queue, given, idle), groups, evidence);
}

/** All ready jobs in the order in which `plan` gives places, for people who ask how long a job will wait. */
export function waitingLine(groups: readonly Group[], evidence: Evidence): readonly ListedJob[] {
  return queueReadyJobs(factsOf(groups, evidence)).map(({ listed }) => listed);
}

function factsOf(groups: readonly Group[], evidence: Evidence): Facts {
  const facts = establishFacts(groups, evidence);
  return evidence.cluster.is === 'seen' ? facts : withPast(facts);
}
