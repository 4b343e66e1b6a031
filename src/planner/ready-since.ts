/** Calculates since when a job has been ready. The planner remembers nothing. */
import { addTo, ByGitea, memo } from './collections.ts';
import type { Job, ListedJob } from './evidence.ts';
import type { Runners } from './runners.ts';

/**
 * Says since when a job has been ready, ms. Gitea does not tell: a job that `needs` others shows the creation of its run. So a job is ready
 * since the newest end in its run, if that is later. Two kinds of ends do not count:
 *
 * - of a job that it cannot have needed;
 * - after a runner that was made for it had begun a job: it was ready before.
 *
 * A rerun keeps the creation time of its first attempt. It was not ready before a runner made for the last attempt began a job.
 *
 * Gitea orders its queue by `updated`, which the API hides. This is near to it (docs/adr/0004).
 */
export function readySinceFinder(
  jobs: readonly ListedJob[],
  madeFor: Runners['madeFor'],
  mayNeed: (listed: ListedJob, other: Job) => boolean = mayFollow,
): (listed: ListedJob) => number {
  const endedIn = new ByGitea<Job[]>();
  for (const { job, origin } of jobs) {
    if (job.completedAtMs !== undefined) addTo(endedIn.ofGitea(origin), job.runId, job);
  }
  for (const ended of endedIn.values()) ended.sort((a, b) => endOf(b) - endOf(a));
  /** Returns when runners that were made for this stay began a job, ms. */
  const beginsOf = (origin: string, id: number, attempt: number): readonly number[] =>
    madeFor(origin, { id, attempt }).flatMap(({ job }) => job?.startedAtMs ?? []);
  return memo((listed) => {
    const { origin, job } = listed;
    const createdAtMs = Math.max(job.createdAtMs, ...beginsOf(origin, job.id, job.attempt - 1));
    const endedJobs = endedIn.get(origin, job.runId);
    const newest = endedJobs?.[0];
    // No end in the run is later, whatever job it needed.
    if (!newest || endOf(newest) <= createdAtMs) return createdAtMs;
    const askedMs = Math.min(...beginsOf(origin, job.id, job.attempt));
    const needed = endedJobs.find((other) => endOf(other) <= askedMs && mayNeed(listed, other));
    return Math.max(createdAtMs, needed ? endOf(needed) : 0);
  });
}

/** A workflow file names a job before those that need it, and Gitea numbers jobs in that order. Legs of one matrix do not need each other. */
export function mayFollow({ job }: ListedJob, earlier: Job): boolean {
  return earlier.id < job.id && baseName(earlier) !== baseName(job);
}

/** The name without matrix values, which Gitea appends as ` (a, b)` (`modules/actions/jobparser`). */
export function baseName({ name }: Pick<Job, 'name'>): string {
  const cut = name.endsWith(')') ? name.lastIndexOf(' (') : -1;
  return cut > 0 ? name.slice(0, cut) : name;
}

function endOf({ completedAtMs = 0 }: Job): number {
  return completedAtMs;
}
