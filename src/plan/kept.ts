/**
 * Runners that stay for a look after their CI job failed (`keepFailedSeconds`, docs/adr/0037).
 *
 *     CI job fails ──► the pod waits ──► kept: printed and pinned, with a place under the cap ──► its time is over: unpinned, then pruned
 *
 * Gitea tells that the CI job failed; Kubernetes tells that the pod still runs. The time of the failure is printed as an annotation,
 * because Gitea forgets it: a re-run takes the row of the CI job, and old rows are not listed.
 */
import type { KeptUntil } from './decisions.ts';
import type { Job, LiveJob } from './evidence.ts';
import type { RunnerTraces } from './traces.ts';

/** The longest stay, whatever is asked for. The pod itself waits as long (`LONGEST_KEEP_SECONDS` in src/charts/keep.ts). */
export const LONGEST_KEEP_MS = 86_400_000;
/** A failure may be so far ahead of "now": clocks are corrected by whole seconds, and not at all when they are not known. */
const CLOCKS_APART_MS = 60_000;

/** The stay of one runner. */
export interface Keep extends KeptUntil {
  readonly isOver: boolean;
}

/** Undefined: it does not stay. Its CI job has not failed, its pod does not run, or its group keeps none. */
export function keepOf({ group, live, running, completed }: RunnerTraces, nowMs: number): Keep | undefined {
  const { keepFailedMs } = group;
  if (keepFailedMs === undefined || running || !live) return undefined;
  if (live.state !== 'running' && live.state !== 'unknown') return undefined;
  const failedAtMs = printedFailure(live, nowMs) ?? listedFailure(completed, nowMs);
  if (failedAtMs === undefined) return undefined;
  const { extendUntilMs = 0 } = live;
  const askedMs = extendUntilMs === 'unreadable' ? 0 : extendUntilMs;
  const mostMs = failedAtMs + LONGEST_KEEP_MS;
  const untilMs = Math.min(Math.max(failedAtMs + keepFailedMs, askedMs), mostMs);
  const extension = extendUntilMs === 'unreadable' ? extendUntilMs : askedMs > mostMs ? 'too-long' : undefined;
  return { failedAtMs, untilMs, ...(extension && { extension }), isOver: nowMs >= untilMs };
}

/** As it was printed, unless somebody has written a time that is to come. */
function printedFailure({ failedAtMs }: LiveJob, nowMs: number): number | undefined {
  return failedAtMs !== undefined && failedAtMs <= nowMs + CLOCKS_APART_MS ? failedAtMs : undefined;
}

/** Whole seconds, as times are printed. */
function listedFailure(completed: Job | undefined, nowMs: number): number | undefined {
  if (!completed?.failed) return undefined;
  return Math.floor((completed.completedAtMs ?? nowMs) / 1000) * 1000;
}
