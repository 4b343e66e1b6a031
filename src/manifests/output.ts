/** What becomes output, from the plan: for `generate` and `cdk8s synth` alike. */

import type { RunnerGroup } from '../config/runnergroup/runner-group.ts';
import type { EmittedRunner, Plan } from '../planner/decisions.ts';
import type { LiveJob } from '../planner/evidence.ts';
import { groupBy } from '../shared/group-by.ts';
import { keyText } from '../shared/key-text.ts';
import { groupLabels } from '../shared/marks.ts';
import { inOrder, jobAnnotations, present, runnerLabels } from './stamp.ts';

/** What every Kubernetes object has. */
export interface ObjectManifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

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

/** @param standIns in place of charts that are not to be printed. */
export function outputOf(
  plan: Plan,
  liveJobs: readonly LiveJob[],
  others: readonly { readonly text: string }[],
  env: Readonly<Record<string, string | undefined>>,
  standIns: readonly StandIn[] = [],
): Output {
  const emitted = plan.runners.filter((decision) => decision.emit);
  const runners = groupBy(emitted, ({ group }) => keyText(group));
  const specs = new Map(liveJobs.map((job) => [keyText(job), job.spec]));
  const runnersOf = (group: { namespace: string; name: string }) => runners.get(keyText(group)) ?? [];
  const liveSpecOf = ({ group, runner }: EmittedRunner) => specs.get(keyText({ ...group, name: runner }));
  const emitGroups = knowsRunnerGroups(env);
  const leftOut = new Set(standIns.map(keyText));
  const inOutputOrder = standIns.toSorted((a, b) => (keyText(a) < keyText(b) ? -1 : 1));
  return {
    runnersOf,
    liveSpecOf,
    emitGroups,
    isLeftOut: (group) => leftOut.size > 0 && leftOut.has(keyText(group)),
    kept: inOutputOrder.flatMap((group) => [
      ...(emitGroups ? [group.object] : []),
      ...runnersOf(group).map((runner) => keptJob(runner, liveSpecOf(runner))),
    ]),
    others: others.map(({ text }) => text),
  };
}

/** True when the cluster has the RunnerGroup CRD: Argo CD lists `group/version/Kind` in `KUBE_API_VERSIONS`, with commas (measured on 3.5.3). */
export function knowsRunnerGroups(env: Readonly<Record<string, string | undefined>>): boolean {
  return (env['KUBE_API_VERSIONS'] ?? '')
    .split(',')
    .some((kind) => kind.trim() === 'gitea.bpg.pw/v1alpha1/RunnerGroup');
}

/** The object as it was written, with the namespace that was found for it. */
export function groupManifest({ manifest, name, namespace }: RunnerGroup): ObjectManifest {
  const { metadata } = manifest;
  const written = typeof metadata === 'object' && metadata !== null ? metadata : {};
  return {
    ...manifest,
    apiVersion: 'gitea.bpg.pw/v1alpha1',
    kind: 'RunnerGroup',
    metadata: { ...written, name, namespace },
  };
}

/**
 * A Job of a group whose template nobody knows, because its spec cannot be used (docs/adr/0036). Argo CD keeps the Job that is there, and
 * neither changes nor creates it (`Skip`, docs/adr/0020). Where its spec was not seen its pod does not matter: it is valid and suspended,
 * in case somebody applies it by hand.
 */
export function keptJob(decision: EmittedRunner, liveSpec?: object): ObjectManifest {
  const { group, runner: name } = decision;
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      annotations: present(jobAnnotations(decision)),
      labels: inOrder(groupLabels(group.name), runnerLabels(name)),
      name,
      namespace: group.namespace,
    },
    spec: liveSpec ?? {
      suspend: true,
      template: { spec: { containers: [{ image: 'kept', name: 'runner' }], restartPolicy: 'Never' } },
    },
  } as ObjectManifest;
}
