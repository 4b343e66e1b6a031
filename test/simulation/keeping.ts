/**
 * Runners that stay after their CI job failed, in the simulation: which ones stay, and whether they stayed as long as
 * their group says. Printed times are by Gitea's clock, which is that of the simulation.
 */
import type { LiveJob } from '../../src/planner/evidence.ts';
import type { GroupSpec } from './history.ts';

/** The parts of a pod that decide about its stay. */
interface Waiting {
  readonly name: string;
  readonly group: GroupSpec;
  readonly phase: string;
  readonly deletedMs: number | undefined;
  /** Since when it has waited after its CI job. */
  readonly waitsSinceMs: number | undefined;
  /** When its CI job failed. */
  readonly failedMs: number | undefined;
}

/** The printed annotations of a stay. */
export interface PrintedStay {
  readonly endedAtMs: number;
  readonly untilMs: number;
}

/** True when the pod of a runner waits after its CI job: it did not succeed, and its group keeps runners. */
export function waits({ keepFailedS = 0 }: GroupSpec, status: string | undefined): boolean {
  return keepFailedS > 0 && status !== 'success';
}

/** Returns when a runner may go, ms. Undefined for one that does not stay. */
export function stayEndMs({ phase, failedMs, group }: Waiting): number | undefined {
  if (phase !== 'kept' || failedMs === undefined || group.keepFailedS === undefined) return undefined;
  // Gitea shows whole seconds.
  return Math.floor(failedMs / 1000) * 1000 + group.keepFailedS * 1000;
}

/** Runners that are to stay at this moment. */
export function staying<P extends Waiting>(pods: readonly P[], group: GroupSpec, nowMs: number): readonly P[] {
  return pods.filter((pod) => pod.group === group && pod.deletedMs === undefined && (stayEndMs(pod) ?? 0) > nowMs);
}

/** The annotations of a Job, as the planner is given them. */
export function stayOf(stay: PrintedStay | undefined): Pick<LiveJob, 'endedAtMs' | 'keepUntilMs'> {
  return stay ? { endedAtMs: stay.endedAtMs, keepUntilMs: stay.untilMs } : {};
}

/** A stay that is over, in the book of a run. */
export interface Stay {
  readonly name: string;
  /** True if its CI job failed. Otherwise it was cancelled, and no person needs the pod. */
  readonly failed: boolean;
  /** How much sooner than its group says it was ended, ms. Negative: later. */
  readonly earlyMs: number;
  /** How long it waited in all, ms. */
  readonly waitedMs: number;
}

/** The stay of a pod that ends now because its Job was deleted. Undefined: it did not stay, or something else ended it. */
export function stayThatEnds(pod: Waiting): Stay | undefined {
  const { phase, name, failedMs, waitsSinceMs, deletedMs } = pod;
  if (phase !== 'kept' || deletedMs === undefined || waitsSinceMs === undefined) return undefined;
  const endMs = stayEndMs(pod);
  return {
    name,
    failed: failedMs !== undefined,
    earlyMs: (endMs ?? deletedMs) - deletedMs,
    waitedMs: deletedMs - waitsSinceMs,
  };
}
