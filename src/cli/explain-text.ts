/** `explain` for people: a pure function of what `explain --json` prints. All names from outside are made printable. */

import type {
  DroppedBecause,
  EmittedBecause,
  EmittedRunner,
  KeptUntil,
  RunnerDecision,
  RunnerTrouble,
  ServedBy,
} from '../planner/decisions.ts';
import { slotOf } from '../planner/names.ts';
import { keyText } from '../shared/key-text.ts';
import { timeText } from '../shared/marks.ts';
import { count } from '../shared/printable.ts';
import { type TableOptions, table, wrapped } from '../shared/table.ts';
import type { Style } from '../shared/terminal.ts';
import { adviceText, meantText } from './advice.ts';
import { duration } from './duration.ts';
import { blockedText } from './explain/blocked.ts';
import type { JobState } from './explain/job-state.ts';
import { elsewhereText } from './explain/labels-elsewhere.ts';
import { estimateText } from './explain/wait-estimate.ts';
import { whereText } from './explain/where-text.ts';
import { type ExplainedGroup, type ExplainedJob, type Explanation, emittedRunners, findGroup } from './explanation.ts';
import { runnerCounts, runnersIn } from './runner-counts.ts';

/** What the table shows besides its usual columns: `-o wide`. */
export interface ExplainOptions extends TableOptions {
  readonly wide?: boolean;
  /** All jobs are of one run, which is named above. */
  readonly isOfRun?: boolean;
}

/** @param all the explanation before filters: the last line is about everything */
export function explainText(explanation: Explanation, given: ExplainOptions, all: Explanation = explanation): string {
  const nowMs = Date.parse(explanation.checkedAt);
  const { groups, jobs, where } = explanation;
  const options = { ...given, whole: given.wide === true };
  const columns = options.whole ? undefined : options.columns;
  const parts = [
    ...(where ? [wrapped(whereText(where, nowMs), columns)] : []),
    groupTable(groups, options),
    jobs.length === 0 ? noJobs(all.jobs.length) : jobTable(explanation, options),
    ...leftoverTable(explanation, nowMs, options),
    ...adviceText(explanation, columns),
    wrapped(summary(all), columns),
  ];
  return parts.join('\n');
}

/** @param hidden unfinished jobs that a filter leaves out */
function noJobs(hidden: number): string {
  if (hidden === 0) return 'No jobs are queued or running.\n';
  return `No job passes the filters. They leave out ${count(hidden, 'unfinished job')}.\n`;
}

function groupTable(groups: readonly ExplainedGroup[], options: TableOptions): string {
  const rows = groups.map((group) => [
    keyText(group),
    `${group.gitea} ${group.scope}`,
    group.labels.join(','),
    `${runnersIn(group)} of ${group.cap}${group.suspended ? ' (suspended)' : ''}`,
    ...[group.busy, group.waiting, group.held].map(String),
  ]);
  return table(['GROUP', 'SCOPE', 'LABELS', 'RUNNERS', 'BUSY', 'WAITING', 'HELD'], rows, options);
}

/** All jobs of an explanation, in their order. */
export function jobTable(explanation: Explanation, options: ExplainOptions): string {
  const { jobs, checkedAt } = explanation;
  const nowMs = Date.parse(checkedAt);
  const emitted = emittedRunners(explanation);
  const rows = jobs.map((decision) => [
    String(decision.job.id),
    options.isOfRun ? decision.job.name : `${decision.job.repository} ${decision.job.name}`,
    decision.job.labels.join(',') || '<none>',
    duration(nowMs - decision.job.createdAtMs),
    ...(options.wide ? [decision.state, decision.job.url] : []),
    verdictText(decision, nowMs, emitted),
  ]);
  const header = ['JOB', 'NAME', 'RUNS-ON', 'AGE', ...(options.wide ? ['STATE', 'LINK'] : []), 'WHAT HAPPENS'];
  return table(header, rows, { ...options, styleOf: (row) => STYLES[jobs[row]?.state ?? 'held'] });
}

/** Words carry the meaning; colour only repeats it. */
const STYLES: Readonly<Record<JobState, Style>> = {
  unserved: 'red',
  held: 'yellow',
  starting: 'cyan',
  blocked: 'dim',
  running: 'green',
};

/** What happens to a job, and why: one case for each decision. */
export function verdictText(
  decision: ExplainedJob,
  nowMs: number,
  runners: ReadonlyMap<string, EmittedRunner>,
): string {
  if (decision.isActionsOff)
    return `Actions is switched off in the settings of ${decision.job.repository}: Gitea gives its jobs to no runner`;
  switch (decision.verdict) {
    case 'running':
      return runningText(decision, runners);
    case 'served':
      return `${decision.runner} (owned by group ${keyText(decision.group)}; ${servedText(decision, runners)})`;
    case 'held':
      return heldText(decision, nowMs);
    default:
      return decision satisfies never;
  }
}

