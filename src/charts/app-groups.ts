import type { Plan, RunnerDecision } from '../plan/decisions.ts';
import type { RunnerGroup } from '../runnergroup/runner-group.ts';

/** A group and the runners whose Jobs are in the output. */
export interface AppGroup {
  readonly group: RunnerGroup;
  readonly runners: readonly (RunnerDecision & { readonly emit: true })[];
}

/** Joins each RunnerGroup with its part of the plan. */
export function toAppGroups(groups: readonly RunnerGroup[], plan: Plan): readonly AppGroup[] {
  const runners = new Map<string, (RunnerDecision & { readonly emit: true })[]>();
  const keyOf = ({ namespace, name }: { readonly namespace: string; readonly name: string }) => `${namespace}/${name}`;
  for (const group of groups) runners.set(keyOf(group), []);
  for (const decision of plan.runners) if (decision.emit) runners.get(keyOf(decision.group))?.push(decision);
  return groups.map((group) => ({ group, runners: runners.get(keyOf(group)) ?? [] }));
}
