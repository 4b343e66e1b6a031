/** Kubernetes in a machine: etcd, API server, controller manager, scheduler, and one node with containerd, kubelet and kube-proxy. */
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ClusterBuilds } from '../../servers/build.ts';
import { makeCertificates } from './certificates.ts';
import { type Dns, DOMAIN, startDns } from './dns.ts';
import { PAUSE_IMAGE } from './images.ts';
import type { Machine, Service } from './machine.ts';

/** Folders of its programs and those of its node. */
export type KubernetesBuild = Pick<ClusterBuilds, 'kubernetes' | 'runtime'>;

export interface Kubernetes {
  /** `https://<machine>:6443`. */
  readonly url: string;
  /** The file with the certificate of its CA. */
  readonly caFile: string;
  /** Kubeconfig of an administrator. The test can read it, too. */
  readonly kubeconfig: string;
  /** Runs kubectl as an administrator and answers its stdout. */
  readonly kubectl: (args: readonly string[], stdin?: string) => Promise<string>;
  /** Applies objects, or texts of some. Answers what kubectl says. */
  readonly apply: (...objects: readonly (object | string)[]) => Promise<string>;
  /** A field as kubectl prints it. @param path such as `{.spec.clusterIP}`. @param what the words behind `kubectl get`. */
  readonly field: (path: string, ...what: readonly string[]) => Promise<string>;
  /** Waits until what rolls out, e.g. `deployment/argocd-server`, has done so. */
  readonly rolledOut: (namespace: string, what: string) => Promise<void>;
  /** Makes a Secret, or gives it these values, too. */
  readonly putSecret: (namespace: string, name: string, values: Readonly<Record<string, string>>) => Promise<void>;
  /** Evicts a pod of namespace runners, as `kubectl drain` does. */
  readonly evict: (pod: string, deleteOptions?: object) => Promise<void>;
  /** True if a service account of namespace argocd may do that. @param attributes of a SubjectAccessReview */
  readonly may: (account: string, attributes: Readonly<Record<string, string>>) => Promise<boolean>;
  /** Starts the API server again after `machine.stop('kube-apiserver')`. */
  readonly restartApiServer: () => Promise<void>;
  /** Loads an image (a tar) into the node. */
  readonly importImage: (tar: string) => Promise<void>;
  /** Lets the node's containerd pull from this registry without TLS. @param host `address:port`. */
  readonly allowPlainRegistry: (host: string) => void;
  /** Gives an image of the node another name and pushes it to a registry without TLS; the node forgets that name. */
  readonly pushImage: (from: string, to: string, login: string) => Promise<void>;
  /** Starts the node's part: from then on pods run. */
  readonly startNode: () => Promise<void>;
  /** Waits until the cluster's DNS knows all Services that exist now. It learns of each a moment after it was made. */
  readonly refreshDns: () => Promise<void>;
}

/**
 * Starts the control plane and waits until it answers.
 */
