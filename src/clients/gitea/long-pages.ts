/**
 * Pages that are longer than an answer may be. Authors of workflows write labels of 1 MiB (Gitea 1.27.3 reads no more of a workflow) and
 * thousands of steps, and both stand in Gitea's lists. So such a page is read in parts, down to single rows:
 *
 *     50 rows ─► too long ─► 5 rows ─► too long ─► 1 row ─► too long ─► a stand-in, or the error
 *
 * Only a row that stops nobody may have a stand-in: an unseen running job is a runner that is deleted at work.
 */
import { isTooLong } from '../http/request.ts';
import type { AnswerReader, GiteaApi, Question } from './api.ts';
import { PAGE_LIMIT } from './paging.ts';
import { type ListPage, readMaxItems } from './shapes.ts';

/** One page of a list, and how it is read. */
export interface WantedPage<T> {
  readonly question: Question;
  readonly page: number;
  readonly read: AnswerReader<ListPage<T>>;
  /** For a row that cannot be read. @param id below 0, another one for each place in the list. */
  readonly standIn?: ((id: number) => T) | undefined;
}

const SOME_ROWS = 5;
/** No list of Gitea has so many rows. */
const BEYOND_ALL = 1_000_000_000;
/** Longest answer with a row that must be read. A database takes about 7,000 steps of a job, of 1.7 KB at most. */
const ROW_BYTES = 16 * 1024 * 1024;

/** How many rows Gitea gives at most, whatever is asked for. */
export async function askPageSize(api: GiteaApi): Promise<number> {
  const settings = {
    what: 'ask the page size of Gitea',
    path: '/settings/api',
    rights: { scope: 'any scope' },
    missing: 'Check spec.gitea.url',
  };
  return Math.min(PAGE_LIMIT, await api.get(settings, readMaxItems));
}

/** The rows that the page would have. @throws Failure: a row cannot be read and has no stand-in. */
export async function readLongPage<T>(api: GiteaApi, wanted: WantedPage<T>): Promise<ListPage<T>> {
  const size = await askPageSize(api);
  // Beyond the end there are no rows, so nothing is long: a server whose answers never end shows itself here.
  const { total } = await askFor(api, wanted, { first: BEYOND_ALL, size: 1 });
  const first = (wanted.page - 1) * size;
  const part = { first, size: Math.min(size, Math.max(0, total - first)) };
  const widths = size > SOME_ROWS && size % SOME_ROWS === 0 ? [SOME_ROWS, 1] : [1];
  return { rows: await readPart(api, wanted, part, widths), total };
}

/** Rows of a list, by their places. */
interface Part {
  readonly first: number;
  readonly size: number;
}

async function readPart<T>(
  api: GiteaApi,
  wanted: WantedPage<T>,
  { first, size }: Part,
  [width = 1, ...narrower]: readonly number[],
): Promise<readonly T[]> {
  const rows: T[] = [];
  for (let at = first; at < first + size; at += width) {
    try {
      rows.push(...(await askFor(api, wanted, { first: at, size: width })).rows);
    } catch (error) {
      if (!isTooLong(error)) throw error;
      const part = { first: at, size: Math.min(width, first + size - at) };
      if (width > 1) rows.push(...(await readPart(api, wanted, part, narrower)));
      else if (wanted.standIn) rows.push(wanted.standIn(-1 - at));
      else throw error;
    }
  }
  return rows;
}

/** @param part `first` is a multiple of `size` */
async function askFor<T>(
  api: GiteaApi,
  { question, read, standIn }: WantedPage<T>,
  { first, size }: Part,
): Promise<ListPage<T>> {
  const query: Question['query'] = [
    ...(question.query ?? []),
    ['limit', String(size)],
    ['page', String(first / size + 1)],
  ];
  return await api.get({ ...question, query, ...(size === 1 && !standIn && { mostBytes: ROW_BYTES }) }, read);
}
