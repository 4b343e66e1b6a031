/** What `serve` writes into `status` of a RunnerGroup. Pure. */

import { isRateLimit, isRefusal } from '../../clients/gitea/failures.ts';
import { type LostJob, type RunnerGroupStatus, STALE_CHECK_MS } from '../../config/runnergroup/status.ts';
import { UNREAD_ADVICE, unreadText } from '../../planner/unread.ts';
import type { Failure } from '../../shared/failure.ts';
import { timeText } from '../../shared/marks.ts';
import type { WakeOutcome } from '../waking/wake-state.ts';
import { debuggingStatus, toldBefore } from './debugging.ts';
import type { GroupCounts } from './plan-application.ts';
import { stuckText } from './stuck-pods.ts';

/** Everything that a group's status follows from. */
export interface GroupFacts {
  readonly generation: number | undefined;
  /** What is wrong with the spec. */
  readonly problem?: string;
  /** Why the policy denies the group. */
  readonly refusal?: Failure;
  readonly suspended: boolean;
  /** Jobs of the group that have not ended. */
  readonly activeRunners: number;
  /** Absent: nothing was planned. */
  readonly counts?: GroupCounts;
  /** Newest look at its scope: when it ended, and why it failed. */
  readonly checkedAtMs?: number;
  /** How long ago that was. */
  readonly checkAgeMs?: number;
  readonly giteaFailure?: Failure;
  /** Why its Application could not be planned, when it is not this group's look. */
  readonly planFailure?: Failure;
  readonly argocd: ArgoFacts;
  /** Absent: none. */
  readonly lostJobs?: readonly LostJob[];
}

export type ArgoFacts =
  /** No tracking annotation: no Application is known. */
  | { readonly is: 'unmanaged' }
  | {
      readonly is: 'managed';
      readonly last?: WakeOutcome;
      readonly differsForMs: number;
      /** What is waited for, and until when. */
      readonly waits?: string;
    };

type Condition = NonNullable<RunnerGroupStatus['conditions']>[number];
type Draft = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

/** A cluster that does not show the plan for this long is told of: a wake takes seconds, a busy Argo CD minutes. */
export const TOLERATED_DIFFERENCE_MS = 60_000;
/** After this time people are told what is waited for. */
const WAIT_TOLD_MS = 30_000;
const PLAN_DIFFERS = `The cluster has not shown the plan for more than ${TOLERATED_DIFFERENCE_MS / 1000} s: look at the last sync of the Application, and compare GITEA_RUNNERS_INSTANCE of the sidecar with that of serve.`;
/** `lastCheckTime` alone is no reason to write; it is renewed when it is older than this. */
export const CHECK_TIME_MS = 60_000;
const LONGEST_MESSAGE = 1_000;
/** Gitea refuses the token (401, 403): a person must change the Secret. */
const UNAUTHORIZED = 'Unauthorized';
/** Gitea asks to be left alone (429, or 503 with `Retry-After`): nobody needs to do anything. */
const RATE_LIMITED = 'RateLimited';
/** 5xx: Gitea, or what stands before it, is in trouble. */
const SERVER_ERRORS: ReadonlySet<string> = new Set(['GR-GITEA-04', 'GR-GITEA-05']);

/** @param old what stands in the cluster: times of conditions that stay as they were are kept. */
export function statusOf(facts: GroupFacts, old: RunnerGroupStatus | undefined, nowMs: number): RunnerGroupStatus {
  const generation = facts.generation;
  const drafts = [readiness(facts), reachability(facts), capacity(facts), pods(facts), argoCd(facts)];
  const lostJobs = facts.lostJobs ?? [];
  return {
    activeRunners: facts.activeRunners,
    queuedJobs: facts.counts?.queued ?? old?.queuedJobs ?? 0,
    heldJobs: facts.counts?.held.cap ?? old?.heldJobs ?? 0,
    ...(facts.counts ? debuggingStatus(facts.counts.debugging, old) : toldBefore(old)),
    ...(facts.checkedAtMs !== undefined && { lastCheckTime: timeText(facts.checkedAtMs) }),
    ...(generation !== undefined && { observedGeneration: generation }),
    // A patch without the list would leave the old one.
    ...((lostJobs.length > 0 || old?.lostJobs) && { lostJobs: [...lostJobs] }),
    conditions: drafts.map((draft) => ({
      ...draft,
      message: draft.message.slice(0, LONGEST_MESSAGE),
      lastTransitionTime: transitionTime(draft, old, nowMs),
      ...(generation !== undefined && { observedGeneration: generation }),
    })),
  };
}