export async function startKubernetes(
  machine: Machine,
  build: KubernetesBuild,
  more: readonly string[] = [],
): Promise<Kubernetes> {
  const { kubernetes: programs, runtime } = build;
  const bin = (name: string): string => join(programs, name);
  const folder = join(machine.folder, 'kubernetes');
  mkdirSync(folder, { recursive: true });
  await makeCertificates(machine, folder);
  const admin = randomBytes(16).toString('hex');
  const tokens = join(folder, 'tokens.csv');
  writeFileSync(tokens, `${admin},admin,admin,"system:masters"\n`);
  const url = `https://${machine.ip}:6443`;
  const kubeconfig = join(folder, 'kubeconfig');
  const caFile = join(folder, 'ca.crt');
  writeFileSync(kubeconfig, kubeconfigText(url, caFile, admin));

  machine.start({
    name: 'etcd',
    command: 'etcd',
    // No data must outlive the machine, and its disk is slow.
    args: ['--data-dir', join(folder, 'etcd'), '--unsafe-no-fsync', '--log-level', 'warn'],
  });
  const apiServer: Service = {
    name: 'kube-apiserver',
    command: bin('kube-apiserver'),
    args: [
      '--etcd-servers=http://127.0.0.1:2379',
      '--secure-port=6443',
      `--advertise-address=${machine.ip}`,
      `--client-ca-file=${folder}/ca.crt`,
      `--tls-cert-file=${folder}/server.crt`,
      `--tls-private-key-file=${folder}/server.key`,
      `--service-account-key-file=${folder}/accounts.key`,
      `--service-account-signing-key-file=${folder}/accounts.key`,
      '--service-account-issuer=https://kubernetes.default.svc',
      `--token-auth-file=${tokens}`,
      '--authorization-mode=Node,RBAC',
      '--enable-admission-plugins=NodeRestriction',
      `--service-cluster-ip-range=${machine.services}.0/24`,
      '--allow-privileged=true',
      '--kubelet-preferred-address-types=InternalIP',
      ...more,
    ],
  };
  machine.start(apiServer);
  const kubectl: Kubernetes['kubectl'] = (args, stdin) =>
    machine.run(bin('kubectl'), ['--kubeconfig', kubeconfig, ...args], stdin);
  const apply: Kubernetes['apply'] = (...objects) => {
    const texts = objects.map((object) => (typeof object === 'string' ? object : JSON.stringify(object)));
    return kubectl(['apply', '-f', '-'], texts.join('\n---\n'));
  };
  const apiServerAnswers = (): Promise<void> =>
    machine.until('kube-apiserver', () => succeeds(kubectl(['get', '--raw', '/readyz'])));
  await apiServerAnswers();
  const client = ['--kubeconfig', kubeconfig, '--leader-elect=false'];
  machine.start({
    name: 'kube-controller-manager',
    command: bin('kube-controller-manager'),
    args: [
      ...client,
      `--service-account-private-key-file=${folder}/accounts.key`,
      `--root-ca-file=${folder}/ca.crt`,
      '--use-service-account-credentials=true',
      '--authentication-skip-lookup=true',
    ],
  });
  machine.start({
    name: 'kube-scheduler',
    command: bin('kube-scheduler'),
    args: [...client, '--authentication-skip-lookup=true'],
  });

  const socket = join(folder, 'containerd.sock');
  let dns: Dns | undefined;
  const ctr = (...args: readonly string[]): Promise<string> =>
    machine.run('ctr', ['--address', socket, '--namespace', 'k8s.io', ...args]);
  return {
    url,
    caFile,
    kubeconfig,
    kubectl,
    apply,
    field: (path, ...what) => kubectl(['get', ...what, '-o', `jsonpath=${path}`]),
    rolledOut: async (namespace, what) => {
      await kubectl(['rollout', 'status', '-n', namespace, '--timeout=180s', what]);
    },
    putSecret: async (namespace, name, stringData) => {
      await apply({ apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace }, stringData });
    },
    evict: async (name, deleteOptions) => {
      const metadata = { name, namespace: 'runners' };
      const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata, deleteOptions };
      const path = `/api/v1/namespaces/runners/pods/${name}/eviction`;
      await kubectl(['create', '--raw', path, '-f', '-'], JSON.stringify(eviction));
    },
    may: async (account, resourceAttributes) => {
      const spec = { user: `system:serviceaccount:argocd:${account}`, resourceAttributes };
      const question = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec };
      return JSON.parse(await kubectl(['create', '-o', 'json', '-f', '-'], JSON.stringify(question))).status.allowed;
    },
    restartApiServer: async () => {
      machine.start(apiServer);
      await apiServerAnswers();
    },
    importImage: async (tar) => void (await ctr('images', 'import', tar)),
    allowPlainRegistry: (host) => {
      mkdirSync(join(folder, 'certs.d', host), { recursive: true });
      // containerd 1.6 passes over a file that has no host.
      writeFileSync(join(folder, 'certs.d', host, 'hosts.toml'), `[host."http://${host}"]\n`);
    },
    pushImage: async (from, to, login) => {
      await ctr('images', 'tag', from, to);
      await ctr('images', 'push', '--plain-http', '--user', login, to);
      await ctr('images', 'rm', to);
    },
    startNode: async () => {
      dns = await startNode(machine, { bin, folder, socket, kubeconfig, ctr, kubectl, runtime });
    },
    refreshDns: async () => {
      const services = await kubectl(['get', 'services', '--all-namespaces', '-o', `jsonpath=${ADDRESSES}`]);
      await dns?.knows(services.split('\n').flatMap((line) => /^(\S+) [0-9]/.exec(line)?.[1] ?? []));
    },
  };
}

const ADDRESSES = '{range .items[*]}{.metadata.namespace}.{.metadata.name} {.spec.clusterIP}{"\\n"}{end}';

interface Node {
  readonly bin: (name: string) => string;
  readonly folder: string;
  readonly socket: string;
  readonly kubeconfig: string;
  readonly ctr: (...args: readonly string[]) => Promise<string>;
  readonly kubectl: Kubernetes['kubectl'];
  readonly runtime: string | undefined;
}

