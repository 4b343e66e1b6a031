/** Writes what the leader changes in the cluster: `status` of RunnerGroups, and Events about stuck pods, losses, re-runs and tokens. */
import { hash } from 'node:crypto';
import { Deadline } from '../clients/http/request.ts';
import { admissionFailure, type KubeQuestion, statusFailure } from '../clients/kubernetes/kube-client.ts';
import { objectPath, RUNNER_GROUPS, type RunnerGroupObject } from '../clients/kubernetes/resources.ts';
import { RunnerGroupStatus, UNREGISTERED } from '../config/runnergroup/status.ts';
import type { Failure } from '../shared/failure.ts';
import { keepOnly, keyText } from '../shared/keys.ts';
import { API_VERSION, KIND, timeText } from '../shared/marks.ts';
import { type EventOf, type RerunOutcome, type ServeEvent, subscriberOf } from './planning/events.ts';
import { isWorthWriting, statusOf, stuckText, tellsLess } from './planning/group-status.ts';
import type { AppVerdict, GroupVerdict } from './planning/reconcile.ts';
import type { StartTask, TaskContext } from './task.ts';

/** Least time between two writes of one status, ms: later changes go into the same write. */
const SHORTEST_GAP_MS = 1_000;
/** A group that was re-created is forgotten by then. */
const CONFLICT_MS = 3_000;
/** Time limit of one request, ms. A write has two: a conflict is read again. */
const WRITE_MS = 10_000;
const STATUS_WRITES = 8;
const EVENT_WRITES = 10;

/** Writes `status` only when it says something new, and at most once a second per group. */
export const writeStatuses: StartTask = (context) => {
  /** The newest verdict of each group, by name and uid: a re-created group is another one. */
  const newest = new Map<string, GroupVerdict>();
  /** The status that this process wrote last: the copy of the watch is a moment behind. */
  const statusByKey = new Map<string, RunnerGroupStatus>();

  /** Returns the next status. Undefined: it is not worth a write, e.g. because a leader before us has written it. */
  const nextOf = ({ facts, live }: GroupVerdict): RunnerGroupStatus | undefined => {
    const nowMs = context.clock.now();
    const old =
      statusByKey.get(keyOf(live.object)) ?? RunnerGroupStatus.safeParse(context.cluster.statusOf(live.key)).data;
    const next = statusOf(facts, old, nowMs);
    return tellsLess(facts, old, nowMs) || !isWorthWriting(next, old) ? undefined : next;
  };
  const line = context.queue.open('status', {
    width: STATUS_WRITES,
    nameOf: nameOfKey,
    gapMs: SHORTEST_GAP_MS,
    deadlineMs: 2 * WRITE_MS,
    onFailure: (_, problem) => context.tell({ is: 'cluster-failed', failure: problem }),
    run: async (key) => {
      const verdict = newest.get(key);
      const status = verdict && nextOf(verdict);
      if (!status) return undefined;
      const answer = await patch(context, verdict.live.object, status);
      if (answer === 200) statusByKey.set(key, status);
      else statusByKey.delete(key);
      return answer === 409 ? { inMs: CONFLICT_MS } : undefined;
    },
  });
  return subscriberOf({
    planned: ({ verdict: { groups } }) => {
      for (const verdict of groups) {
        const key = keyOf(verdict.live.object);
        newest.set(key, verdict);
        // A write that is under way may be of an older verdict.
        if (line.isRunning(key) || nextOf(verdict)) line.add(key);
      }
    },
    reconciled: ({ verdicts }) => {
      const keys = new Set(verdicts.flatMap(({ groups }) => groups.map(({ live }) => keyOf(live.object))));
      for (const statuses of [newest, statusByKey]) keepOnly(statuses, keys);
      line.keepOnly(keys);
    },
  });
};

