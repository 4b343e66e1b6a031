/** Tests that each reason has one remedy, and that unknown reasons keep their own words. */
import { describe, expect, it } from 'vitest';
import { oncePerCause } from '../../src/answers/causes.ts';
import { afterError } from '../../src/answers/not-created.ts';
import { runnersAdvice } from '../../src/answers/reasons.ts';
import { podAdvice, remedyOf, troubleText } from '../../src/answers/remedies.ts';
import { unwrapped } from '../../src/clients/argocd/app-state.ts';
import type { RunnerDecision } from '../../src/planner/decisions.ts';
import { rowsOf } from '../support/rows.ts';

const GROUP = { namespace: 'runners', name: 'ci' };
const stuck = (runner: string, reason: string, message = 'zzz'): RunnerDecision => {
  const trouble = { reason, message, isLate: true };
  return { emit: true, runner, group: GROUP, because: 'own-runner', pinned: false, trouble };
};

/** Reason and message of a pod that does not start, and words of the remedy. */
const REMEDIES = rowsOf(`
ImagePullBackOff: failed to authorize: https://ghcr.io/token: 401 Unauthorized => give its registry a login: imagePullSecrets
Unschedulable: 0/3 nodes are available: 3 node(s) had volume node affinity conflict.
  add a node where the volume of its claim is: kubectl -n runners describe pvc
RegistrationFailed: code 1: unavailable: net/http: TLS handshake timeout => correct the MTU
ImagePullBackOff: not found => spec.image
CreateContainerConfigError: secret "gitea-runner" not found => step 2
Unschedulable: 0/3 nodes are available => which rule of the scheduler
FailedMount: MountVolume.SetUp failed for volume "x" : configmap "x" not found => make configmap x in namespace runners
FailedMount: references non-existent secret key: x => or the key
FailedMount: rpc error: code = Unknown desc = failed to mount secrets store objects for pod runners/x, err: Code: 403. Errors: permission denied, couldn't read secret "kv/data/ci"
  let the runners read what it names at its provider
FailedResourceClaimCreation: PodResourceClaim gpu: resource claim template "single-gpu": resourceclaimtemplate.resource.k8s.io "single-gpu" not found
  make resourceclaimtemplate single-gpu in namespace runners
NoPod: forbidden: exceeded quota: pods => raise that quota
NoPod: forbidden: unable to validate against any security context constraint: [provider restricted-v2: Forbidden: not usable by user or serviceaccount]
  a constraint that admits them
NoPod: error looking up service account runners/x: serviceaccount "x" not found => make that ServiceAccount
ErrImagePull: failed commit on ref "layer-x": unexpected commit digest sha256:1, expected sha256:2: failed => damaged
ErrImagePull: failed to extract layer: archive/tar: invalid tar header: unknown => damaged
NoPod: violates PodSecurity "restricted:latest" => securityProfile
NoPod: admission webhook "x.example.com" denied the request: zzz => who runs admission webhook x.example.com
NoPod: admission webhook "validation.gatekeeper.sh" denied the request: [azurepolicy-k8sazurev2noprivilege-e12c4338d05b] Privileged container is not allowed: docker, securityContext: {"privileged": true}
  another containerMode, or ask who runs policy azurepolicy-k8sazurev2noprivilege-e12c4338d05b to except the namespace of
NoPod: admission webhook "validate.kyverno.svc-fail" denied the request: resource Pod/runners/x was blocked due to the following policies disallow-privileged-containers: zzz
  except the namespace of the runners
NoPod: forbidden: ValidatingAdmissionPolicy 'psp' with binding 'psp' denied request: seccompProfile must be set
  except the namespace of the runners
NoPod: admission webhook "warden-validating.common-webhooks.networking.gke.io" denied the request: x {"[denied by autogke-no-host-port]":["container x specifies host ports"]}
  what GKE Autopilot names (autogke-no-host-port)
NoPod: admission webhook "validation.gatekeeper.sh" denied the request: [azurepolicy-k8sazurev2containerallowedimages-x] image x is not allowed
  take another image (spec.image, or that of spec.podTemplate), from a mirror for example, or ask who runs policy azurepolicy-k8sazurev2containerallowedimages-x
Unschedulable: zzz. FailedScaleUp: x failed: GCE quota exceeded. Pod is at risk => raise the quota of the cloud
Unschedulable: zzz. FailedScaleUp: x failed: Internal error. Pod is at risk => cluster-autoscaler-status
Unschedulable: zzz. NotTriggerScaleUp: pod didn't trigger scale-up: max total nodes in cluster reached
  raise the maximum of that node group
Unschedulable: zzz. NotTriggerScaleUp: pod didn't trigger scale-up: 1 max cluster cpu limit reached => raise the maximum of that node group
Unschedulable: zzz. NotTriggerScaleUp: pod didn't trigger scale-up: 16 in backoff after failed scale-up => pauses for 5 to 30 minutes
Unschedulable: 0/2 nodes are available: 2 Too many pods. NotTriggerScaleUp: pod didn't trigger scale-up: 1 node(s) had untolerated taint {dedicated: gpu}
  no node that the autoscaler may add would fit: have runners tolerate taint {dedicated: gpu}
Unschedulable: zzz. FailedScheduling: Failed to schedule pod, all available instance types exceed limits for nodepool (NodePool=ci)
  raise spec.limits of that NodePool
Unschedulable: zzz. FailedScheduling: Failed to schedule pod, incompatible with nodepool "a", did not tolerate taint (taint=arch=arm64:NoSchedule); incompatible with nodepool "b", incompatible requirements, label "gpu" does not have known values
  have runners tolerate the taint arch=arm64:NoSchedule, if they may run there: tolerations in spec.podTemplate; or correct nodeSelector
ImagePullBackOff: pull access denied, repository does not exist => imagePullSecrets. Or correct
ImagePullBackOff: x: toomanyrequests: You have reached your pull rate limit => pull from a mirror
ImagePullBackOff: no matching manifest for linux/arm64/v8 in the manifest list entries => processor of the nodes
ImagePullBackOff: choosing an image from manifest list x: no image found in image index for architecture arm64, OS linux => processor of the nodes
StartError: container register did not start: unable to find user ci: no matching entries in passwd file => runAsUser
StartError: container register did not start: mkdir /run/x: no space left on device => the disk of that node is full
FailedMount: mount error(13): Permission denied => see its server (rights, health)
ImagePullBackOff: x: zzz => see what its node says of that image
ImageInspectError: Failed to inspect image "x": zzz => see what its node says of that image
ImagePullBackOff: x: unknown: repository requires payment => see what its node says of that image
ImagePullBackOff: x: invalid character '<' looking for beginning of value => a web page came
ImagePullBackOff: failed to resolve image: unexpected media type text/html for sha256:9c0d: not found => a web page came
ImagePullBackOff: pull QPS exceeded => wait: its node pulls few at once. Often: raise registryPullQPS
ImagePullBackOff: x: context canceled => whether its node reaches the registry
ImagePullBackOff: x: unexpected status from GET request: 522 => whether that registry runs
StartError: container setup did not start: container init was OOM-killed (memory limit too low?) => raise spec.resources.limits.memory
RunContainerError: container init was OOM-killed (memory limit too low?) => raise spec.resources.limits.memory
CrashLoopBackOff: container docker did not start: container init was OOM-killed (memory limit too low?): back-off 5m => raise spec.resources.limits.memory
CrashLoopBackOff: container docker ended with exit code 1: failed to start daemon: iptables v1.8.10 (legacy): no table nat => load the modules
CrashLoopBackOff: container buildkit ended with exit code 1: [rootlesskit:parent] error: failed to start the child: operation not permitted => make user namespaces
CrashLoopBackOff: container docker ended with exit code 1: zzz => see why that container ends
RunnerFailed: container runner ended with exit code 1: Docker connection failed: Error response from daemon: client version 1.43 is too old. Minimum supported API version is 1.44 => newer than 1.43
RunnerFailed: container runner ended with exit code 1: Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running? => the log of container docker
RunnerFailed: container runner ended with exit code 1: unauthenticated: unregistered runner => its CI job gets another runner
CrashLoopBackOff: container docker did not start: exec: "dockerd": executable file not found in $PATH: back-off 5m => correct command
StartError: container setup did not start: can't get final child's PID from pipe: EOF => short of memory, processes or files
FailedCreatePodSandBox: mkdir /sys/fs/cgroup/kubepods.slice/x: cannot allocate memory => short of memory, processes or files
FailedMount: MountVolume.SetUp failed for volume "cache" : mount: /var/lib/kubelet/x: bad option; for several filesystems (e.g. nfs, cifs) you might need a /sbin/mount.<type> helper program.
  put the program that mounts it on its node (nfs-common or nfs-utils
FailedMount: MountVolume.SetUp failed for volume "x" : mount: unknown filesystem type 'cifs' => put the program that mounts it
FailedMount: applyFSGroup failed for vol nfs-1: lchown /var/lib/x: operation not permitted => take fsGroup out of
FailedMount: 'fsck' found errors on device /dev/nvme1n1 but could not correct them => repair that file system
FailedMount: mount: /x: wrong fs type, bad option, bad superblock on /dev/sdb => repair that file system
FailedMount: mount: Structure needs cleaning => repair that file system
FailedMount: mount.nfs: Connection timed out => see that the server of that nfs volume
FailedMount: lstat /var/lib/x: stale NFS file handle => see its server (rights, health)
Suspended: Exceeded the PodsReady timeout runners/job-ci-1 => see why its pod was not ready in time
Suspended: waiting for all admitted workloads to be in PodsReady condition => wait: Kueue starts one Job after another
Suspended: Preempted to accommodate a workload (UID: 5c0e, JobUID: 77ab) due to prioritization in the ClusterQueue => wait for free quota
Suspended: The workload is deactivated due to exceeding the maximum number of re-queuing retries => and have another made: kubectl -n runners delete job
Suspended: The workload is deactivated due to exceeding the maximum execution time => and have another made
Suspended: The workload is deactivated due to Admission check(s): quota-a, were rejected => ask who runs admission check quota-a
Suspended: The workload is deactivated => see who deactivated
Suspended: Workload was evicted as there was no replacement for a failed node: node-1 => wait: Kueue starts it again
Suspended: Admission is gated by: acme.io/budget => ask who set the gate acme.io/budget
Suspended: LocalQueue ci is terminating or missing => make that queue of Kueue
NoPod: forbidden: insufficient quota to match these scopes: [{PriorityClass In [ci-high]}] => make a ResourceQuota of that scope
NoPod: forbidden: pod node label selector conflicts with its namespace node selector => the annotation node-selector of the namespace
NoPod: forbidden: pod tolerations (possibly merged with namespace default tolerations) conflict with its namespace whitelist => the whitelist of tolerations
Unschedulable: 0/4 nodes are available: 1 Insufficient cpu, 3 node(s) had volume node affinity conflict.
  add a node with room where the volume of its claim is, or lower requests in spec.resources: kubectl -n runners describe pvc
RegistrationFailed: code 1: unavailable: 522 <none> => whether Gitea runs
RegistrationFailed: code 1: unknown: 413 Request Entity Too Large => what stands before Gitea and refuses pods
ImagePullBackOff: x: dial tcp 10.0.0.1:443: i/o timeout => whether its node reaches the registry
ImagePullBackOff: x: no match for platform in manifest: not found => processor of the nodes
CreateContainerConfigError: configmap "mirrors" not found => make configmap mirrors in namespace runners
CreateContainerConfigError: couldn't find key token in Secret runners/gitea-runner => make key token in Secret runners/g
CreateContainerConfigError: container has runAsNonRoot and image will run as root => runAsUser
RunContainerError: exec: "/bin/zzz": no such file => correct command
Unschedulable: 0/3 nodes are available: persistentvolumeclaim "cache" not found. => make claim cache
NoPod: forbidden: failed quota: compute: must specify limits.cpu for: runner => spec.resources
NoPod: forbidden: [maximum cpu usage per Container is 2, but limit is 4] => LimitRange
NoPod: forbidden: error looking up service account runners/b: not found => ServiceAccount
NoPod: Internal error occurred: failed calling webhook "x": zzz => does not answer
NoPod: forbidden: no PriorityClass with name ci-low was found => make PriorityClass ci-low
NoPod: forbidden: ValidatingAdmissionPolicy 'zzz' denied request => ask who runs policy zzz
NoPod: forbidden: unable to create new content: it is being terminated => namespace is being deleted
NoPod: forbidden: zzz => what the API server names
RegistrationFailed: code 1: invalid_argument: runner registration token not found => into Secret runners/gitea-runner: step 2
RegistrationFailed: code 1: dial tcp: lookup git.acme on 10.96.0.10:53: no such host => DNS of the cluster
RegistrationFailed: code 1: dial tcp: lookup git.acme on 10.96.0.10:53: read udp 10.1.0.3:5->10.96.0.10:53: i/o timeout
  see that pods reach the DNS of the cluster (port 53)
RegistrationFailed: code 1: dial tcp: lookup git.acme on 10.96.0.10:53: read udp 10.1.0.3:5->10.96.0.10:53: read: connection refused
  see that pods reach the DNS of the cluster (port 53)
RegistrationFailed: code 1: proxyconnect tcp: dial tcp: lookup squid.acme on 10.96.0.10:53: i/o timeout
  see that pods reach the DNS of the cluster (port 53)
RegistrationFailed: code 1: dial tcp: lookup git.acme on 10.96.0.10:53: server misbehaving
  see the log of the DNS of the cluster, which fails to answer for git.acme
RegistrationFailed: code 1: tls: failed to verify certificate: x509: cannot validate certificate for 10.0.0.7 because it doesn't contain any IP SANs
  a name of that certificate
RegistrationFailed: code 1: x509: certificate relies on legacy Common Name field, use SANs instead => correct the certificate
RegistrationFailed: code 1: tls: server selected unsupported protocol version 301 => what stands before
ImagePullBackOff: x: x509: certificate has expired or is not yet valid: zzz => renew the certificate
ImagePullBackOff: x: x509: certificate is valid for a, not b => see the certificate of that registry
ImagePullBackOff: not implemented: media type "application/vnd.docker.distribution.manifest.v1+prettyjws" is no longer supported since containerd v2.1, please rebuild
  push that image again in a format of today
NoPod: Internal error occurred: failed calling webhook "p": failed to call webhook: Post "https://policy.policy-system.svc:443/v?timeout=10s": tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time zzz
  renew the certificate of the webhook of service policy
NoPod: Internal error occurred: failed calling webhook "p": failed to call webhook: Post "https://policy.policy-system.svc:443/v": x509: certificate signed by unknown authority
  or the caBundle
NoPod: no controller has looked at its Job, whose status is empty => whether kube-controller-manager runs
Suspended: couldn't assign flavors to pod set main: insufficient quota for cpu in flavor default-flavor, previously considered podsets requests (0) + current podset request (16) > maximum capacity (8)
  lower requests of cpu in spec.resources, or raise nominalQuota of flavor default-flavor in the ClusterQueue
Suspended: couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor default, 2 more needed
  wait until Jobs of that queue end, or raise nominalQuota of flavor default
Suspended: resource nvidia.com/gpu unavailable in ClusterQueue => add nvidia.com/gpu to spec.resourceGroups
Suspended: Workload namespace doesn't match ClusterQueue selector => spec.namespaceSelector
Suspended: couldn't assign flavors to pod set main: insufficient unused quota in cohort for cpu in flavor default, 2 more needed
  wait until Jobs of that queue end, or raise nominalQuota of flavor default
Suspended: couldn't assign flavors to pod set main: flavor a100 not found => make ResourceFlavor a100
Suspended: Can't admit new workloads: references missing ResourceFlavor(s): [a100]. => make ResourceFlavor a100
Suspended: couldn't assign flavors to pod set main: no topology domains at level: acme.com/rack => label nodes with acme.com/rack
Suspended: couldn't assign flavors to pod set main: Flavor "x" supports only TopologyAwareScheduling => kueue.x-k8s.io/podset-*-topology
Suspended: couldn't assign flavors to pod set main: topology "racks" doesn't allow to fit any of 1 pod(s). Total nodes: 4; excluded: resource "cpu": 4
  the nodes of Topology racks
Suspended: couldn't assign flavors to pod set main: untolerated taint {spot true NoSchedule <nil>} in flavor cheap => tolerate taint spot
Suspended: The workload is deactivated => then set spec.active there
ImageInspectError: Failed to inspect image "": rpc error: code = Unknown desc = short name mode is enforcing, but image name gitea/runner:1.0 returns ambiguous list
  docker.io/gitea/runner:1.0, for example) in spec.image
ImageInspectError: Failed to inspect image "runner": rpc error: code = Unknown desc = short-name "runner" did not resolve to an alias and no unqualified-search registries are defined
  docker.io/runner, for example) in spec.image
ImagePullBackOff: x: dial tcp [2600:1f18::3]:443: connect: network is unreachable => give its node a route for IPv6
ImagePullBackOff: x: dial tcp 10.0.0.7:443: connect: no route to host => give its node a route to 10.0.0.7
ImagePullBackOff: x: dial tcp 10.0.0.7:443: connect: connection refused => listens at that port of 10.0.0.7
RegistrationFailed: code 1: dial tcp [2001:db8::7]:443: connect: cannot assign requested address => the network of pods a route for IPv6
NoPod: admission webhook "validate.kyverno.svc-fail" denied the request: resource Pod/runners/x was blocked due to the following policies require-limits: x: CPU and memory requests and limits are required
  who runs policy require-limits
NoPod: admission webhook "v" denied the request: [all-must-have-owner] you must provide labels: {"owner"}
  metadata of spec.podTemplate, or ask who runs policy all-must-have-owner
FailedMount: mount failed: exit status 32 Output: mount.nfs: access denied by server while mounting nas:/ci
  the server of that nfs volume admits its node
FailedMount: configmap "kube-root-ca.crt" not found => kube-controller-manager
FailedAttachVolume: AttachVolume.Attach failed: CSINode n1 does not contain driver disk.csi.azure.com => CSI driver disk.csi.azure.com runs
FailedAttachVolume: AttachVolume.Attach failed: code = ResourceExhausted desc = Attachment limit exceeded => a node attaches only so many
Unschedulable: zzz ProvisioningFailed: UnauthorizedOperation: You are not authorized to perform this => the right that it lacks in the cloud
NetworkNotReady: network is not ready: NetworkPluginNotReady message:cni plugin not initialized => the pod of the network plugin
FailedCreatePodSandBox: plugin type="loopback" failed (add): failed to find plugin "loopback" in path [/opt/cni/bin]
  plugin loopback into /opt/cni/bin
ImagePullBackOff: x: failed to authorize: unexpected status from GET request: 429 Too Many Requests => pull from a mirror
ImagePullBackOff: x: dial unix /run/containerd/containerd.sock: connect: connection refused => program behind /run/containerd/containerd.sock
ImagePullBackOff: x: proxyconnect tcp: dial tcp 10.0.0.9:3128: connect: connection refused => the proxy of containerd
ImagePullBackOff: x: dial tcp: lookup registry.acme on 10.0.0.1:53: no such host => it does not know registry.acme
Evicted: The node was low on resource: inodes. => give nodes more inodes
NoPod: the server was unable to return a response in the time allotted => who runs the API server
RegistrationFailed: code 1: x509: certificate has expired or is not yet valid: current time 2026-12-01T04:00:00Z is after 2026-11-30T00:00:00Z
  valid until 2026-11-30T00:00:00Z
RegistrationFailed: code 1: context deadline exceeded (Client.Timeout exceeded while awaiting headers) => answers late
FailedMapVolume: MapVolume.MapPodDevice failed => look at that volume
Evicted: The node had condition: [MemoryPressure]. => give the pod requests
Suspended: couldn't assign flavors to pod set main: flavor spot doesn't match node affinity => a flavor for it
Suspended: admission check workers is Rejected: zzz => who runs admission check workers
Suspended: zzz of Kueue => see all that Kueue says: kubectl -n runners describe workloads
Suspended: Job suspended => ask who suspends Jobs here
RegistrationFailed: code 1: x509: certificate has expired or is not yet valid: zzz => clock of its node
RegistrationFailed: code 1: tls: x509: certificate signed by unknown authority => spec.caBundle
RegistrationFailed: code 1: dial tcp 10.0.0.7:3000: connect: connection refused => NetworkPolicy
RegistrationFailed: code 1: dial tcp 10.0.0.7:30404: connect: connection refused => NetworkPolicy
RegistrationFailed: code 1: x509: certificate is valid for a, not b => a name of that certificate
RegistrationFailed: code 1: permission_denied: 403 Forbidden => what stands before Gitea
RegistrationFailed: code 1: unimplemented: 404 Not Found => Actions is switched on in app.ini
RegistrationFailed: code 1: unavailable: 502 Bad Gateway => whether Gitea runs
RegistrationFailed: code 1: the registration Secret is for another Gitea => key url
FailedAttachVolume: Multi-Attach error for volume "pvc-0" Volume is already used by pod => its own volume
FailedMount: MountVolume.SetUp failed: driver name nfs.csi.k8s.io not found in the list => csidrivers
FailedAttachVolume: AttachVolume.Attach failed for volume "pvc-0": zzz => csidrivers
Unschedulable: 2 node(s) had untolerated taint {node.kubernetes.io/disk-pressure: } => a toleration does not
Unschedulable: 0/3 nodes are available: 3 node(s) were unschedulable => uncordon
Suspended: ClusterQueue team-a is stopped => spec.stopPolicy
Suspended: LocalQueue team-a is inactive => spec.stopPolicy
Suspended: ClusterQueue team-a doesn't exist => make that queue
CrashLoopBackOff: container docker ended with exit code 137 (OOMKilled) => give container docker a higher memory limit
ImagePullBackOff: x: tls: failed to verify certificate: x509: certificate signed by zzz => CA of the registry
ErrImageNeverPull: Container image "x" is not present with pull policy of Never => imagePullPolicy
ImagePullBackOff: x: write /var/lib/containerd/zzz: no space left on device => the disk of that node is full
CreateContainerError: context deadline exceeded => its node is too slow
CreateContainerError: failed to reserve container name "x": zzz => its node is too slow
Unschedulable: 3 node(s) didn't match pod anti-affinity rules => podAntiAffinity
Evicted: The node was low on resource: ephemeral-storage. Threshold quantity: 10Gi => requests for what its node
Evicted: Usage of EmptyDir volume "work" exceeds the limit "10Gi".  => raise the sizeLimit of that volume
Evicted: Container runner exceeded its local ephemeral storage limit "10Gi".  => limits.ephemeral-storage
Evicted: Pod ephemeral local storage usage exceeds the total limit of containers 10Gi.  => ephemeral-storage
OOMKilled: it needed more memory than its limit => raise spec.resources.limits.memory
ImagePullBackOff: x: http: server gave HTTP response to HTTPS client => hosts.toml
ImagePullBackOff: x: tls: first record does not look like a TLS handshake => hosts.toml
ImagePullBackOff: x: unexpected status from HEAD request to https://r/v2/x: 503 Service Unavailable => registry runs
RegistryUnavailable: registry is unavailable => registry runs
ImagePullBackOff: x: unexpected status from HEAD request to https://r/v2/x: 403 Forbidden => imagePullSecrets
ImagePullBackOff: x: httpReadSeeker: read: connection reset by peer => whether its node reaches the registry
ImagePullBackOff: x: unexpected status from HEAD request to https://r/v2/x: 412 Precondition Failed
  which rule (CVE, signature) refuses it
ImagePullBackOff: x: unexpected status from HEAD request to https://r/v2/x: 410 Gone => that registry or image is gone
ImagePullBackOff: x: unexpected status from HEAD request to https://r/v2/x: 402 Payment Required => ask the owner of that registry
ImagePullBackOff: x: unexpected status from HEAD request to https://r/v2/x: 451 Unavailable For Legal Reasons: denied => ask the owner of that registry
ImagePullBackOff: x: unexpected status from HEAD request to https://r/v2/x: 400 Bad Request => the proxy before it
ImagePullBackOff: x: unexpected status from HEAD request to https://r/v2/x: 407 Proxy Authentication Required => a login for its proxy
ImagePullBackOff: x: content at https://r.acme/v2/full/blobs/sha256:9c0d5e7f not found: not found => push that image again
ImagePullBackOff: x: denied: Your authorization token has expired. Reauthenticate and try again => renew the Secret
ImagePullBackOff: x: 403 Forbidden: denied: Permission "artifactregistry.repositories.downloadArtifacts" denied on resource "projects/acme" => the role of a reader
ImagePullBackOff: x: 403 Forbidden: User: arn:aws:sts::1:assumed-role/n is not authorized to perform: ecr:BatchGetImage => the role of a reader
NoPod: admission webhook "m" denied the request: resource Pod/runners/x was blocked due to the following policies verify-image: failed to verify image x: no matching signatures
  sign that image, take a signed one, or ask who runs policy verify-image
NoPod: Pod "x" is invalid: spec.initContainers[2].name: Duplicate value: "istio-init"
  take istio-init out of spec.podTemplate. If it is not there, a webhook adds it
ImagePullBackOff: reading manifest 9 in docker.io/x: manifest unknown => correct the image
InvalidImageName: Failed to apply default image tag: zzz => correct the image
RegistrationFailed: container register ended with exit code 255: exec /bin/sh: exec format error => processor of
RunContainerError: exec: "/bin/sh": exec format error => processor of the nodes
InitContainerFailed: container setup ended with exit code 255: exec /bin/sh: exec format error => processor of
RegistrationFailed: container register ended with exit code 1: Error: unknown flag: --ephemeral => newer runner
SchedulerError: running PreBind plugin "VolumeBinding": binding volumes: deadline => describe pvc
SchedulerError: binding rejected: zzz => log of that scheduler
InitContainerRunning: init container register has not ended => NetworkPolicy
InitContainerRunning: Pods that cannot start: 1. ci-1: init container register has not ended => NetworkPolicy
InitContainerRunning: init container setup has not ended => its log
NoPod: forbidden: pod rejected: RuntimeClass "kata" not found => make RuntimeClass kata
NoPod: Error creating: etcdserver: mvcc: database space exceeded => etcd
NoPod: Error creating: Internal error occurred: resource quota evaluation timed out => try again
`);

