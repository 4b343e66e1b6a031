/** Why a job is held back: its labels are in no group, or Gitea blocks it. Pure. */

import { TOO_LONG, TOO_MANY } from '../clients/gitea/bounds.ts';
import { describeScope } from '../clients/gitea/endpoints.ts';
import { runnerLabel } from '../config/runnergroup/field-kinds.ts';
import type { RunnerGroup } from '../config/runnergroup/runner-group.ts';
import { LONGEST_MISTYPED, labelsIn, nearestName, withoutTypography } from '../config/runnergroup/words.ts';
import { memo } from '../planner/collections.ts';
import type { GroupKey, JobDecision, Plan } from '../planner/decisions.ts';
import type { Job } from '../planner/evidence.ts';
import { groupBy, keyText } from '../shared/keys.ts';
import { firstNames } from '../shared/printable.ts';
import { hasJobsOf } from '../shared/scope.ts';

/** Machines that a label asks for, and that a group without a nodeSelector does not have. */
const MACHINES = [
  [/^(windows|win\d)/i, 'Windows'],
  [/^(macos|osx|darwin)/i, 'macOS'],
  [/(^|[-_./])(arm64|aarch64|arm|armv8)([-_./]|$)/i, 'arm64'],
  [/(^|[-_./])(s390x|ppc64le|riscv64|armv[67]l?|armhf)([-_./]|$)/i, 'other'],
  [/(^|[-_./])(gpus?|cuda)([-_./]|$)/i, 'GPU'],
] as const;