/** True when condition `Ready` is True. */
export function isReady(facts: GroupFacts): boolean {
  return readiness(facts).status === 'True';
}

/** True when the new status says something else, or the time of the last look has become old. */
export function isWorthWriting(next: RunnerGroupStatus, old: RunnerGroupStatus | undefined): boolean {
  if (old === undefined) return true;
  if (JSON.stringify(essence(next)) !== JSON.stringify(essence(old))) return true;
  // Either way: a clock may be set back.
  return Math.abs(timeOf(next.lastCheckTime) - timeOf(old.lastCheckTime)) > CHECK_TIME_MS;
}

/** True for a leader that has not looked yet, when a look by the one before is told of this spec: that says more. */
export function tellsLess(facts: GroupFacts, old: RunnerGroupStatus | undefined, nowMs: number): boolean {
  const { checkedAtMs, giteaFailure, planFailure, problem, refusal } = facts;
  if (checkedAtMs !== undefined || giteaFailure || planFailure || problem !== undefined || refusal) return false;
  return old?.observedGeneration === facts.generation && nowMs - timeOf(old?.lastCheckTime) <= STALE_CHECK_MS;
}

function essence({ lastCheckTime: _, conditions, ...counts }: RunnerGroupStatus): unknown {
  const {
    activeRunners,
    debugging,
    debuggingRunners,
    heldJobs,
    lostJobs = [],
    observedGeneration,
    queuedJobs,
  } = counts;
  const told = (conditions ?? []).map(({ type, status, reason, message }) => [type, status, reason, message]);
  return [activeRunners, debuggingRunners, debugging, heldJobs, lostJobs, observedGeneration, queuedJobs, told];
}

function drafter(type: Draft['type']): (status: Draft['status'], reason: string, message: string) => Draft {
  return (status, reason, message) => ({ type, status, reason, message });
}

function readiness(facts: GroupFacts): Draft {
  const ready = drafter('Ready');
  if (facts.problem !== undefined) return ready('False', 'InvalidSpec', facts.problem);
  if (facts.refusal) return ready('False', 'PolicyDenied', told(facts.refusal));
  if (facts.giteaFailure) {
    const reason = giteaReason(facts.giteaFailure);
    const isNamed = reason === UNAUTHORIZED || reason === RATE_LIMITED;
    return ready('False', isNamed ? reason : 'GiteaFailed', told(facts.giteaFailure));
  }
  if (facts.planFailure) {
    return ready(
      'False',
      'ApplicationBlocked',
      `Another RunnerGroup of this Application fails: ${told(facts.planFailure)}`,
    );
  }
  const argo = argoCd(facts);
  if (argo.status === 'False') return ready('False', argo.reason, argo.message);
  if (facts.counts === undefined) return ready('Unknown', 'NotLookedYet', 'Gitea was not looked at yet.');
  if ((facts.checkAgeMs ?? 0) > STALE_CHECK_MS) {
    return ready('Unknown', 'NotChecked', `Gitea was not looked at for more than ${STALE_CHECK_MS / 60_000} minutes.`);
  }
  if (facts.suspended) return ready('True', 'Suspended', 'No new runners; busy ones finish.');
  const unread = facts.counts.summary?.unreadJobs;
  if (unread !== undefined)
    return ready('True', 'QueueCut', `Jobs get runners, but ${unreadText(unread)}. Next: ${UNREAD_ADVICE}.`);
  return ready('True', 'Serving', 'Jobs get runners.');
}