const SANDBOX = 'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to';
const NETWORK = `${SANDBOX} setup network for sandbox "6f1d": plugin type="aws-cni" failed (add)`;
const REGISTER = 'container register ended with exit code 1: unavailable:';
const PROXY = `${REGISTER} proxyconnect tcp:`;
const NODES = '0/6 nodes are available:';

/** The words of a message decide, and not its reason. Kubernetes 1.37, containerd 2.4, runner 1.0.8, Go's net/http. */
const REMEDIES_BY_MESSAGE = rowsOf(`
FailedCreatePodSandBox: ${SANDBOX} get sandbox runtime: no runtime for "runsc" is configured
  set up runtime runsc in containerd of node node-7
FailedCreatePodSandBox: failed to find runtime handler kata from runtime list map[] => set up runtime kata
FailedCreatePodSandBox: ${NETWORK}: add cmd: failed to assign an IP address to container => give node node-7 more addresses
FailedCreatePodSandBox: ${NETWORK}: no IP addresses available in range set: 10.244.0.1-10.244.0.254 => more addresses
FailedCreatePodSandBox: ${NETWORK}: connection is unauthorized: Unauthorized => mend the login of network plugin aws-cni
FailedCreatePodSandBox: ${NETWORK}: zzz
  the pod of network plugin aws-cni on node node-7: kubectl get pods -A --field-selector spec.nodeName=node-7
FailedCreatePodSandBox: network is not ready: cni plugin not initialized => the pod of the network plugin works on node node-7
FailedCreatePodSandBox: ${SANDBOX} get sandbox image "registry.k8s.io/pause:3.10": i/o timeout
  get the pause image registry.k8s.io/pause:3.10
FailedCreatePodSandBox: ${SANDBOX} create sandbox: no space left on device => the disk of that node is full
FailedCreatePodSandBox: ${SANDBOX} create shim task: context canceled => the runtime of containers on node node-7
CreateContainerError: failed to create containerd container: apparmor profile not found ci-runner: not found
  put apparmor profile ci-runner on node node-7
CreateContainerError: failed to generate apparmor spec opts: zzz => what node node-7 says of apparmor
CreateContainerError: cannot load seccomp profile "/var/lib/kubelet/seccomp/ci.json": zzz
  put seccomp profile /var/lib/kubelet/seccomp/ci.json on node node-7
CreateContainerError: zzz => see what the runtime says there
CreateContainerConfigError: container has runAsNonRoot and image has non-numeric user (x), cannot verify user is non-root
  numeric runAsUser
CreateContainerConfigError: container's runAsUser breaks non-root policy => numeric runAsUser
CreateContainerConfigError: failed to prepare subPath for volumeMount "cache" of container "runner"
  correct subPath of volumeMount cache in container runner
CreateContainerConfigError: failed to sync secret cache: timed out => whether node node-7 reaches the API server
FailedMount: MountVolume.SetUp failed for volume "x" : failed to sync configmap cache: timed out => node node-7 reaches the API server
FailedMount: MountVolume.SetUp failed for volume "x" : object "runners"/"x" not registered => node node-7 reaches the API server
FailedMount: failed to fetch token: serviceaccounts "ci" not found => make serviceaccount ci in namespace runners
FailedMount: hostPath type check failed: /cache is not a directory => make that path on node node-7
FailedMount: hostPath type check failed: /var/run/docker.sock is not a socket file => use containerMode dind or dind-rootless
FailedMount: mount failed: exit status 1 Failed to resolve "fs-1.efs.x.amazonaws.com" - check that your file system ID is correct
  see that node node-7 resolves that name
FailedMount: mount failed: exit status 32 Output: mount.nfs: Failed to resolve server nas: Name or service not known => see that node node-7 resolves
ImagePullBackOff: x: failed to extract layer sha256:b: failed to Lchown "/x" for UID 1185200044: lchown /x: invalid argument (Hint: try increasing the number of subordinate IDs in /etc/subuid and /etc/subgid)
  give node node-7 more subordinate IDs
StartError: container setup did not start: nvidia-container-cli: mount error: nvml error: driver/library version mismatch
  restart node node-7, or load its NVIDIA driver. Until then: kubectl cordon node-7
Suspended: ClusterQueue ci is inactive => kubectl describe clusterqueue ci
Suspended: ClusterQueue ci is stopped => spec.stopPolicy: None
Suspended: resources didn't satisfy LimitRange constraints: x: requests must not be above the limitRange max
  lower requests in spec.resources, or raise max of the LimitRange: kubectl -n runners get limitranges
Suspended: resources didn't satisfy LimitRange constraints: x: requests must not be below the limitRange min => raise requests
Suspended: resources validation failed: x: requests must not exceed its limits => requests must not exceed limits
FailedMount: driver name nfs.csi.k8s.io not found in the list of registered CSI drivers
  the pod of CSI driver nfs.csi.k8s.io runs on node node-7
PostStartHookError: Exec lifecycle hook ([/x.sh]) failed => what that lifecycle hook says
Unschedulable: ${NODES} 6 Insufficient nvidia.com/gpu.
  what each node offers of it. If that is 0, its device plugin does not work: kubectl get daemonsets -A
Unschedulable: ${NODES} 6 node(s) didn't match pod topology spread constraints. => topologySpreadConstraints
Unschedulable: ${NODES} 6 Too many pods. => maxPods
Unschedulable: ${NODES} 6 node(s) didn't have free ports for the requested pod ports. => hostPort
Unschedulable: ${NODES} 6 node(s) exceed max volume count. => fewer volumes
Unschedulable: ${NODES} 6 node(s) had untolerated taint(s). => custom-columns=NAME:.metadata.name,TAINTS:.spec.taints
Unschedulable: ${NODES} pod has unbound immediate PersistentVolumeClaims. => kubectl -n runners describe pvc ci-1-x-work cache;
NodeShutdown: Pod was rejected: Pod was rejected as the node is shutting down. => nothing: node node-7 shuts down
TopologyAffinityError: Pod was rejected: Resources cannot be allocated with Topology locality => spec.resources
SMTAlignmentError: Pod was rejected: SMT Alignment Error: zzz => whole CPUs
SysctlForbidden: Pod was rejected: forbidden sysctl: "net.core.somaxconn" not allowlisted => allow sysctl net.core.somaxconn
PodOSNotSupported: Pod was rejected: Failed to admit pod as the OS field doesn't match node OS => kubernetes.io/os
AppArmor: Pod was rejected: Cannot enforce AppArmor: zzz => nodes that can do what it names
Evicted: Pod was rejected: The node had condition: [DiskPressure].  => mend node node-7
NodeAffinity: Pod was rejected: Predicate NodeAffinity failed: zzz => nothing, if the next pod starts. Else look at node node-7
Frobnicated: Pod was rejected: zzz => nothing, if the next pod starts. Else look at node node-7
RegistrationFailed: ${REGISTER} Proxy Authentication Required => spec.proxy.secretRef of RunnerGroup runners/ci
RegistrationFailed: code 1: unknown: 407 Proxy Authentication Required => spec.proxy.secretRef of RunnerGroup runners/ci
RegistrationFailed: ${PROXY} dial tcp: lookup squid.acme on 10.96.0.10:53: no such host
  correct spec.proxy of RunnerGroup runners/ci, or the DNS of the cluster, which does not know squid.acme
RegistrationFailed: ${PROXY} dial tcp 10.0.0.9:3128: connect: connection refused => pods reach the proxy in spec.proxy
RegistrationFailed: ${PROXY} tls: first record does not look like a TLS handshake => write http:// in spec.proxy
RegistrationFailed: ${PROXY} tls: failed to verify certificate: x509: zzz => trust the CA of the proxy
RegistrationFailed: ${REGISTER} remote error: tls: certificate required => asks for no client certificate
RegistrationFailed: ${REGISTER} remote error: tls: handshake failure => why it ends TLS
RegistrationFailed: ${REGISTER} http: server gave HTTP response to HTTPS client => write http:// in spec.gitea.url of RunnerGroup runners/ci
RegistrationFailed: code 1: internal: 400 Bad Request => must begin with https://
RegistrationFailed: code 1: unknown: 405 Method Not Allowed => must begin with https://, or with another host
RegistrationFailed: code 1: unknown: invalid content-type: "text/html; charset=utf-8"; expecting "application/proto"
  pass requests of runners (/api/actions) without a login
RegistrationFailed: code 1: failed to save runner config: open /data/.runner: read-only file system => let the runner write that path
RegistrationFailed: code 1: runner registration token has been invalidated, please use the latest one => into Secret runners/gitea-runner
RegistrationFailed: code 1: zzz => read what register says before that: kubectl -n runners logs job/ci-1 -c register
RegistrationFailed: container register ended with exit code 1 => kubectl -n runners logs job/ci-1 -c register
InitContainerRunning: sidecar istio-proxy runs and has not started yet, and register waits for it => control plane of the mesh
InitContainerRunning: sidecar docker runs and has not started yet, and register waits for it => startupProbe
NoPod: failed calling webhook "x": failed to call webhook: Post "https://kueue-webhook.kueue-system.svc:443/m?timeout=10s": zzz
  service kueue-webhook, or ask who runs it: kubectl -n kueue-system get
`);