/** Writes the status. 404: the group was deleted meanwhile. 409: it was also re-created, or somebody wrote at the same time. @throws Failure */
async function patch(
  { client, clock }: TaskContext,
  { metadata: { namespace, name, uid } }: RunnerGroupObject,
  status: RunnerGroupStatus,
): Promise<200 | 404 | 409> {
  const question: KubeQuestion = {
    what: `write the status of RunnerGroup ${namespace}/${name}`,
    method: 'PATCH',
    path: `${objectPath(RUNNER_GROUPS, namespace, name)}/status`,
    body: { metadata: { uid }, status },
  };
  const answer = await client.send(question, new Deadline(WRITE_MS, clock));
  const { status: code } = answer;
  if (code === 200 || code === 404 || code === 409) return code;
  const remedy =
    'Grant the service account "patch" on "runnergroups/status" of "gitea.bpg.pw", and install the CRD of this release';
  const request = client.request(question);
  throw admissionFailure(request, answer) ?? statusFailure(request, code, 'GR-CLUSTER-13', remedy);
}

function keyOf({ metadata }: RunnerGroupObject): string {
  return `${keyText(metadata)} ${metadata.uid}`;
}

/** Returns namespace and name from a `keyOf`, without the uid. */
function nameOfKey(key: string): string {
  return key.slice(0, key.indexOf(' '));
}

/** An Event about a RunnerGroup. For each subject and cause there is one. */
type Notice = Readonly<{ object: RunnerGroupObject; subject: string; cause: string; reason: string; message: string }>;

/** Most waiting Events. Further ones are dropped: a node that fails can lose dozens of runners at once. */
const MOST_WAITING = 500;
/** Most Events about stuck pods in one reconcile: many have one cause. The status counts them all. */
const MOST_STUCK = 10;
/** Most characters of a message. Kubernetes takes 1,024 bytes. */
const LONGEST_IN_EVENT = 900;
const COMPONENT = 'gitea-runners';
/** Events of type `Normal`; all others are warnings. */
const GOOD_REASONS: ReadonlySet<string> = new Set(['LostJobEnded', 'LostJobRerun', 'RegistrationTokenWritten']);

export const writeEvents: StartTask = (context) => {
  const waiting = new Map<string, Notice>();
  let announcedNames: ReadonlySet<string> = new Set();
  const line = context.queue.open('event', {
    width: EVENT_WRITES,
    deadlineMs: 2 * WRITE_MS,
    laneOf: (name) => waiting.get(name)?.object.metadata.namespace ?? '',
    // An Event that could not be written is lost: its time is over.
    mostTries: 1,
    onFailure: (_, problem) => context.tell({ is: 'cluster-failed', failure: problem }),
    run: async (name) => {
      const notice = waiting.get(name);
      waiting.delete(name);
      if (notice) await writeEvent(context, notice);
      return undefined;
    },
  });
  const add = (notice: Notice): void => {
    if (waiting.size >= MOST_WAITING) return;
    waiting.set(nameOf(notice), notice);
    line.add(nameOf(notice));
  };
  return (event) => {
    for (const notice of noticesOf(event)) add(notice);
    if (event.is !== 'reconciled') return;
    const noticeByName = new Map(stuckNotices(event.verdicts).map((each) => [nameOf(each), each]));
    const news = [...noticeByName].filter(([name]) => !announcedNames.has(name));
    for (const [, notice] of news.slice(0, MOST_STUCK)) add(notice);
    announcedNames = new Set(noticeByName.keys());
  };
};

async function writeEvent({ client, clock }: TaskContext, notice: Notice): Promise<void> {
  const { namespace, name, uid } = notice.object.metadata;
  const time = timeText(clock.now());
  const question: KubeQuestion = {
    what: `write an Event about RunnerGroup ${namespace}/${name}`,
    method: 'POST',
    path: `/api/v1/namespaces/${encodeURIComponent(namespace)}/events`,
    body: {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { namespace, name: nameOf(notice) },
      involvedObject: { apiVersion: API_VERSION, kind: KIND, namespace, name, uid },
      type: GOOD_REASONS.has(notice.reason) ? 'Normal' : 'Warning',
      reason: notice.reason,
      message: notice.message.slice(0, LONGEST_IN_EVENT),
      source: { component: COMPONENT },
      reportingComponent: COMPONENT,
      firstTimestamp: time,
      lastTimestamp: time,
      count: 1,
    },
  };
  const answer = await client.send(question, new Deadline(WRITE_MS, clock));
  const { status } = answer;
  // 409: a leader before us has written this Event. 404: the namespace is being deleted.
  if (status === 201 || status === 409 || status === 404) return;
  const remedy = 'Grant the service account "create" on "events" in the namespace of the RunnerGroup';
  const request = client.request(question);
  throw admissionFailure(request, answer) ?? statusFailure(request, status, 'GR-CLUSTER-15', remedy);
}

