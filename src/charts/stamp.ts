import type { EmittedRunner } from '../plan/decisions.ts';
import { type Container, type JobManifest, NAME_VARIABLE } from './job-manifest.ts';
import { jobAnnotations, present, runnerLabels } from './labels.ts';
import type { Texts } from './marks.ts';

/** What makes a group's template the Job of one runner. */
export interface RunnerParts {
  readonly name: string;
  /** Besides those of the group. */
  readonly labels: Texts;
  readonly annotations: Texts;
}

/** The parts that follow from a decision. */
export function partsOf(decision: EmittedRunner): RunnerParts {
  const { runner } = decision;
  return { name: runner, labels: runnerLabels(runner), annotations: present(jobAnnotations(decision)) };
}

/** The Job of one runner. */
export function stamp(template: JobManifest, { name, labels, annotations }: RunnerParts): JobManifest {
  const pod = template.spec.template;
  const named = (container: Container): Container => ({
    ...container,
    env: container.env.map((entry) => (entry.name === NAME_VARIABLE ? { ...entry, value: name } : entry)),
  });
  const { containers, initContainers } = pod.spec;
  return {
    ...template,
    metadata: {
      annotations,
      labels: present(template.metadata.labels, labels),
      name,
      namespace: template.metadata.namespace,
    },
    spec: {
      ...template.spec,
      template: {
        metadata: { ...pod.metadata, labels: present(pod.metadata.labels, labels) },
        spec: { ...pod.spec, containers: containers.map(named), initContainers: initContainers.map(named) },
      },
    },
  };
}
