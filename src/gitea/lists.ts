/** Reads whole lists of one level: fetches pages and asks `paging.ts` whether they can be believed. */
import type { Failure } from '../failure.ts';
import type { Job, RegisteredRunner } from '../plan/evidence.ts';
import type { GiteaApi, Question, Reader } from './api.ts';
import type { Level } from './endpoints.ts';
import {
  countRows,
  endIsOpen,
  exceedsTotal,
  idsOf,
  judgePass,
  lastPages,
  MOST_ROWS,
  PAGE_LIMIT,
  pagesAfter,
} from './paging.ts';
import { type Page, readJobPage, readRunnerPage } from './shapes.ts';

/** The `status=` values that are asked for (routers/api/v1/shared/action.go `convertToInternal`); any other is a 400. */
export type StatusFilter = 'queued' | 'in_progress' | 'waiting' | 'completed';

/** Jobs by id: whatever is put in later wins. */
export type JobsById = Map<number, Job>;

/** First reading and at most 3 more. */
const PASSES = 4;
/** Completed jobs that are read: more than end between two looks, and enough for the planner to replay what led to now. */
const COMPLETED_ROWS = 150;
/** Where these stand besides the first page, unless the instance allows smaller pages only (`[api] MAX_RESPONSE_ITEMS`). */
const FURTHER_PAGES = Array.from({ length: COMPLETED_ROWS / PAGE_LIMIT - 1 }, (_, index) => index + 2);

const WORDS: Readonly<Record<StatusFilter, string>> = {
  queued: 'queued',
  in_progress: 'running',
  waiting: 'blocked',
  completed: 'completed',
};

/**
 * Puts all jobs of these states into `jobs`. One request when they fit into one page: that is a snapshot. When they do not, rows move from
 * list to list while they are read, so each state is read on its own, in the order in which a job goes through them: one that is
 * claimed in between is then seen at least once.
 */
export async function readActiveJobs(
  api: GiteaApi,
  level: Level,
  includeBlocked: boolean,
  jobs: JobsById,
): Promise<'snapshot' | 'several pages'> {
  const states: StatusFilter[] = includeBlocked ? ['waiting', 'queued', 'in_progress'] : ['queued', 'in_progress'];
  const question = jobsQuestion(level, states);
  const first = await readPage(api, question, 1, readJobPage);
  if (judgePass([first]) === 'complete') {
    const pages = await withEnd(api, question, readJobPage, [first]);
    if (judgePass(pages) === 'complete') {
      keep(jobs, first.rows);
      return 'snapshot';
    }
  }
  for (const state of states) await readJobsIn(api, level, state, jobs);
  return 'several pages';
}

/**
 * Puts all jobs in progress into `jobs`. They must be complete, because a skipped busy runner may be killed: a reading during which
 * the list moved is thrown away as proof (its rows stay, presence is evidence) and done again.
 */
export async function readRunningJobs(api: GiteaApi, level: Level, jobs: JobsById): Promise<void> {
  await readJobsIn(api, level, 'in_progress', jobs);
}

/** Throws `Failure` when the list contradicts itself; the lists of jobs that wait may drift: what is missed now is found by the next look. */
async function readJobsIn(api: GiteaApi, level: Level, state: StatusFilter, jobs: JobsById): Promise<void> {
  const question = jobsQuestion(level, [state]);
  for (let pass = 1; pass <= PASSES; pass += 1) {
    const pages = await readPages(api, question, readJobPage);
    for (const page of pages) keep(jobs, page.rows);
    const verdict = judgePass(pages);
    if (verdict === 'complete' || (verdict === 'drifted' && state !== 'in_progress')) return;
    if (pass === PASSES) throw incomplete(api, question, pages);
  }
}

/**
 * All runners of a level. Their order is `last_online DESC`, which moves all the time (1.27 adds id only as tie-break), so one reading
 * skips rows without anything being wrong: readings are joined until as many different rows are known as Gitea counts.
 */
export async function readRunners(api: GiteaApi, level: Level): Promise<readonly RegisteredRunner[]> {
  const question: Question = {
    what: `list the runners of ${level.name}`,
    path: level.runnersPath,
    rights: level.runnersRights,
    missing: level.missing,
  };
  const runners = new Map<number, RegisteredRunner>();
  for (let pass = 1; ; pass += 1) {
    const pages = await readPages(api, question, (json) => readRunnerPage(json));
    for (const { rows } of pages) for (const row of rows) runners.set(row.id, row);
    const enough = runners.size >= Math.max(...pages.map(({ total }) => total));
    if (enough && !exceedsTotal(pages)) return [...runners.values()];
    if (pass === PASSES) throw incomplete(api, question, pages);
  }
}

/**
 * Puts the newest completed jobs into `jobs`: they tell which runner names are used up. So many `rows`, and not all of them need be there.
 * 1.27+ sorts; before, the newest rows stand on the last pages of most databases, and the first page is known anyway.
 */
export async function readCompletedJobs(
  api: GiteaApi,
  level: Level,
  jobs: JobsById,
  rows = COMPLETED_ROWS,
): Promise<void> {
  const { sortsJobs } = await api.version();
  const question = jobsQuestion(level, ['completed'], sortsJobs);
  const first = await readCompletedPage(api, question, 1);
  await readMoreCompleted(api, question, [first], newestPages(first, sortsJobs, rows), jobs);
}

