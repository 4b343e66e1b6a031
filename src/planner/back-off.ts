/** When a new runner may be started after others have failed. All times here are of Kubernetes' clock. */
import type { Group, LiveJob } from './evidence.ts';
import type { Facts } from './facts.ts';
import type { ReadyJob } from './queue.ts';
import { endOf, failedOf, type GroupRunners, type Runner } from './runners.ts';

/** Runners failed before they took any job. The next one waits until `untilMs`. */
export interface BackOff {
  readonly group: Group;
  readonly untilMs: number;
}

/**
 * How long a job waits after its runner failed, ms: 0 after the first one, then 10 s, doubled each time, at most the spawn timeout.
 * @param failed runners of the same job that have failed, at least 1
 */
export function backOffMs(failed: number, spawnTimeoutMs: number): number {
  return failed === 1 ? 0 : Math.min(10_000 * 2 ** (failed - 2), spawnTimeoutMs);
}

/** The back-off that is in force for a new runner of this group for a job, if any. */
export function backOffOf(group: Group, { listed }: ReadyJob, { madeFor, nowMs }: Facts): BackOff | undefined {
  const failed = failedOf(madeFor(listed.origin, listed.job), group, nowMs);
  if (failed.length === 0) return undefined;
  const untilMs = Math.max(...failed.map(endOf)) + backOffMs(failed.length, group.spawnTimeoutMs);
  return untilMs > nowMs ? { group, untilMs } : undefined;
}

/** Fewer failures may be bad luck: they hold back only the job that the runner was made for. */
const FAILING_AFTER = 3;
/** While one runner is tried, its outcome is asked for again after so long, ms. */
const TRYING_MS = 10_000;

/**
 * Answers why no new runner of a group may be started for a job that has none. Each time it answers undefined, one is started.
 *
 * The runners of a group may not come up at all. The registration token is wrong, Gitea cannot be reached, or a container that runs before
 * the runner fails. A new runner for another job would fail as well. So the failures of all jobs count together, and one runner at a time is
 * tried (docs/adr/0034).
 */
export function groupBackOff({ byGroup, nowMs }: Facts): (group: Group) => BackOff | undefined {
  const holds = new Map<Group, { readonly untilMs: number; tries: number }>();
  for (const ofGroup of byGroup.values()) {
    const untilMs = failingUntilMs(ofGroup, nowMs);
    if (untilMs === undefined) continue;
    holds.set(ofGroup.group, { untilMs, tries: ofGroup.runners.some(isComing) ? 0 : 1 });
  }
  return (group) => {
    const hold = holds.get(group);
    if (!hold) return undefined;
    if (hold.untilMs > nowMs) return { group, untilMs: hold.untilMs };
    if (hold.tries === 0) return { group, untilMs: nowMs + TRYING_MS };
    hold.tries -= 1;
    return undefined;
  };
}

/** When the next runner of a group may be tried. Undefined: the last ones have come up, or few have failed. */
function failingUntilMs({ group, runners }: GroupRunners, nowMs: number): number | undefined {
  const goodMs = Math.max(0, ...runners.map(({ live }) => cameUpAtMs(live)));
  const endsMs = runners
    .filter(({ state, live }) => state === 'failed' && live?.trouble !== undefined)
    .map(endOf)
    // A clock that is far ahead must not hold jobs for days.
    .filter((endMs) => endMs > goodMs && endMs < nowMs + group.spawnTimeoutMs);
  if (endsMs.length < FAILING_AFTER) return undefined;
  return Math.max(...endsMs) + backOffMs(endsMs.length, group.spawnTimeoutMs);
}

/** When a runner had come up at the latest, by what its Job shows; 0: it has not. */
function cameUpAtMs(live: LiveJob | undefined): number {
  if (live?.state === 'running') return live.runningSinceMs ?? live.createdAtMs;
  return live?.state === 'complete' ? live.createdAtMs : 0;
}

function isComing({ state, live }: Runner): boolean {
  return state === 'free' && live?.state === 'starting';
}
