import type { EmittedRunner } from '../plan/decisions.ts';
import { type Container, type JobManifest, NAME_VARIABLE } from './job-manifest.ts';
import { inOrder, jobAnnotations, present, runnerLabels } from './labels.ts';
import type { Texts } from './marks.ts';
import { REGISTER } from './registration.ts';

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

/** Containers that know the runner's name. */
const OURS = ['runner', REGISTER];

/** The Job of one runner. */
export function stamp(template: JobManifest, { name, labels, annotations }: RunnerParts): JobManifest {
  const pod = template.spec.template;
  // Containers of a podTemplate may have a variable of that name, too: it stays what it is.
  const named = (container: Container): Container => {
    if (!OURS.includes(container.name)) return container;
    const env = (container.env ?? []).map((entry) =>
      entry.name === NAME_VARIABLE ? { ...entry, value: name } : entry,
    );
    return { ...container, env };
  };
  const { containers, initContainers } = pod.spec;
  return {
    ...template,
    metadata: {
      annotations,
      labels: inOrder(template.metadata.labels, labels),
      name,
      namespace: template.metadata.namespace,
    },
    spec: {
      ...template.spec,
      template: {
        metadata: { ...pod.metadata, labels: inOrder(pod.metadata.labels, labels) },
        spec: { ...pod.spec, containers: containers.map(named), initContainers: initContainers.map(named) },
      },
    },
  };
}
