/**
 * 4 ALLOT: a place under each limit of its group for each job in the queue, first come first. The cap is one of the limits (limits.ts).
 *
 * A job that finds no room at a limit waits there, and stops nobody who does not need that limit. Nobody passes it there: what is left is
 * kept for a heavy one. But where groups share places, living runners keep theirs (`livingFirst`). Two cases need more:
 *
 *   - Gitea knows no limit per repository or branch. It would give the runner of a younger job to a job that waits for one. So groups that cover such
 *     a job start nothing for younger jobs. For older ones only one size of them does: a runner of another size could take an older job.
 *   - Two limits may never have room at the same moment. So the first one in line at a limit that has waited long keeps its places elsewhere.
 *
 * Places of pods that cannot start (docs/adr/0034): after `pendingDeadlineMs` a job of its group that waits gets the place of such a pod,
 * and a runner of its own. If no job waits, the pod is waited for. A twin would be as stuck, unless the trouble is that of its node.
 */
import { type BackOff, backOffOf, groupBackOff } from './back-off.ts';
import { addTo, type Group, type Job, type ListedJob } from './evidence.ts';
import type { Facts } from './facts.ts';
import { dependsOnJob, firstWithout, limitsJobs, type Room, weightOf } from './limits.ts';
import { firstWorking, type Owners } from './owners.ts';
import { canServe, type ReadyJob } from './queue.ts';
import type { GroupRunners, Runner } from './runners.ts';

/** The places of one group. */
export interface Allotment extends GroupRunners {
  /** Its limits that are the same for all jobs, the cap first, less the places of all jobs. Groups may share them. */
  readonly rooms: readonly Readonly<Room>[];
  /** Jobs that have a place, first come first. */
  readonly jobs: readonly ReadyJob[];
  /** Jobs that may not have a new runner yet. They have no place. */
  readonly backingOff: ReadonlyMap<ReadyJob, BackOff>;
  /** The limit of an older job, to which Gitea would give runners of this group. */
  readonly stoppedBy: Room | undefined;
}