const GIT = 'Failed to fetch default: `git fetch origin --tags --force` failed exit status 128: fatal: ';
const CACHE = 'failed to sync cluster https://10.96.0.1:443: failed to load initial state of resource';
const SIDECAR = 'plugin sidecar failed. error generating manifests in cmp: rpc error:';
const CONVERSION = 'conversion webhook for cert-manager.io/v1alpha2, Kind=Certificate failed: Post';
const DISCOVER =
  'one or more synchronization tasks are not valid: failed to discover server resources for group version';

const REMEDIES_OF_ARGOCD = rowsOf(`
dial tcp 10.105.201.92:6379: connect: connection refused => start Redis of Argo CD again
dial tcp: lookup argocd-redis-ha-haproxy on 10.96.0.10:53: no such host => start Redis of Argo CD again
read tcp 10.1.2.3:4->10.1.2.4:6379: i/o timeout => start Redis of Argo CD again
failed to list refs: WRONGPASS invalid username-password pair or user is disabled. => the password of Secret
${DISCOVER} batch/v1: Unauthorized => whether Argo CD reaches that cluster
${DISCOVER} gitea.bpg.pw/v1alpha1: the server could not find the requested resource => install the CRD
${DISCOVER} metrics.k8s.io/v1: the server is currently unable to handle the request => kubectl get apiservices
${CACHE} Job.batch: the server has received too many requests and has asked us to try again later => who runs the API server
${CACHE} LimitRange: limitranges is forbidden: User "system:serviceaccount:argocd:x" cannot list resource "limitranges" in API group "" at the cluster scope
  leave that kind out
failed to get server version: Get "https://10.0.0.1/version": dial tcp 10.0.0.1:443: i/o timeout => reaches that
${CACHE} Certificate.cert-manager.io: ${CONVERSION} "https://cm-webhook.cert-manager.svc:443/convert?timeout=30s": no endpoints available for service "cm-webhook"
  service cm-webhook, or ask who runs it: kubectl -n cert-manager get
${CACHE} Certificate.cert-manager.io: ${CONVERSION} "https://x/convert": no endpoints available for service "cm-webhook"
  webhook of service cm-webhook
failed calling webhook "x": failed to call webhook: Post "https://k.kueue-system.svc:443/m": context deadline exceeded
  webhook of service k,
${CACHE} Secret: Timeout: Too large resource version: 9, current: 5 => ask who runs the API server
${CACHE} Node: unexpected EOF => kubectl get Node -A
${CACHE} Node: Get "https://10.96.0.1:443/api/v1/nodes": dial tcp 10.96.0.1:443: i/o timeout => reaches that cluster
error getting openapi resources: SchemaError(io.k8s.x): unable to resolve model => the schema of the CRD
SharedResourceWarning: RunnerGroup/ci is part of applications argocd/runners and argocd/team-b
  take RunnerGroup ci out of the source of one of the Applications argocd/runners and argocd/team-b
error calculating structured merge diff: error building typed value from config resource: .spec.queue: field not declared in schema
  install the CRD of this version
namespace "runners" for Job "ci-1" is not managed => argocd cluster set --namespace
${GIT}unable to access 'https://git.acme/r/': The requested URL returned error: 503 => whether that host is well
failed to list refs: unexpected client error: status code: 502 => whether that host is well
failed to list refs: unexpected client error: status code: 429 => ask that host more seldom
${GIT}unable to access 'https://git.acme/r/': Could not resolve host: git.acme => reaches that host
${GIT}unable to access 'https://git.acme/r/': SSL certificate problem: zzz => the CA of that host
${GIT}Authentication failed for 'https://git.acme/r/' => access to that repository
${GIT}could not read Username for 'https://git.acme': terminal prompts disabled => access to that repository
${GIT}Unable to create '/tmp/x/.git/index.lock': File exists. => rollout restart deployment/argocd-repo-server
${SIDECAR} code = Unavailable desc = error reading from server: EOF => why the sidecar gitea-runners of
${SIDECAR} code = Unavailable desc = transport is closing => why the sidecar gitea-runners of
${SIDECAR} code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial unix /home/argocd/cmp-server/plugins/gitea-runners.sock: connect: connection refused"
  why the sidecar gitea-runners of
${SIDECAR} code = Unknown desc = error generating manifests: \`gitea-runners generate .\` failed exit status 1: error: GR-GITEA-05 list: EOF
  see GR-GITEA-05 in https
error generating manifests in cmp: open /tmp/_cmp_server/x: permission denied => repeat step 1
error sending generate manifest to cmp-server: context canceled => how busy argocd-repo-server is
application 'runners' in namespace 'web' is not permitted to use project 'runners' => argocd proj add-source-namespace runners web
no matching service account found for destination server x and namespace runners => destinationServiceAccounts
jobs.batch "ci-1" is forbidden: exceeded quota: jobs => raise that quota
admission webhook "x" denied the request: zzz => who runs admission webhook x,
failed to list refs: Get "https://git.acme/r": dial tcp [2001:db8::1]:443: connect: network is unreachable => a route for IPv6
plugin sidecar failed. could not find cmp-server plugin with name "gitea-runners" supporting zzz => repeat step 1
CMP processing failed for application "runners": failed to unmarshal zzz => logs deployment/argocd-repo-server -c gitea-runners
plugin sidecar failed. error sending zzz: context canceled => how busy argocd-repo-server is
plugin sidecar failed. error creating zzz: dial unix /home/argocd/cmp-server/plugins/gitea-runners.sock: connect: connection refused
  why the sidecar gitea-runners of
${SIDECAR} code = Unknown desc = error generating manifests: \`gitea-runners generate\` failed exit status 137:  => more memory
Failed to fetch default: \`git fetch origin --tags\` failed timeout after 1m30s => see why git is slow
${GIT}reference is not a tree: abc => spec.source.targetRevision
${GIT}unable to access 'https://git.acme/r/': Received HTTP code 407 from proxy after CONNECT => a login for that proxy
error getting app project "runners": appproject.argoproj.io "runners" not found => make that AppProject
error building typed value from live resource: .status.x: field not declared in schema => upgrade Argo CD
unknown method UpdateRevisionForPaths for service repository.RepoServerService => all parts of Argo CD to one version
error getting cluster: controller is configured to ignore cluster https://10.96.0.1 => ARGOCD_CONTROLLER_REPLICAS
application repo https://git.acme/ci.git is not permitted in project 'runners'
  argocd proj add-source runners https://git.acme/ci.git
application destination server 'https://kubernetes.default.svc' and namespace 'ci' do not match any of the allowed destinations in project 'runners'
  argocd proj add-destination runners https://kubernetes.default.svc ci
namespace ci is not permitted in project 'runners' => add destination ci to project runners
repository contains out-of-bounds symlinks. file: tools/venv/bin/python3 => take tools/venv/bin/python3 out of git
Skipping sync attempt to [4f2c9d1]: auto-sync will wipe out all resources => allowEmpty: true
${GIT}clone of 'git@git.acme:platform/lib.git' into submodule path 'lib' failed => access to that submodule
failed to update submodules: zzz => access to that submodule
Manifest generation error (cached): groups: app path is not a directory => correct spec.source.path
application destination can't have both name and server defined: in-cluster https://kubernetes.default.svc => one of name and server
Destination server missing from app spec => one of name and server
there are 2 clusters with the same name: [a b] => one of name and server
spec.source.repoURL and either source.path, source.chart, or source.ref are required for source {} => spec.source.path
Namespace for ci-1 batch/v1, Kind=Job is missing. => metadata.namespace
Application status exceeds the Kubernetes resource size limit and could not be persisted => spec.revisionHistoryLimit
Shared resource found: zzz => leave the RunnerGroup in one place
default service account contains invalid chars '' => destinationServiceAccounts
exceeded max combined manifest file size => a smaller repository
CustomResourceDefinition.apiextensions.k8s.io "x.keda.sh" is invalid: metadata.annotations: Too long: may not be more than 262144 bytes
  annotate CustomResourceDefinition x.keda.sh in git with argocd.argoproj.io/sync-options: ServerSideApply=true, or
Deployment.apps "mirror" is invalid: spec.selector: Invalid value: {}: field is immutable => take that change of Deployment mirror back
PersistentVolumeClaim "cache" is invalid: spec: Forbidden: spec is immutable after creation except x => take that change of PersistentVolumeClaim cache back
StatefulSet.apps "db" is invalid: spec: Forbidden: updates to statefulset spec for fields other than 'replicas' are forbidden
  take that change of StatefulSet db back
Service "mirror" is invalid: spec.ports: Required value => correct Service mirror in git, then
deployments.apps "mirror" is forbidden: ValidatingAdmissionPolicy 'team' with binding 'team' denied request: label team is required
  correct deployments mirror in git, or ask who runs policy team
services "mirror" is forbidden: unable to create new content in namespace runners because it is being terminated
  the namespace is being deleted
one or more objects failed to apply, reason: jobs.batch "ci-1" is forbidden: ValidatingAdmissionPolicy 'team' with binding 'team' denied request: label team is required on every workload
  only at pods: ask who runs policy team to except these Jobs
admission webhook "validation.gatekeeper.sh" denied the request: [must-have-owner] you must provide labels: {"owner"}
  ask who runs policy must-have-owner to except these Jobs
admission webhook "validate.kyverno.svc-fail" denied the request: resource Job/runners/ci-1 was blocked due to the following policies require-labels: autogen-check-labels: 'label team is required'
  write that into metadata of spec.podTemplate
one or more synchronization tasks are not valid (retried 5 times). => syncResult of the Application
Failed to compare desired state to live state: failed to calculate diff: serverSideDiff error: admission webhook "x" denied the request: zzz
  annotate the Application as
namespaces "runners" not found => create that namespace again
RunnerGroup.gitea.bpg.pw "ci" is invalid: spec.zzz => install the CRD of this version
/groups: app path is absolute => correct spec.source.path of the Application
groups: app path does not exist => correct spec.source.path of the Application
failed to list refs: dial tcp: lookup git: no such host => see that argocd-repo-server reaches that host
failed to list refs: authentication required: Unauthorized => give Argo CD access to that repository
failed to list refs: ssh: handshake failed: knownhosts: key mismatch => give Argo CD the key of that host
failed to list refs: x509: certificate signed by zzz => give Argo CD the CA of that host
unable to resolve 'main' to a commit SHA => correct spec.source.targetRevision
the server has asked for the client to provide credentials => argocd cluster list
error calculating server side diff: zzz => annotate the Application as
Job.batch "ci-1" is invalid: spec.template: field is immutable => match CREATE only
etcdserver: mvcc: database space exceeded => with the words of its etcd
jobs.batch is forbidden: User "system:serviceaccount:argocd:x" cannot create resource "jobs" => this right
Target revision main in Git is not signed, but a signature is required => sign that commit
grpc: received message larger than max (1 vs. 0) => a smaller repository
Apply failed with 1 conflict: conflict with "kubectl" using batch/v1: .spec.suspend => who else does
context deadline exceeded => see how busy argocd-repo-server is
\`gitea-runners generate .\` failed signal: killed: => give the sidecar gitea-runners of argocd-repo-server more
\`gitea-runners generate .\` failed timeout after 1m30s => see why generate takes so long
error reading from server: EOF => see why argocd-repo-server ended
application references project zzz which does not exist => make that AppProject
cluster https://10.0.0.1 not found => correct spec.destination
"transport: Error while dialing: dial tcp 10.0.0.5:8081: refused" => start argocd-repo-server again
reason: job notify has reached the specified backoff limit => see the log of that Job, or take its hook out of the Application
# No object was refused here: the remedies of pods do not apply.
an invalid zzz of zzz, forbidden => correct what it says
# The reader has just read this message.
error: GR-GITEA-05 list jobs of org acme: an error of the server (500). Look into its log => look into its log, then argocd app get
`);