function servedText(
  { by, runner, isUnseen, notCreated, idleMs, ended }: ExplainedJob & { readonly verdict: 'served' },
  runners: ReadonlyMap<string, EmittedRunner>,
): string {
  const last = ended ? `; the last one failed: ${troubleText(ended)}` : '';
  const trouble = runners.get(runner)?.trouble;
  if (trouble) return `its pod cannot start: ${troubleText(trouble)}${last}`;
  if (idleMs !== undefined) return `it is registered and idle for ${duration(idleMs)}: Gitea does not give it the job`;
  const unseen = isUnseen && 'would be started; the cluster was not looked at';
  return `${notCreated?.why ?? (unseen || SERVED[by])}${last}`;
}

/** `Unschedulable: 0/3 nodes are available: 3 Insufficient cpu.` */
export function troubleText({ reason, message }: Pick<RunnerTrouble, 'reason' | 'message'>): string {
  return message === undefined ? reason : `${reason}: ${message}`;
}

function runningText(
  { job, group, ended }: ExplainedJob & { readonly verdict: 'running' },
  runners: ReadonlyMap<string, EmittedRunner>,
): string {
  const runner = job.runner ?? '<unknown>';
  if (!group) return `runs on ${runner} (not a runner of these groups)`;
  if (runners.get(runner)?.because !== 'lost') return `runs on ${runner}`;
  const why = ended ? ` (${troubleText(ended)})` : '';
  return `its runner ${runner} is lost${why}: Gitea fails it after 10 to 15 minutes`;
}

const SERVED: Readonly<Record<ServedBy, string>> = {
  'own-runner': 'its runner is alive',
  chain: 'takes over the runner of another job',
  'free-runner': 'a free runner',
  'new-runner': 'asked for, not registered yet',
};

type HeldJob = ExplainedJob & { readonly verdict: 'held' };

function heldText(decision: HeldJob, nowMs: number): string {
  const of = decision.group ? keyText(decision.group) : '';
  switch (decision.because) {
    case 'blocked':
      return `blocked: ${blockedText(decision)}`;
    case 'no-labels':
      return 'no labels: no runner is started for it (the call of a reusable workflow needs none)';
    case 'labels-not-covered':
      return notCoveredText(decision);
    case 'suspended':
      return `held back: group ${of} is suspended`;
    case 'cap':
      return capText(decision, of);
    case 'backing-off':
      return backingOffText(decision, of, nowMs);
    case 'served-elsewhere':
      return `${decision.runner ?? ''} is there for it (not a runner of these groups)`;
    default:
      return decision.because satisfies never;
  }
}

function backingOffText({ ended, untilMs }: HeldJob, group: string, nowMs: number): string {
  const why = ended
    ? `its last runner failed: ${troubleText(ended)}`
    : 'the Job of its last runner ended without a CI job';
  return `held back: ${why}; group ${group} tries again in ${duration((untilMs ?? nowMs) - nowMs)}`;
}

