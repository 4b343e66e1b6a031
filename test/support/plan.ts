/** A plan whether or not the cluster is seen: `generate` hands the past in, too. */
import type { Plan } from '../../src/planner/decisions.ts';
import type { Evidence, Group } from '../../src/planner/evidence.ts';
import { plan as planWith } from '../../src/planner/plan.ts';
import { withPast } from '../../src/planner/unseen/unseen.ts';

export function plan(groups: readonly Group[], evidence: Evidence): Plan {
  return planWith(groups, evidence, withPast);
}
