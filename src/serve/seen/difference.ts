/** Compares what the planner wants with the Jobs that exist. Pure. */
import { jobAnnotations } from '../../plan/output-of-plan.ts';
import type { EmittedRunner, RunnerDecision } from '../../planner/decisions.ts';
import { hasEnded, type LiveJob } from '../../planner/evidence.ts';
import { groupBy, keyText } from '../../shared/keys.ts';
import { EXTERNAL_LINK, present } from '../../shared/marks.ts';
import { groupKeyOfRunner, keyOfDecision, keyOfRunner, type LiveRunner } from './live.ts';

/** The changes that a sync would make, as `<namespace>/<name>` of Jobs, sorted. All empty: the cluster matches. */
export interface Difference {
  /** Runners without a Job: a CI job waits. */
  readonly missing: readonly string[];
  /**
   * Runners whose Jobs are not pinned yet, so that a prune could stop them: those in the first seconds of their CI jobs, and those that
   * stay for a look. Also Jobs of the latter that do not say yet when their CI job failed: Gitea may forget it.
   */
  readonly unpinned: readonly string[];
  /** Jobs that the plan no longer holds and that have not ended. */
  readonly surplus: readonly string[];
  /**
   * Nothing that a CI job waits for:
   * - ended Jobs that the plan no longer holds,
   * - Jobs whose annotations name another CI job,
   * - names in Argo CD's copy of the output that the plan no longer holds. When Kubernetes removes such a Job, Argo CD calls it missing
   *   until the next sync.
   */
  readonly untidy: readonly string[];
}

/** Argo CD's link repeats the page of the CI job. A Job of an older version lacks it, and that is worth no wake. */
const OUR_ANNOTATIONS = Object.keys(jobAnnotations({ pinned: true })).filter((name) => name !== EXTERNAL_LINK);

/** A missing pin is worth a wake for so long after the CI job began, ms. Later it waits for the next sync. */
const PIN_WITHIN_MS = 20_000;

/**
 * Compares decisions with Jobs.
 * @param runners decisions about the runners of one Application.
 * @param live all Jobs of that Application.
 * @param printed keys of our Jobs in Argo CD's copy of the output.
 */
export function differenceOf(
  runners: readonly RunnerDecision[],
  live: readonly LiveRunner[],
  nowMs: number,
  printed: ReadonlySet<string> = new Set(),
): Difference {
  const liveByKey = new Map(live.map((runner) => [keyOfRunner(runner), runner]));
  const changes = new Map<string, keyof Difference | undefined>();
  for (const key of printed) changes.set(key, 'untidy');
  for (const [key, runner] of liveByKey) changes.set(key, excessOf(runner) ?? changes.get(key));
  // A wanted runner is judged by the missing parts of its Job, whatever Argo CD reports.
  for (const decision of runners) {
    const key = keyOfDecision(decision);
    if (decision.emit) changes.set(key, mismatchOf(decision, liveByKey.get(key), nowMs));
  }
  const keysOf = groupBy(changes.keys(), (key) => changes.get(key));
  const sorted = KINDS.map((kind) => [kind, (keysOf.get(kind) ?? []).sort()]);
  return Object.fromEntries(sorted) as unknown as Difference;
}

export function changedKeys(difference: Difference): readonly string[] {
  return KINDS.flatMap((kind) => difference[kind]);
}

/** Returns the Jobs that a sync would change, by group. A Job that only Argo CD knows is left out: its group is unknown. */
export function differingByGroup(
  difference: Difference,
  runners: readonly RunnerDecision[],
  live: readonly LiveRunner[],
): ReadonlyMap<string, readonly string[]> {
  const keys = changedKeys(difference);
  if (keys.length === 0) return new Map();
  const groupOf = new Map([
    ...live.map((runner) => [keyOfRunner(runner), groupKeyOfRunner(runner)] as const),
    ...runners.map((decision) => [keyOfDecision(decision), keyText(decision.group)] as const),
  ]);
  return groupBy(keys, (key) => groupOf.get(key));
}

export const NO_DIFFERENCE: Difference = { missing: [], unpinned: [], surplus: [], untidy: [] };

/** How long a difference may wait for others, so that one wake serves all, ms. Each costs Argo CD about a second. */
const MAY_WAIT_MS = { missing: 30, surplus: 2_000, unpinned: 3_000, untidy: 10_000 } as const;

/** The kinds, from the shortest wait to the longest. */
const KINDS = ['missing', 'surplus', 'unpinned', 'untidy'] as const;

/** Returns how long this difference may wait, ms: as long as its most urgent kind. Undefined: nothing differs. */
export function mayWaitMs(difference: Difference): number | undefined {
  const first = KINDS.find((kind) => difference[kind].length > 0);
  return first && MAY_WAIT_MS[first];
}

function sameAnnotations(decision: EmittedRunner, { annotations }: LiveRunner): boolean {
  const expected = present(jobAnnotations(decision));
  return OUR_ANNOTATIONS.every((name) => expected[name] === annotations[name]);
}

/** True for the Job of a record. A Job that Kueue has stopped may start again, so it is not one. */
function isRecord(job: LiveJob | undefined): boolean {
  return hasEnded(job?.state) && !job?.isStopped;
}

function mismatchOf(decision: EmittedRunner, live: LiveRunner | undefined, nowMs: number) {
  if (decision.skip || isRecord(live?.job)) return undefined;
  if (!live) return 'missing';
  if (decision.pinned && !live.job.pinned)
    return decision.keep || hasJustBegun(decision, nowMs) ? 'unpinned' : undefined;
  if (decision.keep && live.job.endedAtMs === undefined) return 'unpinned';
  return sameAnnotations(decision, live) ? undefined : 'untidy';
}

function hasJustBegun({ job }: EmittedRunner, nowMs: number): boolean {
  return nowMs - (job?.startedAtMs ?? 0) < PIN_WITHIN_MS;
}

/** Returns how a Job differs that the plan does not hold. Pinned and deleted ones are left alone. */
function excessOf({ job }: LiveRunner): 'surplus' | 'untidy' | undefined {
  if (job.pinned) return undefined;
  if (isRecord(job)) return 'untidy';
  return job.state === 'deleting' ? undefined : 'surplus';
}
