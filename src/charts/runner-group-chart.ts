import { Chart } from 'cdk8s';
import type { Construct } from 'constructs';
import type { RunnerGroup } from '../runnergroup/runner-group.ts';
import { groupJob } from './group-job.ts';
import { groupManifest } from './group-manifest.ts';
import type { JobManifest } from './job-manifest.ts';
import { Manifest } from './manifest.ts';
import type { Output } from './output.ts';
import { partsOf, stamp } from './stamp.ts';

/**
 * Everything of one RunnerGroup. It holds the group's Job as a construct, which is the template and not itself part of the output.
 * `emit` adds what is: the RunnerGroup object and one Job per runner.
 */
export class RunnerGroupChart extends Chart {
  readonly group: RunnerGroup;
  /** The group's Job without what belongs to one runner. */
  readonly template: JobManifest;

  constructor(scope: Construct, id: string, group: RunnerGroup) {
    super(scope, id, { namespace: group.namespace });
    this.group = group;
    this.template = groupJob(this, group);
  }

  /** Adds the objects of the output. Called once. */
  emit({ runnersOf, emitGroups }: Output): void {
    if (emitGroups) new Manifest(this, 'runner-group', groupManifest(this.group));
    for (const decision of runnersOf(this.group)) {
      // The prefix: constructs would sort ids that look like numbers.
      new Manifest(this, `job-${decision.runner}`, stamp(this.template, partsOf(decision)));
    }
  }
}
