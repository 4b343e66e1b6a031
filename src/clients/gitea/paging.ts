/**
 * The arithmetic of reading a list that moves, page by page.
 *
 *   complete        every page counts the same total, and exactly that many different rows came
 *   drifted         the list moved: totals differ, but each page is as full as its own total says
 *   contradictory   a page holds more or fewer rows than its own total says, or a row came twice under one total. Either the answer is
 *                   wrong, or the list moved between two pages, or between the rows and their count
 *
 * The end of a list is decided by the body's `total_count`. `limit` is clamped to MAX_RESPONSE_ITEMS (default 50, an administrator may
 * choose 20), so a page with fewer rows than `limit` is not the last one. Headers are missing on runner lists and, up to 1.25, on job lists.
 *
 * A total that is too small would hide rows, and a hidden busy runner is deleted. It shows in two ways: more rows than the total, and
 * a full last page. After a full last page one more page is read, which must be empty. A total that equals the rows of a single page
 * below `limit` cannot be checked: nothing tells such a page from a short one.
 */
import type { ListPage } from './shapes.ts';

/** Rows asked for per page: Gitea's default maximum. */
export const PAGE_LIMIT = 50;
/** More rows than this are not read; Gitea would need minutes, and the cap of any group is far below. */
export const MOST_ROWS = 20_000;
/** Of a longer list of jobs that wait, so many pages at its old end are read, and as many at its new end. */
const PAGES_OF_END = 100;

export type PassVerdict = 'complete' | 'drifted' | 'contradictory';

/** Numbers of the pages after the first; its number of rows is the page size that the server really gives. */
export function pagesAfter(first: ListPage<unknown>): readonly number[] {
  return range(2, lastPage(first));
}

/** The same for a list of which both ends will do. */
export function pagesOfEnds(first: ListPage<unknown>): readonly number[] {
  if (!isLong(first)) return pagesAfter(first);
  const last = lastPage(first);
  return [...range(2, PAGES_OF_END), ...range(last - PAGES_OF_END + 1, last)];
}

/** True when the ends of a list are not all of it. */
export function isLong(first: ListPage<unknown>): boolean {
  return lastPage(first) > 2 * PAGES_OF_END;
}

function lastPage({ rows: { length: size }, total }: ListPage<unknown>): number {
  return size === 0 ? 1 : Math.ceil(total / size);
}

function range(from: number, to: number): readonly number[] {
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index);
}

/** True when the last page is full, so that only an empty page after it shows the end of the list. */
export function endIsOpen(pages: readonly ListPage<unknown>[]): boolean {
  const size = pages[0]?.rows.length ?? 0;
  const last = pages.at(-1)?.rows.length ?? 0;
  return last > 0 && last >= (pages.length > 1 ? size : PAGE_LIMIT);
}

/** Judges one reading of all pages, or of the ends of a long list, in page order. The ends are never `complete`. */
export function judgePass(pages: readonly ListPage<{ readonly id: number }>[]): PassVerdict {
  const size = pages[0]?.rows.length ?? 0;
  const totals = new Set(pages.map(({ total }) => total));
  if (totals.size === 1 && countRows(pages) === Math.max(...totals) && idsOf(pages).size === Math.max(...totals)) {
    return 'complete';
  }
  const [first] = pages;
  const numbers = first && isLong(first) ? [1, ...pagesOfEnds(first)] : undefined;
  const consistent = pages.every(
    ({ rows, total }, index) => rows.length === expectedRows(numbers?.[index] ?? index + 1, size, total),
  );
  const isNew = totals.size > 1 || (numbers !== undefined && idsOf(pages).size === countRows(pages));
  return consistent && isNew ? 'drifted' : 'contradictory';
}

/** True when one reading holds more rows than any of its pages counts. */
export function exceedsTotal(pages: readonly ListPage<unknown>[]): boolean {
  return countRows(pages) > Math.max(...pages.map(({ total }) => total));
}

/** The different rows of a reading. */
export function idsOf(pages: readonly ListPage<{ readonly id: number }>[]): ReadonlySet<number> {
  return new Set(pages.flatMap(({ rows }) => rows.map(({ id }) => id)));
}

/** All rows of a reading; one that came twice counts twice. */
export function countRows(pages: readonly ListPage<unknown>[]): number {
  return pages.reduce((sum, { rows }) => sum + rows.length, 0);
}

function expectedRows(page: number, size: number, total: number): number {
  if (size === 0) return total;
  return Math.min(size, Math.max(0, total - (page - 1) * size));
}
