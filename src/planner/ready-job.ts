/** A ready job, and who may serve it: which runner that is there, and whether a new one. */
import type { Group } from './evidence.ts';
import type { Facts } from './facts.ts';
import type { ListedJob } from './listed-jobs.ts';
import { backOffMs } from './patience.ts';
import type { PastRequest } from './replay/replay.ts';
import { coversJob, endOf, failedFor, type Runner } from './runners.ts';

export interface ReadyJob {
  readonly listed: ListedJob;
  /** The runner that the replayed past has asked for. It may be starting unseen. */
  readonly asked: PastRequest | undefined;
  /** Living runners that were made for this job, the best first. */
  readonly own: readonly Runner[];
}

export function toReadyJob(listed: ListedJob, asked: PastRequest | undefined, facts: Facts): ReadyJob {
  const made = facts.madeFor(listed.origin, listed.job);
  const ready = { listed, asked, own: made };
  return made.length === 0 ? ready : { listed, asked, own: made.filter((runner) => canServe(runner, ready, facts)) };
}

/** True when this runner can be expected to take the job, now or when it has started. */
export function canServe(runner: Runner, ready: ReadyJob, facts: Facts): boolean {
  return runner.state === 'free' && coversJob(runner, ready.listed.job) && !isAsleep(runner, ready, facts);
}

/** With Gitea alone a registered runner counts as asleep when it has not taken its job in so many times its patience. */
const ASLEEP_AFTER_MISSED = 2;

/**
 * True when a registered runner does not take a job that it could have taken long ago. Up to Gitea 1.26 a runner that loses the race for a
 * job sleeps until another job becomes ready (go-gitea/gitea#38200). A new runner asks at once.
 */
function isAsleep({ registered, live, group }: Runner, { listed, asked }: ReadyJob, facts: Facts): boolean {
  if (!live) return (asked?.missed ?? 0) >= ASLEEP_AFTER_MISSED;
  // A runner of a pool has registered when its container runs, whether or not Gitea shows its row online.
  const { createdAtMs, runningSinceMs = facts.nowMs } = live;
  const bothSinceMs = Math.max(registered ? createdAtMs : runningSinceMs, facts.readySinceMs(listed));
  return facts.nowMs - bothSinceMs >= group.spawnTimeoutMs;
}

/** Runners of the job failed before they took any job. The next one waits until `untilMs`. */
export interface BackOff {
  readonly group: Group;
  readonly untilMs: number;
}

/** The back-off that is in force for a new runner of this group, if any. */
export function backOffOf(group: Group, { listed }: ReadyJob, facts: Facts): BackOff | undefined {
  const { nowMs } = facts;
  const failed = failedFor(listed.job, group, facts);
  if (failed.length === 0) return undefined;
  const untilMs = Math.max(...failed.map(endOf)) + backOffMs(failed.length, group.spawnTimeoutMs);
  return untilMs > nowMs ? { group, untilMs } : undefined;
}