function partsOf(trouble: string) {
  const [, reason = '', message = ''] = /^(\w+): (.*)$/.exec(trouble) ?? [];
  return { reason, message };
}

describe('what helps against a pod that does not start', () => {
  it.each(REMEDIES)('follows from %s', (trouble, remedy) => {
    expect(remedyOf(partsOf(trouble), { group: GROUP, secret: 'gitea-runner' })).toContain(remedy);
  });

  it.each(REMEDIES_BY_MESSAGE)('names what the message decides: %s', (words, remedy) => {
    const trouble = { ...partsOf(words), node: 'node-7', claims: ['ci-1-x-work', 'cache'] };
    const said = remedyOf(trouble, { group: GROUP, runner: 'ci-1', secret: 'gitea-runner' });

    expect(said).toContain(remedy);
    expect(said).not.toMatch(/<|>|NODE|NAMESPACE/);
    if (!/token/.test(words)) expect(said).not.toContain('token');
  });

  it('the remedy for a pod that does not start is told for all nodes that the scheduler counts', () => {
    const message =
      "0/9 nodes are available: 2 node(s) didn't match pod topology spread constraints, 3 node(s) had untolerated taint {dedicated: db}, 2 node(s) had untolerated taint {gpu: }, 1 node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }, 1 Insufficient cpu, 1 Insufficient memory.";

    expect(remedyOf({ reason: 'Unschedulable', message })).toBe(
      [
        'loosen topologySpreadConstraints in spec.podTemplate (maxSkew, whenUnsatisfiable), or add a node where they want the pod',
        'have runners tolerate taint {dedicated: db}, if they may run there: tolerations in spec.podTemplate',
        'have runners tolerate taint {gpu: }, if they may run there: tolerations in spec.podTemplate',
        'add a node with room, or lower requests in spec.resources: gitea-runners doctor says what each node lacks',
      ].join('; or '),
    );
  });

  it.each([
    ['node.cilium.io/agent-not-ready', 'see why the agent'],
    ['ebs.csi.aws.com/agent-not-ready', 'see why the agent'],
    ['cni.istio.io/not-ready', 'see why the agent'],
    ['karpenter.sh/unregistered', 'see why the agent'],
    ['node.cluster.x-k8s.io/uninitialized', 'see why the agent'],
    ['readiness.k8s.io/NetworkReady', 'see why the agent'],
    ['startup-taint.cluster-autoscaler.kubernetes.io/gpu', 'see why the agent'],
    ['drbd.linbit.com/lost-quorum', 'see why the agent'],
    ['karpenter.sh/disrupted', 'wait for other nodes'],
    ['ToBeDeletedByClusterAutoscaler', 'wait for other nodes'],
    ['aws-node-termination-handler/spot-itn', 'wait for other nodes'],
    ['cloud.google.com/impending-node-termination', 'wait for other nodes'],
    ['kubevirt.io/drain', 'wait for other nodes'],
    ['node.kubernetes.io/network-unavailable', 'mend those nodes'],
    ['node.cloudprovider.kubernetes.io/uninitialized', 'mend those nodes'],
  ])('no toleration is advised for a taint that a program sets and removes: %s', (taint, remedy) => {
    const messages = [
      `0/3 nodes are available: 3 node(s) had untolerated taint {${taint}: }.`,
      `zzz FailedScheduling: incompatible with nodepool "a", did not tolerate taint (taint=${taint}:NoSchedule)`,
      `zzz NotTriggerScaleUp: pod didn't trigger scale-up: 3 node(s) had untolerated taint {${taint}: true}`,
    ];
    const remedies = messages.map((message) => remedyOf({ reason: 'Unschedulable', message }) ?? '');

    for (const said of remedies) {
      expect(said).toContain(remedy);
      expect(said).toContain('a toleration does not help');
      expect(said).not.toContain('have runners tolerate');
    }
  });

  it.each([
    ['{k8s.ovn.org/mtu-too-small: }', 'see who sets taint k8s.ovn.org/mtu-too-small'],
    ['{node.kubevirt.io/quarantine: }', 'see who sets taint node.kubevirt.io/quarantine'],
    ['{acme.example/reserved: }', 'have runners tolerate taint {acme.example/reserved: }'],
    ['{acme.example/for: build}', 'have runners tolerate taint {acme.example/for: build}'],
    ['{nvidia.com/gpu: }', 'have runners tolerate taint {nvidia.com/gpu: }'],
    ['{gpu: }', 'have runners tolerate taint {gpu: }'],
  ])(
    'a toleration is advised for a taint whose words say that it reserves nodes, and for no other: %s',
    (taint, remedy) => {
      const message = `0/3 nodes are available: 3 node(s) had untolerated taint ${taint}.`;

      expect(remedyOf({ reason: 'Unschedulable', message })).toContain(remedy);
    },
  );

  it('the remedy for a pod that does not start has NODE and NAMESPACE, as the manual, where nobody knows the name', () => {
    expect(remedyOf({ reason: 'ContainerCreating' })).toContain(
      'kubectl cordon NODE, then kubectl -n NAMESPACE delete',
    );
  });

  it.each([
    ['CreateContainerConfigError', 'zzz'],
    ['NoPod', 'Kubernetes has created no pod'],
  ])('accuses nobody without a cause: %s: %s', (reason, message) => {
    expect(remedyOf({ reason, message })).toBeUndefined();
  });

  const WORDS =
    'SysctlForbidden NodeAffinity UnexpectedAdmissionError ErrImagePull ImagePullBackOff RegistryUnavailable ImageInspectError FailedMount FailedAttachVolume ' +
    'CreateContainerConfigError CreateContainerError RunContainerError PostStartHookError StartError CrashLoopBackOff SignatureValidationFailed Unschedulable SchedulerError ' +
    'NoScheduler StartsElsewhere SchedulingGated FailedCreatePodSandBox Pulling ContainerCreating PodInitializing Suspended RegistrationFailed InitContainerRunning ' +
    'InitContainerFailed Evicted EvictionByEvictionAPI DeletionByTaintManager NodeLost ContainerStatusUnknown Unknown RunnerFailed NoPod Frobnicated';

  it.each(WORDS.split(' '))('the last remedy for %s looks, and changes nothing by a guess', (reason) => {
    const remedy = remedyOf({ reason, message: 'zzz' }, { group: GROUP, runner: 'ci-1' }) ?? 'see';

    expect(remedy).toMatch(/^(?:see|read|look|ask|nothing)\b|kubectl|\blog\b/);
    expect(remedy).not.toMatch(/usual|mostly|probably|tolerat|raise|give the (?:group|pod)|which does not know/);
  });

  it('the remedy for a pod that does not start is for a container that registers: the network', () => {
    const message = 'init container register has not ended';
    const trouble = { reason: 'InitContainerRunning', message, container: 'register' };

    expect(podAdvice(trouble, GROUP, 'ci-1')).toMatch(/pods reach Gitea.*logs job\/ci-1 -c register$/);
  });

  it('the remedy for a pod that does not start is for a reason that nobody knew its own words, and where to see more', () => {
    const trouble = { reason: 'Frobnicated', message: 'zzz' };

    expect(remedyOf(trouble)).toBeUndefined();
    expect(troubleText(trouble)).toBe('Frobnicated: zzz');
    expect(podAdvice(trouble, GROUP, 'ci-1')).toBe(
      'see why ci-1 cannot start: kubectl -n runners describe pods -l job-name=ci-1',
    );
  });

  it('the remedy for a pod that does not start is told once for a cause, and not for each pod', () => {
    const advice = runnersAdvice([
      stuck('ci-1', 'ImagePullBackOff', 'not found'),
      stuck('ci-2', 'ImagePullBackOff', 'not found'),
      stuck('ci-3', 'Unschedulable'),
    ]);

    expect(advice).toEqual([expect.stringMatching(/^ImagePullBackOff: /), expect.stringMatching(/^Unschedulable: /)]);
  });
});

