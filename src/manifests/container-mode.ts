/**
 * Gives each `containerMode` its docker daemon and the privileges of the runner container.
 *
 *   dind-rootless  one container: s6 runs dockerd and the runner, uid 1000, privileged (as the runner's own example)
 *   dind           two containers: dockerd as native sidecar, privileged; the runner is uid 1000 with nothing
 *   buildkit       two containers: no docker; rootless BuildKit as native sidecar, unconfined (docs/adr/0073)
 *   host           one container: no docker; CI steps run in it as uid 1000 with nothing
 */
import type { k8s } from 'cdk8s-plus-28';
import type { JobGroup } from '../config/runnergroup/runner-group.ts';
import { SUBORDINATE_IDS, type Texts } from '../shared/marks.ts';

/** A pod volume that is an `emptyDir`, and where a container sees it. `memory`: it is in the node's memory, 1 MiB at most, and never on a disk. */
export type Mount = Readonly<{ name: string; path: string; memory?: boolean }>;

export interface ModeParts {
  readonly env: Texts;
  readonly mounts: readonly Mount[];
  readonly securityContext: k8s.SecurityContext;
  /** Annotations of the pod. */
  readonly annotations?: Texts;
  /** Shell lines of the init container that registers: what must be there before a runner may take a CI job. */
  readonly prepare?: string;
  /** Mounts of the sidecar's folders for these lines. */
  readonly registerMounts?: readonly Mount[];
  /** For the init container that registers. It has the runner's user, who must read its files, and no privileges. */
  readonly registerSecurityContext: k8s.SecurityContext;
  /** preStop command of the runner container. */
  readonly preStop?: readonly string[];
  /** A native sidecar (Kubernetes 1.29+): an init container that runs on and is stopped after the runner has ended. */
  readonly sidecar?: {
    readonly name: string;
    readonly image: string;
    readonly args: readonly string[];
    readonly env: Texts;
    readonly securityContext: k8s.SecurityContext;
    readonly mounts: readonly Mount[];
    /** Further mounts, and volumes that are not an `emptyDir`. */
    readonly files?: { readonly mounts: readonly k8s.VolumeMount[]; readonly volume: k8s.Volume };
  };
}

/** Docker of runner 1.0.8's own dind images. Its container is privileged, so it is named by digest (of 2026-05-22). */
const DOCKER_IMAGE = 'docker:29.5.2-dind@sha256:6b9cd914eb9c6b342c040a49a27a5eb3804453bae6ecc90f7ff96133595a95e8';
/** The user of the dind-rootless image; also the group of every volume, so that this user may write there. */
export const RUNNER_ID = 1000;
/** The runner's example shares /var/run. A folder of its own keeps dockerd's other files from the runner. */
const SOCKET: Mount = { name: 'docker-socket', path: '/run/docker-socket' };
const SOCKET_URL = `unix://${SOCKET.path}/docker.sock`;

/** The container has no privileges, and the user that its image names. */
const UNPRIVILEGED: k8s.SecurityContext = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  seccompProfile: { type: 'RuntimeDefault' },
};
/** Level "restricted". The image names no user, and uid 1000 has no HOME there, which caches and git need. */
const CONFINED = {
  env: { HOME: '/data' },
  securityContext: { ...UNPRIVILEGED, runAsGroup: RUNNER_ID, runAsNonRoot: true, runAsUser: RUNNER_ID },
};

/** The runner's program, and its service in the dind-rootless image. Older ones are called `act_runner`. */
export function runnerProgram(image: string): string {
  return /(?:^|\/)act_runner(?:[:@]|$)/.test(image) ? 'act_runner' : 'gitea-runner';
}

/** Returns what a group's `containerMode` adds to its pods. */
export function modeParts(group: JobGroup): ModeParts {
  const { env, securityContext } = CONFINED;
  const confined = { securityContext, registerSecurityContext: securityContext };
  switch (group.containerMode) {
    case 'dind-rootless':
      return dindRootless(group);
    case 'dind':
      return { env: { DOCKER_HOST: SOCKET_URL, ...env }, mounts: [SOCKET], ...confined, sidecar: dockerd(group) };
    case 'buildkit':
      return { ...buildkit(group), ...confined, env: { ...env, ...BUILD_CLIENTS } };
    case 'host':
      return { env, mounts: [], ...confined };
    default:
      return group.containerMode satisfies never;
  }
}

