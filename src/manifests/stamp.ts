import type { EmittedRunner } from '../planner/decisions.ts';
import { REGISTER, type Texts } from '../shared/marks.ts';
import { type Container, type JobManifest, NAME_VARIABLE } from './job-manifest.ts';
import { inOrder, jobAnnotations, present, runnerLabels } from './labels.ts';
import { isWarm, warmTemplate } from './warm.ts';

/** What makes a group's template the Job of one runner. */
export interface RunnerParts {
  readonly name: string;
  /** Besides those of the group. */
  readonly labels: Texts;
  readonly annotations: Texts;
  /** Of its pod; undefined: as in the template. */
  readonly priorityClass: string | undefined;
  /** It is a runner of a warm pool. */
  readonly isWarm: boolean;
  /** Of its Job, as it lives. Undefined: as in the template. */
  readonly spec?: object | undefined;
}

/** The parts that follow from a decision. */
export function partsOf(decision: EmittedRunner, spec?: object): RunnerParts {
  const { runner, priorityClass } = decision;
  const annotations = present(jobAnnotations(decision));
  return { name: runner, labels: runnerLabels(runner), annotations, priorityClass, isWarm: isWarm(runner), spec };
}

/** Containers that know the runner's name. */
const OURS = ['runner', REGISTER];

/** The Job of one runner. One that lives keeps its spec: Argo CD 3.6 has Kubernetes judge each difference (docs/adr/0063). */
export function stamp(ofGroup: JobManifest, parts: RunnerParts): JobManifest {
  const { name, labels, annotations } = parts;
  return {
    ...ofGroup,
    metadata: {
      annotations,
      labels: inOrder(ofGroup.metadata.labels, labels),
      name,
      namespace: ofGroup.metadata.namespace,
    },
    spec: (parts.spec as JobManifest['spec'] | undefined) ?? specOf(ofGroup, parts),
  };
}

function specOf(ofGroup: JobManifest, { name, labels, priorityClass, isWarm: warm }: RunnerParts): JobManifest['spec'] {
  const template = warm ? warmTemplate(ofGroup) : ofGroup;
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
  const spec = { ...pod.spec, containers: containers.map(named), initContainers: initContainers.map(named) };
  return {
    ...template.spec,
    template: {
      metadata: { ...pod.metadata, labels: inOrder(pod.metadata.labels, labels) },
      spec: priorityClass === undefined ? spec : withClass(spec, priorityClass),
    },
  };
}

type PodSpec = JobManifest['spec']['template']['spec'];

function withClass(spec: PodSpec, priorityClassName: string): PodSpec {
  return inOrder<unknown>({ ...spec }, { priorityClassName }) as unknown as PodSpec;
}
