/**
 * Templates of people who want more than they may have, and what the pure functions of src/config/pods say. `by` is the stage that refuses:
 *
 *   faults   applyTemplate's faults: bounds, shape, reserved fields, or what Kubernetes refuses
 *   baseline, restricted   the lowest level of the Pod Security Standards that the final pod breaks
 *
 * test/cli takes the same table to the whole program. What only a policy can refuse (images, priority classes, service accounts) is not
 * in it.
 */

import type { Mapping, Value } from '../../../src/config/pods/pod-schema.ts';
import type { ContainerMode } from '../../../src/config/runnergroup/runner-group.ts';

export interface Hostile {
  readonly name: string;
  readonly template: Value;
  readonly by: 'faults' | 'baseline' | 'restricted';
  /** The first place that is refused, joined by `.`. */
  readonly at: string;
  /** Default: host, the only mode whose own pod breaks no level. */
  readonly mode?: ContainerMode | undefined;
}

type Row = Omit<Hostile, 'by'>;

// A row has its name, the place below what its function makes, the fields there, and its mode.
const template = (name: string, at: string, value: Value): Row => ({ name, at, template: value });
const own = (name: string, at: string, text: string): Row => template(name, at, JSON.parse(text) as Value);
const metadata = (name: string, at: string, fields: Mapping): Row =>
  template(name, `metadata.${at}`, { metadata: fields });
const spec = (name: string, at: string, fields: Mapping, mode?: ContainerMode): Row => ({
  ...template(name, `spec.${at}`, { spec: fields }),
  mode,
});
/** Rows with one element in this list of the pod. */
const inList =
  (list: string, fixed: Mapping) =>
  (name: string, at: string, fields: Mapping, mode?: ContainerMode): Row =>
    spec(name, [list, 0, ...(at === '' ? [] : [at])].join('.'), { [list]: [{ ...fixed, ...fields }] }, mode);
const container = inList('containers', {});
const runner = inList('containers', { name: 'runner' });
const sidecar = inList('containers', { name: 'side', image: 'x' });
const init = inList('initContainers', {});
const volume = inList('volumes', { name: 'extra' });
const env = (name: string, variable: string): Row => runner(name, 'env.0', { env: [{ name: variable, value: 'x' }] });
const guarded = (name: string, at: string, securityContext: Mapping | null): Row =>
  runner(name, `securityContext.${at}`, { securityContext });
const mount = (name: string, mountPath: string, more: Mapping = {}, mode?: ContainerMode): Row =>
  spec(
    name,
    'containers.0.volumeMounts.0.mountPath',
    {
      containers: [{ name: 'runner', volumeMounts: [{ mountPath, name: 'extra', ...more }] }],
      volumes: [{ name: 'extra', emptyDir: {} }],
    },
    mode,
  );

/** The Secrets of the group that the templates are tried on. */
export const SECRETS = ['gitea-runner', 'gitea-api'];

