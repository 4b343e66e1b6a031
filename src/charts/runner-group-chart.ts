import { Chart } from 'cdk8s';
import type { Construct } from 'constructs';
import type { RunnerGroup } from '../runnergroup/runner-group.ts';
import { Manifest, type ObjectManifest } from './manifest.ts';
import { type EmittedRunner, RunnerJob } from './runner-job.ts';

/** What one RunnerGroup puts into the output. */
export interface RunnerGroupChartProps {
  readonly group: RunnerGroup;
  /** Its runners with a Job, in output order. */
  readonly runners: readonly EmittedRunner[];
  /** Emit the RunnerGroup object itself: only where the cluster knows its kind. */
  readonly emitGroup: boolean;
}

/** Everything of one RunnerGroup: the object itself, when asked for, then one Job per runner. */
export class RunnerGroupChart extends Chart {
  constructor(scope: Construct, id: string, props: RunnerGroupChartProps) {
    super(scope, id, { namespace: props.group.namespace });
    if (props.emitGroup) new Manifest(this, 'runner-group', groupManifest(props.group));
    for (const runner of props.runners) {
      // The prefix: constructs would sort ids that look like numbers.
      new RunnerJob(this, `job-${runner.runner}`, { group: props.group, runner });
    }
  }
}

/** The object as it was written, with the namespace that was found for it. */
function groupManifest({ manifest, name, namespace }: RunnerGroup): ObjectManifest {
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
 * True when the destination cluster has the RunnerGroup CRD. Argo CD lists what a cluster serves in `KUBE_API_VERSIONS`,
 * separated by commas, as `group/version/Kind` (measured on 3.5.3).
 */
export function knowsRunnerGroups(env: Readonly<Record<string, string | undefined>>): boolean {
  return (env['KUBE_API_VERSIONS'] ?? '')
    .split(',')
    .some((kind) => kind.trim() === 'gitea.bpg.pw/v1alpha1/RunnerGroup');
}
