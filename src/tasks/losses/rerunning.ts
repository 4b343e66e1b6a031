/**
 * Has Gitea re-run the CI jobs whose runners were lost: one key of the queue per run.
 *
 *     lost job ─► a look shows that Gitea has ended it ─► delay ─► jobs of the run's latest attempt ─► decide.ts ─► POST, or nothing
 *
 * Bound: one run per second and Gitea. A run whose other jobs still run is asked about again later and later.
 */

import { askForRerun, readRunJobs } from '../../clients/gitea/runs.ts';
import type { LostJob } from '../../config/runnergroup/status.ts';
import type { RerunOutcome } from '../../serve/events.ts';
import { accessOf, BACKGROUND, LONGEST_TURN_MS, originOf } from '../../serve/looks/guest.ts';
import type { GroupAtLoss } from '../../serve/losses/book.ts';
import type { Again, Turn } from '../../serve/queue.ts';
import type { StartTask } from '../../serve/task.ts';
import { doubled } from '../../shared/clock.ts';
import { groupBy } from '../../shared/group-by.ts';
import { decideRerun } from './decide.ts';

const GAP_MS = 1_000;
/** Runs that are asked about at the same time, in all Giteas. */
const WIDTH = 8;

interface FollowedRun {
  readonly run: LostRun;
  /** Questions in a row that changed nothing. */
  tries: number;
  /** Its failure was told. */
  isTold: boolean;
}

/** @param timeoutMs for all requests of one run. */
export function rerunLostJobs(timeoutMs: number): StartTask {
  return ({ changed, clock, guest, losses: book, queue, tell }) => {
    let runs: ReadonlyMap<string, FollowedRun> = new Map();

    const end = ({ live: { key, object } }: GroupAtLoss, lost: LostJob, outcome: RerunOutcome): void => {
      book.settle(key, lost);
      tell({ is: 'rerun', object, lost, outcome });
      changed();
    };

    const endExpired = (): void => {
      for (const at of book.atLoss) {
        for (const loss of at.lost) if (isExpired(loss, clock.now())) end(at, loss, 'expired');
      }
    };

    /** Answers how many losses of the run are still to be seen to. @throws Failure */
    const ask = async (run: LostRun, signal: AbortSignal): Promise<number> => {
      const { at, losses } = run;
      const access = accessOf(guest, at.target, timeoutMs);
      const { drop, rerun } = decideRerun(losses, await readRunJobs(access, run), at.group.maxEvictionRetries);
      if (signal.aborted) return losses.length;
      for (const [loss, reason] of drop) end(at, loss, reason);
      const left = losses.length - drop.size;
      if (!rerun || (await askForRerun(access, run, rerun.wish)) !== 'asked') return left;
      for (const loss of rerun.covers) end(at, loss, 'rerun');
      return left - rerun.covers.length;
    };

    const visit = async (key: string, { signal }: Turn): Promise<Again | undefined> => {
      const run = runs.get(key)?.run;
      if (!run) return undefined;
      const { target } = run.at;
      const pausedMs = guest.pauseMs(target);
      if (pausedMs > 0) return { inMs: pausedMs, firm: true };
      const left = await guest.visit(target, BACKGROUND, () => ask(run, signal), signal);
      const followed = runs.get(key);
      const isOver = left === 0 || signal.aborted;
      const tries = followed?.tries ?? 0;
      // A later loss of the same run begins again from the start.
      if (followed) followed.tries = isOver ? 0 : tries + 1;
      return isOver ? undefined : { inMs: laterMs(tries), firm: true };
    };

    const line = queue.open('rerun', {
      width: WIDTH,
      laneOf: (key) => {
        const run = runs.get(key)?.run;
        return run ? originOf(run.at.target) : '';
      },
      // One that hangs holds up no other Gitea.
      perLane: 1,
      gapMs: GAP_MS,
      deadlineMs: LONGEST_TURN_MS + 2 * timeoutMs,
      backOffMs: (failures) => laterMs(failures - 1),
      // Told once per run: it is tried again until the loss expires, because a right can be granted meanwhile.
      onFailure: (key, failure) => {
        guest.versions.clear();
        const followed = runs.get(key);
        const [lost] = followed?.run.losses ?? [];
        if (!followed || followed.isTold || !lost) return;
        followed.isTold = true;
        tell({ is: 'rerun', object: followed.run.at.live.object, lost, outcome: 'failed', failure });
      },
      run: visit,
    });

    return ({ is }) => {
      if (is !== 'round-done') return;
      endExpired();
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

/** A run with lost jobs of one group. */
export interface LostRun {
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

/** All runs with lost jobs, in the order of their losses. */
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
  const running = new Set(look.found.jobs.flatMap(({ id, status }) => (status === 'in_progress' ? [id] : [])));
  return losses.some(({ jobId, lostAt }) => !running.has(jobId) && look.beganMs > Date.parse(lostAt));
}

/** The pause after so many questions that changed nothing, ms: 15 s, 30 s … 5 minutes. */
export function laterMs(tries: number): number {
  return doubled(FIRST_PAUSE_MS, tries, LONGEST_PAUSE_MS);
}

export function isExpired({ lostAt }: LostJob, nowMs: number): boolean {
  return nowMs - Date.parse(lostAt) > LOSS_EXPIRES_MS;
}
