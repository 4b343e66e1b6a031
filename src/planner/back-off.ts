/**
 * Decides when a new runner may be started after others have failed. One formula for all failures in a row: the runners of a job, of an index of a
 * pool, or of a whole group. All times here are of Kubernetes' clock.
 */
import type { Group, LiveJob } from './evidence.ts';
import type { Facts } from './facts.ts';
import type { ReadyJob } from './queue.ts';
import { endOf, type Runner } from './runners.ts';

/** Runners failed before they took any job. The next one waits until `untilMs`. */
export interface BackOff {
  readonly because: 'backing-off';
  readonly group: Group;
  readonly untilMs: number;
}

/** Returns the runners of `made` that belong to this group and have failed. */
export function failedOf(made: readonly Runner[], group: Group, nowMs: number): readonly Runner[] {
  return made.filter(
    // A clock that is far ahead must hold nothing back for days.
    (runner) => runner.state === 'failed' && runner.group === group && endOf(runner) < nowMs + group.spawnTimeoutMs,
  );
}

/** Returns when the next runner may be tried: at once, then after 10 s, then doubled up to the spawn timeout. */
export function nextTryMs(failed: readonly Runner[], { spawnTimeoutMs }: Group): number {
  const tries = failed.length;
  const waitsMs = tries < 2 ? 0 : Math.min(10_000 * 2 ** (tries - 2), spawnTimeoutMs);
  // Without a failure this is `-Infinity`.
  return Math.max(...failed.map(endOf)) + waitsMs;
}

/** The back-off that is in force for a new runner of this group for a job, if any. */
export function backOffOf(group: Group, { listed }: ReadyJob, { madeFor, nowMs }: Facts): BackOff | undefined {
  const untilMs = nextTryMs(failedOf(madeFor(listed.origin, listed.job), group, nowMs), group);
  return untilMs > nowMs ? { because: 'backing-off', group, untilMs } : undefined;
}

/** Fewer failures may be bad luck: they hold back only the job that the runner was made for. */
const FAILING_AFTER = 3;
/** How long a runner is on trial before its outcome is checked again, ms. */
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
  for (const { group, runners } of byGroup.values()) {
    const goodMs = Math.max(0, ...runners.map(({ live }) => cameUpAtMs(live)));
    const failed = failedOf(runners, group, nowMs).filter((each) => each.live?.trouble && endOf(each) > goodMs);
    if (failed.length < FAILING_AFTER) continue;
    const isComing = runners.some(({ state, live }) => state === 'free' && live?.state === 'starting');
    holds.set(group, { untilMs: nextTryMs(failed, group), tries: isComing ? 0 : 1 });
  }
  return (group) => {
    const hold = holds.get(group);
    if (!hold) return undefined;
    if (hold.untilMs > nowMs) return { because: 'backing-off', group, untilMs: hold.untilMs };
    if (hold.tries === 0) return { because: 'backing-off', group, untilMs: nowMs + TRYING_MS };
    hold.tries -= 1;
    return undefined;
  };
}

/** Returns the latest time at which the runner can have come up, by its Job. 0 if it has not come up. */
function cameUpAtMs(live: LiveJob | undefined): number {
  if (live?.state === 'running') return live.runningSinceMs ?? live.createdAtMs;
  return live?.state === 'complete' ? live.createdAtMs : 0;
}
