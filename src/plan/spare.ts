/**
 * Runners that are there and that no ready job needs, because runners of other groups, or of somebody else, took the jobs that they were
 * started for. While CI goes on that such a one could have taken, the next job is near: it is kept until it is one spawn timeout old, as
 * far as the cap has room. To drop it and start another one a minute later helps nobody (docs/adr/0022).
 */
import { freeRunners } from './assign.ts';
import type { Ledger } from './ledger.ts';
import type { Runner } from './roster.ts';
import type { SeenJob } from './world.ts';

const NONE: readonly Runner[] = [];

/** A function that tells which runners of a ledger, whose jobs have all been given theirs, are kept as spare ones. */
export function sparesFinder(jobs: readonly SeenJob[]): (ledger: Ledger) => readonly Runner[] {
  // Most plans have no runner to spare.
  let atWork: readonly SeenJob[] | undefined;
  return ({ group, roster, room, assignments, nowMs }) => {
    const left = room - assignments.length;
    if (left <= 0) return NONE;
    const isYoung = ({ live }: Runner): boolean =>
      live !== undefined && nowMs - live.createdAtMs < group.spawnTimeoutMs;
    const idle = freeRunners(roster, new Set(assignments.map(({ runner }) => runner))).filter(isYoung);
    if (idle.length === 0) return NONE;
    atWork ??= jobs.filter(({ job }) => job.status === 'in_progress');
    const goesOn = ({ labels = group.labels }: Runner): boolean =>
      atWork?.some(({ job, looks }) => looks.has(group.look) && job.labels.every((label) => labels.includes(label))) ===
      true;
    return idle.filter(goesOn).slice(0, left);
  };
}
