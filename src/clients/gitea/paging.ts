/**
 * The arithmetic of reading a list that moves, page by page.
 *
 *   complete        every page counts the same total, and exactly that many different rows came
 *   drifted         the list moved: totals differ, but each page is as full as its own total says
 *   contradictory   a page does not fit its own total, or a row came twice under one total
 *
 * The body's `total_count` tells the end of a list. A server may give smaller pages than asked for (MAX_RESPONSE_ITEMS),
 * so a page with fewer rows than `limit` need not be the last one.
 *
 * A total that is too small would hide rows, and a hidden busy runner is deleted. So after a full last page one more is
 * read, which must be empty. A total that equals a single page below `limit` cannot be checked.
 */
import type { ListPage } from './shapes.ts';

/** Rows asked for per page: Gitea's default maximum. */
export const PAGE_LIMIT = 50;
/** Most rows of a list. A longer list would take Gitea minutes, and the cap of any group is far below. */
export const MOST_ROWS = 20_000;
/** A longer list of jobs that wait: so many pages at its old end are read, and as many at its new end. */
const PAGES_OF_END = 100;

type PassVerdict = 'complete' | 'drifted' | 'contradictory';

/** Numbers of the pages after the first, whose rows tell the server's page size. Of a long list its ends may do. */
export function pagesAfter(first: ListPage<unknown>, endsWillDo = false): readonly number[] {
  const last = lastPage(first);
  if (!endsWillDo || !isLong(first)) return range(2, last);
  return [...range(2, PAGES_OF_END), ...range(last - PAGES_OF_END + 1, last)];
}

/** True if the ends of a list are not all of it. */
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
  const { least, most, arrived, different } = countRows(pages);
  if (least === most && arrived === most && different === most) return 'complete';
  const [first] = pages;
  const numbers = first && isLong(first) ? [1, ...pagesAfter(first, true)] : undefined;
  const consistent = pages.every(
    ({ rows, total }, index) => rows.length === expectedRows(numbers?.[index] ?? index + 1, size, total),
  );
  const isNew = least < most || (numbers !== undefined && different === arrived);
  return consistent && isNew ? 'drifted' : 'contradictory';
}

/** Counts a reading: lowest and highest total of its pages, all rows, and different rows. */
export function countRows(pages: readonly ListPage<{ readonly id: number }>[]) {
  const totals = pages.map(({ total }) => total);
  const ids = pages.flatMap(({ rows }) => rows.map(({ id }) => id));
  return { least: Math.min(...totals), most: Math.max(...totals), arrived: ids.length, different: new Set(ids).size };
}

function expectedRows(page: number, size: number, total: number): number {
  if (size === 0) return total;
  return Math.min(size, Math.max(0, total - (page - 1) * size));
}
