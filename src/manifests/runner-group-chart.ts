import { hash } from 'node:crypto';
import { Chart } from 'cdk8s';
import type { Construct } from 'constructs';
import type { RunnerGroup } from '../config/runnergroup/runner-group.ts';
import type { FinishPod } from './finish-pod.ts';
import { groupJob } from './group-job.ts';
import { groupManifest } from './group-manifest.ts';
import { type JobManifest, sorted } from './job-manifest.ts';
import { Manifest } from './manifest.ts';
import type { Output } from './output.ts';
import { partsOf, stamp } from './stamp.ts';

/**
 * Everything of one RunnerGroup. It makes the group's Job as a construct, which is the template and not itself part of the output.
 * `emit` adds what is: the RunnerGroup object and one Job per runner.
 */
export class RunnerGroupChart extends Chart {
  readonly group: RunnerGroup;
  /**
   * 16 hex digits over the template. They go into the names of new runners, so one name never stands for two specs: a Job's pod
   * template cannot be changed in a cluster.
   */
  readonly templateHash: string;
  /** The group's Job without what belongs to one runner. As JSON, which takes a tenth of the memory: most groups print no Job. */
  readonly templateJson: string;

  /** @param finish makes the final pod of ours; without it ours is the final one. */
  constructor(scope: Construct, id: string, group: RunnerGroup, finish?: FinishPod) {
    super(scope, id, { namespace: group.namespace });
    this.group = group;
    const job = groupJob(this, group);
    const made = finish ? finished(job, group, finish) : job;
    this.templateHash = hash('sha256', JSON.stringify(made)).slice(0, 16);
    this.templateJson = JSON.stringify(onLinux(made));
    // The constructs have done their work. Those of 5,000 groups would take 30 MB.
    for (const { node } of this.node.children) this.node.tryRemoveChild(node.id);
  }

  /** A new copy, frozen all the way down: many Jobs share its parts, and yaml.ts writes those once. */
  get template(): JobManifest {
    return JSON.parse(this.templateJson, (_, value) => Object.freeze(value)) as JobManifest;
  }

  /** Adds the objects of the output. Called once. */
  emit({ runnersOf, liveSpecOf, emitGroups }: Output): void {
    if (emitGroups) new Manifest(this, 'runner-group', groupManifest(this.group));
    const runners = runnersOf(this.group);
    if (runners.length === 0) return;
    const { template } = this;
    for (const decision of runners) {
      // The prefix: constructs would sort ids that look like numbers.
      new Manifest(this, `job-${decision.runner}`, stamp(template, partsOf(decision, liveSpecOf(decision))));
    }
  }
}

/**
 * Our images are for Linux: in a cluster with other nodes the pods would fail there. Not in the hash, because 0.2.0 was without it: its
 * runners keep their names. A podTemplate that names the system has the last word.
 */
function onLinux(job: JobManifest): JobManifest {
  const { template } = job.spec;
  const nodeSelector = { 'kubernetes.io/os': 'linux', ...template.spec.nodeSelector };
  return { ...job, spec: { ...job.spec, template: { ...template, spec: { ...template.spec, nodeSelector } } } };
}

/** Keys in order: how a podTemplate is written down must not show in the hash. */
function finished(job: JobManifest, group: RunnerGroup, finish: FinishPod): JobManifest {
  const template = finish(group, job.spec.template);
  return template === job.spec.template ? job : (sorted({ ...job, spec: { ...job.spec, template } }) as JobManifest);
}
