/** Since when a job has been ready, for a planner without memory. */
import { ByGitea } from './by-gitea.ts';
import type { Job } from './evidence.ts';
import type { ListedJob } from './listed-jobs.ts';
import { needsFinder } from './needs.ts';
import type { Runners } from './runners.ts';

/**
 * A function that says since when a job has been ready, ms. Gitea does not say: a job that `needs` others shows the creation of
 * its run. So it is the newest end in its run, if that is later; but no end of a job that it cannot have needed (`needs.ts`), and none
 * after a runner that was made for it had begun a job. Gitea's own queue runs by `updated`, which the API hides; this is near to it, and
 * ordering by it keeps the runners that are starting (docs/adr/0004).
 */
export function readySinceFinder(jobs: readonly ListedJob[], madeFor: Runners['madeFor']): (seen: ListedJob) => number {
  const endedIn = new ByGitea<Job[]>();
  for (const { job, origin } of jobs) {
    if (job.completedAtMs === undefined) continue;
    const ofGitea = endedIn.ofGitea(origin);
    const ended = ofGitea.get(job.runId);
    if (ended) ended.push(job);
    else ofGitea.set(job.runId, [job]);
  }
  endedIn.forEach((ended) => {
    if (ended.length > 1) ended.sort((a, b) => endOf(b) - endOf(a));
  });
  const mayNeed = needsFinder(jobs);
  return (seen) => {
    const { origin, job } = seen;
    const { createdAtMs } = job;
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
