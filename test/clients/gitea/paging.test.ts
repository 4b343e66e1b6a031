/**
 * Tests the arithmetic of paging at its edges: ends of a long list, and pages without rows. Pages of a real list:
 * moving-lists.test.ts.
 */
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

describe('judges', () => {
  it.each([
    ['no page', [], 'contradictory'],
    ['a page that is not all', [page([1, 2], 4)], 'contradictory'],
    ['an empty list', [page([], 0)], 'complete'],
    ['no rows of a list that grew', [page([], 0), page([], 3)], 'contradictory'],
    ['pages of one row, of a list that grew', [page([1], 2), page([2], 3)], 'drifted'],
  ])('%s', (_, pages, verdict) => {
    expect(judgePass(pages)).toBe(verdict);
  });

  it.each([
    ['no page', [], false],
    ['pages without rows', [page([], 5), page([], 5)], false],
    ['full pages of one row', [page([1], 2), page([2], 2)], true],
    ['one page that is not full', [page([1], 1)], false],
  ])('whether the end is open: %s', (_, pages, isOpen) => {
    expect(endIsOpen(pages)).toBe(isOpen);
  });
});
