/** Writes Kubernetes Events beside RunnerGroups: `kubectl describe runnergroup` shows them. What they say: notices.ts. */
import { hash } from 'node:crypto';
import { timeText } from '../../charts/marks.ts';
import { Failure } from '../../failure.ts';
import { Deadline } from '../../http/deadline.ts';
import { failure } from '../../http/request.ts';
import type { KubeClient, KubeQuestion } from '../../kubernetes/client.ts';
import { API_VERSION, KIND } from '../../runnergroup/schema.ts';
import type { ServeEvent } from '../events.ts';
import { type Notice, noticesOf, stuckNotices } from './notices.ts';

const WRITE_MS = 10_000;
/** Events under way. */
const MOST_AT_ONCE = 10;
/** Events that wait for their turn; others are left out. A node takes dozens of runners with it. */
const MOST_WAITING = 500;
/** Kubernetes takes 1,024 bytes. */
const LONGEST_MESSAGE = 900;
const COMPONENT = 'gitea-runners';

export class EventWriter {
  readonly #client: KubeClient;
  readonly #onFailure: (failure: Failure) => void;
  /** Names of the Events about pods that are stuck now. */
  #told: ReadonlySet<string> = new Set();
  readonly #waiting: Notice[] = [];
  #underWay = 0;

  constructor(client: KubeClient, onFailure: (failure: Failure) => void) {
    this.#client = client;
    this.#onFailure = onFailure;
  }

  /** Only the leader has rounds and losses. */
  hear(event: ServeEvent): void {
    for (const notice of noticesOf(event)) {
      if (this.#underWay < MOST_AT_ONCE) void this.#write(notice);
      else if (this.#waiting.length < MOST_WAITING) this.#waiting.push(notice);
    }
    if (event.is !== 'round-done') return;
    const found = new Map(stuckNotices(event.verdicts).map((each) => [nameOf(each), each]));
    // None of these waits. Many come at once only for one cause, and the status counts them all.
    for (const [name, each] of found) {
      if (!this.#told.has(name) && this.#underWay < MOST_AT_ONCE) void this.#write(each);
    }
    this.#told = new Set(found.keys());
  }

  async #write(notice: Notice): Promise<void> {
    const { namespace, name } = notice.object.metadata;
    const question: KubeQuestion = {
      what: `write an Event about RunnerGroup ${namespace}/${name}`,
      method: 'POST',
      path: `/api/v1/namespaces/${encodeURIComponent(namespace)}/events`,
      body: eventOf(notice, this.#client.clock.now()),
    };
    this.#underWay += 1;
    try {
      const { status } = await this.#client.send(question, new Deadline(WRITE_MS, this.#client.clock));
      // 409: a leader before us has told it. 404: the namespace is going.
      if (status !== 201 && status !== 409 && status !== 404) {
        const remedy = 'Grant the service account "create" on "events" in the namespace of the RunnerGroup';
        throw failure(this.#client.request(question), 'GR-CLUSTER-15', `status ${status}`, remedy);
      }
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      this.#onFailure(error);
    } finally {
      this.#underWay -= 1;
    }
    const next = this.#waiting.shift();
    if (next) void this.#write(next);
  }
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
