/** Runs of workflows: finds one by the number that Gitea shows, lists its jobs, ends and re-runs them. */
import * as z from 'zod';
import { cut } from '../../shared/printable.ts';
import type { Scope } from '../../shared/scope.ts';
import { Deadline, failure } from '../http/request.ts';
import { change, type GiteaAccess, GiteaApi, type Question, requestTo } from './api.ts';
import { isGiteaName, type Level, levelOf, levelOfRepository } from './endpoints.ts';
import { type AccessHints, beginningOf } from './failures.ts';
import { eachPage } from './lists.ts';
import { type GiteaTarget, giteaClient } from './observe-gitea.ts';
import { type ListPage, readShape, toAttempt, toJobStatus } from './shapes.ts';
import { ownLevel } from './user-repos.ts';
import type { VersionFacts } from './version.ts';

export type Run = Readonly<ReturnType<typeof readRun>>;

/** Most pages of unfinished runs, and of the newest runs of all kinds: people ask about new runs. */
const MOST_PAGES = { active: 4, all: 2 } as const;

const ACTIVE = ['queued', 'in_progress', 'waiting'];
/** Most characters of a run's title, which its author writes. A longer one is cut. */
const LONGEST_TITLE = 100;

const RunPage = z.object({ workflow_runs: z.array(z.unknown()), total_count: z.int().nonnegative() });
const RunRow = z.object({
  id: z.int().positive(),
  run_number: z.int().nonnegative(),
  path: z.string(),
  event: z.string(),
  head_branch: z.string().optional(),
  display_title: z.string().nullish(),
  actor: z.object({ login: z.string() }).nullish(),
  status: z.string(),
  conclusion: z.string().optional(),
  html_url: z.string(),
  repository: z.object({ full_name: z.string(), has_actions: z.boolean().optional() }),
});

export type RunWanted = Pick<Run, 'repository'> & ({ readonly number: number } | { readonly id: number });

type Options = Parameters<typeof giteaClient>[0];

/** Returns the current name of a repository. Undefined: not renamed. @throws Failure: Gitea does not answer */
export function nameOfRepositoryNow(target: GiteaTarget, repository: string, options: Options) {
  return talk(target, options, async (api) => {
    const { jobs, name } = levelOfRepository(repository);
    await api.get({ what: `read the name of ${name}`, query: [['limit', '1']], ...jobs }, () => undefined);
    const [owner = '', repo = ''] = repository.split('/');
    return api.renamedTo({ kind: 'repo', owner, repo });
  });
}

/** Returns the unfinished runs of a target, from at most four pages. @throws Failure when Gitea does not answer */
export function unfinishedRuns(target: GiteaTarget, options: Options): Promise<readonly Run[]> {
  return talk(target, options, async (api) => {
    const level = await ownLevel(api, target.scope);
    const unfinished: Run[] = [];
    const isLast = (run: Run): boolean => {
      unfinished.push(run);
      return false;
    };
    if (level) await search(api, level, ACTIVE, isLast);
    return unfinished;
  });
}

/** Finds a run. Undefined: it is neither unfinished nor among the newest. @throws Failure when Gitea does not answer */
export function findRun(target: GiteaTarget, reference: RunWanted, options: Options): Promise<Run | undefined> {
  return talk(target, options, async (api) => {
    const { scope } = target;
    const level = scope.kind === 'repo' ? levelOfRepository(reference.repository) : levelOf(scope);
    const isReferred = (run: Run): boolean =>
      ('id' in reference ? run.id === reference.id : run.number === reference.number) &&
      run.repository.toLowerCase() === reference.repository.toLowerCase();
    return (await search(api, level, ACTIVE, isReferred)) ?? (await search(api, level, [], isReferred));
  });
}

async function talk<T>({ token, url }: GiteaTarget, options: Options, ask: (api: GiteaApi) => Promise<T>): Promise<T> {
  const http = giteaClient(options);
  const access = { http, url, token, deadline: new Deadline(options.deadlineMs), versions: new Map() };
  try {
    return await ask(new GiteaApi(access));
  } finally {
    await http.close();
  }
}

