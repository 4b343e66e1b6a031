/** A pod with a runner, as Deployments and ScaledJobs have it, and the runner's own config.yaml -> the fields of a RunnerGroup. */
import * as z from 'zod';
import { NEWER_KEYS, OWNED_KEYS, RunnerConfigKeys } from '../config/runnergroup/runner-config.ts';
import { DOCKER_IMAGE, parseLabel, RUNNER_IMAGE } from '../config/runnergroup/words.ts';
import { REGISTRATION_SECRET } from '../shared/installed/names.ts';
import { durationMs, readList } from './flags/readers.ts';
import { lostNote, mayBeSecret } from './import-template.ts';

const KeyRef = z.looseObject({ name: z.string(), key: z.string() });
const Variable = z.looseObject({
  name: z.string(),
  value: z.string().optional(),
  valueFrom: z.looseObject({ secretKeyRef: KeyRef.optional() }).optional(),
});
/** Kubernetes takes `cpu: 0.5`; a quantity here is a string or a whole number. */
const Quantities = z.record(z.string(), z.coerce.string()).or(z.unknown()).optional();
const Container = z.looseObject({
  name: z.string(),
  image: z.string().default(''),
  env: z.array(Variable).default([]),
  volumeMounts: z.array(z.looseObject({ name: z.string(), mountPath: z.string() })).default([]),
  resources: z.looseObject({ requests: Quantities, limits: Quantities }).optional(),
});
const Volume = z.looseObject({
  name: z.string(),
  configMap: z.looseObject({ name: z.string() }).optional(),
  secret: z
    .looseObject({
      secretName: z.string(),
      items: z.array(z.looseObject({ key: z.string(), path: z.string() })).default([]),
    })
    .optional(),
});
export const PodSpec = z.looseObject({
  containers: z.array(Container).min(1),
  initContainers: z.array(Container).default([]),
  volumes: z.array(Volume).default([]),
  serviceAccountName: z.string().optional(),
});
export const Pod = z.looseObject({ metadata: z.looseObject({}).default({}), spec: PodSpec });
export type Pod = z.output<typeof Pod>;
type PodSpec = z.output<typeof PodSpec>;
type Container = z.output<typeof Container>;

/** Told by fields of the RunnerGroup, or of the old pod's docker: they mean nothing in a pod of ours. */
const HANDLED =
  /^(?:GITEA_(?:INSTANCE_URL|RUNNER_(?:REGISTRATION_TOKEN(?:_FILE)?|LABELS|NAME|EPHEMERAL))|CONFIG_FILE|DOCKER_(?:HOST|CERT_PATH|TLS_VERIFY|TLS_CERTDIR))$/;

function isPlainSecret({ name, value }: Container['env'][number]): boolean {
  return value !== undefined && mayBeSecret(name, value);
}

/**
 * Undefined: no container of this pod is a Gitea runner. `file`: its config.yaml, whose labels come first in the runner, too.
 * `podTemplate` is all that the old pod has and no other field tells: `fittingTemplate` takes away what a runner cannot have.
 */
