/** Runs of workflows: finds one by the number that Gitea shows beside its title, lists its jobs, ends and re-runs them. */
import * as z from 'zod';
import { Deadline, failure } from '../http/request.ts';
import { type GiteaAccess, GiteaApi, type Question, requestTo } from './api.ts';
import { type Level, levelOf, levelOfRepository } from './endpoints.ts';
import { type AccessHints, beginOf, failureOfStatus } from './failures.ts';
import { eachPage } from './lists.ts';
import { type GiteaTarget, giteaClient, type ObserveOptions } from './observe.ts';
import { type ListPage, readShape, toAttempt, toJobStatus } from './shapes.ts';

export interface Run {
  readonly id: number;
  /** As Gitea shows it: it counts the runs of the repository. */
  readonly number: number;
  /** `owner/name` */
  readonly repository: string;
  /** File name of the workflow. */
  readonly workflow: string;
  readonly event: string;
  readonly branch: string;
  /** Gitea's word: `queued`, `waiting`, `in_progress` or `completed`. */
  readonly status: string;
  readonly conclusion?: string;
  /** Its page; empty when Gitea tells no http(s) address. */
  readonly url: string;
  /** Its repository has Actions switched off. Gitea lists its jobs as before, and gives them to no runner (measured: 1.26.0, 1.27.3). */
  readonly isActionsOff?: true;
}

/** Pages of unfinished runs, and of the newest runs of all kinds, that are read: a run that people ask about is a new one. */
const MOST_PAGES = { active: 4, all: 2 } as const;

const RunPage = z.object({ workflow_runs: z.array(z.unknown()), total_count: z.int().nonnegative() });
const RunRow = z.object({
  id: z.int().positive(),
  run_number: z.int().nonnegative(),
  path: z.string(),
  event: z.string(),
  head_branch: z.string().optional(),
  status: z.string(),
  conclusion: z.string().optional(),
  html_url: z.string(),
  repository: z.object({ full_name: z.string(), has_actions: z.boolean().optional() }),
});

export type RunWanted = Pick<Run, 'repository'> & ({ readonly number: number } | { readonly id: number });

/** Undefined: it is not among the unfinished runs, nor among the newest ones. @throws Failure when Gitea does not answer. */
export async function findRun(
  target: GiteaTarget,
  wanted: RunWanted,
  options: Pick<ObserveOptions, 'deadlineMs' | 'ca' | 'env' | 'onRequest'>,
): Promise<Run | undefined> {
  const http = giteaClient(options);
  try {
    const deadline = new Deadline(options.deadlineMs);
    const api = new GiteaApi({ http, url: target.url, token: target.token, deadline, versions: new Map() });
    const { scope } = target;
    const level = scope.kind === 'repo' ? levelOfRepository(wanted.repository) : levelOf(scope);
    const is = (run: Run): boolean =>
      ('id' in wanted ? run.id === wanted.id : run.number === wanted.number) &&
      run.repository.toLowerCase() === wanted.repository.toLowerCase();
    const active = ['queued', 'in_progress', 'waiting'];
    return (await search(api, level, active, is)) ?? (await search(api, level, [], is));
  } finally {
    await http.close();
  }
}

async function search(
  api: GiteaApi,
  level: Level,
  states: readonly string[],
  is: (run: Run) => boolean,
): Promise<Run | undefined> {
  const isOfAll = states.length === 0;
  const question: Question = {
    what: `list ${isOfAll ? '' : 'unfinished '}runs of ${level.name}`,
    query: states.map((state) => ['status', state] as const),
    ...level.runs,
  };
  let seen = 0;
  const most = isOfAll ? MOST_PAGES.all : MOST_PAGES.active;
  for await (const { rows, total } of eachPage(api, question, readRunPage, most)) {
    const found = rows.find(is);
    seen += rows.length;
    if (found || seen >= total) return found;
  }
  return undefined;
}

function readRunPage(json: unknown): ListPage<Run> {
  const page = readShape(RunPage, json, 'the list');
  const rows = page.workflow_runs.map((row, index): Run => {
    const { repository, ...run } = readShape(RunRow, row, `run number ${index + 1} of the page`);
    return {
      id: run.id,
      number: run.run_number,
      repository: repository.full_name,
      workflow: run.path.replace(/@.*$/, ''),
      event: run.event,
      branch: run.head_branch ?? '',
      status: run.status,
      ...(run.conclusion && { conclusion: run.conclusion }),
      url: /^https?:\/\//.test(run.html_url) ? run.html_url : '',
      ...(repository.has_actions === false && { isActionsOff: true as const }),
    };
  });
  return { rows, total: page.total_count };
}

interface RunPlace {
  /** `owner/name`. */
  readonly repository: string;
  readonly runId: number;
}

/**
 * A job of the latest attempt of a run. Gitea re-runs jobs from 1.26 on (services/actions/rerun.go). Read in 1.26.0 and 1.27.3:
 *
 * - Gitea re-runs nothing of a run that is not done (400 "not done").
 * - Up to 1.26 the rows of a job and of all that need it are reset: same ids, no runner. From 1.27 on the run gets new rows. Jobs that
 *   are not re-run are copied and keep the name of their runner.
 * - So a row of the latest attempt that still has the name of a runner shows that its job was not re-run since.
 */
export interface JobOfRun {
  readonly id: number;
  /** As `Job.attempt` (src/planner/evidence.ts). */
  readonly attempt: number;
  /** How often it was re-run before: from 1.27 on its run, up to 1.26 the job itself. */
  readonly reruns: number;
  readonly isDone: boolean;
  /** It waits for other jobs, a concurrency group or an approval. */
  readonly isBlocked?: true;
  /** Gitea's word, e.g. `success` or `failure`; absent while it is not done. */
  readonly conclusion?: string;
  /** Absent: no runner has claimed it, or Gitea's nightly clean-up has removed the name. */
  readonly runner?: string;
}

