/** How long a runner may take to register, and when a job whose runner failed gets the next one. */
import type { Group, LiveJob } from './evidence.ts';

/** A pod that is on its way has so many spawn timeouts (an hour by default). Then its node will not come. */
export const PENDING_TIMEOUTS = 12;
/** Starts vary: the next one may take longer than the slowest so far. */
const MARGIN = 1.5;

/** What is known of a runner whose pod is not seen. */
interface Start {
  /** Runners of its job that have not come. */
  readonly missed: number;
  /** Runners of its group that have not come, and that none asked for later has overtaken. */
  readonly groupMissed: number;
  /** The longest time that a runner of its group took to come, ms. */
  readonly slowestMs: number;
}

/**
 * How long a runner may take when the generator cannot see its pod, ms. The first runner of a job has one spawn timeout, each further one
 * twice as long. So slow starts are served, too (a node is added, an image is pulled).
 *
 * Its group may show that starts are slow: by the slowest runner that came, or by runners that have not come. Then it has longer, as long
 * as a pod on its way at most.
 */
export function patienceMs({ missed, groupMissed, slowestMs }: Start, spawnTimeoutMs: number): number {
  const ofGroupMs = Math.max(MARGIN * slowestMs, spawnTimeoutMs * 2 ** groupMissed);
  return Math.max(spawnTimeoutMs * 2 ** missed, Math.min(ofGroupMs, PENDING_TIMEOUTS * spawnTimeoutMs));
}

/** How many runners of a job have not come since `sinceMs`, if each had its `patienceMs`. Never negative (clocks differ), at most 50. */
export function missedRunners(sinceMs: number, nowMs: number, spawnTimeoutMs: number): number {
  return Math.floor(Math.log2(1 + Math.max(0, nowMs - sinceMs) / spawnTimeoutMs));
}

/**
 * True while the runner of a Job is waited for. A pod that has not started is not exchanged for another one, which would be as slow or as
 * stuck. One whose container runs has one spawn timeout.
 */
export function isWaitedFor(
  { state, createdAtMs, runningSinceMs = createdAtMs }: LiveJob,
  { spawnTimeoutMs, pendingDeadlineMs }: Group,
  nowMs: number,
): boolean {
  const pendingMs = Math.max(PENDING_TIMEOUTS * spawnTimeoutMs, pendingDeadlineMs);
  return nowMs - runningSinceMs < (state === 'starting' ? pendingMs : spawnTimeoutMs);
}

/**
 * True while a runner of another Application may come for a job. One that is stuck, or whose container runs, has one spawn timeout.
 * @param sinceMs its time counts from here, if that is later than what the Job shows
 */
export function mayStillCome(
  live: LiveJob,
  now: { readonly nowMs: number; readonly spawnTimeoutMs: number; readonly sinceMs: number },
): boolean {
  const { nowMs, spawnTimeoutMs, sinceMs } = now;
  const { createdAtMs, runningSinceMs = createdAtMs } = live;
  return nowMs - Math.max(runningSinceMs, sinceMs) < (isOnItsWay(live) ? PENDING_TIMEOUTS : 1) * spawnTimeoutMs;
}

function isOnItsWay({ state, trouble }: LiveJob): boolean {
  return state === 'starting' && trouble === undefined;
}

/**
 * How long a job waits after its runner failed, ms: 0 after the first one, then 10 s, doubled each time, at most the spawn timeout.
 * @param failed runners of the same job that have failed, at least 1
 */
export function backOffMs(failed: number, spawnTimeoutMs: number): number {
  return failed === 1 ? 0 : Math.min(10_000 * 2 ** (failed - 2), spawnTimeoutMs);
}
