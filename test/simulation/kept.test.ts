/**
 * Runners that stay after their CI job failed, over histories made from seeds: they break no law, nobody ends them early, and they end in
 * time. `SIM_KEPT=500` runs as many as it says.
 */
import { describe, expect, it } from 'vitest';
import { type GroupSpec, groupSpec, push, quietHistory } from './history.ts';
import { makeKeptHistory } from './kinds.ts';
import { POLICIES } from './policies/index.ts';
import { type Outcome, runHistory } from './run.ts';
import { addOutcome, emptyTallies, figuresOf } from './tally.ts';

const SEEDS = Array.from({ length: Number(process.env['SIM_KEPT'] ?? 200) }, (_, nth) => nth + 1);
const NAME = 'ours, live Jobs';

/** Wakes are lost and syncs fail in these histories: a stay ends with the second sync after its time that comes through. */
const LATE_MS = 120_000;

describe('in histories with failing CI jobs', () => {
  const outcomes = SEEDS.map((seed): readonly [seed: number, ours: Outcome, exact: Outcome] => {
    const history = makeKeptHistory(seed);
    return [seed, runHistory(history, POLICIES[NAME]), runHistory(history, POLICIES.exact)];
  });
  const stays = outcomes.flatMap(([seed, ours]) => ours.stays.map((stay) => ({ seed, ...stay })));

  it('runners stay, after failures and for a moment after cancels', () => {
    expect(stays.filter(({ failed }) => failed).length).toBeGreaterThan(SEEDS.length);
    expect(stays.filter(({ failed }) => !failed).length).toBeGreaterThan(0);
  });

  it('the cap holds with those that stay, no job waits for ever, and nothing is started twice', () => {
    expect(outcomes.flatMap(([seed, { breaches }]) => breaches.map((breach) => ({ seed, ...breach })))).toEqual([]);
  });

  it('no runner is killed at work', () => {
    expect(outcomes.filter(([, { killed }]) => killed > 0)).toEqual([]);
  });

  it('no runner goes before its time', () => {
    expect(stays.filter(({ earlyMs, failed }) => failed && earlyMs > 0)).toEqual([]);
  });

  it('each runner goes soon after its time, and at once when its CI job did not fail', () => {
    expect(stays.filter(({ earlyMs, failed }) => failed && earlyMs < -LATE_MS)).toEqual([]);
    expect(stays.filter(({ waitedMs, failed }) => !failed && waitedMs > LATE_MS)).toEqual([]);
  });

  it('jobs wait no longer than under the exact policy, and as few runners are needless', () => {
    const tallies = emptyTallies();
    for (const [seed, ours, exact] of outcomes) {
      addOutcome(tallies[NAME], ours, seed, exact);
      addOutcome(tallies.exact, exact, seed, exact);
    }
    const figures = figuresOf(tallies[NAME], tallies.exact);

    expect(figures.p99).toBeLessThanOrEqual(1.05);
    expect(figures.needless).toBeLessThanOrEqual(3);
  });
});

const pushes = [{ ...push(1, [30]), fails: [true] }];
const outcomeOf = (over: Partial<GroupSpec>): Outcome =>
  runHistory(quietHistory({ pushes, groups: [groupSpec(over)] }), POLICIES[NAME]);

it('the runner of a failing CI job stays as long as its group says, although no job is queued any more', () => {
  const { stays, pods } = outcomeOf({ keepFailedS: 600 });

  expect(stays).toHaveLength(1);
  expect(stays[0]?.waitedMs).toBeGreaterThan(600_000 - 1_000);
  expect(stays[0]?.waitedMs).toBeLessThan(600_000 + 15_000);
  expect(pods).toHaveLength(1);
});

it('the runner of a failing CI job ends with it in a group that keeps none', () => {
  expect(outcomeOf({}).stays).toEqual([]);
});
