/** `explain` for people: a pure function of what `explain --json` prints. All names from outside are made printable. */

import type {
  DroppedBecause,
  EmittedBecause,
  EmittedRunner,
  RunnerDecision,
  RunnerTrouble,
  ServedBy,
} from '../plan/decisions.ts';
import { count } from '../printable.ts';
import { adviceText, keyText, meantText } from './advice.ts';
import type { ExplainedGroup, ExplainedJob, Explanation } from './explanation.ts';
import { runnerCounts } from './runner-counts.ts';
import { table } from './table.ts';

export function explainText(explanation: Explanation, options: { readonly terminal: boolean }): string {
  const nowMs = Date.parse(explanation.checkedAt);
  const { groups, jobs, runners } = explanation;
  const parts = [
    groupTable(groups, options),
    jobs.length === 0 ? 'No jobs are queued or running.\n' : jobTable(explanation, nowMs, options),
    ...leftoverTable(runners, options),
    ...adviceText(explanation),
    summary(explanation),
  ];
  return parts.join('\n');
}

function groupTable(groups: readonly ExplainedGroup[], options: { readonly terminal: boolean }): string {
  const rows = groups.map((group) => [
    `${group.namespace}/${group.name}`,
    `${group.gitea} ${group.scope}`,
    group.labels.join(','),
    `${group.busy + group.waiting + group.spare} of ${group.cap}${group.suspended ? ' (suspended)' : ''}`,
    String(group.busy),
    String(group.waiting),
    String(group.held),
  ]);
  return table(['GROUP', 'SCOPE', 'LABELS', 'RUNNERS', 'BUSY', 'WAITING', 'HELD'], rows, options);
}

function jobTable({ jobs, runners }: Explanation, nowMs: number, options: { readonly terminal: boolean }): string {
  const emitted = new Map(runners.flatMap((decision) => (decision.emit ? [[decision.runner, decision]] : [])));
  const rows = jobs.map((decision) => [
    String(decision.job.id),
    `${decision.job.repository} ${decision.job.name}`,
    decision.job.labels.join(',') || '<none>',
    duration(nowMs - decision.job.createdAtMs),
    verdictText(decision, nowMs, emitted),
  ]);
  return table(['JOB', 'NAME', 'RUNS-ON', 'AGE', 'WHAT HAPPENS'], rows, options);
}

type RunnersByName = ReadonlyMap<string, EmittedRunner>;

function verdictText(decision: ExplainedJob, nowMs: number, runners: RunnersByName): string {
  switch (decision.verdict) {
    case 'done':
      return 'done';
    case 'running':
      return runningText(decision.job.runner ?? '<unknown>', decision.group !== undefined, runners);
    case 'served':
      return `${decision.runner} (owned by group ${keyText(decision.group)}; ${servedText(decision, runners)})`;
    case 'held':
      return heldText(decision, nowMs);
    default:
      return decision satisfies never;
  }
}

function servedText({ by, runner }: ExplainedJob & { readonly verdict: 'served' }, runners: RunnersByName): string {
  const trouble = runners.get(runner)?.trouble;
  return trouble ? `its pod cannot start: ${troubleText(trouble)}` : SERVED[by];
}

/** `Unschedulable: 0/3 nodes are available: 3 Insufficient cpu.` */
export function troubleText({ reason, message }: RunnerTrouble): string {
  return message === undefined ? reason : `${reason}: ${message}`;
}

function runningText(runner: string, ours: boolean, runners: RunnersByName): string {
  if (!ours) return `runs on ${runner} (not a runner of these groups)`;
  return runners.get(runner)?.because === 'lost'
    ? `its runner ${runner} is lost: Gitea fails it after 10 to 15 minutes`
    : `runs on ${runner}`;
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
      return 'blocked: waits for jobs it needs, for its concurrency group or for approval';
    case 'no-labels':
      return 'no labels: no runner is started for it (the call of a reusable workflow needs none)';
    case 'labels-not-covered':
      return notCoveredText(decision);
    case 'suspended':
      return `held back: group ${of} is suspended`;
    case 'cap':
      return `held back by the cap of group ${of}${decision.next === undefined ? '' : `; the next slot is for ${decision.next}`}`;
    case 'backing-off':
      return `held back: the Job of its last runner ended without a CI job; group ${of} tries again in ${duration((decision.untilMs ?? nowMs) - nowMs)}`;
    case 'served-elsewhere':
      return `${decision.runner ?? ''} is there for it (not a runner of these groups)`;
    default:
      return decision.because satisfies never;
  }
}

function notCoveredText({ didYouMean, missing, nearest }: HeldJob): string {
  if (didYouMean) {
    const labels = didYouMean.labels.map(({ written }) => written).join(', ');
    return `labels not covered: ${labels} (did you mean ${meantText(didYouMean)}?)`;
  }
  return `labels not covered: ${missing?.join(', ') ?? ''}${nearest ? ` (nearest group: ${keyText(nearest)})` : ''}`;
}

/** Runners that are seen but not needed: a reader may look for their Jobs. */
function leftoverTable(runners: readonly RunnerDecision[], options: { readonly terminal: boolean }): readonly string[] {
  const rows = runners.flatMap((decision) => {
    if (decision.emit) {
      const text = KEPT[decision.because];
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

/** Runners that stay although no job in the table names them. */
const KEPT: Readonly<Partial<Record<EmittedBecause, string>>> = {
  finishing: 'stays: busy in Gitea without a listed job (a cancelled job cleans up)',
  moved: 'stays: it was at work when its RunnerGroup moved to another Gitea or scope, and it may finish',
  spare: 'stays: no job needs it now, but CI goes on; it goes spawnTimeoutSeconds after its start',
  lost: 'stays as a record: its pod is lost while Gitea still shows a CI job on it, it holds no slot',
  unpinning: 'goes: no job needs it; the next sync takes its protection away, the one after it the Job',
  'back-off-record': 'stays as a record: its Job ended without a CI job, it holds no slot',
  'group-in-trouble': 'stays as it is: its RunnerGroup cannot be planned now',
};

const DROPPED: Readonly<Record<Exclude<DroppedBecause, 'used-up'>, string>> = {
  failed: 'goes: its Job ended without a CI job',
  'never-came': 'goes: has not registered within spawnTimeoutSeconds',
  stuck: 'goes: its pod has not started within pendingDeadlineSeconds, another one is tried',
  replaced: 'goes: its RunnerGroup was changed before it registered',
  disabled: 'goes: is disabled in Gitea',
  suspended: 'goes: its group is suspended',
  surplus: 'goes: no job needs it',
  deleting: 'goes: its Job is being deleted',
  gone: 'goes: its Job is gone, which Gitea has not noticed yet',
  offline: 'is only an old registration: offline in Gitea',
};

function summary({ groups, jobs }: Explanation): string {
  const held = jobs.filter((decision) => decision.verdict === 'held' && decision.because !== 'blocked').length;
  const blocked = jobs.filter((decision) => decision.verdict === 'held' && decision.because === 'blocked').length;
  const { runners, uses } = runnerCounts(groups);
  return `Plan: ${runners} (${uses}), ${count(held, 'job')} held back, ${blocked} blocked.\n`;
}

/** `3m12s`, `2h05m`, `4d03h`: two units, as kubectl shows ages. Never negative. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const two = (value: number): string => String(value).padStart(2, '0');
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m${two(seconds % 60)}s`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)}h${two(Math.floor((seconds % 3_600) / 60))}m`;
  return `${Math.floor(seconds / 86_400)}d${two(Math.floor((seconds % 86_400) / 3_600))}h`;
}
