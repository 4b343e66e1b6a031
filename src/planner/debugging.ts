/**
 * Runners that are held for debugging after their CI job failed (`keepFailedSeconds`, docs/adr/0037).
 *
 *     CI job fails ────────► the pod waits ──► printed and pinned, with a slot under the cap
 *                                              └─► its time is over: unpinned, then pruned
 *     CI job is cancelled ─► the pod waits, because the runner cannot tell ──► no time: unpinned, then pruned
 *
 * Gitea tells how the CI job ended, and Kubernetes that the pod still runs. If Gitea has forgotten the CI job, the row of the runner is gone,
 * too. Then one of two things shows that the runner has worked:
 *
 * - its Job is pinned;
 * - its container has run for so long that Gitea would list a runner that waits.
 *
 * The end and the time are printed as annotations, because Gitea forgets. A re-run takes the row of the CI job, and old rows are not listed.
 * Without the annotations such a pod would look like a free runner.
 */
import type { HeldUntil } from './decisions.ts';
import type { LiveJob } from './evidence.ts';
import type { RunnerTraces } from './traces.ts';

/** The longest stay, whatever is asked for. The pod itself waits as long (src/manifests/keep.ts). */
export const LONGEST_KEEP_MS = 86_400_000;
/** A pod whose CI job did not fail ends within so long, unless it waits. */
const ENDS_WITHIN_MS = 15_000;
/** An end may be so far ahead of "now": clocks are corrected by whole seconds, and not at all when they are not known. */
const END_AHEAD_MS = 60_000;
/** A runner registers before its container runs (docs/adr/0023). So it is listed this long after that: a look takes 20 s, and clocks differ. */
const LISTED_WITHIN_MS = END_AHEAD_MS + 30_000;

/** How long one runner is held for debugging. */
export interface Hold extends HeldUntil {
  readonly isOver: boolean;
}

interface Around {
  readonly nowMs: number;
  /** True if the pod has run the completed CI job: the kubelet reports a running pod up to a second late. */
  readonly hasWorked: boolean;
  /** True when Gitea lists any runner of the group. */
  readonly rowsAreSeen: () => boolean;
}

/** Returns the hold of a runner whose pod waits after its CI job. Undefined: it does not wait, or nobody knows. */
export function holdOf(traces: RunnerTraces, around: Around): Hold | undefined {
  const { group, live, completed } = traces;
  const { nowMs, hasWorked } = around;
  if (!live || !(isWaiting(live) || (live.state === 'starting' && hasWorked))) return undefined;
  const { keepFailedMs } = group;
  const printedMs = printedEnd(live, nowMs);
  const endedAtMs = printedMs ?? (keepFailedMs === undefined ? undefined : unprintedEnd(traces, around));
  if (endedAtMs === undefined) return undefined;
  // A job that Gitea has forgotten may have failed.
  const mayHaveFailed = completed ? completed.conclusion === 'failure' : (live.keepUntilMs ?? nowMs) > (printedMs ?? 0);
  if (keepFailedMs === undefined || !mayHaveFailed) return { endedAtMs, untilMs: endedAtMs, isOver: true };

  const { extendUntilMs = 0 } = live;
  const askedMs = extendUntilMs === 'unreadable' ? 0 : extendUntilMs;
  const mostMs = endedAtMs + LONGEST_KEEP_MS;
  const untilMs = Math.min(Math.max(endedAtMs + keepFailedMs, askedMs), mostMs);
  const tooLong = askedMs > mostMs ? 'too-long' : undefined;
  const extension = extendUntilMs === 'unreadable' ? extendUntilMs : tooLong;
  return { endedAtMs, untilMs, ...(extension && { extension }), isOver: nowMs >= untilMs };
}

function isWaiting({ state }: LiveJob): boolean {
  return state === 'running' || state === 'unknown';
}

/** Returns the end as it was printed, unless a person has written a later one that lies in the future. */
function printedEnd({ endedAtMs = Number.POSITIVE_INFINITY }: LiveJob, nowMs: number): number | undefined {
  return endedAtMs <= nowMs + END_AHEAD_MS ? endedAtMs : undefined;
}

/** Returns the end that no manifest holds yet, in whole seconds. Undefined: the pod may yet end, or had no job. */
function unprintedEnd(traces: RunnerTraces, around: Around): number | undefined {
  const { completed } = traces;
  const { nowMs } = around;
  if (!completed) return hasLeft(traces, around) ? toSeconds(nowMs) : undefined;
  const { conclusion, completedAtMs = nowMs } = completed;
  return conclusion === 'failure' || nowMs - completedAtMs > ENDS_WITHIN_MS ? toSeconds(completedAtMs) : undefined;
}

/** True when the row of a runner is gone, which Gitea deletes with its CI job, and when it was there. */
function hasLeft({ row, live }: RunnerTraces, { nowMs, rowsAreSeen }: Around): boolean {
  if (row) return false;
  return live?.pinned === true || (nowMs - (live?.runningSinceMs ?? nowMs) > LISTED_WITHIN_MS && rowsAreSeen());
}

function toSeconds(ms: number): number {
  return Math.floor(ms / 1000) * 1000;
}
