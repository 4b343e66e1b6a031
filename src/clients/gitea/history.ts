/**
 * CI jobs that ended in a period, and the workflows of their runs: for `report`. Nothing else is decided by them. So a row that is not
 * understood is left out, and the history is not whole then.
 *
 *     from 1.27 on   newest id first, down to a page that is older than the period
 *     up to 1.26     the list has no order: all of it, from the last page on, where most databases have the newest rows
 *
 * A page is older when all its jobs ended before the period and were created two days before it. Jobs on later pages were created before
 * them, and Gitea cancels jobs that wait for a day (`ABANDONED_JOB_TIMEOUT`).
 */
import * as z from 'zod';
import type { Scope } from '../../shared/scope.ts';
import type { GiteaApi, Question } from './api.ts';
import { boundedName, labelsOfJob } from './bounds.ts';
import type { Level } from './endpoints.ts';
import { EndedJobRow, type JobResult, readList, readWorkflow } from './job-ends.ts';
import { type JobsById, jobsQuestion, readActiveJobs } from './lists.ts';
import { PAGE_LIMIT } from './paging.ts';
import { type ListPage, readRepository, ShapeError } from './shapes.ts';
import { levelsOfUser, ownLevel } from './user-repos.ts';

/** A CI job that has ended. Times in ms since 1970, by Gitea's clock, whole seconds. */
export interface EndedJob {
  readonly id: number;
  readonly runId: number;
  /** `owner/name` */
  readonly repository: string;
  readonly labels: readonly string[];
  readonly createdAtMs: number;
  readonly completedAtMs: number;
  readonly result: JobResult;
  /** Absent: no runner took it. */
  readonly ran?: {
    readonly startedAtMs: number;
    readonly runnerId: number;
    /** Absent: Gitea has forgotten it (`cleanup_actions`, nightly). */
    readonly runner?: string;
  };
  /** Up to 1.26 a re-run keeps the row and the time of its creation. */
  readonly isRerunInPlace: boolean;
}

/** The history of one scope. */
export interface ScopeHistory {
  readonly jobs: readonly EndedJob[];
  /** Names of runners that have taken a CI job, also one that still runs or ended just outside of the period. */
  readonly users: ReadonlySet<string>;
  /** Up to 1.26 a re-run takes the row of the stay before it: in these times other jobs may have run, and perhaps their runners are not in `users`. */
  readonly hidden: readonly Period[];
  /** File names of workflows by id of the run; empty when they were not asked for. */
  readonly workflows: ReadonlyMap<number, string>;
  /** False: a bound was met, the list moved too much, or a row was not understood. Then jobs may be missing. */
  readonly isWhole: boolean;
}

/** `fromMs` belongs to it, `toMs` does not. */
export interface Period {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Pages of a scope that are read at most, besides the first ones: 45,000 jobs. Also the bound of requests (`GiteaApi.get`) allows them. */
const MOST_PAGES = 900;
const AT_ONCE = 4;
/** Readings of a list that moves. */
const PASSES = 3;
const MARGIN_MS = 2 * 86_400_000;

const time = z.iso.datetime({ offset: true }).transform((text) => Date.parse(text));
const Row = EndedJobRow.extend({
  url: z.string(),
  run_url: z.string(),
  labels: z.array(z.string()).nullable(),
  runner_id: z.int().nonnegative().optional(),
  created_at: time,
  started_at: time,
  completed_at: time,
});

/** @param options.workflows also read which workflows the runs are of @throws Failure when Gitea does not answer, or refuses */
export async function readScopeHistory(
  api: GiteaApi,
  scope: Scope,
  options: Period & { readonly workflows: boolean; readonly mostPages?: number },
): Promise<ScopeHistory> {
  const own = await ownLevel(api, scope);
  const levels = own ? [own] : scope.kind === 'user' ? await levelsOfUser(api, scope.user) : [];
  const reader = new HistoryReader(api, options);
  const active: JobsById = new Map();
  for (const level of levels) {
    await readActiveJobs(api, level, true, active);
    await reader.readJobs(level);
  }
  if (options.workflows) for (const level of levels) await reader.readRuns(level);
  for (const { runner } of active.values()) if (runner !== undefined) reader.users.add(runner);
  const { attemptGrowsAtClaim } = await api.version();
  const waiting = [...active.values()].filter(({ attempt }) => attemptGrowsAtClaim && attempt > 0);
  const { isWhole, jobs, users, workflows } = reader;
  const ended = [...jobs.values()];
  const hidden = [
    ...waiting.map(({ createdAtMs }) => ({ fromMs: createdAtMs, toMs: options.toMs })),
    ...ended.flatMap(({ completedAtMs, createdAtMs, isRerunInPlace, ran }) =>
      isRerunInPlace ? [{ fromMs: createdAtMs, toMs: ran?.startedAtMs ?? completedAtMs }] : [],
    ),
  ];
  return { jobs: ended, users, hidden, workflows, isWhole };
}

class HistoryReader {
  readonly jobs = new Map<number, EndedJob>();
  readonly workflows = new Map<number, string>();
  readonly users = new Set<string>();
  isWhole = true;
  readonly #api: GiteaApi;
  readonly #period: Period;
  #pagesLeft: number;
  #rerunsInPlace = false;

