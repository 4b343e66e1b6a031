/** Gives the slots of the groups to the ready jobs, first come first. */
import type { Group } from './evidence.ts';
import type { Facts } from './facts.ts';
import { groupBackOff } from './failing.ts';
import type { Owners } from './owners.ts';
import { type BackOff, backOffOf, type ReadyJob } from './ready-job.ts';
import { type GroupRunners, takesPlace } from './runners.ts';

/** The slots of one group. */
export interface Allotment extends GroupRunners {
  /** The cap less runners at work or kept, never below 0; 0 when suspended. */
  readonly room: number;
  /** Jobs that have a slot, first come first. At most `room`. */
  readonly jobs: readonly ReadyJob[];
  /** Jobs that may not have a new runner yet. They have no slot. */
  readonly backingOff: ReadonlyMap<ReadyJob, BackOff>;
}

type OpenAllotment = Allotment & { readonly jobs: ReadyJob[]; readonly backingOff: Map<ReadyJob, BackOff> };

/**
 * Each job in the queue gets a slot of one of its owners, if one has room. The first of these that there is gives it:
 *
 *  1. an owner that has a living runner for the job;
 *  2. the owner that was asked in the past;
 *  3. the first owner that need not back off.
 */
export function allotSlots(queue: readonly ReadyJob[], facts: Facts): ReadonlyMap<Group, Allotment> {
  const allotments = new Map<Group, OpenAllotment>();
  for (const ofGroup of facts.byGroup.values()) {
    allotments.set(ofGroup.group, { ...ofGroup, room: roomOf(ofGroup), jobs: [], backingOff: new Map() });
  }
  const ofWholeGroup = groupBackOff(facts);
  const hasRoom = ({ jobs, room }: OpenAllotment): boolean => jobs.length < room;
  // Owners with room are kept from job to job (200 groups, 10,000 jobs). A group that is full stays full.
  const known = new Map<Owners, readonly OpenAllotment[]>();
  const findOpen = (owners: Owners): readonly OpenAllotment[] => {
    if (!owners.covered) return [];
    const open = known.get(owners) ?? owners.groups.flatMap((group) => allotments.get(group) ?? []).filter(hasRoom);
    known.set(owners, open);
    return open;
  };
  const close = (full: OpenAllotment): void => {
    for (const [owners, open] of known) {
      if (open.includes(full))
        known.set(
          owners,
          open.filter((other) => other !== full),
        );
    }
  };
  for (const ready of queue) {
    const open = findOpen(facts.ownersOf(ready.listed));
    const first = open[0];
    if (!first) continue;
    const { own, asked } = ready;
    const keeper = own.length > 0 ? open.find(({ group }) => own.some((runner) => runner.group === group)) : undefined;
    const before = asked && open.find(({ group }) => group === asked.group);
    const backOffIn = ({ group }: OpenAllotment): BackOff | undefined =>
      backOffOf(group, ready, facts) ?? ofWholeGroup(group);
    const owner = keeper ?? before ?? open.find((each) => !backOffIn(each));
    if (owner) {
      owner.jobs.push(ready);
      if (!hasRoom(owner)) close(owner);
      continue;
    }
    const backOff = backOffIn(first);
    if (backOff) first.backingOff.set(ready, backOff);
  }
  return allotments;
}

function roomOf({ group, runners }: GroupRunners): number {
  const taken = runners.filter(takesPlace).reduce((sum, { slots }) => sum + slots, 0);
  return group.suspend ? 0 : Math.max(0, group.maxActiveRunners - taken);
}
