/** Filters, order and pages of lists (routers/api/v1/shared/action.go, utils/page.go, utils/sort.go). */
import { createHash } from 'node:crypto';
import { ErrorAnswer } from './access.ts';
import type { JobRow, RunnerRow, State, Status } from './model.ts';
import { isBusy, isOnline } from './runners.ts';

/** The admin's settings that shape pages. */
export interface Paging {
  /** `MAX_RESPONSE_ITEMS`. */
  readonly maxResponseItems: number;
  /** `DEFAULT_PAGING_NUM`. */
  readonly defaultPagingNum: number;
}

/** Go's strconv.ParseInt with the error dropped: anything that is not a number counts as 0. */
function formInt(query: URLSearchParams, name: string): number {
  const text = query.get(name) ?? '';
  return /^[+-]?\d+$/.test(text) ? Number(text) : 0;
}

export interface SimulatedPage<T> {
  readonly rows: readonly T[];
  readonly total: number;
  readonly number: number;
  readonly size: number;
}

/** Cuts the page that was asked for. `limit` above the maximum is clamped without a word. */
export function pageOf<T>(all: readonly T[], query: URLSearchParams, paging: Paging): SimulatedPage<T> {
  const limit = formInt(query, 'limit');
  const size = limit <= 0 ? paging.defaultPagingNum : Math.min(limit, paging.maxResponseItems);
  const number = Math.max(formInt(query, 'page'), 1);
  return { rows: all.slice((number - 1) * size, number * size), total: all.length, number, size };
}

/** `X-Total-Count` and `Link`. Links start with ROOT_URL, whatever name the client used (services/context/api.go, genAPILinks). */
export function countHeaders(
  page: SimulatedPage<unknown>,
  path: string,
  query: URLSearchParams,
  root: string,
): Record<string, string> {
  const last = Math.max(Math.ceil(page.total / page.size), 1);
  const link = (number: number, rel: string) => {
    const other = new URLSearchParams(query);
    other.set('page', String(number));
    other.sort();
    return `<${root}${path}?${other}>; rel="${rel}"`;
  };
  const links = [
    ...(page.number < last ? [link(page.number + 1, 'next'), link(last, 'last')] : []),
    ...(page.number > 1 ? [link(1, 'first'), link(page.number - 1, 'prev')] : []),
  ];
  return { 'X-Total-Count': String(page.total), ...(links.length > 0 ? { Link: links.join(',') } : {}) };
}

const WORDS: Readonly<Record<string, readonly Status[]>> = {
  pending: ['blocked'],
  waiting: ['blocked'],
  requested: ['blocked'],
  action_required: ['blocked'],
  queued: ['waiting'],
  in_progress: ['running'],
  completed: ['success', 'failure', 'skipped', 'cancelled'],
  failure: ['failure'],
  success: ['success'],
  skipped: ['skipped'],
  neutral: ['skipped'],
  cancelled: ['cancelled'],
  timed_out: ['cancelled'],
};

/**
 * The statuses that the repeated parameter `status` asks for, undefined for all. No word finds `cancelling`, and commas
 * are not split. @throws ErrorAnswer 400 for an unknown word, also the empty one.
 */
export function statusFilter(state: State, query: URLSearchParams): ReadonlySet<Status> | undefined {
  const words = query.getAll('status');
  if (words.length === 0) return undefined;
  return new Set(
    words.flatMap((word) => {
      const statuses = Object.hasOwn(WORDS, word) ? WORDS[word] : undefined;
      if (!statuses) throw new ErrorAnswer(400, `${state.traits.invalidStatus} ${word}`);
      return statuses;
    }),
  );
}

/** The order a database gives when nobody asks for one: by id, as SQLite mostly does, or any other that is stable. */
export type DatabaseOrder = 'by-id' | 'shuffled';

/** Orders jobs: from 1.27 as asked for, before as the database likes. @throws ErrorAnswer 422 for an unknown order (1.27). */
export function orderJobs(state: State, jobs: JobRow[], query: URLSearchParams, database: DatabaseOrder): JobRow[] {
  if (!state.traits.ordersJobs) {
    const key = (job: JobRow) => createHash('sha1').update(String(job.id)).digest('hex');
    return database === 'by-id' ? jobs : jobs.sort((a, b) => (key(a) < key(b) ? -1 : 1));
  }
  const sort = query.get('sort') || 'id';
  const order = (query.get('sort') && query.get('order')) || 'asc';
  if (order !== 'asc' && order !== 'desc') throw new ErrorAnswer(422, `Invalid sort order: ${JSON.stringify(order)}`);
  if (sort !== 'id') throw new ErrorAnswer(422, `Invalid sort mode: ${JSON.stringify(sort)}`);
  return jobs.sort((a, b) => (order === 'asc' ? a.id - b.id : b.id - a.id));
}

/** Orders runners: busy, idle, offline (1.27), then by last contact, newest first; it moves all the time. */
export function orderRunners(state: State, runners: RunnerRow[]): RunnerRow[] {
  const rank = (runner: RunnerRow) => (isBusy(state, runner) ? 0 : isOnline(state, runner) ? 1 : 2);
  const byRank = (a: RunnerRow, b: RunnerRow) =>
    state.traits.ranksRunners ? rank(a) - rank(b) || Number(a.disabled) - Number(b.disabled) : 0;
  return runners.sort((a, b) => byRank(a, b) || b.lastOnline - a.lastOnline || a.id - b.id);
}
