/**
 * Which runners are needed right now, and why. A pure function: the same groups and evidence give the same plan. Each step reads what the
 * steps before it found, and returns data:
 *
 *     establishFacts ... every job and every runner once, what is true of it, who may serve it      facts.ts
 *     replayPast ....... where nobody sees Kubernetes: which runners have been asked for            replay/
 *     queueReadyJobs ... the ready jobs, the longest ready first                                    queue.ts
 *     giveRunners ...... each gets a slot of a group (allot.ts) and a runner (assign.ts), unless
 *                        another Application has one for it (elsewhere.ts)
 *     fillPools ........ runners that are kept idle for jobs to come                                pool.ts
 *     keepSpares ....... runners that no job needs and that the next one may                        spares.ts
 *     decide ........... one decision for every job and every runner                                decide.ts
 *     withKept ......... Jobs of groups that cannot be planned stay                                  troubled.ts
 *
 * The laws P1 to P21 (docs/spec.md) are kept here. Every busy runner is in the output, pinned. Every ready job within the caps has one
 * runner. Nothing else is started, but for the pools. Doubt keeps.
 */
import { decide } from './decide.ts';
import type { Plan } from './decisions.ts';
import type { Evidence, Group } from './evidence.ts';
import { establishFacts } from './facts.ts';
import { giveRunners } from './give.ts';
import { fillPools } from './pool.ts';
import { queueReadyJobs } from './queue.ts';
import { replayPast } from './replay/replay.ts';
import { keepSpares } from './spares.ts';
import { withKept } from './troubled.ts';

/**
 * Plans one pass over all groups, which must be unique by namespace and name.
 * @throws GroupsCollide when two groups would share runner names; Error when a group's look is missing
 */
export function plan(groups: readonly Group[], evidence: Evidence): Plan {
  const facts = establishFacts(groups, evidence);
  const queue = queueReadyJobs(facts, replayPast(facts));
  const given = giveRunners(queue, facts, evidence);
  const pools = fillPools(given, facts);
  const spares = keepSpares(given, pools, facts);
  return withKept(decide(facts, queue, given, { pools, spares }), groups, evidence);
}
