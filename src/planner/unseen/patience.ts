/** How long a runner whose pod is not seen may take to register. */
import { PENDING_TIMEOUTS } from '../judge.ts';

/** Starts vary: the next one may take longer than the slowest so far. */
const MARGIN = 1.5;

/** Starts of a job and its group, where the pod is not seen. */
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

/** Returns how many runners of a job have not come since `sinceMs`, if each had its `patienceMs`: 0 to 50. */
export function missedRunners(sinceMs: number, nowMs: number, spawnTimeoutMs: number): number {
  return Math.floor(Math.log2(1 + Math.max(0, nowMs - sinceMs) / spawnTimeoutMs));
}
