/** Tests the arithmetic of paging. Pages of a real list: moving-lists.test.ts. */
import { describe, expect, it } from 'vitest';
import { endIsOpen, isLong, judgePass, MOST_ROWS, PAGE_LIMIT, pagesAfter } from '../../../src/clients/gitea/paging.ts';

const upFrom = (first: number, count: number) => Array.from({ length: count }, (_, index) => first + index);
const page = (ids: readonly number[], total: number) => ({ rows: ids.map((id) => ({ id })), total });

it('a page asks for 50 rows, and a list may have 20,000', () => {
  expect([PAGE_LIMIT, MOST_ROWS]).toEqual([50, 20_000]);
});

describe('of a list of more than 200 pages', () => {
  it.each([
    [3, false, [2, 3]],
    [200, false, upFrom(2, 199)],
    [201, true, [...upFrom(2, 99), ...upFrom(102, 100)]],
  ])('%i pages: only the ends will do: %s', (pages, ends, numbers) => {
    const first = page([1], pages);

    expect(isLong(first)).toBe(ends);
    expect(pagesAfter(first, true)).toEqual(numbers);
    // The whole list is read unless the ends will do.
    expect(pagesAfter(first)).toEqual(upFrom(2, pages - 1));
  });

  /** Both ends of 202 pages of two rows. The last page has one row. */
  const ends = [...upFrom(1, 100), ...upFrom(103, 99)].map((number) => page([2 * number, 2 * number + 1], 403));

  it('the ends are never complete, and a row that came twice contradicts', () => {
    expect(judgePass([...ends, page([1_000], 403)])).toBe('drifted');
    expect(judgePass([...ends, page([2], 403)])).toBe('contradictory');
    expect(judgePass([...ends, page([1_000, 1_001], 403)])).toBe('contradictory');
  });
});

it.each([
  [0, 0, []],
  [50, 50, []],
  [3, 2, []],
  [50, 51, [2]],
  [20, 120, [2, 3, 4, 5, 6]],
  [0, 7, []],
])('a first page with %i of %i rows makes paging ask for the pages %j', (rows, total, pages) => {
  expect(pagesAfter(page(upFrom(1, rows), total))).toEqual(pages);
});

it.each([
  ['contradictory', []],
  ['complete', [page([], 0)]],
  ['complete', [page([1, 2], 3), page([3], 3)]],
  ['complete', [page([1, 2], 2), page([], 2)]],
  ['contradictory', [page([1, 2, 3], 2)]],
  ['contradictory', [page([1, 2], 2), page([3], 2)]],
  ['contradictory', [page([1, 2], 2), page([1, 2], 2)]],
  ['contradictory', [page([1, 2], 0)]],
  ['contradictory', [page([1, 2], 1), page([], 2)]],
  ['contradictory', [page([1, 2], 4)]],
  ['contradictory', [page([], 2)]],
  ['contradictory', [page([], 0), page([], 3)]],
  ['contradictory', [page([1, 2], 4), page([3], 4)]],
  ['contradictory', [page([1, 2], 4), page([2, 3], 4)]],
  ['contradictory', [page([1, 2], 4), page([], 3)]],
  ['drifted', [page([1], 2), page([2], 3)]],
  ['drifted', [page([1, 2], 4), page([4], 3)]],
  ['drifted', [page([1, 2], 4), page([2, 3], 5)]],
  ['drifted', [page([1, 2], 4), page([], 2)]],
  ['drifted', [page([1, 2], 2), page([3], 3)]],
  ['drifted', [page([1, 2], 3), page([3, 4], 4)]],
])('paging judges as %s: %j', (verdict, pages) => {
  expect(judgePass(pages)).toBe(verdict);
});

it.each([
  [false, []],
  [false, [page([], 0)]],
  [false, [page([], 5), page([], 5)]],
  [true, [page([1], 2), page([2], 2)]],
  [false, [page([1], 1)]],
  [false, [page([1, 2], 2)]],
  [false, [page(upFrom(1, 49), 49)]],
  [true, [page(upFrom(1, 50), 50)]],
  [true, [page(upFrom(1, 50), 1)]],
  [true, [page([1, 2], 4), page([3, 4], 4)]],
  [false, [page([1, 2], 3), page([3], 3)]],
])('paging says whether the end of a list is open (%j): %j', (isOpen, pages) => {
  expect(endIsOpen(pages)).toBe(isOpen);
});
