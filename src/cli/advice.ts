/** What `explain` advises about jobs that wait for a person. */

import type { EmittedRunner, RunnerDecision, RunnerTrouble } from '../planner/decisions.ts';
import { NO_POD, type PodEnd } from '../planner/evidence.ts';
import { UNREAD_ADVICE, unreadText } from '../planner/unread.ts';
import { keyText } from '../shared/key-text.ts';
import { printable } from '../shared/printable.ts';
import { broken } from '../shared/table.ts';
import { elsewhereAdvice } from './explain/labels-elsewhere.ts';
import { type ExplainedGroup, type ExplainedJob, type Explanation, findGroup } from './explanation.ts';
import { type LabelHint, machineOf } from './label-hint.ts';

/** One line per cause, all in one string. Nothing when there is nothing to do. */
export function adviceText(
  { jobs, groups, runners }: Explanation,
  columns = Number.POSITIVE_INFINITY,
): readonly string[] {
  // What has stopped comes before what was never to run.
  const isMisspelt = (job: ExplainedJob): boolean => job.verdict === 'held' && job.because === 'labels-not-covered';
  const others = jobs.filter((job) => !isMisspelt(job));
  const adviceOf = (job: ExplainedJob): readonly string[] => adviceFor(job, groupOf(job, groups));
  const unread = Math.max(0, ...groups.map(({ unreadJobs = 0 }) => unreadJobs));
  const lines = new Set([
    ...(unread > 0 ? [`${unreadText(unread)}: ${UNREAD_ADVICE}`] : []),
    ...others.flatMap(adviceOf),
    ...runners.flatMap(runnerAdvice),
    ...jobs.filter(isMisspelt).flatMap(adviceOf),
  ]);
  const wrapped = (line: string): string => broken(printable(line), Math.max(20, columns - 6)).join('\n      ');
  return lines.size === 0 ? [] : [[...lines].map((line) => `Next: ${wrapped(line)}\n`).join('')];
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

/** The group that a job waits for. */
function groupOf(job: ExplainedJob, groups: readonly ExplainedGroup[]): ExplainedGroup | undefined {
  return job.verdict === 'held' ? findGroup(job.group, groups) : undefined;
}

/** What to do about a job. Nothing when there is nothing to do but to wait. */
export function adviceFor(job: ExplainedJob, group: ExplainedGroup | undefined): readonly string[] {
  if (job.isActionsOff) {
    return [
      `switch Actions on in the settings of ${job.job.repository}; if the job is not to run, cancel its run then`,
    ];
  }
  if (job.verdict === 'served') return servedAdvice(job);
  if (job.verdict === 'running') return job.ended ? endAdvice(job.ended) : [];
  switch (job.because) {
    case 'cap':
      return group ? [capAdvice(group)] : [];
    case 'suspended':
      return [`remove spec.suspend${group ? ` in ${group.file}` : ''}`];
    case 'labels-not-covered':
      return [labelAdvice(job)];
    case 'no-labels':
      return ['if a job without labels is to run, give it a runs-on, or set spec.acceptUnlabelledJobs'];
    case 'backing-off':
      return job.ended ? endAdvice(job.ended) : [];
    case 'blocked':
    case 'served-elsewhere':
      return [];
    default:
      return job.because satisfies never;
  }
}

function servedAdvice({
  isUnseen,
  notCreated,
  idleMs,
  ended,
  job,
}: ExplainedJob & { readonly verdict: 'served' }): readonly string[] {
  if (ended) return [...endAdvice(ended), ...(notCreated?.isUnserved ? [notCreated.next] : [])];
  if (notCreated?.isUnserved) return [notCreated.next];
  if (isUnseen) return ['to see whether its runner starts, have the cluster looked at: add --kubeconfig'];
  if (idleMs === undefined) return [];
  return [
    `look whether Actions is switched on in the settings of ${job.repository}, and whether the runner has all labels of runs-on`,
  ];
}

/** What helps against the way in which a runner ended. Nothing: its logs tell. */
function endAdvice({ reason }: PodEnd): readonly string[] {
  switch (reason) {
    case 'RegistrationFailed':
      return ['check that the registration token is valid for this scope, and that pods reach Gitea'];
    case 'OOMKilled':
      return ['give container runner a higher memory limit in spec.podTemplate, or let the CI job need less'];
    case 'Evicted':
      return [
        'give the pod requests for what its node ran out of, in spec.podTemplate: pods without them are evicted first',
      ];
    case 'Preempted':
      return ['give the group a higher priority: spec.priorityTiers, or priorityClassName in spec.podTemplate'];
    case 'DeadlineExceeded':
      return ['raise spec.activeDeadlineSeconds, or make the CI job shorter'];
    default:
      return [];
  }
}

function labelAdvice({ job, elsewhere, didYouMean, missing }: ExplainedJob & { readonly verdict: 'held' }): string {
  if (elsewhere) return elsewhereAdvice(elsewhere, job.repository);
  if (didYouMean?.labels.length === 0) return `mend RunnerGroup ${keyText(didYouMean.group)}: the warning says how`;
  const other = missing?.find((label) => machineOf(label) !== undefined);
  if (other !== undefined) return machineAdvice(other);
  const otherwise = 'to spec.labels of a group whose scope has the job';
  if (didYouMean === undefined) return `add ${missing?.join(', ') ?? ''} ${otherwise}, or correct its runs-on`;
  const written = didYouMean.labels.map((label) => label.written).join(', ');
  return `runs-on ${written}: did you mean ${meantText(didYouMean)}? Correct it in the workflow, or add ${written} ${otherwise}`;
}

/** Not to be added to a group of Linux machines: its runners would take the job, and could not run it. */
function machineAdvice(label: string): string {
  const machine = machineOf(label);
  switch (machine) {
    case 'Windows':
    case 'macOS':
      return `${label} asks for ${machine}, and pods of a RunnerGroup run on Linux: register a runner on such a machine, or correct its runs-on`;
    case 'arm64':
    case 'GPU':
    case undefined:
      return `${label} asks for other machines: write a RunnerGroup for it, with spec.image and spec.podTemplate.spec.nodeSelector, or correct its runs-on`;
    default:
      return machine satisfies never;
  }
}

/** Who holds the slots says what helps. */
function capAdvice(explained: ExplainedGroup): string {
  const { cap, busy, debugging, cannotStart, file } = explained;
  const group = `group ${keyText(explained)}`;
  const raise = `raise spec.maxActiveRunners in ${file}`;
  const slots = slotsText(explained);
  if (cap === 0) return `${group} starts no runners, because spec.maxActiveRunners is 0: ${raise}`;
  if (busy > cap) return `${group} has more runners at work (${slots}) than its cap of ${cap}: wait, or ${raise}`;
  if (cannotStart > 0)
    return `${group} has no free slot (${slots}), and ${cannotStart} of its runners cannot start: mend that first`;
  if (debugging > 0)
    return `${group} has no free slot (${slots}): wait, ${raise}, or delete the Job of a runner that nobody looks at`;
  if (busy === 0) return `${group} has no free slot (${slots}): wait, or ${raise} if more jobs are to run at once`;
  return `${group} has no free slot (${slots}): ${raise}, or wait for a busy runner to finish`;
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
