/**
 * 4 ALLOT: which jobs get a runner? A runner takes `weight` slots under each limit of its group, and the cap is one of the limits
 * (limits.ts). The jobs are sorted once by one key (`rankOf`), and gone through once (`allotInOrder`).
 *
 * THE KEY. The queue is sorted already (queue.ts). Of these ranks the lowest comes first:
 *
 *     0 living ..... a living runner can serve it, and its group shares slots with another one
 *     1 others
 *     2 stalled .... it takes none of the runners that it is given, and its group shares slots (`isStalled`)
 *     3 in the way . the pods of all its runners cannot start, and other jobs wait for their slots (docs/adr/0034)
 *
 * THE PASS. A job that finds too few slots under a limit waits there, and what is left of that limit is kept for it. It stops nobody who
 * does not need that limit. It takes a group that has a living runner for it, or else the first one with a free slot (law P7).
 *
 * EXAMPLE. Runners of `ci` take one slot and those of its size `large` two, under one cap of 4. One runner works, so 3 slots are left. The
 * oldest job is A of `large`, then come B, C and D of `ci`. The pod of C starts.
 *
 *     sorted: C, A, B, D     A comes after C: to drop the pod of C and to start two for A and B would help nobody
 *     C takes 1, 2 are left
 *     A takes 2, 0 are left
 *     B and D wait at the cap
 *
 * Were two runners at work, 1 slot would be left after C. A would wait at the cap, and the slot would be kept for it. So B and D would wait,
 * too: if they passed, A would never find two free slots. Were C's pod stuck for 15 minutes, C would come last, after B and D. It would find
 * none. So its pod goes, and its slot serves B. If nobody else waited, C would keep its pod: a twin would be as stuck.
 *
 * Two cases need more:
 *
 *   - Gitea knows no limit per repository or branch. Where more jobs wait than such a limit has slots for, all free runners of the group
 *     must fit under it, because Gitea may give any of these jobs to any of them (free-limits.ts).
 *   - Two limits may never have free slots at the same moment. So the first one in line at a limit that has waited long keeps its slots
 *     elsewhere.
 */
import { type BackOff, backOffOf, groupBackOff } from './back-off.ts';
import { addTo, memo, sortedBy } from './collections.ts';
import type { Group, Job } from './evidence.ts';
import type { Facts } from './facts.ts';
import { limitsOfFree } from './free-limits.ts';
import { dependsOnJob, limitsJobs, type OpenLimit, weightOf } from './limits.ts';
import { firstWorking, type Owners } from './owners.ts';
import { canServe, hasWaitedLong, isStalled, type ReadyJob } from './queue.ts';
import { type GroupRunners, patienceMs, type Runner } from './runners.ts';

/** The slots of one group: open limits, jobs and runners that count there. */
export interface Allotment extends GroupRunners {
  /** Its limits that are the same for all jobs, the cap first, less the slots of all jobs. Groups may share them. */
  readonly limits: readonly Readonly<OpenLimit>[];
  /** Jobs that have a slot, first come first. */
  readonly jobs: readonly ReadyJob[];
  /** Jobs that may not have a new runner yet. They have no slot. */
  readonly backingOff: ReadonlyMap<ReadyJob, BackOff>;
}

interface OpenAllotment extends Allotment {
  readonly limits: readonly OpenLimit[];
  readonly jobs: ReadyJob[];
  readonly backingOff: Map<ReadyJob, BackOff>;
}

/** The result of a pass: the allotment of each group. */
interface Allotted {
  readonly allotments: ReadonlyMap<Group, Allotment>;
  /** The limit at which each job without a slot waits. Absent for jobs in back-off and for jobs of suspended groups. */
  readonly waitsAt: ReadonlyMap<ReadyJob, OpenLimit>;
}

/** The result of all passes, with the stuck runners whose slots go to waiting jobs. */
export type Slots = Allotted & { readonly overdue: ReadonlySet<Runner> };

/** Runs the pass over the queue. Where pods are stuck, a second pass puts the jobs of those runners last. */
export function allotSlots(queue: readonly ReadyJob[], facts: Facts): Slots {
  const allotted = allotInOrder(byRank(queue, new Set(), facts), facts);
  const late = [...facts.byGroup.values()].flatMap(({ runners }) => runners.filter((each) => isLate(each, facts, 0)));
  // Most plans have no stuck runner.
  if (late.length === 0) return { ...allotted, overdue: new Set() };
  const short = groupsThatHoldBack(allotted, facts);
  const inTheWay = late.filter((runner) => {
    // For a job that became ready after the pod was requested, the plain deadline counts, not the longer one of later tries.
    const newestMs = short.get(runner.group);
    return newestMs !== undefined && (newestMs > (runner.live?.createdAtMs ?? 0) || isLate(runner, facts));
  });
  const replaced = late.filter((runner) => isLate(runner, facts) && isNodesFault(runner, facts));
  const secondPass = allotInOrder(byRank(queue, new Set(inTheWay), facts), facts);
  return { ...secondPass, overdue: new Set([...inTheWay, ...replaced]) };
}