const FAULTS: readonly Row[] = [
  // The node.
  spec('host network', 'hostNetwork', { hostNetwork: true }),
  spec('host processes', 'hostPID', { hostPID: true }),
  spec('host IPC', 'hostIPC', { hostIPC: true }),
  volume('folder of the node in place of our data', '', { name: 'data', hostPath: { path: '/' } }),
  volume('two sources, the good one first', '', { emptyDir: {}, hostPath: { path: '/' } }),
  spec('a node of choice', 'nodeName', { nodeName: 'control-plane' }),
  spec('called a Windows pod, which is checked less', 'os', { os: { name: 'windows' } }),
  spec('ephemeral container', 'ephemeralContainers', { ephemeralContainers: [{ name: 'e', image: 'x' }] }),
  // Merge tricks.
  spec('runner twice', 'containers.1', { containers: [{ name: 'runner' }, { name: 'runner', image: 'x' }] }),
  init('runner as an init container', 'name', { name: 'runner', image: 'x' }),
  container('register as a container', 'name', { name: 'register', image: 'x' }),
  container('container without a name', 'name', { image: 'x' }),
  container('container with a null name', 'name', { name: null, image: 'x' }),
  spec('null in a list', 'containers.0', { containers: [null] }),
  init('$patch: delete of register', '$patch', { name: 'register', $patch: 'delete' }),
  metadata('$patch in labels', 'labels.$patch', { labels: { $patch: 'replace' } }),
  spec('$retainKeys', '$retainKeys', { $retainKeys: ['containers'] }),
  spec('$setElementOrder', '$setElementOrder/containers', { '$setElementOrder/containers': [{ name: 'runner' }] }),
  metadata('$deleteFromPrimitiveList', '$deleteFromPrimitiveList/finalizers', {
    '$deleteFromPrimitiveList/finalizers': ['x'],
  }),
  template('spec is null', 'spec', { spec: null }),
  spec('init containers are null', 'initContainers', { initContainers: null }),
  spec('volumes are null', 'volumes', { volumes: null }),
  metadata('labels are null', 'labels', { labels: null }),
  spec('token mount by null', 'automountServiceAccountToken', { automountServiceAccountToken: null }),
  runner('environment of the runner is null', 'env', { env: null }),
  runner('value of our variable is null', 'env.0', { env: [{ name: 'GITEA_RUNNER_EPHEMERAL', value: null }] }),
  // The runner's life.
  spec('runner starts again', 'restartPolicy', { restartPolicy: 'Always' }),
  runner('runner starts again, by itself', 'restartPolicy', { restartPolicy: 'Always' }),
  runner('other command, our image', 'command', { command: ['sh', '-c', 'sleep 1d'] }),
  runner('other arguments, our image', 'args', { args: ['x'] }),
  runner('image is empty, command is not', 'command', { image: '', command: ['x'] }),
  env('registers for ever', 'GITEA_RUNNER_EPHEMERAL'),
  env('another Gitea', 'GITEA_INSTANCE_URL'),
  env("another runner's name", 'GITEA_RUNNER_NAME'),
  env('other labels', 'GITEA_RUNNER_LABELS'),
  env('other configuration', 'CONFIG_FILE'),
  env('other state file', 'RUNNER_STATE_FILE'),
  mount('mount over the state', '/data'),
  mount('mount over the state, spelt otherwise', '/x/..//data/'),
  mount('mount over the state file', '/data/.runner'),
  mount('mount over the configuration file', '/etc/gitea-runner/config.yaml', { subPath: 'x' }),
  volume('configuration from a ConfigMap', '', { name: 'config', configMap: { name: 'x' } }),
  volume('state in a claim that others share', '', { name: 'data', persistentVolumeClaim: { claimName: 'x' } }),
  runner('graceful stop', 'lifecycle.preStop', { lifecycle: { preStop: { exec: { command: ['sleep', '9'] } } } }),
  spec('grace period', 'terminationGracePeriodSeconds', { terminationGracePeriodSeconds: 0 }),
  spec('deadline', 'activeDeadlineSeconds', { activeDeadlineSeconds: 9_999_999 }),
  metadata('configuration by annotation', 'annotations.gitea.bpg.pw/runner-config', {
    annotations: { 'gitea.bpg.pw/runner-config': 'x' },
  }),
  metadata("another group's pod", 'labels.gitea.bpg.pw/runnergroup-name', {
    labels: { 'gitea.bpg.pw/runnergroup-name': 'other' },
  }),
  metadata("another Application's pod", 'labels.app.kubernetes.io/instance', {
    labels: { 'app.kubernetes.io/instance': 'other' },
  }),
  metadata('tracked by Argo CD', 'annotations.argocd.argoproj.io/tracking-id', {
    annotations: { 'argocd.argoproj.io/tracking-id': 'x' },
  }),
  metadata('owner', 'ownerReferences', { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'x', uid: 'x' }] }),
  metadata('finalizer, so that pods stay', 'finalizers', { finalizers: ['example.com/x'] }),
  metadata('other namespace', 'namespace', { namespace: 'kube-system' }),
  spec('priority past the classes', 'priority', { priority: 2_000_000_000 }),
  // Secrets and tokens.
  init('register with another command', '', { name: 'register', command: ['env'] }),
  runner('registration token in a variable', 'env.0.valueFrom.secretKeyRef.name', {
    env: [{ name: 'A', valueFrom: { secretKeyRef: { key: 'registration-token', name: 'gitea-runner' } } }],
  }),
  sidecar('API token in all variables', 'envFrom.0.secretRef.name', {
    envFrom: [{ secretRef: { name: 'gitea-api' } }],
  }),
  volume('registration token as a file', 'secret.secretName', { secret: { secretName: 'gitea-runner' } }),
  volume('registration token as a projected file', 'projected.sources.0.secret.name', {
    projected: { sources: [{ secret: { name: 'gitea-runner' } }] },
  }),
  volume('registration token for a driver of volumes', 'csi.nodePublishSecretRef.name', {
    csi: { driver: 'd.example.com', nodePublishSecretRef: { name: 'gitea-runner' } },
  }),
  spec('API token to pull images', 'imagePullSecrets.0.name', { imagePullSecrets: [{ name: 'gitea-api' }] }),
  spec('reads the environment of register', 'shareProcessNamespace', { shareProcessNamespace: true }),
  spec('service account token', 'automountServiceAccountToken', { automountServiceAccountToken: true }),
  volume('service account token as a projected file', 'projected.sources.0.serviceAccountToken', {
    projected: { sources: [{ serviceAccountToken: { path: 'token' } }] },
  }),
  spec('service account by its old name', 'serviceAccount', { serviceAccount: 'admin' }),
  init('docker daemon that listens to all', 'args', { name: 'docker', args: ['--host=tcp://0.0.0.0'] }, 'dind'),
  init('docker daemon ends first', 'restartPolicy', { name: 'docker', restartPolicy: null }, 'dind'),
  runner('other docker daemon', 'env.0', { env: [{ name: 'DOCKER_HOST', value: 'tcp://192.0.2.1' }] }, 'dind'),
  mount('mount over the docker socket', '/var/run/docker-socket', {}, 'dind'),
  mount('mount over the folder of the docker socket', '/var/run/', {}, 'dind'),
  // The program.
  own('__proto__', 'spec.__proto__', '{"spec": {"__proto__": {"hostNetwork": true}}}'),
  own('constructor', 'spec.constructor', '{"spec": {"constructor": {"prototype": {"hostNetwork": true}}}}'),
  own('toString as a label of type mapping', 'metadata.labels.toString', '{"metadata": {"labels": {"toString": {}}}}'),
  template('a megabyte', '', { metadata: { annotations: { 'example.com/a': 'x'.repeat(1_048_576) } } }),
  template('a hundred thousand containers', '', {
    spec: { containers: Array.from({ length: 100_000 }, (_, index) => ({ name: `c${index}`, image: 'x' })) },
  }),
  own('three thousand levels', Array(8).fill('spec').join('.'), `${'{"spec":'.repeat(3000)}1${'}'.repeat(3000)}`),
  template('a list', '', []),
];

