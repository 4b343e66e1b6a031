import type { Plan, RunnerDecision } from './plan/decisions.ts';
import type { RunnerGroup } from './runnergroup/runner-group.ts';

/** A group and the runners whose Jobs are in the output. */
export interface AppGroup {
  readonly group: RunnerGroup;
  readonly runners: readonly (RunnerDecision & { readonly emit: true })[];
}

/** Joins each RunnerGroup with its part of the plan. */
export function toAppGroups(groups: readonly RunnerGroup[], plan: Plan): readonly AppGroup[] {
  return groups.map((group) => ({
    group,
    runners: plan.runners.filter(
      (decision): decision is RunnerDecision & { emit: true } =>
        decision.emit && decision.group.namespace === group.namespace && decision.group.name === group.name,
    ),
  }));
}
