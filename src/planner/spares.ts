/**
 * Runners that no ready job needs, because runners of other groups, or of somebody else, took their jobs. While CI goes on that such a
 * runner could have taken, the next job is near. To drop it and start another one a minute later helps nobody. So it is kept until it is
 * one spawn timeout old, if the cap has room (docs/adr/0022). And while the queue is too long to be read, every such runner is kept.
 */
import type { Allotment } from './allot.ts';
import type { Group, Job } from './evidence.ts';
import type { Facts } from './facts.ts';
import type { Given } from './give.ts';
import type { ListedJob } from './listed-jobs.ts';
import { OF_POOL } from './names.ts';
import type { Idle } from './pool.ts';
import { coversJob, freeRunners, type Runner } from './runners.ts';

const NONE: readonly Runner[] = [];
const NO_IDLE: readonly Idle[] = [];

/** The spare runners of each group whose jobs have all been given theirs, and whose pool has what it gets. */
export function keepSpares(
  { allotments, assignments }: Given,
  pools: ReadonlyMap<Group, readonly Idle[]>,
  { jobs, nowMs, unreadJobsOf }: Facts,
): ReadonlyMap<Group, readonly Runner[]> {
  // Most plans never ask.
  let atWork: ReadonlyMap<string, readonly Job[]> | undefined;
  const couldHaveWork = (runner: Runner): boolean => {
    atWork ??= jobsAtWork(jobs);
    return atWork.get(runner.group.look)?.some((job) => coversJob(runner, job)) === true;
  };
  const isYoung = ({ live, group }: Runner): boolean =>
    live !== undefined && nowMs - live.createdAtMs < group.spawnTimeoutMs;
  const sparesOf = ({ group, room, runners }: Allotment): readonly Runner[] => {
    const assigned = assignments.get(group) ?? [];
    const pool = pools.get(group) ?? NO_IDLE;
    const left = room - assigned.length - pool.length;
    if (left <= 0) return NONE;
    const free = freeRunners(runners, new Set([...assigned, ...pool].map(({ runner }) => runner)));
    // Its job may be among those that were not read.
    const mayBeAwaited = (runner: Runner): boolean =>
      unreadJobsOf(group) > 0 || (isYoung(runner) && couldHaveWork(runner));
    return free.filter((runner) => mayBeAwaited(runner) && isNotDrained(runner)).slice(0, left);
  };
  return new Map([...allotments].map(([group, allotment]) => [group, sparesOf(allotment)]));
}

/** A change of its group drains a pool at once. */
function isNotDrained({ madeFor, isCurrent }: Runner): boolean {
  return madeFor.jobId !== OF_POOL || isCurrent();
}

/** Jobs in progress, by the looks that list them. */
function jobsAtWork(jobs: readonly ListedJob[]): ReadonlyMap<string, readonly Job[]> {
  const byLook = new Map<string, Job[]>();
  for (const { job, looks } of jobs) {
    if (job.status !== 'in_progress') continue;
    for (const look of looks) {
      const known = byLook.get(look);
      if (known) known.push(job);
      else byLook.set(look, [job]);
    }
  }
  return byLook;
}