/** Reads the runs with these ids from at most six pages of the scope's newest runs. @throws Failure */
export async function readRuns(access: GiteaAccess, scope: Scope, ids: ReadonlySet<number>): Promise<readonly Run[]> {
  const api = new GiteaApi(access);
  const level = await ownLevel(api, scope);
  const runsById = new Map<number, Run>();
  const isLast = (run: Run): boolean => {
    if (ids.has(run.id)) runsById.set(run.id, run);
    return runsById.size === ids.size;
  };
  if (level) (await search(api, level, ACTIVE, isLast)) ?? (await search(api, level, [], isLast));
  return [...runsById.values()];
}

async function search(api: GiteaApi, level: Level, states: readonly string[], isMatch: (run: Run) => boolean) {
  const isOfAll = states.length === 0;
  const question: Question = {
    what: `list ${isOfAll ? '' : 'unfinished '}runs of ${level.name}`,
    // From 1.27 on, Gitea would otherwise search the pull requests of each run.
    query: [...states.map((state) => ['status', state] as const), ['exclude_pull_requests', 'true']],
    ...level.runs,
  };
  let rowCount = 0;
  const mostPages = isOfAll ? MOST_PAGES.all : MOST_PAGES.active;
  for await (const { rows, total } of eachPage(api, question, readRunPage, mostPages)) {
    const match = rows.find(isMatch);
    rowCount += rows.length;
    if (match || rowCount >= total) return match;
  }
  return undefined;
}

function readRunPage(json: unknown): ListPage<Run> {
  const page = readShape(RunPage, json, 'the list');
  return { rows: page.workflow_runs.map(readRun), total: page.total_count };
}

function readRun(row: unknown, index: number) {
  const { repository, ...run } = readShape(RunRow, row, `run number ${index + 1} of the page`);
  return {
    id: run.id,
    /** As Gitea shows it: it counts the runs of the repository. */
    number: run.run_number,
    /** `owner/name` */
    repository: repository.full_name,
    /** File name of the workflow. */
    workflow: run.path.replace(/@.*$/, ''),
    event: run.event,
    branch: run.head_branch ?? '',
    /** First line of the commit, or title of the pull request. */
    ...(run.display_title && { title: cut(run.display_title, LONGEST_TITLE) }),
    /** Login of the person who started the run. */
    ...(run.actor && isGiteaName(run.actor.login) && { actor: run.actor.login }),
    /** Gitea's word: `queued`, `waiting`, `in_progress` or `completed`. */
    status: run.status,
    ...(run.conclusion && { conclusion: run.conclusion }),
    /** Page of the run. Empty if Gitea gives no http(s) address. */
    url: /^https?:\/\//.test(run.html_url) ? run.html_url : '',
    /** True if Actions are off: Gitea lists the repository's jobs and gives them to no runner (1.26.0, 1.27.3). */
    ...(repository.has_actions === false && { isActionsOff: true as const }),
  };
}

interface RunPlace {
  /** `owner/name`. */
  readonly repository: string;
  readonly runId: number;
}

/**
 * A job of the latest attempt of a run. How Gitea re-runs (from 1.26 on, services/actions/rerun.go; read in 1.27.3):
 *
 * - Nothing of a run that is not done (400 "not done").
 * - Up to 1.26 it resets the rows of a job and of all that need it: same ids, no runner. From 1.27 on the run gets new
 *   rows; a job that is not re-run is copied with the name of its runner.
 * - So a row with the name of a runner was not re-run since.
 */
export type JobOfRun = Readonly<ReturnType<typeof jobOf>>;