export function machineOf(label: string): (typeof MACHINES)[number][1] | undefined {
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

/** What hints may cost: letters that are compared, and labels that are looked up. About 10 ms: authors of workflows choose the labels of 10,000 jobs. */
export const MOST_STEPS = 1_000_000;

/**
 * Hints for jobs that no group covers, and nothing for the others. A label is compared once with the names of a group. When the steps are
 * used up, there are no further hints.
 */
export function hintsFor(groups: readonly RunnerGroup[], most = MOST_STEPS): (decision: JobDecision) => Uncovered {
  let left = most;
  /** False: they are used up. */
  const take = (steps: number): boolean => {
    left -= steps;
    return left >= 0;
  };
  const namesOf = memo(({ labels }: RunnerGroup) => new Set(labels.map(({ name }) => name)));
  const nearestIn = memo((group: RunnerGroup) => {
    const known = [...namesOf(group)];
    const letters = known.reduce((sum, { length }) => sum + length, 0);
    return memo((written: string) => {
      const isNone = written.length > LONGEST_MISTYPED || hasFault(written) || !take(written.length * letters);
      const meant = isNone ? undefined : (nearestName(written, known) ?? alike(written, known));
      // A job for other machines is no misspelt one.
      return meant !== undefined && machineOf(written) === machineOf(meant) ? meant : undefined;
    });
  });
  /** With the labels that it must correct; none when that makes the group not cover the job. */
  const hintIn = (group: RunnerGroup, wanted: readonly string[]): LabelHint | readonly [] => {
    const wrong = wanted.filter((label) => !namesOf(group).has(label));
    const labels = wrong.map((written) => ({ written, meant: nearestIn(group)(written) ?? '' }));
    return labels.every(({ meant }) => meant !== '') ? { group: keyOf(group), labels } : [];
  };
  return (decision) => {
    if (decision.verdict !== 'held' || decision.because !== 'labels-not-covered') return {};
    const { job, origin } = decision;
    const labels = [...new Set(job.labels)];
    // To look a label up takes longer than to compare a letter.
    if (!take(4 * groups.length * labels.length)) return {};
    const [owner = '', repo = ''] = job.repository.split('/');
    const here = groups.filter(({ giteaUrl, scope }) => giteaUrl === origin && hasJobsOf(scope, owner, repo));
    // The group that covers the job when the fewest labels are corrected.
    const [didYouMean] = here
      .flatMap((group) => hintIn(group, labels))
      .sort((a, b) => a.labels.length - b.labels.length);
    const elsewhere = elsewhereOf(decision, labels, [here, groups], (group, label) => namesOf(group).has(label));
    return { ...(didYouMean && { didYouMean }), ...(elsewhere && { elsewhere }) };
  };
}

/** The first name of the same letters, or one that is the begin of the other: `lunix`, `ubuntu`, `linux-latest`. */
function alike(written: string, known: readonly string[]): string | undefined {
  const lettersOf = (text: string) => [...text].sort().join('');
  const lower = written.toLowerCase();
  return known.find((name) => {
    const other = name.toLowerCase();
    const isBegin = other.startsWith(`${lower}-`) || lower.startsWith(`${other}-`);
    return isBegin || (other.length > 3 && lettersOf(other) === lettersOf(lower));
  });
}

/** Undefined: a label is in no group. */
function elsewhereOf(
  { origin }: JobDecision,
  labels: readonly string[],
  [here, groups]: readonly [here: readonly RunnerGroup[], all: readonly RunnerGroup[]],
  has: (group: RunnerGroup, label: string) => boolean,
): LabelsElsewhere | undefined {
  const other = groups.find((group) => labels.every((label) => has(group, label)) && !here.includes(group));
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

/** Labels as people see them: in quotes, if a blank or nothing at all could be overlooked. */
export function labelsText(labels: readonly string[], between = ', '): string {
  return labels.map((label) => (/^[^\s"',]+$/.test(label) ? label : JSON.stringify(label))).join(between);
}

/** Signs of templates and shells around a word: `$RUNNER`, `ubuntu-${VERSION}`, `%RUNNER%`, `<runner>`. */
const PLACEHOLDER = /\$[({]?(?<variable>[A-Za-z_]\w*)|^%(?<word>\w+)%$|^<.*>$/;

/** What is left of an expression or a template, and is no name that somebody wrote. Undefined: it may be one. */
function faultOfExpression(label: string, written: string): string | undefined {
  if (label === '')
    return 'one name is empty: an expression without a value. Gitea knows no outputs of other jobs there';
  if (label.includes('${{')) return `Gitea has not evaluated ${written}`;
  if (label.includes('{{')) return `${written} is no expression of Gitea. Write ${label.replace(/\{\{/g, '${{')}`;
  // What fromJSON answers, in Go's words (modules/actions/jobparser of 1.27.3).
  if (label === 'Array' || label === 'Object')
    return `Gitea makes the one name ${label} of a list from fromJSON. Write the list in runs-on, or one name`;
  if (/^(?:true|false|null|undefined|NaN)$/.test(label))
    return `${label} is what an expression says, and no name. Write a name for each case: \${{ … && 'large' || 'linux' }}`;
  const placeholder = PLACEHOLDER.exec(label)?.groups;
  const { variable, word = variable } = placeholder ?? {};
  const instead = word === undefined ? 'a name' : `\${{ vars.${word} }}, or a name`;
  if (placeholder) return `${written} is a placeholder that nothing fills in. Write ${instead}`;
  const [, , inner] = /^(["'])([^"'\s,]+)\1$/.exec(label) ?? [];
  if (inner !== undefined) return `the quotes are part of the name. Write ${inner}`;
  return /^[-_.]|[-_.]$|[-_.]{2}/.test(label)
    ? `a part of ${written} is empty: probably an expression without a value`
    : undefined;
}

/** True for what nobody has mistyped. */
const hasFault = (label: string): boolean => faultOfExpression(label, '') !== undefined;

/** Why no group should have this name of `runs-on`. Undefined: one may have it. */
function faultOf(label: string, isWhole: boolean): string | undefined {
  const written = labelsText([label]);
  const fault = faultOfExpression(label, written);
  if (fault !== undefined) return fault;
  if (label !== label.trim()) return `${written} begins or ends with a blank`;
  if (label === TOO_MANY || label === TOO_LONG) return 'it has more names, or longer ones, than a group can have';
  const [problem] = runnerLabel.safeParse(label).error?.issues ?? [];
  if (problem) {
    const names = labelsIn(label).filter((name) => !name.includes(':'));
    const list = `runs-on: [${names.join(', ')}]`;
    const rule = problem.message.replace(/; write .*/, '');
    const spaces = `must not contain spaces. Of several names write ${list}`;
    const why =
      names.length > 1 && label.includes(',') ? `. Write ${list}` : `: it ${names.length > 1 ? spaces : rule}`;
    return `${written} is no label that a group can have${isWhole ? why : ''}`;
  }
  if (withoutTypography(label) !== label) return `${written} holds characters of a word processor: type it again`;
  if (label.startsWith('docker:')) return 'it holds names of machines. An image belongs under container';
  const [name = ''] = label.split(':');
  return name === label ? undefined : `it holds names only, such as ${name}, and no image or schema`;
}

/** Of the first of such names. @param isWhole with the rule of the schema, which is long */
function faultIn({ job: { labels } }: UncoveredJob, isWhole = false): string | undefined {
  return labels.map((label) => faultOf(label, isWhole)).find((fault) => fault !== undefined);
}

/** An uncovered job, with the labels that its nearest group lacks. */
interface UncoveredJob extends Uncovered {
  readonly job: Job;
  readonly missing?: readonly string[];
  readonly nearest?: GroupKey;
}

export function notCoveredText(uncovered: UncoveredJob): string {
  const { job, elsewhere, didYouMean, missing = [], nearest } = uncovered;
  if (elsewhere) return `labels not covered: ${labelsText(job.labels)} (${elsewhereText(elsewhere, job.repository)})`;
  if (didYouMean?.labels.length === 0)
    return `RunnerGroup ${keyText(didYouMean.group)} has its labels, and cannot be planned now`;
  if (didYouMean) return `labels not covered: ${writtenText(didYouMean)} (did you mean ${meantText(didYouMean)}?)`;
  const why = faultIn(uncovered) ?? (nearest && `nearest group: ${keyText(nearest)}`);
  return `labels not covered: ${labelsText(missing)}${why === undefined ? '' : ` (${why})`}`;
}

function elsewhereText(elsewhere: LabelsElsewhere, repository: string): string {
  if (elsewhere.is === 'several-groups') {
    const places = elsewhere.places.map(({ label, group }) => `${label} is in ${keyText(group)}`);
    return `no group has all of them: ${places.join(', ')}`;
  }
  const { group, scope, gitea } = elsewhere;
  const where = gitea === undefined ? `its scope, ${scope}, does not have ${repository}` : `it is for ${gitea}`;
  return `${keyText(group)} has them, but ${where}`;
}

/** One for each cause, and not for each label. */
export function notCoveredAdvice(jobs: readonly UncoveredJob[]): readonly string[] {
  const causes = groupBy(jobs.map(remedyFor), ({ labels = '', say }) => say(labels && '…'));
  return [...causes.values()].flatMap((same) => {
    const labels = [...new Set(same.map(({ labels = '' }) => labels))];
    return same.slice(0, 1).map(({ say }) => say(firstNames(labels, MOST_LABELS)));
  });
}

const MOST_LABELS = 8;

interface Remedy {
  /** Absent: what is said names no label. */
  readonly labels?: string;
  readonly say: (labels: string) => string;
}

function remedyFor(uncovered: UncoveredJob): Remedy {
  const { job, elsewhere, didYouMean, missing = [] } = uncovered;
  const own = (text: string): Remedy => ({ say: () => text });
  if (elsewhere?.is === 'other-scope')
    return own(
      `widen the scope of ${keyText(elsewhere.group)}, or add a RunnerGroup with these labels whose scope has ${job.repository}`,
    );
  if (elsewhere)
    return own(
      'one runner must have all labels of runs-on: add the others to spec.labels of one group, or ask for fewer in the workflow',
    );
  if (didYouMean?.labels.length === 0)
    return own(`mend RunnerGroup ${keyText(didYouMean.group)}: the warning says how`);
  const fault = faultIn(uncovered, true);
  const toGroup = 'to spec.labels of a group whose scope has the job';
  if (didYouMean) {
    const meant = meantText(didYouMean);
    const add = (labels: string) => (fault === undefined ? `, or add ${labels} ${toGroup}` : '');
    return {
      labels: writtenText(didYouMean),
      say: (labels) => `runs-on ${labels}: did you mean ${meant}? Correct it in the workflow${add(labels)}`,
    };
  }
  if (fault !== undefined) return own(`correct runs-on in the workflow: ${fault}`);
  // Not to be added to a group of Linux machines: its runners would take the job, and could not run it.
  const other = missing.find((label) => machineOf(label) !== undefined);
  const machine = other && machineOf(other);
  if (machine === undefined)
    return { labels: labelsText(missing), say: (labels) => `add ${labels} ${toGroup}, or correct its runs-on` };
  const asks =
    machine === 'Windows' || machine === 'macOS'
      ? `${machine}, and pods of a RunnerGroup run on Linux: register a runner on such a machine`
      : 'other machines: write a RunnerGroup for it, with spec.image and spec.podTemplate.spec.nodeSelector';
  return { labels: labelsText([other ?? '']), say: (labels) => `${labels} asks for ${asks}, or correct its runs-on` };
}

function writtenText({ labels }: LabelHint): string {
  return labelsText(labels.map(({ written }) => written));
}

/** `ubuntu-latest (runners/ci)` */
function meantText({ group, labels }: LabelHint): string {
  return `${labels.map(({ meant }) => meant).join(', ')} (${keyText(group)})`;
}

type OtherJob = Pick<Job, 'id' | 'name' | 'status'>;

export interface BlockedBy {
  readonly runHas: readonly OtherJob[];
  /** The first jobs of other runs of its repository: those that run, else those that are ready. */
  readonly repositoryHas: readonly OtherJob[];
}

/** What is told of a blocked job. Absent: it is not known. */
type BlockedJob = Partial<BlockedBy> & { readonly event?: string };

const MOST_OF_REPOSITORY = 5;
const MOST_OF_RUN = 100;
const MOST_NAMED = 3;

/**
 * What each job of a plan may wait for, if it is blocked. Gitea's API says only that it is. What can be concluded from its lists (1.27.3:
 * services/actions/clear_tasks.go and notifier_helper.go):
 *
 *   - A job of the same run is ready or runs .............. it probably needs that one
 *   - Only runs of the same repository with a running job hold a concurrency group. Between two jobs of such a run none of them runs,
 *     so ready ones are shown too where none runs. There is neither: it waits for an approval
 *   - Only pull requests from forks need an approval. Another event: it waits for its concurrency group
 */
export function blockedBy({ jobs }: Plan): (decision: JobDecision) => Partial<BlockedBy> {
  const atWork = jobs.filter(({ job }) => job.status === 'queued' || job.status === 'in_progress');
  const told = ({ job: { id, name, status } }: JobDecision): OtherJob => ({ id, name, status });
  const runs = groupBy(atWork, ({ origin, job }) => `${origin} ${job.runId}`);
  // Thousands of jobs may be blocked by the same ones.
  const toldOf = new Map([...runs].map(([run, list]) => [run, list.slice(0, MOST_OF_RUN).map(told)]));
  const runningFirst = (a: JobDecision, b: JobDecision): number =>
    Number(b.job.status === 'in_progress') - Number(a.job.status === 'in_progress');
  const firsts = [...runs.values()].flatMap((run) => run.toSorted(runningFirst).slice(0, MOST_OF_REPOSITORY));
  const repositories = groupBy(firsts.sort(runningFirst), ({ origin, job }) => `${origin} ${job.repository}`);
  return (decision) => {
    if (decision.verdict !== 'held' || decision.because !== 'blocked') return {};
    const { origin, job } = decision;
    // Half of them may be of its own run.
    const ofRepository = repositories.get(`${origin} ${job.repository}`)?.slice(0, 2 * MOST_OF_REPOSITORY) ?? [];
    const others = ofRepository.filter((each) => each.job.runId !== job.runId);
    const running = others.filter((each) => each.job.status === 'in_progress');
    return {
      runHas: toldOf.get(`${origin} ${job.runId}`) ?? [],
      repositoryHas: (running.length > 0 ? running : others).slice(0, MOST_OF_REPOSITORY).map(told),
    };
  };
}

export function blockedText({ runHas, repositoryHas, event }: BlockedJob): string {
  if (runHas === undefined || repositoryHas === undefined)
    return 'waits for jobs it needs, for its concurrency group or for approval';
  if (runHas.length > 0) return `probably needs ${jobNames(runHas)} of its run`;
  const approval = approvalIs(event);
  if (repositoryHas.length === 0) {
    const nothing = 'no other job of its run or repository is ready or runs';
    if (approval === 'impossible') return `${nothing}, so Gitea should start it soon`;
    return `it ${approval === 'possible' ? 'waits' : 'probably waits'} for an approval: ${nothing}`;
  }
  const holder = `its concurrency group, probably held by the run of ${jobNames(repositoryHas)}`;
  if (approval === 'impossible') return `it waits for ${holder}`;
  return approval === 'possible'
    ? `it waits for an approval, because its run is of a pull request, or for ${holder}`
    : `it waits for ${holder}, or for an approval`;
}

export function blockedAdvice({ runHas, repositoryHas, event }: BlockedJob): readonly string[] {
  const [needed] = runHas ?? [];
  if (needed) return [`see what ${needed.name} waits for: gitea-runners explain ${needed.id}`];
  const [holder] = repositoryHas ?? [];
  const approve = 'open the page of the run: it has a button when an approval is missing';
  if (!holder) return approvalIs(event) === 'impossible' ? ['wait, and re-run it if it stays so'] : [approve];
  const release = `wait for the other run, or cancel it: gitea-runners explain ${holder.id} has its link`;
  return approvalIs(event) === 'impossible' ? [release] : [release, approve];
}

/** Gitea asks for an approval only for pull requests from forks, and not for `pull_request_target`. */
function approvalIs(event: string | undefined): 'possible' | 'impossible' | 'unknown' {
  if (event === undefined) return 'unknown';
  return event.startsWith('pull_request') && event !== 'pull_request_target' ? 'possible' : 'impossible';
}

/** `build (in progress), test (queued) and 2 more` */
function jobNames(jobs: readonly OtherJob[]): string {
  const names = jobs.map(({ name, status }) => `${name} (${status.replace('_', ' ')})`);
  return jobs.length < MOST_OF_RUN
    ? firstNames(names, MOST_NAMED)
    : `${names.slice(0, MOST_NAMED).join(', ')} and others`;
}
