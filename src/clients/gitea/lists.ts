/** Reads whole lists of one level: fetches pages and asks `paging.ts` whether they can be believed. */
import type { Job, RegisteredRunner } from '../../planner/evidence.ts';
import type { Failure } from '../../shared/failure.ts';
import { isTooLong } from '../http/request.ts';
import type { AnswerReader, GiteaApi, Question } from './api.ts';
import type { Level } from './endpoints.ts';
import { ANY_RIGHTS } from './failures.ts';
import { countRows, endIsOpen, isLong, judgePass, MOST_ROWS, PAGE_LIMIT, pagesAfter } from './paging.ts';
import {
  isReadable,
  type ListPage,
  NO_ROOM,
  readJobPage,
  readMaxItems,
  readRunnerPage,
  unreadableJob,
  unreadableRunner,
} from './shapes.ts';

/** The `status=` values that are asked for (routers/api/v1/shared/action.go `convertToInternal`); any other is a 400. */
type StatusFilter = keyof typeof WORDS;

/** Jobs by id. A later entry replaces an earlier one. */
export type JobsById = Map<number, Job>;

/** First reading and at most 3 more. */
const PASSES = 4;
/** Names of the states in errors. */
const WORDS = { queued: 'queued', in_progress: 'running', waiting: 'blocked', completed: 'completed' } as const;

/** Puts all jobs of these states into `jobs`: by one request, else state by state, as a job passes through them. */
export async function readActiveJobs(
  api: GiteaApi,
  level: Level,
  includeBlocked: boolean,
  jobs: JobsById,
): Promise<'snapshot' | 'several pages'> {
  const states: StatusFilter[] = includeBlocked ? ['waiting', 'queued', 'in_progress'] : ['queued', 'in_progress'];
  const snapshot = await readSnapshot(api, jobsQuestion(level, states));
  if (snapshot) {
    keep(jobs, snapshot);
    return 'snapshot';
  }
  for (const state of states) await readJobsIn(api, level, state, jobs);
  return 'several pages';
}

/** The rows of a list of one page; undefined: it has more, or is too long for one answer. */
async function readSnapshot(api: GiteaApi, question: Question): Promise<readonly Job[] | undefined> {
  const reading: Reading<Job> = { question, read: readJobs(api), isWhole: true };
  try {
    const first = await readPage(api, reading, 1, Number.POSITIVE_INFINITY);
    if (judgePass([first]) !== 'complete') return undefined;
    const isWhole = first.rows.every(isReadable) && judgePass(await withEnd(api, reading, [first])) === 'complete';
    return isWhole ? first.rows : undefined;
  } catch (error) {
    if (isTooLong(error)) return undefined;
    throw error;
  }
}

/**
 * Puts all jobs of a state into `jobs`. A list that moved while it was read is read again. Jobs in progress must be
 * complete: a busy runner that is missed may be killed. Lists of waiting jobs may drift, as the next look finds the rest,
 * and of a very long one only the ends are read: the oldest jobs come first, the newest may be behind a flood.
 * @throws Failure when the list contradicts itself
 */
export async function readJobsIn(api: GiteaApi, level: Level, state: StatusFilter, jobs: JobsById): Promise<void> {
  const question = jobsQuestion(level, [state]);
  const isWaiting = state !== 'in_progress';
  // A job that waits and cannot be read has labels that no group has.
  const reading = { question, read: readJobs(api), ...(isWaiting && { standIn: unreadableJob, endsWillDo: true }) };
  for (let pass = 1; pass <= PASSES; pass += 1) {
    const pages = await readPages(api, reading);
    if (!isWaiting) refuseWithoutRoom(api, question, pages);
    for (const page of pages) keep(jobs, page.rows);
    const verdict = judgePass(pages);
    if (verdict === 'complete' || (verdict === 'drifted' && isWaiting)) {
      const isCut = pages.slice(0, 1).some(isLong) || lacksRoom(pages);
      if (state === 'queued' && isCut) api.shelf.leftOut += countUnread(pages);
      return;
    }
    if (pass === PASSES) throw incomplete(api, question, pages);
  }
}