function jobOf(row: z.output<typeof RerunRow>, version: VersionFacts) {
  const status = toJobStatus(row.status);
  return {
    id: row.id,
    /** Same value as `Job.attempt` (src/planner/evidence.ts). */
    attempt: toAttempt(row.run_attempt, status, version),
    /** Number of re-runs so far: from 1.27 on of the run, up to 1.26 of the job. */
    reruns: Math.max(0, row.run_attempt - 1),
    isDone: status === 'completed',
    /** True if it waits for jobs, a concurrency group or an approval. An unknown word may mean a job at work. */
    ...(row.status === 'waiting' && { isBlocked: true as const }),
    /** Gitea's word, e.g. `success` or `failure`; absent while it is not done. */
    ...(row.conclusion && { conclusion: row.conclusion }),
    /** Absent: no runner has claimed it, or Gitea's nightly clean-up has removed the name. */
    ...(row.runner_name && { runner: row.runner_name }),
  };
}

/** What is re-run: one job, or all failed and cancelled ones; each with all jobs that need it. */
export type RerunRequest = { readonly jobId: number } | 'failed-jobs';

/** A run has at most 256 jobs per matrix; more pages than this are not read. */
const MOST_JOB_PAGES = 20;

/** Gitea 1.25 has no re-runs. Older versions are refused before, as they cannot list jobs. */
const WITHOUT_RERUNS = /^(?:1\.)?25\./;

const RerunRow = z.object({
  id: z.int().positive(),
  run_attempt: z.int().nonnegative(),
  status: z.string().min(1),
  conclusion: z.string().nullish(),
  runner_name: z.string().nullish(),
});
const JobPage = z.object({ jobs: z.array(RerunRow), total_count: z.int().nonnegative() });

/** Reads the jobs of a run's latest attempt, or those in progress. @throws Failure: too old, gone, or not complete */
export async function readRunJobs(access: GiteaAccess, place: RunPlace, status?: 'in_progress') {
  const api = new GiteaApi(access);
  const action = `list the jobs of ${nameOf(place)}`;
  const query = status ? [['status', status] as const] : [];
  const question: Question = { ...hintsOf(place), what: action, path: pathOf(place, 'jobs'), query };
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
    for (const row of rows) jobs.set(row.id, jobOf(row, version));
    if (jobs.size >= total) return [...jobs.values()];
  }
  throw api.failure(question, 'GR-GITEA-09', 'the list is not complete', 'It is read again later');
}

/** True if this Gitea can end a run whatever its runners do. Asked each time: it may be upgraded. @throws Failure */
export async function canEndRuns(access: GiteaAccess): Promise<boolean> {
  return (await new GiteaApi({ ...access, versions: new Map() }).version()).endsRuns;
}

/** Ends all unfinished jobs of a run as cancelled, whatever their runners do. @throws Failure */
export async function endRun(access: GiteaAccess, place: RunPlace): Promise<void> {
  const question = { ...hintsOf(place), what: `end ${nameOf(place)}`, path: pathOf(place, 'force-cancel') };
  // 409: it has ended meanwhile.
  await change(access, { ...question, method: 'POST' }, [200, 409]);
}

/** Asks Gitea for a re-run. `not-done`: the run is not done (any more), so nothing was re-run. @throws Failure */
export async function askForRerun(
  access: GiteaAccess,
  place: RunPlace,
  request: RerunRequest,
): Promise<'asked' | 'not-done'> {
  const action =
    request === 'failed-jobs' ? `re-run the failed jobs of ${nameOf(place)}` : `re-run job ${request.jobId}`;
  const path = pathOf(place, request === 'failed-jobs' ? 'rerun-failed-jobs' : `jobs/${request.jobId}/rerun`);
  const question = { ...hintsOf(place), what: action, method: 'POST' as const, path };
  const answer = await change(access, question, [200, 201, 400, 409]);
  if (answer.status < 300) return 'asked';
  // 409: somebody else makes the next attempt at this moment (1.27).
  if (answer.status === 409 || NOT_DONE.test(beginningOf(answer))) return 'not-done';
  const remedy = 'Look whether the workflow is disabled, or the run has had its MAX_RERUN_ATTEMPTS';
  throw failure(requestTo(access, question), 'GR-GITEA-17', 'Gitea refuses the re-run (400)', remedy);
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
