/**
 * CI jobs that ended in a period, and the workflows of their runs: for `report`. Nothing else is decided by them. So a row that is not
 * understood is left out, and the history is not whole then.
 *
 *     from 1.27 on   newest id first, down to a page that is older than the period
 *     up to 1.26     the list has no order: all of it, from the last page on, where most databases have the newest rows
 *
 * Reading stops at a page whose jobs all ended before the period, and were created two days before it. Later pages hold older jobs, and
 * Gitea cancels a job that waits for a day (`ABANDONED_JOB_TIMEOUT`).
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

/** `fromMs` belongs to it, `toMs` does not. */
export type Period = Readonly<Record<'fromMs' | 'toMs', number>>;

/** Pages of a scope that are read at most, besides the first ones: 45,000 jobs. Also the bound of requests (`GiteaApi.get`) allows them. */
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

/** The history of one scope. */
export type ScopeHistory = Readonly<Awaited<ReturnType<typeof readScopeHistory>>>;

/**
 * Reads the CI jobs of a scope that ended in the period. `workflows`: also the workflows of their runs. `endsOnly`:
 * neither active jobs nor one repository after another. @throws Failure: Gitea does not answer, or refuses
 */
export async function readScopeHistory(
  api: GiteaApi,
  scope: Scope,
  request: Period & { readonly workflows: boolean; readonly mostPages?: number; readonly endsOnly?: true },
) {
  const { fromMs, toMs, mostPages = MOST_PAGES, endsOnly } = request;
  const { sortsJobs, attemptGrowsAtClaim } = await api.version();
  const jobsById = new Map<number, EndedJob>();
  const users = new Set<string>();
  const workflows = new Map<number, string>();
  let isWhole = true;
  let pagesLeft = mostPages;

  /** Reads pages, newest rows first, until `take` has enough. @param isSorted the newest rows are on the first pages */
  const walk = async (question: Question, isSorted: boolean, take: (page: ListPage<unknown>) => boolean) => {
    const first = await readList(api, question, 1);
    if (take(first)) return;
    const numbers = newestPages(first, isSorted, 0, MOST_PAGES + 1);
    for (let position = 0; position < numbers.length; position += PAGES_AT_ONCE) {
      const batch = numbers.slice(position, position + PAGES_AT_ONCE);
      if (batch.length > pagesLeft) {
        isWhole = false;
        return;
      }
      pagesLeft -= batch.length;
      const pages = await Promise.all(batch.map((page) => readList(api, question, page)));
      if (pages.map(take).some(Boolean)) return;
    }
  };

  /** Keeps what ended in the period. Answers whether the page is older. */
  const keep = ({ rows }: ListPage<unknown>): boolean => {
    let isOld = rows.length > 0;
    for (const json of rows) {
      const row = readRow(json);
      if (row?.runner_name) users.add(boundedName(row.runner_name));
      isOld &&= !row || (row.completed_at < fromMs && row.created_at < fromMs - MARGIN_MS);
      const isWanted = row && row.completed_at >= fromMs && row.completed_at < toMs;
      if (isWanted && api.shelf.reserveRow(row.id, 'needed', []))
        jobsById.set(row.id, jobOf(row, attemptGrowsAtClaim, api.shelf));
      else if (isWanted || !row) isWhole = false;
    }
    return isOld;
  };

  /** A row may be missed while others come or go, so such a list is read again, until that brings nothing new. */
  const readJobs = async (level: Level): Promise<void> => {
    for (let pass = 1; pass <= PASSES; pass += 1) {
      const countBefore = jobsById.size;
      let first: number | undefined;
      let isMoved = false;
      await walk(jobsQuestion(level, ['completed']), sortsJobs, (page) => {
        first ??= page.total;
        // Rows went to a page that was read before.
        isMoved ||= sortsJobs ? page.total < first : page.total > first;
        return keep(page) && sortsJobs;
      });
      if (!isMoved || (pass > 1 && jobsById.size === countBefore)) return;
    }
    isWhole = false;
  };

  /** Reads from the newest run down to the oldest wanted one: Gitea sorts by id, descending (1.25 to 1.27). */
  const readRuns = async (level: Level): Promise<void> => {
    const oldest = [...jobsById.values()].reduce((least, { runId }) => Math.min(least, runId), Number.MAX_VALUE);
    await walk({ what: `list the runs of ${level.name}`, ...level.runs }, true, (page) => {
      const workflowFiles = page.rows.flatMap(readWorkflow);
      for (const [id, file] of workflowFiles) workflows.set(id, api.shelf.text(file));
      return workflowFiles.some(([id]) => id <= oldest);
    });
  };

  const levelOfScope = await ownLevel(api, scope);
  isWhole &&= levelOfScope !== undefined || !endsOnly;
  const ofUser = !levelOfScope && scope.kind === 'user' && !endsOnly ? await levelsOfUser(api, scope.user) : [];
  const levels = levelOfScope ? [levelOfScope] : ofUser;
  const active: JobsById = new Map();
  for (const level of levels) {
    if (!endsOnly) await readActiveJobs(api, level, true, active);
    await readJobs(level);
  }
  if (request.workflows && jobsById.size > 0) for (const level of levels) await readRuns(level);
  for (const { runner } of active.values()) if (runner !== undefined) users.add(runner);
  const waiting = [...active.values()].filter(({ attempt }) => attemptGrowsAtClaim && attempt > 0);
  const jobs = [...jobsById.values()];
  const hidden = [
    ...waiting.map(({ createdAtMs }): Period => ({ fromMs: createdAtMs, toMs })),
    ...jobs.flatMap(({ completedAtMs, createdAtMs, isRerunInPlace, ran }): Period | readonly [] =>
      isRerunInPlace ? { fromMs: createdAtMs, toMs: ran?.startedAtMs ?? completedAtMs } : [],
    ),
  ];
  return {
    jobs: jobs as readonly EndedJob[],
    /** Names of runners that have taken a CI job, including jobs that still run or ended just outside the period. */
    users: users as ReadonlySet<string>,
    /** Up to 1.26 a re-run takes the row of the stay before it: in these times other jobs may have run, and perhaps their runners are not in `users`. */
    hidden: hidden as readonly Period[],
    /** File names of workflows by id of the run; empty when they were not asked for. */
    workflows: workflows as ReadonlyMap<number, string>,
    /** False: a bound was met, the list moved too much, or a row was not understood. Then jobs may be missing. */
    isWhole,
  };
}

/** Undefined: it is not understood. */
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
