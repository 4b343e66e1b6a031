/** What happens to a job or to a runner, why, and what to do: the sentences and the advice for every decision. Pure. */

import type {
  DroppedBecause,
  EmittedBecause,
  EmittedRunner,
  HeldBecause,
  HeldUntil,
  HoldingLimit,
  RunnerDecision,
  RunnerTrouble,
  ServedBy,
} from '../../planner/decisions.ts';
import { NO_POD, type PodTrouble } from '../../planner/evidence.ts';
import { limitsBranch } from '../../planner/limits.ts';
import { parseRunnerName, poolIndexOf } from '../../planner/names.ts';
import { keyText } from '../../shared/keys.ts';
import { SUSPENDED, timeText } from '../../shared/marks.ts';
import { duration } from '../../shared/printable.ts';
import { type ExplainedGroup, type ExplainedJob, findGroup } from './explanation.ts';
import { blockedText, notCoveredAdvice, notCoveredText } from './held-back.ts';
import { estimateText } from './wait-estimate.ts';

type RunningJob = ExplainedJob & { readonly verdict: 'running' };
type ServedJob = ExplainedJob & { readonly verdict: 'served' };
type HeldJob = ExplainedJob & { readonly verdict: 'held' };

export function verdictText(job: ExplainedJob, nowMs: number, runners: ReadonlyMap<string, EmittedRunner>): string {
  if (job.isActionsOff)
    return `Actions is switched off in the settings of ${job.job.repository}: Gitea gives its jobs to no runner`;
  if (job.verdict === 'running') return runningText(job, runners);
  if (job.verdict === 'held') return HELD[job.because].text(job, nowMs);
  return `${job.runner} (owned by group ${keyText(job.group)}; ${servedText(job, runners, nowMs)})`;
}

/** What to do about a job. Nothing when there is nothing to do but to wait. */
export function adviceFor(job: ExplainedJob, groups: readonly ExplainedGroup[]): readonly string[] {
  const switchOn = `switch Actions on in the settings of ${job.job.repository}; if the job is not to run, cancel its run then`;
  if (job.isActionsOff) return [switchOn];
  if (job.verdict === 'running') return endAdvice(job);
  if (job.verdict === 'held') return HELD[job.because].advice?.(job, findGroup(job.group, groups)) ?? [];
  return servedAdvice(job);
}

interface HeldCause {
  readonly text: (job: HeldJob, nowMs: number) => string;
  /** Absent: nothing helps but to wait. */
  readonly advice?: (job: HeldJob, group: ExplainedGroup | undefined) => readonly string[];
}

const HELD: Readonly<Record<HeldBecause, HeldCause>> = {
  blocked: { text: (job) => `blocked: ${blockedText(job)}` },
  'no-labels': {
    text: () => 'no labels: no runner is started for it (the call of a reusable workflow needs none)',
    advice: () => ['if a job without labels is to run, give it a runs-on, or set spec.acceptUnlabelledJobs'],
  },
  'labels-not-covered': { text: notCoveredText, advice: (job) => [notCoveredAdvice(job)] },
  'repository-not-chosen': {
    text: ({ nearest, job }) =>
      `not covered: group ${nearest ? keyText(nearest) : ''} does not choose ${job.repository}`,
    advice: ({ job: { repository } }) => [`add ${repository.split('/').at(-1)} to spec.repositories of that group`],
  },
  suspended: {
    text: ({ group }) => `held back: group ${group ? keyText(group) : ''} is suspended`,
    advice: (_, group) => [resumeAdvice(group)],
  },
  limit: {
    text: ({ group, job, limit = { most: 0 } }) => {
      const isElsewhere = limit.of !== undefined && !`${job.repository.toLowerCase()}/`.startsWith(`${limit.of}/`);
      const isOther = isElsewhere || !limitsBranch(limit, job.branch);
      const other = isOther ? `; Gitea could give its runner to a job of ${partText(limit)}` : '';
      return `held back by ${limitText(limit)}${group ? ` of group ${keyText(group)}` : ''}${other}`;
    },
    advice: ({ limit }) => [
      `wait for a runner under ${limitText(limit)}, or raise its max in spec.limits${othersText(limit)}`,
    ],
  },
  cap: { text: capText, advice: (_, group) => (group ? [capAdvice(group)] : []) },
  'backing-off': { text: backingOffText, advice: endAdvice },
  'served-elsewhere': { text: ({ runner = '' }) => `${runner} is there for it (not a runner of these groups)` },
};

