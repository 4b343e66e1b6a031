/** The sums by which histories are judged: each figure is counted by hand here, and each bar can be missed. */
import { expect, it } from 'vitest';
import { missedBars } from './bars.ts';
import { KIND_NAMES } from './kinds.ts';
import type { Outcome } from './run.ts';
import {
  addOutcome,
  addTallies,
  emptyTallies,
  emptyTally,
  type Figures,
  figuresOf,
  formatTable,
  quantileS,
  type Tally,
} from './tally.ts';

const waits = (...seconds: readonly number[]) => new Map(seconds.map((each, i) => [i + 1, each * 1000]));

function outcome(waitMsOf: ReadonlyMap<number, number>, over: Partial<Outcome> = {}): Outcome {
  return {
    breaches: [],
    waitsMs: [...waitMsOf.values()],
    waitMsOf,
    takenByStatics: 0,
    stays: [],
    pods: [],
    needless: 0,
    needlessWarm: 0,
    exchanged: 0,
    reclassed: 0,
    capRaces: 0,
    overRepository: 0,
    prunedAtWork: 0,
    killed: 0,
    killedAtDefault: 0,
    story: [],
    ...over,
  };
}

const BAD = outcome(waits(100, 20, 30, 40), {
  breaches: [
    { law: 'cap', atMs: 0, what: '' },
    { law: 'unserved', atMs: 0, what: '' },
  ] as unknown as Outcome['breaches'],
  needless: 2,
  needlessWarm: 2,
  exchanged: 3,
  capRaces: 5,
  overRepository: 2,
  prunedAtWork: 1,
  killed: 2,
  killedAtDefault: 1,
  pods: [1, 2, 3, 4, 5, 6] as unknown as Outcome['pods'],
});
const EXACT = outcome(waits(10, 20, 91, 100), { needless: 1 });

function filled(): { readonly ours: Tally; readonly exact: Tally; readonly all: ReturnType<typeof emptyTallies> } {
  const all = emptyTallies();
  addOutcome(all.exact, EXACT, 7, EXACT);
  addOutcome(all['ours, live Jobs'], BAD, 7, EXACT);
  return { all, ours: all['ours, live Jobs'], exact: all.exact };
}

it('one outcome is added up, and its jobs are compared with the exact policy’s', () => {
  expect(filled().ours).toEqual({
    breaches: { cap: 1, 'double-spawn': 0, unserved: 1, floor: 0 },
    examples: { cap: 7, unserved: 7 },
    waitsMs: [100_000, 20_000, 30_000, 40_000],
    needless: 2,
    needlessWarm: 2,
    exchanged: 3,
    prunedAtWork: 1,
    killed: 2,
    killedAtDefault: 1,
    capRaces: 5,
    podCount: 6,
    overRepository: 2,
    paired: 4,
    later: 1,
    // 61 s; the other one, by 60 s exactly, does not count.
    earlier: 1,
  });
});

it('one outcome counts as later from more than a minute on', () => {
  const { exact } = emptyTallies();
  addOutcome(exact, outcome(waits(60, 60.001)), 1, outcome(waits(0, 0)));
  expect(exact).toMatchObject({ paired: 2, later: 1, earlier: 0 });
});

it('compares only jobs that both served, and none without an exact outcome', () => {
  const { exact } = emptyTallies();
  addOutcome(exact, outcome(waits(100, 100)), 1, outcome(waits(0)));
  addOutcome(exact, outcome(waits(100, 100)), 1);
  expect(exact).toMatchObject({ paired: 1, later: 1 });
});

it('tallies of several blocks are added, and the smallest seed is the example', () => {
  const sum = filled().all;
  const other = emptyTallies();
  addOutcome(other['ours, live Jobs'], BAD, 3, EXACT);
  addTallies(sum, other);
  addTallies(sum, emptyTallies());

  expect(sum['ours, live Jobs']).toMatchObject({
    breaches: { cap: 2, 'double-spawn': 0, unserved: 2 },
    examples: { cap: 3, unserved: 3 },
    needless: 4,
    paired: 8,
    podCount: 12,
  });
  expect(sum['ours, live Jobs'].waitsMs).toHaveLength(8);
  expect(sum['ours, live Jobs'].examples).not.toHaveProperty('double-spawn');
  addTallies(other, filled().all);
  expect(other['ours, live Jobs'].examples).toEqual({ cap: 3, unserved: 3 });
  const empty = emptyTallies();
  addTallies(empty, other);
  expect(empty['ours, live Jobs'].examples).toEqual({ cap: 3, unserved: 3 });
});

