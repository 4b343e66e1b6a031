/** `explain` for people: a pure function of what `explain --json` prints. All names from outside are made printable. */
import type { DroppedBecause, GroupKey, JobDecision, RunnerDecision, ServedBy } from '../plan/decisions.ts';
import { printable } from '../printable.ts';
import { count } from '../runnergroup/problems.ts';
import type { ExplainedGroup, Explanation } from './explanation.ts';
import { table } from './table.ts';

export function explainText(explanation: Explanation, options: { readonly terminal: boolean }): string {
  const nowMs = Date.parse(explanation.checkedAt);
  const { groups, jobs, runners } = explanation;
  const parts = [
    groups.length === 0 ? 'No RunnerGroups found.\n' : groupTable(groups, options),
    jobs.length === 0 ? 'No jobs are queued or running.\n' : jobTable(jobs, nowMs, options),
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
    `${group.busy + group.waiting} of ${group.cap}${group.suspended ? ' (suspended)' : ''}`,
    String(group.busy),
    String(group.waiting),
    String(group.held),
  ]);
  return table(['GROUP', 'SCOPE', 'LABELS', 'RUNNERS', 'BUSY', 'WAITING', 'HELD'], rows, options);
}

function jobTable(jobs: readonly JobDecision[], nowMs: number, options: { readonly terminal: boolean }): string {
  const rows = jobs.map((decision) => [
    String(decision.job.id),
    `${decision.job.repository} ${decision.job.name}`,
    decision.job.labels.join(',') || '<none>',
    duration(nowMs - decision.job.createdAtMs),
    verdictText(decision, nowMs),
  ]);
  return table(['JOB', 'NAME', 'RUNS-ON', 'AGE', 'WHAT HAPPENS'], rows, options);
}

function verdictText(decision: JobDecision, nowMs: number): string {
  switch (decision.verdict) {
    case 'done':
      return 'done';
    case 'running':
      return `runs on ${decision.job.runner ?? '<unknown>'}${decision.group ? '' : ' (not one of these groups)'}`;
    case 'served':
      return `${decision.runner} (owned by group ${keyText(decision.group)}; ${SERVED[decision.by]})`;
    case 'held':
      return heldText(decision, nowMs);
    default:
      return decision satisfies never;
  }
}

const SERVED: Readonly<Record<ServedBy, string>> = {
  'own-runner': 'its runner is alive',
  chain: 'its own runner took another job',
  'free-runner': 'a free runner',
  'new-runner': 'asked for now',
};

function heldText(decision: JobDecision & { readonly verdict: 'held' }, nowMs: number): string {
  const of = decision.group ? keyText(decision.group) : '';
  switch (decision.because) {
    case 'blocked':
      return 'blocked: waits for jobs it needs, for its concurrency group or for approval';
    case 'no-labels':
      return 'no labels: runs-on is empty and no group has acceptUnlabelledJobs';
    case 'labels-not-covered':
      return `labels not covered: ${decision.missing?.join(', ') ?? ''}`;
    case 'suspended':
      return `held back: group ${of} is suspended`;
    case 'cap':
      return `held back by the cap of group ${of}`;
    case 'backing-off':
      return `held back: its last runner failed to start; group ${of} tries again in ${duration((decision.untilMs ?? nowMs) - nowMs)}`;
    default:
      return decision.because satisfies never;
  }
}

/** Runners that are seen but not wanted, so that nobody wonders where a Job went. */
function leftoverTable(runners: readonly RunnerDecision[], options: { readonly terminal: boolean }): readonly string[] {
  const rows = runners.flatMap((decision) => {
    if (decision.emit && decision.because === 'finishing') {
      return [
        [
          decision.runner,
          keyText(decision.group),
          'stays: busy in Gitea without a listed job (a cancelled job cleans up)',
        ],
      ];
    }
    if (decision.emit && decision.because === 'back-off-record') {
      return [[decision.runner, keyText(decision.group), 'stays as a record: failed, holds no slot']];
    }
    return decision.emit ? [] : [[decision.runner, keyText(decision.group), DROPPED[decision.because]]];
  });
  return rows.length === 0 ? [] : [table(['RUNNER', 'GROUP', 'WHAT HAPPENS'], rows, options)];
}

const DROPPED: Readonly<Record<DroppedBecause, string>> = {
  'used-up': 'goes: has done its job',
  failed: 'goes: its Job ended without a CI job',
  'never-came': 'goes: has not registered within spawnTimeoutSeconds',
  disabled: 'goes: is disabled in Gitea',
  suspended: 'goes: its group is suspended',
  surplus: 'goes: no job needs it',
  deleting: 'goes: its Job is being deleted',
  offline: 'is only an old registration: offline in Gitea',
};

/** What to do about jobs that wait for a person, one line per cause. */
function adviceText({ jobs, groups }: Explanation): readonly string[] {
  const lines = new Set<string>();
  for (const decision of jobs) {
    if (decision.verdict !== 'held') continue;
    const group = groups.find(
      ({ namespace, name }) => namespace === decision.group?.namespace && name === decision.group.name,
    );
    const where = group ? ` in ${group.file}` : '';
    if (decision.because === 'cap')
      lines.add(`raise spec.maxActiveRunners${where}, or wait for a busy runner to finish`);
    if (decision.because === 'suspended') lines.add(`remove spec.suspend${where}`);
    if (decision.because === 'labels-not-covered') {
      lines.add(
        `add ${decision.missing?.join(', ') ?? ''} to spec.labels of a group whose scope has the job, or correct its runs-on`,
      );
    }
    if (decision.because === 'no-labels') lines.add('give the job a runs-on, or set spec.acceptUnlabelledJobs');
    if (decision.because === 'backing-off') lines.add('look at the failed pod: kubectl describe job, kubectl logs');
  }
  return lines.size === 0 ? [] : [[...lines].map((line) => `Next: ${printable(line)}\n`).join('')];
}

function summary({ groups, jobs }: Explanation): string {
  const busy = groups.reduce((total, group) => total + group.busy, 0);
  const waiting = groups.reduce((total, group) => total + group.waiting, 0);
  const held = jobs.filter((decision) => decision.verdict === 'held' && decision.because !== 'blocked').length;
  const blocked = jobs.filter((decision) => decision.verdict === 'held' && decision.because === 'blocked').length;
  return `Plan: ${count(busy + waiting, 'runner')} (${busy} busy, ${waiting} for queued jobs), ${count(held, 'job')} held back, ${blocked} blocked.\n`;
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

function keyText({ namespace, name }: GroupKey): string {
  return `${namespace}/${name}`;
}
