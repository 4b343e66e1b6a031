/** Judges the pods of runners: how far they are, why they do not start, how they ended, and whether they were lost. */
import { type LiveJob, NO_POD, type PodEnd, type PodTrouble } from '../../planner/evidence.ts';
import { keyText, wordSet } from '../../shared/keys.ts';
import { QUEUE, REGISTER, timeText } from '../../shared/marks.ts';
import { firstNames, oneLine, printable } from '../../shared/printable.ts';
import type { Condition, KubeJob, KubePod } from './resources.ts';

/** Returns the state of the runner's container. Undefined: Kubernetes does not show it yet. */
export function runnerState({ status }: Pick<KubePod, 'status'>) {
  return status?.containerStatuses?.find(({ name }) => name === 'runner')?.state;
}

export function conditionMet({ status: shown }: KubeJob | KubePod, conditionType: string): Condition | undefined {
  return shown?.conditions?.find(({ type, status }) => type === conditionType && status === 'True');
}

export function jobOf({ metadata }: KubePod) {
  return metadata.ownerReferences?.find(({ kind }) => kind === 'Job');
}

/** Returns `<namespace>/<name>` of the Job that made the pod. */
export function jobKeyOf(pod: KubePod): string | undefined {
  const name = jobOf(pod)?.name;
  return name == null ? undefined : keyText({ namespace: pod.metadata.namespace, name });
}

export interface RunnerPlace {
  readonly pod: string;
  /** Node of the pod. Absent: none yet. */
  readonly node?: string;
}

/** Returns the newest pod of each Job, by `<namespace>/<Job>`. */
export function podPlaces(pods: readonly KubePod[]): ReadonlyMap<string, RunnerPlace> {
  const inOrder = [...pods].sort((a, b) => a.metadata.creationTimestamp - b.metadata.creationTimestamp);
  return new Map(
    inOrder.flatMap((pod) => {
      const { name } = pod.metadata;
      const job = jobKeyOf(pod);
      const node = pod.spec?.nodeName;
      return job === undefined ? [] : [[job, { pod: name, ...(node && { node }) }] as const];
    }),
  );
}

/** `registering`, `registered`: the init container that registers runs, is done. `started`: the runner's own has run. */
export type PodStep = 'created' | 'scheduled' | 'registering' | 'registered' | 'started';

export function podStep(pod: KubePod): PodStep {
  const runner = runnerState(pod);
  if (runner?.running || runner?.terminated) return 'started';
  const register = pod.status?.initContainerStatuses?.find(({ name }) => name === REGISTER)?.state;
  if (register?.terminated?.exitCode === 0) return 'registered';
  if (register?.running || register?.terminated) return 'registering';
  return conditionMet(pod, 'PodScheduled') ? 'scheduled' : 'created';
}

/** Longest message, in characters: it goes into the status of a RunnerGroup and into an Event. */
const LONGEST_OF_KUBERNETES = 300;

/** The kubelet's reasons for a container that it cannot start (1.37: images/types.go, sync_result.go, cri-api). */
const CANNOT_START = wordSet(
  'ErrImagePull ImagePullBackOff ErrImageNeverPull InvalidImageName ImageInspectError RegistryUnavailable SignatureValidationFailed ' +
    'RROUnsupported CreateContainerConfigError PreCreateHookError CreateContainerError PreStartHookError RunContainerError PostStartHookError CrashLoopBackOff',
);

/** Returns the trouble of a Job without a pod. Kubernetes tells the cause in an Event only, which is not read here. */
export function withoutPod({ status }: KubeJob): PodTrouble {
  // The Job controller writes these before it creates a pod, and if it may create none (1.37: pkg/controller/job).
  const { active, conditions, ready, startTime } = status ?? {};
  const isSeen = [active, ready, startTime, conditions?.[0]].some((each) => each != null);
  const unseen = 'no controller has looked at its Job, whose status is empty';
  return { reason: NO_POD, message: isSeen ? 'Kubernetes has created no pod' : unseen };
}

