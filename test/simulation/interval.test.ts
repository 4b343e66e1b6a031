/** Bars of cost with new seeds: chance does not miss them, and a worse planner does. */
import { expect, it } from 'vitest';
import { missedBars } from './bars.ts';
import { leastByChance } from './interval.ts';
import { Random } from './random.ts';
import { addTally, emptyTally, figuresOf, type Tally } from './tally.ts';

/** 20 parts of 15 histories with 50 CI jobs, of which so many in 1,000 lose their runner at work. */
function partsWith(prunedOf1000: number, seed: number) {
  const random = new Random(seed);
  return Array.from({ length: 20 }, () => {
    const [ours, exact] = [emptyTally(), emptyTally()];
    for (let job = 0; job < 750; job += 1) {
      const waitMs = random.whole(1, 600_000);
      exact.waitsMs.push(waitMs);
      ours.waitsMs.push(random.chance(0.01) ? waitMs + 20_000 : waitMs);
      if (random.chance(prunedOf1000 / 1000)) ours.prunedAtWork += 1;
    }
    return { ours, exact };
  });
}

function missedBy(prunedOf1000: number, seed: number, more: Partial<Tally> = {}) {
  const parts = partsWith(prunedOf1000, seed);
  const [ours, exact] = [emptyTally(), emptyTally()];
  Object.assign(parts[0]?.ours ?? {}, more);
  for (const part of parts) {
    addTally(ours, part.ours);
    addTally(exact, part.exact);
  }
  return missedBars('mixed', 'ours, live Jobs', figuresOf(ours, exact), leastByChance(parts));
}

const seeds = Array.from({ length: 12 }, (_, seed) => seed);

it('a bar is not missed by chance, in 300 histories of a planner that keeps it', () => {
  expect(seeds.flatMap((seed) => missedBy(1.1, seed))).toEqual([]);
});

it('a bar is missed by a planner that prunes seven times as many', () => {
  for (const seed of seeds) expect(missedBy(8, seed)).toEqual([expect.stringContaining('prunedAtWork is')]);
});

it('a bar is missed by one broken law, however seldom that is', () => {
  const breaches = { ...emptyTally().breaches, cap: 1 };

  expect(missedBy(0, 1, { breaches })).toEqual([expect.stringContaining('overCap is 1.000')]);
});
