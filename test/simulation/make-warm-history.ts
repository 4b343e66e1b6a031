/**
 * Makes a history of the warm kind from a seed: the wide one, whose groups keep pools. Same seed, same history. The measure, `exact`, keeps
 * none, so the wait times of the two show what a pool buys.
 */
import type { GroupSpec, History } from './history.ts';
import { makeWideHistory } from './make-wide-history.ts';
import { Random } from './random.ts';

export const LARGEST_POOL = 4;

export function makeWarmHistory(seed: number): History {
  const random = new Random(seed, 'warm');
  const base = makeWideHistory(seed);
  // The first group always has a pool, the others in half of all histories.
  const withPool = (group: GroupSpec, nth: number): GroupSpec =>
    nth === 0 || random.chance(0.5) ? { ...group, minIdle: Math.min(group.cap, random.whole(1, LARGEST_POOL)) } : group;
  return { ...base, groups: base.groups.map(withPool) };
}
