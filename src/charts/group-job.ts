/**
 * The Job of a RunnerGroup, made with cdk8s-plus and corrected where that cannot say what we need or says what nobody asked for.
 * The single source of what a Job looks like.
 */
import { ApiObject, type Chart, Duration, JsonPatch } from 'cdk8s';
import * as kplus from 'cdk8s-plus-28';
import type { RunnerGroup } from '../runnergroup/runner-group.ts';
import {
  type Json,
  type ModeParts,
  type Mount,
  modeParts,
  RUNNER_ID,
  type Sidecar,
  STOP_MARGIN_SECONDS,
} from './container-mode.ts';
import { type JobManifest, NAME_VARIABLE, sorted, withoutExpansion } from './job-manifest.ts';
import { groupLabels, REGISTER, RUNNER_CONFIG, type Texts } from './marks.ts';
import { BOUND_KEY, BOUND_VARIABLE, REGISTER_COMMAND, TOKEN_VARIABLE } from './registration.ts';
import { CONFIG_DIR, CONFIG_FILE, runnerConfig } from './runner-config.ts';

/** What `register` writes and the runner reads. A volume, because the image's own layer is not shared and is empty after a restart. */
const DATA: Mount = { name: 'data', path: '/data' };

/**
 * Makes the group's Job below the group's chart. Returns its manifest with everything but what belongs to one runner: the name is
 * empty, in the metadata and in `GITEA_RUNNER_NAME`. Keys are sorted. Same group, same bytes.
 */
export function groupJob(chart: Chart, group: RunnerGroup): JobManifest {
  const parts = modeParts(group);
  const volumes = new Map<string, kplus.Volume>();
  const mount = ({ name, path }: Mount): kplus.VolumeMount => {
    const volume = volumes.get(name) ?? kplus.Volume.fromEmptyDir(chart, `volume-${name}`, name);
    volumes.set(name, volume);
    return { path, volume };
  };
  const job = new kplus.Job(chart, 'job', {
    metadata: { name: 'runner', namespace: group.namespace, labels: groupLabels(group.name) },
    podMetadata: {
      labels: groupLabels(group.name),
      annotations: { ...STAY, [RUNNER_CONFIG]: runnerConfig(group) },
    },
    activeDeadline: Duration.seconds(group.activeDeadlineSeconds),
    backoffLimit: 0,
    ttlAfterFinished: Duration.seconds(group.ttlSecondsAfterFinished),
    restartPolicy: kplus.RestartPolicy.NEVER,
    automountServiceAccountToken: false,
    terminationGracePeriod: Duration.seconds(group.gracefulStopSeconds + STOP_MARGIN_SECONDS),
    // The sidecar first: it starts while the other one registers.
    initContainers: [
      ...(parts.sidecar ? [sidecarContainer(parts.sidecar, mount)] : []),
      {
        name: REGISTER,
        image: group.image,
        command: [...REGISTER_COMMAND],
        envVariables: registerEnvironment(group, chart),
        volumeMounts: [DATA].map(mount),
      },
    ],
    containers: [
      {
        name: 'runner',
        image: group.image,
        envVariables: environment(group, parts.env),
        volumeMounts: [DATA, ...parts.mounts].map(mount),
      },
    ],
  });
  // Not addJsonPatch: cdk8s-plus renders the patched object once more and drops every field it does not know.
  const corrections = [
    ...jobCorrections(),
    ...registerCorrections(group, parts),
    ...runnerCorrections(group, parts),
    ...sidecarCorrections(parts.sidecar),
  ];
  return sorted(JsonPatch.apply(ApiObject.of(job).toJson(), ...corrections)) as JobManifest;
}

/**
 * A node is not emptied while a runner is on it, just to save the node: the cluster autoscaler kills after 10 minutes, whatever the grace
 * period (its FAQ, "safe-to-evict", "max-graceful-termination-sec"), and Karpenter at its own time (docs, "karpenter.sh/do-not-disrupt").
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
    CONFIG_FILE: literal(CONFIG_FILE),
  };
}

/** Without the registration token: what a container has in its environment, every CI job in it can read. */
function environment(group: RunnerGroup, ofMode: Texts): Record<string, kplus.EnvValue> {
  const fixed = Object.entries({ CONFIG_FILE, ...ofMode }).map(([variable, text]) => [variable, literal(text)]);
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

const POD = '/spec/template/spec';

/**
 * `podReplacementPolicy: Failed`: a drained or preempted pod counts when it has ended, not when it is asked to end, so a
 * runner that finishes its CI job in the grace period leaves a complete Job. No podFailurePolicy: with `backoffLimit: 0`
 * every failure is final, which is wanted, because a second pod would register a used-up name again.
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

/** The resources are the runner's: a quota asks every container for them, and a pod needs the larger of the two, not the sum. */
function registerCorrections(group: RunnerGroup, parts: ModeParts): readonly JsonPatch[] {
  return imageCorrections(`${POD}/initContainers/${parts.sidecar ? 1 : 0}`, group, parts.registerSecurityContext);
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