/** Reads all runners of a level, again until as many came as Gitea counts: their order (`last_online`) moves. */
export async function readRunners(api: GiteaApi, level: Level): Promise<readonly RegisteredRunner[]> {
  const question: Question = { what: `list the runners of ${level.name}`, ...level.runners };
  const runners = new Map<number, RegisteredRunner>();
  for (let pass = 1; ; pass += 1) {
    const read = (json: unknown) => readRunnerPage(json, api.shelf);
    const pages = await readPages(api, { question, read, standIn: unreadableRunner });
    refuseWithoutRoom(api, question, pages);
    for (const { rows } of pages) for (const row of rows) runners.set(row.id, row);
    const { arrived, most } = countRows(pages);
    if (runners.size >= most && arrived <= most) return [...runners.values()].filter(isReadable);
    if (pass === PASSES) throw incomplete(api, question, pages);
  }
}

/** The question for jobs of these states. Completed ones come newest first, from Gitea 1.27 on. */
export function jobsQuestion(level: Level, states: readonly StatusFilter[]): Question {
  // `a, b and c`.
  const names = states
    .map((state) => WORDS[state])
    .join(', ')
    .replace(/, (\w+)$/, ' and $1');
  const order = states.includes('completed') ? { sort: 'id', order: 'desc' } : {};
  return {
    what: `list ${names} jobs of ${level.name}`,
    query: [...states.map((state): [string, string] => ['status', state]), ...Object.entries(order)],
    ...level.jobs,
  };
}

export function readJobs(api: GiteaApi): AnswerReader<ListPage<Job>> {
  return (json, version) => readJobPage(json, version, api.nowMs(), api.shelf);
}

interface Reading<T> {
  readonly question: Question;
  readonly read: AnswerReader<ListPage<T>>;
  /** Makes a replacement for an unreadable row. @param id below 0, another one for each place in the list */
  readonly standIn?: ((id: number) => T) | undefined;
  /** A page that is too long is an error. Default: it is read in parts. */
  readonly isWhole?: boolean;
  /** Reads only the ends of a very long list. Default: a very long list is an error. */
  readonly endsWillDo?: boolean;
}

async function readPages<T>(api: GiteaApi, reading: Reading<T>): Promise<readonly ListPage<T>[]> {
  const { endsWillDo = false } = reading;
  const mostRows = endsWillDo ? Number.POSITIVE_INFINITY : MOST_ROWS;
  const first = await readPage(api, reading, 1, mostRows);
  const pageNumbers = pagesAfter(first, endsWillDo);
  const pages = [first, ...(await Promise.all(pageNumbers.map((page) => readPage(api, reading, page, mostRows))))];
  return endsWillDo && isLong(first) ? pages : await withEnd(api, reading, pages);
}

function lacksRoom(pages: readonly ListPage<{ readonly name: string }>[]): boolean {
  return pages.some(({ rows }) => rows.some(({ name }) => name === NO_ROOM));
}

function countUnread(pages: readonly ListPage<Job>[]): number {
  const readable = new Set(pages.flatMap(({ rows }) => rows.filter(isReadable).map(({ id }) => id)));
  return countRows(pages).most - readable.size;
}

/** The pages of a reading, and the one after a full last page. */
async function withEnd<T>(api: GiteaApi, reading: Reading<T>, pages: readonly ListPage<T>[]) {
  return endIsOpen(pages) ? [...pages, await readPage(api, reading, pages.length + 1)] : pages;
}

export function pageOf(question: Question, page: number, rows = PAGE_LIMIT): Question {
  return { ...question, query: [...(question.query ?? []), ['limit', String(rows)], ['page', String(page)]] };
}

/** The pages of a list, up to an empty one. A row may be missed while the list changes. */
export async function* eachPage<P extends Pick<ListPage<unknown>, 'rows'>>(
  api: GiteaApi,
  question: Question,
  read: AnswerReader<P>,
  mostPages: number,
): AsyncGenerator<P> {
  for (let page = 1; page <= mostPages; page += 1) {
    const listPage = await api.get(pageOf(question, page), read);
    yield listPage;
    if (listPage.rows.length === 0) return;
  }
}

/** Reads one page. Throws `Failure` when Gitea counts more than `mostRows`. */
export async function readPage<T>(api: GiteaApi, reading: Reading<T>, page: number, mostRows = MOST_ROWS) {
  const { question, read } = reading;
  const pageQuestion = page === 1 ? question.what : `${question.what}, page ${page}`;
  const listPage = await api
    .get({ ...pageOf(question, page), what: pageQuestion }, read)
    .catch(async (error: unknown) => {
      if (isTooLong(error) && !reading.isWhole) return await readLongPage(api, reading, page);
      throw error;
    });
  if (listPage.total > mostRows) {
    const received = `Gitea counts ${listPage.total} rows; at most ${MOST_ROWS} are read`;
    const remedy = 'Cancel old jobs, delete dead runners, or use narrower scopes';
    throw api.failure(question, 'GR-GITEA-10', received, remedy);
  }
  return listPage;
}