/** What is re-run: one job with all that need it, or all jobs that failed or were cancelled, with all that need them. */
export type RerunRequest = { readonly jobId: number } | 'failed-jobs';

/** A run has at most 256 jobs per matrix; more pages than this are not read. */
const MOST_JOB_PAGES = 20;

/** Older ones cannot list jobs either, and are refused before. */
const WITHOUT_RERUNS = /^1\.25\./;

const RerunRow = z.object({
  id: z.int().positive(),
  run_attempt: z.int().nonnegative(),
  status: z.string().min(1),
  conclusion: z.string().nullish(),
  runner_name: z.string().nullish(),
});
const JobPage = z.object({ jobs: z.array(RerunRow), total_count: z.int().nonnegative() });

/**
 * All jobs of the latest attempt of a run. With `in_progress`: those alone. A job that is being cancelled looks like one of them, and is not
 * among them. @throws Failure: Gitea is too old, the run is gone, the list is not complete.
 */
export async function readRunJobs(
  access: GiteaAccess,
  place: RunPlace,
  status?: 'in_progress',
): Promise<readonly JobOfRun[]> {
  const api = new GiteaApi(access);
  const what = `list the jobs of ${nameOf(place)}`;
  const question: Question = {
    ...hintsOf(place),
    what,
    path: pathOf(place, 'jobs'),
    query: status ? [['status', status]] : [],
  };
  const version = await api.version();
  if (WITHOUT_RERUNS.test(version.text)) {
    const remedy = 'Upgrade it to 1.26 or newer, or set spec.maxEvictionRetries to 0';
    throw api.failure(question, 'GR-GITEA-16', `this is Gitea ${version.text}, which cannot re-run jobs`, remedy);
  }
  const jobs = new Map<number, JobOfRun>();
  const read = (json: unknown) => {
    const { jobs: rows, total_count: total } = readShape(JobPage, json, 'the list');
    return { rows, total };
  };
  for await (const { rows, total } of eachPage(api, question, read, MOST_JOB_PAGES)) {
    for (const row of rows) {
      const status = toJobStatus(row.status);
      jobs.set(row.id, {
        id: row.id,
        attempt: toAttempt(row.run_attempt, status, version),
        reruns: Math.max(0, row.run_attempt - 1),
        isDone: status === 'completed',
        // Not every word that is not known: one of them may be that of a job at work.
        ...(row.status === 'waiting' && { isBlocked: true as const }),
        ...(row.conclusion && { conclusion: row.conclusion }),
        ...(row.runner_name && { runner: row.runner_name }),
      });
    }
    if (jobs.size >= total) return [...jobs.values()];
  }
  throw api.failure(question, 'GR-GITEA-09', 'the list is not complete', 'It is read again later');
}

/** True if this Gitea can end a run that its runners do not end. It is asked each time: it may have been upgraded between two looks. @throws Failure */
export async function canEndRuns(access: GiteaAccess): Promise<boolean> {
  return (await new GiteaApi({ ...access, versions: new Map() }).version()).endsRuns;
}

/** Has Gitea end all unfinished jobs of a run at once, as cancelled, whatever their runners do. One that is over stays as it is. @throws Failure */
export async function endRun(access: GiteaAccess, place: RunPlace): Promise<void> {
  const question = { what: `end ${nameOf(place)}`, method: 'POST' as const, path: pathOf(place, 'force-cancel') };
  const request = { ...requestTo(access, question), queue: access.queue };
  const answer = await access.http.send(request, access.deadline);
  // 409: it has ended meanwhile.
  if (answer.status !== 200 && answer.status !== 409)
    throw failureOfStatus(request, answer, hintsOf(place), access.token);
}

/** Asks Gitea for a re-run. `not-done`: the run is not done (any more), so nothing was re-run. @throws Failure */
export async function askForRerun(
  access: GiteaAccess,
  place: RunPlace,
  asked: RerunRequest,
): Promise<'asked' | 'not-done'> {
  const what = asked === 'failed-jobs' ? `re-run the failed jobs of ${nameOf(place)}` : `re-run job ${asked.jobId}`;
  const path = pathOf(place, asked === 'failed-jobs' ? 'rerun-failed-jobs' : `jobs/${asked.jobId}/rerun`);
  const request = { ...requestTo(access, { what, method: 'POST', path }), queue: access.queue };
  const answer = await access.http.send(request, access.deadline);
  if (answer.status === 200 || answer.status === 201) return 'asked';
  // 409: somebody else makes the next attempt at this moment (1.27).
  if (answer.status === 409 || (answer.status === 400 && NOT_DONE.test(beginOf(answer)))) return 'not-done';
  if (answer.status === 400) {
    const remedy = 'Look whether the workflow is disabled, or the run has had its MAX_RERUN_ATTEMPTS';
    throw failure(request, 'GR-GITEA-17', 'Gitea refuses the re-run (400)', remedy);
  }
  throw failureOfStatus(request, answer, hintsOf(place), access.token);
}

/** Compared and never repeated. */
const NOT_DONE = /run is not done/;

function hintsOf({ repository, runId }: RunPlace): AccessHints {
  return {
    rights: { scope: 'scope write:repository', user: 'one who may write to the Actions of the repository' },
    missing: `Check that ${repository} has run ${runId}, and that the token's user may see the repository`,
  };
}

function nameOf({ repository, runId }: RunPlace): string {
  return `run ${runId} of ${repository}`;
}

function pathOf({ repository, runId }: RunPlace, below: string): string {
  return `${levelOfRepository(repository).runs.path}/${runId}/${below}`;
}
