/** Gives the ready jobs slots and runners. */
import type { Allotment } from './allot.ts';
import { type Assignment, assignRunners } from './assign.ts';
import { elsewhereFinder } from './elsewhere.ts';
import type { Evidence, Group } from './evidence.ts';
import type { Facts } from './facts.ts';
import type { ListedJob } from './listed-jobs.ts';
import { allotPlaces } from './overdue.ts';
import type { ReadyJob } from './ready-job.ts';
import type { Runner } from './runners.ts';

/** What the ready jobs were given. */
export interface Given {
  readonly allotments: ReadonlyMap<Group, Allotment>;
  readonly assignments: ReadonlyMap<Group, readonly Assignment[]>;
  /** Runners of other Applications that jobs wait for. */
  readonly elsewhere: ReadonlyMap<ListedJob, string>;
  /** Runners that cannot start, and that are in the way (`overdue.ts`). */
  readonly overdue: ReadonlySet<Runner>;
}

/**
 * A job that would get a new runner, but has one elsewhere, leaves its slot to the next job. That one may have one elsewhere, too, so the
 * slots are given again until none is left.
 */
export function giveRunners(queue: readonly ReadyJob[], facts: Facts, evidence: Evidence): Given {
  const findElsewhere = elsewhereFinder(evidence, facts);
  const elsewhere = new Map<ListedJob, string>();
  for (;;) {
    const stillHere = queue.filter(({ listed }) => !elsewhere.has(listed));
    const { allotments, overdue } = allotPlaces(stillHere, facts);
    const assignments = new Map(
      [...allotments].map(([group, allotted]) => [group, assignRunners(allotted, facts, overdue)]),
    );
    const before = elsewhere.size;
    for (const { listed, runner, group } of [...assignments.values()].flat()) {
      const isThere = facts.findRunner(runner)?.state === 'free';
      const other = isThere ? undefined : findElsewhere(listed, group.spawnTimeoutMs);
      if (other !== undefined) elsewhere.set(listed, other);
    }
    if (elsewhere.size === before) return { allotments, assignments, elsewhere, overdue };
  }
}
