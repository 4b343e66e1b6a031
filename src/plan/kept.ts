/**
 * Runners that stay for a look after their CI job failed (`keepFailedSeconds`, docs/adr/0037).
 *
 *     CI job fails ──► the pod waits ──► kept: printed and pinned, with a place under the cap ──► its time is over: unpinned, then pruned
 *
 * Gitea tells that the CI job failed; Kubernetes tells that the pod still runs. The time of the failure is printed as an annotation,
 * because Gitea forgets it: a re-run takes the row of the CI job, and old rows are not listed.
 */
import type { KeptUntil, RunnerDecision } from './decisions.ts';
import type { Job, LiveJob } from './evidence.ts';
import type { Runner } from './runners.ts';
import type { RunnerTraces } from './traces.ts';

/** The longest stay, whatever is asked for. The pod itself waits as long (`LONGEST_KEEP_SECONDS` in src/charts/keep.ts). */
export const LONGEST_KEEP_MS = 86_400_000;
/**
 * A pod whose CI job is over ends within so long, unless it waits. Those of CI jobs that were cancelled wait, too: the runner does not tell
 * them from failed ones.
 */
const ENDS_WITHIN_MS = 15_000;
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

/**
 * The decision about a kept runner. Its Job must never be created again, as that of a runner at work: so Argo CD skips it once the live
 * object says what is printed.
 */
export function keptDecision({ name, job, live, keep }: Runner, group: RunnerDecision['group']): RunnerDecision {
  if (!keep) throw new Error(`runner ${name} is kept without a time`);
  const { isOver: _, ...until } = keep;
  const isPrinted = live?.pinned === true && live.failedAtMs === until.failedAtMs && live.keepUntilMs === until.untilMs;
  return {
    emit: true,
    runner: name,
    group,
    because: 'debugging',
    pinned: true,
    ...(isPrinted && { skip: true }),
    ...(job && { job }),
    keep: until,
  };
}

/**
 * True for a runner whose CI job is over, while its pod waits behind a pin that no sync prunes: its time is over, or it waits for nothing.
 * Pods of groups that keep none end by themselves.
 */
export function isOverdueToEnd({ live, job, keep, group }: Runner, nowMs: number): boolean {
  if (!live?.pinned || (live.state !== 'running' && live.state !== 'unknown')) return false;
  if (keep?.isOver || live.failedAtMs !== undefined) return true;
  return group.keepFailedMs !== undefined && nowMs - (job?.completedAtMs ?? nowMs) > ENDS_WITHIN_MS;
}