async function startNode(machine: Machine, node: Node): Promise<Dns> {
  const { bin, folder, socket, kubeconfig, ctr, kubectl, runtime } = node;
  if (runtime !== undefined) await allowUserNamespaces(machine, folder);
  const cni = join(folder, 'cni');
  mkdirSync(cni, { recursive: true });
  writeFileSync(join(cni, '10-bridge.conflist'), cniText(machine.pods));
  machine.start({
    name: 'containerd',
    command: 'containerd',
    ...(runtime !== undefined && { binaries: runtime }),
    args: ['--config', machine.write('kubernetes/containerd.toml', containerdToml(folder, socket, cni))],
  });
  await machine.until('containerd', () => succeeds(ctr('version')));
  // The bridge would be made with the first pod; DNS must be reachable before. It has a fixed address: otherwise it
  // would have that of one of the pods' cards, and pods lose it when that pod goes.
  const bridge = `ip link add cni0 address 0a:00:00:00:00:01 type bridge; ip address add ${machine.pods}.1/24 dev cni0; ip link set cni0 up`;
  await machine.run('sh', ['-ec', bridge]);
  const dns = startDns(machine, bin('kubectl'), kubeconfig);
  machine.start({
    name: 'kubelet',
    command: bin('kubelet'),
    args: [
      `--kubeconfig=${kubeconfig}`,
      `--config=${machine.write('kubernetes/kubelet.yaml', kubeletYaml(machine, folder, socket))}`,
      '--hostname-override=node1',
      `--node-ip=${machine.ip}`,
      `--root-dir=${folder}/kubelet`,
      `--cert-dir=${folder}/kubelet-certificates`,
    ],
  });
  machine.start({
    name: 'kube-proxy',
    command: bin('kube-proxy'),
    args: [
      `--config=${machine.write('kubernetes/proxy.yaml', proxyYaml(machine, kubeconfig))}`,
      '--hostname-override=node1',
    ],
  });
  const ready = ['get', 'node', 'node1', '-o', 'jsonpath={.status.conditions[?(@.type=="Ready")].status}'];
  // Made by a controller a moment after its namespace; pods need it.
  await machine.until('kube-controller-manager', () => succeeds(kubectl(['get', 'serviceaccount', 'default'])));
  await machine.until('kubelet', async () => (await kubectl(ready).catch(String)) === 'True');
  return dns;
}

/**
 * Gives the processes of a pod with ids of its own access to the machine, where they are nobody: the way to their root
 * folder, and a /proc without the files that the machine has mounted over some of it. The kernel gives them no other
 * /proc than they can see.
 */
async function allowUserNamespaces(machine: Machine, folder: string): Promise<void> {
  mkdirSync(join(folder, 'containerd'));
  for (const each of [machine.folder, folder, join(folder, 'containerd')]) chmodSync(each, 0o711);
  await machine.run('sh', ['-ec', 'mkdir /run/whole-proc; mount -t proc proc /run/whole-proc']);
}

function kubeconfigText(url: string, ca: string, token: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server: url, 'certificate-authority': ca } }],
    users: [{ name: 'admin', user: { token } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'admin' } }],
    'current-context': 'test',
  });
}

function cniText(pods: string): string {
  const ranges = [[{ subnet: `${pods}.0/24`, gateway: `${pods}.1` }]];
  return JSON.stringify({
    cniVersion: '0.4.0',
    name: 'pods',
    plugins: [
      {
        type: 'bridge',
        bridge: 'cni0',
        isGateway: true,
        hairpinMode: true,
        ipam: { type: 'host-local', ranges, routes: [{ dst: '0.0.0.0/0' }] },
      },
      { type: 'portmap', capabilities: { portMappings: true } },
    ],
  });
}

function containerdToml(folder: string, socket: string, cni: string): string {
  return `version = 2
root = "${folder}/containerd/root"
state = "${folder}/containerd/state"
[grpc]
  address = "${socket}"
[plugins."io.containerd.internal.v1.opt"]
  path = "${folder}/containerd/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "docker.io/${PAUSE_IMAGE}"
  # Without CAP_SYS_RESOURCE runc cannot lower it.
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "${folder}/certs.d"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "${cni}"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
`;
}

function kubeletYaml(machine: Machine, folder: string, socket: string): string {
  return JSON.stringify({
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: 'AlwaysAllow' },
    cgroupDriver: 'cgroupfs',
    cgroupRoot: machine.controlGroup,
    clusterDNS: [`${machine.pods}.1`],
    clusterDomain: DOMAIN,
    containerRuntimeEndpoint: `unix://${socket}`,
    resolvConf: '',
    failSwapOn: false,
    failCgroupV1: false,
    enforceNodeAllocatable: [],
    evictionHard: { 'memory.available': '1Mi', 'nodefs.available': '1%', 'imagefs.available': '1%' },
    imageGCHighThresholdPercent: 100,
    maxPods: 200,
    registryPullQPS: 0,
    podLogsDir: join(machine.folder, 'pod-logs'),
    // Otherwise it would be /usr/libexec of the whole computer.
    volumePluginDir: join(folder, 'volume-plugins'),
  });
}

function proxyYaml(machine: Machine, kubeconfig: string): string {
  return JSON.stringify({
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    clientConnection: { kubeconfig },
    mode: 'iptables',
    clusterCIDR: `${machine.pods}.0/24`,
    // Pods share a bridge: an answer would go straight back and miss the translation of its address.
    iptables: { masqueradeAll: true },
    conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
  });
}

/** Resolves to true if the work ends without an error. */
export function succeeds(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  );
}