const BASELINE: readonly Row[] = [
  volume('folder of the node', 'hostPath', { hostPath: { path: '/' } }),
  sidecar('port of the node', 'ports.0.hostPort', { ports: [{ containerPort: 80, hostPort: 80 }] }),
  sidecar('kubelet sends requests', 'livenessProbe.httpGet.host', {
    livenessProbe: { httpGet: { host: '169.254.169.254', port: 80 } },
  }),
  spec('sysctl of the node', 'securityContext.sysctls.0.name', {
    securityContext: { sysctls: [{ name: 'kernel.core_pattern', value: '|/x' }] },
  }),
  guarded('privileged runner', 'privileged', { privileged: true }),
  init('privileged init container', 'securityContext.privileged', {
    name: 'prepare',
    image: 'x',
    securityContext: { privileged: true },
  }),
  guarded('capability', 'capabilities.add.0', { capabilities: { add: ['SYS_ADMIN'] } }),
  guarded('capability in lower case', 'capabilities.add.0', { capabilities: { add: ['sys_admin'] } }),
  guarded('no seccomp', 'seccompProfile.type', { seccompProfile: { type: 'Unconfined' } }),
  metadata('no AppArmor, by the old annotation', 'annotations.container.apparmor.security.beta.kubernetes.io/runner', {
    annotations: { 'container.apparmor.security.beta.kubernetes.io/runner': 'unconfined' },
  }),
  guarded('unmasked /proc', 'procMount', { procMount: 'Unmasked' }),
  guarded('SELinux type', 'seLinuxOptions.type', { seLinuxOptions: { type: 'spc_t' } }),
  spec('Windows host process', 'securityContext.windowsOptions.hostProcess', {
    securityContext: { windowsOptions: { hostProcess: true } },
  }),
];

const RESTRICTED: readonly Row[] = [
  volume('NFS', 'nfs', { nfs: { path: '/', server: '192.0.2.1' } }),
  volume('gitRepo, which runs hooks on the node', 'gitRepo', { gitRepo: { repository: 'https://example.com/x' } }),
  guarded('escalation', 'allowPrivilegeEscalation', { allowPrivilegeEscalation: true }),
  guarded('root by uid', 'runAsUser', { runAsUser: 0 }),
  guarded('root by taking runAsNonRoot away', 'runAsNonRoot', { runAsNonRoot: null }),
  guarded('all hardening taken away', 'allowPrivilegeEscalation', null),
  sidecar('an unhardened sidecar', 'securityContext.allowPrivilegeEscalation', {}),
];

export const HOSTILE: readonly Hostile[] = [
  ...FAULTS.map((row): Hostile => ({ ...row, by: 'faults' })),
  ...BASELINE.map((row): Hostile => ({ ...row, by: 'baseline' })),
  ...RESTRICTED.map((row): Hostile => ({ ...row, by: 'restricted' })),
];
