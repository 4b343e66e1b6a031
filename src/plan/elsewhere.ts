/**
 * Ready jobs for which a runner of another Application is there, because a group of that one covers them, too: no second one is started.
 *
 * It is the Job that counts: alive, unpinned, and printed for this CI job. It counts for one spawn timeout, then the job gets a runner of
 * ours: nothing waits for ever. It never drops a runner of ours, so two that were started in the same second both stay until the job
 * is taken: what one Application leaves, the other may be leaving, too. Rows in Gitea's list do not count, because whoever owns a
 * repository can register a runner of any name.
 */
import type { Evidence, LiveJob } from './evidence.ts';
import { mayStillCome } from './patience.ts';
import { compareText, type SeenJob } from './world.ts';

/** A function that names the runner of somebody else that is there for a job. `spawnTimeoutMs`: of the group that would serve it. */
export type ElsewhereFinder = (seen: SeenJob, spawnTimeoutMs: number) => string | undefined;

/**
 * @param jobs all jobs of all looks
 * @param isOurs says whether a runner is of one of the planned groups
 */
export function elsewhereFinder(
  jobs: readonly SeenJob[],
  isOurs: (runner: string) => boolean,
  readySinceMs: (seen: SeenJob) => number,
  { liveJobs, nowMs }: Evidence,
): ElsewhereFinder {
  const ofOthers = liveJobs.filter(({ name, jobUrl }) => jobUrl && !isOurs(name));
  // As in most clusters: then nobody needs to know which runners have jobs.
  if (ofOthers.length === 0) return () => undefined;
  const claimed = new Set(jobs.flatMap(({ job }) => job.runner ?? []));
  const printedFor = new Map<string | undefined, LiveJob>();
  for (const live of ofOthers) {
    if (!mayBeFree(live, claimed)) continue;
    const other = printedFor.get(live.jobUrl);
    if (!other || youngestFirst(live, other) < 0) printedFor.set(live.jobUrl, live);
  }
  return (seen, spawnTimeoutMs) => {
    const live = printedFor.get(seen.job.url);
    return live && mayStillCome(live, { nowMs, spawnTimeoutMs, sinceMs: readySinceMs(seen) }) ? live.name : undefined;
  };
}

/** Nothing says that it works or has ended. */
function mayBeFree({ name, state, pinned }: LiveJob, claimed: ReadonlySet<string>): boolean {
  return (state === 'starting' || state === 'running' || state === 'unknown') && !pinned && !claimed.has(name);
}

function youngestFirst(a: LiveJob, b: LiveJob): number {
  return b.createdAtMs - a.createdAtMs || compareText(a.name, b.name) || compareText(a.namespace, b.namespace);
}
