/** Makes the `status` of a RunnerGroup. A new condition is a row of `CONDITIONS`. Pure. */
import { troubleText } from '../../answers/remedies.ts';
import type { Denial } from '../../config/policy/denial.ts';
import {
  DENIED,
  INVALID,
  type LostJob,
  MOST_UNREGISTERED,
  type RunnerGroupStatus,
  STALE_CHECK_MS,
  UNREGISTERED,
} from '../../config/runnergroup/status.ts';
import type { Failure, FailureKind } from '../../shared/failure.ts';
import { timeText } from '../../shared/marks.ts';
import { firstNames, UNREAD_ADVICE, unreadText } from '../../shared/printable.ts';
import { keepEqual } from '../seen/unchanged.ts';
import type { WakeOutcome } from '../waking/wake-state.ts';
import type { GroupCounts, StuckPod } from './group-counts.ts';

export interface GroupFacts {
  readonly generation: number | undefined;
  readonly problem?: string;
  /** True if the policy causes the problem, and not the spec. */
  readonly isDenied?: boolean | undefined;
  readonly refusal?: Failure;
  readonly warnings?: readonly Denial[];
  /** True or a string if the group is suspended. A string: in the cluster, with the text written there. */
  readonly suspended: boolean | string;
  readonly activeRunners: number;
  /** Counts of the plan. Absent: nothing was planned. */
  readonly counts?: GroupCounts;
  /** Newest look at its scope: when it ended, and why it failed. */
  readonly checkedAtMs?: number;
  readonly checkAgeMs?: number;
  readonly giteaFailure?: Failure;
  /** Why the Application could not be planned, if the cause is not this group's look. */
  readonly planFailure?: Failure;
  /** State of the wakes. `unmanaged`: no Application is known. `waits`: for what the wake waits, until when. */
  readonly argocd:
    | { readonly is: 'unmanaged' }
    | { readonly is: 'managed'; readonly last?: WakeOutcome; readonly differsForMs: number; readonly waits?: string };
  readonly lostJobs?: readonly LostJob[];
  /** Why the group's Jobs wait for the credentials of their runners. */
  readonly unregistered?: Unregistered;
}

/** Failed registrations by level (`scopeWord`), each of which stops the Jobs of its level only. `levels`: how many levels the group's runners have. */
export type Unregistered = Readonly<{ failures: ReadonlyMap<string, Failure>; levels: number }>;

type Conditions = NonNullable<RunnerGroupStatus['conditions']>;
type Verdict = readonly [status: Conditions[number]['status'], reason: string, message: string];

/** How each condition is judged. Undefined: the status does not have this condition. */
const CONDITIONS: Readonly<Record<string, (facts: GroupFacts) => Verdict | undefined>> = {
  Ready: readiness,
  GiteaReachable: reachability,
  AtCapacity: capacity,
  PodsStuck: pods,
  ArgoCDSynced: argoCd,
  Registered: registration,
  PolicyWarns: policyWarnings,
};

/** How long the cluster may differ from the plan unreported, ms. A wake may take minutes. */
const TOLERATED_DIFFERENCE_MS = 60_000;
/** A difference that has lasted for longer has the condition say what the wake waits for, ms (law V75). */
const WAIT_TOLD_MS = 30_000;
const PLAN_DIFFERS = `The cluster has not shown the plan for more than ${TOLERATED_DIFFERENCE_MS / 1000} s`;
/** Last words of a message without a cause from Argo CD. `COMPARE`: Argo CD says that all is as printed. */
const LOOK = ': look at the last sync of the Application';
const COMPARE = ', and compare GITEA_RUNNERS_INSTANCE of the sidecar with that of serve';
/** Most age of `lastCheckTime`, ms. An older one is renewed. Until then it alone is no reason to write. */
const CHECK_TIME_MS = 60_000;
const UNMANAGED =
  'No Argo CD Application manages this object: it has neither the annotation argocd.argoproj.io/tracking-id nor the label by which Argo CD may track (app.kubernetes.io/instance, or that of GITEA_RUNNERS_TRACKING_LABEL). So it gets no runners. Commit it to the repository of an Application.';