export function fromPod({ metadata, spec: pod }: Pod, file?: FromRunnerFile) {
  const runner = pod.containers.find(isRunner);
  if (!runner) return undefined;
  const variable = (name: string): Container['env'][number] | undefined =>
    runner.env.find((each) => each.name === name);
  const token = variable('GITEA_RUNNER_REGISTRATION_TOKEN');
  const ofFile = file?.labels ?? [];
  const written = ofFile.length > 0 ? ofFile : readList(variable('GITEA_RUNNER_LABELS')?.value ?? '');
  const { kept: labels, note } = ofDefaultRunner(written.map((label) => label.trim()));
  const [containerMode, why] = modeOf(pod, runner, labels);
  const secretRef =
    token?.valueFrom?.secretKeyRef ??
    secretOfFile(pod, runner, variable('GITEA_RUNNER_REGISTRATION_TOKEN_FILE')?.value);
  const { name, key } = secretRef ?? { name: REGISTRATION_SECRET, key: 'registration-token' };
  const gitea = variable('GITEA_INSTANCE_URL')?.value?.trim();
  const { requests, limits, ...resources } = runner.resources ?? {};
  return {
    gitea: gitea !== undefined && /^https?:\/\/[^\s<>{}$?#@]+$/.test(gitea) ? gitea : undefined,
    spec: filled({
      ...withoutContainers(file?.spec ?? {}, containerMode),
      labels,
      // A runner that names its labels has no others.
      defaultLabels: labels.length > 0 ? false : undefined,
      containerMode,
      registrationToken: { secretRef: { name, key } },
      resources: filled({ requests, limits }),
      podTemplate: filled({
        metadata: filled({ labels: metadata['labels'], annotations: metadata['annotations'] }),
        spec: templateOf(pod, { ...runner, resources }, containerMode, file),
      }),
    }),
    notes: [
      ...why,
      ...(note === undefined ? [] : [note]),
      ...(file?.notes ?? []),
      ...notesOf(pod, runner, token?.value !== undefined, file),
    ],
  };
}

/** The Secret behind a file in a volume. */
function secretOfFile({ volumes }: PodSpec, { volumeMounts }: Container, file: string | undefined) {
  if (file === undefined) return undefined;
  for (const { name, mountPath } of volumeMounts) {
    const folder = `${mountPath.replace(/\/$/, '')}/`;
    const secret = volumes.find((volume) => volume.name === name)?.secret;
    if (!secret || !file.startsWith(folder)) continue;
    const path = file.slice(folder.length);
    return { name: secret.secretName, key: secret.items.find((item) => item.path === path)?.key ?? path };
  }
  return undefined;
}

function templateOf(pod: PodSpec, runner: Container, mode: Mode, file: FromRunnerFile | undefined) {
  const docker = dockerOf(pod, runner);
  const others = pod.initContainers.filter((each) => each !== docker);
  // The account has a note of its own, and our pods set the others.
  const withMounts = (container: Container): Container => {
    const lost = lostMounts(pod, container, file);
    return { ...container, volumeMounts: container.volumeMounts.filter((mount) => !lost.includes(mount)) };
  };
  const { securityContext: _security, serviceAccountName: _account, restartPolicy: _restart, ...parts } = pod;
  return filled({
    ...parts,
    volumes: pod.volumes.filter((volume) => isKept(volume, file)),
    containers: named([{ ...ourContainer(withMounts(runner)), name: 'runner' }]),
    initContainers: [
      ...(docker && mode === 'dind' ? named([{ ...ourContainer(withMounts(docker)), name: 'docker' }]) : []),
      ...others
        .map(withMounts)
        .map((container) => filled({ ...container, env: container.env.filter((each) => !isPlainSecret(each)) })),
    ],
  });
}

/** Persistent ones have a note, and the keys of a config.yaml that was read are fields. */
function isKept(volume: PodSpec['volumes'][number], file: FromRunnerFile | undefined): boolean {
  return !('persistentVolumeClaim' in volume) && (!file || volume.configMap?.name !== file.configMap);
}

/** A mount goes with its volume: a volume of our own may have the same name. */
function lostMounts(pod: PodSpec, { volumeMounts }: Container, file: FromRunnerFile | undefined) {
  const kept = new Set(pod.volumes.filter((volume) => isKept(volume, file)).map(({ name }) => name));
  return volumeMounts.filter(({ name }) => !kept.has(name));
}

/** Our image and security stay. A variable without a value is none. */
function ourContainer({ image: _image, securityContext: _security, env, ...others }: Container) {
  const isSaid = ({ value, valueFrom }: Container['env'][number]) => (value ?? valueFrom) !== undefined;
  return { ...others, env: env.filter((each) => !HANDLED.test(each.name) && isSaid(each) && !isPlainSecret(each)) };
}

/** Without those that say nothing but their name. */
function named(containers: readonly Readonly<Record<string, unknown>>[]): readonly Readonly<Record<string, unknown>>[] {
  return containers.map(filled).filter((container) => Object.keys(container).length > 1);
}

function dockerOf(pod: PodSpec, runner: Container): Container | undefined {
  return [...pod.containers, ...pod.initContainers].find((each) => each !== runner && DOCKER_IMAGE.test(each.image));
}

/** Containers have no place in mode host. */
function withoutContainers(spec: Readonly<Record<string, unknown>>, mode: Mode): Readonly<Record<string, unknown>> {
  const { container: _container, ...others } = Section.safeParse(spec['runnerConfig']).data ?? {};
  return mode === 'host' ? { ...spec, runnerConfig: others } : spec;
}

function isRunner({ image, env }: Container): boolean {
  if (RUNNER_IMAGE.test(image)) return true;
  return env.some(({ name }) => name === 'GITEA_INSTANCE_URL') && !OF_OTHERS.some(([others]) => others.test(image));
}

/** Runners of other forges, by their images. */
const OF_OTHERS: readonly (readonly [RegExp, string])[] = [
  [/forgejo/i, "Forgejo's"],
  [/github-runner|actions-runner|actions\/runner/i, "GitHub's"],
  [/gitlab-runner/i, "GitLab's"],
];

/** Whose runner a pod is that has none of Gitea. */
export function otherForge({ containers }: Pick<PodSpec, 'containers'>): string | undefined {
  return OF_OTHERS.find(([image]) => containers.some((each) => image.test(each.image)))?.[1];
}

type Mode = 'dind-rootless' | 'dind' | 'host';

function modeOf(pod: PodSpec, runner: Container, labels: readonly string[]): readonly [Mode, readonly string[]] {
  const usesSocket = pod.volumes.some((volume) => JSON.stringify(volume).includes('docker.sock'));
  if (runner.image.includes('dind-rootless')) return ['dind-rootless', []];
  if (dockerOf(pod, runner) || runner.image.includes('dind')) return ['dind', []];
  if (usesSocket)
    return ['dind-rootless', ['The docker socket of the node is not mounted: each runner has a dockerd of its own.']];
  if (labels.length > 0 && labels.every((label) => !label.includes(':docker:'))) return ['host', []];
  return ['dind-rootless', ['containerMode is a guess: no docker was found beside the runner.']];
}

function notesOf(
  pod: PodSpec,
  runner: Container,
  tokenIsWritten: boolean,
  file: FromRunnerFile | undefined,
): readonly string[] {
  const volumes = pod.volumes.filter((volume) => 'persistentVolumeClaim' in volume).map(({ name }) => name);
  const env = [...pod.containers, ...pod.initContainers].flatMap((container) => container.env);
  const secrets = env.filter((each) => !HANDLED.test(each.name) && isPlainSecret(each)).map(({ name }) => name);
  const docker = dockerOf(pod, runner);
  const images = [runner, ...(docker ? [docker] : [])].map(({ image }) => image).filter((image) => image !== '');
  const beside = pod.containers.filter((each) => each !== runner && each !== docker);
  const others = beside.filter((each) => !isRunner(each));
  const runners = beside.filter(isRunner).map(({ name }) => name);
  const mounts = [...pod.containers, ...pod.initContainers]
    .flatMap((container) => lostMounts(pod, container, file))
    .map(({ name, mountPath }) => `${mountPath} of ${name}`);
  const notes = [
    tokenIsWritten &&
      `The registration token stood in the manifest: revoke it, and put a new one into the Secret ${REGISTRATION_SECRET}.`,
    secrets.length > 0 &&
      `Plain values that may be secrets are not carried over: ${secrets.join(', ')}. Put them into a Secret.`,
    images.length > 0 && `Images are not carried over (${images.join(', ')}): runners have those of this version.`,
    volumes.length > 0 &&
      `Persistent volumes are not carried over (${volumes.join(', ')}): runners end with their CI job. See docs/cache.md.`,
    mounts.length > 0 && `Mounts are not carried over where their volume is not (${mounts.join(', ')}).`,
    runners.length > 0 &&
      `Other runners of the pod are not carried over (${runners.join(', ')}): make a RunnerGroup for each.`,
    others.length > 0 &&
      `Containers beside the runner are not carried over (${others.map(({ name }) => name).join(', ')}): add each to podTemplate.spec.initContainers, with restartPolicy: Always.`,
    pod.serviceAccountName !== undefined &&
      `serviceAccountName ${pod.serviceAccountName} is not carried over: a policy must allow it (docs/policy.md).`,
    [pod, runner, docker ?? {}].some((part) => 'securityContext' in part) &&
      'securityContext is not carried over: containerMode and securityProfile set it.',
    !file &&
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

/** Values with places, addresses and networks of the old pod. */
const OF_THE_OLD_POD: Readonly<Record<string, (value: unknown) => boolean>> = {
  'container.options': (value) =>
    /(?:^|\s)(?:-[ve]|--(?:volume|mount|env|network|net|link|device|add-host))/.test(String(value)),
  'container.valid_volumes': () => true,
  'container.network': (value) => !['host', 'bridge', 'none'].includes(String(value)),
};

/** What becomes of a key of a config.yaml. `silent`: it says nothing, or another field tells it. */
function fateOf(section: string, key: string, of: unknown): 'kept' | 'silent' | 'old' | 'lost' {
  const name = `${section}.${key}`;
  const isLeftOut = LEFT_OUT.has(name);
  if (of === '' || SILENT.has(name) || (of === false && isLeftOut)) return 'silent';
  if (OF_THE_OLD_POD[name]?.(of)) return 'old';
  const isKey = RunnerConfigKeys.safeParse({ [section]: { [key]: of } }).success;
  return isKey && !isLeftOut && !LEFT_OUT.has(section) ? 'kept' : 'lost';
}

/** Undefined: this is no config.yaml of a runner. @param configMap where it was found */
export function fromRunnerFile(value: unknown, configMap: string) {
  const read = RunnerFile.safeParse(value);
  if (!read.success) return undefined;
  const { labels, capacity, timeout } = read.data.runner;
  const kept: Record<string, Record<string, unknown>> = {};
  const old: string[] = [];
  const lost: string[] = [];
  for (const [section, keys] of Object.entries(read.data)) {
    for (const [key, of] of Object.entries(filled(Section.safeParse(keys).data ?? {}))) {
      const name = `${section}.${key}`;
      const fate = fateOf(section, key, of);
      if (fate === 'kept') kept[section] = { ...kept[section], [key]: of };
      if (fate === 'lost') lost.push(name);
      if (fate === 'old') old.push(lostNote(name, of, 'it names places, addresses or networks of the old pod'));
    }
  }
  return {
    configMap,
    labels: labels ?? [],
    /** CI jobs that one runner took at once. */
    capacity: capacity ?? 1,
    spec: filled({
      activeDeadlineSeconds: Math.round(durationMs(timeout ?? '') / 1000) || undefined,
      runnerConfig: kept,
    }),
    notes: [
      ...old,
      ...(lost.length > 0 ? [`Of the runner's config.yaml these are not carried over: ${lost.join(', ')}.`] : []),
    ],
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
