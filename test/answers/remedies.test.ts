/** Tests that each reason has one remedy, and that unknown reasons keep their own words. */
import { describe, expect, it } from 'vitest';
import { afterError } from '../../src/answers/not-created.ts';
import { runnersAdvice } from '../../src/answers/reasons.ts';
import { podAdvice, remedyOf, troubleText } from '../../src/answers/remedies.ts';
import { unwrapped } from '../../src/clients/argocd/app-state.ts';
import type { RunnerDecision } from '../../src/planner/decisions.ts';

const GROUP = { namespace: 'runners', name: 'ci' };
const stuck = (runner: string, reason: string, message = 'zzz'): RunnerDecision => {
  const trouble = { reason, message, isLate: true };
  return { emit: true, runner, group: GROUP, because: 'own-runner', pinned: false, trouble };
};

describe('what helps against a pod that does not start', () => {
  it.each([
    ['ImagePullBackOff', 'not found', 'spec.image'],
    ['CreateContainerConfigError', 'secret "gitea-runner" not found', 'step 2'],
    ['Unschedulable', '0/3 nodes are available', 'nodeSelector'],
    ['FailedMount', 'configmap "x" not found', 'make the Secret, ConfigMap or claim'],
    ['NoPod', 'forbidden: exceeded quota: pods', 'raise that quota'],
    ['NoPod', 'violates PodSecurity "restricted:latest"', 'securityProfile'],
    ['NoPod', 'admission webhook "x.example.com" denied the request: zzz', 'who runs that admission webhook'],
    ['ImagePullBackOff', 'pull access denied, repository does not exist', 'imagePullSecrets. Or correct'],
    ['ImagePullBackOff', 'x: toomanyrequests: You have reached your pull rate limit', 'pull from a mirror'],
    ['ImagePullBackOff', 'x: dial tcp 10.0.0.1:443: i/o timeout', 'whether the node reaches the registry'],
    ['ImagePullBackOff', 'x: no match for platform in manifest: not found', 'processor of the nodes'],
    ['CreateContainerConfigError', 'configmap "mirrors" not found', 'make the Secret, ConfigMap or claim'],
    ['CreateContainerConfigError', 'container has runAsNonRoot and image will run as root', 'runAsUser'],
    ['RunContainerError', 'exec: "/bin/zzz": no such file', 'correct command'],
    ['Unschedulable', 'persistentvolumeclaim "cache" not found', 'kubectl get pvc'],
    ['NoPod', 'forbidden: failed quota: compute: must specify limits.cpu for: runner', 'spec.resources'],
    ['NoPod', 'forbidden: [maximum cpu usage per Container is 2, but limit is 4]', 'LimitRange'],
    ['NoPod', 'forbidden: error looking up service account runners/b: not found', 'ServiceAccount'],
    ['NoPod', 'Internal error occurred: failed calling webhook "x": zzz', 'does not answer'],
    ['NoPod', "forbidden: ValidatingAdmissionPolicy 'zzz' denied request", 'admission webhook or policy'],
    ['NoPod', 'forbidden: unable to create new content: it is being terminated', 'namespace is being deleted'],
    ['NoPod', 'forbidden: zzz', 'what the API server names'],
    ['RegistrationFailed', 'container register ended with exit code 1', 'registration token'],
    ['RegistrationFailed', 'code 1: invalid_argument: runner registration token not found', 'make a new registration'],
    ['RegistrationFailed', 'code 1: dial tcp: lookup git.acme on 10.96.0.10:53: no such host', 'DNS of the cluster'],
    ['RegistrationFailed', 'code 1: x509: certificate has expired or is not yet valid: zzz', 'clock of that node'],
    ['RegistrationFailed', 'code 1: tls: x509: certificate signed by unknown authority', 'spec.caBundle'],
    ['RegistrationFailed', 'code 1: dial tcp 10.0.0.7:3000: connect: connection refused', 'NetworkPolicy'],
    ['RegistrationFailed', 'code 1: x509: certificate is valid for a, not b', 'a name of that certificate'],
    ['RegistrationFailed', 'code 1: permission_denied: 403 Forbidden', 'what stands before Gitea'],
    ['RegistrationFailed', 'code 1: unimplemented: 404 Not Found', 'Actions is switched on in app.ini'],
    ['RegistrationFailed', 'code 1: unavailable: 502 Bad Gateway', 'whether Gitea runs'],
    ['RegistrationFailed', 'code 1: the registration Secret is for another Gitea', 'key url'],
    ['FailedAttachVolume', 'Multi-Attach error for volume "pvc-0" Volume is already used by pod', 'volume of its own'],
    ['FailedMount', 'MountVolume.SetUp failed: driver name nfs.csi.k8s.io not found in the list', 'csidrivers'],
    ['FailedAttachVolume', 'AttachVolume.Attach failed for volume "pvc-0": zzz', 'csidrivers'],
    ['Unschedulable', '2 node(s) had untolerated taint {node.kubernetes.io/disk-pressure: }', 'a toleration does not'],
    ['Unschedulable', '0/3 nodes are available: 3 node(s) were unschedulable', 'uncordon'],
    ['Suspended', 'ClusterQueue team-a is stopped', 'spec.stopPolicy'],
    ['Suspended', 'LocalQueue team-a is inactive', 'spec.stopPolicy'],
    ['Suspended', "ClusterQueue team-a doesn't exist", 'make that queue'],
    ['CrashLoopBackOff', 'container docker ended with exit code 137 (OOMKilled)', 'a higher memory limit'],
    ['ImagePullBackOff', 'x: tls: failed to verify certificate: x509: certificate signed by zzz', 'CA of the registry'],
    ['ErrImageNeverPull', 'Container image "x" is not present with pull policy of Never', 'imagePullPolicy'],
    ['ImagePullBackOff', 'x: write /var/lib/containerd/zzz: no space left on device', 'the disk of that node is full'],
    ['CreateContainerError', 'context deadline exceeded', 'its node is too slow'],
    ['CreateContainerError', 'failed to reserve container name "x": zzz', 'its node is too slow'],
    ['Unschedulable', "3 node(s) didn't match pod anti-affinity rules", 'affinity'],
    [
      'Evicted',
      'The node was low on resource: ephemeral-storage. Threshold quantity: 10Gi',
      'requests for what its node',
    ],
    ['Evicted', 'Usage of EmptyDir volume "work" exceeds the limit "10Gi". ', 'raise the sizeLimit of that volume'],
    ['Evicted', 'Container runner exceeded its local ephemeral storage limit "10Gi". ', 'limits.ephemeral-storage'],
    ['Evicted', 'Pod ephemeral local storage usage exceeds the total limit of containers 10Gi. ', 'ephemeral-storage'],
    ['OOMKilled', 'it needed more memory than its limit', 'raise spec.resources.limits.memory'],
    ['ImagePullBackOff', 'x: http: server gave HTTP response to HTTPS client', 'hosts.toml'],
    ['ImagePullBackOff', 'x: tls: first record does not look like a TLS handshake', 'hosts.toml'],
    [
      'ImagePullBackOff',
      'x: unexpected status from HEAD request to https://r/v2/x: 503 Service Unavailable',
      'registry runs',
    ],
    ['RegistryUnavailable', 'registry is unavailable', 'registry runs'],
    ['ImagePullBackOff', 'x: unexpected status from HEAD request to https://r/v2/x: 403 Forbidden', 'imagePullSecrets'],
    ['ImagePullBackOff', 'x: httpReadSeeker: read: connection reset by peer', 'whether the node reaches the registry'],
    ['ImagePullBackOff', 'reading manifest 9 in docker.io/x: manifest unknown', 'correct the image'],
    ['InvalidImageName', 'Failed to apply default image tag: zzz', 'correct the image'],
    [
      'RegistrationFailed',
      'container register ended with exit code 255: exec /bin/sh: exec format error',
      'processor of',
    ],
    ['RunContainerError', 'exec: "/bin/sh": exec format error', 'processor of the nodes'],
    [
      'InitContainerFailed',
      'container setup ended with exit code 255: exec /bin/sh: exec format error',
      'processor of',
    ],
    [
      'RegistrationFailed',
      'container register ended with exit code 1: Error: unknown flag: --ephemeral',
      'newer runner',
    ],
    ['SchedulerError', 'running PreBind plugin "VolumeBinding": binding volumes: deadline', 'kubectl get pvc'],
    ['SchedulerError', 'binding rejected: zzz', 'log of that scheduler'],
    ['InitContainerRunning', 'init container register has not ended', 'NetworkPolicy'],
    ['InitContainerRunning', 'Pods that cannot start: 1. ci-1: init container register has not ended', 'NetworkPolicy'],
    ['InitContainerRunning', 'init container setup has not ended', 'its log'],
    ['NoPod', 'forbidden: pod rejected: RuntimeClass "kata" not found', 'make that RuntimeClass'],
    ['NoPod', 'Error creating: etcdserver: mvcc: database space exceeded', 'etcd'],
    ['NoPod', 'Error creating: Internal error occurred: resource quota evaluation timed out', 'try again'],
  ])('follows from %s: %s', (reason, message, remedy) => {
    expect(remedyOf({ reason, message })).toContain(remedy);
  });

  it.each([
    ['ImagePullBackOff', 'x: zzz'],
    ['ImageInspectError', 'Failed to inspect image "x": zzz'],
  ])('accuses nobody without a cause: %s: %s', (reason, message) => {
    expect(remedyOf({ reason, message })).toBeUndefined();
  });

  it('is for a container that registers: the network', () => {
    const message = 'init container register has not ended';
    const trouble = { reason: 'InitContainerRunning', message, container: 'register' };

    expect(podAdvice(trouble, GROUP, 'ci-1')).toMatch(/pods reach Gitea.*logs job\/ci-1 -c register$/);
  });

  it('is for a reason that nobody knew its own words, and where to see more', () => {
    const trouble = { reason: 'Frobnicated', message: 'zzz' };

    expect(remedyOf(trouble)).toBeUndefined();
    expect(troubleText(trouble)).toBe('Frobnicated: zzz');
    expect(podAdvice(trouble, GROUP, 'ci-1')).toBe(
      'see why ci-1 cannot start: kubectl -n runners describe pods -l job-name=ci-1',
    );
  });

  it('is told once for a cause, and not for each pod', () => {
    const advice = runnersAdvice([
      stuck('ci-1', 'ImagePullBackOff', 'not found'),
      stuck('ci-2', 'ImagePullBackOff', 'not found'),
      stuck('ci-3', 'Unschedulable'),
    ]);

    expect(advice).toEqual([expect.stringMatching(/^ImagePullBackOff: /), expect.stringMatching(/^Unschedulable: /)]);
  });
});