/** True where another controller than Kubernetes' own has the pods of a Job: Kueue, in another cluster. */
export function isManagedElsewhere({ spec }: KubeJob): boolean {
  return spec?.managedBy != null && spec.managedBy !== 'kubernetes.io/job-controller';
}

export const STARTS_ELSEWHERE = 'StartsElsewhere';

/** Returns the trouble of a Job in another cluster. Only that cluster knows more. */
export function startsElsewhere(manager: string, hasPod: boolean): PodTrouble {
  const message = hasPod ? 'its pod in the other cluster is not ready' : 'no pod is told of in another cluster';
  return troubleOf(STARTS_ELSEWHERE, `${message} (${manager})`);
}

/** `stillSinceMs`: since when nothing has happened. Present if Kubernetes names no fault. */
type Pending = Pick<LiveJob, 'trouble' | 'stillSinceMs'>;

/** Returns why a pending pod waits. No `trouble`: Kubernetes shows neither a node nor a fault yet. */
export function troubleOfPending(pod: KubePod): Pending {
  const { status } = pod;
  const scheduled = status?.conditions?.find(({ type }) => type === 'PodScheduled');
  const gates = pod.spec?.schedulingGates?.map(({ name }) => name) ?? [];
  if (gates.length > 0) return { trouble: troubleOfGates(gates, scheduled?.message) };
  if (scheduled?.status === 'False') {
    const trouble = troubleOf(scheduled.reason ?? 'Unschedulable', scheduled.message?.replace(PREEMPTION, ''));
    const claims = claimsOf(pod);
    return { trouble: { ...trouble, ...(claims.length > 0 && { claims }) } };
  }
  const containers = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  const stuck = containers.find(({ state }) => CANNOT_START.has(state?.waiting?.reason ?? ''));
  const isByRate = /QPS exceeded/.test(stuck?.state?.waiting?.message ?? '');
  const since = isByRate && { stillSinceMs: scheduled?.lastTransitionTime ?? pod.metadata.creationTimestamp };
  if (stuck) return { trouble: troubleOfStuck(pod, stuck), ...since };
  if (pod.spec?.nodeName) return troubleOfStandstill(pod, pod.spec.nodeName, scheduled);
  return scheduled || containers.length > 0 ? {} : troubleWithoutScheduler(pod);
}

type ContainerStatus = NonNullable<NonNullable<KubePod['status']>['containerStatuses']>[number];

function troubleOfStuck(pod: KubePod, { name, state, lastState }: ContainerStatus): PodTrouble {
  const { message, reason } = state?.waiting ?? {};
  if (reason === 'CrashLoopBackOff') {
    const last = lastState?.terminated;
    const withEnd = last ? `${endText(name, last)}: ${lastWords(last) || message}` : message;
    return { ...troubleOf(reason, withEnd), container: name, ofNode: true, ...nodeOf([pod]) };
  }
  // Kubernetes alternates between these two words every few minutes. They are one trouble.
  const word = reason === 'ErrImagePull' ? 'ImagePullBackOff' : (reason ?? '');
  return { ...troubleOf(word, message && pullText(message)), ofNode: true, ...nodeOf([pod]) };
}

/** Returns how a container was OOM-killed before its restart. It runs again with the same limit. */
export function outOfMemory({ status }: KubePod): PodTrouble | undefined {
  const containers = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  const killed = containers.find(({ lastState }) => lastState?.terminated?.reason === 'OOMKilled');
  const end = killed?.lastState?.terminated;
  if (!end) return undefined;
  return troubleOf('OOMKilled', `${endText(killed.name, end)} at ${timeText(end.finishedAt ?? 0)}`);
}

/** Returns the names of the claims of a pod. The claim of an ephemeral volume has the names of pod and volume. */
function claimsOf({ metadata, spec }: KubePod): readonly string[] {
  const claims = spec?.volumes?.flatMap(({ name, ephemeral, persistentVolumeClaim }) =>
    ephemeral ? `${metadata.name}-${name}` : (persistentVolumeClaim?.claimName ?? []),
  );
  return (claims ?? []).map(printable).slice(0, MOST_CLAIMS);
}