const NOT_LOOKED_YET: Verdict = ['Unknown', 'NotLookedYet', 'Gitea was not looked at yet.'];
const NOT_PLANNED: Verdict = ['Unknown', 'NotPlanned', 'Nothing was planned.'];
const LONGEST_IN_STATUS = 1_000;
/** Runners that stay for a look and are named. `debuggingRunners` counts them all. */
const MOST_DEBUGGING = 20;
/** Most causes in a message. The rest is counted. */
const MOST_STUCK = 3;
/** Gitea refuses the token (401, 403): a person must change the Secret. */
const UNAUTHORIZED = 'Unauthorized';
/** Gitea asks to be left alone (429, or 503 with `Retry-After`): nobody needs to do anything. */
const RATE_LIMITED = 'RateLimited';

/** Makes the status. @param old the status in the cluster: a condition that stays as it was keeps its time */
export function statusOf(facts: GroupFacts, old: RunnerGroupStatus | undefined, nowMs: number): RunnerGroupStatus {
  const { activeRunners, checkedAtMs, counts, generation, lostJobs = [] } = facts;
  const unregistered = [...(facts.unregistered?.failures ?? [])].slice(0, MOST_UNREGISTERED);
  const observed = generation === undefined ? {} : { observedGeneration: generation };
  return {
    activeRunners,
    queuedJobs: counts?.queued ?? old?.queuedJobs ?? 0,
    heldJobs: counts ? Object.values(counts.held).reduce((sum, jobs) => sum + jobs, 0) : (old?.heldJobs ?? 0),
    ...debuggingIn(counts, old),
    ...(checkedAtMs !== undefined && { lastCheckTime: timeText(checkedAtMs) }),
    ...observed,
    // A patch without the list would leave the old one.
    ...((lostJobs.length > 0 || old?.lostJobs) && { lostJobs: [...lostJobs] }),
    ...((unregistered.length > 0 || old?.unregistered) && {
      unregistered: unregistered.map(([at, failure]) => ({
        at,
        message: failureText(failure).slice(0, LONGEST_IN_STATUS),
      })),
    }),
    conditions: Object.entries(CONDITIONS).flatMap(([type, judge]) => {
      const verdict = judge(facts);
      if (!verdict) return [];
      const [status, reason, message] = verdict;
      const before = old?.conditions?.find((each) => each.type === type);
      const lastTransitionTime = before?.status === status ? before.lastTransitionTime : timeText(nowMs);
      return [{ type, status, reason, message: message.slice(0, LONGEST_IN_STATUS), lastTransitionTime, ...observed }];
    }),
  };
}

/** A merge patch removes no field, so what an old status says is taken back by 0. While nothing is planned, it stays. */
function debuggingIn(counts: GroupCounts | undefined, old: RunnerGroupStatus | undefined) {
  const { debugging, debuggingRunners } = old ?? {};
  if (!counts) return { ...(debuggingRunners !== undefined && { debuggingRunners }), ...(debugging && { debugging }) };
  const all = counts.debugging;
  if (all.length === 0 && debuggingRunners === undefined) return {};
  const named = all.slice(0, MOST_DEBUGGING).map(({ runner, untilMs }) => ({ runner, until: timeText(untilMs) }));
  return { debuggingRunners: all.length, debugging: named };
}

export function isReady(facts: GroupFacts): boolean {
  return readiness(facts)[0] === 'True';
}

/** True when the new status says something else, or the time of the last look has become old. */
export function isWorthWriting(next: RunnerGroupStatus, old: RunnerGroupStatus | undefined): boolean {
  if (old === undefined) return true;
  const oldEssence = essence(old);
  if (keepEqual(oldEssence, essence(next)) !== oldEssence) return true;
  // The difference may be negative: a clock may be set back.
  return Math.abs(timeOf(next.lastCheckTime) - timeOf(old.lastCheckTime)) > CHECK_TIME_MS;
}

/** True for a leader that has not looked yet if the old status holds a look at the same spec. */
export function tellsLess(facts: GroupFacts, old: RunnerGroupStatus | undefined, nowMs: number): boolean {
  const { checkedAtMs, giteaFailure, planFailure, problem, refusal } = facts;
  if (checkedAtMs !== undefined || giteaFailure || planFailure || problem !== undefined || refusal) return false;
  return old?.observedGeneration === facts.generation && nowMs - timeOf(old?.lastCheckTime) <= STALE_CHECK_MS;
}

