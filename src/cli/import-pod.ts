/** A pod with a runner, as Deployments and ScaledJobs have it, and the runner's own config.yaml -> the fields of a RunnerGroup. */
import * as z from 'zod';
import { NEWER_KEYS, OWNED_KEYS, RunnerConfigKeys } from '../config/runnergroup/runner-config.ts';
import { parseLabel } from '../config/runnergroup/words.ts';
import { REGISTRATION_SECRET } from '../shared/installed/names.ts';
import { durationMs, readList } from './flags/readers.ts';

const KeyRef = z.looseObject({ name: z.string(), key: z.string() });
const Variable = z.looseObject({
  name: z.string(),
  value: z.string().optional(),
  valueFrom: z.looseObject({ secretKeyRef: KeyRef.optional() }).optional(),
});
const Container = z.looseObject({
  name: z.string(),
  image: z.string().default(''),
  env: z.array(Variable).default([]),
  resources: z.looseObject({ requests: z.unknown().optional(), limits: z.unknown().optional() }).optional(),
});
export const PodSpec = z.looseObject({
  containers: z.array(Container).min(1),
  initContainers: z.array(Container).default([]),
  volumes: z
    .array(z.looseObject({ name: z.string(), configMap: z.looseObject({ name: z.string() }).optional() }))
    .default([]),
  serviceAccountName: z.string().optional(),
});
export type PodSpec = z.output<typeof PodSpec>;
type Container = z.output<typeof Container>;

/** Fields of a pod that mean the same in `podTemplate`. */
const CARRIED = [
  'nodeSelector',
  'tolerations',
  'affinity',
  'topologySpreadConstraints',
  'imagePullSecrets',
  'runtimeClassName',
  'hostAliases',
  'dnsConfig',
  'priorityClassName',
] as const;

/** Variables that the runner's image reads, and that we set. */
const OURS = /^(?:GITEA_|DOCKER_|CONFIG_FILE$|ACT_)/;
/** Variables whose plain values may be secrets: they are not for Git. */
const MAY_BE_SECRET = /token|secret|passw|credential|private|api_?key|access_?key|auth/i;

function isPlainSecret({ name, value }: Container['env'][number]): boolean {
  return value !== undefined && (MAY_BE_SECRET.test(name) || /:\/\/[^/\s]*@/.test(value));
}

