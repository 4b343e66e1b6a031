/**
 * RunnerGroups of people who want more than they may have, and who stops them in each level of `policy init`. A stop is a rule of the
 * policy, or `pod`: what any installation refuses as reserved, or by the securityProfile. `allowed: …` says why nobody stops it there.
 */
import type { RuleName } from '../../../src/config/policy/policy-schema.ts';

export const LEVELS = ['open', 'shared', 'hostile'] as const;
export type Level = (typeof LEVELS)[number];

export type Stop = RuleName | 'pod' | `allowed: ${string}`;
type Fields = Readonly<Record<string, unknown>>;

export interface Attack {
  readonly name: string;
  readonly spec: Fields;
  readonly metadata?: Fields;
}

export interface Fate {
  readonly stops: Readonly<Record<Level, Stop>>;
  readonly attacks: readonly Attack[];
}

const own = (name: string, spec: Fields, metadata: Fields = {}): Attack => ({ name, spec, metadata });
const pod = (name: string, spec: Fields): Attack => own(name, { podTemplate: { spec } });
const meta = (name: string, metadata: Fields): Attack => own(name, { podTemplate: { metadata } });
const runner = (name: string, fields: Fields): Attack => pod(name, { containers: [{ name: 'runner', ...fields }] });
const limits = (name: string, amounts: Fields): Attack => runner(name, { resources: { limits: amounts } });
const volume = (name: string, source: Fields): Attack => pod(name, { volumes: [{ name: 'extra', ...source }] });
const size = (name: string, fields: Fields, spec: Fields = {}): Attack =>
  own(name, { maxActiveRunners: 2, sizes: [{ name: 'large', weight: 2, ...fields }], ...spec });

const IMAGE = 'gitea/runner:1.0.8';
/** Meets every profile. */
const PLAIN = {
  image: IMAGE,
  securityContext: {
    allowPrivilegeEscalation: false,
    capabilities: { drop: ['ALL'] },
    runAsNonRoot: true,
    seccompProfile: { type: 'RuntimeDefault' },
  },
};
const beside = (name: string, fields: Fields): Attack =>
  pod(name, { containers: [{ name: 'side', ...PLAIN, ...fields }] });
const fromSecret = (name: string): Fields => ({ secretRef: { name, key: 'token' } });
const required = (term: object): Fields => ({ requiredDuringSchedulingIgnoredDuringExecution: term });
const DIGEST = `sha256:${'a'.repeat(64)}`;
const BY_HOST = { topologyKey: 'kubernetes.io/hostname' };
const NODE_ROLE = { key: 'node-role.kubernetes.io/control-plane', operator: 'Exists' };
const ROOT_FOLDER = { podTemplate: { spec: { volumes: [{ name: 'extra', hostPath: { path: '/' } }] } } };

const OPEN = 'allowed: the team owns the cluster';
const TRUST = 'allowed: the teams trust each other';
const OWN_POD = 'allowed: it reaches no further than its own pod';

