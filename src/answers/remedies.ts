/**
 * Remedies for troubles that keep a pod from starting, or have ended its runner: one for each reason, as in
 * docs/symptoms.md. Pure.
 */
import type { GroupKey, RunnerTrouble } from '../planner/decisions.ts';
import { NO_POD, type PodTrouble } from '../planner/evidence.ts';
import { manual } from '../shared/installed/installed-names.ts';
import { groupBy } from '../shared/keys.ts';
import { timeText } from '../shared/marks.ts';
import { duration, firstNames } from '../shared/printable.ts';
import type { Holder, SlotDelay } from './model.ts';

export const STEP_2 = `step 2 of ${manual('install.md#install-three-steps')}`;
const QUOTA = manual('losses.md#pods-that-a-quota-refuses');
const VOLUME = 'make the Secret, ConfigMap or claim that it names, or correct spec.podTemplate';
const DRIVER = 'look at that volume, its driver and that node: kubectl get pvc,csidrivers,volumeattachments';
const NODE = 'look at that node: kubectl describe node. If no other has this, kubectl cordon it and delete the pod';
const REACH = 'see that pods reach Gitea: NetworkPolicy, DNS, proxy';
const LOGIN = 'give its registry a login: imagePullSecrets';
const IMAGE = `correct the image (spec.image, or that of spec.podTemplate), or ${LOGIN}`;
const ADD_NODE =
  'add or label a node, or correct requests, nodeSelector, affinity and tolerations: gitea-runners doctor says what each';
const PROFILE =
  'use a lower spec.securityProfile or another containerMode, or label the namespace: gitea-runners doctor has the';
const EVICTED =
  'give the pod requests for what its node ran out of, in spec.podTemplate: pods without them are evicted first';

