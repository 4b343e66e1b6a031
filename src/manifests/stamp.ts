/** Makes a group's template the Job of one runner: its name, labels and annotations. */
import { hash } from 'node:crypto';
import { OF_REPOSITORY } from '../config/runnergroup/runner-group.ts';
import { boundTo, present, QUEUE, REGISTER, REGISTERED_AT, RUNNER_CONFIG, type Texts } from '../shared/marks.ts';
import { type Container, type JobManifest, NAME_VARIABLE, type PodTemplate, type Volume } from './job-manifest.ts';

/** The parts that make a group's template the Job of one runner. */
export interface RunnerParts {
  readonly name: string;
  /** Labels that the group's template does not have. */
  readonly labels: Texts;
  /** Annotations in the order of `generate`'s output. Those without a value are left out. */
  readonly annotations: Texts;
  /** The queue of Kueue that it waits in; undefined: none. */
  readonly queue: string | undefined;
  /** PriorityClass of its pod. Undefined: as in the template. */
  readonly priorityClass: string | undefined;
  /** How much longer the Job of a warm runner may live, seconds. Undefined: the runner is not warm. */
  readonly warmSeconds: number | undefined;
  /** Spec of its Job, as it lives. Undefined: as in the template. */
  readonly spec?: object | undefined;
}

/** Containers that know the runner's name. */
const OURS = ['runner', REGISTER];

/** Makes the Job of one runner. A living Job keeps its spec: Argo CD 3.6 judges each difference (docs/adr/0063). */
export function stamp(ofGroup: JobManifest, parts: RunnerParts): JobManifest {
  const { name, labels, annotations, queue } = parts;
  return {
    ...ofGroup,
    metadata: {
      annotations: { ...ofGroup.metadata.annotations, ...sortedByKey(present(annotations)) },
      labels: sortedByKey(ofGroup.metadata.labels, labels, inQueue(queue)),
      name,
      namespace: ofGroup.metadata.namespace,
    },
    spec: (parts.spec as JobManifest['spec'] | undefined) ?? specOf(ofGroup, parts),
  };
}

/** The label of a Job that waits in a queue of Kueue. Its pods do not have it: Kueue would count them besides. */
export function inQueue(queue: string | undefined): Texts {
  return queue === undefined ? {} : { [QUEUE]: queue };
}

/** Returns the spec, suspended: no pod starts before Kueue has seen the Job, also while Kueue is away. */
function suspended(spec: JobManifest['spec']): JobManifest['spec'] {
  return sortedByKey<unknown>({ ...spec, suspend: true }) as unknown as JobManifest['spec'];
}

function specOf(ofGroup: JobManifest, parts: RunnerParts): JobManifest['spec'] {
  const { name, labels, annotations, queue, priorityClass, warmSeconds } = parts;
  const jobSpec = warmSeconds === undefined ? ofGroup.spec : warmSpec(ofGroup.spec, warmSeconds);
  const pod = jobSpec.template;
  // Containers of a podTemplate may have a variable of that name, too: it stays unchanged.
  const withOwnImage = (container: Container): Container => {
    if (!OURS.includes(container.name)) return container;
    const env = (container.env ?? []).map((entry) =>
      entry.name === NAME_VARIABLE ? { ...entry, value: name } : entry,
    );
    return { ...container, env };
  };
  const repository = boundTo(annotations[REGISTERED_AT]);
  const ofRunner = (volume: Volume): Volume => {
    const { secret, persistentVolumeClaim: claim } = volume;
    if (secret?.secretName === '') return { ...volume, secret: { ...secret, secretName: name } };
    if (!repository || !claim?.claimName.includes(OF_REPOSITORY)) return volume;
    const claimName = claim.claimName.replaceAll(OF_REPOSITORY, repositoryLabel(repository));
    return { ...volume, persistentVolumeClaim: { ...claim, claimName } };
  };
  const { containers, initContainers, volumes } = pod.spec;
  const spec = {
    ...pod.spec,
    containers: containers.map(withOwnImage),
    ...(initContainers && { initContainers: initContainers.map(withOwnImage) }),
    volumes: volumes.map(ofRunner),
  };
  return {
    ...(queue === undefined ? jobSpec : suspended(jobSpec)),
    template: {
      metadata: { ...pod.metadata, labels: sortedByKey(pod.metadata.labels, labels) },
      spec: priorityClass === undefined ? spec : withClass(spec, priorityClass),
    },
  };
}

/** A repository as a DNS label, for its claims. The hash keeps `a-b/c` and `a/b-c` apart. Gitea ignores case. */
export function repositoryLabel(repository: string): string {
  const name = repository.toLowerCase();
  const readable = name.replace(/[^a-z0-9]+/g, '-').slice(0, 40);
  return `${readable}-${hash('sha256', name).slice(0, 10)}`.replace(/^-+|-(?=-)/g, '');
}

function withClass(spec: PodTemplate['spec'], priorityClassName: string): PodTemplate['spec'] {
  return sortedByKey<unknown>({ ...spec }, { priorityClassName }) as unknown as PodTemplate['spec'];
}

/** A line of every runner's configuration (runner-config.ts), and the lines that follow it for a warm runner. */
const CAPACITY = '  capacity: 1\n';
const ASKS_OFTEN = `${CAPACITY}  fetch_interval: 1s\n  fetch_interval_max: 1s\n`;
/** `spec.runnerConfig` says itself how often its runners ask. */
const ASKS_AS_WRITTEN = /^ {2}fetch_interval(?:_max)?:/m;

/**
 * The spec of a group's warm runners (docs/adr/0035). It is not in the hash: a new pool changes no other runner.
 * - A warm runner asks Gitea for work every second. Others ask every 2 s, and every 5 s while they are idle (1.0.8).
 * - Its Job may live longer, because it waits first. The planner exchanges an idle one before that time is over.
 */
function warmSpec(spec: JobManifest['spec'], warmSeconds: number): JobManifest['spec'] {
  const { metadata } = spec.template;
  const config = metadata.annotations[RUNNER_CONFIG] ?? '';
  const asksOften = ASKS_AS_WRITTEN.test(config) ? config : config.replace(CAPACITY, ASKS_OFTEN);
  const annotations = { ...metadata.annotations, [RUNNER_CONFIG]: asksOften };
  return {
    ...spec,
    activeDeadlineSeconds: spec.activeDeadlineSeconds + warmSeconds,
    template: { ...spec.template, metadata: { ...metadata, annotations } },
  };
}

/** Returns all entries, sorted by key: object order is output order. A label of a podTemplate may be empty. */
export function sortedByKey<T>(...parts: readonly Readonly<Record<string, T>>[]): Readonly<Record<string, T>> {
  const entries = parts.flatMap((part) => Object.entries(part));
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}
