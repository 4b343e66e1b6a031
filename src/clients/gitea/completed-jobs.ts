/**
 * Reads completed jobs. They are evidence only: a missing row is not an error.
 *
 *   150 newest rows   in each look with a queued or running job: they tell which runner names are used up
 *   further rows      where nobody sees live Jobs (docs/adr/0019): back to the oldest active job, at most 1,500
 */
import type { Job } from '../../planner/evidence.ts';
import type { GiteaApi, Question } from './api.ts';
import type { Level } from './endpoints.ts';
import { type JobsById, jobsQuestion, keep, readJobs, readPage } from './lists.ts';
import { PAGE_LIMIT } from './paging.ts';
import { type ListPage, unreadableJob } from './shapes.ts';

/** More jobs than can end between two looks. */
const NEWEST_ROWS = 150;
/** Most older rows: enough for a past of several hundred jobs (docs/adr/0019). More would cost too many requests. */
const HISTORY_ROWS = 1_500;
/** How long before the oldest active job the past is read, ms: runners requested then may still be starting. */
const HISTORY_MARGIN_MS = 30 * 60_000;
/** Pages with the newest rows after the first, if the instance allows pages of full size (MAX_RESPONSE_ITEMS). */
const FURTHER_PAGES = Array.from({ length: NEWEST_ROWS / PAGE_LIMIT - 1 }, (_, index) => index + 2);

type CompletedList = Awaited<ReturnType<typeof readCompletedJobs>>;

/** Puts the newest completed jobs into `jobs`: `rows` of them. @param isEager requests all pages at once */
export async function readCompletedJobs(
  api: GiteaApi,
  level: Level,
  jobs: JobsById,
  { rows = NEWEST_ROWS, isEager = false } = {},
) {
  const question = jobsQuestion(level, ['completed']);
  const firstAsked = readCompletedPage(api, question, 1);
  const early = isEager ? FURTHER_PAGES.map((page) => readCompletedPage(api, question, page)) : [];
  // A failed page does no harm if it turns out not to be needed.
  for (const page of early) page.catch(() => undefined);
  const first = await firstAsked;
  // Up to Gitea 1.26 the newest rows stand on the last pages of most databases.
  const { sortsJobs: sorted } = await api.version();
  const pageNumbers = newestPages(first, sorted, 0, pagesFor(rows, first, sorted));
  const pageRequests = pageNumbers.map(
    (page) => early[FURTHER_PAGES.indexOf(page)] ?? readCompletedPage(api, question, page),
  );
  const pages = await Promise.all(pageRequests);
  for (const page of [first, ...pages]) keep(jobs, page.rows);
  return { question, first, sorted, pages };
}

/** True if unread pages may have jobs that completed since the oldest active one of `jobs` was created. */
export function lacksHistory(list: CompletedList, jobs: JobsById): boolean {
  const { first, sorted, pages } = list;
  if (newestPages(first, sorted, pages.length, 1).length === 0) return false;
  return !isBefore(pages.at(-1) ?? first, historyBegin(jobs));
}

/** Puts older completed jobs into `jobs`, back to the oldest active one. Each step doubles the pages read. */
export async function readHistory(api: GiteaApi, list: CompletedList, jobs: JobsById): Promise<void> {
  const sinceMs = historyBegin(jobs);
  const { question, first, sorted } = list;
  const pageCount = pagesFor(HISTORY_ROWS, first, sorted);
  let pages = list.pages;
  while (!isBefore(pages.at(-1) ?? first, sinceMs)) {
    const count = Math.min(Math.max(1, pages.length), pageCount - pages.length);
    const numbers = newestPages(first, sorted, pages.length, count);
    const furtherPages = await Promise.all(numbers.map((page) => readCompletedPage(api, question, page)));
    if (furtherPages.length === 0) return;
    // A job that is already listed as active stays so. If it has ended since, a runner is only kept for too long.
    const news = furtherPages.flatMap(({ rows }) => rows.filter(({ id }) => !jobs.has(id)));
    keep(jobs, news);
    pages = [...pages, ...furtherPages];
  }
}

function historyBegin(jobs: JobsById): number {
  let oldestMs = Number.POSITIVE_INFINITY;
  for (const { status, createdAtMs } of jobs.values()) {
    if (status === 'queued' || status === 'in_progress') oldestMs = Math.min(oldestMs, createdAtMs);
  }
  return oldestMs - HISTORY_MARGIN_MS;
}

function isBefore({ rows }: ListPage<Job>, ms: number): boolean {
  return rows.every(({ completedAtMs, createdAtMs }) => (completedAtMs ?? createdAtMs) < ms);
}

/** Returns how many pages after the first hold so many of the newest rows. */
function pagesFor(rows: number, { rows: { length: size } }: ListPage<Job>, sorted: boolean): number {
  return Math.ceil(rows / Math.max(1, size)) - (sorted ? 1 : 0);
}

/** Returns the numbers of `count` pages after the first, newest rows first, without the first `skip` of them. */
export function newestPages({ rows, total }: ListPage<unknown>, sorted: boolean, skip: number, count: number) {
  const last = Math.ceil(total / Math.max(1, rows.length));
  const pageCount = rows.length === 0 ? 0 : Math.max(0, last - 1 - skip);
  return Array.from({ length: Math.min(count, pageCount) }, (_, at) => (sorted ? 2 + skip + at : last - skip - at));
}

/** Reads a page of completed jobs. Gitea keeps all of them, so no number of rows is too large. */
function readCompletedPage(api: GiteaApi, question: Question, page: number): Promise<ListPage<Job>> {
  const reading = { question, read: readJobs(api), standIn: unreadableJob };
  return readPage(api, reading, page, Number.POSITIVE_INFINITY);
}
