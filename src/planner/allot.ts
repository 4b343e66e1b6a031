/**
 * 4 ALLOT: a place under its group's cap for each job in the queue, first come first.
 *
 * Places of pods that cannot start (docs/adr/0034): after `pendingDeadlineMs` a job of its group that waits gets the place of such a pod,
 * and a runner of its own. If no job waits, the pod is waited for. A twin would be as stuck, unless the trouble is that of its node.
 */
import { type BackOff, backOffOf, groupBackOff } from './back-off.ts';
import type { Group } from './evidence.ts';
import type { Facts } from './facts.ts';
import type { Owners } from './owners.ts';
import type { ReadyJob } from './queue.ts';
import { type GroupRunners, isAtWork, type Runner } from './runners.ts';

/** The places of one group. */
export interface Allotment extends GroupRunners {
  /** The cap less runners at work or held for debugging, never below 0; 0 when suspended. */
  readonly room: number;
  /** Jobs that have a place, first come first. At most `room`. */
  readonly jobs: readonly ReadyJob[];
  /** Jobs that may not have a new runner yet. They have no place. */
  readonly backingOff: ReadonlyMap<ReadyJob, BackOff>;
}

type OpenAllotment = Allotment & { readonly jobs: ReadyJob[]; readonly backingOff: Map<ReadyJob, BackOff> };

/** The places of the groups, and the runners that cannot start and are in the way. */
export interface Places {
  readonly allotments: ReadonlyMap<Group, Allotment>;
  readonly overdue: ReadonlySet<Runner>;
}

/** Where the cap holds jobs back, those whose runners are overdue come last. */
export function allotPlaces(queue: readonly ReadyJob[], facts: Facts): Places {
  const allotments = allotInOrder(queue, facts);
  const late = [...facts.byGroup.values()].flatMap(({ runners }) => runners.filter((each) => isLate(each, facts)));
  // As in nearly all plans.
  if (late.length === 0) return { allotments, overdue: new Set() };
  const short = groupsThatHoldBack(queue, allotments, facts);
  const overdue = new Set(late.filter((runner) => short.has(runner.group) || isNodesFault(runner)));
  const yields = ({ own }: ReadyJob): boolean =>
    own.length > 0 && own.every((runner) => overdue.has(runner) && short.has(runner.group));
  const inOrder = [...queue.filter((ready) => !yields(ready)), ...queue.filter(yields)];
  return { allotments: allotInOrder(inOrder, facts), overdue };
}

/**
 * Each job gets a place of one of its owners, if one has room. The first of these that there is gives it:
 *
 *  1. an owner that has a living runner for the job;
 *  2. the owner that was asked in the past;
 *  3. the first owner that need not back off.
 */
function allotInOrder(queue: readonly ReadyJob[], facts: Facts): ReadonlyMap<Group, Allotment> {
  const allotments = new Map<Group, OpenAllotment>();
  for (const ofGroup of facts.byGroup.values()) {
    allotments.set(ofGroup.group, { ...ofGroup, room: roomOf(ofGroup), jobs: [], backingOff: new Map() });
  }
  const ofWholeGroup = groupBackOff(facts);
  // Owners with room are kept from job to job (200 groups, 10,000 jobs). A group that is full stays full.
  const known = new Map<Owners, readonly OpenAllotment[]>();
  const findOpen = (owners: Owners): readonly OpenAllotment[] => {
    if (!owners.covered) return [];
    const before = known.get(owners) ?? owners.groups.flatMap((group) => allotments.get(group) ?? []);
    const open = before.filter(({ jobs, room }) => jobs.length < room);
    known.set(owners, open);
    return open;
  };
  for (const ready of queue) {
    const open = findOpen(facts.ownersOf(ready.listed));
    const [first] = open;
    if (!first) continue;
    const { own, asked } = ready;
    const backOffIn = ({ group }: OpenAllotment): BackOff | undefined =>
      backOffOf(group, ready, facts) ?? ofWholeGroup(group);
    const owner =
      open.find(({ group }) => own.some((runner) => runner.group === group)) ??
      open.find(({ group }) => group === asked?.group) ??
      open.find((each) => !backOffIn(each));
    const backOff = owner ? undefined : backOffIn(first);
    owner?.jobs.push(ready);
    if (backOff) first.backingOff.set(ready, backOff);
  }
  return allotments;
}

function roomOf({ group, runners }: GroupRunners): number {
  const taking = runners.filter((runner) => isAtWork(runner) || runner.state === 'debugging');
  const taken = taking.reduce((sum, { places }) => sum + places, 0);
  return group.suspend ? 0 : Math.max(0, group.maxActiveRunners - taken);
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

/** Groups for whose places jobs wait. A job that backs off waits for none. */
function groupsThatHoldBack(
  queue: readonly ReadyJob[],
  allotments: ReadonlyMap<Group, Allotment>,
  { ownersOf }: Facts,
): ReadonlySet<Group> {
  const placed = new Set([...allotments.values()].flatMap(({ jobs, backingOff }) => [...jobs, ...backingOff.keys()]));
  const short = new Set<Group>();
  for (const ready of queue) {
    if (placed.has(ready)) continue;
    const owners = ownersOf(ready.listed);
    for (const group of owners.covered ? owners.groups : []) if (!group.suspend) short.add(group);
  }
  return short;
}
