/** What becomes output, from the plan: for `generate` and `cdk8s synth` alike. */

import type { RunnerGroup } from '../config/runnergroup/runner-group.ts';
import type { EmittedRunner, Plan } from '../planner/decisions.ts';
import type { LiveJob } from '../planner/evidence.ts';
import { groupBy } from '../shared/group-by.ts';
import { keyText } from '../shared/key-text.ts';
import { knowsRunnerGroups, type ObjectManifest } from './group-manifest.ts';

/** What is printed besides the templates of the groups. */
export interface Output {
  /** The runners of a group that have a Job, in output order. */
  readonly runnersOf: (group: RunnerGroup) => readonly EmittedRunner[];
  /** The spec of a runner's Job, as it lives. Undefined: there is none, or the cluster was not looked at. */
  readonly liveSpecOf: (runner: EmittedRunner) => object | undefined;
  /** Print the RunnerGroup objects too. */
  readonly emitGroups: boolean;
  /** Groups whose chart is not printed. */
  readonly isLeftOut: (group: RunnerGroup) => boolean;
  /** What is printed in place of those charts, in output order. */
  readonly kept: readonly ObjectManifest[];
  /** Texts of documents of other kinds. They stay as they are. */
  readonly others: readonly string[];
}

/** A group whose spec cannot be used, and the object that stands for it. */
export interface StandIn {
  readonly namespace: string;
  readonly name: string;
  readonly object: ObjectManifest;
}

/**
 * @param liveJobs as they were listed.
 * @param env says which kinds the destination cluster knows (`knowsRunnerGroups`).
 * @param standIns in place of charts that are not to be printed.
 */
export async function outputOf(
  plan: Plan,
  liveJobs: readonly LiveJob[],
  others: readonly { readonly text: string }[],
  env: Readonly<Record<string, string | undefined>>,
  standIns: readonly StandIn[] = [],
): Promise<Output> {
  const emitted = plan.runners.filter((decision) => decision.emit);
  const runners = groupBy(emitted, ({ group }) => keyText(group));
  const specs = new Map(liveJobs.map((job) => [keyText(job), job.spec]));
  const liveSpecOf = ({ group: { namespace }, runner }: EmittedRunner) =>
    specs.get(keyText({ namespace, name: runner }));
  const emitGroups = knowsRunnerGroups(env);
  const leftOut = new Set(standIns.map(keyText));
  return {
    runnersOf: (group) => runners.get(keyText(group)) ?? [],
    liveSpecOf,
    emitGroups,
    isLeftOut: (group) => leftOut.size > 0 && leftOut.has(keyText(group)),
    kept: standIns.length === 0 ? [] : await keptOf(standIns, runners, emitGroups, liveSpecOf),
    others: others.map(({ text }) => text),
  };
}

async function keptOf(
  standIns: readonly StandIn[],
  runners: ReadonlyMap<string, readonly EmittedRunner[]>,
  emitGroups: boolean,
  liveSpecOf: Output['liveSpecOf'],
): Promise<readonly ObjectManifest[]> {
  const { keptJob } = await import('./kept-jobs.ts');
  const inOrder = [...standIns].sort((a, b) => (keyText(a) < keyText(b) ? -1 : 1));
  return inOrder.flatMap((group) => [
    ...(emitGroups ? [group.object] : []),
    ...(runners.get(keyText(group)) ?? []).map((runner) => keptJob(runner, liveSpecOf(runner))),
  ]);
}