/**
 * The image's own entry point (runner 1.0.8), but for two of its services:
 *
 *   s6-notifyoncheck  would ask dockerd for 7 s only, and the runner would then wait for ever
 *   s6-svwait         fails if the runner's service is quicker than s6: the runner would take a CI job without docker
 */
export const ROOTLESS_COMMAND: readonly string[] = [
  'sh',
  '-c',
  `sed -i 's/s6-notifyoncheck /&-n 0 /; s/^s6-svwait .*/until &; do sleep 1; done/' /etc/s6/*/run; exec "$@"`,
  'sh',
  's6-svscan',
  '/etc/s6',
];

/**
 * `XDG_DATA_HOME` moves docker's data into the /data volume. In the container's layer overlayfs would lie on overlayfs,
 * and a volume at docker's usual folder belongs to root. The preStop command ends the runner alone and waits for it:
 * without it SIGTERM would stop dockerd under the last CI job.
 */
function dindRootless(group: JobGroup): ModeParts {
  const waitMs = shutdownSeconds(group) * 1000;
  return {
    env: { DOCKER_HOST: `unix:///run/user/${RUNNER_ID}/docker.sock`, XDG_DATA_HOME: '/data' },
    mounts: [],
    securityContext: { privileged: true },
    registerSecurityContext: UNPRIVILEGED,
    preStop: ['s6-svc', '-wd', '-T', String(waitMs), '-d', `/etc/s6/${runnerProgram(group.image)}`],
  };
}

/** The sidecar with dockerd. Without a startup probe it starts while the runner registers, which then waits for it. */
function dockerd({ dockerImage = DOCKER_IMAGE }: JobGroup): Required<ModeParts>['sidecar'] {
  return {
    name: 'docker',
    image: dockerImage,
    // Without the word "dockerd" the image's entry point adds a TCP listener.
    args: ['dockerd', `--host=${SOCKET_URL}`, `--group=${RUNNER_ID}`],
    env: { DOCKER_HOST: SOCKET_URL },
    securityContext: { privileged: true },
    mounts: [SOCKET, { name: 'docker-data', path: '/var/lib/docker' }],
  };
}

/** The release that the tests run. No digest: it was not known when this was written. */
const BUILDKIT_IMAGE = 'moby/buildkit:v0.34.2-rootless';
const BUILDKIT = 'buildkit';
const BUILDKIT_SOCKET: Mount = { name: 'buildkit-socket', path: '/run/buildkit' };
const BUILDKIT_URL = `unix://${BUILDKIT_SOCKET.path}/buildkitd.sock`;
/** Folder in HOME of BuildKit's image. On the image's own layer, overlayfs would lie on overlayfs. */
const BUILDKIT_DATA: Mount = { name: 'buildkit-data', path: '/home/user/.local/share/buildkit' };
/** `buildctl` reads the first one; `docker buildx build` uses the builder that `prepare` writes down. */
const BUILD_CLIENTS = { BUILDKIT_HOST: BUILDKIT_URL, BUILDX_BUILDER: BUILDKIT, BUILDX_CONFIG: '/data/.buildx' };
/** The builder as `docker buildx create --driver remote` writes it (buildx, `store/nodegroup.go`). */
const BUILDER = { Name: BUILDKIT, Driver: 'remote', Nodes: [{ Name: `${BUILDKIT}0`, Endpoint: BUILDKIT_URL }] };
/** Slow nodes unpack, and make a user namespace, in some seconds. */
const BUILDKIT_SECONDS = 60;

/** A CI job would fail at once without its builder, so a runner without one takes none. */
const PREPARE_BUILDKIT = `mkdir -p ${BUILD_CLIENTS.BUILDX_CONFIG}/instances &&
  printf %s '${JSON.stringify(BUILDER)}' > ${BUILD_CLIENTS.BUILDX_CONFIG}/instances/${BUILDKIT} || exit 1
pauses=0
until [ -S ${BUILDKIT_SOCKET.path}/buildkitd.sock ]; do
  if [ $((pauses += 1)) -gt ${BUILDKIT_SECONDS * 5} ]; then
    echo "Not registered: BuildKit did not start within ${BUILDKIT_SECONDS} seconds. The log of container ${BUILDKIT} says why." >&2
    exit 1
  fi
  sleep 0.2
done
`;

