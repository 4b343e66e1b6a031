/** Tests docs/parity.md: its counts are those of its rows, and no row is there twice. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const STATES = ['partly', 'absent', 'cannot apply'] as const;
type State = (typeof STATES)[number];

interface Row {
  readonly id: string;
  readonly state: State;
}

const page = readFileSync('docs/parity.md', 'utf8');

/** `002-117 to 002-119, 002-121`: each id. */
function idsOf(cell: string): readonly string[] {
  return [...cell.matchAll(/(\d{3})-(\d+)(?: to \1-(\d+))?/g)].flatMap(([, seed = '', from = '', to = from]) =>
    Array.from({ length: Number(to) - Number(from) + 1 }, (_, nth) => {
      const number = String(Number(from) + nth).padStart(from.length, '0');
      return `${seed}-${number}`;
    }),
  );
}

const rows: readonly Row[] = page.split('\n').flatMap((line) => {
  const [, cell = '', second = ''] = line.split('|').map((each) => each.trim());
  if (!/^\d{3}-\d+/.test(cell)) return [];
  const state = STATES.find((each) => each === second) ?? 'cannot apply';
  return idsOf(cell).map((id) => ({ id, state }));
});

/** Rows of the table of counts: all, works, partly, absent, cannot apply. */
const counts = [...page.matchAll(/^\| (\d{3} .*|all) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$/gm)].map(
  ([, seed = '', ...numbers]) => ({ seed: seed.slice(0, 3), numbers: numbers.map(Number) }),
);

function countOf(seed: string, state: State): number {
  return rows.filter((row) => row.state === state && (seed === 'all' || row.id.startsWith(`${seed}-`))).length;
}

describe('docs/parity.md', () => {
  it('docs/parity.md has each row once', () => {
    const ids = rows.map(({ id }) => id);

    expect(ids.filter((id, nth) => ids.indexOf(id) !== nth)).toEqual([]);
  });

  it.each(counts)('docs/parity.md counts its rows: $seed', ({ seed, numbers: [all, works = 0, ...others] }) => {
    expect(others).toEqual(STATES.map((state) => countOf(seed, state)));
    expect(all).toBe(works + others.reduce((sum, each) => sum + each, 0));
  });

  it('docs/parity.md counts all seeds together', () => {
    const seeds = counts.filter(({ seed }) => seed !== 'all');
    const sums = counts[0]?.numbers.map((_, nth) => seeds.reduce((sum, { numbers }) => sum + (numbers[nth] ?? 0), 0));

    expect(seeds.length).toBe(5);
    expect(counts.find(({ seed }) => seed === 'all')?.numbers).toEqual(sums);
  });
});
