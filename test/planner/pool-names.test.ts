/** The next name of a pool index (src/planner/idle.ts). */
import { expect, it } from 'vitest';
import { nextName } from '../../src/planner/idle.ts';
import { RING } from '../../src/planner/names.ts';

/** The ordinal of the next name when names with these ordinals are known. */
function next(known: readonly number[]): number {
  const names = new Set(known.map(String));
  return Number(
    nextName(
      (_, ordinal) => `${ordinal}`,
      1,
      (name) => names.has(name),
    ),
  );
}
const allBut = (free: number) => Array.from({ length: RING }, (_, ordinal) => ordinal).filter((each) => each !== free);

it.each<[string, readonly number[], number]>([
  ['begins the ring', [], 0],
  ['follows the known ones', [0, 1], 2],
  ['begins again behind the end of the ring', [RING - 1], 0],
  ['follows those with the most free names behind them, in the ring', [0, 70], 1],
  ['follows those with the most free names behind them, round its end', [40, 90], 91],
])('the next name of a pool index %s', (_, known, expected) => {
  expect(next(known)).toBe(expected);
});

it.each([0, 60, RING - 1])(
  'the next name of a pool index is no name that is known when only name %d is free',
  (free) => {
    expect(next(allBut(free))).toBe(free);
  },
);