it.each(REMEDIES_OF_ARGOCD)('what helps against an error of Argo CD: %s', (message, remedy) => {
  const wrapped = `Failed to load target state: rpc error: code = Unknown desc = ${message}`;

  expect(afterError(unwrapped(wrapped), 'argocd/runners')).toContain(remedy);
});

it('what Argo CD says of its cache of the cluster begins with the resource that it cannot read', () => {
  const outer = 'Failed to load live state: failed to get cluster info for "https://10.96.0.1:443": ';
  const inner = 'failed to load initial state of resource Secret: unexpected EOF';

  expect(
    unwrapped(`${outer}error synchronizing cache state : failed to sync cluster https://10.96.0.1:443: ${inner}`),
  ).toBe(inner);
});

it('steps that differ in the runner and the time only are told once, with the number of the others', () => {
  const step = (id: number): string =>
    `wait until 2026-11-30T12:0${id}:00Z: then another runner is tried. Sooner: kubectl -n runners delete job ci-${id}-1-9c31e0aa`;
  const other = 'look whether Actions is switched on in the settings of acme/web';

  expect(oncePerCause([step(1), step(2), other, step(3), step(1), other])).toEqual([
    `${step(1)}. The same for 2 other runners`,
    other,
  ]);
  expect(oncePerCause([step(1), step(1)])).toEqual([step(1)]);
});
