/**
 * Judges a Job of ours by what Kubernetes shows of it and its pods. Pure; fetches nothing (the manner of kstatus).
 * The first rule that fits decides:
 *
 *   1. Job has a deletionTimestamp ..................... deleting
 *   2. condition Complete (or SuccessCriteriaMet) ...... complete
 *   3. condition Failed ................................ failed
 *   4. condition FailureTarget: the Job has failed, its newest pod may still use the grace period
 *        pod over or none .............................. by the pod (rule 5), else failed
 *        otherwise (deadline passed) ................... deleting
 *      of a queue, started and stopped before (wasStopped), no pod of it has started: failed, or deleting
 *   5. its newest pod:
 *        phase Succeeded, Failed ....................... complete, failed (the Job's condition follows)
 *        container `runner` ended ...................... complete, failed by exit code
 *        has a deletionTimestamp ....................... deleting (drained or evicted: takes no further CI job)
 *        container `runner` runs ....................... running
 *        phase Pending, container waits ................ starting
 *   6. its pods are in another cluster (isManagedElsewhere), so the counts of its status:
 *        one is ready .................................. running
 *        one is there, or none yet ..................... starting
 *        one ends ...................................... deleting
 *   7. no pod yet and none counted, or suspended ....... starting
 *   8. anything else ................................... unknown (counts as running)
 */
import {
  hasEnded,
  isOver,
  type LiveJob,
  type LiveState,
  type PodEnd,
  type PodTrouble,
} from '../../planner/evidence.ts';
import { defined } from '../../shared/defined.ts';
import * as marks from '../../shared/marks.ts';
import * as kubePods from './kube-pods.ts';
import type { KubeJob, KubePod } from './resources.ts';

/** Times in ms; absent or null: Kubernetes does not say. */
interface Judgement {
  readonly state: LiveState;
  readonly trouble?: PodTrouble | undefined;
  readonly stillSinceMs?: number | undefined;
  readonly runningSinceMs?: number | null | undefined;
  readonly endsByMs?: number;
  readonly disruption?: PodEnd | undefined;
  readonly finishedAtMs?: number | null | undefined;
}

/** Judges a Job by itself and its own pods. Ignores annotations that are empty, or no number or time. */
export function judgeJob(job: KubeJob, pods: readonly KubePod[]): LiveJob {
  const { namespace, name, labels } = job.metadata;
  const annotations = job.metadata.annotations ?? {};
  const annotation = (mark: string) => annotations[mark] || undefined;
  const { state, trouble, stillSinceMs, runningSinceMs, endsByMs, disruption, finishedAtMs } = judge(job, pods);
  const registeredAt = annotation(marks.REGISTERED_AT);
  const weight = annotation(marks.WEIGHT);
  const extension = annotation(marks.EXTEND_UNTIL);
  const [application, ...tracked] = annotations[marks.TRACKING_ID]?.split(':') ?? [];
  return defined({
    namespace,
    name,
    state,
    createdAtMs: startableSinceMs(job, pods, state),
    queue: kubePods.queueOf(job) || undefined,
    isStopped: kubePods.wasStopped(job) || undefined,
    trouble,
    stillSinceMs,
    triedBefore: numberIn(annotation(marks.TRIED_BEFORE), /^[1-9]\d?$/),
    end: isOver(state) ? kubePods.podEndOf(job, pods) : undefined,
    sidecarEnd: pods.map(kubePods.endOfSidecar).find((end) => end !== undefined),
    priorityClass: job.spec?.template?.spec?.priorityClassName || undefined,
    runningSinceMs: runningSinceMs ?? undefined,
    endsByMs,
    disruption,
    finishedAtMs: finishedAtMs ?? undefined,
    pinned: marks.isPinned(annotations) || undefined,
    jobUrl: annotation(marks.JOB_URL),
    repository: annotation(marks.REPOSITORY),
    giteaUrl: variableOf(job, 'GITEA_INSTANCE_URL'),
    labels: variableOf(job, 'GITEA_RUNNER_LABELS'),
    // A copy of a Job names its original.
    application: (tracked.join(':') === `batch/Job:${namespace}/${name}` && application) || undefined,
    size: annotation(marks.SIZE),
    weight: weight === undefined ? undefined : (numberIn(weight, /^[1-9]\d{0,4}$/) ?? MOST_WEIGHT),
    limits: annotation(marks.LIMITS)?.split(','),
    scope: annotation(marks.SCOPE),
    registeredAt,
    boundTo: marks.boundTo(registeredAt) || undefined,
    shard: numberIn(labels?.[marks.SHARD], /^\d{1,2}$/),
    endedAtMs: timeOf(annotation(marks.ENDED_AT)),
    keepUntilMs: timeOf(annotation(marks.KEEP_UNTIL)),
    extendUntilMs: extension === undefined ? undefined : (timeOf(extension) ?? ('unreadable' as const)),
  });
}

/** Weight of a Job whose annotation is not a weight: the largest, so that no limit is exceeded. */
const MOST_WEIGHT = 10_000;

function numberIn(text: string | undefined, form: RegExp): number | undefined {
  return text !== undefined && form.test(text) ? Number(text) : undefined;
}

/** Since when the Job could start. A gate that is gone leaves no time but that of scheduling. */
function startableSinceMs({ metadata, status }: KubeJob, pods: readonly KubePod[], state: LiveState): number {
  const resumed = status?.conditions?.find((each) => each.type === 'Suspended' && each.status === 'False');
  const [newest] = state === 'starting' ? [...pods].sort(newestFirst) : [];
  const scheduled = newest && kubePods.conditionMet(newest, 'PodScheduled');
  const timesMs = [resumed, scheduled].map((each) => each?.lastTransitionTime ?? 0);
  return Math.max(metadata.creationTimestamp, ...timesMs);
}

