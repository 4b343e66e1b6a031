/** Makes the Job of a RunnerGroup of Kubernetes' own types. cdk8s-plus' `Job` has no sidecars and fields that ours lacks (docs/adr/0066). */
import { k8s } from 'cdk8s-plus-28';
import type { JobGroup, SecretKey } from '../config/runnergroup/runner-group.ts';
import { CREDENTIALS_KEY, groupLabels, REGISTER, RUNNER_CONFIG, type Texts } from '../shared/marks.ts';
import {
  type ModeParts,
  type Mount,
  modeParts,
  RUNNER_ID,
  runnerProgram,
  terminationGraceSeconds,
} from './container-mode.ts';
import * as init from './init-containers.ts';
import { type JobManifest, NAME_VARIABLE, sorted, withoutExpansion } from './job-manifest.ts';
import { jobDeadlineSeconds, runnerCommand } from './keep.ts';
import { podParts, preparation } from './proxy-and-ca.ts';
import { CONFIG_DIR, CONFIG_FILE, runnerConfig } from './runner-config-file.ts';

/** Volume with the registration: `register` writes it and the runner reads it. */
const DATA: Mount = { name: 'data', path: '/data' };

/** Keeps autoscalers from removing a runner's node to save it: they kill sooner than its grace period ends. */
const STAY: Texts = {
  'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false',
  'karpenter.sh/do-not-disrupt': 'true',
};

/**
 * The group's Job without what belongs to one runner: its name is empty, also in `GITEA_RUNNER_NAME`. Keys are sorted.
 * Same group, same bytes.
 *
 * `podReplacementPolicy: Failed`: a drained pod counts when it has ended, so a runner that finishes its CI job in the
 * grace period leaves a complete Job. `backoffLimit: 0`: a second pod would register a used-up name again.
 */
export function groupJob(group: JobGroup): JobManifest {
  const labels = groupLabels(group.name);
  const mode = modeParts(group);
  const job = k8s.KubeJob.manifest({
    metadata: { name: '', namespace: group.namespace, labels },
    spec: {
      activeDeadlineSeconds: jobDeadlineSeconds(group),
      backoffLimit: 0,
      completions: 1,
      parallelism: 1,
      podReplacementPolicy: 'Failed',
      template: {
        metadata: {
          annotations: { ...STAY, ...mode.annotations, [RUNNER_CONFIG]: runnerConfig(group) },
          labels,
        },
        spec: podSpec(group, mode),
      },
      ttlSecondsAfterFinished: group.ttlSecondsAfterFinished,
    },
  });
  return sorted(job) as JobManifest;
}

/** What the containers of one pod share. */
type PodParts = ReturnType<typeof partsOf>;

function partsOf(group: JobGroup, mode: ModeParts) {
  const registration = {
    [NAME_VARIABLE]: '',
    GITEA_RUNNER_LABELS: group.labels.map(({ text }) => text).join(','),
    CONFIG_FILE: group.cache ? init.SECRET_CONFIG_FILE : CONFIG_FILE,
  };
  const prepare = `${preparation(group)}${group.cache ? init.WRITE_SECRET_CONFIG : ''}${mode.prepare ?? ''}`;
  return {
    group,
    mode,
    added: podParts(group),
    /** Image and resources of our containers: a quota asks each for them, and a pod needs the largest, not the sum. */
    image: { image: group.image, ...resourcesOf(group) },
    config: { mountPath: CONFIG_DIR, name: 'config', readOnly: true },
    data: group.cache ? [DATA, init.SECRET_CONFIG] : [DATA],
    registration,
    registered: registrationParts(group, prepare, registration),
    hasRegister: group.registrationToken !== undefined || prepare !== '',
  };
}

/** Makes the pod. Parts that few groups have are at the ends of the lists: so the other groups' pods stay the same. */
function podSpec(group: JobGroup, mode: ModeParts): k8s.PodSpec {
  const parts = partsOf(group, mode);
  const { sidecar } = mode;
  const initContainers = [
    ...(sidecar ? [sidecarContainer(sidecar, parts)] : []),
    ...(group.setupCommand.length > 0 ? [setupContainer(parts)] : []),
    ...(parts.hasRegister ? [registerContainer(parts)] : []),
  ];
  return {
    automountServiceAccountToken: false,
    containers: [runnerContainer(parts)],
    enableServiceLinks: false,
    ...(initContainers.length > 0 && { initContainers }),
    restartPolicy: 'Never',
    securityContext: { fsGroup: RUNNER_ID },
    terminationGracePeriodSeconds: terminationGraceSeconds(group),
    volumes: [
      ...emptyDirs([...parts.data, ...(sidecar?.mounts ?? [])]),
      CONFIG_VOLUME,
      ...(sidecar?.files ? [sidecar.files.volume] : []),
      ...parts.added.volumes,
      ...parts.registered.credentials,
    ],
  };
}

/** Makes the sidecar. It starts while `register` runs. */
function sidecarContainer(sidecar: Required<ModeParts>['sidecar'], { added }: PodParts): k8s.Container {
  return {
    name: sidecar.name,
    image: sidecar.image,
    args: [...sidecar.args],
    env: [...literals(sidecar.env), ...added.dockerEnv],
    restartPolicy: 'Always',
    securityContext: sidecar.securityContext,
    volumeMounts: [...mounts(sidecar.mounts), ...(sidecar.files?.mounts ?? []), ...added.mounts],
  };
}

