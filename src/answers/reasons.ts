/**
 * Reasons why a job is held and why a runner stays or goes: one row each, from which all outlets make their words.
 * A reason of the planner does not compile until its row is written. Remedies for failed pods are rows of remedies.ts.
 */
import type {
  DroppedBecause,
  EmittedBecause,
  EmittedRunner,
  GroupKey,
  HeldBecause,
  HeldUntil,
  HoldingLimit,
  JobDecision,
  RunnerDecision,
  RunnerTrouble,
  ServedBy,
} from '../planner/decisions.ts';
import type { PodTrouble } from '../planner/evidence.ts';
import { limitsBranch } from '../planner/limits.ts';
import { parseRunnerName, poolIndexOf } from '../planner/names.ts';
import { groupBy, isSame, keyText } from '../shared/keys.ts';
import { SUSPENDED, timeText } from '../shared/marks.ts';
import { duration } from '../shared/printable.ts';
import { blockedText } from './blocked.ts';
import type { JobState } from './job-state.ts';
import { type ExplainedGroup, type ExplainedJob, findGroup } from './model.ts';
import { correctText } from './not-created.ts';
import { holderAdvice, holdersText, podAdvice, remedyOf, seeWhy, troubleText } from './remedies.ts';
import { runnersIn } from './runner-counts.ts';
import { labelsText, notCoveredAdvice, notCoveredText } from './uncovered-labels.ts';
import { estimateText } from './wait-estimate.ts';
import type { UnservedGroup } from './where.ts';

type HeldJob = ExplainedJob & { readonly verdict: 'held' };

interface HeldReason {
  readonly state: JobState;
  /** Who holds the job back, if anybody. Counts of held jobs, as in status and metrics, have these jobs only. */
  readonly heldBack: 'by-its-group' | 'for-its-labels' | 'no';
  /** Words for a line of counts: `2 held back by the cap`. Absent: the reason is not counted there. */
  readonly short?: string;
  readonly text: (job: HeldJob, nowMs: number) => string;
  /** What the file of its group says decides. Its last advice sends there. */
  readonly isOfFile?: true;
  /** Absent: nothing helps but to wait. */
  readonly advice?: (job: HeldJob, group: ExplainedGroup | undefined) => readonly string[];
  /** Advice for people who own no group. Absent: as for owners. `askOwner`: `ask an owner of group runners/ci`. */
  readonly ask?: (job: HeldJob, askOwner: string) => string;
}

const HELD_BY_GROUP = { state: 'held', heldBack: 'by-its-group' } as const;
const NO_GROUP = { state: 'unserved', heldBack: 'no' } as const;
/** Somebody must act. */
const UNSERVED_BY_GROUP = { state: 'unserved', heldBack: 'by-its-group' } as const;