/** True if the pod template asks for a user namespace (Kubernetes 1.33+). */
function isInUserNamespace({ podTemplate }: JobGroup): boolean {
  const spec = podTemplate?.['spec'] as { readonly hostUsers?: unknown } | null | undefined;
  return spec?.hostUsers === false;
}

/** Ids that a build may use, of the pod's (0 to 65535): not 0, and not BuildKit's own. */
const IDS_IN_POD = [`${RUNNER_ID}:1:${RUNNER_ID - 1}`, `${RUNNER_ID}:${RUNNER_ID + 1}:${65_535 - RUNNER_ID}`, ''].join(
  '\n',
);

/** The two files with these ids have the same text. It comes from an annotation, which needs no further object. */
const ID_FILES: Required<Required<ModeParts>['sidecar']>['files'] = {
  mounts: ['subuid', 'subgid'].map((file) => ({
    mountPath: `/etc/${file}`,
    name: 'subordinate-ids',
    readOnly: true,
    subPath: 'ids',
  })),
  volume: {
    name: 'subordinate-ids',
    downwardApi: { items: [{ fieldRef: { fieldPath: `metadata.annotations['${SUBORDINATE_IDS}']` }, path: 'ids' }] },
  },
};

/**
 * Rootless BuildKit makes a user namespace: newuidmap needs both capabilities and a way to get them, and the default
 * profiles of seccomp and AppArmor forbid it. A pod with securityProfile `baseline` may not drop these profiles, so it
 * has what its node gives. Without a process sandbox: a build step cannot have a /proc where parts of it are masked.
 */
function buildkit(group: JobGroup) {
  const { buildkitImage = BUILDKIT_IMAGE, securityProfile = 'privileged' } = group;
  const isUnconfined = securityProfile === 'privileged';
  const hasOwnIds = isInUserNamespace(group);
  return {
    annotations: {
      // The field is newer than the types of cdk8s-plus-28. The API server (1.30+) copies this to it.
      ...(isUnconfined && { [`container.apparmor.security.beta.kubernetes.io/${BUILDKIT}`]: 'unconfined' }),
      ...(hasOwnIds && { [SUBORDINATE_IDS]: IDS_IN_POD }),
    },
    mounts: [BUILDKIT_SOCKET],
    prepare: PREPARE_BUILDKIT,
    registerMounts: [BUILDKIT_SOCKET],
    sidecar: {
      name: BUILDKIT,
      image: buildkitImage,
      args: [`--addr=${BUILDKIT_URL}`, '--oci-worker-no-process-sandbox'],
      env: {},
      securityContext: {
        capabilities: { add: ['SETGID', 'SETUID'], drop: ['ALL'] },
        runAsGroup: RUNNER_ID,
        runAsNonRoot: true,
        runAsUser: RUNNER_ID,
        ...(isUnconfined && { seccompProfile: { type: 'Unconfined' } }),
      },
      mounts: [BUILDKIT_SOCKET, BUILDKIT_DATA],
      ...(hasOwnIds && { files: ID_FILES }),
    },
  };
}

/** Added to `gracefulStopSeconds`: time to report a job that ends last (two tries of 10 s), and to stop dockerd. */
const STOP_MARGIN_SECONDS = 30;

/** Returns the time after which the kubelet kills a stopped pod, in seconds. */
export function terminationGraceSeconds({ gracefulStopSeconds }: Pick<JobGroup, 'gracefulStopSeconds'>): number {
  return gracefulStopSeconds + STOP_MARGIN_SECONDS;
}

/** Seconds that a stopped runner waits for its job: longer than its pod lives, because it would report a job that it cut as a success (docs/adr/0047). */
export function shutdownSeconds(group: Pick<JobGroup, 'gracefulStopSeconds'>): number {
  return terminationGraceSeconds(group) + 60;
}