/** `limit gpus (20)`, `the limit for branches main, release/* of acme/web (2)` */
function limitText(limit: HoldingLimit = { most: 0 }): string {
  const { name, most } = limit;
  const part = partText(limit);
  return `${name === undefined ? 'the limit' : `limit ${name}`}${part && ` for ${part}`} (${most})`;
}

/** Whom to ask. It is no part of the cause: that one is read by all who may read the repository. */
function othersText({ others = [] }: Partial<HoldingLimit> = {}): string {
  const names = others.map(({ name, application = '<unknown>' }) => `${name} (Application ${application})`);
  return names.length === 0 ? '' : `. Jobs of other Applications have places there: ${names.join(', ')}`;
}

function partText({ of, branches }: HoldingLimit): string {
  return [branches && `branches ${branches.join(', ')}`, of].filter(Boolean).join(' of ');
}

function resumeAdvice(group: ExplainedGroup | undefined): string {
  if (group?.suspension === undefined) return `remove spec.suspend${group ? ` in ${group.file}` : ''}`;
  const { namespace, name, suspension } = group;
  const command = `kubectl -n ${namespace} annotate runnergroup ${name} ${SUSPENDED}-`;
  return `end the suspension in the cluster (${suspension}): the action resume in Argo CD, or ${command}`;
}

/** `held back by the cap of group runners/ci; 3rd in line; about 4m00s (2m10s to 6m30s)` */
function capText({ cap, estimate, group, next, position }: HeldJob): string {
  const of = group ? keyText(group) : '';
  if (cap === 0) return `held back: group ${of} starts no runners, because its cap is 0`;
  return [
    `held back by the cap of group ${of}`,
    ...(next === undefined ? [] : [`the next slot is for ${next}`]),
    ...(position === undefined ? [] : [`${ordinal(position)} in line`]),
    ...(estimate ? [estimateText(estimate)] : []),
  ].join('; ');
}

/** `1st`, `12th`, `22nd` */
function ordinal(value: number): string {
  const isTeen = value % 100 >= 11 && value % 100 <= 13;
  return `${value}${(isTeen ? undefined : ['th', 'st', 'nd', 'rd'][value % 10]) ?? 'th'}`;
}

/** Who holds the slots says what helps. */
function capAdvice(explained: ExplainedGroup): string {
  const { cap, busy, debugging, cannotStart, file } = explained;
  const group = `group ${keyText(explained)}`;
  const raise = `raise spec.maxActiveRunners in ${file}`;
  const slots = slotsText(explained);
  const full = `${group} has no free slot (${slots})`;
  if (cap === 0) return `${group} starts no runners, because spec.maxActiveRunners is 0: ${raise}`;
  if (busy > cap) return `${group} has more runners at work (${slots}) than its cap of ${cap}: wait, or ${raise}`;
  if (cannotStart > 0) return `${full}, and ${cannotStart} of its runners cannot start: mend that first`;
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
  return counts.flatMap(([some, word]) => (some > 0 ? [`${some} ${word}`] : [])).join(', ');
}

function backingOffText({ ended, group, untilMs }: HeldJob, nowMs: number): string {
  const why = ended
    ? `its last runner failed: ${troubleText(ended)}`
    : 'the Job of its last runner ended without a CI job';
  const again = duration((untilMs ?? nowMs) - nowMs);
  return `held back: ${why}; group ${group ? keyText(group) : ''} tries again in ${again}`;
}

/** What helps against the way in which a runner ended. Nothing: its logs tell. */
const AFTER_END: ReadonlyMap<string, string> = new Map([
  ['RegistrationFailed', 'check that the registration token is valid for this scope, and that pods reach Gitea'],
  ['OOMKilled', 'give container runner a higher memory limit in spec.podTemplate, or let the CI job need less'],
  [
    'Evicted',
    'give the pod requests for what its node ran out of, in spec.podTemplate: pods without them are evicted first',
  ],
  ['Preempted', 'give the group a higher priority: spec.priorityTiers, or priorityClassName in spec.podTemplate'],
  ['DeadlineExceeded', 'raise spec.activeDeadlineSeconds, or make the CI job shorter'],
]);

