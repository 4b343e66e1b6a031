/** Writes `status` of RunnerGroups, only when it says something new, and at most once a second per group. */
import { Deadline } from '../../clients/http/deadline.ts';
import { failure } from '../../clients/http/request.ts';
import type { KubeQuestion } from '../../clients/kubernetes/client.ts';
import { objectPath, RUNNER_GROUPS, type RunnerGroupObject } from '../../clients/kubernetes/resources.ts';
import { RunnerGroupStatus } from '../../config/runnergroup/status.ts';
import { keyText } from '../../shared/key-text.ts';
import { isWorthWriting, statusOf, tellsLess } from '../planning/group-status.ts';
import type { Again } from '../queue.ts';
import type { GroupVerdict } from '../round.ts';
import type { StartTask, TaskContext } from '../task.ts';

const SHORTEST_GAP_MS = 1_000;
/** A group that was re-created is forgotten by then. */
const CONFLICT_MS = 3_000;
const WRITE_MS = 10_000;
const WRITES = 8;

export const writeStatuses: StartTask = (context) => {
  /** By name and uid: a group that was re-created is another one. */
  const wanted = new Map<string, GroupVerdict>();
  /** What we wrote last: the copy of the watch is a moment behind. */
  const written = new Map<string, RunnerGroupStatus>();

  /** Undefined: it is not worth a write. A leader before us may have written what the cluster shows. */
  const nextOf = ({ facts, live }: GroupVerdict): RunnerGroupStatus | undefined => {
    const nowMs = context.clock.now();
    const old = written.get(keyOf(live.object)) ?? readStatus(context.cluster.statusOf(live.key));
    const next = statusOf(facts, old, nowMs);
    return tellsLess(facts, old, nowMs) || !isWorthWriting(next, old) ? undefined : next;
  };
  const write = async (key: string): Promise<Again | undefined> => {
    const verdict = wanted.get(key);
    wanted.delete(key);
    const status = verdict && nextOf(verdict);
    if (!status) return undefined;
    const before = written.get(key);
    written.set(key, status);
    let answer: 200 | 404 | 409 | undefined;
    try {
      answer = await patch(context, verdict.live.object, status);
    } finally {
      if (answer === undefined && before) written.set(key, before);
      else if (answer !== 200) written.delete(key);
      // What was told meanwhile is newer.
      if (answer !== 200 && answer !== 404 && !wanted.has(key)) wanted.set(key, verdict);
    }
    return answer === 409 ? { inMs: CONFLICT_MS } : undefined;
  };
  const line = context.queue.open('status', {
    width: WRITES,
    nameOf: (key) => key.split(' ', 1).join(''),
    gapMs: SHORTEST_GAP_MS,
    deadlineMs: 2 * WRITE_MS,
    onFailure: (_, problem) => context.tell({ is: 'cluster-failed', failure: problem }),
    run: write,
  });
  const put = (verdict: GroupVerdict): void => {
    const key = keyOf(verdict.live.object);
    wanted.delete(key);
    if (!nextOf(verdict)) return;
    wanted.set(key, verdict);
    line.add(key);
  };
  const keepOnly = (groups: readonly GroupVerdict[]): void => {
    const keys = new Set(groups.map(({ live }) => keyOf(live.object)));
    for (const known of [wanted, written]) for (const key of known.keys()) if (!keys.has(key)) known.delete(key);
    line.keepOnly(keys);
  };
  return (event) => {
    if (event.is === 'planned') for (const verdict of event.verdict.groups) put(verdict);
    if (event.is === 'round-done') keepOnly(event.verdicts.flatMap(({ groups }) => groups));
  };
};

/** 404: meanwhile the group was deleted. 409: deleted and re-created, or somebody wrote at the same time. @throws Failure */
async function patch(
  { client, clock }: TaskContext,
  { metadata: { namespace, name, uid } }: RunnerGroupObject,
  status: RunnerGroupStatus,
): Promise<200 | 404 | 409> {
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
  throw failure(client.request(question), 'GR-CLUSTER-13', `status ${answer.status}`, remedy, 'cluster');
}

function keyOf({ metadata }: RunnerGroupObject): string {
  return `${keyText(metadata)} ${metadata.uid}`;
}

function readStatus(status: unknown): RunnerGroupStatus | undefined {
  const parsed = RunnerGroupStatus.safeParse(status);
  return parsed.success ? parsed.data : undefined;
}