/**
 * The same without waiting for anything: the first page, or all with `further`, is asked for at once, in the order of 1.27. Older
 * versions ignore the order (run on 1.26.0), so there the last pages follow when the version is known.
 */
export async function readCompletedJobsAhead(
  api: GiteaApi,
  level: Level,
  jobs: JobsById,
  further: boolean,
): Promise<void> {
  const question = jobsQuestion(level, ['completed'], true);
  const firstAsked = readCompletedPage(api, question, 1);
  const early = further ? FURTHER_PAGES.map((page) => readCompletedPage(api, question, page)) : [];
  // What is not wanted may fail.
  for (const page of early) page.catch(() => undefined);
  const first = await firstAsked;
  const { sortsJobs } = await api.version();
  const wanted = newestPages(first, sortsJobs, COMPLETED_ROWS);
  const asked = wanted.map((page) => early[FURTHER_PAGES.indexOf(page)] ?? readCompletedPage(api, question, page));
  for (const { rows } of [first, ...(await Promise.all(asked))]) keep(jobs, rows);
}

/** Where the newest completed jobs stand besides the first page. */
function newestPages(first: Page<Job>, sortsJobs: boolean, rows: number): readonly number[] {
  const pages = Math.ceil(rows / Math.max(1, first.rows.length));
  return sortsJobs ? pagesAfter(first).slice(0, pages - 1) : lastPages(first, pages);
}

async function readMoreCompleted(
  api: GiteaApi,
  question: Question,
  known: readonly Page<Job>[],
  more: readonly number[],
  jobs: JobsById,
): Promise<void> {
  const rest = await Promise.all(more.map((page) => readCompletedPage(api, question, page)));
  for (const { rows } of [...known, ...rest]) keep(jobs, rows);
}

/** Gitea keeps all jobs that ever ran, so their number is no reason to refuse. */
function readCompletedPage(api: GiteaApi, question: Question, page: number): Promise<Page<Job>> {
  return readPage(api, question, page, readJobPage, Number.POSITIVE_INFINITY);
}

function jobsQuestion(level: Level, states: readonly StatusFilter[], newestFirst = false): Question {
  const names = states.map((state) => WORDS[state]);
  const order: [string, string][] = newestFirst
    ? [
        ['sort', 'id'],
        ['order', 'desc'],
      ]
    : [];
  return {
    what: `list ${names.join(' and ')} jobs of ${level.name}`,
    path: level.jobsPath,
    query: [...states.map((state): [string, string] => ['status', state]), ...order],
    rights: level.jobsRights,
    missing: level.missing,
  };
}

async function readPages<T>(api: GiteaApi, question: Question, read: Reader<Page<T>>): Promise<readonly Page<T>[]> {
  const first = await readPage(api, question, 1, read);
  const rest = await Promise.all(pagesAfter(first).map((page) => readPage(api, question, page, read)));
  return await withEnd(api, question, read, [first, ...rest]);
}

/** The pages of a reading, and the one after a full last page. */
async function withEnd<T>(
  api: GiteaApi,
  question: Question,
  read: Reader<Page<T>>,
  pages: readonly Page<T>[],
): Promise<readonly Page<T>[]> {
  return endIsOpen(pages) ? [...pages, await readPage(api, question, pages.length + 1, read)] : pages;
}

async function readPage<T>(
  api: GiteaApi,
  question: Question,
  page: number,
  read: Reader<Page<T>>,
  mostRows = MOST_ROWS,
): Promise<Page<T>> {
  const paged: Question = {
    ...question,
    what: page === 1 ? question.what : `${question.what}, page ${page}`,
    query: [...(question.query ?? []), ['limit', String(PAGE_LIMIT)], ['page', String(page)]],
  };
  const found = await api.get(paged, read);
  if (found.total > mostRows) {
    throw api.failure(
      question,
      'GR-GITEA-10',
      `Gitea counts ${found.total} rows; at most ${MOST_ROWS} are read`,
      'Cancel old jobs, delete dead runners, or use narrower scopes',
    );
  }
  return found;
}

function keep(jobs: JobsById, rows: readonly Job[]): void {
  for (const row of rows) jobs.set(row.id, row);
}

function incomplete(api: GiteaApi, question: Question, pages: readonly Page<{ readonly id: number }>[]): Failure {
  const totals = [...new Set(pages.map(({ total }) => total))];
  const counted =
    totals.length === 1
      ? `total_count is ${totals[0]}`
      : `total_count moves between ${Math.min(...totals)} and ${Math.max(...totals)}`;
  const different = idsOf(pages).size;
  const arrived = different < Math.max(...totals) ? `only ${different} of these rows` : `${countRows(pages)} rows`;
  const received = `${counted}, but ${arrived} arrived, in each of ${PASSES} readings`;
  return api.failure(
    question,
    'GR-GITEA-09',
    received,
    'Nothing was rendered. Check what stands before Gitea (caches), or try again when it is less busy',
  );
}
