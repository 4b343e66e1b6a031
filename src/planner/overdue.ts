/**
 * Places of pods that cannot start (docs/adr/0034). After `pendingDeadlineMs` a job of its group that waits gets the place of such a pod,
 * and a runner of its own. If no job waits, the pod is waited for. A twin would be as stuck, unless the trouble is that of its node.
 */
import { type Allotment, allotSlots } from './allot.ts';
import type { Group } from './evidence.ts';
import type { Facts } from './facts.ts';
import type { ReadyJob } from './ready-job.ts';
import type { Runner } from './runners.ts';

/** The slots of the groups, and the runners that cannot start and are in the way. */
export interface Places {
  readonly allotments: ReadonlyMap<Group, Allotment>;
  readonly overdue: ReadonlySet<Runner>;
}

const NONE: ReadonlySet<Runner> = new Set();

/** As `allotSlots`. Where the cap holds jobs back, those whose runners are overdue come last. */
export function allotPlaces(queue: readonly ReadyJob[], facts: Facts): Places {
  const allotments = allotSlots(queue, facts);
  const late = [...facts.byGroup.values()].flatMap(({ runners }) => runners.filter((each) => isLate(each, facts)));
  // As in nearly all plans.
  if (late.length === 0) return { allotments, overdue: NONE };
  const short = groupsThatHoldBack(queue, allotments, facts);
  const overdue = new Set(late.filter((runner) => short.has(runner.group) || isNodesFault(runner)));
  const yields = ({ own }: ReadyJob): boolean =>
    own.length > 0 && own.every((runner) => overdue.has(runner) && short.has(runner.group));
  const inOrder = [...queue.filter((ready) => !yields(ready)), ...queue.filter(yields)];
  return { allotments: allotSlots(inOrder, facts), overdue };
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