/** Why a job has no runner. */
export const HELD: Readonly<Record<HeldBecause, HeldReason>> = {
  blocked: {
    ...{ state: 'blocked', heldBack: 'no' },
    text: (job) => `blocked: ${blockedText(job)}${job.missing ? `; after that, ${notCoveredText(job)}` : ''}`,
    // A label without a typing mistake may be meant for other runners.
    advice: (job) => (job.didYouMean ? notCoveredAdvice([job]) : []),
  },
  'no-labels': {
    state: 'held',
    heldBack: 'for-its-labels',
    short: 'without labels',
    text: () => 'held back: it has no labels, so no runner is started (the call of a reusable workflow needs none)',
    advice: () => ['if a job without labels is to run, give it a runs-on, or set spec.acceptUnlabelledJobs'],
    ask: () => 'give it a runs-on in the workflow; the call of a reusable workflow needs none',
  },
  'labels-not-covered': {
    ...NO_GROUP,
    short: 'with labels that no group covers',
    text: (job) => (job.brokenGroup ? brokenText(job.brokenGroup, job.job.labels) : notCoveredText(job)),
    advice: (job) =>
      job.brokenGroup ? [brokenAdvice(job.brokenGroup)] : [job.behindGit?.next ?? notCoveredAdvice([job])].flat(),
    ask: ({ job }) =>
      `correct runs-on in the workflow, or ask who owns groups here for runners with ${labelsText(job.labels)}`,
  },
  'repository-not-chosen': {
    ...{ ...NO_GROUP, isOfFile: true },
    short: 'of repositories that no group chooses',
    text: ({ chosenBefore, nearest, job }) =>
      chosenBefore === undefined
        ? `not covered: group ${textOf(nearest)} does not choose ${job.repository}`
        : `not covered: group ${textOf(nearest)} chooses ${chosenBefore}, which was renamed to ${job.repository} in Gitea`,
    advice: ({ chosenBefore, job: { repository } }) => [
      chosenBefore === undefined
        ? `add ${repository.split('/').at(-1)} to spec.repositories of that group`
        : `change ${chosenBefore} to ${repository} in spec.repositories of that group`,
    ],
    ask: ({ job }, askOwner) => `${askOwner} to choose ${job.repository}`,
  },
  suspended: {
    ...{ ...UNSERVED_BY_GROUP, isOfFile: true },
    short: 'held back by the suspension',
    text: ({ group }) => `held back: group ${textOf(group)} is suspended`,
    advice: (_, group) => [resumeAdvice(group)],
    ask: (_, askOwner) => `${askOwner} when it goes on`,
  },
  cap: {
    ...{ ...HELD_BY_GROUP, isOfFile: true },
    short: 'held back by the cap',
    text: capText,
    advice: (job, group) => [
      ...endAdvice(job, group),
      ...holderAdvice(job.holders ?? []),
      ...(group ? [capAdvice(group, job)] : []),
    ],
    ask: (_, askOwner) => `wait, or ${askOwner} to raise the cap`,
  },
  limit: {
    ...{ ...HELD_BY_GROUP, isOfFile: true },
    short: 'held back by a limit',
    text: heldByLimitText,
    advice: limitAdvice,
    ask: (_, askOwner) => `wait, or ${askOwner} to raise the limit`,
  },
  'backing-off': {
    ...UNSERVED_BY_GROUP,
    short: 'held back after failures',
    text: backingOffText,
    advice: endAdvice,
    ask: (_, askOwner) => `${askOwner} why its runners fail`,
  },
  'served-elsewhere': {
    state: 'starting',
    heldBack: 'no',
    short: 'left to runners of others',
    text: ({ runner = '' }) => `${runner} is there for it (not a runner of these groups)`,
  },
};

/** The reasons for which a group holds jobs back. */
export const BY_GROUPS = (Object.keys(HELD) as HeldBecause[]).filter((each) => HELD[each].heldBack === 'by-its-group');

/** True for a ready job without a runner because of its group or of its lack of labels. Its state may also be `unserved`. */
export function isHeldBack(decision: JobDecision): boolean {
  return decision.verdict === 'held' && HELD[decision.because].heldBack !== 'no';
}

function brokenText({ group, labels, problem }: UnservedGroup, wanted: readonly string[]): string {
  const hasThem = labels ? 'has its labels' : `may have its labels (${labelsText(wanted)})`;
  return `RunnerGroup ${group} ${hasThem}, and cannot be served: ${problem}`;
}

export function brokenAdvice({ group, problem }: UnservedGroup): string {
  return `mend RunnerGroup ${group}: ${correctText(problem)}`;
}

function textOf(group: GroupKey | undefined): string {
  return group ? keyText(group) : '';
}

function heldByLimitText({ group, holders = [], job, limit = { most: 0 } }: HeldJob): string {
  const isOwnLimit = isUnderLimit(job.repository, limit) && limitsBranch(limit, job.branch);
  const why = isOwnLimit ? '' : `; Gitea could give its runner to a job of ${limitScopeText(limit)}`;
  const holdText = `held back by ${limitText(limit)}${group ? ` of group ${keyText(group)}` : ''}${why}`;
  return holders.length > 0 ? `slots are held: ${holdersText(holders)}; ${holdText}` : holdText;
}

/** True for jobs of the repository or organization that the limit is of. A limit for all together has every job. */
export function isUnderLimit(repository: string, { of: scope }: HoldingLimit): boolean {
  return scope === undefined || `${repository.toLowerCase()}/`.startsWith(`${scope}/`);
}

