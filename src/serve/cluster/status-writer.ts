/** Writes `status` of RunnerGroups, only when it says something new, and at most once a second per group. */
import { Failure } from '../../failure.ts';
import { Deadline } from '../../http/deadline.ts';
import { failure } from '../../http/request.ts';
import { keyText } from '../../key-text.ts';
import type { KubeClient, KubeQuestion } from '../../kubernetes/client.ts';
import { objectPath, RUNNER_GROUPS, type RunnerGroupObject } from '../../kubernetes/resources.ts';
import { RunnerGroupStatus } from '../../runnergroup/status.ts';
import { type GroupFacts, isWorthWriting, statusOf, tellsLess } from '../planning/group-status.ts';

const SHORTEST_GAP_MS = 1_000;
const WRITE_MS = 10_000;

interface Written {
  readonly status: RunnerGroupStatus;
  readonly atMs: number;
  /** A write is under way. */
  busy: boolean;
}

export interface StatusWriterOptions {
  readonly client: KubeClient;
  /** @param key of a RunnerGroup. @returns its `status` as the newest copy of the cluster has it: a leader before us may have written it. */
  readonly statusOf: (key: string) => unknown;
  readonly onFailure: (failure: Failure) => void;
}

export class StatusWriter {
  readonly #options: StatusWriterOptions;
  /** What we wrote last: the copy of the watch is a moment behind. By uid. */
  readonly #written = new Map<string, Written>();
  /** Statuses that came too early; by uid. */
  readonly #late = new Map<string, () => void>();
  #closed = false;

  constructor(options: StatusWriterOptions) {
    this.#options = options;
  }

  /** Writes the status that follows from the facts, when that is worth it. */
  put(object: RunnerGroupObject, facts: GroupFacts): void {
    const { statusOf: statusInCluster } = this.#options;
    const { uid } = object.metadata;
    const now = this.#options.client.clock.now();
    const known = this.#written.get(uid);
    const old = known?.status ?? readStatus(statusInCluster(keyText(object.metadata)));
    const next = statusOf(facts, old, now);
    this.#late.get(uid)?.();
    this.#late.delete(uid);
    if (this.#closed || tellsLess(facts, old, now) || !isWorthWriting(next, old)) return;
    // Without a wait, too: the clock was set back.
    const waitMs = known === undefined || now < known.atMs ? 0 : known.atMs + SHORTEST_GAP_MS - now;
    if (waitMs <= 0 && !known?.busy) void this.#write(object, next, now);
    else {
      const again = (): void => this.put(object, facts);
      this.#late.set(uid, this.#options.client.clock.after(Math.max(waitMs, SHORTEST_GAP_MS / 10), again));
    }
  }

  /** Writes nothing more. A write that is under way may be broken off. */
  close(): void {
    this.#closed = true;
    for (const takeBack of this.#late.values()) takeBack();
    this.#late.clear();
  }

  /** Forgets groups that are gone. */
  keepOnly(uids: ReadonlySet<string>): void {
    for (const uid of this.#written.keys()) if (!uids.has(uid)) this.#written.delete(uid);
    for (const [uid, takeBack] of this.#late) {
      if (uids.has(uid)) continue;
      takeBack();
      this.#late.delete(uid);
    }
  }

  async #write({ metadata }: RunnerGroupObject, status: RunnerGroupStatus, atMs: number): Promise<void> {
    const { client, onFailure } = this.#options;
    const { namespace, name, uid } = metadata;
    const before = this.#written.get(uid);
    const written: Written = { status, atMs, busy: true };
    this.#written.set(uid, written);
    const question: KubeQuestion = {
      what: `write the status of RunnerGroup ${namespace}/${name}`,
      method: 'PATCH',
      path: `${objectPath(RUNNER_GROUPS, namespace, name)}/status`,
      contentType: 'application/merge-patch+json',
      body: { metadata: { uid }, status },
    };
    try {
      const answer = await client.send(question, new Deadline(WRITE_MS, client.clock));
      // 404, 409: meanwhile the group was deleted, or deleted and re-created.
      if (answer.status === 404 || answer.status === 409) this.#written.delete(uid);
      else if (answer.status !== 200) {
        throw failure(
          client.request(question),
          'GR-CLUSTER-13',
          `status ${answer.status}`,
          'Grant the service account "patch" on "runnergroups/status" of "gitea.bpg.pw", and install the CRD of this release',
        );
      }
    } catch (error) {
      if (this.#closed) return;
      if (!(error instanceof Failure)) throw error;
      onFailure(error);
      // Tried again at the next put, a second later.
      if (before) this.#written.set(uid, { ...before, atMs, busy: false });
      else this.#written.delete(uid);
    } finally {
      written.busy = false;
    }
  }
}

function readStatus(status: unknown): RunnerGroupStatus | undefined {
  const parsed = RunnerGroupStatus.safeParse(status);
  return parsed.success ? parsed.data : undefined;
}
