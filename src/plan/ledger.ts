/** What one group has, and what has been given to it so far. */
import type { Assignment, BackOff, GroupState, Times } from './assign.ts';
import type { Candidate } from './chain.ts';
import type { Evidence, Group } from './evidence.ts';
import { runnerNamer } from './names.ts';
import type { Rosters, Runner } from './roster.ts';
import type { SeenJob } from './world.ts';

export interface Ledger extends GroupState {
  /** Jobs that get a runner of this group, first come first. */
  readonly selected: readonly Candidate[];
  /** Jobs for which this group may not start a runner yet. */
  readonly backingOff: ReadonlyMap<SeenJob, BackOff>;
  /** Who serves the selected jobs, and those that back off when there are free runners. */
  readonly assignments: readonly Assignment[];
  /** Runners that are kept for jobs to come. */
  readonly spares: readonly Runner[];
}

/** While the plan is made. */
export type OpenLedger = Ledger & {
  readonly selected: Candidate[];
  readonly backingOff: Map<SeenJob, BackOff>;
  readonly assignments: Assignment[];
  readonly spares: Runner[];
};

/** An empty ledger for each group. */
export function openLedgers(
  rosters: Rosters,
  { readySinceMs, missedBy }: Pick<Times, 'readySinceMs' | 'missedBy'>,
  { instance, nowMs }: Evidence,
): ReadonlyMap<Group, OpenLedger> {
  const ledgers = new Map<Group, OpenLedger>();
  for (const [group, roster] of rosters.byGroup) {
    const { runners } = roster;
    const taken = runners
      .filter(({ state }) => state === 'busy' || state === 'finishing')
      .reduce((sum, { slots }) => sum + slots, 0);
    const room = group.suspend ? 0 : Math.max(0, group.maxActiveRunners - taken);
    ledgers.set(group, {
      group,
      nameOf: runnerNamer(instance, group),
      roster,
      rosters,
      readySinceMs,
      missedBy,
      room,
      nowMs,
      selected: [],
      backingOff: new Map(),
      assignments: [],
      spares: [],
    });
  }
  return ledgers;
}

/** True when it can take no more jobs; it stays so. */
export function isFull({ selected, room }: Ledger): boolean {
  return selected.length >= room;
}