function endAdvice({ ended }: ExplainedJob): readonly string[] {
  return [AFTER_END.get(ended?.reason ?? '') ?? []].flat();
}

const SERVED: Readonly<Record<ServedBy, string>> = {
  'own-runner': 'its runner is alive',
  chain: 'takes over the runner of another job',
  'free-runner': 'a free runner',
  'new-runner': 'asked for, not registered yet',
};

function servedText(
  { by, runner, isUnseen, notCreated, idleMs, ended }: ServedJob,
  runners: ReadonlyMap<string, EmittedRunner>,
  nowMs: number,
): string {
  const last = ended ? `; the last one failed: ${troubleText(ended)}` : '';
  const { trouble, triedBefore = 0 } = runners.get(runner) ?? {};
  if (trouble) return `${podTroubleText(trouble, nowMs)}${last}`;
  const before = triedBefore > 0 ? `; ${triedBefore} before it got no job, or did not start` : '';
  if (idleMs !== undefined)
    return `it is registered and idle for ${duration(idleMs)}: Gitea does not give it the job${before}`;
  const unseen = isUnseen && 'would be started; the cluster was not looked at';
  return `${notCreated?.why ?? (unseen || SERVED[by])}${last}${before}`;
}

function servedAdvice(job: ServedJob): readonly string[] {
  const { isUnseen, notCreated, idleMs, ended } = job;
  if (ended || notCreated?.isUnserved) return [...endAdvice(job), ...(notCreated?.isUnserved ? [notCreated.next] : [])];
  if (isUnseen) return ['to see whether its runner starts, have the cluster looked at: add --kubeconfig'];
  if (idleMs === undefined) return [];
  const { repository } = job.job;
  return [
    `look whether Actions is switched on in the settings of ${repository}, and whether the runner has all labels of runs-on`,
  ];
}

function runningText({ job, group, ended }: RunningJob, runners: ReadonlyMap<string, EmittedRunner>): string {
  const runner = job.runner ?? '<unknown>';
  if (!group) return `runs on ${runner} (not a runner of these groups)`;
  const decision = runners.get(runner);
  if (decision?.because !== 'lost') return `runs on ${runner}`;
  if (decision.isOutlived)
    return `no runner of its group lives as long as Gitea shows it in progress: ${runner} is gone, and holds no slot`;
  const why = ended ? ` (${troubleText(ended)})` : '';
  return `its runner ${runner} is lost${why}: Gitea fails it after 10 to 15 minutes`;
}

/** `Unschedulable: 0/3 nodes are available: 3 Insufficient cpu.`, `FailedMount: timed out (node node-7)` */
export function troubleText({ reason, message, node }: PodTrouble): string {
  return `${reason}${message === undefined ? '' : `: ${message}`}${node === undefined ? '' : ` (node ${node})`}`;
}

/** Why a pod does not start, and with what only time tells also for how long. */
export function podTroubleText(trouble: RunnerTrouble, nowMs: number): string {
  const { isSuspended, stillSinceMs } = trouble;
  const text = troubleText(trouble);
  if (isSuspended) return `its Job is suspended, and whoever did that (Kueue, for example) lets it start: ${text}`;
  if (stillSinceMs === undefined) return `its pod cannot start: ${text}`;
  return `its pod has not started: ${text}, for ${duration(nowMs - stillSinceMs)}`;
}

/** Runners that stay although no job in the table names them. */
const STAYS: Readonly<Partial<Record<EmittedBecause, string>>> = {
  finishing: 'stays: busy in Gitea without a listed job (a cancelled job cleans up)',
  moved: 'stays: it was at work when its RunnerGroup moved to another Gitea or scope, and it may finish',
  spare: 'stays: no job needs it now, but CI goes on; it goes spawnTimeoutSeconds after its start',
  lost: 'stays as a record: its pod is lost while Gitea still shows a CI job on it, it holds no slot',
  foreign: 'takes no place: a CI job names it, but its runner is gone, or was registered by somebody else',
  unpinning: 'goes: no job needs it; the next sync takes its protection away, the one after it the Job',
  'back-off-record': 'stays as a record: its Job ended without a CI job, it holds no slot',
  'group-in-trouble': 'stays as it is: its RunnerGroup cannot be planned now',
};

