import type { GroupSummary } from '../plan/decisions.ts';
import { count } from '../printable.ts';

/** `3 runners`, and what for: `1 busy, 2 for queued jobs`. */
export function runnerCounts(groups: readonly Pick<GroupSummary, 'busy' | 'waiting' | 'spare'>[]): {
  readonly runners: string;
  readonly uses: string;
} {
  const sum = (field: 'busy' | 'waiting' | 'spare'): number => groups.reduce((total, group) => total + group[field], 0);
  const [busy, waiting, spare] = [sum('busy'), sum('waiting'), sum('spare')];
  const uses = [`${busy} busy`, `${waiting} for queued jobs`, ...(spare > 0 ? [`${spare} spare`] : [])];
  return { runners: count(busy + waiting + spare, 'runner'), uses: uses.join(', ') };
}
