/**
 * 4 ALLOT: a place under each limit of its group for each job in the queue, first come first. The cap is one of the limits (limits.ts).
 *
 * A job that finds no room at a limit waits there, and stops nobody who does not need that limit. Nobody passes it there: what is left is
 * kept for a heavy one. But where groups share places, living runners keep theirs (`livingFirst`). Two cases need more:
 *
 *   - Gitea knows no limit per repository or branch, and does not tell in which order it gives jobs away. So where more jobs wait than such
 *     a limit has room for, all free runners of the group must fit under it (`roomsOfFree`).
 *   - Two limits may never have room at the same moment. So the first one in line at a limit that has waited long keeps its places elsewhere.
 *
 * Places of pods that cannot start (docs/adr/0034): after `pendingDeadlineMs` a job of its group that waits gets the place of such a pod,
 * and a runner of its own. If no job waits, the pod is waited for. A twin would be as stuck, unless the trouble is that of its node.
 */
import { type BackOff, backOffOf, groupBackOff } from './back-off.ts';
import { addTo, count, type Group, type Job, type ListedJob, memo } from './evidence.ts';
import type { Facts } from './facts.ts';
import { dependsOnJob, limitsJobs, type Room, type Rooms, weightOf } from './limits.ts';
import { firstWorking, type Owners } from './owners.ts';
import { canServe, type ReadyJob } from './queue.ts';
import { type GroupRunners, patienceMs, type Runner } from './runners.ts';

/** The places of one group. */
export interface Allotment extends GroupRunners {
  /** Its limits that are the same for all jobs, the cap first, less the places of all jobs. Groups may share them. The last may be that of `roomsOfFree`. */
  readonly rooms: readonly Readonly<Room>[];
  /** Jobs that have a place, first come first. */
  readonly jobs: readonly ReadyJob[];
  /** Jobs that may not have a new runner yet. They have no place. */
  readonly backingOff: ReadonlyMap<ReadyJob, BackOff>;
}

interface OpenAllotment extends Allotment {
  readonly rooms: readonly Room[];
  readonly jobs: ReadyJob[];
  readonly backingOff: Map<ReadyJob, BackOff>;
}

/** The places of the groups, and the runners that cannot start and are in the way. */
export interface Places {
  readonly allotments: ReadonlyMap<Group, Allotment>;
  readonly overdue: ReadonlySet<Runner>;
  /** Where jobs without a place wait. Jobs that back off, and those of suspended groups, wait nowhere. */
  readonly waitsAt: ReadonlyMap<ReadyJob, Room>;
}

/** A job that has been ready so long keeps its places under other limits while it is the first in line at one, ms. */
const LONG_WAIT_MS = 1_800_000;
/** So long a heavy job comes last after its runner has begun a younger one, ms. */
const PASSED_BY_MS = 1_800_000;

/** Counts places of runners that serve no job of `Allotment.jobs`. */
export class FurtherRunners {
  readonly #taken = new Map<Readonly<Room>, number>();

