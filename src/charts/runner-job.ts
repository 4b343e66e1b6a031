import type { Construct } from 'constructs';
import type { RunnerDecision } from '../plan/decisions.ts';
import type { RunnerGroup } from '../runnergroup/runner-group.ts';
import { jobAnnotations, present, runnerLabels } from './labels.ts';
import { Manifest } from './manifest.ts';
import { type EnvEntry, type JobManifest, NAME_VARIABLE, podTemplate } from './pod-template.ts';

/** A decision that puts a runner's Job into the output. */
export type EmittedRunner = Extract<RunnerDecision, { readonly emit: true }>;

/**
 * The Kubernetes Job of one runner. Its spec follows from group and name alone, so it stays the same while the runner is
 * pinned or meets another job; only annotations of the Job object tell those.
 */
export class RunnerJob extends Manifest {
  constructor(scope: Construct, id: string, props: { readonly group: RunnerGroup; readonly runner: EmittedRunner }) {
    super(scope, id, stamp(podTemplate(props.group), props.runner));
  }
}

function stamp(template: JobManifest, { runner, pinned, job }: EmittedRunner): JobManifest {
  const pod = template.spec.template;
  const own = runnerLabels(runner);
  const containers = pod.spec.containers.map((container) => ({
    ...container,
    env: container.env.map((entry: EnvEntry) => (entry.name === NAME_VARIABLE ? { ...entry, value: runner } : entry)),
  }));
  return {
    ...template,
    metadata: {
      annotations: present(jobAnnotations(pinned, job)),
      labels: present(template.metadata.labels, own),
      name: runner,
      namespace: template.metadata.namespace,
    },
    spec: {
      ...template.spec,
      template: {
        metadata: { ...pod.metadata, labels: present(pod.metadata.labels, own) },
        spec: { ...pod.spec, containers },
      },
    },
  };
}
