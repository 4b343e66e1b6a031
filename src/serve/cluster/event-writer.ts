/** Writes a Kubernetes Event about each pod that cannot start, beside its RunnerGroup: `kubectl describe runnergroup` shows it. */
import { hash } from 'node:crypto';
import { Failure } from '../../failure.ts';
import { Deadline } from '../../http/deadline.ts';
import { failure } from '../../http/request.ts';
import type { KubeClient, KubeQuestion } from '../../kubernetes/client.ts';
import { API_VERSION, KIND } from '../../runnergroup/schema.ts';
import type { ServeEvent } from '../events.ts';
import type { LiveGroup } from '../planning/live.ts';
import { type StuckPod, stuckText } from '../planning/stuck-pods.ts';

const WRITE_MS = 10_000;
/** Events under way. More pods get stuck at once only for one cause, and the status counts them all. */
const MOST_AT_ONCE = 10;
const COMPONENT = 'gitea-runners';

/** A stuck pod and the RunnerGroup that it belongs to. */
interface Told extends StuckPod {
  readonly object: LiveGroup['object'];
}

export class EventWriter {
  readonly #client: KubeClient;
  readonly #now: () => number;
  readonly #onFailure: (failure: Failure) => void;
  /** Names of the Events about pods that are stuck now. */
  #told: ReadonlySet<string> = new Set();
  #underWay = 0;

  constructor(client: KubeClient, now: () => number, onFailure: (failure: Failure) => void) {
    this.#client = client;
    this.#now = now;
    this.#onFailure = onFailure;
  }

  /** Only the leader has rounds. */
  hear(event: ServeEvent): void {
    if (event.is !== 'round-done') return;
    const stuck = event.verdicts.flatMap(({ groups }) =>
      groups.flatMap(({ live, counts }) => (counts?.stuck ?? []).map((pod) => ({ ...pod, object: live.object }))),
    );
    const found = new Map(stuck.map((pod) => [nameOf(pod), pod]));
    for (const [name, pod] of found) {
      if (!this.#told.has(name) && this.#underWay < MOST_AT_ONCE) void this.#write(pod);
    }
    this.#told = new Set(found.keys());
  }

  async #write(pod: Told): Promise<void> {
    const { namespace, name } = pod.object.metadata;
    const question: KubeQuestion = {
      what: `write an Event about RunnerGroup ${namespace}/${name}`,
      method: 'POST',
      path: `/api/v1/namespaces/${encodeURIComponent(namespace)}/events`,
      contentType: 'application/json',
      body: eventOf(pod, this.#now()),
    };
    this.#underWay += 1;
    try {
      const { status } = await this.#client.send(question, new Deadline(WRITE_MS));
      // 409: a leader before us has told it. 404: the namespace is going.
      if (status === 201 || status === 409 || status === 404) return;
      const remedy = 'Grant the service account "create" on "events" in the namespace of the RunnerGroup';
      throw failure(this.#client.request(question), 'GR-CLUSTER-15', `status ${status}`, remedy);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      this.#onFailure(error);
    } finally {
      this.#underWay -= 1;
    }
  }
}

/** The same pod and reason give the same name, so two leaders write one Event. Kubernetes forgets it after an hour. */
function nameOf({ object, runner, trouble }: Told): string {
  const { name, uid } = object.metadata;
  return `${name}.${hash('sha256', [uid, runner, trouble.reason].join('\0')).slice(0, 16)}`;
}

function eventOf(pod: Told, nowMs: number): unknown {
  const { namespace, name, uid } = pod.object.metadata;
  const time = new Date(nowMs).toISOString().replace(/\.\d{3}Z$/, 'Z');
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { namespace, name: nameOf(pod) },
    involvedObject: { apiVersion: API_VERSION, kind: KIND, namespace, name, uid },
    type: 'Warning',
    reason: pod.failed ? 'WorkerPodStartFailed' : 'WorkerPodStuckPending',
    message: stuckText(pod),
    source: { component: COMPONENT },
    reportingComponent: COMPONENT,
    firstTimestamp: time,
    lastTimestamp: time,
    count: 1,
  };
}
