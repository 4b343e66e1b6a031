/** 3 QUEUE: the ready jobs, in the order in which they are given slots, and who may serve them. */
import { addTo, count, memo, sortedBy } from './collections.ts';
import type { Group, ListedJob } from './evidence.ts';
import type { Facts, PastRequest } from './facts.ts';
import { weightOf } from './limits.ts';
import { firstWorking, repositoryFinder, takeTurns } from './owners.ts';
import { nameBefore } from './repositories.ts';
import { coversJob, patienceMs, type Runner } from './runners.ts';

/** The times from which waiting times are calculated. */
type Clocks = Pick<Facts, 'nowMs' | 'readySinceMs'>;

export interface ReadyJob {
  readonly listed: ListedJob;
  /** The runner that was requested earlier. Only if Kubernetes is not seen. */
  readonly request: PastRequest | undefined;
  /** Living runners that were made for this job, the best first. */
  readonly ownRunners: readonly Runner[];
}

function toReadyJob(listed: ListedJob, facts: Facts): ReadyJob {
  const ownRunners = facts.madeFor(listed.origin, listed.job);
  const ready = { listed, request: facts.past?.requests.get(listed), ownRunners };
  return { ...ready, ownRunners: ownRunners.filter((runner) => canServe(runner, ready, facts)) };
}

/** True when this runner can be expected to take the job, now or when it has started. */
export function canServe(runner: Runner, ready: ReadyJob, facts: Clocks): boolean {
  return runner.state === 'free' && coversJob(runner, ready.listed.job) && !isAsleep(runner, ready, facts);
}

/** A registered runner without a seen Job counts as asleep if it missed its job for this many times its patience. */
const ASLEEP_AFTER_MISSED = 2;

/**
 * True when a registered runner does not take a job that it could have taken long ago. Up to Gitea 1.26 a runner that loses the race for a
 * job sleeps until another job becomes ready (go-gitea/gitea#38200). A new runner asks at once.
 */
function isAsleep({ registered, live, group }: Runner, { listed, request }: ReadyJob, { readySinceMs, nowMs }: Clocks) {
  if (!live) return (request?.missed ?? 0) >= ASLEEP_AFTER_MISSED;
  // A runner of a pool has registered when its container runs, whether or not Gitea shows its row online.
  const { createdAtMs, runningSinceMs = nowMs } = live;
  const bothSinceMs = Math.max(registered ? createdAtMs : runningSinceMs, readySinceMs(listed));
  return nowMs - bothSinceMs >= patienceMs(live, group.spawnTimeoutMs);
}

/**
 * True when Gitea may give the job to nobody, while others need its slots: a runner that was made for it sleeps or, of a heavy job, has
 * begun a younger one in the last half hour. Gitea gives a runner the oldest job, but some to none: one that calls a workflow, or whose
 * repository has no Actions any more. The runners of a heavy one would take many slots for light jobs.
 */
export function isStalled({ listed, ownRunners }: ReadyJob, groups: ReadonlySet<Group>, facts: Facts): boolean {
  const { madeFor, ownersOf, readySinceMs, nowMs } = facts;
  const isHeavy = weightOf(firstWorking(ownersOf(listed)) ?? {}) > 1;
  return madeFor(listed.origin, listed.job).some((runner) => {
    const { state, job, group } = runner;
    if (!groups.has(group)) return false;
    if (state === 'free' && !ownRunners.includes(runner)) return true;
    if (!isHeavy || job?.startedAtMs === undefined) return false;
    return nowMs - job.startedAtMs < PASSED_MS && job.createdAtMs > readySinceMs(listed);
  });
}

/** Jobs for which a runner was asked come first, then those ready longest, then the oldest. With `per-repository`, repositories take turns. */
export function queueReadyJobs(facts: Facts): readonly ReadyJob[] {
  const queued = facts.jobs.filter(({ job }) => job.status === 'queued').map((listed) => toReadyJob(listed, facts));
  // `facts.jobs` come oldest first, and those that are equal here stay so.
  const longestFirst = sortedBy(queued, ({ listed }) => facts.readySinceMs(listed));
  const inOrder = sortedBy(longestFirst, ({ request }) => (request ? 0 : 1));
  return byRank(takeTurns(facts.groups) ? byTurns(inOrder, facts) : inOrder, facts);
}

/** A job that waits longer than this comes first: 30 minutes, in ms. */
const PASSED_MS = 1_800_000;

/** True for a job that comes first, whatever the order of repositories. First at one limit, it keeps its other slots. */
export function hasWaitedLong(listed: ListedJob, { nowMs, readySinceMs }: Clocks): boolean {
  return nowMs - readySinceMs(listed) >= PASSED_MS;
}

/** The first pattern of `order` that fits a job's repository is its rank. Only jobs of one group change their order: no other group waits. */
function byRank(inOrder: readonly ReadyJob[], facts: Facts): readonly ReadyJob[] {
  const { groups, ownersOf, renamedTo } = facts;
  // Most plans have no group with an order of repositories.
  if (groups.every(({ order }) => order === undefined)) return inOrder;
  const groupOf = ({ listed }: ReadyJob): Group | undefined => firstWorking(ownersOf(listed));
  const rankIn = memo((group: Group) => {
    const { order = [] } = group;
    const find = repositoryFinder([...order.entries()], ([, pattern]) => [pattern]);
    return memo((repository: string) => {
      const name = repository.toLowerCase();
      const names = [name, nameBefore(name, group, renamedTo(group)) ?? []].flat();
      return Math.min(order.length, ...names.flatMap(find).map(([nth]) => nth));
    });
  });
  const rankOf = (ready: ReadyJob): number => {
    const group = groupOf(ready);
    if (!group?.order) return 0;
    return hasWaitedLong(ready.listed, facts) ? -1 : rankIn(group)(ready.listed.job.repository);
  };
  const byGroup = new Map<Group | undefined, ReadyJob[]>();
  for (const ready of inOrder) addTo(byGroup, groupOf(ready), ready);
  const queues = new Map([...byGroup].map(([group, all]) => [group, sortedBy(all, rankOf).values()]));
  return inOrder.map((ready) => queues.get(groupOf(ready))?.next().value ?? ready);
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
      if (state === 'busy' && job) count(atWork, job.repository, 1);
    }
    turns.set(group, atWork);
  }
  return sortedBy(inOrder, ({ listed }) => {
    const first = firstWorking(ownersOf(listed));
    const ofGroup = first && turns.get(first);
    if (!ofGroup) return 0;
    const { repository } = listed.job;
    const turn = ofGroup.get(repository) ?? 0;
    ofGroup.set(repository, turn + 1);
    return turn;
  });
}