it('figures are shares of the CI jobs', () => {
  const { ours, exact } = filled();
  expect(figuresOf(ours, exact)).toEqual({
    prunedAtWork: 250,
    killedAtDefault: 1,
    overCap: 1,
    doubleSpawns: 0,
    neverServed: 1,
    p99: 1,
    later: 25,
    needless: 50,
    needlessWarm: 50,
    beyondLimit: 50,
    gaps: 0,
  });
});

it('figures divide by one job at least', () => {
  const { ours } = filled();
  const { 'ours, Gitea alone': none } = emptyTallies();
  expect(figuresOf({ ...none, prunedAtWork: 1, later: 1, needless: 1 }, ours)).toMatchObject({
    prunedAtWork: 1000,
    later: 100,
    needless: 100,
    p99: 0,
  });
});

it('figures take a quantile in seconds by rank, of no values 0', () => {
  const hundred = Array.from({ length: 100 }, (_, i) => (100 - i) * 1000);
  expect([quantileS(hundred, 0.5), quantileS(hundred, 0.99), quantileS(hundred, 1), quantileS([], 0.5)]).toEqual([
    51, 100, 100, 0,
  ]);
});

it('figures compare the 99th percentiles', () => {
  const { exact } = filled();
  const all = emptyTallies();
  const ours = all['ours, live Jobs'];
  addOutcome(ours, outcome(waits(...Array.from({ length: 200 }, (_, i) => i + 1))), 1);
  expect(figuresOf(ours, exact).p99).toBe(1.99);
  expect(figuresOf(exact, ours).p99).toBeCloseTo(100 / 199, 10);
  const table = formatTable(all, 1, ['ours, live Jobs']);
  expect(table).toContain('| 199 s |');
  expect(table).toContain('seeds 1 to 1.');
});

it('the table divides by one job at least', () => {
  const all = emptyTallies();
  addOutcome(all.exact, outcome(waits(5)), 1);
  addOutcome(all['ours, live Jobs'], outcome(waits(5), { needless: 1 }), 1);
  expect(formatTable(all, 1, ['ours, live Jobs'])).toContain("| needless runners, less exact's | 100.0 % |");
});

it('the table has a column for each policy', () => {
  const { all } = filled();
  expect(formatTable(all, 12, ['exact', 'ours, live Jobs'], 5001).split('\n')).toEqual([
    '12 histories, seeds 5001 to 5012.',
    '',
    '| | exact | ours, live Jobs |',
    '|---|---:|---:|',
    '| CI jobs | 4 | 4 |',
    '| pruned while busy | 0 | 1 |',
    '| pruned while busy, per 1000 CI jobs | 0.00 | 250.00 |',
    '| pruned and killed | 0 | 2 |',
    '| killed at the default grace period | 0 | 1 |',
    '| cap exceeded | 0 | 1 |',
    '| cap exceeded until the next sync | 0 | 4 |',
    '| double spawns | 0 | 0 |',
    '| never served | 0 | 1 |',
    '| wait p50 | 91 s | 40 s |',
    '| wait p99 | 100 s | 100 s |',
    "| wait p99 ÷ exact's | 1.000 | 1.000 |",
    '| > 60 s later than exact | 0.0 % | 25.0 % |',
    '| > 60 s earlier than exact | 0.0 % | 25.0 % |',
    '| needless runners per 100 CI jobs | 25.0 % | 50.0 % |',
    "| needless runners, less exact's | 0.0 % | 25.0 % |",
    '| exchanged runners | 0 | 3 |',
  ]);
});

const good: Figures = { ...figuresOf(emptyTally(), emptyTally()), p99: 1 };

it.each(KIND_NAMES)('good figures keep each bar of %s histories', (kind) => {
  expect(missedBars(kind, 'ours, live Jobs', good)).toEqual([]);
  expect(missedBars(kind, 'ours, Gitea alone', good)).toEqual([]);
});

it.each(Object.keys(good) as (keyof Figures)[])('a bar is missed by %s', (name) => {
  expect(missedBars('warm', 'ours, live Jobs', { ...good, [name]: 30 })).toHaveLength(1);
  expect(missedBars('warm', 'ours, live Jobs', { ...good, [name]: Number.NaN })).toHaveLength(1);
});
