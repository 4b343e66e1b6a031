/**
 * Has Gitea re-run the CI jobs whose runners were lost: one key of the queue per run.
 *
 *     lost job ─► a look shows that Gitea has ended it ─► delay ─► jobs of the run's latest attempt ─► decideRerun ─► POST, or nothing
 *
 * Bound: one run per second and Gitea. A run whose other jobs still run is asked about again later and later.
 */
import type { GiteaAccess } from '../../clients/gitea/api.ts';
import { askForRerun, type JobOfRun, readRunJobs } from '../../clients/gitea/runs.ts';
import type { LostJob } from '../../config/runnergroup/status.ts';
import type { DropReason, RerunOutcome } from '../../serve/events.ts';
import { asking, LONGEST_TURN_MS } from '../../serve/looks/giteas.ts';
import type { GroupAtLoss } from '../../serve/losses/follow.ts';
import type { Again, Turn } from '../../serve/queue.ts';
import type { StartTask } from '../../serve/task.ts';
import { doubled } from '../../shared/clock.ts';
import { groupBy } from '../../shared/keys.ts';

interface FollowedRun {
  readonly run: LostRun;
  tries: number;
  isTold: boolean;
}

/** @param timeoutMs for all requests of one run. */
export function rerunLostJobs(timeoutMs: number): StartTask {
  return ({ changed, clock, giteas, losses: book, queue, tell }) => {
    let runs: ReadonlyMap<string, FollowedRun> = new Map();

    const end = ({ live: { key, object } }: GroupAtLoss, lost: LostJob, outcome: RerunOutcome): void => {
      book.settle(key, lost);
      tell({ is: 'rerun', object, lost, outcome });
      changed();
    };

    /** Answers how many losses of the run are still to be seen to. @throws Failure */
    const ask = async (access: GiteaAccess, run: LostRun, signal: AbortSignal): Promise<number> => {
      const { at, losses } = run;
      const { drop, rerun } = decideRerun(losses, await readRunJobs(access, run), at.group.maxEvictionRetries);
      if (signal.aborted) return losses.length;
      for (const [loss, reason] of drop) end(at, loss, reason);
      const left = losses.length - drop.size;
      if (!rerun || (await askForRerun(access, run, rerun.request)) !== 'asked') return left;
      for (const loss of rerun.covers) end(at, loss, 'rerun');
      return left - rerun.covers.length;
    };

    const visit = async (key: string, { signal }: Turn): Promise<Again | undefined> => {
      const run = runs.get(key)?.run;
      if (!run) return undefined;
      const { target } = run.at;
      const pausedMs = giteas.pauseMs(target);
      if (pausedMs > 0) return { inMs: pausedMs, firm: true };
      const left = await giteas.ask(target, timeoutMs, (access) => ask(access, run, signal), signal);
      const followed = runs.get(key);
      const isOver = left === 0 || signal.aborted;
      const tries = followed?.tries ?? 0;
      // A later loss of the same run begins again from the start.
      if (followed) followed.tries = isOver ? 0 : tries + 1;
      return isOver ? undefined : { inMs: laterMs(tries), firm: true };
    };

    const line = queue.open('rerun', {
      ...asking((key) => runs.get(key)?.run.at.target),
      deadlineMs: LONGEST_TURN_MS + 2 * timeoutMs,
      backOffMs: (failures) => laterMs(failures - 1),
      // Told once per run: it is tried again until the loss expires, because a right can be granted meanwhile.
      onFailure: (key, failure) => {
        giteas.versions.clear();
        const followed = runs.get(key);
        const [lost] = followed?.run.losses ?? [];
        if (!followed || followed.isTold || !lost) return;
        followed.isTold = true;
        tell({ is: 'rerun', object: followed.run.at.live.object, lost, outcome: 'failed', failure });
      },
      run: visit,
    });

    return ({ is }) => {
      if (is !== 'reconciled') return;
      const nowMs = clock.now();
      const expired = book.atLoss.flatMap((at) =>
        at.lost.flatMap((loss) => (isExpired(loss, nowMs) ? [{ at, loss }] : [])),
      );
      for (const { at, loss } of expired) end(at, loss, 'expired');
      const known = runs;
      runs = new Map(
        lostRuns(book.atLoss).map((run) => [run.key, { tries: 0, isTold: false, ...known.get(run.key), run }]),
      );
      line.keepOnly(runs);
      for (const [key, { run }] of runs) {
        if (!line.has(key) && showsEnd(run)) line.add(key, run.at.group.evictionRetryDelaySeconds * 1000);
      }
    };
  };
}

interface LostRun {
  /** The same while any of its jobs is lost. */
  readonly key: string;
  readonly at: GroupAtLoss;
  readonly repository: string;
  readonly runId: number;
  readonly losses: readonly LostJob[];
}

/** A run may go on for hours after one of its jobs was lost. Later than this nobody wants it back. */
const LOSS_EXPIRES_MS = 24 * 3_600_000;
const FIRST_PAUSE_MS = 15_000;
const LONGEST_PAUSE_MS = 300_000;

export function lostRuns(groups: readonly GroupAtLoss[]): readonly LostRun[] {
  return groups.flatMap((at) => {
    const runs = groupBy(at.lost, ({ repository, runId }) => `${at.live.key} ${repository} ${runId}`);
    return [...runs].map(([key, losses]) => {
      const { repository = '', runId = 0 } = losses[0] ?? {};
      return { key, at, repository, runId, losses };
    });
  });
}

/** True when the newest look shows that Gitea has ended a lost job of the run. Looks are free: Gitea is not asked before. */
export function showsEnd({ at: { look }, losses }: LostRun): boolean {
  if (!look) return false;
  const running = new Set(look.jobs.flatMap(({ id, status }) => (status === 'in_progress' ? [id] : [])));
  return losses.some(({ jobId, lostAt }) => !running.has(jobId) && look.beganMs > Date.parse(lostAt));
}

/** The pause after so many questions that changed nothing, ms: 15 s, 30 s … 5 minutes. */
export function laterMs(tries: number): number {
  return doubled(FIRST_PAUSE_MS, tries, LONGEST_PAUSE_MS);
}

export function isExpired({ lostAt }: LostJob, nowMs: number): boolean {
  return nowMs - Date.parse(lostAt) > LOSS_EXPIRES_MS;
}

/**
 * Pure. Gitea's rows are the memory: one that has the name of the lost runner was not re-run since (src/clients/gitea/runs.ts). So one loss
 * is re-run once, also when several leaders ask about it. @param losses all of one run. @param jobs all of its latest attempt.
 * Answers the losses that need nothing more, and what to ask for now with the losses that it covers, unless the run is not done.
 */
export function decideRerun(losses: readonly LostJob[], jobs: readonly JobOfRun[], maxRetries: number) {
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
    return { drop, rerun: { request: 'failed-jobs' as const, covers: [...failed.keys()] } };
  }
  return { drop, rerun: { request: { jobId: first[1].id }, covers: [first[0]] } };
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
