/** Writes Kubernetes Events beside RunnerGroups: `kubectl describe runnergroup` shows them. What they say: notices.ts. */
import { hash } from 'node:crypto';
import { Deadline } from '../../clients/http/deadline.ts';
import { failure } from '../../clients/http/request.ts';
import type { KubeQuestion } from '../../clients/kubernetes/client.ts';
import { API_VERSION, KIND } from '../../config/runnergroup/schema.ts';
import { timeText } from '../../shared/marks.ts';
import type { StartTask, TaskContext } from '../task.ts';
import { type Notice, noticesOf, stuckNotices } from './notices.ts';

const WRITE_MS = 10_000;
/** At the same time. */
const WRITES = 10;
/** Events that wait; others are left out. A node takes dozens of runners with it. */
const MOST_WAITING = 500;
/** Pods of one round that are told to be stuck: many come at once only for one cause, and the status counts them all. */
const MOST_STUCK = 10;
/** Kubernetes takes 1,024 bytes. */
const LONGEST_MESSAGE = 900;
const COMPONENT = 'gitea-runners';

export const writeEvents: StartTask = (context) => {
  /** By name of the Event. */
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

/** @throws Failure */
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
  throw failure(client.request(question), 'GR-CLUSTER-15', `status ${status}`, remedy);
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
