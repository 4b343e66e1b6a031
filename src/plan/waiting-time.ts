/** Time, for a planner without memory: since when a job has been ready, and when a failed runner may be tried again. */
import type { SeenJob } from './world.ts';

/** Newest end of a job of one run, and the newest one of a job with another base name, ms. */
interface RunEnds {
  readonly base: string;
  readonly endMs: number;
  readonly otherEndMs: number;
}

/**
 * A function that says since when a job has been ready, ms. Gitea does not say: a job that `needs` others shows the creation of
 * its run. So it is the newest end in its run, if that is later; but not the end of a leg of its own matrix (`test (18)`,
 * `test (20)`), which it cannot have needed. Gitea's own queue runs by `updated`, which the API hides; this is near to it,
 * and ordering by it keeps the runners that are starting (docs/adr/0004).
 */
export function readySinceFinder(jobs: readonly SeenJob[]): (seen: SeenJob) => number {
  const runs = new Map<string, RunEnds>();
  for (const seen of jobs) {
    const { completedAtMs: endMs } = seen.job;
    if (endMs === undefined) continue;
    const base = baseName(seen);
    const known = runs.get(runKey(seen));
    if (!known || endMs >= known.endMs) {
      const otherEndMs = known?.base === base ? known.otherEndMs : (known?.endMs ?? 0);
      runs.set(runKey(seen), { base, endMs, otherEndMs });
    } else if (base !== known.base && endMs > known.otherEndMs) {
      runs.set(runKey(seen), { ...known, otherEndMs: endMs });
    }
  }
  return (seen) => {
    const ends = runs.get(runKey(seen));
    if (!ends) return seen.job.createdAtMs;
    return Math.max(seen.job.createdAtMs, ends.base === baseName(seen) ? ends.otherEndMs : ends.endMs);
  };
}

function runKey({ job, origin }: SeenJob): string {
  return `${origin} ${job.runId}`;
}

/** The name without matrix values, which Gitea appends as ` (a, b)` (`modules/actions/jobparser`). */
function baseName({ job }: SeenJob): string {
  const cut = job.name.lastIndexOf(' (');
  return cut > 0 && job.name.endsWith(')') ? job.name.slice(0, cut) : job.name;
}

/**
 * Since when a job has been within the cap, ms: when it became ready or, if that is later, when a slot was freed for it.
 * @param slotsLeft how many slots are free for this job and those behind it, ≥ 1
 * @param endsOfGroup ends of jobs that runners of the group ran, newest first, ms
 */
export function withinCapSinceMs(readySinceMs: number, slotsLeft: number, endsOfGroup: readonly number[]): number {
  return Math.max(readySinceMs, endsOfGroup[slotsLeft - 1] ?? 0);
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