const GIT = 'Failed to fetch default: `git fetch origin --tags --force` failed exit status 128: fatal: ';
const DISCOVER =
  'one or more synchronization tasks are not valid: failed to discover server resources for group version';

it.each([
  ['dial tcp 10.105.201.92:6379: connect: connection refused', 'start Redis of Argo CD again'],
  ['dial tcp: lookup argocd-redis-ha-haproxy on 10.96.0.10:53: no such host', 'start Redis of Argo CD again'],
  ['read tcp 10.1.2.3:4->10.1.2.4:6379: i/o timeout', 'start Redis of Argo CD again'],
  ['failed to list refs: WRONGPASS invalid username-password pair or user is disabled.', 'the password of Secret'],
  [`${DISCOVER} batch/v1: Unauthorized`, 'whether Argo CD reaches that cluster'],
  [`${DISCOVER} gitea.bpg.pw/v1alpha1: the server could not find the requested resource`, 'install the CRD'],
  [`${DISCOVER} metrics.k8s.io/v1: the server is currently unable to handle the request`, 'kubectl get apiservices'],
  [
    'failed to sync cluster https://10.96.0.1:443: failed to load initial state of resource Job.batch: the server has received too many requests and has asked us to try again later',
    'who runs the API server',
  ],
  [
    'failed to sync cluster https://10.96.0.1:443: failed to load initial state of resource LimitRange: limitranges is forbidden: User "system:serviceaccount:argocd:x" cannot list resource "limitranges" in API group "" at the cluster scope',
    'leave that kind out',
  ],
  ['failed to get server version: Get "https://10.0.0.1/version": dial tcp 10.0.0.1:443: i/o timeout', 'reaches that'],
  ['namespace "runners" for Job "ci-1" is not managed', 'argocd cluster set --namespace'],
  [`${GIT}unable to access 'https://git.acme/r/': The requested URL returned error: 503`, 'whether that host is well'],
  ['failed to list refs: unexpected client error: status code: 502', 'whether that host is well'],
  ['failed to list refs: unexpected client error: status code: 429', 'ask that host more seldom'],
  [`${GIT}unable to access 'https://git.acme/r/': Could not resolve host: git.acme`, 'reaches that host'],
  [`${GIT}unable to access 'https://git.acme/r/': SSL certificate problem: zzz`, 'the CA of that host'],
  [`${GIT}Authentication failed for 'https://git.acme/r/'`, 'access to that repository'],
  [`${GIT}could not read Username for 'https://git.acme': terminal prompts disabled`, 'access to that repository'],
  [`${GIT}Unable to create '/tmp/x/.git/index.lock': File exists.`, 'rollout restart deployment/argocd-repo-server'],
  ['error generating manifests in cmp: open /tmp/_cmp_server/x: permission denied', 'repeat step 1'],
  ['error sending generate manifest to cmp-server: context canceled', 'how busy argocd-repo-server is'],
  ["application 'runners' in namespace 'web' is not permitted to use project 'runners'", 'spec.sourceNamespaces'],
  ['no matching service account found for destination server x and namespace runners', 'destinationServiceAccounts'],
  ['jobs.batch "ci-1" is forbidden: exceeded quota: jobs', 'raise that quota'],
  ['admission webhook "x" denied the request: zzz', 'who runs that admission webhook'],
  // No object was refused here: the remedies of pods do not apply.
  ['an invalid zzz of zzz, forbidden', 'correct what it says'],
  // The reader has just read this message.
  ['error: GR-GITEA-05 list jobs of org acme: an error of the server (500). Look into its log', 'do what it says'],
])('what helps against an error of Argo CD: %s', (message, remedy) => {
  const wrapped = `Failed to load target state: rpc error: code = Unknown desc = ${message}`;

  expect(afterError(unwrapped(wrapped), 'argocd/runners')).toContain(remedy);
});
