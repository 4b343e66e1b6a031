/** When Gitea is asked about the runs of lost CI jobs. Pure. */

import type { LostJob } from '../../config/runnergroup/status.ts';
import type { GroupAtLoss } from '../../serve/losses/book.ts';
import { doubled } from '../../shared/clock.ts';
import { groupBy } from '../../shared/group-by.ts';

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
