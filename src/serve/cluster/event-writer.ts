/** Writes Kubernetes Events beside RunnerGroups, as `kubectl describe runnergroup` shows them: pods that cannot start, losses, re-runs, tokens. */
import { hash } from 'node:crypto';
import { Deadline } from '../../clients/http/deadline.ts';
import { failure } from '../../clients/http/request.ts';
import type { KubeQuestion } from '../../clients/kubernetes/client.ts';
import type { RunnerGroupObject } from '../../clients/kubernetes/resources.ts';
import { API_VERSION, KIND } from '../../config/runnergroup/schema.ts';
import type { Failure } from '../../shared/failure.ts';
import { timeText } from '../../shared/marks.ts';
import type { EventOf, RerunOutcome, ServeEvent } from '../events.ts';
import { stuckText } from '../planning/group-status.ts';
import type { AppVerdict } from '../round.ts';
import type { StartTask, TaskContext } from '../task.ts';

interface Notice {
  readonly object: RunnerGroupObject;
  /** What it is about: one Event for each subject and cause. */
  readonly subject: string;
  readonly cause: string;
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

const WRITE_MS = 10_000;
const WRITES = 10;
/** Events that wait; others are left out. A node takes dozens of runners with it. */
const MOST_WAITING = 500;
/** Pods of one round that are told to be stuck: many come at once only for one cause, and the status counts them all. */
const MOST_STUCK = 10;
/** Kubernetes takes 1,024 bytes. */
const LONGEST_MESSAGE = 900;
const COMPONENT = 'gitea-runners';

export const writeEvents: StartTask = (context) => {
  const waiting = new Map<string, Notice>();
  /** Names of the Events about pods that are stuck now. */
  let told: ReadonlySet<string> = new Set();
  const line = context.queue.open('event', {
    width: WRITES,
    deadlineMs: 2 * WRITE_MS,
    laneOf: (name) => waiting.get(name)?.object.metadata.namespace ?? '',
    // An Event that could not be written is lost: its time is over.
    mostTries: 1,
    onFailure: (_, problem) => context.tell({ is: 'cluster-failed', failure: problem }),
    run: async (name) => {
      const notice = waiting.get(name);
      waiting.delete(name);
      if (notice) await write(context, notice);
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
    if (event.is !== 'round-done') return;
    const found = new Map(stuckNotices(event.verdicts).map((each) => [nameOf(each), each]));
    const news = [...found].filter(([name]) => !told.has(name));
    for (const [, notice] of news.slice(0, MOST_STUCK)) add(notice);
    told = new Set(found.keys());
  };
};

async function write({ client, clock }: TaskContext, notice: Notice): Promise<void> {
  const { namespace, name } = notice.object.metadata;
  const question: KubeQuestion = {
    what: `write an Event about RunnerGroup ${namespace}/${name}`,
    method: 'POST',
    path: `/api/v1/namespaces/${encodeURIComponent(namespace)}/events`,
    body: eventOf(notice, clock.now()),
  };
  const { status } = await client.send(question, new Deadline(WRITE_MS, clock));
  // 409: a leader before us has told it. 404: the namespace is going.
  if (status === 201 || status === 409 || status === 404) return;
  const remedy = 'Grant the service account "create" on "events" in the namespace of the RunnerGroup';
  throw failure(client.request(question), 'GR-CLUSTER-15', `status ${status}`, remedy, 'cluster');
}

/** The same subject and cause give the same name, so two leaders write one Event. Kubernetes forgets it after an hour. */
function nameOf({ object, subject, cause }: Notice): string {
  const { name, uid } = object.metadata;
  return `${name}.${hash('sha256', [uid, subject, cause].join('\0')).slice(0, 16)}`;
}

function eventOf(notice: Notice, nowMs: number): unknown {
  const { namespace, name, uid } = notice.object.metadata;
  const time = timeText(nowMs);
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { namespace, name: nameOf(notice) },
    involvedObject: { apiVersion: API_VERSION, kind: KIND, namespace, name, uid },
    type: notice.type,
    reason: notice.reason,
    message: notice.message.slice(0, LONGEST_MESSAGE),
    source: { component: COMPONENT },
    reportingComponent: COMPONENT,
    firstTimestamp: time,
    lastTimestamp: time,
    count: 1,
  };
}

function stuckNotices(verdicts: readonly AppVerdict[]): readonly Notice[] {
  const groups = verdicts.flatMap((verdict) => verdict.groups);
  return groups.flatMap(({ facts, live: { object } }) =>
    (facts.counts?.stuck ?? []).map((pod): Notice => {
      const reason = pod.failed ? 'WorkerPodStartFailed' : 'WorkerPodStuckPending';
      const { runner: subject, trouble } = pod;
      return { object, subject, cause: trouble.reason, type: 'Warning', reason, message: stuckText(pod) };
    }),
  );
}

/** Of an event; none: nothing that people must know. */
function noticesOf(event: ServeEvent): readonly Notice[] {
  switch (event.is) {
    case 'registration-token': {
      const { failure: problem, objects, secret: subject } = event;
      const what = problem
        ? ({
            type: 'Warning',
            reason: 'RegistrationTokenFailed',
            cause: problem.code,
            message: `cannot fill Secret ${subject}: ${problem.code} ${problem.message}`,
          } as const)
        : ({
            type: 'Normal',
            reason: 'RegistrationTokenWritten',
            cause: 'written',
            message: `filled Secret ${subject} with the registration token`,
          } as const);
      return objects.map((object) => ({ object, subject, ...what }));
    }
    case 'runner-lost':
      return [lossNotice(event, 'RunnerLost', (job) => `${event.lost.reason}: its CI job, ${job}, cannot end`)];
    case 'rerun': {
      const told = RERUNS[event.outcome];
      if (!told) return [];
      const notice = lossNotice(event, told.reason, (job) => told.text(job, event.failure));
      return [event.outcome === 'rerun' ? { ...notice, type: 'Normal' } : notice];
    }
    default:
      return [];
  }
}

interface RerunNotice {
  readonly reason: string;
  readonly text: (job: string, failure: Failure | undefined) => string;
}

const RERUNS: Readonly<Record<RerunOutcome, RerunNotice | undefined>> = {
  rerun: { reason: 'LostJobRerun', text: (job) => `re-ran ${job}` },
  exhausted: {
    reason: 'EvictionRetriesExhausted',
    text: (job) => `${job} is not re-run again: maxEvictionRetries`,
  },
  failed: {
    reason: 'RerunFailed',
    text: (job, problem) => `cannot re-run ${job}: ${problem?.code} ${problem?.message}`,
  },
  expired: { reason: 'RerunFailed', text: (job) => `gave up ${job}: it could not be re-run for a day` },
  returned: undefined,
  superseded: undefined,
  'not-failed': undefined,
};

function lossNotice(
  { lost, object }: Pick<EventOf<'runner-lost'>, 'lost' | 'object'>,
  reason: string,
  text: (job: string) => string,
): Notice {
  const { jobId, repository, runId, runner } = lost;
  const message = `${runner}: ${text(`job ${jobId} of run ${runId} in ${repository}`)}`;
  return { object, subject: `${runner} ${jobId}`, cause: reason, type: 'Warning', reason, message };
}
