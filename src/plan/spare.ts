/**
 * Runners that are there and that no ready job needs, because runners of other groups, or of somebody else, took the jobs that they were
 * started for. While CI goes on that such a one could have taken, the next job is near: it is kept until it is one spawn timeout old, as
 * far as the cap has room. To drop it and start another one a minute later helps nobody (docs/adr/0022).
 */
import { freeRunners } from './assign.ts';
import type { Job } from './evidence.ts';
import type { Ledger } from './ledger.ts';
import type { Runner } from './roster.ts';
import type { SeenJob } from './world.ts';

const NONE: readonly Runner[] = [];

/** A function that tells which runners of a ledger, whose jobs have all been given theirs, are kept as spare ones. */
export function sparesFinder(jobs: readonly SeenJob[]): (ledger: Ledger) => readonly Runner[] {
  // Most plans never ask.
  let atWork: ReadonlyMap<string, readonly Job[]> | undefined;
  const goesOn = ({ group, labels = group.labels }: Runner): boolean => {
    atWork ??= jobsAtWork(jobs);
    return atWork.get(group.look)?.some((job) => job.labels.every((label) => labels.includes(label))) === true;
  };
  return ({ group, roster, room, assignments, nowMs }) => {
    const left = room - assignments.length;
    if (left <= 0) return NONE;
    const taken = new Set(assignments.map(({ runner }) => runner));
    const isYoung = ({ live }: Runner): boolean =>
      live !== undefined && nowMs - live.createdAtMs < group.spawnTimeoutMs;
    return freeRunners(roster, taken)
      .filter((runner) => isYoung(runner) && goesOn(runner))
      .slice(0, left);
  };
}

/** Jobs in progress, by the looks that list them. */
function jobsAtWork(jobs: readonly SeenJob[]): ReadonlyMap<string, readonly Job[]> {
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
