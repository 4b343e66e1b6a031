/** Writes `status` of RunnerGroups, only when it says something new, and at most once a second per group. */
import { Deadline } from '../../clients/http/deadline.ts';
import { failure } from '../../clients/http/request.ts';
import type { KubeQuestion } from '../../clients/kubernetes/client.ts';
import { objectPath, RUNNER_GROUPS, type RunnerGroupObject } from '../../clients/kubernetes/resources.ts';
import { RunnerGroupStatus } from '../../config/runnergroup/status.ts';
import { keyText } from '../../shared/key-text.ts';
import { type GroupFacts, isWorthWriting, statusOf, tellsLess } from '../planning/group-status.ts';
import type { Again, KeyQueue } from '../queue.ts';
import type { StartTask, TaskContext } from '../task.ts';

const SHORTEST_GAP_MS = 1_000;
/** A group that was re-created is forgotten by then. */
const CONFLICT_MS = 3_000;
const WRITE_MS = 10_000;
/** At the same time. */
const WRITES = 8;

interface Wanted {
  readonly object: RunnerGroupObject;
  readonly facts: GroupFacts;
}

/** Each verdict becomes the status of its groups. */
export const writeStatuses: StartTask = (context) => {
  const writer = new StatusWriter(context);
  return (event) => {
    if (event.is === 'planned') {
      for (const { live, facts } of event.verdict.groups) writer.put({ object: live.object, facts });
    } else if (event.is === 'round-done') {
      const groups = event.verdicts.flatMap((verdict) => verdict.groups);
      writer.keepOnly(new Set(groups.map(({ live }) => live.object.metadata.uid)));
    }
  };
};

class StatusWriter {
  readonly #context: TaskContext;
  readonly #line: KeyQueue;
  /** `<namespace>/<name>`, by uid. */
  readonly #names = new Map<string, string>();
  /** What is to be written, by uid. */
  readonly #wanted = new Map<string, Wanted>();
  /** What we wrote last, by uid: the copy of the watch is a moment behind. */
  readonly #written = new Map<string, RunnerGroupStatus>();

  constructor(context: TaskContext) {
    this.#context = context;
    this.#line = context.queue.open('status', {
      width: WRITES,
      nameOf: (uid) => this.#names.get(uid) ?? uid,
      gapMs: SHORTEST_GAP_MS,
      deadlineMs: 2 * WRITE_MS,
      onFailure: (_, problem) => context.tell({ is: 'cluster-failed', failure: problem }),
      run: (uid) => this.#write(uid),
    });
  }

  /** Writes the status that follows from the facts, when that is worth it. */
  put(wanted: Wanted): void {
    const { uid } = wanted.object.metadata;
    if (!this.#next(wanted)) {
      this.#wanted.delete(uid);
      return;
    }
    this.#wanted.set(uid, wanted);
    this.#names.set(uid, keyText(wanted.object.metadata));
    this.#line.add(uid);
  }

  /** Forgets groups that are gone. */
  keepOnly(uids: ReadonlySet<string>): void {
    for (const known of [this.#names, this.#wanted, this.#written])
      for (const uid of known.keys()) if (!uids.has(uid)) known.delete(uid);
    this.#line.keepOnly(uids);
  }

  /** Undefined: it is not worth a write. A leader before us may have written what the cluster shows. */
  #next({ facts, object: { metadata } }: Wanted): RunnerGroupStatus | undefined {
    const { clock, cluster } = this.#context;
    const old = this.#written.get(metadata.uid) ?? readStatus(cluster.statusOf(keyText(metadata)));
    const next = statusOf(facts, old, clock.now());
    return tellsLess(facts, old, clock.now()) || !isWorthWriting(next, old) ? undefined : next;
  }

  async #write(uid: string): Promise<Again | undefined> {
    const wanted = this.#wanted.get(uid);
    this.#wanted.delete(uid);
    const status = wanted && this.#next(wanted);
    if (!status) return undefined;
    const before = this.#written.get(uid);
    this.#written.set(uid, status);
    try {
      const answer = await this.#patch(wanted.object, status);
      if (answer === 200) return undefined;
      this.#written.delete(uid);
      if (answer === 404) return undefined;
      if (!this.#wanted.has(uid)) this.#wanted.set(uid, wanted);
      return { inMs: CONFLICT_MS };
    } catch (error) {
      if (before) this.#written.set(uid, before);
      else this.#written.delete(uid);
      // What was told meanwhile is newer.
      if (!this.#wanted.has(uid)) this.#wanted.set(uid, wanted);
      throw error;
    }
  }

  /** 404: meanwhile the group was deleted. 409: deleted and re-created, or somebody wrote at the same time. @throws Failure */
  async #patch(
    { metadata: { namespace, name, uid } }: RunnerGroupObject,
    status: RunnerGroupStatus,
  ): Promise<200 | 404 | 409> {
    const { client, clock } = this.#context;
    const question: KubeQuestion = {
      what: `write the status of RunnerGroup ${namespace}/${name}`,
      method: 'PATCH',
      path: `${objectPath(RUNNER_GROUPS, namespace, name)}/status`,
      contentType: 'application/merge-patch+json',
      body: { metadata: { uid }, status },
    };
    const answer = await client.send(question, new Deadline(WRITE_MS, clock));
    if (answer.status === 200 || answer.status === 404 || answer.status === 409) return answer.status;
    const remedy =
      'Grant the service account "patch" on "runnergroups/status" of "gitea.bpg.pw", and install the CRD of this release';
    throw failure(client.request(question), 'GR-CLUSTER-13', `status ${answer.status}`, remedy);
  }
}

function readStatus(status: unknown): RunnerGroupStatus | undefined {
  const parsed = RunnerGroupStatus.safeParse(status);
  return parsed.success ? parsed.data : undefined;
}