/** Sorts the jobs by rank. Jobs of one rank keep their order. */
function byRank(queue: readonly ReadyJob[], inTheWay: ReadonlySet<Runner>, facts: Facts): readonly ReadyJob[] {
  const sharing = groupsThatShare(facts);
  if (sharing.size === 0 && inTheWay.size === 0) return queue;
  const living = livingJobs(queue, sharing, facts);
  const rankOf = (ready: ReadyJob): number => {
    if (ready.ownRunners.length > 0 && ready.ownRunners.every((runner) => inTheWay.has(runner))) return 3;
    if (living.has(ready)) return 0;
    return isStalled(ready, sharing, facts) ? 2 : 1;
  };
  return sortedBy(queue, rankOf);
}

/** Jobs of groups that share slots, as many as living runners can serve. Each first its own one, then the oldest. */
function livingJobs(
  queue: readonly ReadyJob[],
  sharing: ReadonlySet<Group>,
  { byGroup, ownersOf, ...facts }: Facts,
): ReadonlySet<ReadyJob> {
  const freeOf = (group: Group) => byGroup.get(group)?.runners.filter(({ state }) => state === 'free') ?? [];
  const free = new Map([...sharing].map((group) => [group, freeOf(group)]));
  const living = new Set<ReadyJob>();
  const take = (ready: ReadyJob, group: Group, fits: (runner: Runner) => boolean): void => {
    const runners = free.get(group) ?? [];
    const nth = living.has(ready) ? -1 : runners.findIndex(fits);
    if (nth < 0) return;
    runners.splice(nth, 1);
    living.add(ready);
  };
  for (const ready of queue)
    for (const runner of ready.ownRunners) take(ready, runner.group, (each) => each === runner);
  for (const ready of queue) {
    const owners = ownersOf(ready.listed);
    for (const group of owners.covered ? owners.groups : []) take(ready, group, (each) => canServe(each, ready, facts));
  }
  return living;
}

/**
 * Groups that have their cap or a named limit in common. With a limit per repository or branch the oldest job still comes first (law P24). And
 * those with bound runners: a job of another repository cannot take such a runner.
 */
function groupsThatShare({ groups, openLimits }: Pick<Facts, 'groups' | 'openLimits'>): ReadonlySet<Group> {
  const limits = openLimits();
  const sharers = new Map<OpenLimit, Group[]>();
  for (const group of groups) for (const limit of limits.ofGroup(group)) addTo(sharers, limit, group);
  const sharing = [...sharers.values()].filter(({ length }) => length > 1).flat();
  return new Set([...sharing.filter((group) => !limitsJobs(group)), ...groups.filter(({ isBound }) => isBound)]);
}

/**
 * Each job gets a slot of one of its owners, if one has it free. The first of these that there is gives it:
 *
 *  1. an owner that has a living runner for the job;
 *  2. the owner that was asked in the past;
 *  3. the first owner that need not back off.
 */
