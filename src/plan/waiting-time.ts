/** Time, for a planner without memory: since when a job could have had its runner, and when a failed one may be tried again. */
import type { SeenJob } from './world.ts';

/** The ends of finished jobs, from which it is derived when a slot became free. */
export interface Ends {
  /** Ends of jobs that runners of one group ran, newest first, ms. */
  readonly ofGroup: readonly number[];
  /** Newest end of a job of each run, by `origin runId`, ms: a job that `needs` others cannot have been ready before. */
  readonly ofRun: ReadonlyMap<string, number>;
}

/**
 * Since when this job has been ready and within the cap, ms. Gitea does not say when a job became ready, and `created_at`
 * would let everyone who waited at the cap time out at once: so the later of its creation, the end that freed its slot and
 * the newest end in its run.
 * @param slotsLeft how many slots are free for this job and younger ones, ≥ 1
 */
export function withinCapSinceMs(seen: SeenJob, slotsLeft: number, ends: Ends): number {
  const slotFreed = ends.ofGroup[slotsLeft - 1] ?? 0;
  const runMoved = ends.ofRun.get(runKey(seen)) ?? 0;
  return Math.max(seen.job.createdAtMs, slotFreed, runMoved);
}

/** Key of `Ends.ofRun`. */
export function runKey({ job, origin }: SeenJob): string {
  return `${origin} ${job.runId}`;
}

/** How many whole spawn timeouts have passed: so many runners of this job have not come. Never negative (clocks differ). */
export function missedRunners(sinceMs: number, nowMs: number, spawnTimeoutMs: number): number {
  return Math.max(0, Math.floor((nowMs - sinceMs) / spawnTimeoutMs));
}

/** Wait after the runner with this ordinal failed, ms: none at first, then 10 s doubled each time, at most the spawn timeout. */
export function backOffMs(ordinal: number, spawnTimeoutMs: number): number {
  if (ordinal === 0) return 0;
  return Math.min(10_000 * 2 ** (ordinal - 1), spawnTimeoutMs);
}
