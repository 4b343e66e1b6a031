/** The ready jobs, in the order in which they are given slots. */
import type { Group } from './evidence.ts';
import type { Facts } from './facts.ts';
import type { ListedJob } from './listed-jobs.ts';
import { firstWorking, takeTurns } from './owners.ts';
import { type ReadyJob, toReadyJob } from './ready-job.ts';
import type { PastRequest } from './replay/replay.ts';

/**
 * Jobs for which a runner has been asked come first, then those that have been ready longest, then the oldest. In groups with fairness
 * `per-repository` the repositories take turns.
 */
export function queueReadyJobs(facts: Facts, askedFor: ReadonlyMap<ListedJob, PastRequest>): readonly ReadyJob[] {
  const inOrder = facts.jobs
    .filter(({ job }) => job.status === 'queued')
    .map((listed) => ({ ready: toReadyJob(listed, askedFor.get(listed), facts), sinceMs: facts.readySinceMs(listed) }))
    // `facts.jobs` come oldest first, and those that are equal here stay so.
    .sort((a, b) => askedFirst(a.ready, b.ready) || a.sinceMs - b.sinceMs)
    .map(({ ready }) => ready);
  return takeTurns(facts.groups) ? byTurns(inOrder, facts) : inOrder;
}

function askedFirst(a: ReadyJob, b: ReadyJob): number {
  return Number(b.asked !== undefined) - Number(a.asked !== undefined);
}

/**
 * A job's turn is the number of runners of its first owner that work for its repository, and of the repository's jobs there that come
 * before it. Jobs of groups with fairness `oldest` have the first turn.
 *
 * A claim changes no turn, so the runners that are starting stay wanted. The end of a job brings the others of its repository one turn
 * forward.
 */
function byTurns(inOrder: readonly ReadyJob[], { ownersOf, byGroup }: Facts): readonly ReadyJob[] {
  const turns = new Map<Group, Map<string, number>>();
  for (const { group, runners } of byGroup.values()) {
    if (group.fairness !== 'per-repository') continue;
    const atWork = new Map<string, number>();
    for (const { state, job } of runners) {
      if (state === 'busy' && job) atWork.set(job.repository, (atWork.get(job.repository) ?? 0) + 1);
    }
    turns.set(group, atWork);
  }
  return inOrder
    .map((ready) => {
      const first = firstWorking(ownersOf(ready.listed));
      const ofGroup = first && turns.get(first);
      if (!ofGroup) return { ready, turn: 0 };
      const { repository } = ready.listed.job;
      const turn = ofGroup.get(repository) ?? 0;
      ofGroup.set(repository, turn + 1);
      return { ready, turn };
    })
    .sort((a, b) => a.turn - b.turn)
    .map(({ ready }) => ready);
}

/** Of each group with fairness `per-repository` the repository of the first job that it holds back: that one gets the next slot. */
export function nextRepositories(
  heldBack: readonly ReadyJob[],
  { groups, ownersOf }: Facts,
): ReadonlyMap<Group, string> {
  const next = new Map<Group, string>();
  if (!takeTurns(groups)) return next;
  for (const { listed } of heldBack) {
    const group = firstWorking(ownersOf(listed));
    if (group?.fairness === 'per-repository' && !next.has(group)) next.set(group, listed.job.repository);
  }
  return next;
}
