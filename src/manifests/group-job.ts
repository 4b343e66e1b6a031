/**
 * The Job of a RunnerGroup, made with cdk8s-plus and corrected where that cannot say what we need or says what nobody asked for.
 * The single source of what a Job looks like.
 */
import { type Chart, Duration, Size } from 'cdk8s';
import * as kplus from 'cdk8s-plus-28';
import type { RunnerGroup, SecretKey } from '../config/runnergroup/runner-group.ts';
import { groupLabels, REGISTER, RUNNER_CONFIG, type Texts } from '../shared/marks.ts';
import { CACHE_SECRET_VARIABLE, SECRET_CONFIG, SECRET_CONFIG_FILE, WRITE_SECRET_CONFIG } from './cache.ts';
import {
  type Json,
  type ModeParts,
  type Mount,
  modeParts,
  RUNNER_ID,
  runnerProgram,
  type Sidecar,
  terminationGraceSeconds,
} from './container-mode.ts';
import { type JobManifest, NAME_VARIABLE, sorted, withoutExpansion } from './job-manifest.ts';
import { JsonPatch } from './json-patch.ts';
import { jobDeadlineSeconds, runnerCommand } from './keep.ts';
import { podParts, preparation } from './proxy-and-ca.ts';
import { BOUND_KEY, BOUND_VARIABLE, registerCommand, TOKEN_VARIABLE } from './registration.ts';
import { CONFIG_DIR, CONFIG_FILE, runnerConfig } from './runner-config.ts';
import { SETUP, setupCommand } from './setup.ts';

const IN_MEMORY: kplus.EmptyDirVolumeOptions = { medium: kplus.EmptyDirMedium.MEMORY, sizeLimit: Size.mebibytes(1) };

/** What `register` writes and the runner reads. A volume, because the image's own layer is not shared and is empty after a restart. */
const DATA: Mount = { name: 'data', path: '/data' };

/** A Job that renders what it holds and no more. `ApiObject.toJson` asks three resolvers about each value, and none of ours needs one. */
class RunnerJob extends kplus.Job {
  /** Of cdk8s-plus, which does not publish it. */
  declare _toKube: () => kplus.k8s.JobSpec;

  render(): object {
    return kplus.k8s.KubeJob.manifest({ metadata: this.metadata.toJson(), spec: this._toKube() });
  }
}

/**
 * Makes the group's Job below the group's chart. Returns its manifest with everything but what belongs to one runner: the name is
 * empty, in the metadata and in `GITEA_RUNNER_NAME`. Keys are sorted. Same group, same bytes.
 */
export function groupJob(chart: Chart, group: RunnerGroup): JobManifest {
  const parts = modeParts(group);
  const volumes = new Map<string, kplus.Volume>();
  const mount = ({ name, path, memory }: Mount): kplus.VolumeMount => {
    const volume =
      volumes.get(name) ?? kplus.Volume.fromEmptyDir(chart, `volume-${name}`, name, memory ? IN_MEMORY : {});
    volumes.set(name, volume);
    return { path, volume };
  };
  const command = runnerCommand(group);
  const data = group.cache ? [DATA, SECRET_CONFIG] : [DATA];
  const job = new RunnerJob(chart, 'job', {
    metadata: { name: 'runner', namespace: group.namespace, labels: groupLabels(group.name) },
    podMetadata: {
      labels: groupLabels(group.name),
      annotations: { ...STAY, [RUNNER_CONFIG]: runnerConfig(group) },
    },
    activeDeadline: Duration.seconds(jobDeadlineSeconds(group)),
    backoffLimit: 0,
    ttlAfterFinished: Duration.seconds(group.ttlSecondsAfterFinished),
    restartPolicy: kplus.RestartPolicy.NEVER,
    automountServiceAccountToken: false,
    terminationGracePeriod: Duration.seconds(terminationGraceSeconds(group)),
    // The sidecar first: it starts while the other one registers.
    initContainers: [
      ...(parts.sidecar ? [sidecarContainer(parts.sidecar, mount)] : []),
      ...(group.setupCommand.length > 0 ? [setupContainer(group, parts, mount)] : []),
      {
        name: REGISTER,
        image: group.image,
        command: [...registerCommand(runnerProgram(group.image), registerPreparation(group))],
        envVariables: registerEnvironment(group, chart),
        volumeMounts: data.map(mount),
      },
    ],
    containers: [
      {
        name: 'runner',
        image: group.image,
        ...(command && { command: [...command] }),
        envVariables: environment(group, parts.env),
        volumeMounts: [...data, ...parts.mounts].map(mount),
      },
    ],
  });
  // Not addJsonPatch: cdk8s-plus renders the patched object once more and drops every field it does not know.
  const corrections = [
    ...jobCorrections(),
    ...setupCorrections(group, parts),
    ...registerCorrections(group, parts),
    ...runnerCorrections(group, parts),
    ...sidecarCorrections(parts.sidecar),
    ...proxyAndCaCorrections(group, parts),
  ];
  return sorted(JsonPatch.apply(job.render(), ...corrections)) as JobManifest;
}

