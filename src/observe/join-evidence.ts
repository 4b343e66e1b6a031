/** From what was seen to the evidence of a plan: one clock for all times, and Jobs that end while Gitea is asked. Pure. */
import type { GiteaTarget } from '../clients/gitea/observe.ts';
import type { ServerClocks } from '../clients/http/clock.ts';
import { type Evidence, hasEnded, type LiveJob } from '../planner/evidence.ts';
import { keyText } from '../shared/key-text.ts';
import { type ClockWarning, correctClocks, shiftJobs, shiftLook } from './clock-correction.ts';
import type { Settings } from './settings.ts';
import type { Trouble } from './troubles.ts';

/** The Jobs of a cluster at one moment. */
export interface ListedJobs {
  readonly atMs: number;
  /** Of the API server. Undefined: there is no cluster to look at. */
  readonly origin: string | undefined;
  readonly jobs: readonly LiveJob[];
}

/** What was seen, each time by the clock of its server. */
interface SeenServers {
  readonly targets: readonly GiteaTarget[];
  readonly looks: Evidence['looks'];
  /** As Gitea was asked. */
  readonly before: ListedJobs;
  /** When it had answered. */
  readonly listed: ListedJobs;
  readonly troubles: readonly Trouble[];
  readonly clocks: ServerClocks;
}

/** The evidence with all times by the clocks of Gitea. The warnings are about clocks that cannot be compared. */
export function joinEvidence(
  { targets, looks, before, listed, troubles, clocks }: SeenServers,
  { instance, now, env }: Settings,
): { readonly evidence: Evidence; readonly warnings: readonly ClockWarning[] } {
  const clock = (origin: string) => ({ origin, bounds: clocks.of(origin) });
  const giteas = [...new Set(targets.map(({ url }) => new URL(url).origin))].map(clock);
  const correction = correctClocks(giteas, listed.origin === undefined ? undefined : clock(listed.origin));
  const application = env['ARGOCD_APP_NAME'];
  const urls = new Map(targets.map(({ key, url }) => [key, url]));
  const evidence: Evidence = {
    instance,
    looks: new Map([...looks].map(([key, look]) => [key, shiftLook(look, urls.get(key) ?? '', correction)])),
    cluster:
      listed.origin === undefined
        ? { is: 'unseen' }
        : {
            is: 'seen',
            jobs: shiftJobs(endedMeanwhile(before.jobs, listed.jobs), correction.jobShiftMs),
            listedAtMs: listed.atMs + correction.nowShiftMs,
          },
    ...(application && { application }),
    nowMs: now() + correction.nowShiftMs,
    troubled: troubles,
  };
  return { evidence, warnings: correction.warnings };
}

/**
 * The Jobs of the second list, but one that has ended since the first list counts as running. Gitea's answers may be older than its end.
 * Then its CI job looks as if it still waited, and would get a second runner.
 */
function endedMeanwhile(before: readonly LiveJob[], now: readonly LiveJob[]): readonly LiveJob[] {
  if (now === before) return now;
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