/** True for runners that take slots of a limit, which holds a job of this group. A runner without a known job may be for any repository. */
export function isUnderSame(limit: HoldingLimit, group: GroupKey): (runner: EmittedRunner) => boolean {
  const { name } = limit;
  return ({ group: groupOfRunner, job, limits = [] }) =>
    (isSame(groupOfRunner, group) || (name !== undefined && limits.includes(name))) &&
    (!job || (isUnderLimit(job.repository, limit) && limitsBranch(limit, job.branch)));
}

/** `limit gpus (20)`, `the limit for branches main, release/* of acme/web (2)` */
function limitText(limit: HoldingLimit = { most: 0 }): string {
  const { name, most } = limit;
  const scope = limitScopeText(limit);
  return `${name === undefined ? 'the limit' : `limit ${name}`}${scope && ` for ${scope}`} (${most})`;
}

function limitAdvice({ holders = [], limit }: HeldJob, group: ExplainedGroup | undefined): readonly string[] {
  const place = group ? ` ${placeOf(group)}` : '';
  const raise = `wait for a runner under ${limitText(limit)}, or raise its max in spec.limits${place}`;
  return [...holderAdvice(holders), `${raise}${slotHoldersText(limit)}`];
}

/** Names the holders of slots, for owners only. All readers of the repository see the cause itself. */
function slotHoldersText({ others = [] }: Partial<HoldingLimit> = {}): string {
  const names = others.map(({ name, application = '<unknown>' }) => `${name} (Application ${application})`);
  return names.length === 0 ? '' : `. Jobs of other Applications have slots there: ${names.join(', ')}`;
}

/** `branches main, release/* of acme/web`. Empty: the limit is for all jobs. */
function limitScopeText({ of: scope, branches }: HoldingLimit): string {
  return [branches && `branches ${branches.join(', ')}`, scope].filter(Boolean).join(' of ');
}

function resumeAdvice(group: ExplainedGroup | undefined): string {
  if (group?.suspension === undefined) return `remove spec.suspend${group ? ` ${placeOf(group)}` : ''}`;
  const { namespace, name, suspension } = group;
  const command = `kubectl -n ${namespace} annotate runnergroup ${name} ${SUSPENDED}-`;
  const why = suspension && ` (${suspension})`;
  return `end the suspension in the cluster${why}: the action resume in Argo CD, or ${command}`;
}

/** `held back by the cap of group runners/ci; 3rd in line; about 4m00s (2m10s to 6m30s)` */
function capText({ cap, ended, estimate, group, holders = [], next, position }: HeldJob): string {
  const groupText = textOf(group);
  if (cap === 0) return `held back: group ${groupText} starts no runners, because its cap is 0`;
  const parts = [
    ended && endedText(ended),
    holders.length > 0 && `slots are held: ${holdersText(holders)}`,
    `held back by the cap of group ${groupText}`,
    next !== undefined && `the next slot is for ${next}`,
    position !== undefined && `${ordinal(position)} in line`,
    estimate && estimateText(estimate),
  ];
  return parts.filter(Boolean).join('; ');
}

/** `1st`, `12th`, `22nd` */
function ordinal(value: number): string {
  const isTeen = value % 100 >= 11 && value % 100 <= 13;
  return `${value}${(isTeen ? undefined : ['th', 'st', 'nd', 'rd'][value % 10]) ?? 'th'}`;
}

/** Returns the file of a group. It is unknown if Argo CD does not tell the source of the Application. */
function placeOf(group: ExplainedGroup): string {
  return group.file === keyText(group) ? `of RunnerGroup ${group.file}` : `in ${group.file}`;
}

