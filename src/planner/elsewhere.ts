/**
 * Ready jobs for which another Application has a runner, because a group of that one covers them, too. No second one is started.
 *
 * What counts is the Job of that runner: alive, unpinned, of the Gitea of this CI job, and printed for its page. It counts for one spawn
 * timeout, and longer while its pod starts. In all a job waits for 12 spawn timeouts since it became ready, however many such Jobs come.
 * Then it gets a runner of ours, so nothing waits for ever. A runner of ours that is there already stays: what one Application leaves to the
 * other, the other may be leaving, too. Rows in Gitea's list do not count: the owner of a repository can register a runner of any name.
 */
import { type Evidence, type LiveJob, liveJobsOf } from './evidence.ts';
import type { Facts } from './facts.ts';
import { compareText, type ListedJob } from './join.ts';
import { PENDING_TIMEOUTS } from './judge.ts';

/** Names the runner of another Application for a job. `spawnTimeoutMs`: of the group that would serve it. */
export type ElsewhereFinder = (listed: ListedJob, spawnTimeoutMs: number) => string | undefined;

export function elsewhereFinder(evidence: Evidence, facts: Facts): ElsewhereFinder {
  const { application } = evidence;
  const { jobs, findRunner, readySinceMs, nowMs } = facts;
  // One of this Application is of a group that is gone, and goes.
  const isOfOther = (live: LiveJob): boolean =>
    findRunner(live.name) === undefined && (application === undefined || live.application !== application);
  const ofOthers = liveJobsOf(evidence).filter((live) => live.jobUrl && isOfOther(live));
  // As in most clusters. Then nobody needs to know which runners have jobs.
  if (ofOthers.length === 0) return () => undefined;
  const claimed = new Set(jobs.flatMap(({ job }) => job.runner ?? []));
  const printedFor = new Map<string, LiveJob>();
  for (const live of ofOthers) {
    if (!mayBeFree(live, claimed)) continue;
    const key = keyOf(live.giteaUrl, live.jobUrl);
    const other = printedFor.get(key);
    if (!other || youngestFirst(live, other) < 0) printedFor.set(key, live);
  }
  return (listed, spawnTimeoutMs) => {
    const live = printedFor.get(keyOf(listed.origin, listed.job.url));
    const sinceMs = readySinceMs(listed);
    if (!live || nowMs - sinceMs >= PENDING_TIMEOUTS * spawnTimeoutMs) return undefined;
    const { state, trouble, createdAtMs, runningSinceMs = createdAtMs, name } = live;
    // One that is stuck, or whose container runs, has one spawn timeout.
    const timeouts = state === 'starting' && trouble === undefined ? PENDING_TIMEOUTS : 1;
    return nowMs - Math.max(runningSinceMs, sinceMs) < timeouts * spawnTimeoutMs ? name : undefined;
  };
}

/** A Gitea may name any page. What its Job was printed for counts on that Gitea only. */
function keyOf(giteaUrl: string | undefined, jobUrl: string | undefined): string {
  return `${giteaUrl} ${jobUrl}`;
}

/** Nothing says that it works or has ended. */
function mayBeFree({ name, state, pinned }: LiveJob, claimed: ReadonlySet<string>): boolean {
  return (state === 'starting' || state === 'running' || state === 'unknown') && !pinned && !claimed.has(name);
}

function youngestFirst(a: LiveJob, b: LiveJob): number {
  return b.createdAtMs - a.createdAtMs || compareText(a.name, b.name) || compareText(a.namespace, b.namespace);
}
