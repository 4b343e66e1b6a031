/** What becomes of the Jobs of runners that stay for a look, or whose pods still wait when nobody is to look any more (`kept.ts`). */
import type { RunnerDecision } from './decisions.ts';
import type { Runner } from './runners.ts';

/**
 * A pod whose CI job is over ends within so long, unless it waits. Those of CI jobs that were cancelled wait, too: the runner does not tell
 * them from failed ones.
 */
const ENDS_WITHIN_MS = 15_000;

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
