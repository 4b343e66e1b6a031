import type { Construct } from 'constructs';
import type { RunnerGroup } from '../runnergroup/runner-group.ts';
import { constructedTemplate } from './job-construct.ts';
import { Manifest } from './manifest.ts';
import { type EmittedRunner, partsOf, stamp } from './stamp.ts';

export type { EmittedRunner } from './stamp.ts';

/**
 * The Kubernetes Job of one runner. Its spec follows from group and name alone, so it stays the same while the runner is
 * pinned or meets another job; only annotations of the Job object tell those.
 */
export class RunnerJob extends Manifest {
  constructor(scope: Construct, id: string, props: { readonly group: RunnerGroup; readonly runner: EmittedRunner }) {
    super(scope, id, stamp(constructedTemplate(props.group), partsOf(props.runner)));
  }
}
