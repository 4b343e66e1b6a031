/**
 * CI jobs that ended in a period, and the workflows of their runs: for `report` alone. So an unreadable row is left out,
 * and the history is not whole then.
 *
 *     from 1.27 on   newest id first, down to a page that is older than the period
 *     up to 1.26     without order: all of it, from the last page on, where most databases have the newest rows
 *
 * A page is older if all its jobs ended before the period and were created two days before it: Gitea cancels what waits
 * for a day (`ABANDONED_JOB_TIMEOUT`).
 */
import * as z from 'zod';
import type { Scope } from '../../shared/scope.ts';
import type { GiteaApi, Question } from './api.ts';
import { boundedName, labelsOfJob, type Shelf } from './bounds.ts';
import { newestPages } from './completed-jobs.ts';
import { EndedJobRow, readList, readWorkflow } from './ended-jobs.ts';
import type { Level } from './endpoints.ts';
import { type JobsById, jobsQuestion, readActiveJobs } from './lists.ts';
import { type ListPage, readRepository, readShape, ShapeError } from './shapes.ts';
import { levelsOfUser, ownLevel } from './user-repos.ts';
import type { VersionFacts } from './version.ts';

/** `fromMs` belongs to it, `toMs` does not. */
export type Period = Readonly<Record<'fromMs' | 'toMs', number>>;

/** Most pages of a scope besides the first ones: 45,000 jobs, as the bound of requests (`GiteaApi.get`) allows. */
const MOST_PAGES = 900;
const PAGES_AT_ONCE = 4;
/** Readings of a list that moves. */
const PASSES = 3;
/** Gitea cancels what waits for a day, and looks for it once a day. */
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

export type ScopeHistory = Readonly<Awaited<ReturnType<typeof readScopeHistory>>>;

interface HistoryRequest extends Period {
  /** Also reads which workflows the runs are of. */
  readonly workflows: boolean;
  readonly mostPages?: number;
  /** Reads ended jobs only, and only if one list has those of the whole scope. */
  readonly endsOnly?: true;
}

/** Reads the CI jobs of a scope that ended in the period. @throws Failure: Gitea does not answer, or refuses */
export async function readScopeHistory(api: GiteaApi, scope: Scope, request: HistoryRequest) {
  const { endsOnly, toMs } = request;
  const version = await api.version();
  const reader = new HistoryReader(api, version, request);
  const levelOfScope = await ownLevel(api, scope);
  const ofUser = !levelOfScope && scope.kind === 'user' && !endsOnly ? await levelsOfUser(api, scope.user) : [];
  const levels = levelOfScope ? [levelOfScope] : ofUser;
  const activeById: JobsById = new Map();
  for (const level of levels) {
    if (!endsOnly) await readActiveJobs(api, level, true, activeById);
    await reader.readJobs(level);
  }
  if (request.workflows && reader.jobs.size > 0) for (const level of levels) await reader.readRuns(level);
  const jobs: readonly EndedJob[] = [...reader.jobs.values()];
  const active = [...activeById.values()];
  const waiting = active.filter(({ attempt }) => version.attemptGrowsAtClaim && attempt > 0);
  const hidden: readonly Period[] = [
    ...waiting.map(({ createdAtMs }) => ({ fromMs: createdAtMs, toMs })),
    ...jobs.flatMap(({ completedAtMs, createdAtMs, isRerunInPlace, ran }) =>
      isRerunInPlace ? [{ fromMs: createdAtMs, toMs: ran?.startedAtMs ?? completedAtMs }] : [],
    ),
  ];
  const users: ReadonlySet<string> = new Set([...reader.users, ...active.flatMap(({ runner }) => runner ?? [])]);
  return {
    jobs,
    /** Names of runners that have taken a CI job, including jobs that still run or ended just outside the period. */
    users,
    /** Times in which `users` may lack runners: up to 1.26 a re-run overwrites the row of its job. */
    hidden,
    /** File names of workflows by id of the run; empty when they were not asked for. */
    workflows: reader.workflows as ReadonlyMap<number, string>,
    /** False: a bound was met, the list moved too much, or a row was not understood. Then jobs may be missing. */
    isWhole: reader.isWhole && (levelOfScope !== undefined || !endsOnly),
  };
}

/** Collects the jobs of a period, level by level. */
class HistoryReader {
  readonly jobs = new Map<number, EndedJob>();
  readonly users = new Set<string>();
  readonly workflows = new Map<number, string>();
  isWhole = true;
  readonly #api: GiteaApi;
  readonly #version: VersionFacts;
  readonly #period: Period;
  #pagesLeft: number;

