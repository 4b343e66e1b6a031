/**
 * Templates of people who want more than they may have, and what the pure functions of src/config/pods say. `by` is the stage that refuses:
 *
 *   faults   applyTemplate's faults: bounds, shape, reserved fields, or what Kubernetes refuses
 *   baseline, restricted   the lowest level of the Pod Security Standards that the final pod breaks
 *
 * test/cli takes the same table to the whole program. What only a policy can refuse (images, priority classes, service accounts) is not
 * in it.
 */

import type { Mapping, Value } from '../../../src/config/pods/schema.ts';
import type { ContainerMode } from '../../../src/config/runnergroup/runner-group.ts';

export interface Hostile {
  readonly name: string;
  readonly template: Value;
  readonly by: 'faults' | 'baseline' | 'restricted';
  /** The first place that is refused, joined by `.`. */
  readonly at: string;
  /** Default: host, the only mode whose own pod breaks no level. */
  readonly mode?: ContainerMode;
}

const spec = (fields: Mapping): Mapping => ({ spec: fields });
const runner = (fields: Mapping): Mapping => spec({ containers: [{ name: 'runner', ...fields }] });
const sidecar = (fields: Mapping): Mapping => spec({ containers: [{ name: 'side', image: 'x', ...fields }] });
const init = (fields: Mapping): Mapping => spec({ initContainers: [{ name: 'prepare', image: 'x', ...fields }] });
const env = (name: string): Mapping => runner({ env: [{ name, value: 'x' }] });
const volume = (source: Mapping): Mapping => spec({ volumes: [{ name: 'extra', ...source }] });
const mount = (mountPath: string, more: Mapping = {}): Mapping => ({
  spec: {
    containers: [{ name: 'runner', volumeMounts: [{ mountPath, name: 'extra', ...more }] }],
    volumes: [{ name: 'extra', emptyDir: {} }],
  },
});
const own = (text: string): Value => JSON.parse(text) as Value;
const nested = (depth: number): Value => own(`${'{"spec":'.repeat(depth)}1${'}'.repeat(depth)}`);

/** The Secrets of the group that the templates are tried on. */
export const SECRETS = ['gitea-runner', 'gitea-api'];

const F = 'spec.containers.0';
const I = 'spec.initContainers.0';
const V = 'spec.volumes.0';