interface OpenAllotment extends Allotment {
  readonly rooms: readonly Room[];
  readonly jobs: ReadyJob[];
  readonly backingOff: Map<ReadyJob, BackOff>;
  stoppedBy: Room | undefined;
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
  roomFor({ group, rooms, stoppedBy }: Allotment): number {
    if (stoppedBy) return 0;
    const left = (room: Readonly<Room>): number => room.left - (this.#taken.get(room) ?? 0);
    return Math.max(0, Math.min(...rooms.map((room) => Math.floor(left(room) / weightOf(group)))));
  }

  take({ group, rooms }: Allotment, runners: number): void {
    for (const room of rooms) this.#taken.set(room, (this.#taken.get(room) ?? 0) + runners * weightOf(group));
  }
}

/** Where limits hold jobs back, those whose runners are overdue come last. */
export function allotPlaces(ready: readonly ReadyJob[], facts: Facts): Places {
  const queue = livingFirst(ready, facts);
  const allotted = allotSafely(queue, facts);
  const late = [...facts.byGroup.values()].flatMap(({ runners }) => runners.filter((each) => isLate(each, facts)));
  // As in nearly all plans.
  if (late.length === 0) return { ...allotted, overdue: new Set() };
  const short = groupsThatHoldBack(allotted, facts);
  const overdue = new Set(late.filter((runner) => short.has(runner.group) || isNodesFault(runner)));
  const yields = ({ own }: ReadyJob): boolean =>
    own.length > 0 && own.every((runner) => overdue.has(runner) && short.has(runner.group));
  const inOrder = [...queue.filter((ready) => !yields(ready)), ...queue.filter(yields)];
  return { ...allotSafely(inOrder, facts), overdue };
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

/** Groups that have their cap or a named limit in common. With a limit per repository or branch the oldest job still comes first (law P24). */
function groupsThatShare({ byGroup, openRooms }: Facts): readonly GroupRunners[] {
  const rooms = openRooms();
  const sharers = new Map<Room, GroupRunners[]>();
  for (const each of byGroup.values()) for (const room of rooms.ofGroup(each.group)) addTo(sharers, room, each);
  const sharing = [...sharers.values()].filter(({ length }) => length > 1).flat();
  return sharing.filter(({ group }) => !limitsJobs(group));
}

type Allotted = Pick<Places, 'allotments' | 'waitsAt'>;

/** Of the sizes that were stopped, the one with the first job keeps its places. */
function allotSafely(queue: readonly ReadyJob[], facts: Facts): Allotted {
  const stopped = new Map<Group, Room>();
  for (;;) {
    const allotted = allotInOrder(queue, facts, stopped);
    const before = stopped.size;
    const mixed = [...allotted.allotments.values()].filter(({ stoppedBy, jobs }) => stoppedBy && jobs.length > 0);
    const rankOf = ({ jobs }: Allotment): number => (jobs[0] ? queue.indexOf(jobs[0]) : 0);
    const firstOf = new Map<unknown, Allotment>();
    for (const each of mixed.sort((a, b) => rankOf(a) - rankOf(b))) {
      const { group, rooms, stoppedBy } = each;
      if (!firstOf.has(rooms[0])) firstOf.set(rooms[0], each);
      else if (stoppedBy) stopped.set(group, stoppedBy);
    }
    if (stopped.size === before) return allotted;
  }
}

/**
 * Each job gets a place of one of its owners, if one has room. The first of these that there is gives it:
 *
 *  1. an owner that has a living runner for the job;
 *  2. the owner that was asked in the past;
 *  3. the first owner that need not back off.
 */
function allotInOrder(queue: readonly ReadyJob[], facts: Facts, stopped: ReadonlyMap<Group, Room>): Allotted {
  const rooms = facts.openRooms();
  const allotments = new Map<Group, OpenAllotment>();
  for (const ofGroup of facts.byGroup.values()) {
    const { group } = ofGroup;
    const nothing = { jobs: [], backingOff: new Map(), stoppedBy: stopped.get(group) };
    allotments.set(group, { ...ofGroup, rooms: rooms.ofGroup(group), ...nothing });
  }
  const allRooms = ({ group, rooms: ofGroup }: OpenAllotment, job: Job): readonly Room[] =>
    limitsJobs(group) ? [...ofGroup, ...rooms.ofJob(group, job)] : ofGroup;
  // As in nearly no plan: else `findOpen` has judged every room already.
  const roomDependsOnJob = [...allotments.values()].some(
    ({ group, rooms: ofGroup }) => limitsJobs(group) || ofGroup.some(({ rivals }) => rivals.length > 0),
  );
  const ofWholeGroup = groupBackOff(facts);
  // Owners with room are kept from job to job (200 groups, 10,000 jobs). A group that is full stays full.
  const known = new Map<Owners, readonly OpenAllotment[]>();
  const findOpen = (owners: Owners): readonly OpenAllotment[] => {
    if (!owners.covered) return [];
    const before = known.get(owners) ?? owners.groups.flatMap((group) => allotments.get(group) ?? []);
    const open = before.filter(({ group, rooms, stoppedBy }) => !stoppedBy && mayHaveRoom(rooms, weightOf(group)));
    known.set(owners, open);
    return open;
  };
  const waitsAt = new Map<ReadyJob, Room>();
  const keptFor = new Set<Room>();
  for (const ready of queue) {
    const { own, asked } = ready;
    const { job } = ready.listed;
    const owners = facts.ownersOf(ready.listed);
    const mayOpen = findOpen(owners);
    const open = roomDependsOnJob
      ? mayOpen.filter((each) => {
          const lacking = firstWithout(allRooms(each, job), weightOf(each.group), own);
          if (lacking && dependsOnJob(lacking.limit)) stopAll(allotments, each, job, lacking);
          return lacking === undefined;
        })
      : mayOpen;
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
    const at = full.stoppedBy ?? firstWithout(needed, weight, ready.own);
    if (!at) return;
    waitsAt.set(ready, at);
    const keeps = !keptFor.has(at) && facts.nowMs - facts.readySinceMs(ready.listed) >= LONG_WAIT_MS;
    if (keeps) keptFor.add(at);
    for (const room of needed) {
      if (room === at || keeps) room.left = room.left < weight ? Math.min(0, room.left) : room.left - weight;
    }
  }
}

/** True when some job may find room. */
function mayHaveRoom(rooms: readonly Room[], weight: number): boolean {
  return rooms.every(({ left, rivals }) => left >= weight || rivals.length > 0);
}

/** No group that this owner shares its cap with may start a runner that Gitea could give to the job. */
function stopAll(
  allotments: ReadonlyMap<Group, OpenAllotment>,
  { rooms: [cap] }: OpenAllotment,
  { labels }: Job,
  by: Room,
): void {
  for (const each of allotments.values()) {
    const isCovering = labels.every((label) => each.group.labels.includes(label));
    if (each.rooms[0] === cap && isCovering) each.stoppedBy ??= by;
  }
}

/** The runner that serves the job it was made for. An overdue one does when no new one would do better. */
export function ownRunner(own: readonly Runner[], overdue: ReadonlySet<Runner>): Runner | undefined {
  return own.find((runner) => !overdue.has(runner)) ?? own.find((runner) => !isNodesFault(runner));
}

function isNodesFault({ live }: Runner): boolean {
  return live?.trouble?.ofNode === true;
}

function isLate({ live, group }: Runner, { nowMs }: Facts): boolean {
  if (live?.state !== 'starting' || live.trouble === undefined) return false;
  return nowMs - live.createdAtMs >= group.pendingDeadlineMs;
}

/** Groups for whose places jobs wait. A job that waits for others of its repository or branch waits for none. */
function groupsThatHoldBack({ waitsAt }: Allotted, { ownersOf }: Facts): ReadonlySet<Group> {
  const short = new Set<Group>();
  for (const [{ listed }, { limit }] of waitsAt) {
    const owners = ownersOf(listed);
    if (owners.covered && !dependsOnJob(limit)) for (const group of owners.groups) if (!group.suspend) short.add(group);
  }
  return short;
}