/** Attacks of a security review first, then others of the same kinds. */
export const FATES: readonly Fate[] = [
  {
    stops: { open: OPEN, shared: 'podTemplateFields', hostile: 'podTemplateFields' },
    attacks: [
      pod('another runtime', { runtimeClassName: 'runc-without-sandbox' }),
      pod('another scheduler', { schedulerName: 'mine' }),
      pod('preemption', { preemptionPolicy: 'PreemptLowerPriority' }),
      pod('overhead', { overhead: { cpu: '64' }, runtimeClassName: 'gvisor' }),
      pod('a device that is claimed', {
        resourceClaims: [{ name: 'gpu', resourceClaimTemplateName: 'gpu' }],
        containers: [{ name: 'runner', resources: { claims: [{ name: 'gpu' }] } }],
      }),
      volume('storage of any size', {
        ephemeral: {
          volumeClaimTemplate: {
            spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '10Ti' } } },
          },
        },
      }),
      runner('all of a ConfigMap', { envFrom: [{ configMapRef: { name: 'others' } }] }),
      volume('a store of secrets', {
        csi: { driver: 'secrets-store.csi.k8s.io', volumeAttributes: { secretProviderClass: 'prod' } },
      }),
      volume('a driver of any kind', { csi: { driver: 'csi.of.host.path', volumeAttributes: { path: '/' } } }),
      volume('a claim', { persistentVolumeClaim: { claimName: 'gitea-runner-cache' } }),
      pod('a safe sysctl', {
        securityContext: { sysctls: [{ name: 'net.ipv4.ip_unprivileged_port_start', value: '0' }] },
      }),
      runner('a command after the start', { lifecycle: { postStart: { exec: { command: ['sleep', '1'] } } } }),
      runner('the kubelet asks with another Host', {
        lifecycle: { postStart: { httpGet: { port: 80, httpHeaders: [{ name: 'Host', value: 'x' }] } } },
      }),
      runner('a probe by gRPC', { readinessProbe: { grpc: { port: 1 } } }),
      runner('an SELinux type for engines', { securityContext: { seLinuxOptions: { type: 'container_engine_t' } } }),
      runner('a profile of the node', {
        securityContext: { seccompProfile: { type: 'Localhost', localhostProfile: 'x.json' } },
      }),
      pod('groups of root', { securityContext: { supplementalGroups: [0], fsGroup: 0 } }),
      meta('a network of the host', { annotations: { 'k8s.v1.cni.cncf.io/networks': 'host-net' } }),
      pod('the name of Gitea', { hostnameOverride: 'gitea.example.com' }),
      pod('the name of a Service', { hostname: 'a', subdomain: 'gitea-runner-cache' }),
      pod('another DNS', { dnsConfig: { nameservers: ['192.0.2.1'] } }),
      runner('a port with the name of another', { ports: [{ containerPort: 8080, name: 'metrics' }] }),
      pod('a container before register, with its data', {
        initContainers: [{ name: 'first', ...PLAIN, volumeMounts: [{ name: 'data', mountPath: '/d' }] }],
      }),
      pod('a pod that is never scheduled', { schedulingGates: [{ name: 'x/y' }] }),
      pod('a pod that is never ready', { readinessGates: [{ conditionType: 'x/y' }] }),
      runner('other rules of resizing', { resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }] }),
      runner('its state as the working folder', { workingDir: '/data' }),
      runner('a terminal', { stdin: true, tty: true }),
      runner('its state as the last message', { terminationMessagePath: '/data/.runner' }),
      pod('no user namespace', { hostUsers: true }),
      volume('certificates of another signer', {
        projected: { sources: [{ clusterTrustBundle: { signerName: 'x.example.com/y', path: 'ca.crt' } }] },
      }),
      pod('a name without a Service', { setHostnameAsFQDN: true, subdomain: 'x' }),
      beside('the state of the runner, beside it', { volumeMounts: [{ name: 'data', mountPath: '/d' }] }),
    ],
  },
  {
    stops: { open: OPEN, shared: TRUST, hostile: 'podTemplateFields' },
    attacks: [
      pod('nodes of another team', { nodeSelector: { team: 'victim' } }),
      pod('nodes of the control plane', {
        affinity: { nodeAffinity: required({ nodeSelectorTerms: [{ matchExpressions: [NODE_ROLE] }] }) },
      }),
      pod('every taint', { tolerations: [{ operator: 'Exists' }] }),
      pod('beside the pod of somebody', {
        affinity: {
          podAffinity: required([
            { labelSelector: { matchLabels: { app: 'vault' } }, namespaces: ['vault'], ...BY_HOST },
          ]),
        },
      }),
      pod('no other pod on its node', {
        affinity: { podAntiAffinity: required([{ labelSelector: {}, namespaceSelector: {}, ...BY_HOST }]) },
      }),
      volume('memory as a volume', { emptyDir: { medium: 'Memory', sizeLimit: '500Gi' } }),
      volume('disk of the node', { emptyDir: { sizeLimit: '10Ti' } }),
      runner('an annotation of the pod', {
        env: [{ name: 'X', valueFrom: { fieldRef: { fieldPath: "metadata.annotations['x']" } } }],
      }),
      meta('the label of serve', { labels: { 'app.kubernetes.io/component': 'serve' } }),
      meta('out of the mesh', { labels: { 'sidecar.istio.io/inject': 'false' } }),
      pod('another docker.io', { hostAliases: [{ ip: '192.0.2.1', hostnames: ['docker.io'] }] }),
      runner('a ConfigMap in a variable', {
        env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'others', key: 'a' } } }],
      }),
      runner('a file in a variable', {
        env: [{ name: 'A', valueFrom: { fileKeyRef: { volumeName: 'data', path: '.runner', key: 'a' } } }],
      }),
      pod('a folder by a variable', {
        volumes: [{ name: 'extra', emptyDir: {} }],
        containers: [
          {
            name: 'runner',
            env: [{ name: 'P', value: '../..' }],
            volumeMounts: [{ name: 'extra', mountPath: '/x', subPathExpr: '$(P)' }],
          },
        ],
      }),
      pod('mounts of others', {
        volumes: [{ name: 'extra', emptyDir: {} }],
        containers: [
          { name: 'runner', volumeMounts: [{ name: 'extra', mountPath: '/x', mountPropagation: 'HostToContainer' }] },
        ],
      }),
      pod('no other pod in its region', {
        affinity: {
          podAntiAffinity: required([
            { labelSelector: { matchLabels: {} }, topologyKey: 'topology.kubernetes.io/region' },
          ]),
        },
      }),
      runner('the state of the runner, in another place', { volumeMounts: [{ name: 'data', mountPath: '/d' }] }),
    ],
  },
  {
    stops: { open: OPEN, shared: 'maxResources', hostile: 'maxResources' },
    attacks: [
      pod('resources of the pod', { resources: { requests: { cpu: '64' } } }),
      limits('cores', { cpu: '64' }),
      limits('one thousandth too much', { cpu: '16001m' }),
      limits('cores with an exponent', { cpu: '1e3' }),
      limits('cores in thousands', { cpu: '0.064k' }),
      limits('memory in bytes', { memory: 96_636_764_160 }),
      limits('memory in thousandths', { memory: '96636764160000m' }),
      limits('memory with a sign', { memory: '+90Gi' }),
      pod('two containers, each within the bound', {
        containers: [
          { name: 'runner', resources: { limits: { cpu: '9' } } },
          { name: 'side', ...PLAIN, resources: { limits: { cpu: '9' } } },
        ],
      }),
      pod('a sidecar beside the runner', {
        containers: [{ name: 'runner', resources: { limits: { cpu: '9' } } }],
        initContainers: [{ name: 'side', ...PLAIN, restartPolicy: 'Always', resources: { limits: { cpu: '9' } } }],
      }),
      size('more memory in a size', { resources: { limits: { memory: '90Gi' } } }),
    ],
  },
  {
    stops: { open: 'pod', shared: 'maxResources', hostile: 'maxResources' },
    attacks: [
      pod('64 cores, and 60 fewer beside them', {
        containers: [
          { name: 'runner', resources: { requests: { cpu: '64' } } },
          { name: 'side', ...PLAIN, resources: { requests: { cpu: '-60' } } },
        ],
      }),
    ],
  },
  {
    stops: { open: OPEN, shared: TRUST, hostile: 'maxResources' },
    attacks: [
      limits('huge pages', { 'hugepages-1Gi': '64Gi', cpu: '1' }),
      limits('a name of a quota', { 'requests.nvidia.com/gpu': 1 }),
      limits('a shared GPU', { 'nvidia.com/gpu.shared': 1 }),
      limits('a part of a GPU', { 'nvidia.com/mig-1g.5gb': 1 }),
      own('GPUs, without a podTemplate', { resources: { limits: { 'nvidia.com/gpu': 8 } } }),
      size('GPUs in a size', { resources: { limits: { 'nvidia.com/gpu': 8 } } }),
    ],
  },
  {
    stops: { open: OPEN, shared: 'registries', hostile: 'images' },
    attacks: [
      volume('an image as a volume', { image: { reference: 'evil.example.com/x:1' } }),
      beside('an image with a Cyrillic letter', { image: 'docker.io/gitea/runn\u0435r:1.0.8' }),
      own('an image of a foreign registry', { image: 'evil.example.com/gitea/runner:1.0.8' }),
      own('a foreign image with the name of ours', { image: 'docker.io.evil.example.com/gitea/runner:1.0.8' }),
      runner('the image of the runner, by its template', { image: 'evil.example.com/x:1' }),
      size('a foreign image in a size', {
        podTemplate: { spec: { containers: [{ name: 'runner', image: 'evil.example.com/x:1' }] } },
      }),
    ],
  },
  {
    stops: { open: OPEN, shared: 'podTemplateFields', hostile: 'images' },
    attacks: [
      beside('an image by digest', { image: `gitea/runner@${DIGEST}` }),
      beside('an image by a longer digest', { image: `${IMAGE}@sha512:${'a'.repeat(128)}` }),
    ],
  },
  {
    stops: { open: OPEN, shared: TRUST, hostile: 'images' },
    attacks: [
      own('a version that is not allowed', { image: 'gitea/runner:2.0.0' }),
      own('any version, by a digest beside the tag', { image: `${IMAGE}@${DIGEST}` }),
      own('any image of Docker Hub', { image: 'evil/x:1' }),
    ],
  },
  {
    stops: { open: OPEN, shared: 'podTemplateFields', hostile: 'namespaces.secrets' },
    attacks: [
      runner('all of a Secret', { envFrom: [{ secretRef: { name: 'admin' } }] }),
      volume('a Secret for a flex volume', { flexVolume: { driver: 'x/y', secretRef: { name: 'admin' } } }),
      volume('a Secret as a volume', { secret: { secretName: 'admin' } }),
      volume('a Secret in a projected volume', { projected: { sources: [{ secret: { name: 'admin' } }] } }),
      volume('a Secret for a driver', { csi: { driver: 'd.example.com', nodePublishSecretRef: { name: 'admin' } } }),
      pod('a Secret to pull images', { imagePullSecrets: [{ name: 'admin' }] }),
    ],
  },
  {
    stops: { open: OPEN, shared: TRUST, hostile: 'namespaces.secrets' },
    attacks: [
      own('the API token of others', { authToken: fromSecret('admin') }),
      own('the registration token of others', { registrationToken: fromSecret('admin') }),
      own('a Secret for the cache', { cache: { url: 'http://cache.example.com', ...fromSecret('admin') } }),
      own('a Secret for the proxy', { proxy: { http: 'http://proxy.example.com:80', secretRef: { name: 'admin' } } }),
      runner('a Secret in a variable', {
        env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'admin', key: 'password' } } }],
      }),
    ],
  },
  {
    stops: { open: OPEN, shared: TRUST, hostile: 'namespaces.scopes' },
    attacks: [
      own('all of Gitea', { scope: 'global', org: undefined }),
      own('the organization of others', { org: 'victim' }),
      own('a repository of others', { scope: 'repo', org: undefined, repo: 'victim/web' }),
    ],
  },
  {
    stops: { open: 'serviceAccounts', shared: 'serviceAccounts', hostile: 'serviceAccounts' },
    attacks: [
      pod('a service account', { serviceAccountName: 'admin' }),
      size('a service account in a size', { podTemplate: { spec: { serviceAccountName: 'admin' } } }),
    ],
  },
  {
    stops: { open: 'priorityClasses', shared: 'priorityClasses', hostile: 'priorityClasses' },
    attacks: [pod('a priority class', { priorityClassName: 'system-node-critical' })],
  },
  {
    stops: { open: OPEN, shared: 'priorityClasses', hostile: 'priorityClasses' },
    attacks: [
      own('a priority class for the first runners', { priorityTiers: [{ priorityClassName: 'high', threshold: 1 }] }),
    ],
  },
  {
    stops: { open: 'namespaces.destinations', shared: 'namespaces', hostile: 'namespaces' },
    attacks: [own('a namespace of others', {}, { namespace: 'victim' })],
  },
  {
    stops: { open: OPEN, shared: 'maxActiveRunners', hostile: 'maxActiveRunners' },
    attacks: [own('more runners than there may be', { maxActiveRunners: 101 })],
  },
  {
    stops: { open: OPEN, shared: TRUST, hostile: 'securityProfile' },
    attacks: [
      own('docker as root', { containerMode: 'dind', labels: ['linux'] }),
      own('an image by a label', { containerMode: 'dind', labels: ['linux:docker://evil.example.com/x:1'] }),
    ],
  },
  {
    stops: { open: 'securityProfile', shared: 'securityProfile', hostile: 'securityProfile' },
    attacks: [
      own('a folder of the node, with a reason', ROOT_FOLDER, {
        annotations: { 'gitea.bpg.pw/profile-reason': 'because I say so' },
      }),
      size('a folder of the node in a size', ROOT_FOLDER),
    ],
  },
  {
    stops: { open: 'pod', shared: 'pod', hostile: 'pod' },
    attacks: [
      volume('a certificate of the cluster', {
        projected: {
          sources: [{ podCertificate: { signerName: 'kubernetes.io/kube-apiserver-client-pod', keyType: 'ED25519' } }],
        },
      }),
      volume('a token of the cluster', { projected: { sources: [{ serviceAccountToken: { path: 't' } }] } }),
      pod('a token of the cluster, mounted', { automountServiceAccountToken: true }),
      pod('a sysctl of the node', { securityContext: { sysctls: [{ name: 'kernel.msgmax', value: '1' }] } }),
      runner('the kubelet asks the cloud', {
        lifecycle: { postStart: { httpGet: { host: '169.254.169.254', port: 80, path: '/' } } },
      }),
      pod('a port of the node for a sidecar', {
        initContainers: [
          { name: 'side', ...PLAIN, restartPolicy: 'Always', ports: [{ containerPort: 80, hostPort: 80 }] },
        ],
      }),
      pod('the kubelet asks another host for a sidecar', {
        initContainers: [
          {
            name: 'side',
            ...PLAIN,
            restartPolicy: 'Always',
            startupProbe: { tcpSocket: { host: '10.0.0.1', port: 22 } },
          },
        ],
      }),
      runner('the token of the registration, by a variable', {
        env: [{ name: 'GITEA_RUNNER_REGISTRATION_TOKEN_COPY', value: '$(GITEA_RUNNER_REGISTRATION_TOKEN)' }],
      }),
      pod('a container for debugging', { ephemeralContainers: [{ name: 'e', image: IMAGE }] }),
      runner('unmasked /proc', { securityContext: { procMount: 'Unmasked' } }),
      pod('code for register', { initContainers: [{ name: 'register', env: [{ name: 'LD_PRELOAD', value: '/x' }] }] }),
      volume('the registration token', { secret: { secretName: 'gitea-runner' } }),
      own('docker with a profile that it breaks', {
        containerMode: 'dind-rootless',
        labels: ['linux'],
        securityProfile: 'restricted',
      }),
    ],
  },
  {
    stops: { open: OPEN, shared: OWN_POD, hostile: OWN_POD },
    attacks: [
      runner('code for Node', { env: [{ name: 'NODE_OPTIONS', value: '--require /data/x' }] }),
      own('commands before each CI job', { setupCommand: ['sh', '-c', 'true'] }),
    ],
  },
  {
    stops: { open: OPEN, shared: TRUST, hostile: 'allowed: ConfigMaps are no secrets, and the namespace is its own' },
    attacks: [own('a ConfigMap as certificates', { caBundle: { configMapRef: { name: 'others', key: 'password' } } })],
  },
  {
    stops: { open: OPEN, shared: TRUST, hostile: 'giteas' },
    attacks: [
      own('runners for a server of his own', { gitea: { url: 'https://gitea.evil.example.com' } }),
      own('the same, with the name of ours before it', {
        gitea: { url: 'https://gitea.example.com.evil.example.com' },
      }),
      own('another path of the same host', { gitea: { url: 'https://gitea.example.com/evil' } }),
      own('another port', { gitea: { url: 'https://gitea.example.com:8443' } }),
      own('without TLS', { gitea: { url: 'http://gitea.example.com' } }),
      own('as the operator wrote it', { gitea: undefined, giteaURL: 'https://gitea.evil.example.com' }),
    ],
  },
  {
    stops: { open: OPEN, shared: TRUST, hostile: 'allowed: --notify-urls of serve bounds it' },
    attacks: [own('words to any address', { notify: [{ webhook: { url: 'http://169.254.169.254/latest' } }] })],
  },
  {
    stops: { open: OPEN, shared: TRUST, hostile: 'allowed: queues of Kueue are those of its namespace' },
    attacks: [own('a queue of others', { queue: 'others' })],
  },
];