function essence(status: RunnerGroupStatus): unknown {
  const { lastCheckTime: _, lostJobs = [], unregistered = [], conditions = [], ...counts } = status;
  const conditionRows = conditions.map(({ type, status, reason, message }) => [type, status, reason, message]);
  return { ...counts, lostJobs, unregistered, told: conditionRows };
}

function readiness(facts: GroupFacts): Verdict {
  const { checkAgeMs = 0, counts, giteaFailure, planFailure, problem, refusal, unregistered } = facts;
  if (problem !== undefined) return ['False', facts.isDenied ? DENIED : INVALID, problem];
  if (refusal) return ['False', DENIED, failureText(refusal)];
  if (giteaFailure) {
    const reason = giteaReason(giteaFailure);
    const isNamed = reason === UNAUTHORIZED || reason === RATE_LIMITED;
    return ['False', isNamed ? reason : 'GiteaFailed', failureText(giteaFailure)];
  }
  if (planFailure)
    return [
      'False',
      'ApplicationBlocked',
      `Another RunnerGroup of this Application fails: ${failureText(planFailure)}`,
    ];
  const argo = argoCd(facts);
  if (argo[0] === 'False') return argo;
  if (unregistered && isNowhere(unregistered)) return ['False', UNREGISTERED, unregisteredText(unregistered)];
  if (counts === undefined) return NOT_LOOKED_YET;
  if (checkAgeMs > STALE_CHECK_MS)
    return ['Unknown', 'NotChecked', `Gitea was not looked at for more than ${STALE_CHECK_MS / 60_000} minutes.`];
  if (facts.suspended !== false) return ['True', 'Suspended', suspendedText(facts.suspended)];
  const { renamedTo: to, unreadJobs: unread } = counts.summary ?? {};
  if (to) return ['True', 'RenamedInGitea', `Jobs get runners. Renamed to ${to} in Gitea: change the spec.`];
  if (unread !== undefined)
    return ['True', 'QueueCut', `Jobs get runners, but ${unreadText(unread)}. Next: ${UNREAD_ADVICE}.`];
  return ['True', 'Serving', 'Jobs get runners.'];
}

function registration({ unregistered }: GroupFacts): Verdict | undefined {
  if (!unregistered || isNowhere(unregistered)) return undefined;
  return ['False', UNREGISTERED, unregisteredText(unregistered)];
}

/** True if no runner of the group is registered. The condition Registered reports single failures. */
function isNowhere({ failures, levels }: Unregistered): boolean {
  return failures.size >= levels;
}

/** `Jobs of 1 of 3 repositories wait for the credentials of their runners: repo:acme/web: GR-GITEA-02 …` */
function unregisteredText({ failures, levels }: Unregistered): string {
  const subject = levels > 1 ? `Jobs of ${failures.size} of ${levels} repositories` : 'Jobs';
  const whys = [...failures].map(([at, failure]) => `${levels > 1 ? `${at}: ` : ''}${failureText(failure)}`);
  return `${subject} wait for the credentials of their runners: ${firstNames(whys, MOST_STUCK)}`;
}

function suspendedText(suspended: true | string): string {
  const effect = 'No new runners; busy ones finish.';
  return suspended === true ? effect : `${effect} Suspended in the cluster, not in git: ${suspended}`;
}

function reachability({ giteaFailure, counts, checkedAtMs }: GroupFacts): Verdict {
  if (giteaFailure) return ['False', giteaReason(giteaFailure), failureText(giteaFailure)];
  if (counts === undefined && checkedAtMs === undefined) return NOT_LOOKED_YET;
  return ['True', 'Seen', 'The last look at Gitea was complete.'];
}

function capacity({ counts }: GroupFacts): Verdict {
  if (counts === undefined) return NOT_PLANNED;
  const { held, limit } = counts;
  if (!held.cap && limit) {
    const branches = limit.branches ? ` for branches ${limit.branches.join(', ')}` : '';
    const named = limit.name === undefined ? `a limit of the group${branches}` : `limit ${limit.name}`;
    return ['True', 'JobsHeldByLimit', `Jobs are held back by ${named}, which is ${limit.most}: ${held.limit}.`];
  }
  if (!held.cap) return ['False', 'RoomLeft', 'No job is held back by maxActiveRunners.'];
  return ['True', 'JobsHeldBack', 'Jobs are held back by maxActiveRunners.'];
}

