/** Pods for the comparison with k8s.io/pod-security-admission: every field that its checks read, with good and bad values. */
import { type FieldPath, isList, isMapping, type Mapping, type Value } from '../../../src/config/pods/pod-schema.ts';
import { pick, type Random, randomFrom } from './random-template.ts';

export interface SecurityCase {
  readonly pod: Mapping;
}

export const SECURITY_SEED = 34;

export function securityCases(count: number): readonly SecurityCase[] {
  return Array.from({ length: count }, (_, index) => {
    const random = randomFrom(SECURITY_SEED + index * 7);
    return { pod: randomPod(random) };
  });
}

/** Names of containers and volumes: each is one word that stands in no message of Kubernetes. */
const NAMES = { initContainers: ['i0', 'i1'], containers: ['c0', 'c1', 'c2'], volumes: ['v0', 'v1', 'v2'] } as const;

/** Makes a random pod. Some pods are hardened and break one rule; others are fully random. */
function randomPod(random: Random): Mapping {
  const wild = pick(random, [0.02, 0.05, 0.15, 0.4]);
  const maybe = (field: string, ...choices: readonly Value[]): Mapping =>
    random() < wild ? { [field]: pick(random, choices) } : {};
  const isHardened = random() < 0.6;
  const containers = (names: readonly string[]): readonly Value[] =>
    names
      .slice(0, Math.ceil(random() * names.length))
      .map((name) => ({ name, image: 'x', ...randomContainer(random, maybe, isHardened) }));
  const spec: Mapping = {
    ...(random() < 0.5 ? { initContainers: containers(NAMES.initContainers) } : {}),
    containers: containers(NAMES.containers),
    ...(random() < 0.7 ? { volumes: NAMES.volumes.map((name) => ({ name, ...randomSource(random, wild) })) } : {}),
    ...maybe('hostNetwork', true, false),
    ...maybe('hostPID', true, false),
    ...maybe('hostIPC', true, false),
    ...maybe('hostUsers', true, false, false),
    ...maybe('os', { name: 'windows' }, { name: 'linux' }),
    ...randomPodContext(random, maybe, isHardened),
  };
  const annotations = {
    ...maybe('container.apparmor.security.beta.kubernetes.io/c0', 'unconfined', 'runtime/default', 'localhost/a', ''),
    ...maybe('container.seccomp.security.alpha.kubernetes.io/c0', 'unconfined'),
  };
  return { metadata: { annotations }, spec };
}

type Maybe = (field: string, ...choices: readonly Value[]) => Mapping;

const SECCOMP: readonly Value[] = [
  { type: 'RuntimeDefault' },
  { type: 'Localhost', localhostProfile: 'a' },
  { type: 'Unconfined' },
  { type: '' },
  null,
];
const SELINUX: readonly Value[] = [
  { type: 'container_t' },
  { type: 'container_engine_t', level: 's0' },
  { type: 'spc_t' },
  { user: 'u' },
  { role: 'r', type: '' },
  {},
];
const APPARMOR: readonly Value[] = [
  { type: 'RuntimeDefault' },
  { type: 'Unconfined' },
  { type: 'Localhost', localhostProfile: 'a' },
];

function shared(maybe: Maybe): Mapping {
  return {
    ...maybe('runAsNonRoot', true, false, null),
    ...maybe('runAsUser', 0, 1000, null),
    ...maybe('seccompProfile', ...SECCOMP),
    ...maybe('seLinuxOptions', ...SELINUX),
    ...maybe('appArmorProfile', ...APPARMOR),
    ...maybe('windowsOptions', { hostProcess: true }, { hostProcess: false }, {}),
  };
}

function randomPodContext(random: Random, maybe: Maybe, isHardened: boolean): Mapping {
  const hardened =
    isHardened && random() < 0.7 ? { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } } : {};
  const sysctl = (name: string): Mapping => ({ name, value: '1' });
  const context = {
    ...hardened,
    ...shared(maybe),
    ...maybe(
      'sysctls',
      [sysctl('net.ipv4.tcp_rmem')],
      [sysctl('kernel.msgmax'), sysctl('net.ipv4.tcp_syncookies')],
      [],
    ),
  };
  return random() < 0.8 ? { securityContext: context } : {};
}

