/** Time, for a planner without memory: since when a job has been ready, and when a failed runner may be tried again. */
import { ByGitea } from './by-gitea.ts';
import type { Job } from './evidence.ts';
import type { Rosters } from './roster.ts';
import type { SeenJob } from './world.ts';

/** What is known of one run. */
interface RunTimes {
  /** Jobs that have ended, newest end first. */
  readonly ended: Job[];
  /** Jobs that have begun. */
  readonly begun: Job[];
  /** What jobs of a base name may have waited for, by base name. Made when it is asked for. */
  needed: Map<string, Needed> | undefined;
}

interface Needed {
  /** When the first job of that base name began, ms. */
  readonly begunMs: number;
  /** The newest end before, ms; 0 when there is none. */
  readonly endMs: number;
}

/**
 * A function that says since when a job has been ready, ms. Gitea does not say: a job that `needs` others shows the creation of
 * its run. So it is the newest end in its run, if that is later; but not the end of a leg of its own matrix (`test (18)`,
 * `test (20)`), which it cannot have needed, no end after the begin of such a leg, which became ready with it, and none after a runner
 * that was made for it had begun a job. Gitea's own queue runs by `updated`, which the API hides; this is near to it, and ordering
 * by it keeps the runners that are starting (docs/adr/0004).
 */
export function readySinceFinder(jobs: readonly SeenJob[], madeFor: Rosters['madeFor']): (seen: SeenJob) => number {
  const runs = new ByGitea<RunTimes>();
  for (const { job, origin } of jobs) {
    if (job.startedAtMs === undefined && job.completedAtMs === undefined) continue;
    const ofGitea = runs.ofGitea(origin);
    const known = ofGitea.get(job.runId);
    const times = known ?? { ended: [], begun: [], needed: undefined };
    if (!known) ofGitea.set(job.runId, times);
    if (job.completedAtMs !== undefined) times.ended.push(job);
    if (job.startedAtMs !== undefined) times.begun.push(job);
  }
  runs.forEach(({ ended }) => {
    if (ended.length > 1) ended.sort((a, b) => endOf(b) - endOf(a));
  });
  return ({ job, origin }) => {
    const { createdAtMs, runId } = job;
    const times = runs.get(origin, runId);
    const newest = times?.ended[0];
    // No end in its run is later, whatever it needed.
    if (!times || !newest || endOf(newest) <= createdAtMs) return createdAtMs;
    const base = baseName(job);
    const { begunMs, endMs } = neededBy(times, base);
    let askedMs = begunMs;
    for (const { job: first } of madeFor(origin, job)) askedMs = Math.min(askedMs, first?.startedAtMs ?? begunMs);
    return Math.max(createdAtMs, endMs <= askedMs ? endMs : newestEnd(times, base, askedMs));
  };
}

function neededBy(times: RunTimes, base: string): Needed {
  times.needed ??= new Map<string, Needed>();
  const known = times.needed.get(base);
  if (known) return known;
  const begunMs = firstBegin(times.begun, base);
  const needed = { begunMs, endMs: newestEnd(times, base, begunMs) };
  times.needed.set(base, needed);
  return needed;
}

/** The newest end of a job with another base name that is not after that moment; 0 when there is none. */
function newestEnd({ ended }: RunTimes, base: string, atMs: number): number {
  const needed = ended.find((job) => endOf(job) <= atMs && baseName(job) !== base);
  return needed ? endOf(needed) : 0;
}

function endOf({ completedAtMs = 0 }: Job): number {
  return completedAtMs;
}

/** When the first leg of a matrix, or the job itself, began, ms. */
function firstBegin(begun: readonly Job[], base: string): number {
  let firstMs = Number.POSITIVE_INFINITY;
  for (const job of begun) {
    const { startedAtMs = firstMs } = job;
    if (startedAtMs < firstMs && baseName(job) === base) firstMs = startedAtMs;
  }
  return firstMs;
}

/** The name without matrix values, which Gitea appends as ` (a, b)` (`modules/actions/jobparser`). */
function baseName({ name }: Job): string {
  if (!name.endsWith(')')) return name;
  const cut = name.lastIndexOf(' (');
  return cut > 0 ? name.slice(0, cut) : name;
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
