/** Looks of `serve` that are up to five seconds old, over histories made from seeds: no law is broken by them (law P61). */
import { describe, expect, it } from 'vitest';
import { IS_LONG } from '../support/long.ts';
import { KINDS } from './kinds.ts';
import { OURS_KEPT } from './policies/ours.ts';
import { runHistory } from './run.ts';

const SEEDS = Array.from({ length: IS_LONG ? 30 : 4 }, (_, nth) => nth + 1);

describe.each(['ordinary', 'wide', 'mixed'] as const)('with kept looks, in %s histories', (kind) => {
  const outcomes = SEEDS.map((seed) => ({ seed, ...runHistory(KINDS[kind](seed), OURS_KEPT) }));

  it('each job is served, no cap is passed and nothing is started twice', () => {
    expect(outcomes.flatMap(({ seed, breaches }) => breaches.map((breach) => ({ seed, ...breach })))).toEqual([]);
  });

  it('no runner is killed that has the default grace period', () => {
    expect(outcomes.filter(({ killedAtDefault }) => killedAtDefault > 0)).toEqual([]);
  });
});