const MOST_CLAIMS = 3;

/** A scheduler that has looked at a pod says so in its condition `PodScheduled`. */
function troubleWithoutScheduler({ metadata, spec }: KubePod): Pending {
  const message = `no scheduler has looked at it (schedulerName ${spec?.schedulerName ?? 'default-scheduler'})`;
  return { trouble: troubleOf('NoScheduler', message), stillSinceMs: metadata.creationTimestamp };
}

/** Returns the trouble of a pod with gates, which the scheduler ignores. The names of the gates tell who set them. */
function troubleOfGates(gates: readonly string[], message: string | null | undefined): PodTrouble {
  const gateMessage = message || 'Scheduling is blocked due to non-empty scheduling gates';
  return { ...troubleOf('SchedulingGated', `${gateMessage}: ${firstNames(gates, 3)}`), isSuspended: true };
}

/** The end of the scheduler's message: the pods that it could have preempted. */
const PREEMPTION = /\s*preemption: .*$/s;

/** The image, and why it cannot be pulled, without what kubelet and containerd write around it. */
function pullText(message: string): string {
  const [, image] = PULLED.exec(message) ?? IMAGE.exec(message) ?? [];
  const cause = withoutRuntime(message.replace(PULLED, ''));
  if (image === undefined || cause === '') return message;
  return cause.includes(image) ? cause : `${image}: ${cause}`;
}

const PULLED = /^(?:Back-off pulling|Failed to pull) image "([^"]*)": /;
const IMAGE = /^failed to pull and unpack image "([^"]*)": /;
const AROUND =
  /(?:ErrImagePull:|rpc error: code = \w+ desc =|failed to (?:pull and unpack image|resolve reference|start \w+) "[^"]*":|failed to (?:copy|create [\w ]*task[\w ]*):|(?:Failed to create pod sandbox|Error response from daemon|OCI runtime create failed|runc create failed|unable to start container process|httpReadSeeker: failed open):) |mount failed: exit status \d+\s+Mounting command:.*?\sOutput: |error running prestart hook #\d+: exit status \d+, stdout: .*?, stderr: |(?<=for sandbox) "[\da-f]{64}"(?=: )|(?<=Could not mount "[^"]*") at "[^"]*"|: unknown$/gs;

/** Removes what the kubelet, the runtime and `mount` write before a cause. */
export const withoutRuntime = (message: string): string => message.trim().replaceAll(AROUND, '');

/**
 * Says what a pod with a node waits for, and since when. A half-dead node looks like one that pulls an image. But images
 * are pulled only after volumes and network are ready (`PodReadyToStartContainers`), and a kubelet reports at once.
 */
function troubleOfStandstill(pod: KubePod, node: string, scheduled: Condition | undefined): Pending {
  const { conditions, containerStatuses, initContainerStatuses } = pod.status ?? {};
  const inits = initContainerStatuses ?? [];
  const begun = inits.filter(({ state }) => state?.running || state?.terminated);
  const waiting = [...inits, ...(containerStatuses ?? [])].find(({ state }) => state?.waiting);
  const isReady = conditions?.find(({ type }) => type === 'PodReadyToStartContainers')?.status;
  const noneStarted = `no container has started${isReady === 'True' ? ', and its network is ready' : ''}`;
  const notStarted = begun.length === 0 ? noneStarted : `container ${waiting?.name} has not started`;
  const { message, reason } = waiting?.state?.waiting ?? {};
  // The reason may be a word that is unknown here.
  const ofWaiting = troubleOf(reason ?? 'ContainerCreating', message ? `${notStarted}: ${message}` : notStarted);
  const isOfNode = begun.length === 0 && (isReady === 'False' || !waiting);
  const timesMs = begun.flatMap(({ state }) => state?.running?.startedAt ?? state?.terminated?.finishedAt ?? []);
  return {
    trouble: {
      ...(troubleOfRunningInit(pod, waiting?.name) ?? ofWaiting),
      node: printable(node),
      ...(isOfNode && { ofNode: true }),
    },
    stillSinceMs: Math.max(scheduled?.lastTransitionTime ?? pod.metadata.creationTimestamp, ...timesMs),
  };
}

