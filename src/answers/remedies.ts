/** Remedies for what keeps a pod from starting or has ended its runner: one for each cause, as in docs/symptoms.md. Pure. */
import type { GroupKey, RunnerTrouble } from '../planner/decisions.ts';
import { NO_POD, type PodTrouble } from '../planner/evidence.ts';
import { manual } from '../shared/installed/installed-names.ts';
import { groupBy, keyText } from '../shared/keys.ts';
import { timeText } from '../shared/marks.ts';
import { duration, firstNames } from '../shared/printable.ts';
import type { Holder, SlotDelay } from './model.ts';

export const STEP_2 = `step 2 of ${manual('install.md#install-three-steps')}`;
const QUOTA = manual('losses.md#pods-that-a-quota-refuses');
const LOOK = 'look at node <NODE>: kubectl describe node <NODE>';
const NODE = `${LOOK}. If no other has this: kubectl cordon <NODE>, then kubectl -n <NAMESPACE> delete pods -l job-name=<RUNNER>`;
const NEXT_POD = 'nothing, if the next pod starts. Else';
const ON_NODE = 'get pods -A --field-selector spec.nodeName=<NODE>';
const DRIVER =
  'look at that volume, its driver and node <NODE>: kubectl -n <NAMESPACE> get pvc,csidrivers,volumeattachments';
const CLAIM =
  'look at its claim and StorageClass, and at the pods of the CSI driver: kubectl -n <NAMESPACE> describe pvc<CLAIMS>; kubectl get storageclass,csidrivers';
const MESH = manual('install.md#service-mesh');
const REACH = 'see that pods reach Gitea: NetworkPolicy, DNS, proxy';
const REGISTER_LOG = 'kubectl -n <NAMESPACE> logs job/<RUNNER> -c register';
const GITEA_URL = 'spec.gitea.url of <GROUP>';
const PROXY = 'spec.proxy of <GROUP>';
const LOGIN = 'give its registry a login: imagePullSecrets';
const IMAGE = `correct the image (spec.image, or that of <TEMPLATE>), or ${LOGIN}`;
const SCALER_STATUS =
  'kubectl -n kube-system get configmap cluster-autoscaler-status -o yaml, and the log of the autoscaler';
const LESS_PRIVILEGE = 'use a lower spec.securityProfile or another containerMode';
const PROFILE = `${LESS_PRIVILEGE}, or label the namespace: <DOCTOR> has the`;
const EVICTED =
  'give the pod requests for what its node ran out of, in <TEMPLATE>: pods without them are evicted first';

/** Rows of an expression and its remedy. `<claim>` in a remedy is the group `claim` of the expression, and `<NODE>` is one of `Names`. */
export type Remedies = readonly (readonly [words: RegExp, remedy: string])[];

const [V4, V6] = ['\\d+\\.[\\d.]+', '\\[[\\da-f:.]+\\]'];
const NO_ROUTE = 'network is unreachable|cannot assign requested address|no route to host';

/** Remedies for an address that does not answer, in the kernel's words. A name may have an IPv6 address where only IPv4 works. */
export function unreached(who: string, before = ''): Remedies {
  const to = (address: string, words: string) => new RegExp(`${before} dial .*?(?<at>${address}):\\d+: .*(?:${words})`);
  const firewall = `what refuses ${who}: firewall, NetworkPolicy`;
  return [
    [to(V6, NO_ROUTE), `give ${who} a route for IPv6, or let that name lead to IPv4 here: <at> is IPv6`],
    [to(V4, NO_ROUTE), `give ${who} a route to <at>, or see ${firewall}`],
    [to(`${V4}|${V6}`, 'connection refused'), `see whether a program listens at that port of <at>, or ${firewall}`],
  ];
}

/** Remedies for a webhook of this cluster that does not answer, in the API server's words (1.37: k8s.io/apiserver, apiextensions-apiserver). */
export const WEBHOOKS: Remedies = [
  [
    /(?:failed calling webhook|conversion webhook for) .*?https:\/\/(?<service>[\w-]+)\.(?<space>[\w-]+)\.svc\b.*(?:x509|tls): /,
    'renew the certificate of the webhook of service <service>, or the caBundle by which the API server checks it: kubectl -n <space> get secrets,pods',
  ],
  [
    /(?:failed calling webhook|conversion webhook for) .*?https:\/\/(?<service>[\w-]+)\.(?<space>[\w-]+)\.svc\b/,
    'mend the webhook of service <service>, or ask who runs it: kubectl -n <space> get service,endpointslices,pods',
  ],
  [
    /(?:failed calling webhook|conversion webhook for) .*no endpoints available for service "(?<service>[\w-]+)"/,
    'mend the webhook of service <service>, or ask who runs it: kubectl get service,endpointslices -A',
  ],
  [/failed calling webhook|conversion webhook for/, 'that webhook does not answer: ask who runs it'],
];

