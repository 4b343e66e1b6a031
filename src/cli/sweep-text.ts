/** `sweep` for people: a pure function of what `sweep --json` prints. */
import { count } from '../shared/printable.ts';
import { table } from '../shared/table.ts';
import type { Paper } from '../shared/terminal.ts';
import type { SweepOutcome, SweepReport, SweptRegistration } from '../tasks/sweep/sweep.ts';

/** What `sweep --json` prints, and all that the text is made from. */
export interface SweepResult extends Omit<SweepReport, 'failures'> {
  readonly dryRun: boolean;
  /** Number of RunnerGroups. */
  readonly groups: number;
}

/** The table and the line of counts that `sweep` prints. */
export function sweepText(result: SweepResult, options: Paper): string {
  const { groups, registrations, unlisted } = result;
  if (groups === 0) return 'No RunnerGroups found.\n';
  const rows = registrations.map((registration) => [
    registration.name,
    String(registration.id),
    `${registration.namespace}/${registration.group}`,
    outcomeText(registration.outcome),
  ]);
  const parts = [
    ...(rows.length > 0 ? [table(['RUNNER', 'ID', 'GROUP', 'WHAT HAPPENS'], rows, options)] : []),
    ...unlisted.map((scope) => `Not swept: ${scope}. Gitea shows these runners to a token of that user only.\n`),
    summary(result),
  ];
  return parts.join('\n');
}

function outcomeText(outcome: SweepOutcome): string {
  switch (outcome.is) {
    case 'deleted':
      return 'deleted: offline, no CI job, no living Job';
    case 'would-delete':
      return 'would be deleted: offline, no CI job, no living Job';
    case 'gone':
      return 'already gone';
    case 'postponed':
      return 'dead, not deleted yet';
    case 'failed':
      return `dead, but could not be deleted (${outcome.code})`;
    case 'kept':
      return `stays: ${keptText(outcome)}`;
    default:
      return outcome satisfies never;
  }
}

function keptText({ because, witness }: Extract<SweepOutcome, { readonly is: 'kept' }>): string {
  switch (because) {
    case 'online':
      return 'online';
    case 'not-ephemeral':
      return 'not ephemeral, so not one of ours in spite of its name';
    case 'job-in-progress':
      return 'a CI job in progress names it';
    case 'job-alive':
      return 'its Job is not finished';
    case 'cluster-unseen':
      return 'offline, but nobody looked whether its Job lives (Kubernetes was not looked at)';
    case 'group-elsewhere':
      return `${witness ?? 'a runner of its group'} is online, but has no Job in this cluster: is it the right one, and has each cluster its own GITEA_RUNNERS_INSTANCE?`;
    case 'seen-too-briefly':
      return 'seems dead, but not for long enough: run sweep again';
    case 'changed':
      return 'has changed since it was listed';
    default:
      return because satisfies never;
  }
}

function summary({ dryRun, registrations, foreign }: SweepResult): string {
  const amount = (...kinds: readonly SweepOutcome['is'][]): number => registrations.filter(isOneOf(kinds)).length;
  const gone = amount('gone') > 0 ? `, ${amount('gone')} already gone` : '';
  const dead = dryRun
    ? `Dry run: ${count(amount('would-delete'), 'registration')} would be deleted`
    : `Sweep: ${count(amount('deleted'), 'registration')} deleted`;
  const others = foreign > 0 ? `; ${count(foreign, 'registration')} of other runners left alone` : '';
  const staying = amount('kept', 'postponed', 'failed');
  return `${dead}${gone}, ${staying} ${staying === 1 ? 'stays' : 'stay'}${others}.\n`;
}

function isOneOf(kinds: readonly SweepOutcome['is'][]): (registration: SweptRegistration) => boolean {
  return ({ outcome }) => kinds.includes(outcome.is);
}
