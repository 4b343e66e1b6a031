/** Since when a job has been ready, for a planner without memory. */
import { addTo, ByGitea } from './by-gitea.ts';
import type { Job } from './evidence.ts';
import type { ListedJob } from './listed-jobs.ts';
import { needsFinder } from './needs.ts';
import type { Runners } from './runners.ts';

/**
 * Says since when a job has been ready, ms. Gitea does not tell: a job that `needs` others shows the creation of its run. So a job is ready
 * since the newest end in its run, if that is later. Two kinds of ends do not count:
 *
 * - of a job that it cannot have needed (`needs.ts`);
 * - after a runner that was made for it had begun a job: it was ready before.
 *
 * A rerun keeps the creation time of its first attempt. It was not ready before a runner made for the last attempt began a job.
 *
 * Gitea orders its queue by `updated`, which the API hides. This is near to it (docs/adr/0004).
 */
export function readySinceFinder(jobs: readonly ListedJob[], madeFor: Runners['madeFor']): (seen: ListedJob) => number {
  const endedIn = new ByGitea<Job[]>();
  for (const { job, origin } of jobs) {
    if (job.completedAtMs !== undefined) addTo(endedIn, origin, job.runId, job);
  }
  endedIn.forEach((ended) => {
    if (ended.length > 1) ended.sort((a, b) => endOf(b) - endOf(a));
  });
  const mayNeed = needsFinder(jobs);
  /** When a runner made for the last attempt last began a job, ms. 0 when nobody knows, or there is none. */
  const lastAttemptMs = ({ origin, job: { id, attempt } }: ListedJob): number => {
    if (attempt === 0) return 0;
    const made = madeFor(origin, { id, attempt: attempt - 1 });
    return made.reduce((lastMs, { job: ran }) => Math.max(lastMs, ran?.startedAtMs ?? 0), 0);
  };
  return (seen) => {
    const { origin, job } = seen;
    const createdAtMs = Math.max(job.createdAtMs, lastAttemptMs(seen));
    const ended = endedIn.get(origin, job.runId);
    const newest = ended?.[0];
    // No end in its run is later, whatever it needed.
    if (!newest || endOf(newest) <= createdAtMs) return createdAtMs;
    let askedMs = Number.POSITIVE_INFINITY;
    for (const { job: first } of madeFor(origin, job)) askedMs = Math.min(askedMs, first?.startedAtMs ?? askedMs);
    const needed = ended.find((other) => endOf(other) <= askedMs && mayNeed(seen, other));
    return Math.max(createdAtMs, needed ? endOf(needed) : 0);
  };
}

function endOf({ completedAtMs = 0 }: Job): number {
  return completedAtMs;
}