/** Returns the advice for a full cap. It depends on the holders of the slots. */
function capAdvice(explained: ExplainedGroup, { holders = [], weight = 1 }: HeldJob): string {
  const { cap, busy, debugging, cannotStart, slots: takenSlots = runnersIn(explained) } = explained;
  const group = `group ${keyText(explained)}`;
  const raise = `raise spec.maxActiveRunners ${placeOf(explained)}`;
  const slots = slotsText(explained);
  const slotNeedText = weight > 1 ? `, and this job takes ${weight}` : '';
  const full =
    slotNeedText || explained.slots
      ? `${group} has ${Math.max(0, cap - takenSlots)} of ${cap} slots free (${slots})${slotNeedText}`
      : `${group} has no free slot (${slots})`;
  if (cap === 0) return `${raise}: it is 0`;
  if (busy > cap) return `${group} has more runners at work (${slots}) than its cap of ${cap}: wait, or ${raise}`;
  if (cannotStart > 0) return `${full}, and ${cannotStart} of its runners cannot start: mend that first`;
  const away = holders.filter(({ offline }) => offline).length;
  if (away > 0) return `${full}, and ${away} of its runners ${away === 1 ? 'is' : 'are'} offline: see to that first`;
  if (debugging > 0) return `${full}: wait, ${raise}, or delete the Job of a runner that nobody looks at`;
  if (busy === 0) return `${full}: wait, or ${raise} if more jobs are to run at once`;
  return `${full}: ${raise}, or wait for a busy runner to finish`;
}

/** `2 busy, 1 starting`: what the runners that take slots do. */
export function slotsText({ busy, isUnseen, waiting, debugging, spare, warm }: ExplainedGroup): string {
  const counts = [
    [busy, 'busy'],
    [waiting + spare + warm, isUnseen ? 'wanted' : 'starting'],
    [debugging, 'debugging'],
  ] as const;
  return counts.flatMap(([amount, word]) => (amount > 0 ? [`${amount} ${word}`] : [])).join(', ');
}

function backingOffText({ ended, group, untilMs }: HeldJob, nowMs: number): string {
  const why = ended ? endedText(ended) : 'the Job of its last runner ended without a CI job';
  const untilNextTry = duration((untilMs ?? nowMs) - nowMs);
  return `held back: ${why}; group ${textOf(group)} tries again in ${untilNextTry}`;
}

/** Returns how the last runner of a job ended. */
export function endedText(podTrouble: PodTrouble): string {
  return `its last runner failed: ${troubleText(podTrouble)}`;
}

/** Returns what helps against the way in which the last runner of a job ended. */
export function endAdvice(
  { ended }: Pick<ExplainedJob, 'ended'>,
  group: ExplainedGroup | undefined,
): readonly string[] {
  const remedy = ended && remedyOf(ended, { group, runner: ended.runner, secret: group?.registrationSecret });
  return remedy === undefined ? [] : [remedy];
}

/** The states of runners that the metric counts (docs/monitoring.md). */
export const RUNNER_STATES = [
  'initializing',
  'idle',
  'busy',
  'debugging',
  'failed',
  'retryable',
  'stale',
  'unknown',
] as const;
export type ShownState = (typeof RUNNER_STATES)[number];

interface RunnerReason {
  /** `alive`: its pod tells whether it is initializing or idle. */
  readonly state: ShownState | 'alive';
  /** `taken`: it has had its CI job. `none`: it goes, and had none. `open`: it may still get one, or nobody knows. */
  readonly ciJob: 'taken' | 'none' | 'open';
  /** Absent: it is wanted for a job, which the table of jobs names. */
  readonly text?: string | ((runner: EmittedRunner, groups: readonly ExplainedGroup[], nowMs: number) => string);
  readonly advice?: (runner: RunnerDecision) => string;
}

/** A runner that a job is to have. */
interface ServingReason extends RunnerReason {
  /** Words about the runner for its job. */
  readonly serves: string;
}

const WANTED = { state: 'alive', ciJob: 'open' } as const;
const AT_WORK = { state: 'busy', ciJob: 'taken' } as const;
const NEEDLESS = { state: 'stale', ciJob: 'none' } as const;
const GONE = { state: 'stale', ciJob: 'open' } as const;

/** Why a runner stays or goes. */
export const RUNNERS: Readonly<
  Record<ServedBy, ServingReason> & Record<EmittedBecause | DroppedBecause, RunnerReason>