function randomContainer(random: Random, maybe: Maybe, isHardened: boolean): Mapping {
  const hardened = isHardened
    ? {
        allowPrivilegeEscalation: false,
        capabilities: { drop: ['ALL'] },
        ...(random() < 0.5 ? HARDENED_CONTAINER : {}),
      }
    : {};
  const context = {
    ...hardened,
    ...shared(maybe),
    ...maybe('allowPrivilegeEscalation', true, false, null),
    ...maybe('privileged', true, false, null),
    ...maybe('procMount', 'Default', 'Unmasked', ''),
    ...maybe(
      'capabilities',
      { add: ['NET_BIND_SERVICE'], drop: ['ALL'] },
      { add: ['CHOWN'], drop: ['CHOWN', 'ALL'] },
      { add: ['SYS_ADMIN', 'NET_RAW'] },
      { drop: ['all'] },
      {},
      null,
    ),
  };
  const handlers: readonly Value[] = [
    { httpGet: { host: 'node', port: 80 } },
    { httpGet: { host: '', port: 80 } },
    { tcpSocket: { host: '127.0.0.1', port: 'a' } },
    { exec: { command: ['true'] } },
  ];
  const hooks = handlers.flatMap((handler) => [{ postStart: handler }, { preStop: handler, postStart: null }]);
  return {
    ...(random() < 0.9 ? { securityContext: context } : {}),
    ...maybe('livenessProbe', ...handlers),
    ...maybe('readinessProbe', ...handlers),
    ...maybe('startupProbe', ...handlers),
    ...maybe('lifecycle', ...hooks),
    ...maybe(
      'ports',
      [{ containerPort: 80 }],
      [{ containerPort: 80, hostPort: 0 }],
      [{ containerPort: 1, hostPort: 2 }],
    ),
  };
}

const HARDENED_CONTAINER: Mapping = { runAsNonRoot: true, runAsUser: 1, seccompProfile: { type: 'Localhost' } };

const GOOD_SOURCES: readonly Mapping[] = [
  {},
  { emptyDir: {} },
  { configMap: { name: 'a' } },
  { secret: { secretName: 'a' } },
  { csi: { driver: 'a' } },
  { downwardAPI: {} },
  { ephemeral: {} },
  { image: { reference: 'a' } },
  { persistentVolumeClaim: { claimName: 'a' } },
  { projected: { sources: [] } },
];
const BAD_SOURCES: readonly Mapping[] = [
  { hostPath: { path: '/' } },
  { nfs: { path: '/', server: 'a' } },
  { gitRepo: { repository: 'a' } },
  { iscsi: { iqn: 'a', lun: 0, targetPortal: 'a' } },
  { flexVolume: { driver: 'a' } },
  { cephfs: { monitors: [] } },
  { awsElasticBlockStore: { volumeID: 'a' } },
  { storageos: {} },
  { hostPath: null, emptyDir: {} },
];

function randomSource(random: Random, wild: number): Mapping {
  return pick(random, random() < wild ? BAD_SOURCES : GOOD_SOURCES);
}

/** Returns the subject of a violation: the name of a container or volume, `pod`, or the place itself. */
export function culpritOf(pod: Mapping, path: FieldPath): string {
  const [, list, index] = path;
  const spec = pod['spec'];
  const elements = isMapping(spec) && typeof list === 'string' ? spec[list] : undefined;
  const element = isList(elements) && typeof index === 'number' ? elements[index] : undefined;
  const name = isMapping(element) ? element['name'] : undefined;
  return typeof name === 'string' ? name : 'pod';
}

/** The containers and volumes that a message of Kubernetes names. */
export function namedIn(detail: string): readonly string[] {
  return [...new Set([...detail.matchAll(/"([icv]\d)"/g)].map(([, name]) => name ?? ''))].sort();
}
