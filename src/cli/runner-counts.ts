import type { GroupSummary } from '../planner/decisions.ts';
import { count } from '../shared/printable.ts';

/** What the runners of a group are for. */
type Use = 'busy' | 'waiting' | 'debugging' | 'spare' | 'warm';

/** All of a group, whatever they are for. */
export function runnersIn({ busy, waiting, debugging, spare, warm }: Pick<GroupSummary, Use>): number {
  return busy + waiting + debugging + spare + warm;
}

/** `3 runners`, and what for: `1 busy, 2 for queued jobs`. */
export function runnerCounts(groups: readonly Pick<GroupSummary, Use>[]): {
  readonly runners: string;
  readonly uses: string;
} {
  const sum = (field: Use): number => groups.reduce((total, group) => total + group[field], 0);
  const [busy, waiting, debugging] = [sum('busy'), sum('waiting'), sum('debugging')];
  const [spare, warm] = [sum('spare'), sum('warm')];
  const uses = [
    `${busy} busy`,
    `${waiting} for queued jobs`,
    ...(debugging > 0 ? [`${debugging} debugging`] : []),
    ...(spare > 0 ? [`${spare} spare`] : []),
    ...(warm > 0 ? [`${warm} warm`] : []),
  ];
  return { runners: count(runnersIn({ busy, waiting, debugging, spare, warm }), 'runner'), uses: uses.join(', ') };
}