/** A sidecar holds the others up only until it has started. */
function troubleOfRunningInit(pod: KubePod, next = 'the runner'): PodTrouble | undefined {
  const sidecars = sidecarsOf(pod);
  const running = pod.status?.initContainerStatuses?.find(
    ({ name, state, started }) => state?.running && !(sidecars.has(name) && started !== false),
  );
  if (!running) return undefined;
  const { name } = running;
  const message = sidecars.has(name)
    ? `sidecar ${name} runs and has not started yet, and ${next} waits for it`
    : `init container ${name} has not ended`;
  return { ...troubleOf('InitContainerRunning', message), container: name };
}

/** A Job that is held, for example by Kueue. No pod is created until somebody lets it start. */
export function suspension(job: KubeJob): PodTrouble {
  const message = conditionMet(job, 'Suspended')?.message ?? 'spec.suspend is set';
  const queue = queueOf(job);
  return { ...troubleOf('Suspended', message), isSuspended: true, ...(queue && { queue }) };
}

export function queueOf({ metadata }: KubeJob): string | undefined {
  return metadata.labels?.[QUEUE];
}

/** True if Kueue has stopped the Job (each change counts in `generation`): its next pod would be a second runner of its name. */
export function wasStopped(job: KubeJob): boolean {
  return queueOf(job) !== undefined && (job.metadata.generation ?? 1) > (job.spec?.suspend ? 1 : 2);
}

/** Returns why the runner of an ended pod has not started. Undefined: it has started, or Kubernetes does not tell. */
export function troubleOfEnded(pod: KubePod | undefined): PodTrouble | undefined {
  const runner = pod && runnerState(pod);
  // A docker sidecar may end with any code after the runner has done its work.
  if (runner?.running || runner?.terminated) return undefined;
  const sidecars = sidecarsOf(pod);
  for (const { name, state } of pod?.status?.initContainerStatuses ?? []) {
    const end = state?.terminated;
    // The kubelet stops sidecars when the pod has failed. How they end then says nothing.
    if (!end || end.exitCode === 0 || sidecars.has(name)) continue;
    if (isOfNode(end)) return endOfNode(name, end, pod);
    const reason = name === REGISTER ? 'RegistrationFailed' : 'InitContainerFailed';
    const trouble = troubleOf(reason, endWithWords(name, end));
    return name === REGISTER ? { ...trouble, ...(pod && nodeOf([pod])) } : trouble;
  }
  // A node has refused it: `OutOfcpu`, `UnexpectedAdmissionError`.
  const { phase, reason, message } = pod?.status ?? {};
  return pod && phase === 'Failed' && reason && !KUBELET_WORDS.has(reason)
    ? { ...troubleOf(reason, message), ...nodeOf([pod]) }
    : undefined;
}

function endWithWords(container: string, end: Terminated): string {
  const words = lastWords(end);
  return `${endText(container, end)}${words && `: ${words}`}`;
}

/**
 * Returns the cause in the end of a container's log: what dockerd says last, the last error of the runner, else the last
 * line. Empty for a container that never began: its end has another message.
 */
function lastWords({ message: log, reason }: Terminated): string {
  if (isOfNode({ reason })) return '';
  const lines = (log ?? '').trim().split('\n');
  const [, message, quoted, word = message] =
    lines.map((line) => LOGGED.exec(line)).findLast((match) => match !== null) ?? [];
  const quotedText = (quoted ?? word)?.replaceAll('\\"', '"');
  const ofDaemon = lines.findLast((line) => line.startsWith('failed to start daemon'));
  return ofDaemon ?? quotedText ?? lines.findLast((line) => /^error\b/i.test(line)) ?? lines.at(-1) ?? '';
}