/** Remedies for `REASON: MESSAGE`, in Kubernetes' words or our own. The first expression that matches counts. */
const REMEDIES: Remedies = [
  // A node rejects a pod. The kubelet writes these words before each message (1.37: kubelet.go, rejectPod).
  [/^NodeShutdown: Pod was rejected/, 'nothing: node <NODE> shuts down, and the next pod goes to another one'],
  [
    /^(?:\w*TopologyAffinity|SMTAlignment|EmptyPodSharedPool)Error/, // pkg/kubelet/cm
    'change spec.resources to what the managers of CPU, memory and topology on node <NODE> can give (whole CPUs of one NUMA node), or keep runners off it: nodeSelector',
  ],
  [
    /^SysctlForbidden.*sysctl: "(?<sysctl>[\w./-]+)"/, // pkg/kubelet/sysctl/allowlist.go
    'allow sysctl <sysctl> in the kubelet of node <NODE> (allowedUnsafeSysctls), or take it out of <TEMPLATE>',
  ],
  [/^PodOS/, 'correct os or the label kubernetes.io/os in <TEMPLATE>: node <NODE> has another system'],
  [
    /^(?:AppArmor|\w+NotSupported|PodFeatureUnsupported|InitContainerRestartPolicyForbidden): Pod was rejected/, // pkg/kubelet/lifecycle
    'keep runners to nodes that can do what it names (nodeSelector), or take it out of <TEMPLATE>: node <NODE> cannot',
  ],
  [/^Evicted: Pod was rejected/, `mend node <NODE>, which is short of what it names: kubectl describe node <NODE>`],
  [/^\S+: Pod was rejected|^(?:OutOf|UnexpectedAdmissionError|NodeAffinity)/, `${NEXT_POD} ${LOOK}`],
  [/^ErrImageNeverPull/, 'load that image onto the nodes, or correct imagePullPolicy in <TEMPLATE>'],
  [/^(?:\w*Image|\w*Container|StartError|FailedCreatePod).* no space left/, `the disk of that node is full: ${NODE}`],
  [
    /^\w+: .*(?:match(?:ing manifest)? for|for architecture|exec format)/,
    'take an image for the processor of the nodes, or a nodeSelector',
  ],
  [
    /^\w*Image.* FailedToRetrieveImagePullSecret: .*\((?<secrets>[\w., -]+)\)/,
    'make Secret <secrets> in namespace <NAMESPACE>, or correct imagePullSecrets in <TEMPLATE>',
  ],
  [/^\w*Image.*: 412\b/, 'ask who owns that registry which rule (CVE, signature) refuses it, or take another'],
  [/^\w*Image.*: 4(?:02|51)\b/, 'ask the owner of that registry, which may not or will not give it, or take another'],
  [/^\w*Image.*: 410\b/, 'take another image: that registry or image is gone'],
  [/^\w*Image.*: 407\b/, 'give containerd of node <NODE> a login for its proxy'],
  [
    /^\w*Image(?!.*x509).*(?:token|credential|login|password)\w* (?:has |is )?expired/i,
    'renew the Secret of imagePullSecrets, whose login has expired (ECR: after 12 hours), or let the kubelet log in',
  ],
  // Artifact Registry, ECR.
  [
    /^\w*Image.*(?:[Pp]ermission "[\w.]+" denied|not authorized to perform)/,
    'give the service account of the nodes, or that of imagePullSecrets, the role of a reader at that repository',
  ],
  [/^\w*Image.*(?:toomanyrequests|rate limit|Too Many Requests)/, `${LOGIN}. Or pull from a mirror`],
  [/^\w*Image.* (?:denied|unauthorized|authoriz|forbidden|no basic auth)/i, `${LOGIN}. Or correct the image`],
  [
    /^\w*Image.* (?:HTTP response to HTTPS client|look like a TLS handshake)/,
    'that registry speaks plain HTTP: tell containerd of the nodes so (hosts.toml), or give the registry TLS',
  ],
  [/^\w*Image.*QPS exceeded/, 'wait: node <NODE> pulls few at once. Often: raise registryPullQPS of its kubelet'],
  [/^\w*Image.*(?:text\/html|beginning of value)/, 'see which proxy or login answers node <NODE>: a web page came'],
  [/^(?:\w*Image.*: 5\d\d\b|RegistryUnavailable)/, 'see whether that registry runs: ask who runs it'],
  [
    /^\w*Image.* (?:no longer supported since containerd|media type .*\.v1\+)/,
    'push that image again in a format of today (OCI, or Docker v2 schema 2), or correct the image: containerd of the nodes reads no older one',
  ],
  [/^\w*Image.* not yet valid/, 'renew the certificate of that registry. If it is new, see the clock of node <NODE>'],
  [/^\w*Image.* (?:certificate is|any IP SANs|Common Name)/, 'see the certificate of that registry, and the host'],
  [/^\w*Image.* x509/, 'have the nodes trust the CA of the registry, in containerd: spec.caBundle does not reach it'],
  [
    /^\w*Image.*short[- ]name(?: mode is enforcing, but image name)? "?(?<image>[\w./:@-]+)/, // CRI-O
    'write <image> with its registry (docker.io/<image>, for example) in spec.image or <TEMPLATE>: nodes know none, or several',
  ],
  [/^\w*Image.*dial unix (?<socket>[\w./-]+)/, `the program behind <socket> does not answer: ${NODE}`],
  [/^\w*Image.*proxyconnect/, 'see that the proxy of containerd on node <NODE> answers, or use NO_PROXY'],
  [/^\w*Image.* lookup (?<host>\S+) .*such host/, 'correct the image, or DNS of node <NODE>: it does not know <host>'],
  ...unreached('node <NODE>', '^\\w*Image.*'),
  [
    /^(?!ImageInspect)\w*Image.* (?:dial|timeout|deadline|reset|EOF|cancell?ed)\b/,
    'see whether node <NODE> reaches the registry: network, DNS, proxy',
  ],
  [
    /^\w*Image.*(?:subordinate IDs|lchown)/i,
    'give node <NODE> more subordinate IDs (/etc/subuid, /etc/subgid), or build the image with UIDs below 65536',
  ],
  [/^\w*Image.*\/blobs\/\S+ not found/, 'push that image again: the registry has lost a part of it'],
  // containerd 2.4: core/content, pkg/archive.
  [
    /^\w*Image.*(?:unexpected (?:commit )?(?:digest|size)|invalid tar header|failed size validation)/,
    'push that image again, or empty the cache of the mirror or proxy before its registry: a layer comes damaged',
  ],
  [
    /^(?:InvalidImageName|\w*Image.*(?:not found|not exist|no such image|invalid reference|(?:manifest|name|blob) unknown|unknown (?:manifest|blob)))/,
    IMAGE,
  ],
  [/^\w*Image.*: 4\d\d\b/, 'see that registry, the proxy before it, and the name of the image: the request is refused'],
  [/^(?:ErrImage|Image)/, 'see what node <NODE> says of that image: journalctl -u containerd, crictl pull'],
  // kubelet 1.37: pkg/kubelet/util/manager (the object exists, and the kubelet cannot read it), pkg/kubelet/token.
  [
    /^\w+: .*(?:failed to sync \w+ cache|object \S+ not registered|services have not yet been read)/,
    `see whether node <NODE> reaches the API server, from which its kubelet cannot read the object: kubectl describe node <NODE>`,
  ],
  [/^FailedAttachVolume.*(?:Multi-Attach|already)/, 'wait for that pod, or give each pod its own volume: ephemeral'],
  [/ configmap "kube-root-ca.crt" not found/, 'see whether kube-controller-manager runs, which makes it'],
  [
    /^(?!NoPod|CreateContainerConfigError: secret).*?(?<kind>configmap|serviceaccount|resourceclaimtemplate)[\w.]* "(?<name>[\w.-]+)" not found/i,
    'make <kind> <name> in namespace <NAMESPACE>, or correct <TEMPLATE>',
  ],
  [/^FailedMount.* failed to fetch token/, `see why the API server gives the kubelet no token: ${LOOK}`],
  [
    /^FailedMount.* secrets store objects/, // secrets-store-csi-driver
    'let the runners read what it names at its provider, or correct the SecretProviderClass: kubectl -n <NAMESPACE> get secretproviderclasses',
  ],
  [
    /^FailedMount.* (?:(?:secret|configmap|persistentvolumeclaim) "|references non-existent )/i,
    'make the Secret, ConfigMap or claim that it names, or the key, or correct <TEMPLATE>',
  ],
  [
    /^FailedMount.* hostPath type check failed: \S*docker\.sock/,
    'use containerMode dind or dind-rootless, and take that hostPath out of <TEMPLATE>: node <NODE> has no docker',
  ],
  [/^FailedMount.* hostPath type check/, 'make that path on node <NODE>, or correct hostPath in <TEMPLATE>'],
  [
    /^Failed(?:Mount|Attach).* (?:driver name|not contain driver) (?<driver>[\w.-]+\w)/, // pkg/volume/csi
    `see whether the pod of CSI driver <driver> runs on node <NODE>: kubectl ${ON_NODE}; kubectl get csidrivers`,
  ],
  [
    /^FailedMount.*(?:fsck|superblock on \/dev|structure|Input\/output)/i,
    'repair that file system, or make its claim again',
  ],
  [
    /^FailedMount.*(?:resolve (?!symlink)|lookup |name or service)/i,
    'see that node <NODE> resolves that name (its DNS), and that it exists: the server, a mount target, the ID of the file system',
  ],
  [
    /^FailedMount.*(?:bad option;|helper program|unknown filesystem type|executable file not found)/,
    'put the program that mounts it on node <NODE> (nfs-common or nfs-utils, cifs-utils, or that of its driver)',
  ],
  [/^FailedMount.*(?:FSGroup|chown).*not permitted/i, 'take fsGroup out of <TEMPLATE>, or let its server chown'],
  [/^FailedMount.*[: ]mount\.(?<type>[\w.]+): /, 'see that the server of that <type> volume admits node <NODE>'],
  [/^FailedMount.*(?:connection|route|stale|busy|denied|error\()/i, `see its server (rights, health), and ${LOOK}`],
  [/^FailedAttach.*(?:limit exceed|Exhausted)/i, 'add a node, or use fewer volumes: a node attaches only so many'],
  [/^Failed(?:Mount|AttachVolume|MapVolume)/, DRIVER],
  [/^FailedResourceClaimCreation/, 'correct resourceClaims in <TEMPLATE>: kubectl get resourceclaimtemplates -A'],
  // kubelet 1.37: pkg/kubelet/kuberuntime/security_context_others.go, pkg/kubelet/kubelet_pods.go.
  [
    /^CreateContainerConfigError.*(?:runAsNonRoot|non-root|run as root)/,
    'give <TEMPLATE> a numeric runAsUser, or the group another spec.securityProfile',
  ],
  [
    /^CreateContainerConfigError.*subPath.* volumeMount "(?<mount>[\w.-]+)" of container "(?<container>[\w.-]+)"/i,
    'correct subPath of volumeMount <mount> in container <container>, or see whether it can be made in that volume: read-only, full',
  ],
  [
    /^CreateContainerConfigError.* find key (?<key>[\w.-]+) in (?<object>(?:ConfigMap|Secret) [\w./-]+)/,
    `make key <key> in <object>, or correct <TEMPLATE>. A registration token: ${STEP_2}`,
  ],
  [
    /^CreateContainerConfigError.* secret "(?<secret>[\w.-]+)" not found/,
    `make Secret <secret> in namespace <NAMESPACE>, or correct the name. A registration token: ${STEP_2}`,
  ],
  // containerd 2.4: internal/cri/sputil, contrib/seccomp.
  [
    /^(?:Run|Create)ContainerError.*(?<what>apparmor|seccomp) profile (?:not found |")(?<profile>[\w./-]+\w)/,
    'put <what> profile <profile> on node <NODE>, or correct it in <TEMPLATE>',
  ],
  [
    /^(?:Run|Create)ContainerError.*(?<what>apparmor|seccomp)/i,
    'see what node <NODE> says of <what>, or correct that profile in <TEMPLATE>: kubectl describe node <NODE>',
  ],
  [/^(?:Run|Create)ContainerError.*(?:deadline|reserve container name|timed? ?out)/, `its node is too slow: ${NODE}`],
  [
    /^(?:(?:Run|Create)ContainerError|StartError|ContainerCannotRun|CrashLoopBackOff: \S+ \S+ did not start).*(?:OOM-killed|memory limit|memory\.max)/,
    'raise spec.resources.limits.memory, or that of this container in <TEMPLATE>: it is too low to start',
  ],
  [
    /^(?:\w+ContainerError|StartError|FailedCreatePodSandBox).*(?:allocate memory|child's PID|temporarily unavail|too many open|cgroup)/,
    `node <NODE> is short of memory, processes or files, or its cgroups are broken: ${NODE}`,
  ],
  [/nvidia-container-cli|nvml/, 'restart node <NODE>, or load its NVIDIA driver. Until then: kubectl cordon <NODE>'],
  [/^P\w+HookError/, 'see what that lifecycle hook says, and correct it in <TEMPLATE>, or the image'],
  [
    /^(?:(?:Run|Create)ContainerError|StartError|ContainerCannotRun|CrashLoopBackOff: \S+ \S+ did not start).*(?:exec:|executable|no such file|a directory|permission denied|find user|mount|entrypoint)|^RROUnsupported|^RegistrationFailed.* exec/,
    'correct command, args, runAsUser and mounts, or the image',
  ],
  [
    /^(?:(?:Run|Create)ContainerError|StartError|ContainerCannotRun|CrashLoopBackOff: \S+ \S+ did not start)/,
    `see what the runtime says there, and ${LOOK}`,
  ],
  [/^SignatureValidationFailed/, 'ask who wants signatures on the nodes. Or sign the image'],
  // The newest Event of the cluster autoscaler (1.36: processors/status, core/scaleup), of GKE's, or of Karpenter (1.14: scheduling/events.go).
  [/^Unschedulable.* (?:TriggeredScaleUp|Nominated): /, 'see in the log of the autoscaler why no node has come'],
  [/^Unschedulable.* FailedScaleUp: .*quota/i, 'raise the quota of the cloud for that zone, or free a node'],
  [
    /^Unschedulable.* FailedScaleUp: .*out of resources/i,
    'let the node group have other zones or types of machines: the cloud has none of these left. The autoscaler tries again by itself',
  ],
  [/^Unschedulable.* FailedScaleUp: /, `see why the cloud gave no node: ${SCALER_STATUS}`],
  [/^Unschedulable.* max [\w ]+ reached/, 'raise the maximum of that node group, or free a node'],
  [
    /^Unschedulable.* NotTriggerScaleUp: .*(?:in backoff after failed scale-up|not ready for scale-up)/,
    `see why the last node did not come, after which the autoscaler pauses for 5 to 30 minutes: ${SCALER_STATUS}`,
  ],
  [
    /^Unschedulable.* FailedScheduling: .*limits (?:for|have been exhausted for) (?:nodepool|provisioner)/,
    'raise spec.limits of that NodePool, or free a node: kubectl get nodepools',
  ],
  [
    /^Unschedulable(?!.* (?:NotTriggerScaleUp|FailedScheduling): )(?=.*Insufficient ).*(?:volume node affinity|volume zone)/,
    'add a node with room where the volume of its claim is, or lower requests in <RESOURCES>: kubectl -n <NAMESPACE> describe pvc<CLAIMS>',
  ],
  [/ ProvisioningFailed: .*(?:authoriz|denied|forbidden)/i, 'give the CSI driver the right that it lacks in the cloud'],
  [/^SchedulerError.*(?:claim|volume)|^\w+: .* (?:FailedBinding|ProvisioningFailed): /i, CLAIM],
  [/^NoScheduler.*default-scheduler/, 'see whether kube-scheduler runs: kubectl -n kube-system get pods'],
  [/^NoScheduler/, 'see whether that scheduler runs, or correct schedulerName in <TEMPLATE>'],
  [/^SchedulerError/, 'see the log of that scheduler'],
  [/^StartsElsewhere/, 'look at its Workload, which names the cluster, and at the pods there'],
  [/^SchedulingGated/, 'ask who sets the gates: before the / stands the domain of the program (kueue.x-k8s.io: Kueue)'],
  [
    /^(?:Pulling|(?:ContainerCreating|PodInitializing).* network is ready)/,
    'see whether the image is large and the registry slow: take a smaller image, or a mirror near the nodes',
  ],
  [/^(?:ContainerCreating|PodInitializing|NodeNotReady)/, NODE],
  [/^\w+: .*unknown (?:shorthand )?flag/, 'take an image with a newer runner'],
  [/^InitContainerRunning.* register has\b/, REACH],
  [
    /^(?:CrashLoopBackOff|InitContainerFailed|SidecarEnded|OOMKilled).*\bcontainer (?<container>[\w.-]+) ended .*OOMKilled/,
    'give container <container> a higher memory limit in <TEMPLATE>',
  ],
  [
    /^SidecarEnded: container (?<container>[\w.-]+)/,
    'see why that container ended: kubectl -n <NAMESPACE> logs job/<RUNNER> -c <container> --previous',
  ],
  [
    /^(?:CrashLoopBackOff|RunnerFailed).* client version (?<client>[\d.]+) is too old/,
    'take an image of the runner whose docker client is newer than <client>: spec.image',
  ],
  [
    /^CrashLoopBackOff.*(?:iptables|nf_tables)/,
    'load the modules ip_tables, iptable_nat and nf_tables on node <NODE>, or keep runners off it',
  ],
  [
    /^CrashLoopBackOff.*(?:rootlesskit|newuidmap|newgidmap|user namespace)/,
    'let users other than root make user namespaces on node <NODE> (AppArmor, sysctl), or keep runners off it',
  ],
  [/^CrashLoopBackOff/, 'see why that container ends, by its log'],
  [
    /^InitContainerRunning.* (?:istio|linkerd)-proxy /,
    `see whether the control plane of the mesh runs, for which that container waits, or keep runners out of the mesh: ${MESH}`,
  ],
  [/^InitContainerRunning.* not started yet/, 'see in its log why it is not ready, or correct its startupProbe'],
  [/^InitContainerRunning/, 'see what that init container waits for, by its log'],
  [/^InitContainerFailed/, 'see why that container, or spec.setupCommand, fails, by its log'],
  [/^OOMKilled/, 'raise spec.resources.limits.memory, or let the CI job need less'],
  [/^Evicted: Usage of EmptyDir/, 'raise the sizeLimit of that volume in <TEMPLATE>, or let the job write less'],
  [/^Evicted: .*exceed.* limit/, 'raise spec.resources.limits.ephemeral-storage, or let the CI job write less'],
  // A drain, an autoscaler and the descheduler ask this API.
  [/^Evict(?:edByVPA|ed: (?:Eviction API|Evicted pod)|ion)/, 'ask who drains that node or evicts pods here'],
  [/^Evicted: .*low on resource: (?<what>inodes|pids)/, 'give nodes more <what>, or let the CI job need fewer'],
  [/^(?:Evicted|TerminationByKubelet): .*(?:low on resource|was using|had condition)/, EVICTED],
  [/^(?:Evicted|TerminationByKubelet)/, 'see why node <NODE> evicted it: kubectl describe node <NODE>'],
  [/^Preempt(?:ed|ionByScheduler)/, 'give the group a higher priority: spec.priorityTiers, or priorityClassName'],
  [/^Disabled/, 'nothing: it gets another runner'],
  [/^(?:DeletionByTaintManager|TaintManagerEviction)/, 'see which taint node <NODE> has: kubectl describe node <NODE>'],
  [/^NodeLost/, 'see why node <NODE> went: kubectl get nodes; kubectl events -A --for node/<NODE>'],
  [/^ScaleDown/, 'have the autoscaler spare nodes with runners: the pods ask for it by annotation'],
  [/^Descheduled/, 'except the namespace of the runners from the descheduler'],
  [/^(?:ContainerStatusUnknown|Unknown): /, 'see why its node lost its containers: kubectl describe node <NODE>'],
  [
    /^RunnerFailed: .*unregistered runner/,
    'nothing: its CI job gets another runner. Often: see who deletes runners in Gitea',
  ],
  [
    /^RunnerFailed: .*(?:docker\.sock|docker(?: daemon| connection|: ))/i,
    'see why docker did not answer the runner, by the log of container docker',
  ],
  [/^RunnerFailed: .*\(killed/, 'see what killed it, for example SystemOOM: kubectl describe node <NODE>'],
  [/^DeadlineExceeded/, 'raise spec.activeDeadlineSeconds, or make the CI job shorter'],
];

/** Remedies for a Job that Kueue holds or evicts (0.17: pkg/scheduler, pkg/cache/scheduler, pkg/controller/core). */
const KUEUE: Remedies = [
  [/\w+Queue .*(?:doesn't exist|not found|missing)/, 'make that queue of Kueue, or correct spec.queue'],
  [
    /ClusterQueue (?<queue>[\w.-]+) is inactive/,
    'see what it lacks, a flavor or an admission check for example: kubectl describe clusterqueue <queue>',
  ],
  [
    /\w+Queue .*(?:stopped|inactive)/,
    'let that queue of Kueue go on (spec.stopPolicy: None), or ask its owner: kubectl describe clusterqueues,localqueues -A says why',
  ],
  [
    /quota (?:in cohort )?for (?<resource>\S+) in flavor (?<flavor>[\w.-]+),.*> maximum capacity/,
    'lower requests of <resource> in spec.resources, or raise nominalQuota of flavor <flavor> in the ClusterQueue: it can never start',
  ],
  [
    /quota (?:in cohort )?for \S+ in flavor (?<flavor>[\w.-]+), /,
    'wait until Jobs of that queue end, or raise nominalQuota of flavor <flavor> in the ClusterQueue: kubectl get workloads -A shows who has it',
  ],
  [/resource (?<resource>\S+) unavail/, 'add <resource> to spec.resourceGroups of the ClusterQueue'],
  [/requests must not exceed/, 'correct spec.resources, or <TEMPLATE>: requests must not exceed limits'],
  [/below the limitRange min/, 'raise requests in spec.resources, or lower min of the LimitRange'],
  [
    /LimitRange constraints|resources validation failed/,
    'lower requests in spec.resources, or raise max of the LimitRange: kubectl -n <NAMESPACE> get limitranges',
  ],
  [/namespace doesn't match/, 'correct spec.queue, or spec.namespaceSelector of the ClusterQueue'],
  [/[Ff]lavor(?:\(s\): \[| )(?<flavor>[\w.-]+)(?: not found|\])/, 'make ResourceFlavor <flavor>, or correct the queue'],
  [/no topology domains at level:? (?<level>[\w./-]+)/, 'label nodes with <level>, or correct the Topology'],
  [/TopologyAware|topology request/, 'set or drop annotations kueue.x-k8s.io/podset-*-topology in <TEMPLATE>'],
  [/topology "(?<topology>[\w.-]+)"/, 'wait for room on the nodes of Topology <topology>, or lower spec.resources'],
  [/taint \{(?<taint>\S+).* in flavor/, 'have runners tolerate taint <taint> in <TEMPLATE>, if they may run there'],
  [/node affinity|in flavor /, 'correct <TEMPLATE>, or give the ClusterQueue a flavor for it'],
  [
    /^(?:Job suspended|spec\.suspend is set)$/,
    'ask who suspends Jobs here: kubectl get localqueues,workloads -A shows the queues of Kueue',
  ],
  [/PodsReady timeout/, 'see why its pod was not ready in time, or raise waitForPodsReady.timeout: Kueue tries again'],
  [/PodsReady condition/, 'wait: Kueue starts one Job after another (waitForPodsReady.blockAdmission)'],
  [/^Preempted/, 'wait for free quota. To have it spared: spec.priorityTiers, or more nominalQuota in the queue'],
  [
    /deactivated due to (?:exceeding the maximum number of re-queu|.*execution time)/,
    'see why its pods were not ready, or ran too long, and have another made: kubectl -n <NAMESPACE> delete job <RUNNER>',
  ],
  [/failed node/, 'wait: Kueue starts it again on another node'],
  [/admission check\S* \[?(?<check>[\w.-]+)/i, 'ask who runs admission check <check>: kubectl get admissionchecks'],
  [/gated by:? (?<gate>\S+)/, 'ask who set the gate <gate>'],
  [/deactivated/, 'see who deactivated its Workload, then set spec.active there'],
  [/^/, 'see all that Kueue says: kubectl -n <NAMESPACE> describe workloads'],
];

/** Remedies for the last words of container `register` (runner 1.0.8: internal/app/cmd/register.go): those of Gitea, connect-go and Go's net/http. */
const REGISTRATION: Remedies = [
  [/another Gitea/, `correct key url of <SECRET>, or ${GITEA_URL}`],
  [/(?: 407\b|Proxy Authentication Required)/, 'give the proxy a login: spec.proxy.secretRef of <GROUP>'],
  [
    / lookup (?:.*\b(?:timeout|refused|reset|unreachable|EOF)\b)/,
    'see that pods reach the DNS of the cluster (port 53): NetworkPolicy of namespace <NAMESPACE>, and its pods: kubectl -n kube-system get pods -l k8s-app=kube-dns',
  ],
  [
    / lookup (?<host>[\w.-]+)(?!.*no such host)/,
    'see the log of the DNS of the cluster, which fails to answer for <host>: kubectl -n kube-system logs -l k8s-app=kube-dns',
  ],
  [/proxyconnect.* lookup (?<host>[\w.-]+)/, `correct ${PROXY}, or the DNS of the cluster, which does not know <host>`],
  [/proxyconnect.*(?:TLS handshake|HTTP response|malformed)/, `write http:// in ${PROXY}: that proxy speaks no TLS`],
  [/proxyconnect.*(?:x509|tls:)/, 'have pods trust the CA of the proxy: spec.caBundle of <GROUP>'],
  [/proxyconnect/, `see that pods reach the proxy in ${PROXY}: its port, whether it runs, NetworkPolicy`],
  [/remote error: tls: .*certificate/, `write an address in ${GITEA_URL} that asks for no client certificate`],
  [/remote error: tls/, `see in the log of what stands before ${GITEA_URL} why it ends TLS`],
  [/HTTP response to HTTPS client|like a TLS handshake/, `write http:// in ${GITEA_URL}, or give it TLS: it has none`],
  // A redirect turns a POST into a GET.
  [/ (?:400|405|30\d) /, `see whether ${GITEA_URL} must begin with https://, or with another host: curl -sI ADDRESS`],
  [/content-type.*html/, `let what stands before ${GITEA_URL} pass requests of runners (/api/actions) without a login`],
  [
    /(?:read-only file system|permission denied)/,
    'let the runner write that path: readOnlyRootFilesystem, runAsUser and mounts in <TEMPLATE> of <GROUP>',
  ],
  [/no space left/, 'see the disk of its node, or the sizeLimit of that volume'],
  [
    /(?:registration token (?:not found|has been invalidated)|of the token not found|missing runner token)/,
    `write a new registration token of this scope into <SECRET>: ${STEP_2}`,
  ],
  [/ is after (?<end>[\dTZ:-]+)/, 'renew the certificate of Gitea, valid until <end>, or see the clock of node <NODE>'],
  [/not yet valid/, 'see whether the clock of node <NODE> is right, and the certificate of Gitea valid'],
  [/certificate is (?:not )?valid for|any IP SANs/, `write a name of that certificate in ${GITEA_URL}, or correct it`],
  [/(?:unknown authority|certificate signed by)/, 'have pods trust the CA of Gitea: spec.caBundle of <GROUP>'],
  [/x509/, `see and correct the certificate at ${GITEA_URL}`],
  [/tls:/, `see what stands before ${GITEA_URL}, and which TLS it speaks`],
  [/no such host/, `correct ${GITEA_URL}, or the DNS of the cluster, which does not know it`],
  [/\b404\b/, `see that ${GITEA_URL} is the base address of Gitea, and that Actions is switched on in app.ini`],
  [/ (?:40[13]|41\d|42\d|451) /, `see what stands before Gitea and refuses pods: its log, ${PROXY}`],
  [/(?: 5\d\d |can't (?:create|update) )/, 'see whether Gitea runs: its log, and what stands before it'],
  [/TLS handshake timeout/, `${REACH}. If small requests pass, correct the MTU of the network of pods`],
  ...unreached('the network of pods'),
  [/awaiting headers/, `see why ${GITEA_URL} answers late: its load, and what stands before it`],
  [/ (?:dial|timeout|deadline|reset|EOF)\b/, REACH],
  [/^/, `read what register says before that: ${REGISTER_LOG}. It asks ${GITEA_URL}`],
];

/** An object of a sync that is no Job, in the API server's words after our own. */
const OTHER_OBJECT =
  '^Job: (?:[^"]*[ :])?(?!(?:job|pod|runnergroup)s?\\b)(?<kind>[a-z]\\w*)(?:\\.[\\w.-]+)? "(?<name>[\\w.:-]+)" is (?:invalid|forbidden)';

/** Remedies where there is no pod, by the API server's words. */
const NOT_ADMITTED: Remedies = [
  [
    /no controller has looked/,
    'see whether kube-controller-manager runs, or ask who runs the control plane: kubectl -n kube-system get lease kube-controller-manager -o yaml has its last renewal',
  ],
  [/exceeded quota: (?<quota>[\w.-]+)/, `raise that quota (<quota>), or let fewer runners run: ${QUOTA}`],
  [/ cannot \w+ resource/, 'give the account that it names this right, by a Role and a RoleBinding in that namespace'],
  [/being terminated/, `the namespace is being deleted. When it is gone, create it again: ${STEP_2}`],
  [new RegExp(`${OTHER_OBJECT}.*denied `, 'i'), 'correct <kind> <name> in git, or ask who runs <POLICY>'],
  [new RegExp(OTHER_OBJECT, 'i'), 'correct <kind> <name> in git'],
  [
    /(?:failed quota|imum .*usage|limit to request ratio|less than or equal to \S+ limit)/,
    'change <RESOURCES> by what that quota or LimitRange asks for',
  ],
  [/PodSecurity/, `${PROFILE} command`],
  [/match these scopes/, 'make a ResourceQuota of that scope, or change priorityTiers or priorityClassName'],
  [/node selector/, 'correct nodeSelector in <TEMPLATE>, or the annotation node-selector of the namespace'],
  [/tolerations .*conflict/, 'correct tolerations in <TEMPLATE>, or the whitelist of tolerations of the namespace'],
  [/security context constraint/, `let their ServiceAccount use a constraint that admits them, or ${LESS_PRIVILEGE}`],
  [/service ?account.* not found/, 'make that ServiceAccount, or correct <TEMPLATE>'],
  [/PriorityClass with name (?<class>[\w.-]+)/, 'make PriorityClass <class>, or correct priorityTiers or podTemplate'],
  [/RuntimeClass "(?<class>[\w.-]+)"/, 'make RuntimeClass <class>, or correct runtimeClassName in <TEMPLATE>'],
  ...WEBHOOKS,
  [
    /denied by (?<rule>autogke-(?:disallow|default-linux|no-write)[\w-]+)/, // GKE Autopilot
    `${LESS_PRIVILEGE}, or run them on a GKE cluster of mode Standard: Autopilot admits nothing else (<rule>)`,
  ],
  [/denied by (?<rule>autogke-[\w-]+)/, 'correct in podTemplate or resources what GKE Autopilot names (<rule>)'],
  // Azure Policy, Gatekeeper, Kyverno and ValidatingAdmissionPolicies that do what Pod Security does.
  [
    /denied (?:the )?request.*(?:privileg|capabilit|hostPath|host ?(?:namespace|network|PID|IPC)|(?:non-?|as )root|seccomp|fsGroup)/i,
    `${LESS_PRIVILEGE}, or ask who runs <POLICY> to except the namespace of the runners from it`,
  ],
  [/denied .*(?:signature|signed\b|attest)/i, 'sign that image, take a signed one, or ask who runs <POLICY>'],
  [
    /denied .*(?:image|registr|\brepo|signature|\btag\b)/i,
    'take another image (spec.image, or that of <TEMPLATE>), from a mirror for example, or ask who runs <POLICY>',
  ],
  [/denied .*\b(?:requests|limits)\b/i, 'write the requests and limits that it asks for, or ask who runs <POLICY>'],
  [
    /^(?!.*(?:autogen-|template)).*\bJob\b.*denied .*\b(?:label|annotation)s?\b/i,
    'no field of a RunnerGroup writes that at its Jobs, only at pods: ask who runs <POLICY> to except these Jobs',
  ],
  [/denied .*\b(?:label|annotation)s?\b/i, 'write that into metadata of <TEMPLATE>, or ask who runs <POLICY>'],
  [/admission ?(?:webhook|policy)/i, 'ask who runs <POLICY>, or correct <TEMPLATE>'],
  [/etcdserver/, 'ask who runs the cluster, with the words of its etcd: nothing here is at fault'],
  [/(?:Internal error|timed out|time allotted)/, 'wait, and try again. If it stays so, ask who runs the API server'],
  [
    /Duplicate value: "(?<value>[^"]+)"/,
    'take <value> out of <TEMPLATE>. If it is not there, a webhook adds it: kubectl get mutatingwebhookconfigurations',
  ],
  [/(?:forbidden|invalid)/, 'see what the API server names, in <TEMPLATE> or in the namespace'],
];

/** Remedies for a pod without a sandbox, by the words of runtimes and network plugins. */
const SANDBOX: Remedies = [
  // containerd 2.4: internal/cri/config/config.go, internal/cri/server/sandbox_run.go; CRI-O: "failed to find runtime handler".
  [
    /(?:no runtime for |runtime handler )"?(?<handler>[\w.-]+)/,
    'set up runtime <handler> in containerd of node <NODE>, or keep pods of that RuntimeClass to nodes that have it (its scheduling.nodeSelector), or correct runtimeClassName in <TEMPLATE>',
  ],
  [
    /(?:get sandbox image|pull image) "(?<image>[\w./:@-]+)"/,
    'have node <NODE> get the pause image <image>: load it, or correct sandbox in the settings of containerd. See whether the node reaches that registry',
  ],
  [/find plugin "(?<plugin>[\w.-]+)" in path \[(?<path>\S+)\]/, 'put plugin <plugin> into <path> of node <NODE>'],
  // The plugins' own words: amazon-vpc-cni-k8s, host-local, Calico, Cilium.
  [
    /(?:assign an IP address|no IP addresses available|no more (?:free|IPs)|no available IP|range is full)/i,
    'give node <NODE> more addresses for pods (a larger subnet or range, prefixes), or fewer pods. Until then: kubectl cordon <NODE>',
  ],
  [
    /plugin type="(?<plugin>[\w.-]+)".*(?:unauthorized|forbidden)/i,
    'mend the login of network plugin <plugin> to the API server, as a rule by a restart of its pods: kubectl get pods -A -o wide. Other nodes may have this, too',
  ],
  [/plugin type="(?<plugin>[\w.-]+)"/, `see the pod of network plugin <plugin> on node <NODE>: kubectl ${ON_NODE}`],
  [/(?:cni|network)/i, `see whether the pod of the network plugin works on node <NODE>: kubectl ${ON_NODE}`],
  [/^/, `see what the runtime of containers on node <NODE> says in its log, and ${NODE}`],
];

/** Remedies for messages of these reasons, if none of `REMEDIES` fits. */
const OF_REASON: Readonly<Record<string, Remedies>> = {
  RegistrationFailed: REGISTRATION,
  [NO_POD]: NOT_ADMITTED,
  FailedCreatePodSandBox: SANDBOX,
  NetworkNotReady: SANDBOX,
  Suspended: KUEUE,
};

/**
 * Remedies for taints that a program sets and removes by itself, in the words of the scheduler, of Karpenter and of `doctor`.
 * With a toleration, runners would start where they cannot work.
 */
export const TAINTS: Remedies = [
  [
    /taint \W?(?:taint=)?node\.(?:cloudprovider\.)?kubernetes\.io\/(?!unschedulable)/,
    'mend those nodes, or add one: kubectl describe nodes; a toleration does not help',
  ],
  [
    /taint \W?(?:taint=)?(?<taint>[\w./-]*(?:disrupt|terminat|delet|drain|evict|maintenance|reboot|rebalanc|spot-itn|shut-?down)[\w./-]*)/i,
    'wait for other nodes, or add one: by taint <taint> a program says that these will go or start again; a toleration does not help',
  ],
  [
    /taint \W?(?:taint=)?(?<taint>[\w./-]*(?:not-?ready|un(?:initiali|regist|health|avail|reach)|readiness|startup|ignore-taint|status-taint|lost|fail)[\w./-]*)/i,
    'see why the agent that removes taint <taint> is not ready on those nodes, a DaemonSet as a rule: kubectl get daemonsets -A; a toleration does not help',
  ],
];

/** Remedies for what the scheduler says of some nodes (1.37: pkg/scheduler/framework/plugins). One plugin refuses a node, so each remedy helps alone. */
const SCHEDULER: Remedies = [
  ...TAINTS,
  [/ persistentvolumeclaim "(?<claim>[\w.-]+)" not found/, 'make claim <claim>: kubectl -n <NAMESPACE> get pvc'],
  [/ephemeral volume|unbound|volumes to bind|free storage|existent pv|available disk|ReadWriteOnce/, CLAIM],
  [
    /volume node affinity|PersistentVolume's node affinity|available volume zone/,
    `add a node where the volume of its claim is: kubectl -n <NAMESPACE> describe pvc<CLAIMS>`,
  ],
  [/exceed max volume count/, 'add a node, or give runners fewer volumes: each node attaches only so many'],
  [
    /Insufficient (?<resource>[\w.-]+\/[\w.-]*\w)/,
    'add a node with free <resource>, or lower that request: <NODES> says what each node offers of it. If that is 0, its device plugin does not work: kubectl get daemonsets -A',
  ],
  [/Insufficient /, 'add a node with room, or lower requests in <RESOURCES>: <NODES> says what each node lacks'],
  [/Too many pods/, 'add a node, or raise maxPods of the kubelets: the size of the pod does not matter'],
  [/free ports/, 'take hostPort and hostNetwork out of <TEMPLATE>, or add a node: a port is for one pod'],
  [
    /topology spread constraints/,
    'loosen topologySpreadConstraints in <TEMPLATE> (maxSkew, whenUnsatisfiable), or add a node where they want the pod',
  ],
  [
    /taint \{(?!node-role\.kubernetes\.io\/)(?<taint>(?:[\w.-]+: ?|\S*(?:gpu|accelerator|spot|preempt|priority|arch|dedicated|reserv|pool|team|workload|compute-type)[\w.-]*: ?|[\w./-]+: ?(?=\w))[\w.-]*)\}/,
    'have runners tolerate taint {<taint>}, if they may run there: tolerations in <TEMPLATE>',
  ],
  [
    /taint \{(?!node-role\.kubernetes\.io\/)(?<taint>[\w./-]+): ?\}/,
    'see who sets taint <taint>, and why: kubectl describe nodes. Tolerate it only if it reserves nodes, and runners may run there',
  ],
  [
    /taint\(s\)/,
    'see which taints those nodes have: kubectl get nodes -o custom-columns=NAME:.metadata.name,TAINTS:.spec.taints. Tolerate one that reserves nodes, if runners may run there, and none of a program that is not ready',
  ],
  // Karpenter, of one NodePool each (1.14: pkg/scheduling, provisioning/scheduling/nodeclaim.go).
  [
    /did not tolerate (?:taint \(taint=)?(?<taint>[\w./-]+(?:=[\w.-]*)?:\w+)/,
    'have runners tolerate the taint <taint>, if they may run there: tolerations in <TEMPLATE>',
  ],
  [
    /incompatible requirements|does not have known values/,
    'correct nodeSelector and nodeAffinity in <TEMPLATE>, or the requirements of a NodePool: kubectl get nodepools -o yaml',
  ],
  [
    /no instance type |required offering/,
    'let a NodePool have larger or other types of machines, or lower requests in <RESOURCES>: kubectl get nodepools -o yaml',
  ],
  [/were unschedulable/, 'uncordon a node, or add one: kubectl get nodes'],
  [/ affinity\/selector/, 'label a node, or correct nodeSelector and nodeAffinity in <TEMPLATE>'],
  [/pods? (?:anti-)?affinity rules/, 'loosen podAffinity and podAntiAffinity in <TEMPLATE>, or add a node'],
  [/resourceclaim|all claims/i, 'look at its ResourceClaim and driver: kubectl -n <NAMESPACE> get resourceclaims'],
];

const OTHER_RULE =
  'see which rule of the scheduler its words name. <NODES> says what each node lacks, where labels, taints or its size are the cause';

/** Reasons that say all. The pod never ran or is gone, the message is the last line of its log, or the remedy has the command. */
const NO_LOGS =
  /^(?:Evicted|Preempted|NodeLost|PodDeleted|TaintManagerEviction|ScaleDown|Descheduled|Disabled|StartError|ContainerCannotRun|CrashLoopBackOff: \S+ \S+ did not start|OutOf|UnexpectedAdmissionError|NodeAffinity|RegistrationFailed|\S+: Pod was rejected)/;

/** True when the logs of the pod say more than this. */
export function hasLogs(trouble: PodTrouble): boolean {
  return !NO_LOGS.test(troubleText(trouble));
}

/** Names for a remedy. In a command an absent name stands as in the manual: `kubectl cordon NODE`. */
interface Names {
  readonly group?: GroupKey | undefined;
  readonly runner?: string;
  /** Name of the Secret with the registration token. */
  readonly secret?: string | undefined;
  /** Words for other places than those of `explain` and of a runner's pod. */
  readonly places?: Places;
}

/** Where a reader sees more (also of nodes), and where the pod is written. */
export const PLACES = {
  ...{ DOCTOR: 'gitea-runners doctor', NODES: 'gitea-runners doctor', NAMESPACE: 'NAMESPACE' },
  ...{ RESOURCES: 'spec.resources', TEMPLATE: 'spec.podTemplate' },
};
export type Places = Partial<typeof PLACES>;

/** Who refuses a pod: a policy of Kyverno or Gatekeeper, or a ValidatingAdmissionPolicy. */
const REFUSING: Remedies = [
  [/(?:following policies |request: \[|AdmissionPolicy ')(?<policy>[\w.-]+)/, 'policy <policy>'],
  [/admission webhook "(?<webhook>[\w.-]+)"/, 'admission webhook <webhook>'],
  [/^/, 'that admission webhook or policy'],
];

/** An Event of a claim at the end of the scheduler's words. The API server may have refused the claim as it does a pod. */
const VOLUME_EVENT = /^\w+: .* (?:FailedBinding|ProvisioningFailed): (.*)/;

/** Undefined: only its logs or its events tell what helps. */
export function remedyOf(trouble: PodTrouble, { group, places, runner, secret }: Names = {}): string | undefined {
  const { claims, message = '', node, reason } = trouble;
  const text = `${reason}: ${message}`;
  const placeholders = {
    ...places,
    CLAIMS: claims?.map((each) => ` ${each}`).join('') ?? '',
    GROUP: group ? `RunnerGroup ${keyText(group)}` : 'the RunnerGroup',
    ...(group && { NAMESPACE: group.namespace }),
    NODE: node,
    POLICY: remedyIn(REFUSING, message),
    RUNNER: runner,
    SECRET: group && secret ? `Secret ${group.namespace}/${secret}` : 'the registration Secret',
  };
  const [, refused] = VOLUME_EVENT.exec(text) ?? [];
  const first =
    (refused && remedyIn(NOT_ADMITTED, refused, placeholders)) ||
    (remedyIn(REMEDIES, text, placeholders) ?? remedyIn(OF_REASON[reason] ?? [], message, placeholders));
  if (first !== undefined || !/^Unschedulable/.test(text)) return first;
  // "0/6 nodes are available: 2 Insufficient cpu, 4 node(s) had untolerated taint {dedicated: db}."
  const [ofScheduler = '', ofScaler] = text.split(/ (?:NotTriggerScaleUp|FailedScheduling): /);
  const parts = (ofScaler ?? ofScheduler).split(/, (?=\d)|; /);
  const ofNodes = parts.flatMap((nodes) => remedyIn(SCHEDULER, nodes, placeholders) ?? []);
  const refusal = ofScaler === undefined ? '' : 'no node that the autoscaler may add would fit: ';
  return refusal + ([...new Set(ofNodes)].join('; or ') || remedyIn([[/^/, OTHER_RULE]], '', placeholders));
}

/** True for troubles with one reason and one remedy. Their messages may name different nodes or addresses. */
export function isSameTrouble(one: PodTrouble, other: PodTrouble): boolean {
  const [remedy, otherRemedy] = [one, other].map(({ node: _, ...trouble }) => remedyOf(trouble));
  return one.reason === other.reason && remedy === otherRemedy;
}

/** Returns the remedy of the first row that fits. @param placeholders by the names in capitals */
export function remedyIn(
  remedies: Remedies,
  text: string,
  placeholders: Readonly<Record<string, string | undefined>> = {},
): string | undefined {
  for (const [expression, remedy] of remedies) {
    const match = expression.exec(text);
    if (!match) continue;
    const wordOf: Readonly<Record<string, string | undefined>> = { ...PLACES, ...placeholders, ...match.groups };
    const isNodeKnown = placeholders['NODE'] !== undefined;
    const written = isNodeKnown ? remedy : remedy.replaceAll(/(?<!describe )node <NODE>/g, 'its node');
    return written.replaceAll(/<(\w+)>/g, (_, name: string) => wordOf[name] ?? name);
  }
  return undefined;
}

/** Returns the remedy, and a command that shows more of one of the runners with this trouble. */
export function podAdvice(
  trouble: PodTrouble & Pick<RunnerTrouble, 'comesByMs'>,
  group: GroupKey,
  runner: string,
): string {
  const { comesByMs, container, isSuspended, reason } = trouble;
  const kubectl = `kubectl -n ${group.namespace}`;
  const object = reason === NO_POD || isSuspended ? `job/${runner}` : `pods -l job-name=${runner}`;
  const command =
    container && hasLogs(trouble) ? `${kubectl} logs job/${runner} -c ${container}` : `${kubectl} describe ${object}`;
  const remedy = remedyOf(trouble, { group, runner });
  const wait = comesByMs === undefined ? '' : `wait until ${timeText(comesByMs)}. After that `;
  // Our own words for a Job without a pod would tell nobody more.
  const cause = reason === NO_POD || isSuspended ? '' : `${reason}: `;
  return remedy === undefined ? seeWhy(group, runner, object) : `${cause}${wait}${remedy}; ${command}`;
}

/** @param object as `kubectl describe` takes it */
export function seeWhy({ namespace }: GroupKey, runner: string, object: string): string {
  return `see why ${runner} cannot start: kubectl -n ${namespace} describe ${object}`;
}

/** Reasons that do not depend on the node. With the node in its text, one cause would be several. */
const ON_EACH_NODE = /^\w*(?:Image|Config)|^RegistrationFailed(?!.*not yet valid)/;

/** `Unschedulable: 0/3 nodes are available: 3 Insufficient cpu.`, `FailedMount: timed out (node node-7)` */
export function troubleText({ reason, message, node }: PodTrouble): string {
  const text = message === undefined ? reason : `${reason}: ${message}`;
  return node === undefined || ON_EACH_NODE.test(text) ? text : `${text} (node ${node})`;
}

/** Most holders of slots in a sentence. The rest is counted. */
const MOST_HOLDERS = 3;

/** `each of jobs 7, 8 has run 5h13m, usually 4m00s` */
export function holdersText(holders: readonly Holder[]): string {
  const texts = [...groupBy(holders, delayText)].map(
    ([text, jobs]) => `${jobs.length > 1 ? 'each of jobs' : 'job'} ${idsText(jobs)} ${text}`,
  );
  return firstNames(texts, MOST_HOLDERS);
}

/** `7, 8, 9 and 2 more` */
function idsText(holders: readonly Holder[]): string {
  const ids = holders.map(({ id }) => String(id));
  return firstNames(ids, MOST_HOLDERS);
}

/** `has run 5h13m, usually 4m00s`: what stands behind the name of a job. */
export function delayText({ overtime, endsByMs, disruption, trouble, offline }: SlotDelay): string {
  const ran = overtime && `has run ${duration(overtime.ranMs)}, usually ${duration(overtime.usualMs)}`;
  const until = endsByMs !== undefined && timeText(endsByMs);
  const disruptionText = disruption ? ` (${troubleText(disruption)})` : '';
  const ends = until && `is on a pod that is being deleted${disruptionText}, and may finish until ${until}`;
  const stuck = trouble && `has a pod that cannot start: ${troubleText(trouble)}`;
  const why = offline?.isGone ? 'its Kubernetes Job is gone' : offline?.why;
  const away = offline && `has a runner that is offline${why === undefined ? '' : ` (${why})`}`;
  return [ran, ends, stuck, away].filter(Boolean).join(', and ');
}

/** @param orElse what else helps, as the end of the sentence */
export function offlineAdvice(namespace: string | undefined, runners: readonly string[], orElse = ''): string {
  const [first, ...otherRunners] = runners.slice(0, MOST_HOLDERS);
  const jobs =
    otherRunners.length === 0 ? `job-name=${first}` : `'job-name in (${[first, ...otherRunners].join(',')})'`;
  const see = `see whether the pod and the node of ${firstNames(runners, MOST_HOLDERS)} are well: kubectl -n ${namespace} get pods -l ${jobs} -o wide`;
  return `${see}. A pod whose node stays away is deleted after some five minutes, and its job is lost${orElse}`;
}

/** Returns the advice about holders of slots. It comes before advice to raise the cap, which they would fill, too. */
export function holderAdvice(holders: readonly Holder[]): readonly string[] {
  const long = holders.filter(({ overtime }) => overtime);
  const leaving = holders.filter(({ endsByMs }) => endsByMs !== undefined);
  const gone = holders.filter(({ offline }) => offline?.isGone);
  const away = holders.filter(({ offline }) => offline && !offline.isGone);
  const runners = away.map(({ runner }) => runner);
  const until = timeText(Math.max(0, ...leaving.map(({ endsByMs = 0 }) => endsByMs)));
  const wait = `wait for ${idsText(leaving)}, until ${until} at most, or cancel them in Gitea: their pods are deleted, as when a node is drained`;
  return [
    ...(long.length > 0 ? [`look at ${idsText(long)} in Gitea, and cancel what hangs`] : []),
    ...(leaving.length > 0 ? [wait] : []),
    ...(gone.length > 0
      ? [`wait until Gitea has failed ${idsText(gone)}, 10 to 15 minutes after its runner went, or cancel it`]
      : []),
    ...(away[0] ? [offlineAdvice(away[0].group.namespace, runners, `. Or cancel job ${idsText(away)} in Gitea`)] : []),
  ];
}