/** Puts rows into `jobs`, but for those that could not be read. */
export function keep(jobs: JobsById, rows: readonly Job[]): void {
  for (const row of rows) if (isReadable(row)) jobs.set(row.id, row);
}

/** Throws when the look has no room for a row without which it is not complete. */
function refuseWithoutRoom(api: GiteaApi, question: Question, pages: Parameters<typeof lacksRoom>[0]): void {
  if (!lacksRoom(pages)) return;
  const remedy = `Delete dead runners, or use narrower scopes; a scope has more when RunnerGroups${api.shelf.sharers} name fewer scopes`;
  throw api.failure(question, 'GR-GITEA-10', 'the rows need more memory than one scope has', remedy);
}

function incomplete(api: GiteaApi, question: Question, pages: readonly ListPage<{ readonly id: number }>[]): Failure {
  const { least, most, arrived, different } = countRows(pages);
  const counted = least === most ? `is ${most}` : `moves between ${least} and ${most}`;
  const rows = different < most ? `only ${different} of these rows` : `${arrived} rows`;
  const received = `total_count ${counted}, but ${rows} arrived, in each of ${PASSES} readings`;
  const remedy = 'Nothing was rendered. Check what stands before Gitea (caches), or try again when it is less busy';
  return api.failure(question, 'GR-GITEA-09', received, remedy);
}

/**
 * Pages longer than an answer may be: labels of 1 MiB and thousands of steps stand in Gitea's lists (1.27.3). Such a page
 * is read in parts:
 *
 *     50 rows ─► too long ─► 5 rows ─► too long ─► 1 row ─► too long ─► a stand-in, or the error
 *
 * Only a row that stops nobody may have a stand-in: an unseen running job is a runner that is deleted at work.
 */
const SOME_ROWS = 5;
/** An offset at which no list of Gitea has rows. */
const BEYOND_ALL = 1_000_000_000;
/** Longest answer with a row that must be read. A database takes about 7,000 steps of a job, of 1.7 KB at most. */
const ROW_BYTES = 16 * 1024 * 1024;

/** Returns how many rows Gitea gives at most, whatever limit is requested. */
export async function askPageSize(api: GiteaApi): Promise<number> {
  const hints = { rights: ANY_RIGHTS, missing: 'Check spec.gitea.url' };
  const settings = { what: 'ask the page size of Gitea', path: '/settings/api', ...hints };
  return Math.min(PAGE_LIMIT, await api.get(settings, readMaxItems));
}

/** The rows that the page would have. @throws Failure: a row cannot be read and has no stand-in. */
async function readLongPage<T>(api: GiteaApi, reading: Reading<T>, page: number): Promise<ListPage<T>> {
  const size = await askPageSize(api);
  // Beyond the end there are no rows, so the answer is short. If it is too long all the same, the server's answers
  // never end.
  const { total } = await askFor(api, reading, BEYOND_ALL, 1);
  const first = (page - 1) * size;
  const widths = size > SOME_ROWS && size % SOME_ROWS === 0 ? [SOME_ROWS, 1] : [1];
  return { rows: await readPart(api, reading, { first, end: Math.min(first + size, total) }, widths), total };
}

/** Reads places of a list, without `end`. @param widths rows per request, then for those that are too long */
async function readPart<T>(
  api: GiteaApi,
  reading: Reading<T>,
  { first, end }: { readonly first: number; readonly end: number },
  [width = 1, ...narrower]: readonly number[],
): Promise<readonly T[]> {
  const rows: T[] = [];
  for (let row = first; row < end; row += width) {
    try {
      rows.push(...(await askFor(api, reading, row, width)).rows);
    } catch (error) {
      if (!isTooLong(error)) throw error;
      const part = { first: row, end: Math.min(row + width, end) };
      if (width > 1) rows.push(...(await readPart(api, reading, part, narrower)));
      else if (reading.standIn) rows.push(reading.standIn(-1 - row));
      else throw error;
    }
  }
  return rows;
}

/** Asks for `size` rows. @param first a multiple of `size` */
async function askFor<T>(api: GiteaApi, { question, read, standIn }: Reading<T>, first: number, size: number) {
  const part = pageOf(question, first / size + 1, size);
  return await api.get({ ...part, ...(size === 1 && !standIn && { mostBytes: ROW_BYTES }) }, read);
}
