/** The rule by which `npm run bench:guard` says that a start has become slower (bench/guard-rule.ts). */
import { expect, test } from 'vitest';
import { LIMIT, regressions } from '../bench/guard-rule.ts';

const NAME = 'generate / node -e 0';
const found = (ratios: readonly number[], committed: number) => regressions([{ name: NAME, ratios, committed }]).length;

test.each<[string, readonly number[], number]>([
  ['as before', [3, 3.1, 2.9, 3, 3], 0],
  ['a little slower', [3.4, 3.5, 3.4, 3.5, 3.5], 0],
  ['slower in some pairs, as on a busy machine', [3, 9, 3.1, 8, 7], 0],
  ['quicker', [1, 1, 1, 1, 1], 0],
  ['slower in all pairs', [4.2, 4, 4.1, 9, 4.3], 1],
  ['that was not measured', [], 1],
])('a start %s (ratios %j) is told of %i times', (_name, ratios, expected) => {
  expect(found(ratios, 3)).toBe(expected);
});

test.each([Number.NaN, 0])('a start of which nothing was committed (%d) is told of', (committed) => {
  expect(found([3, 3, 3], committed)).toBe(1);
});

test('a start that is just at the limit is not told of', () => {
  expect(found([3 * LIMIT, 3 * LIMIT, 3 * LIMIT], 3)).toBe(0);
});