function reachability({ giteaFailure, counts, checkedAtMs }: GroupFacts): Draft {
  const draft = drafter('GiteaReachable');
  if (giteaFailure) return draft('False', giteaReason(giteaFailure), told(giteaFailure));
  if (counts === undefined && checkedAtMs === undefined) {
    return draft('Unknown', 'NotLookedYet', 'Gitea was not looked at yet.');
  }
  return draft('True', 'Seen', 'The last look at Gitea was complete.');
}

function capacity({ counts }: GroupFacts): Draft {
  const draft = drafter('AtCapacity');
  if (counts === undefined) return draft('Unknown', 'NotPlanned', 'Nothing was planned.');
  if (counts.held.cap === 0) return draft('False', 'RoomLeft', 'No job is held back by maxActiveRunners.');
  return draft('True', 'JobsHeldBack', 'Jobs are held back by maxActiveRunners.');
}

/** Stuck pods that are named. */
const MOST_NAMED = 3;

/** No fault of the group's readiness: other pods of it may run. */
function pods({ counts }: GroupFacts): Draft {
  const draft = drafter('PodsStuck');
  if (counts === undefined) return draft('Unknown', 'NotPlanned', 'Nothing was planned.');
  const [first] = counts.stuck;
  if (!first) return draft('False', 'AllStart', 'No pod is known that cannot start.');
  const named = counts.stuck.slice(0, MOST_NAMED).map(stuckText).join('; ');
  const message = `Pods of runners that cannot start: ${counts.stuck.length}. ${named}`;
  return draft('True', first.trouble.reason, message);
}

function argoCd({ argocd }: GroupFacts): Draft {
  const draft = drafter('ArgoCDSynced');
  if (argocd.is === 'unmanaged') {
    return draft(
      'False',
      'NoApplication',
      'No Argo CD Application manages this object (annotation argocd.argoproj.io/tracking-id), so nobody makes its runners. Commit it to the repository of one.',
    );
  }
  const { last, differsForMs, waits } = argocd;
  const wait = waits === undefined || differsForMs < WAIT_TOLD_MS ? '' : ` Now ${waits}.`;
  const late = differsForMs > TOLERATED_DIFFERENCE_MS;
  switch (last?.is) {
    case 'error':
      return draft('False', 'ComparisonError', last.message ?? 'Argo CD could not generate the manifests.');
    case 'foreign':
      return draft('False', 'ForeignApplication', last.message ?? 'The Application does not manage this RunnerGroup.');
    case 'failed':
      return draft('False', 'WakeFailed', last.message);
    case 'synced':
    case 'in-sync':
    case 'busy':
    case undefined:
      if (!late && wait !== '') return draft('True', 'Waiting', `The cluster does not show the plan yet.${wait}`);
      if (!late) return draft('True', 'Synced', 'The cluster shows the plan, or will in a moment.');
      return last?.message === undefined
        ? draft('False', 'PlanDiffers', PLAN_DIFFERS + wait)
        : draft('False', 'SyncFailed', `Argo CD cannot apply all Jobs: ${last.message}`);
    default:
      return last satisfies never;
  }
}

function transitionTime(draft: Draft, old: RunnerGroupStatus | undefined, nowMs: number): string {
  const before = old?.conditions?.find(({ type }) => type === draft.type);
  return before?.status === draft.status ? before.lastTransitionTime : timeText(nowMs);
}

function told(failure: Failure): string {
  return `${failure.code} ${failure.message}`;
}

/** Why a look failed, as one word for programs: the reason of a condition, and a label of a metric. */
export function giteaReason(failure: Failure): string {
  const { code } = failure;
  if (isRefusal(failure)) return UNAUTHORIZED;
  if (isRateLimit(failure)) return RATE_LIMITED;
  if (SERVER_ERRORS.has(code)) return 'ServerError';
  if (code.startsWith('GR-TOKEN')) return 'TokenUnusable';
  if (code.startsWith('GR-HTTP')) return 'Unreachable';
  return 'BadAnswer';
}

function timeOf(text: string | undefined): number {
  return text === undefined ? 0 : Date.parse(text);
}