/**
 * A node is not emptied just to save it while a runner is on it. Whatever the grace period is, the cluster autoscaler kills after 10 minutes
 * (its FAQ, "safe-to-evict", "max-graceful-termination-sec"), and Karpenter at a time of its own (docs, "karpenter.sh/do-not-disrupt").
 */
const STAY: Texts = {
  'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false',
  'karpenter.sh/do-not-disrupt': 'true',
};

function literal(text: string): kplus.EnvValue {
  return kplus.EnvValue.fromValue(withoutExpansion(text));
}

function registerEnvironment(group: RunnerGroup, chart: Chart): Record<string, kplus.EnvValue> {
  const { name, key } = group.registrationToken;
  const secret = kplus.Secret.fromSecretName(chart, 'registration-token', name);
  return {
    GITEA_INSTANCE_URL: literal(group.giteaUrl),
    [TOKEN_VARIABLE]: kplus.EnvValue.fromSecretValue({ secret, key }),
    [BOUND_VARIABLE]: kplus.EnvValue.fromSecretValue({ secret, key: BOUND_KEY }, { optional: true }),
    [NAME_VARIABLE]: literal(''),
    GITEA_RUNNER_LABELS: literal(labelList(group)),
    CONFIG_FILE: literal(configFile(group)),
    ...(group.cache && { [CACHE_SECRET_VARIABLE]: cacheSecret(group.cache.secretRef, chart) }),
  };
}

function cacheSecret({ name, key }: SecretKey, chart: Chart): kplus.EnvValue {
  return kplus.EnvValue.fromSecretValue({ secret: kplus.Secret.fromSecretName(chart, 'cache-secret', name), key });
}

/** What the container `register` does first. */
function registerPreparation(group: RunnerGroup): string {
  return `${preparation(group)}${group.cache ? WRITE_SECRET_CONFIG : ''}`;
}

/** What `scripts/run.sh` hands to the runner. */
function configFile({ cache }: RunnerGroup): string {
  return cache ? SECRET_CONFIG_FILE : CONFIG_FILE;
}

/** Without the registration token: what a container has in its environment, every CI job in it can read. */
function environment(group: RunnerGroup, ofMode: Texts): Record<string, kplus.EnvValue> {
  const fixed = Object.entries({ CONFIG_FILE: configFile(group), ...ofMode }).map(([variable, text]) => [
    variable,
    literal(text),
  ]);
  return {
    GITEA_INSTANCE_URL: literal(group.giteaUrl),
    GITEA_RUNNER_EPHEMERAL: literal('true'),
    [NAME_VARIABLE]: literal(''),
    GITEA_RUNNER_LABELS: literal(labelList(group)),
    ...Object.fromEntries(fixed),
  };
}

function labelList({ labels }: RunnerGroup): string {
  return labels.map((label) => label.text).join(',');
}

function sidecarContainer(sidecar: Sidecar, mount: (mount: Mount) => kplus.VolumeMount): kplus.ContainerProps {
  const variables = Object.entries(sidecar.env).map(([variable, text]) => [variable, literal(text)]);
  return {
    name: sidecar.name,
    image: sidecar.image,
    args: [...sidecar.args],
    envVariables: Object.fromEntries(variables),
    volumeMounts: sidecar.mounts.map(mount),
  };
}

/** Has what the runner has of docker and of folders, and no token. */
function setupContainer(
  group: RunnerGroup,
  parts: ModeParts,
  mount: (mount: Mount) => kplus.VolumeMount,
): kplus.ContainerProps {
  const variables = Object.entries(parts.env).map(([variable, text]) => [variable, literal(text)]);
  return {
    name: SETUP,
    image: group.image,
    command: [...setupCommand(group.setupCommand)],
    workingDir: DATA.path,
    envVariables: Object.fromEntries(variables),
    volumeMounts: [DATA, ...parts.mounts].map(mount),
  };
}

const POD = '/spec/template/spec';

/**
 * `podReplacementPolicy: Failed`: a drained or preempted pod counts when it has ended, not when it is asked to end. So a runner
 * that finishes its CI job in the grace period leaves a complete Job. There is no podFailurePolicy: with `backoffLimit: 0` every
 * failure is final. That is wanted, because a second pod would register a used-up name again.
 */