/** A line of logrus: `level=error msg="…" error="unavailable: …"`, or `msg="Failed to register runner: …"`. */
const LOGGED = /\blevel=(?:error|fatal) msg="((?:[^"\\]|\\.)*)"(?: error=(?:"((?:[^"\\]|\\.)*)"|(\S+)))?/;

type Terminated = Readonly<
  Pick<NonNullable<NonNullable<ReturnType<typeof runnerState>>['terminated']>, 'exitCode' | 'message' | 'reason'>
>;

const KILLED = 137;

/** Containerd's and Docker's words for a container that never ran. */
const NEVER_BEGAN = wordSet('StartError ContainerCannotRun');

function endText(container: string, { exitCode, message, reason }: Terminated): string {
  if (NEVER_BEGAN.has(reason ?? '') && message)
    return `container ${container} did not start: ${withoutRuntime(message)}`;
  const killed = exitCode === KILLED ? ' (killed, Kubernetes tells of no OOM)' : '';
  const word = reason === 'OOMKilled' ? ` (${reason})` : killed;
  return `container ${container} ended with exit code ${exitCode}${word}`;
}

/** Words of containerd and the kubelet for a program that ran and has ended. */
const OF_PROGRAM: ReadonlySet<string> = new Set(['', 'Completed', 'Error', 'OOMKilled']);

/** True if the program did not end by itself, or never began: `ContainerStatusUnknown`, `StartError`, `Unknown`. */
function isOfNode({ reason }: Pick<Terminated, 'reason'>): boolean {
  return !OF_PROGRAM.has(reason ?? '');
}

function endOfNode(container: string, end: Terminated, pod: KubePod | undefined): PodTrouble {
  const reason = end.reason ?? '';
  const text = NEVER_BEGAN.has(reason) ? '' : end.message;
  return { ...troubleOf(reason, text || endText(container, end)), ...nodeOf(pod ? [pod] : []) };
}

/** Names of the init containers that run beside the others. */
function sidecarsOf(pod: KubePod | undefined): ReadonlySet<string> {
  const all = pod?.spec?.initContainers ?? [];
  return new Set(all.flatMap(({ name, restartPolicy }) => (restartPolicy === 'Always' ? [name] : [])));
}

/** Returns how a sidecar died beside a runner at work, which goes on. The kubelet starts it again, empty. */
export function endOfSidecar(pod: KubePod): PodTrouble | undefined {
  const { running, terminated: over } = runnerState(pod) ?? {};
  const beganMs = running?.startedAt ?? over?.startedAt;
  const sidecars = sidecarsOf(pod);
  for (const { name, state, lastState } of pod.status?.initContainerStatuses ?? []) {
    const end = lastState?.terminated ?? state?.terminated;
    if (!end || beganMs == null || !sidecars.has(name)) continue;
    const endedMs = end.finishedAt ?? 0;
    if (endedMs < beganMs || endedMs >= (over?.finishedAt ?? Number.POSITIVE_INFINITY)) continue;
    const message = `${endText(name, end)} at ${timeText(endedMs)}`;
    const words = lastWords(end);
    return { ...troubleOf('SidecarEnded', `${message}${words && `: ${words}`}`), container: name };
  }
  return undefined;
}

function troubleOf(reason: string, message: string | null | undefined): PodTrouble {
  const text = oneLine(withoutRuntime(message ?? ''), LONGEST_OF_KUBERNETES);
  return { reason: printable(reason), ...(text !== '' && { message: text }) };
}

/** The pod was deleted. Only Events tell who did it. */
export const POD_DELETED = 'PodDeleted';
export type LossReason = 'Evicted' | 'Preempted' | 'NodeLost' | 'OOMKilled' | typeof POD_DELETED;

/** Reasons of `DisruptionTarget` (Kubernetes, "Disruptions"). Other reasons count as evictions. */
const DISRUPTIONS: ReadonlyMap<string, LossReason> = new Map([
  ['PreemptionByScheduler', 'Preempted'],
  ['DeletionByTaintManager', 'NodeLost'],
  ['DeletionByPodGC', 'NodeLost'],
]);

/** `status.reason` of a pod that the kubelet has ended (1.34: pkg/kubelet/eviction, nodeshutdown, preemption). */
const KUBELET_WORDS: ReadonlyMap<string, LossReason> = new Map([
  ['Evicted', 'Evicted'],
  ['Preempting', 'Preempted'],
  // A node that shuts down.
  ['Terminated', 'NodeLost'],
]);

const FINAL: ReadonlySet<string> = new Set(['Complete', 'Failed']);

/**
 * Returns how a runner was lost: something but its own end has ended its pod. The first rule that fits decides.
 * Undefined: it was not lost.
 *
 *   1. The Job itself is deleted ....................... not lost: Argo CD or a person removes the runner
 *   2. The pod waits for its end on a node that is gone  NodeLost
 *      Kueue has taken it from another cluster ......... NodeLost: that may be cut off, and the runner may live
 *      Kueue has stopped it, and its pod has gone ...... Preempted
 *   3. Its pods are in another cluster ................. not lost: nobody tells here
 *      The Job has not ended, or by its own deadline ... not lost
 *   4. The Job has failed, its pod has gone ............ PodDeleted: deleted, or evicted by the API, which deletes it
 *   5. The kubelet's word for the pod .................. Evicted, Preempted, NodeLost
 *   6. Condition DisruptionTarget ...................... Evicted, Preempted, NodeLost by its reason
 *   7. Container `runner` was OOM-killed ............... OOMKilled
 *
 * It may have been idle or done, so a loss alone re-runs nothing. The Job may even be complete: the dind images always
 * end with exit code 0.
 */
export function lossOf(job: KubeJob, pods: readonly KubePod[]): LossReason | undefined {
  if (job.metadata.deletionTimestamp != null) return undefined;
  if (pods.some((pod) => wasOnLostNode(pod) && !conditionMet(pod, 'Ready'))) return 'NodeLost';
  if (wasStopped(job) && pods.length === 0) return isManagedElsewhere(job) ? 'NodeLost' : 'Preempted';
  // The pods of such a Job are in another cluster.
  if (isManagedElsewhere(job)) return undefined;
  const ends = job.status?.conditions?.filter(({ type, status }) => FINAL.has(type) && status === 'True') ?? [];
  if (ends.length === 0 || ends.some(({ reason }) => reason === 'DeadlineExceeded')) return undefined;
  if (pods.length === 0) return ends.some(({ type }) => type === 'Failed') ? POD_DELETED : undefined;
  return pods.map(lossOfEnded).find((reason) => reason !== undefined);
}

function lossOfEnded(pod: KubePod): LossReason | undefined {
  const kubeletMessage = KUBELET_WORDS.get(pod.status?.reason ?? '');
  if (kubeletMessage) return kubeletMessage;
  const disruption = conditionMet(pod, 'DisruptionTarget');
  if (disruption) return DISRUPTIONS.get(disruption.reason ?? '') ?? 'Evicted';
  // Kubernetes also reports this for a container that has lost only one of its processes, e.g. a step of the CI job.
  // The runner then reports the end.
  return runnerState(pod)?.terminated?.reason === 'OOMKilled' ? 'OOMKilled' : undefined;
}

/** True for a runner that `lossOf` called lost and whose node answers again: it goes on, and reports its end. */
export function hasComeBack(pods: readonly KubePod[]): boolean {
  return pods.some((pod) => wasOnLostNode(pod) && conditionMet(pod, 'Ready'));
}

/** Pods of an unreachable node are evicted. Its kubelet does not answer, so they wait until the node is removed. */
function wasOnLostNode(pod: KubePod): boolean {
  return (
    pod.metadata.deletionTimestamp != null &&
    conditionMet(pod, 'DisruptionTarget')?.reason === 'DeletionByTaintManager' &&
    runnerState(pod)?.running != null
  );
}

const LOSS: Readonly<Record<LossReason, string>> = {
  Evicted: 'its pod was evicted',
  Preempted: 'a pod of higher priority took its place',
  NodeLost: 'its node is gone, or shuts down',
  OOMKilled: 'it needed more memory than its limit',
  PodDeleted: 'its pod was deleted',
};

/** Who reported the end of a pod's runner. `others`: its node is gone, and the runner may live on. */
export type EndToldBy = 'kubelet' | 'others';

/** Returns who reported the end of a pod. Undefined: the pod has not ended (1.34: status_manager.go). */
export function endToldBy(pod: KubePod): EndToldBy | undefined {
  const runner = runnerState(pod);
  if (runner?.terminated) return 'kubelet';
  const phase = pod.status?.phase;
  if (phase !== 'Succeeded' && phase !== 'Failed') return undefined;
  // The node controller and the pod garbage collector do not change the kubelet's last report.
  return runner?.running || conditionMet(pod, 'DisruptionTarget')?.reason === 'DeletionByPodGC' ? 'others' : 'kubelet';
}

/** Returns how a runner's pod ended badly, in Kubernetes' words. Undefined: it did not. @param pods of this Job only */
export function podEndOf(job: KubeJob, pods: readonly KubePod[]): PodEnd | undefined {
  const loss = lossOf(job, pods);
  if (loss !== undefined && isManagedElsewhere(job))
    return { reason: loss, message: 'Kueue has taken it from its cluster' };
  if (loss !== undefined) return { reason: loss, message: messageOfEnd(pods) ?? LOSS[loss], ...nodeOf(pods) };
  const failed = conditionMet(job, 'Failed');
  if (failed?.reason === 'DeadlineExceeded')
    return { reason: failed.reason, message: 'it ran longer than activeDeadlineSeconds' };
  // The condition of the Job follows later.
  const endedPods = failed ? pods : pods.filter(({ status }) => status?.phase === 'Failed');
  return endedPods.map(endOfPod).find((end) => end !== undefined);
}

function endOfPod(pod: KubePod): PodEnd | undefined {
  const loss = lossOfEnded(pod);
  if (loss !== undefined) return { reason: loss, message: messageOfEnd([pod]) ?? LOSS[loss], ...nodeOf([pod]) };
  const trouble = troubleOfEnded(pod);
  if (trouble) return trouble;
  const runner = runnerState(pod)?.terminated;
  if (!runner || runner.exitCode === 0) return undefined;
  const end = isOfNode(runner)
    ? endOfNode('runner', runner, pod)
    : troubleOf('RunnerFailed', endWithWords('runner', runner));
  return { ...end, ...(runner.exitCode === KILLED && nodeOf([pod])) };
}

/** Returns the message of the kubelet about an eviction, or that of another program about a disruption. */
function messageOfEnd(pods: readonly KubePod[]): string | undefined {
  const messages = pods.flatMap((pod) => [pod.status?.message, conditionMet(pod, 'DisruptionTarget')?.message]);
  const message = messages.find((each) => each != null && each !== '');
  return message == null ? undefined : oneLine(message, LONGEST_OF_KUBERNETES);
}

/** Returns who deletes a pod, in Kubernetes' words. Undefined: it does not say. */
export function disruptionOf(pod: KubePod): PodEnd | undefined {
  const target = conditionMet(pod, 'DisruptionTarget');
  return target ? { ...troubleOf(target.reason ?? 'DisruptionTarget', target.message), ...nodeOf([pod]) } : undefined;
}

function nodeOf(pods: readonly KubePod[]): { readonly node?: string } {
  const node = pods.map(({ spec }) => spec?.nodeName).find((name) => name);
  return node ? { node: printable(node) } : {};
}