function allotInOrder(queue: readonly ReadyJob[], facts: Facts): Allotted {
  const limits = facts.openLimits();
  const ofFree = limitsOfFree(queue, limits, facts);
  const allotments = new Map<Group, OpenAllotment>();
  for (const ofGroup of facts.byGroup.values()) {
    const { group } = ofGroup;
    const groupLimits = limits.ofGroup(group);
    const nothing = { jobs: [], backingOff: new Map() };
    allotments.set(group, { ...ofGroup, limits: [...groupLimits, ...ofFree.ofGroup(group)], ...nothing });
  }
  const limitsOfJob = memo((group: Group) =>
    memo((job: Job) => [...new Set([...limits.ofJob(group, job), ...ofFree.ofJob(group, job)])]),
  );
  const allLimits = ({ group, limits: ofGroup }: OpenAllotment, job: Job): readonly OpenLimit[] =>
    limitsJobs(group) ? [...limitsOfJob(group)(job), ...ofGroup] : ofGroup;
  const ofWholeGroup = groupBackOff(facts);
  // Owners with free slots are kept from job to job (200 groups, 10,000 jobs). A group that is full stays full.
  const openByOwners = new Map<Owners, readonly OpenAllotment[]>();
  const findOpen = (owners: Owners): readonly OpenAllotment[] => {
    if (!owners.covered) return [];
    const before = openByOwners.get(owners) ?? owners.groups.flatMap((group) => allotments.get(group) ?? []);
    const open = before.filter(({ group, limits }) => firstWithout(limits, weightOf(group)) === undefined);
    openByOwners.set(owners, open);
    return open;
  };
  const waitsAt = new Map<ReadyJob, OpenLimit>();
  const keptFor = new Set<OpenLimit>();
  for (const ready of queue) {
    const { ownRunners, request } = ready;
    const { job } = ready.listed;
    const owners = facts.ownersOf(ready.listed);
    const open = findOpen(owners).filter(({ group }) => {
      return !limitsJobs(group) || firstWithout(limitsOfJob(group)(job), weightOf(group)) === undefined;
    });
    const [first] = open;
    if (!first) {
      const full = allotments.get(firstWorking(owners) as Group);
      if (full) wait(ready, full);
      continue;
    }
    const backOffIn = ({ group }: OpenAllotment): BackOff | undefined =>
      backOffOf(group, ready, facts) ?? ofWholeGroup(group);
    const owner =
      open.find(({ group }) => ownRunners.some((runner) => runner.group === group)) ??
      open.find(({ group }) => group === request?.group) ??
      open.find((each) => !backOffIn(each));
    const backOff = owner ? undefined : backOffIn(first);
    if (owner) for (const limit of allLimits(owner, job)) limit.left -= weightOf(owner.group);
    owner?.jobs.push(ready);
    if (backOff) first.backingOff.set(ready, backOff);
  }
  return { allotments, waitsAt };

  /** Notes at which limit a job waits. The first one that has waited long there keeps a slot of each of its limits. */
  function wait(ready: ReadyJob, full: OpenAllotment): void {
    const weight = weightOf(full.group);
    const needed = allLimits(full, ready.listed.job);
    const fullLimit = firstWithout(needed, weight);
    if (!fullLimit) return;
    waitsAt.set(ready, fullLimit);
    const keeps = !keptFor.has(fullLimit) && hasWaitedLong(ready.listed, facts);
    if (keeps) keptFor.add(fullLimit);
    for (const limit of needed) {
      if (limit === fullLimit || keeps) limit.left = Math.max(0, limit.left - weight);
    }
  }
}

/** The first of these limits that leaves too few slots for a runner of this weight. */
function firstWithout(limits: readonly OpenLimit[], weight: number): OpenLimit | undefined {
  return limits.find(({ left }) => left < weight);
}

/** The runner that serves the job it was made for. An overdue one does when no new one would do better. */
export function ownRunner(
  groupRunners: readonly Runner[],
  overdue: ReadonlySet<Runner>,
  facts: Facts,
): Runner | undefined {
  return (
    groupRunners.find((runner) => !overdue.has(runner)) ?? groupRunners.find((runner) => !isNodesFault(runner, facts))
  );
}

/** True if the node is at fault, so that another runner may start elsewhere. A large image looks the same, so this waits for twice the time. */
function isNodesFault(runner: Runner, facts: Facts): boolean {
  const { trouble, stillSinceMs } = runner.live ?? {};
  return trouble?.ofNode === true || (stillSinceMs !== undefined && isLate(runner, facts, 2));
}

/** Tells whether a runner is overdue. @param times how many times the deadline, which grows with each try; 0: the deadline itself */
function isLate({ live, group }: Runner, { nowMs }: Facts, times = 1): boolean {
  if (live?.state !== 'starting' || live.trouble === undefined || live.trouble.isSuspended) return false;
  const { stillSinceMs = live.createdAtMs } = live;
  const { pendingDeadlineMs } = group;
  return nowMs - stillSinceMs >= (times === 0 ? pendingDeadlineMs : patienceMs(live, times * pendingDeadlineMs));
}

/** Groups for whose slots jobs wait, with when the latest became ready. Limits of repositories do not count here. */
function groupsThatHoldBack({ waitsAt }: Allotted, { ownersOf, readySinceMs }: Facts): ReadonlyMap<Group, number> {
  const short = new Map<Group, number>();
  for (const [{ listed }, { limit }] of waitsAt) {
    const owners = ownersOf(listed);
    if (!owners.covered || dependsOnJob(limit)) continue;
    for (const group of owners.groups)
      if (!group.suspend) short.set(group, Math.max(short.get(group) ?? 0, readySinceMs(listed)));
  }
  return short;
}
