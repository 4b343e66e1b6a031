/** How long a runner may take to come, and when a job whose runner failed gets the next one. */
import type { LiveJob } from './evidence.ts';

/** A runner that has not come after so many spawn timeouts is given up: its node will not come. An hour by default. */
const PENDING_TIMEOUTS = 12;
/** Starts vary: the next one may take longer than the slowest so far. */
const MARGIN = 1.5;

/**
 * How long a runner may take to come, ms, when the generator cannot see its pod: one spawn timeout for the first runner of a job, twice
 * as long for each further one, and longer than the slowest one of its group took. So pods that need longer than the timeout (a node
 * is added, an image is pulled) are served all the same.
 */
export function patienceMs(
  { missed, slowestMs }: { readonly missed: number; readonly slowestMs: number },
  spawnTimeoutMs: number,
): number {
  return Math.max(spawnTimeoutMs * 2 ** missed, Math.min(MARGIN * slowestMs, PENDING_TIMEOUTS * spawnTimeoutMs));
}

/** How many runners of a job have not come since `sinceMs`, each given its `patienceMs`. Never negative (clocks differ), at most 50. */
export function missedRunners(sinceMs: number, nowMs: number, spawnTimeoutMs: number): number {
  return Math.floor(Math.log2(1 + Math.max(0, nowMs - sinceMs) / spawnTimeoutMs));
}

/**
 * True while the runner of a Job may still register. A pod that is on its way is not exchanged for another one, which would be as slow.
 * One that is stuck, or whose container runs, has one spawn timeout.
 * @param sinceMs its time counts from here, if that is later than what the Job shows
 */
export function mayStillCome(
  live: LiveJob,
  now: { readonly nowMs: number; readonly spawnTimeoutMs: number; readonly sinceMs?: number },
): boolean {
  const { nowMs, spawnTimeoutMs, sinceMs = 0 } = now;
  const { createdAtMs, runningSinceMs = createdAtMs } = live;
  return nowMs - Math.max(runningSinceMs, sinceMs) < (isOnItsWay(live) ? PENDING_TIMEOUTS : 1) * spawnTimeoutMs;
}

function isOnItsWay({ state, stuck }: LiveJob): boolean {
  return state === 'starting' && stuck !== true;
}

/**
 * Wait after a runner has failed, ms: none after the first one, then 10 s doubled each time, at most the spawn timeout.
 * @param failed runners of the same job that have failed, at least 1
 */
export function backOffMs(failed: number, spawnTimeoutMs: number): number {
  return failed === 1 ? 0 : Math.min(10_000 * 2 ** (failed - 2), spawnTimeoutMs);
}
