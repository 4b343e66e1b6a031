/**
 * Whose runner does a ready job wait for? Its own, until that one takes another job: then it waits for the other job's runner, which
 * has no work now. Going from runner to the job it ran to the runners made for that job, in whatever groups they are, until one
 * is alive, or to a job that never had one.
 *
 * So runners and ready jobs stay paired while Gitea mixes them, and each pair keeps the group that it was planned for.
 * Two ready jobs never meet on their ways: a job has been run by one runner only, and nobody has run them.
 */
import { canServe, type Times } from './assign.ts';
import type { Asked } from './replay.ts';
import type { Rosters, Runner } from './roster.ts';
import type { SeenJob, World } from './world.ts';

/** A ready job, and the runner that it waits for. */
export interface Candidate {
  readonly seen: SeenJob;
  /** Living runners made for this job, of one group or several; when there are any, there is no chain. */
  readonly own: readonly Runner[];
  /** The living runner at the end of the chain. */
  readonly living: Runner | undefined;
  /** The job at the end of the chain, for which no runner was made: its place in the queue is free. */
  readonly standIn: SeenJob | undefined;
  /** The runner that it was given in the past and that may be starting unseen. */
  readonly asked?: Asked | undefined;
}

/** A function that follows the chain of a ready job. `find` finds a job that any look lists. */
export function chainFollower({ madeFor }: Rosters, find: World['find'], times: Times): (seen: SeenJob) => Candidate {
  return (seen) => {
    const { origin } = seen;
    const all = madeFor(origin, seen.job);
    if (all.length === 0) return { seen, own: all, living: undefined, standIn: undefined };
    const own = all.filter((runner) => canServe(times, runner, seen));
    const candidate = { seen, own, living: undefined, standIn: undefined };
    if (own.length > 0) return candidate;
    const ways = all.flatMap(({ job }) => job ?? []);
    const visited = new Set([seen.job.id]);
    for (let job = ways.shift(); job; job = ways.shift()) {
      if (visited.has(job.id)) continue;
      visited.add(job.id);
      const next = madeFor(origin, job);
      const living = next.find((runner) => canServe(times, runner, seen));
      if (living) return { ...candidate, living };
      const standIn = find(origin, job.id);
      if (standIn && next.every(({ state }) => state === 'offline')) return { ...candidate, standIn };
      ways.push(...next.flatMap(({ job: ran }) => ran ?? []));
    }
    return candidate;
  };
}
