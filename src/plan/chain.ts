/**
 * Whose runner does a ready job wait for? Its own, until that one takes another job: then it waits for the other job's runner, which
 * has no work now. Going from runner to the job it ran to the runners made for that job, in whatever groups they are, until one
 * is alive or, where Kubernetes shows nothing, may be starting.
 *
 * So runners and ready jobs stay paired while Gitea mixes them, and each pair keeps the group that it was planned for.
 * Two ready jobs never meet on their ways: a job has been run by one runner only, and nobody has run them.
 */
import { canServe, type GroupState } from './assign.ts';
import { ByGitea } from './by-gitea.ts';
import type { Job } from './evidence.ts';
import type { Runner } from './roster.ts';
import type { SeenJob, World } from './world.ts';

/** A runner, and the group that it is of. */
export interface Made<Ledger extends GroupState = GroupState> {
  readonly ledger: Ledger;
  readonly runner: Runner;
}

/** A ready job, and the runner that it waits for. */
export interface Candidate<Ledger extends GroupState = GroupState> {
  readonly seen: SeenJob;
  /** Living runners made for this job, of one group or several; when there are any, there is no chain. */
  readonly own: readonly Made<Ledger>[];
  /** The living runner at the end of the chain. */
  readonly living: Made<Ledger> | undefined;
  /** The job at the end of the chain, whose runner may be starting unseen. */
  readonly standIn: SeenJob | undefined;
}

const NONE: readonly never[] = [];

/** A function that follows the chain of a ready job. `ledgers` are all of them, `find` finds a job that any look lists. */
export function chainFollower<Ledger extends GroupState>(
  ledgers: readonly Ledger[],
  find: World['find'],
): (seen: SeenJob) => Candidate<Ledger> {
  const index = indexRunners(ledgers);
  const made = (origin: string, { id, attempt }: Job): readonly Made<Ledger>[] =>
    index.get(origin, id)?.filter(({ runner }) => runner.madeFor.attempt === attempt) ?? NONE;
  return (seen) => {
    const { origin } = seen;
    const all = made(origin, seen.job);
    const own = all.filter(({ ledger, runner }) => canServe(ledger, runner, seen));
    const waitsFor = { seen, own, living: undefined, standIn: undefined };
    if (all.length === 0 || own.length > 0) return waitsFor;
    const ways = all.flatMap(({ runner }) => runner.job ?? []);
    const visited = new Set([seen.job.id]);
    for (let job = ways.shift(); job; job = ways.shift()) {
      if (visited.has(job.id)) continue;
      visited.add(job.id);
      const next = made(origin, job);
      const living = next.find(({ ledger, runner }) => canServe(ledger, runner, seen));
      if (living) return { ...waitsFor, living };
      const standIn = find(origin, job.id);
      if (standIn && next.every(({ runner }) => runner.state === 'offline')) return { ...waitsFor, standIn };
      ways.push(...next.flatMap(({ runner }) => runner.job ?? []));
    }
    return waitsFor;
  };
}

/** All runners by the job that they were made for; of one group the registered ones first. */
function indexRunners<Ledger extends GroupState>(ledgers: readonly Ledger[]): ByGitea<readonly Made<Ledger>[]> {
  const index = new ByGitea<Made<Ledger>[]>();
  for (const ledger of ledgers) {
    const ofGitea = index.ofGitea(ledger.group.origin);
    for (const [jobId, runners] of ledger.roster.byJobId) {
      const made = runners.map((runner) => ({ ledger, runner }));
      const others = ofGitea.get(jobId);
      if (others) others.push(...made);
      else ofGitea.set(jobId, made);
    }
  }
  return index;
}
