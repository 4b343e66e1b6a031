/**
 * Has Gitea end and re-run the CI jobs whose runners were lost: one key of the queue per run.
 *
 *     lost job ─┬─► a look shows that Gitea has ended it ──────────► delay ─► jobs of the run's latest attempt ─► decideRerun ─► POST, or nothing
 *               └─► Gitea 28, its runner has ended, nothing else     ▲
 *                   of the run is at work ─► noted in the status ─► POST
 *
 * Gitea ends runs and no single jobs. The note comes first: a leader that follows must know that no person has cancelled the job.
 * Bound: one run per second and Gitea. A run whose other jobs still run is asked about again later and later.
 */
import type { GiteaAccess } from '../../clients/gitea/api.ts';
import { askForRerun, canEndRuns, endRun, type JobOfRun, readRunJobs } from '../../clients/gitea/runs.ts';
import type { LostJob } from '../../config/runnergroup/status.ts';
import { asking, LONGEST_TURN_MS } from '../../serve/looks/giteas.ts';
import type { GroupAtLoss } from '../../serve/losses/losses.ts';
import { type DropReason, type RerunOutcome, subscriberOf } from '../../serve/planning/events.ts';
import type { Retry, Turn } from '../../serve/queue/work-queue.ts';
import type { StartTask } from '../../serve/task.ts';
import { doubled } from '../../shared/clock.ts';
import { groupBy } from '../../shared/keys.ts';

interface FollowedRun {
  readonly run: LostRun;
  tries: number;
  isTold: boolean;
  /** This Gitea cannot end the run: it will give up the lost jobs by itself. */
  cannotEnd?: true;
  /** True if Gitea was asked to end the run. */
  isEnded?: true;
}

/** Result of a visit. `over`: if something is left, a reconcile adds the run again. `later`: some of its losses wait. */
type Visit = 'over' | 'later' | 'ended' | 'cannot-end';

