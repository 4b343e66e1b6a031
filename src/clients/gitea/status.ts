/** Gitea's status words and attempt numbers in the planner's terms. */
import type { JobStatus } from '../../planner/evidence.ts';
import type { VersionFacts } from './version.ts';

/**
 * The planner's word for a job's `status` (services/convert `ToActionsStatus`, 1.25 to 1.27). `queued` means ready there, and `waiting`
 * means blocked, although Gitea's internal words are the other way round. A copy of that mapping also has `pending` and `requested`. So
 * every word but the three known ones means *not ready*: a runner for it would idle.
 */
export function toJobStatus(word: string): JobStatus {
  switch (word) {
    case 'queued':
    case 'in_progress':
    case 'completed':
      return word;
    default:
      return 'blocked';
  }
}

/**
 * A number that is the same while a job waits and while it runs. Up to 1.26 Gitea adds 1 to `run_attempt` at the claim (first queued 0,
 * running 1; measured on 1.26.0). So 1 is taken off a claimed job there. From 1.27 the number stays as it is.
 */
export function toAttempt(runAttempt: number, status: JobStatus, version: VersionFacts): number {
  const claimed = status === 'in_progress' || status === 'completed';
  return version.attemptGrowsAtClaim && claimed ? Math.max(0, runAttempt - 1) : runAttempt;
}