  /** How many more of this group may be there. */
  roomFor({ group, rooms }: Pick<Allotment, 'group' | 'rooms'>): number {
    const left = (room: Readonly<Room>): number => room.left - (this.#taken.get(room) ?? 0);
    return Math.max(0, Math.min(...rooms.map((room) => Math.floor(left(room) / weightOf(group)))));
  }

  take({ group, rooms }: Pick<Allotment, 'group' | 'rooms'>, runners: number): void {
    for (const room of rooms) count(this.#taken, room, runners * weightOf(group));
  }
}

/** Where limits hold jobs back, those whose runners are overdue come last. */
export function allotPlaces(ready: readonly ReadyJob[], facts: Facts): Places {
  const queue = livingFirst(ready, facts);
  const allotted = allotInOrder(queue, facts);
  const late = [...facts.byGroup.values()].flatMap(({ runners }) => runners.filter((each) => isLate(each, facts, 0)));
  // As in nearly all plans.
  if (late.length === 0) return { ...allotted, overdue: new Set() };
  const short = groupsThatHoldBack(allotted, facts);
  const overdue = new Set(
    late.filter((runner) => {
      // A job that has come since the pod was asked for does not wait for the tries before.
      const isShort = short.has(runner.group);
      const isNewer = isShort && (short.get(runner.group) ?? 0) > (runner.live?.createdAtMs ?? 0);
      return isNewer || (isLate(runner, facts) && (isShort || isNodesFault(runner, facts)));
    }),
  );
  const yields = ({ own }: ReadyJob): boolean =>
    own.length > 0 && own.every((runner) => overdue.has(runner) && short.has(runner.group));
  const inOrder = [...queue.filter((ready) => !yields(ready)), ...queue.filter(yields)];
  return { ...allotInOrder(inOrder, facts), overdue };
}

/**
 * The jobs in the order in which they get places. Where groups share places there are three kinds:
 *
 *  1. Those that a living runner can serve. It is not dropped for an older job of another group, which would need a start.
 *  2. The others.
 *  3. Those that Gitea may give to nobody: their runner sleeps or, of a heavy one, has taken a younger job. Others may need their places.
 */
function livingFirst(queue: readonly ReadyJob[], facts: Facts): readonly ReadyJob[] {
  const free = new Map(
    groupsThatShare(facts).map(({ group, runners }) => [group, runners.filter(({ state }) => state === 'free')]),
  );
  if (free.size === 0) return queue;
  const living = new Set<ReadyJob>();
  const take = (ready: ReadyJob, group: Group, fits: (runner: Runner) => boolean): void => {
    const runners = free.get(group) ?? [];
    const nth = living.has(ready) ? -1 : runners.findIndex(fits);
    if (nth < 0) return;
    runners.splice(nth, 1);
    living.add(ready);
  };
  for (const ready of queue) for (const runner of ready.own) take(ready, runner.group, (each) => each === runner);
  for (const ready of queue) {
    const owners = facts.ownersOf(ready.listed);
    for (const group of owners.covered ? owners.groups : []) take(ready, group, (each) => canServe(each, ready, facts));
  }
  const isLast = ({ listed }: ReadyJob): boolean =>
    facts
      .madeFor(listed.origin, listed.job)
      .some((runner) => free.get(runner.group)?.includes(runner) || isPassedBy(listed, runner, facts));
  const kindOf = (ready: ReadyJob): number => (living.has(ready) ? 1 : isLast(ready) ? 3 : 2);
  const kinds = queue.map((ready) => ({ ready, kind: kindOf(ready) }));
  return kinds.sort((a, b) => a.kind - b.kind).map(({ ready }) => ready);
}

/**
 * True for a heavy job when a runner that was made for it has begun a younger one in the last half hour. Gitea gives a runner the oldest job,
 * but some to none: one that calls a workflow, or whose repository has no Actions any more. Its runners would take many places for light jobs.
 */
function isPassedBy(listed: ListedJob, { job }: Runner, { nowMs, readySinceMs, ownersOf }: Facts): boolean {
  if (job?.startedAtMs === undefined || weightOf(firstWorking(ownersOf(listed)) ?? {}) === 1) return false;
  return nowMs - job.startedAtMs < PASSED_BY_MS && job.createdAtMs > readySinceMs(listed);
}

/**
 * Groups that have their cap or a named limit in common. With a limit per repository or branch the oldest job still comes first (law P24). And
 * those with bound runners: a job of another repository cannot take such a runner.
 */
function groupsThatShare({ byGroup, openRooms }: Facts): readonly GroupRunners[] {
  const rooms = openRooms();
  const sharers = new Map<Room, GroupRunners[]>();
  for (const each of byGroup.values()) for (const room of rooms.ofGroup(each.group)) addTo(sharers, room, each);
  const sharing = [...sharers.values()].filter(({ length }) => length > 1).flat();
  const bound = [...byGroup.values()].filter(({ group }) => group.isBound);
  return [...new Set([...sharing.filter(({ group }) => !limitsJobs(group)), ...bound])];
}

type Allotted = Pick<Places, 'allotments' | 'waitsAt'>;

/**
 * Each job gets a place of one of its owners, if one has room. The first of these that there is gives it:
 *
 *  1. an owner that has a living runner for the job;
 *  2. the owner that was asked in the past;
 *  3. the first owner that need not back off.
 */
function allotInOrder(queue: readonly ReadyJob[], facts: Facts): Allotted {
  const rooms = facts.openRooms();
  const ofFree = roomsOfFree(queue, rooms, facts);
  const allotments = new Map<Group, OpenAllotment>();
  for (const ofGroup of facts.byGroup.values()) {
    const { group } = ofGroup;
    const own = rooms.ofGroup(group);
    const nothing = { jobs: [], backingOff: new Map() };
    allotments.set(group, { ...ofGroup, rooms: [...own, ...ofFree.ofGroup(group)], ...nothing });
  }
  const roomsOfJob = memo((group: Group) =>
    memo((job: Job) => [...new Set([...rooms.ofJob(group, job), ...ofFree.ofJob(group, job)])]),
  );
  const allRooms = ({ group, rooms: ofGroup }: OpenAllotment, job: Job): readonly Room[] =>
    limitsJobs(group) ? [...roomsOfJob(group)(job), ...ofGroup] : ofGroup;
  const ofWholeGroup = groupBackOff(facts);
  // Owners with room are kept from job to job (200 groups, 10,000 jobs). A group that is full stays full.
  const known = new Map<Owners, readonly OpenAllotment[]>();
  const findOpen = (owners: Owners): readonly OpenAllotment[] => {
    if (!owners.covered) return [];
    const before = known.get(owners) ?? owners.groups.flatMap((group) => allotments.get(group) ?? []);
    const open = before.filter(({ group, rooms }) => firstWithout(rooms, weightOf(group)) === undefined);
    known.set(owners, open);
    return open;
  };
  const waitsAt = new Map<ReadyJob, Room>();
  const keptFor = new Set<Room>();
  for (const ready of queue) {
    const { own, asked } = ready;
    const { job } = ready.listed;
    const owners = facts.ownersOf(ready.listed);
    const open = findOpen(owners).filter(({ group }) => {
      return !limitsJobs(group) || firstWithout(roomsOfJob(group)(job), weightOf(group)) === undefined;
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
      open.find(({ group }) => own.some((runner) => runner.group === group)) ??
      open.find(({ group }) => group === asked?.group) ??
      open.find((each) => !backOffIn(each));
    const backOff = owner ? undefined : backOffIn(first);
    if (owner) for (const room of allRooms(owner, job)) room.left -= weightOf(owner.group);
    owner?.jobs.push(ready);
    if (backOff) first.backingOff.set(ready, backOff);
  }
  return { allotments, waitsAt };

  function wait(ready: ReadyJob, full: OpenAllotment): void {
    const weight = weightOf(full.group);
    const needed = allRooms(full, ready.listed.job);
    const at = firstWithout(needed, weight);
    if (!at) return;
    waitsAt.set(ready, at);
    const keeps = !keptFor.has(at) && facts.nowMs - facts.readySinceMs(ready.listed) >= LONG_WAIT_MS;
    if (keeps) keptFor.add(at);
    for (const room of needed) {
      if (room === at || keeps) room.left = Math.max(0, room.left - weight);
    }
  }
}

/** The first of these rooms that a runner of this weight does not fit into. */
function firstWithout(rooms: readonly Room[], weight: number): Room | undefined {
  return rooms.find(({ left }) => left < weight);
}

/** Free runners among which Gitea may choose: those under one cap, of bound ones those of one repository. All sizes of a group have one cap. */
type Pool = object;

/** A group that covers ready jobs of one repository and branch. */
interface Covering {
  readonly pool: Pool;
  readonly group: Group;
  readonly job: Job;
  readonly jobs: number;
}

/**
 * Where more jobs wait than a limit per repository or branch has room for, all free runners of a pool share one room, which is what that limit
 * has left. Then it does not matter which jobs Gitea gives them.
 *
 * The own runner of a job that waits and has room stays: when it was started those jobs did not wait yet, so Gitea gives it an older one.
 */
function roomsOfFree(queue: readonly ReadyJob[], rooms: Rooms, facts: Facts) {
  const ofFree = new Map<Pool, Room[]>();
  const capOf = memo((group: Group): Pool => rooms.ofGroup(group)[0] ?? group);
  const ofRepository = memo((cap: Pool) => memo((repository: string) => ({ cap, repository })));
  const poolOf = (group: Group, { repository }: Job): Pool =>
    group.isBound ? ofRepository(capOf(group))(repository.toLowerCase()) : capOf(group);
  const found = {
    ofGroup: (group: Group): readonly Room[] => ofFree.get(capOf(group)) ?? [],
    ofJob: (group: Group, job: Job): readonly Room[] =>
      (group.isBound && ofFree.size > 0 && ofFree.get(poolOf(group, job))) || [],
  };
  // As in nearly all plans.
  if (!facts.groups.some(limitsJobs)) return found;
  const living = livingPlaces(queue, rooms, poolOf);
  const short = shortRooms(wantedPlaces(coveringGroups(queue, facts, poolOf), rooms));
  // Jobs that were not read may be of any repository and branch.
  for (const group of facts.groups)
    if (facts.unreadJobsOf(group) > 0) for (const room of rooms.leastOf(group)) addTo(short, capOf(group), room);
  for (const [pool, some] of short) {
    const [least] = some.sort((a, b) => a.left - b.left);
    if (isOfRepository(pool)) ofFree.set(pool, some);
    else if (least) ofFree.set(pool, [{ ...least, left: Math.max(least.left, living.get(pool) ?? 0) }]);
  }
  return found;
}

/** By pool, the limits that have less room than is wanted. Bound runners of several repositories may be wanted under one limit. */
function shortRooms(wantedBy: ReadonlyMap<Pool, ReadonlyMap<Room, number>>): Map<Pool, Room[]> {
  const inAll = new Map<Room, number>();
  for (const wanted of wantedBy.values()) for (const [room, places] of wanted) count(inAll, room, places);
  const short = new Map<Pool, Room[]>();
  for (const [pool, wanted] of wantedBy)
    for (const [room, places] of wanted) {
      const most = isOfRepository(pool) ? (inAll.get(room) ?? 0) : places;
      if (most > room.left) addTo(short, pool, room);
    }
  return short;
}

function isOfRepository(pool: Pool): boolean {
  return 'repository' in pool;
}

type PoolOf = (group: Group, job: Job) => Pool;

/** The places of the own runners of jobs, by pool, as far as the limits of these jobs have room. */
function livingPlaces(queue: readonly ReadyJob[], rooms: Rooms, poolOf: PoolOf) {
  const living = new Map<Pool, number>();
  const kept = new FurtherRunners();
  for (const { listed, own } of queue)
    for (const { group } of own) {
      const needed = { group, rooms: rooms.ofJob(group, listed.job) };
      if (kept.roomFor(needed) === 0) continue;
      kept.take(needed, 1);
      count(living, poolOf(group, listed.job), weightOf(group));
    }
  return living;
}

/** Jobs that are alike are counted once: 50 groups may cover 10,000 jobs. */
function coveringGroups(queue: readonly ReadyJob[], { ownersOf }: Facts, poolOf: PoolOf): readonly Covering[] {
  const limitedOf = memo((owners: Owners) => (owners.covered ? owners.groups.filter(limitsJobs) : []));
  const alike = new Map<readonly Group[], Map<string, Job[]>>();
  for (const { listed } of queue) {
    const groups = limitedOf(ownersOf(listed));
    const ofGroups = alike.get(groups) ?? new Map<string, Job[]>();
    addTo(ofGroups, `${listed.job.repository} ${listed.job.branch}`, listed.job);
    alike.set(groups, ofGroups);
  }
  return [...alike].flatMap(([groups, byBranch]) =>
    [...byBranch.values()].flatMap((jobs) => {
      const [job] = jobs as [Job, ...Job[]];
      return groups.map((group) => ({ pool: poolOf(group, job), group, job, jobs: jobs.length }));
    }),
  );
}

/** The places that these jobs may take under their limits, by pool. One without a size counts as the heaviest: a large runner could take it. */
function wantedPlaces(covering: readonly Covering[], rooms: Rooms): ReadonlyMap<Pool, Map<Room, number>> {
  const heaviest = new Map<Pool, number>();
  for (const { pool, group } of covering) heaviest.set(pool, Math.max(weightOf(group), heaviest.get(pool) ?? 1));
  const wanted = new Map<Pool, Map<Room, number>>();
  for (const { pool, group, job, jobs } of covering) {
    const weight = group.size === undefined ? (heaviest.get(pool) ?? 1) : weightOf(group);
    const ofPool = wanted.get(pool) ?? new Map<Room, number>();
    for (const room of rooms.ofJob(group, job)) count(ofPool, room, jobs * weight);
    wanted.set(pool, ofPool);
  }
  return wanted;
}

/** The runner that serves the job it was made for. An overdue one does when no new one would do better. */
export function ownRunner(own: readonly Runner[], overdue: ReadonlySet<Runner>, facts: Facts): Runner | undefined {
  return own.find((runner) => !overdue.has(runner)) ?? own.find((runner) => !isNodesFault(runner, facts));
}

/** A pod of which only time tells that it is stuck may be pulling a large image. So another one is tried after twice the time. */
function isNodesFault(runner: Runner, facts: Facts): boolean {
  const { trouble, stillSinceMs } = runner.live ?? {};
  return trouble?.ofNode === true || (stillSinceMs !== undefined && isLate(runner, facts, 2));
}

/** @param times how many times the deadline, which grows with each try; 0: the deadline itself */
function isLate({ live, group }: Runner, { nowMs }: Facts, times = 1): boolean {
  if (live?.state !== 'starting' || live.trouble === undefined || live.trouble.isSuspended) return false;
  const { stillSinceMs = live.createdAtMs } = live;
  const { pendingDeadlineMs } = group;
  return nowMs - stillSinceMs >= (times === 0 ? pendingDeadlineMs : patienceMs(live, times * pendingDeadlineMs));
}

/**
 * Groups for whose places jobs wait, and when the latest of these jobs became ready. A job that waits for others of its repository or branch
 * waits for none.
 */
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
