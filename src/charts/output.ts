/** What becomes output, from the plan: for `generate` and `cdk8s synth` alike. */
import type { EmittedRunner, Plan } from '../plan/decisions.ts';
import type { RunnerGroup } from '../runnergroup/runner-group.ts';
import { knowsRunnerGroups } from './group-manifest.ts';

/** What is printed besides the templates of the groups. */
export interface Output {
  /** The runners of a group that have a Job, in output order. */
  readonly runnersOf: (group: RunnerGroup) => readonly EmittedRunner[];
  /** Print the RunnerGroup objects too. */
  readonly emitGroups: boolean;
  /** Texts of documents of other kinds. They stay as they are. */
  readonly others: readonly string[];
}

/** @param env says which kinds the destination cluster knows (`knowsRunnerGroups`). */
export function outputOf(
  plan: Plan,
  others: readonly { readonly text: string }[],
  env: Readonly<Record<string, string | undefined>>,
): Output {
  const runners = new Map<string, EmittedRunner[]>();
  for (const decision of plan.runners) {
    if (!decision.emit) continue;
    const key = keyOf(decision.group);
    const known = runners.get(key);
    if (known) known.push(decision);
    else runners.set(key, [decision]);
  }
  return {
    runnersOf: (group) => runners.get(keyOf(group)) ?? [],
    emitGroups: knowsRunnerGroups(env),
    others: others.map(({ text }) => text),
  };
}

function keyOf({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `${namespace}/${name}`;
}