/** `held back by the cap of group runners/ci; 3rd in line; about 4m00s (2m10s to 6m30s)` */
function capText({ cap, next, position, estimate }: HeldJob, group: string): string {
  if (cap === 0) return `held back: group ${group} starts no runners, because its cap is 0`;
  return [
    `held back by the cap of group ${group}`,
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

function notCoveredText({ job, elsewhere, didYouMean, missing, nearest }: HeldJob): string {
  if (elsewhere) return `labels not covered: ${job.labels.join(', ')} (${elsewhereText(elsewhere, job.repository)})`;
  if (didYouMean?.labels.length === 0)
    return `RunnerGroup ${keyText(didYouMean.group)} has its labels, and cannot be planned now`;
  if (didYouMean) {
    const labels = didYouMean.labels.map(({ written }) => written).join(', ');
    return `labels not covered: ${labels} (did you mean ${meantText(didYouMean)}?)`;
  }
  return `labels not covered: ${missing?.join(', ') ?? ''}${nearest ? ` (nearest group: ${keyText(nearest)})` : ''}`;
}

/** Runners that are seen but not needed: a reader may look for their Jobs. */
function leftoverTable({ runners, groups }: Explanation, nowMs: number, options: TableOptions): readonly string[] {
  const rows = runners.flatMap((decision) => {
    if (decision.emit) {
      const text = stayingText(decision, groups, nowMs);
      if (text === undefined) return [];
      const why = decision.trouble ? ` (${troubleText(decision.trouble)})` : '';
      return [[decision.runner, keyText(decision.group), `${text}${why}`]];
    }
    if (decision.because === 'used-up') return [];
    return [[decision.runner, keyText(decision.group), DROPPED[decision.because]]];
  });
  const usedUp = runners.filter(({ because }) => because === 'used-up').length;
  return [
    ...(rows.length === 0 ? [] : [table(['RUNNER', 'GROUP', 'WHAT HAPPENS'], rows, options)]),
    ...(usedUp === 0 ? [] : [`Runners that have done their job: ${usedUp}.\n`]),
  ];
}

/** `kept warm: slot 1 of 2` */
function warmText({ runner, group }: EmittedRunner, groups: readonly ExplainedGroup[]): string {
  const size = findGroup(group, groups)?.minIdle ?? 0;
  const slot = slotOf(runner);
  return slot === undefined || slot > size ? `kept warm: one of ${size}` : `kept warm: slot ${slot} of ${size}`;
}

/** Runners that stay although no job in the table names them. */
const KEPT: Readonly<Partial<Record<EmittedBecause, string>>> = {
  finishing: 'stays: busy in Gitea without a listed job (a cancelled job cleans up)',
  moved: 'stays: it was at work when its RunnerGroup moved to another Gitea or scope, and it may finish',
  spare: 'stays: no job needs it now, but CI goes on; it goes spawnTimeoutSeconds after its start',
  lost: 'stays as a record: its pod is lost while Gitea still shows a CI job on it, it holds no slot',
  foreign: 'takes no place: a CI job names it, but it was registered by somebody else under a name like ours',
  unpinning: 'goes: no job needs it; the next sync takes its protection away, the one after it the Job',
  'back-off-record': 'stays as a record: its Job ended without a CI job, it holds no slot',
  'group-in-trouble': 'stays as it is: its RunnerGroup cannot be planned now',
};

/** Undefined: the table of jobs names it. */
function stayingText(decision: EmittedRunner, groups: readonly ExplainedGroup[], nowMs: number): string | undefined {
  const { because, keep } = decision;
  if (because === 'warm') return warmText(decision, groups);
  return because === 'debugging' && keep ? keptText(decision, keep, nowMs) : KEPT[because];
}

/** Why a runner stays or goes: one case for each decision. */
export function runnerText(decision: RunnerDecision, groups: readonly ExplainedGroup[], nowMs: number): string {
  if (!decision.emit) return decision.because === 'used-up' ? 'goes: it has done its job' : DROPPED[decision.because];
  const kept = stayingText(decision, groups, nowMs) ?? wantedText(decision);
  return decision.trouble ? `${kept}; its pod cannot start: ${troubleText(decision.trouble)}` : kept;
}

function wantedText({ because, job }: EmittedRunner): string {
  const of = job ? ` ${job.id} "${job.name}" of ${job.repository}` : '';
  return because === 'busy' ? `stays: it runs job${of}` : `stays: it is wanted for job${of}`;
}

/** A runner that stays for a look. The next steps: docs/debugging.md. */
function keptText({ runner, group, job }: EmittedRunner, { untilMs, extension }: KeptUntil, nowMs: number): string {
  const of = job ? ` ${job.repository} ${job.name} (job ${job.id})` : '';
  const enter = `kubectl exec -it -n ${group.namespace} job/${runner} -c runner -- sh`;
  return `debugging: its CI job${of} failed; stays until ${timeText(untilMs)} (${duration(untilMs - nowMs)}); ${enter}${EXTENSION[extension ?? 'none']}`;
}

const EXTENSION: Readonly<Record<NonNullable<KeptUntil['extension']> | 'none', string>> = {
  none: '',
  unreadable: '; its annotation gitea.bpg.pw/extend-until is no time (2026-01-31T12:00:00Z) and does not count',
  'too-long': '; its annotation gitea.bpg.pw/extend-until is later than a runner may stay, 24 hours after the failure',
};

const DROPPED: Readonly<Record<Exclude<DroppedBecause, 'used-up'>, string>> = {
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

/** `Plan: 4 runners (4 busy, 0 for queued jobs), 1 job unserved, 2 held back, 1 blocked.` */
function summary({ groups, jobs }: Explanation): string {
  const inState = (wanted: JobState): number => jobs.filter(({ state }) => state === wanted).length;
  const [unserved, held] = [inState('unserved'), inState('held')];
  const waiting =
    unserved > 0 ? `${count(unserved, 'job')} unserved, ${held} held back` : `${count(held, 'job')} held back`;
  const { runners, uses } = runnerCounts(groups);
  return `Plan: ${runners} (${uses}), ${waiting}, ${inState('blocked')} blocked.\n`;
}
