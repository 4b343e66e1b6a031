/**
 * The arithmetic of reading a list that moves, page by page.
 *
 *   complete   every page counts the same total and that many different rows came
 *   drifted    the list moved: totals differ, but each page was as full as its own total says
 *   short      a page held fewer rows than its own total says, or rows came twice under one total: the answer contradicts itself,
 *              or a row slipped across a page border while another one left
 *
 * The end of a list is decided by the body's `total_count` alone. `limit` is clamped to MAX_RESPONSE_ITEMS (default 50, an administrator may
 * choose 20), so a page with fewer rows than `limit` is not the last one; headers are missing on runner lists and, up to 1.25, on job lists.
 */
import type { Page } from './shapes.ts';

/** Rows asked for per page: Gitea's default maximum. */
export const PAGE_LIMIT = 50;
/** More rows than this are not read; Gitea would need minutes, and the cap of any group is far below. */
export const MOST_ROWS = 20_000;

export type PassVerdict = 'complete' | 'drifted' | 'short';

/** Numbers of the pages after the first; its number of rows is the page size that the server really gives. */
export function pagesAfter(first: Page<unknown>): readonly number[] {
  const size = first.rows.length;
  if (size === 0 || first.total <= size) return [];
  return Array.from({ length: Math.ceil(first.total / size) - 1 }, (_, index) => index + 2);
}

/** Judges one reading of all pages, in page order. */
export function judgePass(pages: readonly Page<{ readonly id: number }>[]): PassVerdict {
  const size = pages[0]?.rows.length ?? 0;
  const totals = new Set(pages.map(({ total }) => total));
  const ids = new Set(pages.flatMap(({ rows }) => rows.map(({ id }) => id)));
  if (totals.size === 1 && ids.size >= Math.max(...totals)) return 'complete';
  const full = pages.every(({ rows, total }, index) => rows.length >= expectedRows(index + 1, size, total));
  return full && totals.size > 1 ? 'drifted' : 'short';
}

function expectedRows(page: number, size: number, total: number): number {
  if (size === 0) return total;
  return Math.min(size, Math.max(0, total - (page - 1) * size));
}

/** The last `count` page numbers of a list, without page 1. */
export function lastPages(first: Page<unknown>, count: number): readonly number[] {
  return pagesAfter(first).slice(-count);
}