  constructor(api: GiteaApi, { mostPages = MOST_PAGES, ...period }: Period & { readonly mostPages?: number }) {
    this.#api = api;
    this.#period = period;
    this.#pagesLeft = mostPages;
  }

  /** A row may be missed while others come or go, so such a list is read again, until that brings nothing new. */
  async readJobs(level: Level): Promise<void> {
    const { sortsJobs, attemptGrowsAtClaim } = await this.#api.version();
    this.#rerunsInPlace = attemptGrowsAtClaim;
    for (let pass = 1; pass <= PASSES; pass += 1) {
      const before = this.jobs.size;
      let first: number | undefined;
      let isMoved = false;
      await this.#walk(jobsQuestion(level, ['completed']), sortsJobs, (page) => {
        first ??= page.total;
        // Rows went to a page that was read before.
        isMoved ||= sortsJobs ? page.total < first : page.total > first;
        return this.#keep(page) && sortsJobs;
      });
      if (!isMoved || (pass > 1 && this.jobs.size === before)) return;
    }
    this.isWhole = false;
  }

  /** From the newest run on, down to the oldest one that is wanted: `ORDER BY id DESC` (models/actions/run_list.go, 1.25 to 1.27). */
  async readRuns(level: Level): Promise<void> {
    if (this.jobs.size === 0) return;
    const oldest = [...this.jobs.values()].reduce((least, { runId }) => Math.min(least, runId), Number.MAX_VALUE);
    await this.#walk({ what: `list the runs of ${level.name}`, ...level.runs }, true, (page) => {
      const found = page.rows.flatMap(readWorkflow);
      for (const [id, file] of found) this.workflows.set(id, this.#api.shelf.text(file));
      return found.some(([id]) => id <= oldest);
    });
  }

  /**
   * The first page, then the others, the newest rows first, until `take` says that it is enough or the bound is met: then the history is not
   * whole. @param isSorted the newest rows are on the first pages, not on the last ones
   */
  async #walk(question: Question, isSorted: boolean, take: (page: ListPage<unknown>) => boolean): Promise<void> {
    const first = await readList(this.#api, question, 1);
    if (take(first)) return;
    const last = Math.ceil(first.total / Math.max(1, Math.min(first.rows.length, PAGE_LIMIT)));
    const further = Array.from({ length: Math.max(0, last - 1) }, (_, at) => at + 2);
    const numbers = isSorted ? further : further.toReversed();
    for (let at = 0; at < numbers.length; at += AT_ONCE) {
      const wanted = numbers.slice(at, at + AT_ONCE);
      if (wanted.length > this.#pagesLeft) {
        this.isWhole = false;
        return;
      }
      this.#pagesLeft -= wanted.length;
      const pages = await Promise.all(wanted.map((page) => readList(this.#api, question, page)));
      if (pages.map(take).some(Boolean)) return;
    }
  }

  /** Keeps what ended in the period. @returns whether the page is older */
  #keep({ rows: found }: ListPage<unknown>): boolean {
    const { fromMs, toMs } = this.#period;
    let isOld = found.length > 0;
    for (const json of found) {
      const { data: row } = Row.safeParse(json);
      const repository = row && repositoryOf(row);
      if (!row || repository === undefined) {
        this.isWhole = false;
        continue;
      }
      if (row.runner_name) this.users.add(boundedName(row.runner_name));
      isOld &&= row.completed_at < fromMs && row.created_at < fromMs - MARGIN_MS;
      if (row.completed_at < fromMs || row.completed_at >= toMs) continue;
      const { shelf } = this.#api;
      if (!shelf.hasRoom(row.id, 'needed', [])) this.isWhole = false;
      else this.jobs.set(row.id, this.#jobOf(row, shelf.text(repository)));
    }
    return isOld;
  }

  #jobOf(row: z.output<typeof Row>, repository: string): EndedJob {
    const { shelf } = this.#api;
    const { runner_id: runnerId, runner_name: runner } = row;
    const startedAtMs = row.started_at;
    return {
      id: row.id,
      runId: row.run_id,
      repository,
      labels: shelf.labels(labelsOfJob(row.labels ?? [])),
      createdAtMs: row.created_at,
      completedAtMs: row.completed_at,
      result: row.conclusion,
      // Gitea writes a time that is not set as 1970.
      ...(runnerId &&
        startedAtMs > 0 && { ran: { startedAtMs, runnerId, ...(runner && { runner: boundedName(runner) }) } }),
      isRerunInPlace: this.#rerunsInPlace && row.run_attempt > 1,
    };
  }
}

function repositoryOf({ url, run_url: runUrl }: z.output<typeof Row>): string | undefined {
  try {
    return readRepository(url, runUrl, 'a job');
  } catch (error) {
    if (error instanceof ShapeError) return undefined;
    throw error;
  }
}