export const HOSTILE: readonly Hostile[] = [
  // The node.
  { name: 'host network', template: spec({ hostNetwork: true }), by: 'faults', at: 'spec.hostNetwork' },
  { name: 'host processes', template: spec({ hostPID: true }), by: 'faults', at: 'spec.hostPID' },
  { name: 'host IPC', template: spec({ hostIPC: true }), by: 'faults', at: 'spec.hostIPC' },
  { name: 'host network as a string', template: spec({ hostNetwork: 'true' }), by: 'faults', at: 'spec.hostNetwork' },
  { name: 'folder of the node', template: volume({ hostPath: { path: '/' } }), by: 'baseline', at: `${V}.hostPath` },
  {
    name: 'socket of containerd',
    template: volume({ hostPath: { path: '/run/containerd/containerd.sock', type: 'Socket' } }),
    by: 'baseline',
    at: `${V}.hostPath`,
  },
  {
    name: 'folder of the node in place of our data',
    template: spec({ volumes: [{ name: 'data', hostPath: { path: '/' } }] }),
    by: 'faults',
    at: V,
  },
  {
    name: 'two sources, the good one first',
    template: volume({ emptyDir: {}, hostPath: { path: '/' } }),
    by: 'faults',
    at: V,
  },
  { name: 'NFS', template: volume({ nfs: { path: '/', server: '192.0.2.1' } }), by: 'restricted', at: `${V}.nfs` },
  {
    name: 'gitRepo, which runs hooks on the node',
    template: volume({ gitRepo: { repository: 'https://example.com/x' } }),
    by: 'restricted',
    at: `${V}.gitRepo`,
  },
  {
    name: 'port of the node',
    template: sidecar({ ports: [{ containerPort: 80, hostPort: 80 }] }),
    by: 'baseline',
    at: `${F}.ports.0.hostPort`,
  },
  { name: 'a node of choice', template: spec({ nodeName: 'control-plane' }), by: 'faults', at: 'spec.nodeName' },
  {
    name: 'kubelet sends requests',
    template: sidecar({ livenessProbe: { httpGet: { host: '169.254.169.254', port: 80 } } }),
    by: 'baseline',
    at: `${F}.livenessProbe.httpGet.host`,
  },
  {
    name: 'sysctl of the node',
    template: spec({ securityContext: { sysctls: [{ name: 'kernel.core_pattern', value: '|/x' }] } }),
    by: 'baseline',
    at: 'spec.securityContext.sysctls.0.name',
  },
  // Privileges.
  {
    name: 'privileged runner',
    template: runner({ securityContext: { privileged: true } }),
    by: 'baseline',
    at: `${F}.securityContext.privileged`,
  },
  {
    name: 'privileged sidecar',
    template: sidecar({ securityContext: { privileged: true } }),
    by: 'baseline',
    at: `${F}.securityContext.privileged`,
  },
  {
    name: 'privileged init container',
    template: init({ securityContext: { privileged: true } }),
    by: 'baseline',
    at: `${I}.securityContext.privileged`,
  },
  {
    name: 'capability',
    template: runner({ securityContext: { capabilities: { add: ['SYS_ADMIN'] } } }),
    by: 'baseline',
    at: `${F}.securityContext.capabilities.add.0`,
  },
  {
    name: 'capability in lower case',
    template: runner({ securityContext: { capabilities: { add: ['sys_admin'] } } }),
    by: 'baseline',
    at: `${F}.securityContext.capabilities.add.0`,
  },
  {
    name: 'escalation',
    template: runner({ securityContext: { allowPrivilegeEscalation: true } }),
    by: 'restricted',
    at: `${F}.securityContext.allowPrivilegeEscalation`,
  },
  {
    name: 'root by uid',
    template: runner({ securityContext: { runAsUser: 0 } }),
    by: 'restricted',
    at: `${F}.securityContext.runAsUser`,
  },
  {
    name: 'root by taking runAsNonRoot away',
    template: runner({ securityContext: { runAsNonRoot: null } }),
    by: 'restricted',
    at: `${F}.securityContext.runAsNonRoot`,
  },
  {
    name: 'all hardening taken away',
    template: runner({ securityContext: null }),
    by: 'restricted',
    at: `${F}.securityContext.allowPrivilegeEscalation`,
  },
  {
    name: 'no seccomp',
    template: runner({ securityContext: { seccompProfile: { type: 'Unconfined' } } }),
    by: 'baseline',
    at: `${F}.securityContext.seccompProfile.type`,
  },
  {
    name: 'no AppArmor, by the old annotation',
    template: { metadata: { annotations: { 'container.apparmor.security.beta.kubernetes.io/runner': 'unconfined' } } },
    by: 'baseline',
    at: 'metadata.annotations.container.apparmor.security.beta.kubernetes.io/runner',
  },
  {
    name: 'unmasked /proc',
    template: runner({ securityContext: { procMount: 'Unmasked' } }),
    by: 'baseline',
    at: `${F}.securityContext.procMount`,
  },
  {
    name: 'SELinux type',
    template: runner({ securityContext: { seLinuxOptions: { type: 'spc_t' } } }),
    by: 'baseline',
    at: `${F}.securityContext.seLinuxOptions.type`,
  },
  {
    name: 'Windows host process',
    template: spec({ securityContext: { windowsOptions: { hostProcess: true } } }),
    by: 'baseline',
    at: 'spec.securityContext.windowsOptions.hostProcess',
  },
  {
    name: 'called a Windows pod, which is checked less',
    template: spec({ os: { name: 'windows' } }),
    by: 'faults',
    at: 'spec.os',
  },
  {
    name: 'an unhardened sidecar',
    template: sidecar({}),
    by: 'restricted',
    at: `${F}.securityContext.allowPrivilegeEscalation`,
  },
  {
    name: 'ephemeral container',
    template: spec({ ephemeralContainers: [{ name: 'e', image: 'x', securityContext: { privileged: true } }] }),
    by: 'faults',
    at: 'spec.ephemeralContainers',
  },
  // Merge tricks.
  {
    name: 'runner twice',
    template: spec({ containers: [{ name: 'runner' }, { name: 'runner', securityContext: { privileged: true } }] }),
    by: 'faults',
    at: 'spec.containers.1',
  },
  {
    name: 'runner as an init container',
    template: spec({ initContainers: [{ name: 'runner', image: 'x' }] }),
    by: 'faults',
    at: `${I}.name`,
  },
  {
    name: 'register as a container',
    template: spec({ containers: [{ name: 'register', image: 'x' }] }),
    by: 'faults',
    at: `${F}.name`,
  },
  { name: 'container without a name', template: spec({ containers: [{ image: 'x' }] }), by: 'faults', at: `${F}.name` },
  {
    name: 'container with a null name',
    template: spec({ containers: [{ name: null, image: 'x' }] }),
    by: 'faults',
    at: `${F}.name`,
  },
  { name: 'null in a list', template: spec({ containers: [null] }), by: 'faults', at: F },
  {
    name: '$patch: replace of a list',
    template: spec({ containers: [{ $patch: 'replace' }, { name: 'x', image: 'x' }] }),
    by: 'faults',
    at: `${F}.$patch`,
  },
  {
    name: '$patch: delete of register',
    template: spec({ initContainers: [{ name: 'register', $patch: 'delete' }] }),
    by: 'faults',
    at: `${I}.$patch`,
  },
  {
    name: '$patch: replace of the pod',
    template: { spec: { $patch: 'replace', containers: [{ name: 'runner' }] } },
    by: 'faults',
    at: 'spec.$patch',
  },
  {
    name: '$patch in labels',
    template: { metadata: { labels: { $patch: 'replace' } } },
    by: 'faults',
    at: 'metadata.labels.$patch',
  },
  { name: '$retainKeys', template: spec({ $retainKeys: ['containers'] }), by: 'faults', at: 'spec.$retainKeys' },
  {
    name: '$setElementOrder',
    template: spec({ '$setElementOrder/containers': [{ name: 'runner' }] }),
    by: 'faults',
    at: 'spec.$setElementOrder/containers',
  },
  {
    name: '$deleteFromPrimitiveList',
    template: { metadata: { '$deleteFromPrimitiveList/finalizers': ['x'] } },
    by: 'faults',
    at: 'metadata.$deleteFromPrimitiveList/finalizers',
  },
  { name: 'spec is null', template: { spec: null }, by: 'faults', at: 'spec' },
  {
    name: 'init containers are null',
    template: spec({ initContainers: null }),
    by: 'faults',
    at: 'spec.initContainers',
  },
  { name: 'volumes are null', template: spec({ volumes: null }), by: 'faults', at: 'spec.volumes' },
  { name: 'labels are null', template: { metadata: { labels: null } }, by: 'faults', at: 'metadata.labels' },
  {
    name: 'token mount by null',
    template: spec({ automountServiceAccountToken: null }),
    by: 'faults',
    at: 'spec.automountServiceAccountToken',
  },
  { name: 'environment of the runner is null', template: runner({ env: null }), by: 'faults', at: `${F}.env` },
  {
    name: 'value of our variable is null',
    template: runner({ env: [{ name: 'GITEA_RUNNER_EPHEMERAL', value: null }] }),
    by: 'faults',
    at: `${F}.env.0`,
  },
  // The runner's life.
  { name: 'runner starts again', template: spec({ restartPolicy: 'Always' }), by: 'faults', at: 'spec.restartPolicy' },
  {
    name: 'runner starts again, by itself',
    template: runner({ restartPolicy: 'Always' }),
    by: 'faults',
    at: `${F}.restartPolicy`,
  },
  {
    name: 'other command, our image',
    template: runner({ command: ['sh', '-c', 'sleep 1d'] }),
    by: 'faults',
    at: `${F}.command`,
  },
  { name: 'other arguments, our image', template: runner({ args: ['x'] }), by: 'faults', at: `${F}.args` },
  {
    name: 'image is empty, command is not',
    template: runner({ image: '', command: ['x'] }),
    by: 'faults',
    at: `${F}.command`,
  },
  { name: 'registers for ever', template: env('GITEA_RUNNER_EPHEMERAL'), by: 'faults', at: `${F}.env.0` },
  { name: 'another Gitea', template: env('GITEA_INSTANCE_URL'), by: 'faults', at: `${F}.env.0` },
  { name: "another runner's name", template: env('GITEA_RUNNER_NAME'), by: 'faults', at: `${F}.env.0` },
  { name: 'other labels', template: env('GITEA_RUNNER_LABELS'), by: 'faults', at: `${F}.env.0` },
  { name: 'other configuration', template: env('CONFIG_FILE'), by: 'faults', at: `${F}.env.0` },
  { name: 'other state file', template: env('RUNNER_STATE_FILE'), by: 'faults', at: `${F}.env.0` },
  { name: 'mount over the state', template: mount('/data'), by: 'faults', at: `${F}.volumeMounts.0.mountPath` },
  {
    name: 'mount over the state, spelt otherwise',
    template: mount('/x/..//data/'),
    by: 'faults',
    at: `${F}.volumeMounts.0.mountPath`,
  },
  {
    name: 'mount over the state file',
    template: mount('/data/.runner'),
    by: 'faults',
    at: `${F}.volumeMounts.0.mountPath`,
  },
  {
    name: 'mount over the configuration file',
    template: mount('/etc/gitea-runner/config.yaml', { subPath: 'x' }),
    by: 'faults',
    at: `${F}.volumeMounts.0.mountPath`,
  },
  {
    name: 'configuration from a ConfigMap',
    template: spec({ volumes: [{ name: 'config', configMap: { name: 'x' } }] }),
    by: 'faults',
    at: V,
  },
  {
    name: 'state in a claim that others share',
    template: spec({ volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'x' } }] }),
    by: 'faults',
    at: V,
  },
  {
    name: 'graceful stop',
    template: runner({ lifecycle: { preStop: { exec: { command: ['sleep', '9'] } } } }),
    by: 'faults',
    at: `${F}.lifecycle.preStop`,
  },
  {
    name: 'grace period',
    template: spec({ terminationGracePeriodSeconds: 0 }),
    by: 'faults',
    at: 'spec.terminationGracePeriodSeconds',
  },
  {
    name: 'deadline',
    template: spec({ activeDeadlineSeconds: 9_999_999 }),
    by: 'faults',
    at: 'spec.activeDeadlineSeconds',
  },
  {
    name: 'configuration by annotation',
    template: { metadata: { annotations: { 'gitea.bpg.pw/runner-config': 'x' } } },
    by: 'faults',
    at: 'metadata.annotations.gitea.bpg.pw/runner-config',
  },
  {
    name: "another group's pod",
    template: { metadata: { labels: { 'gitea.bpg.pw/runnergroup-name': 'other' } } },
    by: 'faults',
    at: 'metadata.labels.gitea.bpg.pw/runnergroup-name',
  },
  {
    name: "another Application's pod",
    template: { metadata: { labels: { 'app.kubernetes.io/instance': 'other' } } },
    by: 'faults',
    at: 'metadata.labels.app.kubernetes.io/instance',
  },
  {
    name: 'tracked by Argo CD',
    template: { metadata: { annotations: { 'argocd.argoproj.io/tracking-id': 'x' } } },
    by: 'faults',
    at: 'metadata.annotations.argocd.argoproj.io/tracking-id',
  },
  {
    name: 'owner',
    template: { metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'x', uid: 'x' }] } },
    by: 'faults',
    at: 'metadata.ownerReferences',
  },
  {
    name: 'finalizer, so that pods stay',
    template: { metadata: { finalizers: ['example.com/x'] } },
    by: 'faults',
    at: 'metadata.finalizers',
  },
  {
    name: 'other namespace',
    template: { metadata: { namespace: 'kube-system' } },
    by: 'faults',
    at: 'metadata.namespace',
  },
  { name: 'priority past the classes', template: spec({ priority: 2_000_000_000 }), by: 'faults', at: 'spec.priority' },
  // Secrets and tokens.
  {
    name: 'register with another command',
    template: spec({ initContainers: [{ name: 'register', command: ['env'] }] }),
    by: 'faults',
    at: I,
  },
  {
    name: 'register with another image',
    template: spec({ initContainers: [{ name: 'register', image: 'x' }] }),
    by: 'faults',
    at: I,
  },
  {
    name: 'registration token in a variable',
    template: runner({
      env: [{ name: 'A', valueFrom: { secretKeyRef: { key: 'registration-token', name: 'gitea-runner' } } }],
    }),
    by: 'faults',
    at: `${F}.env.0.valueFrom.secretKeyRef.name`,
  },
  {
    name: 'API token in all variables',
    template: sidecar({ envFrom: [{ secretRef: { name: 'gitea-api' } }] }),
    by: 'faults',
    at: `${F}.envFrom.0.secretRef.name`,
  },
  {
    name: 'registration token as a file',
    template: volume({ secret: { secretName: 'gitea-runner' } }),
    by: 'faults',
    at: `${V}.secret.secretName`,
  },
  {
    name: 'registration token as a projected file',
    template: volume({ projected: { sources: [{ secret: { name: 'gitea-runner' } }] } }),
    by: 'faults',
    at: `${V}.projected.sources.0.secret.name`,
  },
  {
    name: 'registration token for a driver of volumes',
    template: volume({ csi: { driver: 'd.example.com', nodePublishSecretRef: { name: 'gitea-runner' } } }),
    by: 'faults',
    at: `${V}.csi.nodePublishSecretRef.name`,
  },
  {
    name: 'API token to pull images',
    template: spec({ imagePullSecrets: [{ name: 'gitea-api' }] }),
    by: 'faults',
    at: 'spec.imagePullSecrets.0.name',
  },
  {
    name: 'reads the environment of register',
    template: spec({ shareProcessNamespace: true }),
    by: 'faults',
    at: 'spec.shareProcessNamespace',
  },
  {
    name: 'service account token',
    template: spec({ automountServiceAccountToken: true }),
    by: 'faults',
    at: 'spec.automountServiceAccountToken',
  },
  {
    name: 'service account token as a projected file',
    template: volume({ projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } }),
    by: 'faults',
    at: `${V}.projected.sources.0.serviceAccountToken`,
  },
  {
    name: 'service account by its old name',
    template: spec({ serviceAccount: 'admin' }),
    by: 'faults',
    at: 'spec.serviceAccount',
  },
  {
    name: 'docker daemon that listens to all',
    template: spec({ initContainers: [{ name: 'docker', args: ['dockerd', '--host=tcp://0.0.0.0'] }] }),
    by: 'faults',
    at: `${I}.args`,
    mode: 'dind',
  },
  {
    name: 'docker daemon ends first',
    template: spec({ initContainers: [{ name: 'docker', restartPolicy: null }] }),
    by: 'faults',
    at: `${I}.restartPolicy`,
    mode: 'dind',
  },
  {
    name: 'other docker daemon',
    template: runner({ env: [{ name: 'DOCKER_HOST', value: 'tcp://192.0.2.1' }] }),
    by: 'faults',
    at: `${F}.env.0`,
    mode: 'dind',
  },
  {
    name: 'mount over the docker socket',
    template: mount('/var/run/docker-socket'),
    by: 'faults',
    at: `${F}.volumeMounts.0.mountPath`,
    mode: 'dind',
  },
  // The program.
  {
    name: '__proto__',
    template: own('{"spec": {"__proto__": {"hostNetwork": true}}}'),
    by: 'faults',
    at: 'spec.__proto__',
  },
  {
    name: '__proto__ in labels',
    template: own('{"metadata": {"labels": {"__proto__": "x"}}}'),
    by: 'faults',
    at: 'metadata.labels.__proto__',
  },
  {
    name: 'constructor',
    template: own('{"spec": {"constructor": {"prototype": {"hostNetwork": true}}}}'),
    by: 'faults',
    at: 'spec.constructor',
  },
  {
    name: 'toString as a label of type mapping',
    template: own('{"metadata": {"labels": {"toString": {}}}}'),
    by: 'faults',
    at: 'metadata.labels.toString',
  },
  {
    name: 'a megabyte',
    template: { metadata: { annotations: { 'example.com/a': 'x'.repeat(1_048_576) } } },
    by: 'faults',
    at: '',
  },
  {
    name: 'a hundred thousand containers',
    template: spec({ containers: Array.from({ length: 100_000 }, (_, index) => ({ name: `c${index}`, image: 'x' })) }),
    by: 'faults',
    at: '',
  },
  { name: 'ten thousand levels', template: nested(3000), by: 'faults', at: 'spec.spec.spec.spec.spec.spec.spec.spec' },
  { name: 'a list', template: [], by: 'faults', at: '' },
  { name: 'a string', template: 'containers', by: 'faults', at: '' },
];
