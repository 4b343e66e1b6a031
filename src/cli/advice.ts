/** What `explain` advises about jobs that wait for a person. */
import type { EmittedRunner, GroupKey, RunnerDecision, RunnerTrouble } from '../plan/decisions.ts';
import { NO_POD } from '../plan/evidence.ts';
import { printable } from '../printable.ts';
import type { ExplainedGroup, ExplainedJob, Explanation } from './explanation.ts';
import type { LabelHint } from './label-hint.ts';

/** One line per cause, all in one string. Nothing when there is nothing to do. */
export function adviceText({ jobs, groups, runners }: Explanation): readonly string[] {
  const lines = new Set<string>();
  for (const job of jobs) {
    const group = groupOf(job, groups);
    for (const line of adviceFor(job, group)) lines.add(line);
  }
  for (const decision of runners) for (const line of runnerAdvice(decision)) lines.add(line);
  return lines.size === 0 ? [] : [[...lines].map((line) => `Next: ${printable(line)}\n`).join('')];
}

/** What to do about a runner. */
export function runnerAdvice(decision: RunnerDecision): readonly string[] {
  const { runner, group, because } = decision;
  if (because === 'back-off-record')
    return [`see why it ended: kubectl -n ${group.namespace} logs job/${runner} --all-containers`];
  return decision.emit && decision.trouble ? [troubleAdvice(decision, decision.trouble)] : [];
}

function troubleAdvice({ runner, group: { namespace } }: EmittedRunner, { reason }: RunnerTrouble): string {
  const what = reason === NO_POD ? `job/${runner}` : `pods -l job-name=${runner}`;
  return `see why ${runner} cannot start: kubectl -n ${namespace} describe ${what}`;
}

/** `ubuntu-latest (runners/ci)` */
export function meantText({ group, labels }: LabelHint): string {
  return `${labels.map(({ meant }) => meant).join(', ')} (${keyText(group)})`;
}

/** `runners/ci` */
export function keyText({ namespace, name }: GroupKey): string {
  return `${namespace}/${name}`;
}

/** The group that a job waits for. */
function groupOf(job: ExplainedJob, groups: readonly ExplainedGroup[]): ExplainedGroup | undefined {
  const key = job.verdict === 'held' ? job.group : undefined;
  return key && groups.find(({ namespace, name }) => namespace === key.namespace && name === key.name);
}

/** What to do about a job. Nothing when there is nothing to do but to wait. */
export function adviceFor(job: ExplainedJob, group: ExplainedGroup | undefined): readonly string[] {
  if (job.verdict !== 'held') return [];
  switch (job.because) {
    case 'cap':
      return group ? [capAdvice(group)] : [];
    case 'suspended':
      return [`remove spec.suspend${group ? ` in ${group.file}` : ''}`];
    case 'labels-not-covered':
      return [labelAdvice(job)];
    case 'no-labels':
      return ['if a job without labels is to run, give it a runs-on, or set spec.acceptUnlabelledJobs'];
    default:
      return [];
  }
}

function labelAdvice({ didYouMean, missing }: ExplainedJob & { readonly verdict: 'held' }): string {
  const otherwise = 'to spec.labels of a group whose scope has the job';
  if (didYouMean === undefined) return `add ${missing?.join(', ') ?? ''} ${otherwise}, or correct its runs-on`;
  const written = didYouMean.labels.map((label) => label.written).join(', ');
  return `runs-on ${written}: did you mean ${meantText(didYouMean)}? Correct it in the workflow, or add ${written} ${otherwise}`;
}

/** Who holds the slots says what helps. */
function capAdvice({ namespace, name, file, cap, busy, waiting, debugging, spare, warm }: ExplainedGroup): string {
  const group = `group ${namespace}/${name}`;
  const raise = `raise spec.maxActiveRunners in ${file}`;
  const starting = waiting + spare + warm;
  const slots = [
    ...(busy > 0 ? [`${busy} busy`] : []),
    ...(starting > 0 ? [`${starting} starting`] : []),
    ...(debugging > 0 ? [`${debugging} debugging`] : []),
  ].join(', ');
  if (cap === 0) return `${group} starts no runners, because spec.maxActiveRunners is 0: ${raise}`;
  if (busy > cap) return `${group} has more runners at work (${slots}) than its cap of ${cap}: wait, or ${raise}`;
  if (debugging > 0)
    return `${group} has no free slot (${slots}): wait, ${raise}, or delete the Job of a runner that nobody looks at`;
  if (busy === 0) return `${group} has no free slot (${slots}): wait, or ${raise} if more jobs are to run at once`;
  return `${group} has no free slot (${slots}): ${raise}, or wait for a busy runner to finish`;
}
