/** Jobs whose labels no group covers: whether one was misspelt, or groups elsewhere have them. Pure. */
import { describeScope } from '../../clients/gitea/endpoints.ts';
import { nearestName } from '../../config/runnergroup/nearest.ts';
import type { RunnerGroup } from '../../config/runnergroup/runner-group.ts';
import { hasJobsOf } from '../../config/runnergroup/runner-group.ts';
import type { GroupKey, JobDecision } from '../../planner/decisions.ts';
import type { Job } from '../../planner/evidence.ts';
import { keyText } from '../../shared/key-text.ts';

/** Machines that a label asks for, and that a group without a nodeSelector does not have. */
const MACHINES: readonly (readonly [RegExp, Machine])[] = [
  [/^(windows|win\d)/i, 'Windows'],
  [/^(macos|osx|darwin)/i, 'macOS'],
  [/(^|[-_.])(arm64|aarch64)([-_.]|$)/i, 'arm64'],
  [/(^|[-_.])(gpu|cuda)([-_.]|$)/i, 'GPU'],
];

export type Machine = 'Windows' | 'macOS' | 'arm64' | 'GPU';

export function machineOf(label: string): Machine | undefined {
  return MACHINES.find(([pattern]) => pattern.test(label))?.[1];
}

export interface Uncovered {
  readonly didYouMean?: LabelHint;
  readonly elsewhere?: LabelsElsewhere;
}

/** With these corrections of its `runs-on` the group would cover the job. None: it covers the job, and could not be planned. */
interface LabelHint {
  readonly group: GroupKey;
  readonly labels: readonly { readonly written: string; readonly meant: string }[];
}

/** Where the labels of an uncovered job are. */
export type LabelsElsewhere =
  /** One group has all of them, but its scope or its Gitea does not have the job. */
  | { readonly is: 'other-scope'; readonly group: GroupKey; readonly scope: string; readonly gitea?: string }
  /** Each is in a group that has the job, but no group has all. */
  | { readonly is: 'several-groups'; readonly places: readonly { readonly label: string; readonly group: GroupKey }[] };

/** Empty when the job is covered, or held back by something else. */
export function uncovered(decision: JobDecision, groups: readonly RunnerGroup[]): Uncovered {
  if (decision.verdict !== 'held' || decision.because !== 'labels-not-covered') return {};
  const { job, origin } = decision;
  const [owner = '', repo = ''] = job.repository.split('/');
  const here = groups.filter(({ giteaUrl, scope }) => giteaUrl === origin && hasJobsOf(scope, owner, repo));
  const didYouMean = hintFor(job, here);
  const elsewhere = elsewhereOf(decision, here, groups);
  return { ...(didYouMean && { didYouMean }), ...(elsewhere && { elsewhere }) };
}

/** The group that covers the job when the fewest labels are corrected; undefined when correcting makes none cover it. */
function hintFor({ labels: wanted }: Job, here: readonly RunnerGroup[]): LabelHint | undefined {
  const hints = here.flatMap((group): readonly LabelHint[] => {
    const known = group.labels.map(({ name }) => name);
    const wrong = [...new Set(wanted)].filter((label) => !known.includes(label));
    const labels = wrong.flatMap((written) => {
      const meant = nearestName(written, known);
      // A job for other machines is no misspelt one.
      return meant === undefined || machineOf(written) !== machineOf(meant) ? [] : [{ written, meant }];
    });
    return labels.length === wrong.length ? [{ group: keyOf(group), labels }] : [];
  });
  const [best] = hints.sort((a, b) => a.labels.length - b.labels.length);
  return best;
}

