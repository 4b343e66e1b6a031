import { Chart } from 'cdk8s';
import type { Construct } from 'constructs';
import type { RunnerGroup } from '../runnergroup/runner-group.ts';
import { groupManifest } from './group-manifest.ts';
import { Manifest } from './manifest.ts';
import { type EmittedRunner, RunnerJob } from './runner-job.ts';

export { knowsRunnerGroups } from './group-manifest.ts';

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
