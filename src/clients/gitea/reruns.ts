/**
 * Re-runs of CI jobs through Gitea (1.26 or newer, services/actions/rerun.go). Read in 1.26.0 and 1.27.3:
 *
 * - Gitea re-runs nothing of a run that is not done (400 "not done").
 * - Up to 1.26 the rows of a job and of all that need it are reset: same ids, no runner. From 1.27 on the run gets new rows. Jobs that
 *   are not re-run are copied and keep the name of their runner.
 * - So a row of the latest attempt that still has the name of a runner shows that its job was not re-run since.
 */
import * as z from 'zod';
import { type GiteaAccess, GiteaApi, type Question, requestTo } from './api.ts';
import { repoLevel } from './endpoints.ts';
import { failureOfStatus, type Rights } from './failures.ts';
import { PAGE_LIMIT } from './paging.ts';
import { readShape } from './shapes.ts';
import { toAttempt, toJobStatus } from './status.ts';

/** A run of a workflow. */
export interface RunPlace {
  /** `owner/name`. */
  readonly repository: string;
  readonly runId: number;
}

/** A job of the latest attempt of a run. */
export interface JobOfRun {
  readonly id: number;
  /** As `Job.attempt` (src/planner/evidence.ts). */
  readonly attempt: number;
  /** How often it was re-run before: from 1.27 on its run, up to 1.26 the job itself. */
  readonly reruns: number;
  readonly isDone: boolean;
  /** Gitea's word, e.g. `success` or `failure`; absent while it is not done. */
  readonly conclusion?: string;
  /** Absent: no runner has claimed it, or Gitea's nightly clean-up has removed the name. */
  readonly runner?: string;
}

/** What is re-run: one job with all that need it, or all jobs that failed or were cancelled, with all that need them. */
export type RerunWish = { readonly jobId: number } | 'failed-jobs';

/** A run has at most 256 jobs per matrix; more pages than this are not read. */
const MOST_PAGES = 20;

/** Older ones cannot list jobs either, and are refused before. */
const WITHOUT_RERUNS = /^1\.25\./;

const JobRow = z.object({
  id: z.int().positive(),
  run_attempt: z.int().nonnegative(),
  status: z.string().min(1),
  conclusion: z.string().nullish(),
  runner_name: z.string().nullish(),
});
const JobPage = z.object({ jobs: z.array(JobRow), total_count: z.int().nonnegative() });

/** All jobs of the latest attempt of a run. Throws `Failure`: Gitea is too old, the run is gone, the list is not complete. */
export async function readRunJobs(access: GiteaAccess, place: RunPlace): Promise<readonly JobOfRun[]> {
  const api = new GiteaApi(access);
  const question: Question = {
    ...hintsOf(place),
    what: `list the jobs of ${nameOf(place)}`,
    path: pathOf(place, 'jobs'),
  };
  const version = await api.version();
  if (WITHOUT_RERUNS.test(version.text)) {
    const remedy = 'Upgrade it to 1.26 or newer, or set spec.maxEvictionRetries to 0';
    throw api.failure(question, 'GR-GITEA-16', `this is Gitea ${version.text}, which cannot re-run jobs`, remedy);
  }
  const jobs = new Map<number, JobOfRun>();
  for (let page = 1; page <= MOST_PAGES; page += 1) {
    const query = [['page', String(page)] as const, ['limit', String(PAGE_LIMIT)] as const];
    const { rows, total } = await api.get({ ...question, query }, (json) => {
      const page = readShape(JobPage, json, 'the list');
      return { rows: page.jobs, total: page.total_count };
    });
    for (const row of rows) {
      const status = toJobStatus(row.status);
      jobs.set(row.id, {
        id: row.id,
        attempt: toAttempt(row.run_attempt, status, version),
        reruns: Math.max(0, row.run_attempt - 1),
        isDone: status === 'completed',
        ...(row.conclusion && { conclusion: row.conclusion }),
        ...(row.runner_name && { runner: row.runner_name }),
      });
    }
    if (jobs.size >= total) return [...jobs.values()];
    if (rows.length === 0) break;
  }
  throw api.failure(question, 'GR-GITEA-09', 'the list is not complete', 'It is read again later');
}

/**
 * Asks Gitea for a re-run. `not-done`: the run is not done (any more), so nothing was re-run. Throws `Failure`, for a 403 with the right
 * that is missing.
 */
export async function askForRerun(
  access: GiteaAccess,
  place: RunPlace,
  wish: RerunWish,
): Promise<'asked' | 'not-done'> {
  const what = wish === 'failed-jobs' ? `re-run the failed jobs of ${nameOf(place)}` : `re-run job ${wish.jobId}`;
  const path = pathOf(place, wish === 'failed-jobs' ? 'rerun-failed-jobs' : `jobs/${wish.jobId}/rerun`);
  const { queue } = access;
  const request = { ...requestTo(access, { what, method: 'POST', path }), ...(queue !== undefined && { queue }) };
  const answer = await access.http.send(request, access.deadline);
  if (answer.status === 200 || answer.status === 201) return 'asked';
  // 409: somebody else makes the next attempt at this moment (1.27).
  if (answer.status === 409 || (answer.status === 400 && NOT_DONE.test(answer.text.slice(0, TEXT_BEGINS)))) {
    return 'not-done';
  }
  if (answer.status === 400) {
    throw new GiteaApi(access).failure(
      { ...hintsOf(place), what, path },
      'GR-GITEA-17',
      'Gitea refuses the re-run (400)',
      'Look whether the workflow is disabled, or the run has had its MAX_RERUN_ATTEMPTS',
    );
  }
  throw failureOfStatus(request, answer, hintsOf(place), access.token);
}

/** Compared and never repeated. */
const NOT_DONE = /run is not done/;
/** Gitea's texts are short. */
const TEXT_BEGINS = 1_000;

const RIGHTS: Rights = {
  scope: 'scope write:repository',
  user: 'one who may write to the Actions of the repository',
};

function hintsOf({ repository, runId }: RunPlace) {
  return {
    rights: RIGHTS,
    missing: `Check that ${repository} has run ${runId}, and that the token's user may see the repository`,
  };
}

function nameOf({ repository, runId }: RunPlace): string {
  return `run ${runId} of ${repository}`;
}

function pathOf({ repository, runId }: RunPlace, below: string): string {
  const [owner = '', repo = ''] = repository.split('/');
  return `${repoLevel(owner, repo).jobsPath.replace(/jobs$/, 'runs')}/${runId}/${below}`;
}
