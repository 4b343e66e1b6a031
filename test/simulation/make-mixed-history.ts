/**
 * Makes a history of the mixed kind from a seed: the warm one, in which runners of failed CI jobs also stay for a look, and single groups
 * cannot be looked at for a while. Each in half of all histories. Same seed, same history.
 */
import type { Act, History } from './history.ts';
import { makeGroupOutages } from './make-apart-history.ts';
import { withFailures } from './make-kept-history.ts';
import { LARGEST_POOL, makeWarmHistory } from './make-warm-history.ts';
import { Random } from './random.ts';
import { ELSEWHERE } from './stage.ts';

export function makeMixedHistory(seed: number): History {
  const random = new Random(seed, 'mixed');
  const base = withGroupChanges(makeWarmHistory(seed), seed);
  const history = random.chance(0.5) ? withFailures(base, random) : base;
  if (random.chance(0.5)) return history;
  const outages = makeGroupOutages(history.groups, random, base.patienceS - 14_400);
  return { ...history, troubles: [...history.troubles, ...outages] };
}

/** A group moves, and half of its people with it; a pool gets another size. Each in a tenth of all histories. */
function withGroupChanges(history: History, seed: number): History {
  const arrivalsS = Math.max(0, ...history.pushes.map(({ atS }) => atS));
  const [first] = history.groups;
  if (!first) return history;
  const pool = new Random(seed, 'pool');
  const size: readonly Act[] = pool.chance(0.1)
    ? [{ atS: pool.seconds(0, arrivalsS), kind: 'pool', group: first.name, minIdle: pool.whole(0, LARGEST_POOL) }]
    : [];
  const random = new Random(seed, 'move');
  const acts = [...history.acts, ...size];
  if (!random.chance(0.1)) return { ...history, acts: acts.sort(byTime) };
  const atS = random.seconds(0, arrivalsS);
  const pushes = history.pushes.map((push) =>
    push.atS > atS && random.chance(0.5) ? { ...push, repo: `${ELSEWHERE}/app` } : push,
  );
  return { ...history, pushes, acts: [...acts, { atS, kind: 'move' as const, group: first.name }].sort(byTime) };
}

function byTime(a: Act, b: Act): number {
  return a.atS - b.atS;
}