const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/;

/** Parses a time in RFC 3339. Undefined: there is none, or it is not such a time. */
function timeOf(text: string | undefined): number | undefined {
  if (text === undefined || !TIME.test(text)) return undefined;
  const ms = Date.parse(text);
  // Whole seconds, as they are printed: so the printed value is read back as the same.
  return Number.isNaN(ms) ? undefined : Math.floor(ms / 1000) * 1000;
}

type Loose = Readonly<Record<string, unknown>> | null | undefined;

/** Returns the value of a variable of the runner's container, if it is there. */
function variableOf({ spec }: KubeJob, name: string): string | undefined {
  const value = entryNamed(entryNamed(spec?.template?.spec?.containers, 'runner')?.['env'], name)?.['value'];
  return typeof value === 'string' ? value : undefined;
}

function entryNamed(list: unknown, name: string): Loose {
  return Array.isArray(list) ? (list as readonly Loose[]).find((each) => each?.['name'] === name) : undefined;
}

function judge(job: KubeJob, pods: readonly KubePod[]): Judgement {
  const met = (type: string) => kubePods.conditionMet(job, type);
  if (job.metadata.deletionTimestamp != null) return { state: 'deleting' };
  const complete = met('Complete') ?? met('SuccessCriteriaMet');
  if (complete) {
    return { state: 'complete', finishedAtMs: job.status?.completionTime ?? complete.lastTransitionTime };
  }
  const failed = met('Failed');
  const [newest] = [...pods].sort(newestFirst);
  if (failed)
    return { state: 'failed', trouble: kubePods.troubleOfEnded(newest), finishedAtMs: failed.lastTransitionTime };
  const failing = met('FailureTarget');
  if (failing) {
    const pod = newest ? judgePod(newest) : { state: 'failed' as const, finishedAtMs: failing.lastTransitionTime };
    return hasEnded(pod.state) ? pod : { state: 'deleting' };
  }
  const stopped = kubePods.wasStopped(job) && judgeStopped(job, newest);
  if (stopped) return stopped;
  // Kubernetes ends the pod of a suspended Job. If no runner was in it, the Job waits.
  const isHeld = !newest || (newest.metadata.deletionTimestamp != null && kubePods.podStep(newest) !== 'started');
  if (job.spec?.suspend && isHeld) return { state: 'starting', trouble: kubePods.suspension(job) };
  return newest ? judgePod(newest) : judgeWithoutPod(job);
}

function judgeWithoutPod(job: KubeJob): Judgement {
  const { succeeded, failed } = job.status ?? {};
  if (succeeded || failed) return { state: 'unknown' };
  return kubePods.isManagedElsewhere(job)
    ? judgeByCounts(job)
    : { state: 'starting', trouble: kubePods.withoutPod(job) };
}

/** Judges by the counts that Kueue copies from the chosen cluster (0.17). Before a start, the Job waits for Kueue. */
function judgeByCounts(job: KubeJob): Judgement {
  const { spec, status } = job;
  const { ready, active, terminating, startTime } = status ?? {};
  if (ready) return { state: 'running' };
  if (!active && terminating) return { state: 'deleting' };
  const trouble = kubePods.startsElsewhere(spec?.managedBy ?? '', Boolean(active));
  if (startTime != null) return { state: 'starting', trouble, stillSinceMs: startTime };
  const queue = kubePods.queueOf(job);
  return { state: 'starting', trouble: { ...trouble, isSuspended: true, ...(queue && { queue }) } };
}

/** Judges a Job that Kueue has stopped: its next pod would be a second runner of its name. Undefined: its pod works. */
function judgeStopped(job: KubeJob, newest: KubePod | undefined): Judgement | undefined {
  if (newest && kubePods.podStep(newest) === 'started') return undefined;
  if (newest?.metadata.deletionTimestamp != null) return { state: 'deleting' };
  const changed = job.status?.conditions?.find(({ type }) => type === 'Suspended');
  return { state: 'failed', finishedAtMs: changed?.lastTransitionTime ?? job.metadata.creationTimestamp };
}

function newestFirst(a: KubePod, b: KubePod): number {
  return b.metadata.creationTimestamp - a.metadata.creationTimestamp || (a.metadata.uid < b.metadata.uid ? -1 : 1);
}

function judgePod(pod: KubePod): Judgement {
  const phase = pod.status?.phase ?? 'Pending';
  const runner = kubePods.runnerState(pod);
  const termination = runner?.terminated;
  if (phase === 'Succeeded') return { state: 'complete', finishedAtMs: termination?.finishedAt };
  if (phase === 'Failed')
    return { state: 'failed', trouble: kubePods.troubleOfEnded(pod), finishedAtMs: termination?.finishedAt };
  if (termination)
    return { state: termination.exitCode === 0 ? 'complete' : 'failed', finishedAtMs: termination.finishedAt };
  const endsByMs = pod.metadata.deletionTimestamp;
  if (endsByMs != null) return { state: 'deleting', endsByMs, disruption: kubePods.disruptionOf(pod) };
  if (runner?.running != null) return { state: 'running', runningSinceMs: runner.running.startedAt };
  if (phase === 'Pending' || (phase === 'Running' && runner?.waiting != null)) {
    return { state: 'starting', ...kubePods.troubleOfPending(pod) };
  }
  return { state: 'unknown' };
}