function jobCorrections(): readonly JsonPatch[] {
  return [
    JsonPatch.add('/metadata/name', ''),
    JsonPatch.remove('/spec/template/metadata/labels/cdk8s.io~1metadata.addr'),
    JsonPatch.add('/spec/completions', 1),
    JsonPatch.add('/spec/parallelism', 1),
    JsonPatch.add('/spec/podReplacementPolicy', 'Failed'),
    JsonPatch.add(`${POD}/enableServiceLinks`, false),
    JsonPatch.remove(`${POD}/dnsPolicy`),
    JsonPatch.remove(`${POD}/hostNetwork`),
    JsonPatch.remove(`${POD}/setHostnameAsFQDN`),
    JsonPatch.add(`${POD}/securityContext`, { fsGroup: RUNNER_ID }),
    JsonPatch.add(`${POD}/volumes/-`, {
      downwardAPI: {
        items: [{ fieldRef: { fieldPath: `metadata.annotations['${RUNNER_CONFIG}']` }, path: 'config.yaml' }],
      },
      name: 'config',
    }),
  ];
}

/** Its last lines stand in the pod's status when it fails. */
function setupCorrections(group: RunnerGroup, parts: ModeParts): readonly JsonPatch[] {
  if (group.setupCommand.length === 0) return [];
  const setup = `${POD}/initContainers/${parts.sidecar ? 1 : 0}`;
  return [
    ...imageCorrections(setup, group, parts.registerSecurityContext),
    JsonPatch.add(`${setup}/terminationMessagePolicy`, 'FallbackToLogsOnError'),
  ];
}

/** The resources are the runner's: a quota asks every container for them, and a pod needs the larger of the two, not the sum. */
function registerCorrections(group: RunnerGroup, parts: ModeParts): readonly JsonPatch[] {
  const register = `${POD}/initContainers/${registerIndex(group, parts.sidecar)}`;
  return imageCorrections(register, group, parts.registerSecurityContext);
}

function registerIndex(group: RunnerGroup, sidecar: Sidecar | undefined): number {
  return (sidecar ? 1 : 0) + (group.setupCommand.length > 0 ? 1 : 0);
}

function runnerCorrections(group: RunnerGroup, parts: ModeParts): readonly JsonPatch[] {
  const runner = `${POD}/containers/0`;
  const patches = [...imageCorrections(runner, group, parts.securityContext)];
  if (parts.preStop)
    patches.push(JsonPatch.add(`${runner}/lifecycle`, { preStop: { exec: { command: parts.preStop } } }));
  return patches;
}

/** Of the two containers that run the runner's image. */
function imageCorrections(container: string, group: RunnerGroup, securityContext: Json): readonly JsonPatch[] {
  return [
    JsonPatch.remove(`${container}/imagePullPolicy`),
    JsonPatch.add(`${container}/securityContext`, securityContext),
    resources(container, group),
    JsonPatch.add(`${container}/volumeMounts/-`, { mountPath: CONFIG_DIR, name: 'config', readOnly: true }),
  ];
}

/** Only what was asked for: no default of cdk8s-plus and none of ours. */
function resources(container: string, { resources: { requests, limits } }: RunnerGroup): JsonPatch {
  const wanted = Object.entries({ limits, requests }).filter(([, quantities]) => Object.keys(quantities).length > 0);
  if (wanted.length === 0) return JsonPatch.remove(`${container}/resources`);
  return JsonPatch.add(`${container}/resources`, Object.fromEntries(wanted));
}

function sidecarCorrections(sidecar: Sidecar | undefined): readonly JsonPatch[] {
  if (!sidecar) return [];
  const container = `${POD}/initContainers/0`;
  return [
    JsonPatch.remove(`${container}/imagePullPolicy`),
    JsonPatch.remove(`${container}/resources`),
    JsonPatch.add(`${container}/restartPolicy`, 'Always'),
    JsonPatch.add(`${container}/securityContext`, sidecar.securityContext),
  ];
}

/** At the ends of the lists: what is there for a group without these fields stays as it is. */
function proxyAndCaCorrections(group: RunnerGroup, { sidecar }: ModeParts): readonly JsonPatch[] {
  const { env, dockerEnv, volumes, registerMounts, mounts } = podParts(group);
  const append = (list: string, items: readonly unknown[]): readonly JsonPatch[] =>
    items.map((item) => JsonPatch.add(`${POD}/${list}/-`, item));
  const hasSetup = group.setupCommand.length > 0;
  const setup = `initContainers/${sidecar ? 1 : 0}`;
  const register = `initContainers/${registerIndex(group, sidecar)}`;
  return [
    ...append('volumes', volumes),
    // It runs before `register` writes the bundle.
    ...(hasSetup ? append(`${setup}/env`, dockerEnv) : []),
    ...(hasSetup ? append(`${setup}/volumeMounts`, mounts) : []),
    ...append(`${register}/env`, env),
    ...append(`${register}/volumeMounts`, registerMounts),
    ...append('containers/0/env', env),
    ...append('containers/0/volumeMounts', mounts),
    ...(sidecar ? append('initContainers/0/env', dockerEnv) : []),
    ...(sidecar ? append('initContainers/0/volumeMounts', mounts) : []),
  ];
}