  constructor(api: GiteaApi, version: VersionFacts, { mostPages = MOST_PAGES, ...period }: HistoryRequest) {
    this.#api = api;
    this.#version = version;
    this.#period = period;
    this.#pagesLeft = mostPages;
  }

  /** Reads a list again while it moves, until a reading brings nothing new: a moving list may hide a row. */
  async readJobs(level: Level): Promise<void> {
    const { sortsJobs } = this.#version;
    for (let pass = 1; pass <= PASSES; pass += 1) {
      const countBefore = this.jobs.size;
      let first: number | undefined;
      let isMoved = false;
      await this.#walk(jobsQuestion(level, ['completed']), sortsJobs, (page) => {
        first ??= page.total;
        // Rows went to a page that was read before.
        isMoved ||= sortsJobs ? page.total < first : page.total > first;
        return this.#keep(page) && sortsJobs;
      });
      if (!isMoved || (pass > 1 && this.jobs.size === countBefore)) return;
    }
    this.isWhole = false;
  }

  /** Reads from the newest run down to the oldest wanted one: Gitea sorts by id, descending (1.25 to 1.27). */
  async readRuns(level: Level): Promise<void> {
    const oldest = [...this.jobs.values()].reduce((least, { runId }) => Math.min(least, runId), Number.MAX_VALUE);
    await this.#walk({ what: `list the runs of ${level.name}`, ...level.runs }, true, (page) => {
      const workflowFiles = page.rows.flatMap(readWorkflow);
      for (const [id, file] of workflowFiles) this.workflows.set(id, this.#api.shelf.text(file));
      return workflowFiles.some(([id]) => id <= oldest);
    });
  }

  /** Reads pages, newest rows first, until `take` has enough. @param isSorted the newest rows are on the first pages */
  async #walk(question: Question, isSorted: boolean, take: (page: ListPage<unknown>) => boolean): Promise<void> {
    const first = await readList(this.#api, question, 1);
    if (take(first)) return;
    const numbers = newestPages(first, isSorted, 0, MOST_PAGES + 1);
    for (let position = 0; position < numbers.length; position += PAGES_AT_ONCE) {
      const batch = numbers.slice(position, position + PAGES_AT_ONCE);
      if (batch.length > this.#pagesLeft) {
        this.isWhole = false;
        return;
      }
      this.#pagesLeft -= batch.length;
      const pages = await Promise.all(batch.map((page) => readList(this.#api, question, page)));
      if (pages.map(take).some(Boolean)) return;
    }
  }

  /** Keeps what ended in the period. Returns whether the page is older. */
  #keep({ rows }: ListPage<unknown>): boolean {
    const { fromMs, toMs } = this.#period;
    const { shelf } = this.#api;
    let isOld = rows.length > 0;
    for (const json of rows) {
      const row = readRow(json);
      if (row?.runner_name) this.users.add(boundedName(row.runner_name));
      isOld &&= !row || (row.completed_at < fromMs && row.created_at < fromMs - MARGIN_MS);
      const isWanted = row && row.completed_at >= fromMs && row.completed_at < toMs;
      if (isWanted && shelf.reserveRow(row.id, 'needed', []))
        this.jobs.set(row.id, jobOf(row, this.#version.attemptGrowsAtClaim, shelf));
      else if (isWanted || !row) this.isWhole = false;
    }
    return isOld;
  }
}

/** Reads a row. Undefined: it is not understood. */
function readRow(json: unknown) {
  try {
    const row = readShape(Row, json, 'a job');
    return { ...row, repository: readRepository(row.url, row.run_url, 'a job') };
  } catch (error) {
    if (error instanceof ShapeError) return undefined;
    throw error;
  }
}

/** A CI job that has ended. Times in ms since 1970, by Gitea's clock, whole seconds. */
export type EndedJob = Readonly<ReturnType<typeof jobOf>>;

function jobOf(row: NonNullable<ReturnType<typeof readRow>>, attemptGrowsAtClaim: boolean, shelf: Shelf) {
  const { runner_id: runnerId, runner_name: runner, started_at: startedAtMs } = row;
  return {
    id: row.id,
    runId: row.run_id,
    /** `owner/name` */
    repository: shelf.text(row.repository),
    labels: shelf.labels(labelsOfJob(row.labels ?? [])),
    createdAtMs: row.created_at,
    completedAtMs: row.completed_at,
    result: row.conclusion,
    /** Absent: no runner took it. Gitea writes an unset time as 1970, and forgets names at night (`cleanup_actions`). */
    ...(runnerId &&
      startedAtMs > 0 && { ran: { startedAtMs, runnerId, ...(runner && { runner: boundedName(runner) }) } }),
    /** Up to 1.26 a re-run keeps the row and the time of its creation. */
    isRerunInPlace: attemptGrowsAtClaim && row.run_attempt > 1,
  };
}