> = {
  'own-runner': { ...WANTED, serves: 'its runner is there, and has not taken it yet' },
  chain: { ...WANTED, serves: 'takes over the runner of another job' },
  'free-runner': { ...WANTED, serves: 'a free runner' },
  'new-runner': { ...WANTED, serves: 'asked for, not registered yet' },
  busy: AT_WORK,
  finishing: { ...AT_WORK, text: 'stays: busy in Gitea without a listed job (a cancelled job cleans up)' },
  debugging: { state: 'debugging', ciJob: 'taken', text: debuggingText },
  moved: {
    state: 'busy',
    ciJob: 'open',
    text: 'stays: it was at work when its RunnerGroup moved to another Gitea or scope, and it may finish',
  },
  spare: { ...WANTED, text: 'stays for the next job while CI goes on; it ends spawnTimeoutSeconds after its start' },
  warm: { ...WANTED, text: warmText },
  lost: {
    ...GONE,
    text: 'stays as a record: its pod is lost while Gitea still shows a CI job on it, it holds no slot',
  },
  foreign: {
    ...GONE,
    text: 'takes no slot: Gitea shows it at work, but its runner is gone, or was registered by somebody else',
  },
  unpinning: {
    ...WANTED,
    text: 'goes: no job needs it; the next sync takes its protection away, the one after it the Job',
  },
  'back-off-record': {
    state: 'retryable',
    ciJob: 'open',
    text: 'stays as a record: its Job ended without a CI job, it holds no slot',
    advice: ({ group, runner }) =>
      `see why it ended: kubectl -n ${group.namespace} logs job/${runner} --all-containers`,
  },
  'group-in-trouble': {
    state: 'unknown',
    ciJob: 'open',
    text: 'stays as it is: its RunnerGroup cannot be planned now',
  },
  'used-up': { state: 'stale', ciJob: 'taken', text: 'goes: it has done its job' },
  failed: { state: 'failed', ciJob: 'none', text: 'goes: its Job ended without a CI job' },
  'never-came': {
    ...NEEDLESS,
    text: 'goes: has not been online in Gitea within spawnTimeoutSeconds',
    advice: ({ group, runner }) =>
      `see why ${runner} was not online: kubectl -n ${group.namespace} logs job/${runner} --all-containers`,
  },
  stuck: {
    ...NEEDLESS,
    text: 'goes: its pod has not started within pendingDeadlineSeconds, another one is tried',
    advice: ({ group, runner }) => seeWhy(group, runner, `pods -l job-name=${runner}`),
  },
  replaced: { ...NEEDLESS, text: 'goes: its RunnerGroup was changed before it registered' },
  disabled: { ...NEEDLESS, text: 'goes: is disabled in Gitea' },
  suspended: { ...NEEDLESS, text: 'goes: its group is suspended' },
  surplus: { ...NEEDLESS, text: 'goes: no job needs it, or Gitea gives it none' },
  drained: {
    ...NEEDLESS,
    text: 'goes: its group was changed, keeps fewer idle runners, or has no slots for them under its cap',
  },
  deleting: { ...GONE, text: 'goes: its Job is being deleted' },
  gone: { ...GONE, text: 'goes: its Job is gone, which Gitea has not noticed yet' },
  offline: { ...GONE, text: 'is only an old registration: offline in Gitea' },
};

/** `kept warm: slot 1 of 2` */
function warmText({ runner, group }: EmittedRunner, groups: readonly ExplainedGroup[]): string {
  const size = findGroup(group, groups)?.minIdle ?? 0;
  const index = poolIndexOf(parseRunnerName(runner)?.madeFor);
  return index === undefined || index > size ? `kept warm: one of ${size}` : `kept warm: slot ${index} of ${size}`;
}

/** Returns what a person can do with the runner of a failed CI job (docs/debugging.md). */
function debuggingText({ runner, group, job, keep }: EmittedRunner, _: unknown, nowMs: number): string {
  const { untilMs, extension } = keep ?? { untilMs: nowMs };
  const jobText = job ? ` ${job.repository} ${job.name} (job ${job.id})` : '';
  const until = `${timeText(untilMs)} (${duration(untilMs - nowMs)})`;
  const enter = `kubectl exec -it -n ${group.namespace} job/${runner} -c runner -- sh`;
  return `debugging: its CI job${jobText} failed; stays until ${until}; ${enter}${extension ? EXTENSION[extension] : ''}`;
}

