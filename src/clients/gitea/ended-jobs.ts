/** Reads how CI jobs ended, and their workflows, for notifications: newest rows only, unreadable ones left out. */
import * as z from 'zod';
import type { Scope } from '../../shared/scope.ts';
import type { GiteaApi, Question } from './api.ts';
import { newestPages } from './completed-jobs.ts';
import { type Level, levelOfRepository } from './endpoints.ts';
import { jobsQuestion, readPage } from './lists.ts';
import { type ListPage, readShape, toAttempt } from './shapes.ts';
import { ownLevel } from './user-repos.ts';
import type { VersionFacts } from './version.ts';

export const CONCLUSIONS = ['success', 'failure', 'cancelled', 'skipped'] as const;
/** Gitea's word for how a CI job ended. */
export type JobResult = (typeof CONCLUSIONS)[number];

export type JobEnd = ReturnType<typeof readEnd>[number];

const rows = z.array(z.unknown()).optional();
const List = z.object({ total_count: z.int().nonnegative(), jobs: rows, workflow_runs: rows });
export const EndedJobRow = z.object({
  id: z.int().positive(),
  run_id: z.int().positive(),
  run_attempt: z.int().nonnegative(),
  conclusion: z.enum(CONCLUSIONS),
  runner_name: z.string().optional(),
});
/** `ci.yml@refs/heads/main`. */
const RunRow = z.object({ id: z.int().positive(), path: z.string().max(1_000) });

/** Levels at which the jobs of a scope are listed. @param repositories `owner/name` of the jobs that are asked for. */
export async function levelsOf(api: GiteaApi, scope: Scope, repositories: readonly string[]) {
  const level = await ownLevel(api, scope);
  return level ? [level] : [...new Set(repositories)].map(levelOfRepository);
}

/** The newest completed jobs of a level: one request, up to Gitea 1.26 three. @throws Failure */
export async function readJobEnds(api: GiteaApi, level: Level) {
  const question = jobsQuestion(level, ['completed']);
  const first = await readList(api, question, 1);
  const version = await api.version();
  const { sortsJobs } = version;
  // Older versions list the oldest row first.
  const further = sortsJobs ? [] : newestPages(first, sortsJobs, 0, 2);
  const pages = await Promise.all(further.map((page) => readList(api, question, page)));
  return [first, ...pages].flatMap(({ rows }) => rows).flatMap((row) => readEnd(row, version));
}

/** File names of the workflows of the newest runs, by id of the run. @throws Failure */
export async function readWorkflows(api: GiteaApi, level: Level): Promise<ReadonlyMap<number, string>> {
  const { rows } = await readList(api, { what: `list the newest runs of ${level.name}`, ...level.runs }, 1);
  return new Map(rows.flatMap(readWorkflow));
}

/** The id of a run, and the file name of its workflow. */
export function readWorkflow(row: unknown): readonly (readonly [number, string])[] {
  const { data } = RunRow.safeParse(row);
  const file = data?.path.split('@')[0]?.split('/').at(-1);
  return data && file ? [[data.id, file]] : [];
}

/** Reads a page of jobs or runs, rows unparsed. Gitea keeps all of them, so no number of rows is too large. */
export async function readList(api: GiteaApi, question: Question, page: number): Promise<ListPage<unknown>> {
  const read = (json: unknown) => {
    const { jobs, workflow_runs: runs, total_count: total } = readShape(List, json, 'the list');
    return { rows: jobs ?? runs ?? [], total };
  };
  return await readPage(api, { question, read, standIn: () => undefined }, page, Number.POSITIVE_INFINITY);
}

function readEnd(row: unknown, version: VersionFacts) {
  const { data } = EndedJobRow.safeParse(row);
  if (!data) return [];
  const { id, run_id: runId, run_attempt: runAttempt, conclusion: result, runner_name: runner } = data;
  const attempt = toAttempt(runAttempt, 'completed', version);
  // Without `runner`: no runner has run it.
  return [{ id, attempt, runId, result, ...(runner && { runner }) }];
}