/** Undefined: a label is in no group. */
function elsewhereOf(
  { job, origin }: JobDecision,
  here: readonly RunnerGroup[],
  groups: readonly RunnerGroup[],
): LabelsElsewhere | undefined {
  const labels = [...new Set(job.labels)];
  const has = (group: RunnerGroup, label: string): boolean => group.labels.some(({ name }) => name === label);
  const other = groups.find((group) => !here.includes(group) && labels.every((label) => has(group, label)));
  if (other) {
    const gitea = other.giteaUrl !== origin && { gitea: other.giteaUrl };
    return { is: 'other-scope', group: keyOf(other), scope: describeScope(other.scope), ...gitea };
  }
  const places = labels.flatMap((label) => {
    const group = here.find((each) => has(each, label));
    return group ? [{ label, group: keyOf(group) }] : [];
  });
  return labels.length > 1 && places.length === labels.length ? { is: 'several-groups', places } : undefined;
}

function keyOf({ namespace, name }: RunnerGroup): GroupKey {
  return { namespace, name };
}

/** An uncovered job, with the labels that its nearest group lacks. */
interface UncoveredJob extends Uncovered {
  readonly job: Job;
  readonly missing?: readonly string[];
  readonly nearest?: GroupKey;
}

export function notCoveredText({ job, elsewhere, didYouMean, missing, nearest }: UncoveredJob): string {
  if (elsewhere) return `labels not covered: ${job.labels.join(', ')} (${elsewhereText(elsewhere, job.repository)})`;
  if (didYouMean?.labels.length === 0)
    return `RunnerGroup ${keyText(didYouMean.group)} has its labels, and cannot be planned now`;
  if (didYouMean) return `labels not covered: ${writtenText(didYouMean)} (did you mean ${meantText(didYouMean)}?)`;
  return `labels not covered: ${missing?.join(', ') ?? ''}${nearest ? ` (nearest group: ${keyText(nearest)})` : ''}`;
}

function elsewhereText(elsewhere: LabelsElsewhere, repository: string): string {
  switch (elsewhere.is) {
    case 'other-scope': {
      const { group, scope, gitea } = elsewhere;
      const where = gitea === undefined ? `its scope, ${scope}, does not have ${repository}` : `it is for ${gitea}`;
      return `${keyText(group)} has them, but ${where}`;
    }
    case 'several-groups': {
      const places = elsewhere.places.map(({ label, group }) => `${label} is in ${keyText(group)}`);
      return `no group has all of them: ${places.join(', ')}`;
    }
    default:
      return elsewhere satisfies never;
  }
}

export function notCoveredAdvice({ job, elsewhere, didYouMean, missing = [] }: UncoveredJob): string {
  if (elsewhere?.is === 'other-scope')
    return `widen the scope of ${keyText(elsewhere.group)}, or add a RunnerGroup with these labels whose scope has ${job.repository}`;
  if (elsewhere)
    return 'one runner must have all labels of runs-on: add the others to spec.labels of one group, or ask for fewer in the workflow';
  if (didYouMean?.labels.length === 0) return `mend RunnerGroup ${keyText(didYouMean.group)}: the warning says how`;
  const other = missing.find((label) => machineOf(label) !== undefined);
  if (other !== undefined) return machineAdvice(other);
  const otherwise = 'to spec.labels of a group whose scope has the job';
  if (didYouMean === undefined) return `add ${missing.join(', ')} ${otherwise}, or correct its runs-on`;
  const written = writtenText(didYouMean);
  return `runs-on ${written}: did you mean ${meantText(didYouMean)}? Correct it in the workflow, or add ${written} ${otherwise}`;
}

function writtenText({ labels }: LabelHint): string {
  return labels.map(({ written }) => written).join(', ');
}

/** `ubuntu-latest (runners/ci)` */
function meantText({ group, labels }: LabelHint): string {
  return `${labels.map(({ meant }) => meant).join(', ')} (${keyText(group)})`;
}

/** Not to be added to a group of Linux machines: its runners would take the job, and could not run it. */
function machineAdvice(label: string): string {
  const machine = machineOf(label);
  return machine === 'Windows' || machine === 'macOS'
    ? `${label} asks for ${machine}, and pods of a RunnerGroup run on Linux: register a runner on such a machine, or correct its runs-on`
    : `${label} asks for other machines: write a RunnerGroup for it, with spec.image and spec.podTemplate.spec.nodeSelector, or correct its runs-on`;
}
