/** In which order ready jobs are given slots. */
import type { Candidate } from './chain.ts';
import type { Group } from './evidence.ts';
import type { Ledger } from './ledger.ts';
import { firstWorking, type Owners, takeTurns } from './owners.ts';
import type { Asked } from './replay.ts';
import { byAge, type SeenJob } from './world.ts';

/**
 * The ready jobs: those for which a runner has been asked come first, then those that have been ready longest, then the oldest. A job
 * whose runner took another one stands in the place of that one: else it would take the slot of a job whose runner is starting.
 */
export function inQueueOrder(
  jobs: readonly SeenJob[],
  readySinceMs: (seen: SeenJob) => number,
  follow: (seen: SeenJob) => Candidate,
  askedFor: ReadonlyMap<SeenJob, Asked>,
): readonly Candidate[] {
  return jobs
    .filter(({ job }) => job.status === 'queued')
    .map((seen) => {
      const asked = askedFor.get(seen);
      const candidate = asked ? { ...follow(seen), asked } : follow(seen);
      const stands = asked ? seen : (candidate.standIn ?? seen);
      return { candidate, stands, place: asked ? 0 : 1, sinceMs: readySinceMs(stands) };
    })
    .sort((a, b) => a.place - b.place || a.sinceMs - b.sinceMs || byAge(a.stands, b.stands))
    .map(({ candidate }) => candidate);
}

/**
 * The same jobs, those of groups with fairness `per-repository` by turns: a job's turn is the number of runners of its first owner
 * that work for its repository, and of the repository's jobs there that have been ready longer. A claim changes no turn, so the
 * runners that are starting stay wanted; the end of a job brings the others of its repository one turn forward. Jobs of other
 * groups have the first turn.
 */
export function byTurns(
  order: readonly Candidate[],
  ledgers: ReadonlyMap<Group, Ledger>,
  ownersOf: (seen: SeenJob) => Owners,
): readonly Candidate[] {
  const turns = new Map<Ledger, Map<string, number>>();
  for (const ledger of ledgers.values()) {
    if (ledger.group.fairness === 'per-repository') turns.set(ledger, workByRepository(ledger));
  }
  if (turns.size === 0) return order;
  return order
    .map((candidate) => {
      const first = firstWorking(ownersOf(candidate.seen));
      const ledger = first && ledgers.get(first);
      const ofGroup = ledger && turns.get(ledger);
      if (!ofGroup) return { candidate, turn: 0 };
      const { repository } = candidate.seen.job;
      const turn = ofGroup.get(repository) ?? 0;
      ofGroup.set(repository, turn + 1);
      return { candidate, turn };
    })
    .sort((a, b) => a.turn - b.turn)
    .map(({ candidate }) => candidate);
}

/** Whose job gets the next slot: of each group with fairness `per-repository` the repository of the first job that it holds back. */
export function nextByGroup(
  groups: readonly Group[],
  order: readonly Candidate[],
  isDecided: (seen: SeenJob) => boolean,
  ownersOf: (seen: SeenJob) => Owners,
): ReadonlyMap<Group, string> {
  const next = new Map<Group, string>();
  if (!takeTurns(groups)) return next;
  for (const { seen } of order) {
    if (isDecided(seen)) continue;
    const group = firstWorking(ownersOf(seen));
    if (group?.fairness === 'per-repository' && !next.has(group)) next.set(group, seen.job.repository);
  }
  return next;
}

function workByRepository({ roster }: Ledger): Map<string, number> {
  const work = new Map<string, number>();
  for (const { state, job } of roster.runners) {
    if (state === 'busy' && job) work.set(job.repository, (work.get(job.repository) ?? 0) + 1);
  }
  return work;
}