/** Has Gitea re-run lost CI jobs. @param timeoutMs for all requests of one run */
export function rerunLostJobs(timeoutMs: number): StartTask {
  return ({ changed, clock, giteas, losses: book, queue, tell }) => {
    let runs: ReadonlyMap<string, FollowedRun> = new Map();

    const end = ({ live: { key, object } }: GroupAtLoss, losses: readonly LostJob[], outcome: RerunOutcome): void => {
      for (const lost of losses) {
        book.settle(key, lost);
        tell({ is: 'rerun', object, lost, outcome });
        changed();
      }
    };

    const waitsForNote = ({ at }: LostRun, loss: LostJob): boolean =>
      loss.endAskedAt !== undefined && !book.isAskNoted(at.live.key, loss);

    /** Ends the run in Gitea if only lost jobs are at work in it. @throws Failure */
    const endRunOf = async (access: GiteaAccess, run: LostRun, jobs: readonly JobOfRun[]): Promise<Visit> => {
      const { group, live } = run.at;
      const toEnd = decideEnd(run.losses, jobs, group.maxEvictionRetries);
      if (toEnd.length === 0 || !(await canEndRuns(access))) return 'later';
      // A person may be cancelling the jobs at this moment.
      const atWork = new Set((await readRunJobs(access, run, 'in_progress')).map(({ runner }) => runner));
      if (!toEnd.every(({ runner }) => atWork.has(runner))) return 'later';
      if (!toEnd.every((loss) => book.isAskNoted(live.key, loss))) {
        book.askEnd(live.key, toEnd, clock.now());
        changed();
        return 'over';
      }
      await endRun(access, run);
      if (!runs.get(run.key)?.isEnded)
        for (const lost of toEnd) tell({ is: 'rerun', object: live.object, lost, outcome: 'ended' });
      return 'ended';
    };

    /** Settles the losses of a run, and requests one re-run if it is due. @throws Failure */
    const ask = async (access: GiteaAccess, run: LostRun, signal: AbortSignal): Promise<Visit> => {
      const { at, losses } = run;
      const jobs = await readRunJobs(access, run);
      const { drop, rerun } = decideRerun(losses, jobs, at.group.maxEvictionRetries, at.lostSince);
      if (signal.aborted) return 'over';
      for (const [loss, reason] of drop) end(at, [loss], reason);
      const openCount = losses.length - drop.size;
      if (!rerun) return await endRunOf(access, run, jobs);
      if ((await askForRerun(access, run, rerun.request)) !== 'asked') return 'later';
      end(at, rerun.covers, 'rerun');
      return openCount > rerun.covers.length ? 'later' : 'over';
    };

    const visit = async (key: string, { signal }: Turn): Promise<Retry | undefined> => {
      const run = runs.get(key)?.run;
      if (!run) return undefined;
      const { target } = run.at;
      const pausedMs = giteas.pauseMs(target);
      if (pausedMs > 0) return { inMs: pausedMs };
      const visitRun = async (access: GiteaAccess): Promise<Visit> =>
        showsEnd(run) || (await canEndRuns(access)) ? await ask(access, run, signal) : 'cannot-end';
      const done = await giteas.ask(target, timeoutMs, visitRun, signal);
      return signal.aborted ? undefined : againAfter(done, runs.get(key));
    };

    const line = queue.open('rerun', {
      ...asking((key) => runs.get(key)?.run.at.target),
      deadlineMs: LONGEST_TURN_MS + 2 * timeoutMs,
      backOffMs: (failures) => laterMs(failures - 1),
      // A failure is told once per run. The run is tried until the loss expires: somebody may grant a right meanwhile.
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

    return subscriberOf({
      reconciled: () => {
        for (const group of book.atLoss()) {
          const expired = group.lost.filter((loss) => isExpired(loss, clock.now()));
          end(group, expired, 'expired');
        }
        const earlierRuns = runs;
        const stateOf = (run: LostRun) => ({ tries: 0, isTold: false, ...earlierRuns.get(run.key), run });
        runs = new Map(lostRuns(book.atLoss()).map((run) => [run.key, stateOf(run)]));
        line.keepOnly(runs);
        for (const [key, { cannotEnd, run }] of runs) {
          if (line.has(key)) continue;
          if (showsEnd(run)) line.add(key, run.at.group.evictionRetryDelaySeconds * 1000);
          else if (!cannotEnd && mayEnd(run) && run.losses.every((loss) => !waitsForNote(run, loss))) line.add(key);
        }
      },
    });
  };
}

/** Returns when a run is visited again. */
function againAfter(done: Visit, followedRun: FollowedRun | undefined): Retry | undefined {
  if (!followedRun) return undefined;
  const { run, tries } = followedRun;
  if (done === 'cannot-end') followedRun.cannotEnd = true;
  if (done === 'ended' && !followedRun.isEnded) {
    Object.assign(followedRun, { isEnded: true, tries: 0 });
    return { inMs: run.at.group.evictionRetryDelaySeconds * 1000 };
  }
  // A later loss of the same run begins again from the start. A run that Gitea says it has ended, and has not, is waited for.
  const waits = done === 'later' || done === 'ended';
  followedRun.tries = waits ? tries + 1 : 0;
  return waits ? { inMs: laterMs(tries) } : undefined;
}

type LostRun = ReturnType<typeof lostRuns>[number];

/** A run may go on for hours after one of its jobs was lost. Later than this nobody wants it back. */
const LOSS_EXPIRES_MS = 24 * 3_600_000;
/** First pause while other jobs of the run still run, ms. It is doubled with each visit. */
const FIRST_PAUSE_MS = 15_000;
const LONGEST_PAUSE_MS = 300_000;

/** Returns the runs with lost jobs. A run has the same `key` while any of its jobs is lost. */
function lostRuns(groups: readonly GroupAtLoss[]) {
  return groups.flatMap((group) => {
    // The key is without the repository, which may be renamed meanwhile.
    const runs = groupBy(group.lost, ({ runId }) => `${group.live.key} ${runId}`);
    return [...runs].map(([key, losses]) => {
      const { repository = '', runId = 0 } = losses.at(-1) ?? {};
      return { key, at: group, repository, runId, losses };
    });
  });
}

/** True when the newest look shows that Gitea has ended a lost job of the run. The look was made anyway: this costs no request. */
export function showsEnd({ at: { look, lostSince }, losses }: Pick<LostRun, 'at' | 'losses'>): boolean {
  if (!look) return false;
  const running = new Set(look.jobs.flatMap(({ id, status }) => (status === 'in_progress' ? [id] : [])));
  return losses.some(({ jobId }) => !running.has(jobId) && look.beganSteadyMs > (lostSince.get(jobId) ?? 0));
}

/** True when all jobs of the run that are ready or at work are lost, and their runners have ended. The newest look says so, without a request. */
function mayEnd({ at: { look }, losses, runId }: LostRun): boolean {
  if (!look) return false;
  const endedJobIds = new Set(losses.flatMap(({ jobId, runnerEnded }) => (runnerEnded ? [jobId] : [])));
  const jobsOfRun = look.jobs.filter((job) => job.runId === runId);
  const open = jobsOfRun.filter(({ status }) => status === 'in_progress' || status === 'queued');
  return open.length > 0 && open.every(({ id, status }) => status === 'in_progress' && endedJobIds.has(id));
}

/** Returns the lost jobs for which Gitea should end the run now. Empty: another job would end or be re-run with them. Pure. */
export function decideEnd(losses: readonly LostJob[], jobs: readonly JobOfRun[], maxRetries: number) {
  const open = jobs.filter(({ isBlocked, isDone }) => !isDone && !isBlocked);
  const ofOpen = open.map(({ runner, reruns }) =>
    losses.find((loss) => loss.runnerEnded && loss.runner === runner && reruns < maxRetries),
  );
  const lost = ofOpen.filter((loss) => loss !== undefined);
  if (lost.length < open.length) return [];
  return jobs.some(({ isBlocked }) => isBlocked) && jobs.some(hasFailed) ? [] : lost;
}

function hasFailed({ conclusion }: JobOfRun): boolean {
  return conclusion === 'failure' || conclusion === 'cancelled';
}

/** The pause after so many questions that changed nothing, ms: 15 s, 30 s … 5 minutes. */
function laterMs(tries: number): number {
  return doubled(FIRST_PAUSE_MS, tries, LONGEST_PAUSE_MS);
}

/** A time that is far ahead or no time at all has expired, too. */
function isExpired({ lostAt }: LostJob, nowMs: number): boolean {
  return !(Math.abs(nowMs - Date.parse(lostAt)) <= LOSS_EXPIRES_MS);
}

/**
 * Returns the losses that need nothing more (`drop`), and the next request with the losses that it covers. Pure.
 * Gitea's rows are the memory: one with the name of the lost runner was not re-run yet. So each loss is re-run once.
 */
export function decideRerun(
  losses: readonly LostJob[],
  jobs: readonly JobOfRun[],
  maxRetries: number,
  lostSince: GroupAtLoss['lostSince'],
) {
  const drop = new Map<LostJob, DropReason>();
  const failed = new Map<LostJob, JobOfRun>();
  for (const loss of losses) {
    const row = jobs.find((job) => isOf(loss, job, lostSince));
    const reason = dropReason(row, maxRetries, loss);
    if (reason) drop.set(loss, reason);
    else if (row?.isDone) failed.set(loss, row);
  }
  const [first] = failed;
  if (!first || jobs.some(({ isDone }) => !isDone)) return { drop };
  // One request re-runs all failed jobs. If others failed, too, each lost job gets a request of its own.
  const lostRows = new Set(failed.values());
  const failedJobs = jobs.filter(hasFailed);
  // Jobs without a runner were ended together with the lost ones.
  const areEnded = [...failed.keys()].some(({ endAskedAt }) => endAskedAt !== undefined);
  const isOurs = (job: JobOfRun): boolean =>
    lostRows.has(job) || (areEnded && job.conclusion === 'cancelled' && job.runner === undefined);
  if (failedJobs.length > 1 && failedJobs.every(isOurs))
    return { drop, rerun: { request: 'failed-jobs' as const, covers: [...failed.keys()] } };
  return { drop, rerun: { request: { jobId: first[1].id }, covers: [first[0]] } };
}

/** True for the row of the lost attempt. Once Gitea has removed the name of its runner, only this process' own word counts: others may write a status. */
function isOf({ runner, jobId, attempt }: LostJob, job: JobOfRun, lostSince: GroupAtLoss['lostSince']): boolean {
  if (job.runner !== undefined) return job.runner === runner;
  return lostSince.has(jobId) && job.id === jobId && job.attempt === attempt;
}

function dropReason(row: JobOfRun | undefined, maxRetries: number, { endAskedAt }: LostJob): DropReason | undefined {
  if (!row) return 'superseded';
  if (!row.isDone) return row.runner === undefined ? 'superseded' : undefined;
  if (row.conclusion !== 'failure' && !(endAskedAt && row.conclusion === 'cancelled')) return 'not-failed';
  return row.reruns >= maxRetries ? 'exhausted' : undefined;
}
