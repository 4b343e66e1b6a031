/**
 * What to do about the lost CI jobs of one run, by what Gitea shows of its latest attempt. Pure.
 *
 * Gitea's rows are the memory. A row that has the name of the lost runner was not re-run since (src/clients/gitea/runs.ts). So one loss is
 * re-run once, also when several leaders ask about it.
 */
import type { JobOfRun, RerunWish } from '../../clients/gitea/runs.ts';
import type { LostJob } from '../../config/runnergroup/status.ts';
import type { DropReason } from '../../serve/events.ts';

export interface RunDecision {
  /** Losses that need nothing more. */
  readonly drop: ReadonlyMap<LostJob, DropReason>;
  /** To ask for now, and the losses that it covers. Absent: the run is not done, or nothing is left. */
  readonly rerun?: { readonly wish: RerunWish; readonly covers: readonly LostJob[] };
}

/**
 * @param losses all of one run.
 * @param jobs all of its latest attempt.
 * @param maxRetries `spec.maxEvictionRetries`.
 */
export function decideRerun(losses: readonly LostJob[], jobs: readonly JobOfRun[], maxRetries: number): RunDecision {
  const drop = new Map<LostJob, DropReason>();
  const failed = new Map<LostJob, JobOfRun>();
  for (const loss of losses) {
    const row = jobs.find((job) => isOf(loss, job));
    const reason = dropReason(row, maxRetries);
    if (reason) drop.set(loss, reason);
    else if (row?.isDone) failed.set(loss, row);
  }
  const [first] = failed;
  if (!first || jobs.some(({ isDone }) => !isDone)) return { drop };
  // One request re-runs them all. Where other jobs failed, too, it would re-run those: then one job after the other.
  const lostRows = new Set(failed.values());
  const others = jobs.filter(({ conclusion }) => conclusion === 'failure' || conclusion === 'cancelled');
  if (failed.size > 1 && others.every((job) => lostRows.has(job))) {
    return { drop, rerun: { wish: 'failed-jobs', covers: [...failed.keys()] } };
  }
  return { drop, rerun: { wish: { jobId: first[1].id }, covers: [first[0]] } };
}

/** True for the row of the lost attempt. After Gitea's nightly clean-up the row has no name of a runner any more. */
function isOf({ runner, jobId, attempt }: LostJob, job: JobOfRun): boolean {
  if (job.runner !== undefined) return job.runner === runner;
  return job.id === jobId && job.attempt === attempt;
}

function dropReason(row: JobOfRun | undefined, maxRetries: number): DropReason | undefined {
  if (!row) return 'superseded';
  if (!row.isDone) return row.runner === undefined ? 'superseded' : undefined;
  if (row.conclusion !== 'failure') return 'not-failed';
  return row.reruns >= maxRetries ? 'exhausted' : undefined;
}
