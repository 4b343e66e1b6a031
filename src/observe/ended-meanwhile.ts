/** Jobs that end while Gitea is asked. Pure. */

import { hasEnded, type LiveJob } from '../planner/evidence.ts';
import { keyText } from '../shared/key-text.ts';

/**
 * The Jobs of the second list, but one that has ended since the first list counts as running. Gitea's answers may be older than its end.
 * Then its CI job looks as if it still waited, and would get a second runner.
 * @param before listed as Gitea was asked. @param now listed when it had answered.
 */
export function endedMeanwhile(before: readonly LiveJob[] = [], now: readonly LiveJob[] = []): readonly LiveJob[] {
  const earlier = new Map(before.map((job) => [keyText(job), job]));
  return now.map((job) => {
    const known = earlier.get(keyText(job));
    return hasEnded(job.state) && !hasEnded(known?.state) ? asRunning(job, known) : job;
  });
}

function asRunning({ finishedAtMs, trouble, end, ...job }: LiveJob, known: LiveJob | undefined): LiveJob {
  const { runningSinceMs } = known ?? {};
  return { ...job, state: 'running', ...(runningSinceMs !== undefined && { runningSinceMs }) };
}