/** Equal subjects and causes give equal names, so two leaders write one Event. Kubernetes forgets it after an hour. */
function nameOf({ object, subject, cause }: Notice): string {
  const { name, uid } = object.metadata;
  return `${name}.${hash('sha256', [uid, subject, cause].join('\0')).slice(0, 16)}`;
}

function stuckNotices(verdicts: readonly AppVerdict[]): readonly Notice[] {
  const groups = verdicts.flatMap((verdict) => verdict.groups);
  return groups.flatMap(({ facts, live: { object } }) =>
    (facts.counts?.stuck ?? []).map((pod): Notice => {
      const reason = pod.failed ? 'WorkerPodStartFailed' : 'WorkerPodStuckPending';
      const { runner: subject, trouble } = pod;
      return { object, subject, cause: trouble.reason, reason, message: stuckText(pod) };
    }),
  );
}

function noticesOf(event: ServeEvent): readonly Notice[] {
  switch (event.is) {
    case 'registration-token': {
      const { failure: problem, objects, secret: subject } = event;
      const cause = problem?.code ?? 'written';
      const [reason, message] = problem
        ? ['RegistrationTokenFailed', `cannot fill Secret ${subject}: ${cause} ${problem.message}`]
        : ['RegistrationTokenWritten', `filled Secret ${subject} with the registration token`];
      return objects.map((object) => ({ object, subject, cause, reason, message }));
    }
    case 'runner-registration': {
      const { failure: problem, object, runner } = event;
      if (!problem) return [];
      const { code: cause, message: why } = problem;
      const message = `${runner} has no credentials yet: ${cause} ${why}`;
      return [{ object, subject: 'registrations', cause, reason: UNREGISTERED, message }];
    }
    case 'runner-lost':
      return lossNotices(event, (job) => ['RunnerLost', `${event.lost.reason}: its CI job, ${job}, cannot end`]);
    case 'rerun':
      return lossNotices(event, (job) => RERUNS[event.outcome]?.(job, event.failure));
    default:
      return [];
  }
}

type ReasonAndText = readonly [reason: string, text: string];

const RERUNS: Readonly<
  Record<RerunOutcome, ((job: string, problem: Failure | undefined) => ReasonAndText) | undefined>
> = {
  ended: (job) => ['LostJobEnded', `had Gitea end ${job}`],
  rerun: (job) => ['LostJobRerun', `re-ran ${job}`],
  exhausted: (job) => ['EvictionRetriesExhausted', `${job} is not re-run again: maxEvictionRetries`],
  failed: (job, problem) => ['RerunFailed', `cannot re-run ${job}: ${problem?.code} ${problem?.message}`],
  expired: (job) => ['RerunFailed', `gave up ${job}: it could not be re-run for a day`],
  returned: undefined,
  superseded: undefined,
  'not-failed': undefined,
};

function lossNotices(
  event: EventOf<'runner-lost'> | EventOf<'rerun'>,
  tell: (job: string) => ReasonAndText | undefined,
): readonly Notice[] {
  const { lost, object } = event;
  const { jobId, repository, runId, runner } = lost;
  const reasonAndText = tell(`job ${jobId} of run ${runId} in ${repository}`);
  if (!reasonAndText) return [];
  const [reason, text] = reasonAndText;
  return [{ object, subject: `${runner} ${jobId}`, cause: reason, reason, message: `${runner}: ${text}` }];
}
