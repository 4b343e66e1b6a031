/**
 * Makes a history of the mixed kind from a seed: the warm one, in which runners of failed CI jobs also stay for a look, and single groups
 * cannot be looked at for a while. Each in half of all histories. Same seed, same history.
 */
import type { History } from './history.ts';
import { makeGroupOutages } from './make-apart-history.ts';
import { withFailures } from './make-kept-history.ts';
import { makeWarmHistory } from './make-warm-history.ts';
import { Random } from './random.ts';

export function makeMixedHistory(seed: number): History {
  const random = new Random(seed, 'mixed');
  const base = makeWarmHistory(seed);
  const history = random.chance(0.5) ? withFailures(base, random) : base;
  if (random.chance(0.5)) return history;
  const outages = makeGroupOutages(history.groups, random, base.patienceS - 14_400);
  return { ...history, troubles: [...history.troubles, ...outages] };
}
