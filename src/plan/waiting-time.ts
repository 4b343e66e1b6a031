/** Time, for a planner without memory: since when a job has been ready, and when a failed runner may be tried again. */
import { ByGitea } from './by-gitea.ts';
import type { SeenJob } from './world.ts';

/** What is known of one run: ends of its jobs, newest first, and when the first job of each base name began, ms. */
interface RunTimes {
  readonly ends: { readonly base: string; readonly endMs: number }[];
  readonly beginMs: Map<string, number>;
}

/**
 * A function that says since when a job has been ready, ms. Gitea does not say: a job that `needs` others shows the creation of
 * its run. So it is the newest end in its run, if that is later; but not the end of a leg of its own matrix (`test (18)`,
 * `test (20)`), which it cannot have needed, and no end after the begin of such a leg, which became ready with it. Gitea's own queue
 * runs by `updated`, which the API hides; this is near to it, and ordering by it keeps the runners that are starting (docs/adr/0004).
 */
export function readySinceFinder(jobs: readonly SeenJob[]): (seen: SeenJob) => number {
  const runs = new ByGitea<RunTimes>();
  for (const seen of jobs) {
    const { runId, startedAtMs: beginMs, completedAtMs: endMs } = seen.job;
    if (beginMs === undefined && endMs === undefined) continue;
    const known = runs.get(seen.origin, runId);
    const times = known ?? { ends: [], beginMs: new Map<string, number>() };
    if (!known) runs.set(seen.origin, runId, times);
    const base = baseName(seen);
    if (endMs !== undefined) times.ends.push({ base, endMs });
    if (beginMs !== undefined) times.beginMs.set(base, Math.min(beginMs, times.beginMs.get(base) ?? beginMs));
  }
  runs.forEach(({ ends }) => {
    ends.sort((a, b) => b.endMs - a.endMs);
  });
  return (seen) => {
    const { createdAtMs, runId } = seen.job;
    const times = runs.get(seen.origin, runId);
    // No end in its run is later, whatever it needed.
    const newest = times?.ends[0];
    if (!times || !newest || newest.endMs <= createdAtMs) return createdAtMs;
    const base = baseName(seen);
    const begunMs = times.beginMs.get(base) ?? Number.POSITIVE_INFINITY;
    const needed = times.ends.find((end) => end.base !== base && end.endMs <= begunMs);
    return Math.max(createdAtMs, needed?.endMs ?? 0);
  };
}

/** The name without matrix values, which Gitea appends as ` (a, b)` (`modules/actions/jobparser`). */
function baseName({ job }: SeenJob): string {
  if (!job.name.endsWith(')')) return job.name;
  const cut = job.name.lastIndexOf(' (');
  return cut > 0 ? job.name.slice(0, cut) : job.name;
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