/** Judges the pods. A stuck pod does not make the group unready: other pods of it may run. */
function pods({ counts }: GroupFacts): Verdict {
  if (counts === undefined) return NOT_PLANNED;
  const [first] = counts.stuck;
  const [example, { length }] = [counts.suspended[0], counts.suspended];
  const holder = example?.trouble.queue === undefined ? 'that somebody holds' : 'that wait in queues of Kueue';
  const held = example && `Jobs of runners ${holder}: ${length}. ${stuckText(example)}`;
  if (!first) return ['False', held ? 'JobsSuspended' : 'AllStart', held ?? 'No pod is known that cannot start.'];
  const named = counts.stuck.slice(0, MOST_STUCK).map(stuckText).join('; ');
  return ['True', first.trouble.reason, `Pods of runners that cannot start: ${counts.stuck.length}. ${named}`];
}

/** `ci-7-1-9c31e0aa: Unschedulable: 0/3 nodes are available.` */
export function stuckText({ runner, trouble }: Pick<StuckPod, 'runner' | 'trouble'>): string {
  return `${runner}: ${troubleText(trouble)}`;
}

function argoCd({ argocd }: GroupFacts): Verdict {
  if (argocd.is === 'unmanaged') return ['False', 'NoApplication', UNMANAGED];
  const { last, differsForMs, waits } = argocd;
  const wait = waits === undefined || differsForMs < WAIT_TOLD_MS ? undefined : `${waits}.`;
  switch (last?.is) {
    case 'error':
      return ['False', 'ComparisonError', last.message];
    case 'foreign':
      return ['False', 'ForeignApplication', 'The Application does not manage this RunnerGroup.'];
    case 'failed':
      return ['False', 'WakeFailed', last.message];
    case 'synced':
    case 'in-sync':
    case 'busy':
    case undefined:
      break;
    default:
      return last satisfies never;
  }
  const says = last?.says && `Argo CD says: ${last.says}.`;
  if (differsForMs > TOLERATED_DIFFERENCE_MS) {
    if (last?.message !== undefined)
      return ['False', 'SyncFailed', sentences(`Argo CD cannot apply all Jobs: ${last.message}.`, says, wait)];
    const isPrinted = last?.is === 'in-sync' && last.says === undefined;
    const look = says ? '' : LOOK;
    return ['False', 'PlanDiffers', sentences(`${PLAN_DIFFERS}${look}${isPrinted ? COMPARE : ''}.`, says, wait)];
  }
  if (wait) return ['True', 'Waiting', sentences('The cluster does not show the plan yet.', says, wait)];
  return ['True', 'Synced', sentences('The cluster shows the plan, or will in a moment.', says)];
}

function sentences(...all: readonly (string | undefined)[]): string {
  return all.filter(Boolean).join(' ');
}

function policyWarnings({ warnings }: GroupFacts): Verdict | undefined {
  const lines = warnings?.map(({ path, message, rule }) => `${path === '' ? '' : `${path} `}${message} [${rule}]`);
  return lines && ['True', 'WouldBeDenied', lines.join('; ')];
}

function failureText({ code, message }: Failure): string {
  return `${code} ${message}`;
}

const GITEA_REASONS: Readonly<Record<FailureKind, string>> = {
  unauthorized: UNAUTHORIZED,
  forbidden: UNAUTHORIZED,
  'user-refused': UNAUTHORIZED,
  'rate-limited': RATE_LIMITED,
  'told-to-wait': RATE_LIMITED,
  'server-error': 'ServerError',
  'token-unseen': 'TokenUnusable',
  'token-unusable': 'TokenUnusable',
  unreachable: 'Unreachable',
  untrusted: 'Unreachable',
  redirected: 'Unreachable',
  timeout: 'Unreachable',
  'too-long': 'Unreachable',
  'not-found': 'BadAnswer',
  cluster: 'BadAnswer',
  'cluster-forbidden': 'BadAnswer',
  policy: 'BadAnswer',
  other: 'BadAnswer',
};

/** Returns why a look failed, as one word for programs: the reason of a condition, and a label of a metric. */
export function giteaReason({ kind }: Failure): string {
  return GITEA_REASONS[kind];
}

function timeOf(text: string | undefined): number {
  return text === undefined ? 0 : Date.parse(text);
}
