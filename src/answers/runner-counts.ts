import type { GroupSummary } from '../planner/decisions.ts';
import { count } from '../shared/printable.ts';

/** What the runners of a group are for. */
type Use = 'busy' | 'waiting' | 'debugging' | 'spare' | 'warm';

/** All runners of a group, whatever they are for. */
export function runnersIn({ busy, waiting, debugging, spare, warm }: Pick<GroupSummary, Use>): number {
  return busy + waiting + debugging + spare + warm;
}

/** `runners`: `3 runners`. `uses`: `1 busy, 2 for queued jobs`. */
export function runnerCounts(groups: readonly Pick<GroupSummary, Use>[]) {
  const sum = (field: Use): number => groups.reduce((total, group) => total + group[field], 0);
  const others = (['debugging', 'spare', 'warm'] as const).flatMap((use) =>
    sum(use) > 0 ? [`${sum(use)} ${use}`] : [],
  );
  const uses = [`${sum('busy')} busy`, `${sum('waiting')} for queued jobs`, ...others];
  const runners = groups.reduce((total, group) => total + runnersIn(group), 0);
  return { runners: count(runners, 'runner'), uses: uses.join(', ') };
}
