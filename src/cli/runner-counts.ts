import type { GroupSummary } from '../plan/decisions.ts';
import { count } from '../printable.ts';

type Count = 'busy' | 'waiting' | 'debugging' | 'spare';

/** `3 runners`, and what for: `1 busy, 2 for queued jobs`. */
export function runnerCounts(groups: readonly Pick<GroupSummary, Count>[]): {
  readonly runners: string;
  readonly uses: string;
} {
  const sum = (field: Count): number => groups.reduce((total, group) => total + group[field], 0);
  const [busy, waiting, debugging, spare] = [sum('busy'), sum('waiting'), sum('debugging'), sum('spare')];
  const uses = [
    `${busy} busy`,
    `${waiting} for queued jobs`,
    ...(debugging > 0 ? [`${debugging} debugging`] : []),
    ...(spare > 0 ? [`${spare} spare`] : []),
  ];
  return { runners: count(busy + waiting + debugging + spare, 'runner'), uses: uses.join(', ') };
}