/** Remedies for `REASON: MESSAGE`, in Kubernetes' words or our own. The first expression that matches counts. */
const REMEDIES: readonly (readonly [words: RegExp, remedy: string])[] = [
  [/^ErrImageNeverPull/, 'load that image onto the nodes, or correct imagePullPolicy in spec.podTemplate'],
  [/^\w*Image.* no space left/, `the disk of that node is full: ${NODE}`],
  [
    /^\w+: .*(?:no match for platform|exec format error)/,
    'take an image for the processor of the nodes, or a nodeSelector: kubernetes.io/arch',
  ],
  [/^\w*Image.* (?:toomanyrequests|rate limit)/, `${LOGIN}. Or pull from a mirror`],
  [/^\w*Image.* (?:denied|unauthorized|authoriz|forbidden)/i, `${LOGIN}. Or correct the image`],
  [
    /^\w*Image.* (?:HTTP response to HTTPS client|look like a TLS handshake)/,
    'that registry speaks plain HTTP: tell containerd of the nodes so (hosts.toml), or give the registry TLS',
  ],
  [/^(?:\w*Image.* 50\d |RegistryUnavailable)/, 'see whether that registry runs: ask who runs it'],
  [
    /^\w*Image.* x509/,
    'have the nodes trust the CA of the registry, in the settings of containerd: spec.caBundle does not reach it',
  ],
  [
    /^(?!ImageInspect)\w*Image.* (?:dial|timeout|deadline|reset|EOF)\b/,
    'see whether the node reaches the registry: network, DNS, proxy',
  ],
  [/^(?:InvalidImageName|\w*Image.*(?:not found|not exist|no such image|unknown|invalid))/, IMAGE],
  [
    /^FailedAttachVolume.*(?:Multi-Attach|already)/,
    'wait for that pod, or give each pod a volume of its own: ephemeral',
  ],
  [/^(?:CreateContainerConfigError: configmap|FailedMount.* (?:secret|configmap|persistentvolumeclaim)\b)/, VOLUME],
  [/^(?:FailedMount|FailedAttachVolume)/, DRIVER],
  [
    /^CreateContainerConfigError.* root/,
    'give spec.podTemplate a runAsUser, or the group another spec.securityProfile',
  ],
  [/^CreateContainerConfigError/, `make the Secret, or its key, that it names. For the registration token: ${STEP_2}`],
  [
    /^(?:Run|Create)ContainerError.*(?:deadline|reserve container name|time(?:d )?out)/,
    `its node is too slow: ${NODE}`,
  ],
  [
    /^(?:(?:Run|Create)Container|Start)Error|^ContainerCannotRun|^P\w+HookError|^RROUnsupported|^RegistrationFailed.* exec/,
    'correct command, args and mounts, or the image',
  ],
  [/^SignatureValidationFailed/, 'sign the image, or ask who wants signatures on the nodes'],
  [/^Unschedulable.* (?:TriggeredScaleUp|Nominated): /, 'see in the log of the autoscaler why no node has come'],
  [
    /^(?:Unschedulable|SchedulerError).*(?:claim|volume)/i,
    'look at that claim and its StorageClass, and at the pods of its CSI driver: kubectl get pvc,storageclass,csidrivers',
  ],
  [/^Unschedulable.* max node group size reached/, 'raise the maximum of that node group, or free a node'],
  [/^NoScheduler.*default-scheduler/, 'see whether kube-scheduler runs: kubectl -n kube-system get pods'],
  [/^NoScheduler/, 'start that scheduler, or correct schedulerName in spec.podTemplate'],
  [/^SchedulerError/, 'see the log of that scheduler'],
  [
    /^Unschedulable.*taint \{node\.kubernetes\.io\//,
    'mend those nodes: kubectl describe nodes; a toleration does not help. Or add one',
  ],
  [/^Unschedulable.* were unschedulable/, 'uncordon a node, or add one: kubectl get nodes'],
  [/^Unschedulable/, `${ADD_NODE} node lacks`],
  [/^StartsElsewhere/, 'look at its Workload, which names the cluster, and at the pods there'],
  [
    /^SchedulingGated/,
    'ask whoever sets the gates that it names: what stands before the / is the domain of that program (kueue.x-k8s.io: Kueue)',
  ],
  [/^FailedCreatePodSandBox/, `the network of pods fails: ${NODE}`],
  [
    /^(?:Pulling|(?:ContainerCreating|PodInitializing).* network is ready)/,
    'see whether the image is large and the registry slow: take a smaller image, or a mirror near the nodes',
  ],
  [/^(?:ContainerCreating|PodInitializing)/, NODE],
  [/^Suspended: \w+Queue .*(?:doesn't exist|not found)/, 'make that queue of Kueue, or correct spec.queue'],
  [
    /^Suspended: (?:\w+ )?\w+Queue .*(?:stopped|inactive)/,
    'let that queue of Kueue go on (spec.stopPolicy: None), or ask its owner: kubectl describe clusterqueues,localqueues -A says why',
  ],
  [
    /^Suspended/,
    'ask who suspends Jobs here: kubectl get localqueues,workloads -A shows the queues of Kueue and who waits',
  ],
  [/^\w+: .*unknown (?:shorthand )?flag/, 'take an image with a newer runner'],
  [/^RegistrationFailed.*another Gitea/, 'correct key url of the registration Secret, or spec.gitea.url'],
  [/^RegistrationFailed.*token/, `make a new registration token of this scope: ${STEP_2}`],
  [
    /^RegistrationFailed.*not yet valid/,
    'see whether the clock of that node is right, and the certificate of Gitea valid',
  ],
  [
    /^RegistrationFailed.*certificate is (?:not )?valid for/,
    'write a name of that certificate in spec.gitea.url, or correct the certificate',
  ],
  [/^RegistrationFailed.*(?:x509|tls:)/, 'have pods trust the CA of Gitea: spec.caBundle'],
  [
    /^RegistrationFailed.*(?:lookup |no such host)/,
    'correct spec.gitea.url, or the DNS of the cluster, which does not know it',
  ],
  [
    /^RegistrationFailed.*404/,
    'see that spec.gitea.url is the base address of Gitea, and that Actions is switched on in app.ini',
  ],
  [/^RegistrationFailed.* (?:40[137]|429) /, 'see what stands before Gitea and refuses pods: its log, spec.proxy'],
  [/^RegistrationFailed.* 50\d /, 'see whether Gitea runs: its log, and what stands before it'],
  [/^(?:RegistrationFailed.* (?:dial|timeout|deadline|reset|EOF)|InitContainerRunning.* register has)\b/, REACH],
  [/^RegistrationFailed/, 'check that the registration token is valid for this scope, and that pods reach Gitea'],
  [
    /^(?:CrashLoopBackOff|InitContainerFailed).*OOMKilled/,
    'give that container a higher memory limit in spec.podTemplate',
  ],
  [/^CrashLoopBackOff/, 'correct that container by its log'],
  [/^InitContainerRunning/, 'see what that init container waits for, by its log'],
  [/^InitContainerFailed/, 'correct that container, or spec.setupCommand, by its log'],
  [/^OOMKilled/, 'raise spec.resources.limits.memory, or let the CI job need less'],
  [
    /^Evicted: Usage of EmptyDir/,
    'raise the sizeLimit of that volume in spec.podTemplate, or let the CI job write less',
  ],
  [/^Evicted: .*exceed.* limit/, 'raise spec.resources.limits.ephemeral-storage, or let the CI job write less'],
  // A drain, an autoscaler and the descheduler ask this API.
  [/^Evict(?:ed: Eviction API|ionByEvictionAPI)/, 'ask who drains that node or evicts pods here'],
  [/^(?:Evicted|TerminationByKubelet)/, EVICTED],
  [
    /^Preempt(?:ed|ionByScheduler)/,
    'give the group a higher priority: spec.priorityTiers, or priorityClassName in spec.podTemplate',
  ],
  [/^Disabled/, 'nothing: it gets another runner'],
  [/^DeletionByTaintManager/, 'see which taint that node has: kubectl describe node'],
  [/^NodeLost/, 'see which node is gone: kubectl get nodes'],
  [
    /^(?:ContainerStatusUnknown|Unknown): /,
    'see why its node lost its containers, as when it starts again: kubectl describe node',
  ],
  [
    /^RunnerFailed: .*\(killed/,
    'see what killed it: SystemOOM in the events of its node, or somebody: kubectl describe node',
  ],
  [/^(?:OutOf|UnexpectedAdmissionError|NodeAffinity)/, `nothing, if the next pod starts. Else ${NODE}`],
  [/^DeadlineExceeded/, 'raise spec.activeDeadlineSeconds, or make the CI job shorter'],
  // Why there is no pod, in the API server's words.
  [/^NoPod.*exceeded quota/, `raise that quota, or let fewer runners run: ${QUOTA}`],
  [/^NoPod.*(?:failed quota|imum .*usage)/, 'change spec.resources by what that quota or LimitRange asks for'],
  [/^NoPod.*PodSecurity/, `${PROFILE} command`],
  [
    /^NoPod.* cannot \w+ resource/,
    'give the account that it names this right, by a Role and a RoleBinding in that namespace',
  ],
  [/^NoPod.*service ?account/, 'make that ServiceAccount, or correct spec.podTemplate'],
  [/^NoPod.*PriorityClass/, 'make that PriorityClass, or correct spec.priorityTiers or spec.podTemplate'],
  [/^NoPod.*RuntimeClass/, 'make that RuntimeClass, or correct runtimeClassName in spec.podTemplate'],
  [/^NoPod.*failed calling webhook/, 'that admission webhook does not answer: ask who runs it'],
  [
    /^NoPod.*admission ?(?:webhook|policy)/i,
    'ask who runs that admission webhook or policy, or correct spec.podTemplate',
  ],
  [/^NoPod.*being terminated/, `the namespace is being deleted. When it is gone, create it again: ${STEP_2}`],
  [/^NoPod.*etcdserver/, 'ask who runs the cluster: its etcd is full or ill, and nothing here is at fault'],
  [/^NoPod.*(?:Internal error|timed out)/, 'wait, and try again. If it stays so, ask who runs the API server'],
  [/^NoPod.*(?:forbidden|invalid)/, 'correct in spec.podTemplate what the API server names'],
];

/** Reasons that say all: the pod never ran or is gone, or the message is the last line of its log. */
const NO_LOGS =
  /^(?:Evicted|Preempted|NodeLost|PodDeleted|Disabled|OutOf|UnexpectedAdmissionError|NodeAffinity|RegistrationFailed: .* exit code \d+: )/;

/** True when the logs of the pod say more than this. */
export function hasLogs(trouble: PodTrouble): boolean {
  return !NO_LOGS.test(troubleText(trouble));
}

/** Undefined: only its logs or its events tell what helps. */
export function remedyOf({ message = '', reason }: PodTrouble): string | undefined {
  return REMEDIES.find(([words]) => words.test(`${reason}: ${message}`))?.[1];
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
  const command = container ? `${kubectl} logs job/${runner} -c ${container}` : `${kubectl} describe ${object}`;
  const remedy = remedyOf(trouble);
  const wait = comesByMs === undefined ? '' : `wait until ${timeText(comesByMs)}. After that `;
  return remedy === undefined ? seeWhy(group, runner, object) : `${reason}: ${wait}${remedy}; ${command}`;
}

/** @param object as `kubectl describe` takes it */
export function seeWhy({ namespace }: GroupKey, runner: string, object: string): string {
  return `see why ${runner} cannot start: kubectl -n ${namespace} describe ${object}`;
}

/** `Unschedulable: 0/3 nodes are available: 3 Insufficient cpu.`, `FailedMount: timed out (node node-7)` */
export function troubleText({ reason, message, node }: PodTrouble): string {
  const text = message === undefined ? reason : `${reason}: ${message}`;
  return node === undefined ? text : `${text} (node ${node})`;
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
  const by = disruption ? ` (${troubleText(disruption)})` : '';
  const ends = until && `is on a pod that is being deleted${by}, and may finish until ${until}`;
  const stuck = trouble && `has a pod that cannot start: ${troubleText(trouble)}`;
  const why = offline?.isGone ? 'its Kubernetes Job is gone' : offline?.why;
  const away = offline && `has a runner that is offline${why === undefined ? '' : ` (${why})`}`;
  return [ran, ends, stuck, away].filter(Boolean).join(', and ');
}

/** @param orElse what else helps, as the end of the sentence */
export function offlineAdvice(namespace: string | undefined, runners: readonly string[], orElse = ''): string {
  const [first, ...others] = runners.slice(0, MOST_HOLDERS);
  const jobs = others.length === 0 ? `job-name=${first}` : `'job-name in (${[first, ...others].join(',')})'`;
  const see = `see whether the pod and the node of ${firstNames(runners, MOST_HOLDERS)} are well: kubectl -n ${namespace} get pods -l ${jobs} -o wide`;
  return `${see}. A pod whose node stays away is deleted after some five minutes, and its job is lost${orElse}`;
}

/**
 * Returns the advice about holders of slots. It comes before the advice to raise the cap: such jobs would fill a higher
 * cap, too.
 */
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