/** Undefined: no container of this pod is a Gitea runner. `file`: its config.yaml, whose labels come first in the runner, too. */
export function fromPod(pod: PodSpec, file?: FromRunnerFile) {
  const runner = pod.containers.find(isRunner);
  if (!runner) return undefined;
  const variable = (name: string): Container['env'][number] | undefined =>
    runner.env.find((each) => each.name === name);
  const token = variable('GITEA_RUNNER_REGISTRATION_TOKEN');
  const ofFile = file?.labels ?? [];
  const written = ofFile.length > 0 ? ofFile : readList(variable('GITEA_RUNNER_LABELS')?.value ?? '');
  const { kept: labels, note } = ofDefaultRunner(written.map((label) => label.trim()));
  const [containerMode, why] = modeOf(pod, runner, labels);
  const { name, key } = token?.valueFrom?.secretKeyRef ?? { name: REGISTRATION_SECRET, key: 'registration-token' };
  const gitea = variable('GITEA_INSTANCE_URL')?.value?.trim();
  return {
    gitea: gitea !== undefined && /^https?:\/\/[^\s<>{}$?#@]+$/.test(gitea) ? gitea : undefined,
    spec: filled({
      ...withoutContainers(file?.spec ?? {}, containerMode),
      labels,
      // A runner that names its labels has no others.
      defaultLabels: labels.length > 0 ? false : undefined,
      containerMode,
      registrationToken: { secretRef: { name, key } },
      ...partsOf(pod, runner),
    }),
    notes: [
      ...why,
      ...(note === undefined ? [] : [note]),
      ...(file?.notes ?? []),
      ...notesOf(pod, runner, token?.value !== undefined, file !== undefined),
    ],
  };
}

function partsOf(pod: PodSpec, runner: Container): Readonly<Record<string, unknown>> {
  const { requests, limits } = runner.resources ?? {};
  const isSaid = ({ value, valueFrom }: Container['env'][number]) => (value ?? valueFrom) !== undefined;
  const env = runner.env.filter((each) => !OURS.test(each.name) && isSaid(each) && !isPlainSecret(each));
  const spec = filled({
    ...Object.fromEntries(CARRIED.map((field) => [field, pod[field]])),
    containers: env.length > 0 ? [{ name: 'runner', env }] : undefined,
  });
  return { resources: filled({ requests: asTexts(requests), limits: asTexts(limits) }), podTemplate: filled({ spec }) };
}

/** Kubernetes takes `cpu: 0.5`; a quantity here is a string or a whole number. */
function asTexts(quantities: unknown): unknown {
  const read = z.record(z.string(), z.coerce.string()).safeParse(quantities);
  return read.success ? read.data : quantities;
}

/** Containers have no place in mode host. */
function withoutContainers(spec: Readonly<Record<string, unknown>>, mode: Mode): Readonly<Record<string, unknown>> {
  const { container: _container, ...others } = Section.safeParse(spec['runnerConfig']).data ?? {};
  return mode === 'host' ? { ...spec, runnerConfig: others } : spec;
}

const RUNNER_IMAGE = /(?:^|\/)(?:act[_-]runner|gitea-act-runner|gitea\/runner)(?:[:@]|$)/;

function isRunner({ image, env }: Container): boolean {
  return RUNNER_IMAGE.test(image) || env.some(({ name }) => name === 'GITEA_INSTANCE_URL');
}

type Mode = 'dind-rootless' | 'dind' | 'host';

function modeOf(pod: PodSpec, runner: Container, labels: readonly string[]): readonly [Mode, readonly string[]] {
  const others = [...pod.containers, ...pod.initContainers].filter((each) => each !== runner);
  const usesSocket = pod.volumes.some((volume) => JSON.stringify(volume).includes('docker.sock'));
  if (runner.image.includes('dind-rootless')) return ['dind-rootless', []];
  if (others.some(({ image }) => /(?:^|\/)docker[:@]/.test(image))) return ['dind', []];
  if (runner.image.includes('dind')) return ['dind', []];
  if (usesSocket)
    return ['dind-rootless', ['The docker socket of the node is not mounted: each runner has a dockerd of its own.']];
  if (labels.length > 0 && labels.every((label) => !label.includes(':docker:'))) return ['host', []];
  return ['dind-rootless', ['containerMode is a guess: no docker was found beside the runner.']];
}

function notesOf(pod: PodSpec, runner: Container, tokenIsWritten: boolean, hasFile: boolean): readonly string[] {
  const volumes = pod.volumes.filter((volume) => 'persistentVolumeClaim' in volume).map(({ name }) => name);
  const secrets = runner.env.filter((each) => !OURS.test(each.name) && isPlainSecret(each)).map(({ name }) => name);
  const others = pod.containers.filter((each) => each !== runner && !/(?:^|\/)docker[:@]/.test(each.image));
  const notes = [
    tokenIsWritten &&
      `The registration token stood in the manifest: revoke it, and put a new one into the Secret ${REGISTRATION_SECRET}.`,
    secrets.length > 0 &&
      `Plain values that may be secrets are not carried over: ${secrets.join(', ')}. Put them into a Secret.`,
    runner.image !== '' && `The image ${runner.image} is not carried over: runners have the image of this version.`,
    volumes.length > 0 &&
      `Persistent volumes are not carried over (${volumes.join(', ')}): runners end with their CI job. See docs/cache.md.`,
    others.length > 0 &&
      `Containers beside the runner are not carried over (${others.map(({ name }) => name).join(', ')}): add them to podTemplate.`,
    pod.serviceAccountName !== undefined &&
      `serviceAccountName ${pod.serviceAccountName} is not carried over: a policy must allow it (docs/policy.md).`,
    ('securityContext' in pod || 'securityContext' in runner) &&
      'securityContext is not carried over: containerMode and securityProfile set it.',
    !hasFile &&
      runner.env.some(({ name }) => name === 'CONFIG_FILE') &&
      'The config.yaml of the runner was in none of the files. Put its keys into runnerConfig, its labels into labels, and multiply maxActiveRunners by its capacity.',
  ];
  return notes.filter((note) => note !== false);
}

const Section = z.record(z.string(), z.unknown());
const RunnerFile = z.looseObject({
  runner: z.looseObject({
    labels: z.array(z.string()).nullish(),
    capacity: z.int().min(1).nullish(),
    timeout: z.string().nullish(),
  }),
});

export type FromRunnerFile = NonNullable<ReturnType<typeof fromRunnerFile>>;

/** Told by other fields, or without a meaning here. */
const SILENT = new Set(['runner.labels', 'runner.capacity', 'runner.timeout', 'runner.file']);
/** Files and addresses of the old machine, and variables, which may be secrets. */
const OF_THE_MACHINE = ['runner.envs', 'runner.env_file', 'cache.dir', 'cache.host', 'cache.port'];
const LEFT_OUT = new Set([...Object.keys(OWNED_KEYS), ...Object.keys(NEWER_KEYS), ...OF_THE_MACHINE]);

/** Undefined: this is no config.yaml of a runner. */
export function fromRunnerFile(value: unknown) {
  const read = RunnerFile.safeParse(value);
  if (!read.success) return undefined;
  const { labels, capacity, timeout } = read.data.runner;
  const kept: Record<string, Record<string, unknown>> = {};
  const lost: string[] = [];
  for (const [section, keys] of Object.entries(read.data)) {
    for (const [key, of] of Object.entries(filled(Section.safeParse(keys).data ?? {}))) {
      const name = `${section}.${key}`;
      const isLeftOut = LEFT_OUT.has(name);
      if (of === '' || SILENT.has(name) || (of === false && isLeftOut)) continue;
      const isKey = RunnerConfigKeys.safeParse({ [section]: { [key]: of } }).success;
      if (isKey && !isLeftOut && !LEFT_OUT.has(section)) kept[section] = { ...kept[section], [key]: of };
      else lost.push(name);
    }
  }
  return {
    labels: labels ?? [],
    /** CI jobs that one runner took at once. */
    capacity: capacity ?? 1,
    spec: filled({
      activeDeadlineSeconds: Math.round(durationMs(timeout ?? '') / 1000) || undefined,
      runnerConfig: kept,
    }),
    notes: lost.length > 0 ? [`Of the runner's config.yaml these are not carried over: ${lost.join(', ')}.`] : [],
  };
}

/** The labels that the default runner takes, and what to say of the others. */
export function ofDefaultRunner(labels: readonly string[]): { readonly kept: string[]; readonly note?: string } {
  const kept = labels.filter((label) => {
    const parsed = parseLabel(label);
    return !('wrong' in parsed) && parsed.schema !== 'foreign';
  });
  if (kept.length === labels.length) return { kept };
  const lost = labels.filter((label) => !kept.includes(label)).join(', ');
  const note = `These labels are not carried over, for they are neither name:host nor name:docker://image: ${lost}. Add them in one of these forms, and change runs-on if the name changes.`;
  return { kept, note };
}

/** Spec without what is undefined, an empty list or an empty mapping. */
export function filled(spec: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const isFilled = (value: unknown): boolean => typeof value !== 'object' || Object.keys(value ?? {}).length > 0;
  return Object.fromEntries(Object.entries(spec).filter(([, value]) => value !== undefined && isFilled(value)));
}
