/**
 * Whose runner does a ready job wait for? Its own, until that one takes another job: then it waits for the other job's runner, which
 * has no work now. Going from runner to the job it ran to the runners made for that job, in whatever groups they are, until one
 * is alive or, where Kubernetes shows nothing, may be starting.
 *
 * So runners and ready jobs stay paired while Gitea mixes them, and each pair keeps the group that it was planned for.
 * Two ready jobs never meet on their ways: a job has been run by one runner only, and nobody has run them.
 */
import { canServe, type GroupState } from './assign.ts';
import type { Job } from './evidence.ts';
import { stayText } from './names.ts';
import { byReadiness, type Runner } from './roster.ts';
import type { SeenJob } from './world.ts';

/** A ready job, and the runner that it waits for. */
export interface Candidate<Ledger extends GroupState = GroupState> {
  readonly seen: SeenJob;
  /** Groups that have a living runner made for this job; then there is no chain. */
  readonly keepers: readonly Ledger[];
  /** The living runner at the end of the chain, and its group. */
  readonly living?: { readonly ledger: Ledger; readonly runner: string };
  /** The job at the end of the chain, whose runner may be starting unseen. */
  readonly standIn?: SeenJob;
}

/** A function that follows the chain of a ready job. `ledgers` are all of them, `seenJob` finds a job that any look lists. */
export function chainFollower<Ledger extends GroupState>(
  ledgers: readonly Ledger[],
  seenJob: (origin: string, id: number) => SeenJob | undefined,
): (seen: SeenJob) => Candidate<Ledger> {
  const index = indexRunners(ledgers);
  const made = (origin: string, { id, attempt }: Job): readonly Made<Ledger>[] =>
    index.get(`${origin} ${stayText(id, attempt)}`) ?? [];
  return (seen) => {
    const { origin } = seen;
    const own = made(origin, seen.job);
    const keepers = own.flatMap(({ ledger, runner }) => (canServe(ledger, runner, seen) ? ledger : []));
    if (keepers.length > 0) return { seen, keepers };
    const ways = own.flatMap(({ runner }) => runner.job ?? []);
    const visited = new Set([seen.job.id]);
    for (let job = ways.shift(); job; job = ways.shift()) {
      if (visited.has(job.id)) continue;
      visited.add(job.id);
      const next = made(origin, job);
      const living = next.find(({ ledger, runner }) => canServe(ledger, runner, seen));
      if (living) return { seen, keepers, living: { ledger: living.ledger, runner: living.runner.name } };
      const standIn = seenJob(origin, job.id);
      if (standIn && next.every(({ runner }) => runner.state === 'offline')) return { seen, keepers, standIn };
      ways.push(...next.flatMap(({ runner }) => runner.job ?? []));
    }
    return { seen, keepers };
  };
}

interface Made<Ledger> {
  readonly ledger: Ledger;
  readonly runner: Runner;
}

/** All runners by the Gitea and the stay in the queue that they were made for; of one group the registered ones first. */
function indexRunners<Ledger extends GroupState>(
  ledgers: readonly Ledger[],
): ReadonlyMap<string, readonly Made<Ledger>[]> {
  const index = new Map<string, Made<Ledger>[]>();
  for (const ledger of ledgers) {
    for (const runner of [...ledger.roster.runners.values()].sort(byReadiness)) {
      const key = `${ledger.group.origin} ${stayText(runner.madeFor.jobId, runner.madeFor.attempt)}`;
      const known = index.get(key);
      if (known) known.push({ ledger, runner });
      else index.set(key, [{ ledger, runner }]);
    }
  }
  return index;
}
