/** Counts the runners of groups. */
import type { GroupSummary } from '../planner/decisions.ts';
import { count } from '../shared/printable.ts';

/** Uses of a group's runners. */
type Use = 'busy' | 'waiting' | 'debugging' | 'spare' | 'warm';

/** Returns the number of all runners of a group, of any use. */
export function runnersIn({ busy, waiting, debugging, spare, warm }: Pick<GroupSummary, Use>): number {
  return busy + waiting + debugging + spare + warm;
}

/** `runners`: `3 runners`. `uses`: `1 busy, 2 for queued jobs`. */
export function runnerCounts(groups: readonly Pick<GroupSummary, Use>[]) {
  const sum = (field: Use): number => groups.reduce((total, group) => total + group[field], 0);
  const otherUses = (['debugging', 'spare', 'warm'] as const).flatMap((use) =>
    sum(use) > 0 ? [`${sum(use)} ${use}`] : [],
  );
  const uses = [`${sum('busy')} busy`, `${sum('waiting')} for queued jobs`, ...otherUses];
  const runners = groups.reduce((total, group) => total + runnersIn(group), 0);
  return { runners: count(runners, 'runner'), uses: uses.join(', ') };
}