/** Runs `setupCommand` with the runner's docker and folders, and no token, before `register` writes the CAs. */
function setupContainer({ group, mode, added, image, config }: PodParts): k8s.Container {
  return {
    ...image,
    name: init.SETUP,
    command: [...init.setupCommand(group.setupCommand)],
    env: [...literals(mode.env), ...added.dockerEnv],
    securityContext: mode.registerSecurityContext,
    // The last lines of its output are in the pod's status when it fails.
    terminationMessagePolicy: 'FallbackToLogsOnError',
    volumeMounts: [...mounts([DATA, ...mode.mounts]), config, ...added.mounts],
    workingDir: DATA.path,
  };
}

/** Prepares the runner's folders, and registers the runner unless `serve` does. */
function registerContainer({ group, mode, added, image, config, data, registered }: PodParts): k8s.Container {
  return {
    ...image,
    name: registered.by,
    command: [...registered.command],
    env: [
      ...registered.env,
      ...(group.cache ? [fromSecret(init.CACHE_SECRET_VARIABLE, group.cache.secretRef)] : []),
      ...added.env,
    ],
    securityContext: mode.registerSecurityContext,
    volumeMounts: [...mounts([...data, ...(mode.registerMounts ?? [])]), config, ...added.registerMounts],
  };
}

/** The runner's container. It has no registration token: every CI job can read the environment of its container. */
function runnerContainer({
  group,
  mode,
  added,
  image,
  config,
  data,
  registered,
  registration,
}: PodParts): k8s.Container {
  const command = runnerCommand(group);
  const credentials = registered.credentials.map(({ name }) => ({ ...CREDENTIALS_PATH, name }));
  return {
    ...image,
    name: 'runner',
    ...(command && { command: [...command] }),
    env: [
      ...literals({ GITEA_INSTANCE_URL: group.giteaUrl, GITEA_RUNNER_EPHEMERAL: 'true', ...registration, ...mode.env }),
      ...added.env,
    ],
    ...(mode.preStop && { lifecycle: { preStop: { exec: { command: [...mode.preStop] } } } }),
    securityContext: mode.securityContext,
    volumeMounts: [...mounts([...data, ...mode.mounts]), config, ...added.mounts, ...credentials],
  };
}

/** Returns the parts that depend on who registers. @param prepare shell lines that run before the runner starts */
function registrationParts({ giteaUrl, image, registrationToken: token }: JobGroup, prepare: string, names: Texts) {
  if (!token)
    return {
      by: init.PREPARE,
      command: init.prepareCommand(prepare),
      env: literals({ CONFIG_FILE: names['CONFIG_FILE'] ?? '' }),
      credentials: [CREDENTIALS_VOLUME],
    };
  return {
    by: REGISTER,
    command: init.registerCommand(runnerProgram(image), prepare),
    env: [
      ...literals({ GITEA_INSTANCE_URL: giteaUrl }),
      fromSecret(init.TOKEN_VARIABLE, token),
      fromSecret(init.BOUND_VARIABLE, { name: token.name, key: init.BOUND_KEY }, { optional: true }),
      ...literals(names),
    ],
    credentials: [],
  };
}

/** The Secret has the name of the Job, which the template lacks. A pod that comes before it waits for it. */
const CREDENTIALS_VOLUME: k8s.Volume = {
  name: 'credentials',
  secret: { defaultMode: 0o440, items: [{ key: CREDENTIALS_KEY, path: CREDENTIALS_KEY }], secretName: '' },
};

/** `scripts/run.sh` of the runner's image finds it there, and registers nothing. */
const CREDENTIALS_PATH = { mountPath: `${DATA.path}/${CREDENTIALS_KEY}`, readOnly: true, subPath: CREDENTIALS_KEY };

const CONFIG_VOLUME: k8s.Volume = {
  name: 'config',
  downwardApi: {
    items: [{ fieldRef: { fieldPath: `metadata.annotations['${RUNNER_CONFIG}']` }, path: 'config.yaml' }],
  },
};

function literals(variables: Texts): readonly k8s.EnvVar[] {
  return Object.entries(variables).map(([name, text]) => ({ name, value: withoutExpansion(text) }));
}

function fromSecret(variable: string, { name, key }: SecretKey, options: { optional?: boolean } = {}): k8s.EnvVar {
  return { name: variable, valueFrom: { secretKeyRef: { name, key, ...options } } };
}

function mounts(folders: readonly Mount[]): readonly k8s.VolumeMount[] {
  return folders.map(({ name, path }) => ({ name, mountPath: path }));
}

function emptyDirs(folders: readonly Mount[]): readonly k8s.Volume[] {
  const inMemory = { medium: 'Memory', sizeLimit: k8s.Quantity.fromString('1Mi') };
  return folders.map(({ name, memory }) => ({ name, emptyDir: memory ? inMemory : {} }));
}

/** Returns the requested resources only. */
function resourcesOf({ resources }: JobGroup): { readonly resources?: k8s.ResourceRequirements } {
  const filledResources = Object.entries(resources).filter(([, quantities]) => Object.keys(quantities).length > 0);
  const typed = filledResources.map(([kind, quantities]) => [
    kind,
    Object.fromEntries(Object.entries(quantities).map(([name, text]) => [name, k8s.Quantity.fromString(text)])),
  ]);
  return typed.length === 0 ? {} : { resources: Object.fromEntries(typed) };
}