const DROPPED: Readonly<Record<DroppedBecause, string>> = {
  'used-up': 'goes: it has done its job',
  failed: 'goes: its Job ended without a CI job',
  'never-came': 'goes: has not registered within spawnTimeoutSeconds',
  stuck: 'goes: its pod has not started within pendingDeadlineSeconds, another one is tried',
  replaced: 'goes: its RunnerGroup was changed before it registered',
  disabled: 'goes: is disabled in Gitea',
  suspended: 'goes: its group is suspended',
  surplus: 'goes: no job needs it',
  drained: 'goes: its group was changed, keeps fewer idle runners, or has no room for them under its cap',
  deleting: 'goes: its Job is being deleted',
  gone: 'goes: its Job is gone, which Gitea has not noticed yet',
  offline: 'is only an old registration: offline in Gitea',
};

export function runnerText(decision: RunnerDecision, groups: readonly ExplainedGroup[], nowMs: number): string {
  const job = decision.emit ? decision.job : undefined;
  const of = job ? ` ${job.id} "${job.name}" of ${job.repository}` : '';
  const wanted = decision.because === 'busy' ? `stays: it runs job${of}` : `stays: it is wanted for job${of}`;
  const text = leftoverText(decision, groups, nowMs) ?? wanted;
  return decision.emit && decision.trouble ? `${text}; ${podTroubleText(decision.trouble, nowMs)}` : text;
}

/** Undefined: it stays, and the table of jobs names it. */
export function leftoverText(decision: RunnerDecision, groups: readonly ExplainedGroup[], nowMs: number) {
  if (!decision.emit) return DROPPED[decision.because];
  const { because, keep } = decision;
  if (because === 'warm') return warmText(decision, groups);
  return because === 'debugging' && keep ? keptText(decision, keep, nowMs) : STAYS[because];
}

/** `kept warm: slot 1 of 2` */
function warmText({ runner, group }: EmittedRunner, groups: readonly ExplainedGroup[]): string {
  const size = findGroup(group, groups)?.minIdle ?? 0;
  const index = poolIndexOf(parseRunnerName(runner)?.madeFor);
  return index === undefined || index > size ? `kept warm: one of ${size}` : `kept warm: slot ${index} of ${size}`;
}

/** A runner that stays for a look. The next steps: docs/debugging.md. */
function keptText({ runner, group, job }: EmittedRunner, { untilMs, extension }: HeldUntil, nowMs: number): string {
  const of = job ? ` ${job.repository} ${job.name} (job ${job.id})` : '';
  const until = `${timeText(untilMs)} (${duration(untilMs - nowMs)})`;
  const enter = `kubectl exec -it -n ${group.namespace} job/${runner} -c runner -- sh`;
  return `debugging: its CI job${of} failed; stays until ${until}; ${enter}${extension ? EXTENSION[extension] : ''}`;
}

const EXTENSION: Readonly<Record<NonNullable<HeldUntil['extension']>, string>> = {
  unreadable: '; its annotation gitea.bpg.pw/extend-until is no time (2026-01-31T12:00:00Z) and does not count',
  'too-long': '; its annotation gitea.bpg.pw/extend-until is later than a runner may stay, 24 hours after the failure',
};

export function runnerAdvice(decision: RunnerDecision): readonly string[] {
  const { runner, group, because } = decision;
  const kubectl = `kubectl -n ${group.namespace}`;
  if (because === 'back-off-record') return [`see why it ended: ${kubectl} logs job/${runner} --all-containers`];
  const describe = `see why ${runner} cannot start: ${kubectl} describe`;
  if (because === 'stuck') return [`${describe} pods -l job-name=${runner}`];
  if (!decision.emit || !decision.trouble) return [];
  const { reason, isSuspended, container } = decision.trouble;
  if (container) return [`see what it waits for: ${kubectl} logs job/${runner} -c ${container}`];
  return [`${describe} ${reason === NO_POD || isSuspended ? `job/${runner}` : `pods -l job-name=${runner}`}`];
}