const EXTENSION: Readonly<Record<NonNullable<HeldUntil['extension']>, string>> = {
  unreadable: '; its annotation gitea.bpg.pw/extend-until is no time (2026-01-31T12:00:00Z) and does not count',
  'too-long': '; its annotation gitea.bpg.pw/extend-until is later than a runner may stay, 24 hours after the failure',
};

/** Returns why a pod does not start. If it may still start by itself: also for how long it has not. */
export function podTroubleText(trouble: RunnerTrouble, nowMs: number): string {
  const { comesByMs, isSuspended, queue, stillSinceMs } = trouble;
  const text = troubleText(trouble);
  if (queue !== undefined) return `it waits in queue ${queue} of Kueue: ${trouble.message}`;
  if (isSuspended) return `it is held, and whoever does that (Kueue, for example) lets it start: ${text}`;
  if (stillSinceMs === undefined)
    return `its pod ${comesByMs === undefined ? 'cannot start' : 'waits for a node'}: ${text}`;
  // Whole minutes: pods with one cause share a line.
  const stillMs = nowMs - stillSinceMs - ((nowMs - stillSinceMs) % 60_000);
  return `its pod has not started: ${text}${stillMs > 0 ? `, for ${duration(stillMs)}` : ''}`;
}

/** Returns why a runner stays or goes, for the table of runners. */
export function runnerText(decision: RunnerDecision, groups: readonly ExplainedGroup[], nowMs: number): string {
  const text = whyText(decision, groups, nowMs);
  const { because } = decision;
  const trouble = decision.emit ? decision.trouble : undefined;
  if (!trouble) return text;
  // The pod of a record has ended.
  return `${text}; ${because === 'back-off-record' ? troubleText(trouble) : podTroubleText(trouble, nowMs)}`;
}

/** Returns why a runner stays or goes, without the trouble of its pod. */
export function whyText(decision: RunnerDecision, groups: readonly ExplainedGroup[], nowMs: number): string {
  const job = decision.emit ? decision.job : undefined;
  const jobText = job ? ` ${job.id} "${job.name}" of ${job.repository}` : '';
  const atJob = decision.because === 'busy' ? `stays: it runs job${jobText}` : `stays: it is wanted for job${jobText}`;
  return reasonText(decision, groups, nowMs) ?? atJob;
}

/** Undefined: it stays, and the table of jobs names it. */
export function reasonText(decision: RunnerDecision, groups: readonly ExplainedGroup[], nowMs: number) {
  const { text } = RUNNERS[decision.because];
  if (typeof text !== 'function') return text;
  return decision.emit ? text(decision, groups, nowMs) : undefined;
}

/** Returns what a person can do about the pod of a runner. */
export function runnerAdvice(decision: RunnerDecision): readonly string[] {
  const { advice } = RUNNERS[decision.because];
  if (advice) return [advice(decision)];
  return decision.emit && decision.trouble ? [podAdvice(decision.trouble, decision.group, decision.runner)] : [];
}

/** Returns one piece of advice for all runners with the same cause. */
export function runnersAdvice(decisions: readonly RunnerDecision[]): readonly string[] {
  return [...new Set(adviceOfEach(decisions))];
}

/** Returns the advice for each runner: that for the first one with its cause. */
export function adviceOfEach(decisions: readonly RunnerDecision[]): readonly string[] {
  const causeOf = (decision: RunnerDecision): string => {
    const { reason, container } = (decision.emit && decision.trouble) || {};
    const isRecord = decision.because === 'back-off-record';
    return [keyText(decision.group), isRecord, reason, container].join(' ');
  };
  const causes = [...groupBy(decisions, causeOf).values()];
  return causes.flatMap((runners) => {
    const advice = runners.map(runnerAdvice).find(({ length }) => length > 0) ?? [];
    return runners.flatMap(() => advice);
  });
}
