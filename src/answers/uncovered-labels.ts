/** Labels that no group covers: what they may mean, where they are, and what helps. Pure. */
import { TOO_LONG, TOO_MANY } from '../clients/gitea/bounds.ts';
import { describeScope } from '../clients/gitea/endpoints.ts';
import { runnerLabel } from '../config/runnergroup/field-kinds.ts';
import type { RunnerGroup } from '../config/runnergroup/runner-group.ts';
import { LONGEST_MISTYPED, labelsMeantBy, nearestName, withoutTypography } from '../config/runnergroup/words.ts';
import { memo } from '../planner/collections.ts';
import type { GroupKey, JobDecision } from '../planner/decisions.ts';
import type { Job } from '../planner/evidence.ts';
import { defined } from '../shared/defined.ts';
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

/** Tools that build for another machine, or show its programs a false one. They run on any Linux. */
const CROSS = /(?:^|[-_./:])(?:cross|mingw|wine|xwin|qemu|[a-z]*cross)(?=\d|[-_./:]|$)/i;

/** Words of labels for machines that only seem to be there. */
const WITHOUT = /(?:^|[-_./])(?:no|non|without|stub|mock|fake|dummy|sim|simulator|emulator|emulated)(?=[-_./]|$)/i;

/** Words of labels for machines. Other words say what is built there: `android-arm64`, `windows-installer`. */
const OF_MACHINES =
  /^(?:v?\d[\d.]*|x64|x86|64|latest|lts|linux|ubuntu|debian|alpine|fedora|rhel|windows|win\d+|server|macos|osx|darwin|arm\w*|aarch64|amd64|s390x|ppc64le|riscv64|self|hosted|runners?|nodes?|x?large|small|medium|big|builds?|builder|ci|docker|host|bare|metal)$/i;

/** True for a label that names what its image builds, and no machine. @param text with its image */
export function isTarget(label: string, text: string): boolean {
  return text.includes(':docker:') && !label.split(/[-_/]/).every((word) => OF_MACHINES.test(word));
}

/** Returns the kind of machine that a label asks for, e.g. `arm64`. Undefined: none of these. @param text with its image */
export function machineOf(label: string, text = label): (typeof MACHINES)[number][1] | undefined {
  if (CROSS.test(text) || WITHOUT.test(label)) return undefined;
  const machine = MACHINES.find(([pattern]) => pattern.test(label))?.[1];
  return machine !== 'GPU' && isTarget(label, text) ? undefined : machine;
}

/** Labels of GitHub that each runner of this product could have. */
const OF_GITHUB = /^(?:self-hosted|x64)$/i;

/** Hints for a job that no group covers. */
export interface Uncovered {
  readonly didYouMean?: LabelHint;
  /** Corrections of some labels, where the others are like no name of a group. */
  readonly partly?: LabelHint;
  readonly elsewhere?: LabelsElsewhere;
  /** The labels that its nearest group lacks. Of a blocked job: that no group has. */
  readonly missing?: readonly string[];
}

/** Corrections of `runs-on` with which the group would cover the job. Empty: it covers the job, and could not be planned. */
interface LabelHint {
  readonly group: GroupKey;
  readonly labels: readonly { readonly written: string; readonly meant: string }[];
  /** All that is left to write, if labels of GitHub go. */
  readonly only?: readonly string[];
}

/** Where the labels of an uncovered job exist. */
type LabelsElsewhere =
  /** One group has all of the labels, but its scope or its Gitea does not have the job. */
  | { readonly is: 'other-scope'; readonly group: GroupKey; readonly scope: string; readonly gitea?: string }
  /** Each label is in a group that has the job, but no group has all of them. */
  | { readonly is: 'several-groups'; readonly places: readonly { readonly label: string; readonly group: GroupKey }[] };

/** Most letters that hints may compare. It takes about 10 ms: authors of workflows choose the labels of 10,000 jobs. */
const MOST_STEPS = 1_000_000;

/** Returns hints for jobs that no group covers, blocked ones too. When the steps are used up, there are no further hints. */
export function hintsFor(groups: readonly RunnerGroup[], mostSteps = MOST_STEPS): (decision: JobDecision) => Uncovered {
  let stepsLeft = mostSteps;
  const mayTake = (steps: number): boolean => {
    stepsLeft -= steps;
    return stepsLeft >= 0;
  };
  const namesOf = memo(({ labels }: RunnerGroup) => new Set(labels.map(({ name }) => name)));
  const nearestIn = memo((group: RunnerGroup) => {
    const names = [...namesOf(group)];
    const letters = names.reduce((sum, { length }) => sum + length, 0);
    return memo((labelText: string) => {
      if (labelText.length > LONGEST_MISTYPED || hasFault(labelText) || !mayTake(labelText.length * letters))
        return undefined;
      const meant = nearestName(labelText, names) ?? similarName(labelText, names);
      // A label of another machine is not a typing mistake.
      return meant !== undefined && machineOf(labelText) === machineOf(meant)
        ? { written: labelText, meant }
        : undefined;
    });
  });
  /** Returns the corrections with which the group covers these labels, or some of them. */
  const hintIn = (group: RunnerGroup, labels: readonly string[]): LabelHint & { readonly isPartly?: boolean } => {
    const uncoveredLabel = labels.filter((label) => !namesOf(group).has(label));
    const corrections = uncoveredLabel.flatMap((label) => nearestIn(group)(label) ?? []);
    const isPartly = corrections.length < uncoveredLabel.length;
    const meantBy = (label: string) => corrections.find(({ written }) => written === label)?.meant ?? label;
    const kept = labels.map(meantBy).filter((label) => namesOf(group).has(label) || !OF_GITHUB.test(label));
    if (!isPartly || kept.length === 0 || !kept.every((label) => namesOf(group).has(label)))
      return { group: keyOf(group), labels: corrections, isPartly };
    const all = uncoveredLabel.map((label) => ({ written: label, meant: meantBy(label) }));
    return { group: keyOf(group), labels: all, only: kept };
  };
  /** Undefined: a label is in no group. `ofScope`: the groups whose scope and Gitea have the job. */
  const elsewhereOf = (labels: readonly string[], origin: string, ofScope: readonly RunnerGroup[]) => {
    const hasAll = (group: RunnerGroup): boolean => labels.every((label) => namesOf(group).has(label));
    const otherGroup = groups.find((group) => hasAll(group) && !ofScope.includes(group));
    if (otherGroup) {
      const gitea = otherGroup.giteaUrl === origin ? undefined : otherGroup.giteaUrl;
      const scope = describeScope(otherGroup.scope);
      return defined({ is: 'other-scope' as const, group: keyOf(otherGroup), scope, gitea });
    }
    const places = labels.flatMap((label) => {
      const group = ofScope.find((each) => namesOf(each).has(label));
      return group ? [{ label, group: keyOf(group) }] : [];
    });
    const areInSeveral = labels.length > 1 && places.length === labels.length;
    return areInSeveral ? { is: 'several-groups' as const, places } : undefined;
  };
  return (decision) => {
    const isBlocked = decision.verdict === 'held' && decision.because === 'blocked';
    if (!isBlocked && (decision.verdict !== 'held' || decision.because !== 'labels-not-covered')) return {};
    const { job, origin } = decision;
    const labels = [...new Set(job.labels)];
    // Looking up a label takes longer than comparing a letter.
    if (!mayTake(4 * groups.length * labels.length)) return {};
    const ofScope = groups.filter(({ giteaUrl, scope }) => giteaUrl === origin && hasJobsOf(scope, job.repository));
    if (isBlocked && ofScope.some((group) => labels.every((label) => namesOf(group).has(label)))) return {};
    const hints = ofScope.map((group) => hintIn(group, labels)).sort((a, b) => a.labels.length - b.labels.length);
    const didYouMean = hints.find(({ isPartly }) => !isPartly);
    const partly = didYouMean ? undefined : hints.findLast((hint) => hint.labels.length > 0);
    const isNowhere = (label: string): boolean => ofScope.every((group) => !namesOf(group).has(label));
    const missing = isBlocked ? labels.filter(isNowhere) : undefined;
    return defined({ didYouMean, partly, elsewhere: elsewhereOf(labels, origin, ofScope), missing });
  };
}

/** Returns the first similar name: of the same letters, or one is the start of the other: `lunix`, `linux-latest`. */
function similarName(label: string, names: readonly string[]): string | undefined {
  const lettersOf = (text: string) => [...text].sort().join('');
  const lower = label.toLowerCase();
  return names.find((each) => {
    const name = each.toLowerCase();
    const isBegin = name.startsWith(`${lower}-`) || lower.startsWith(`${name}-`);
    return isBegin || (name.length > 3 && lettersOf(name) === lettersOf(lower));
  });
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

/** Returns the fault of a label that is left of an expression or a template. Undefined: a person may have written it. */
function faultOfExpression(label: string, labelText: string): string | undefined {
  if (label === '')
    return 'one name is empty: an expression without a value. Gitea knows no outputs of other jobs there';
  if (label.includes('${{')) return `Gitea has not evaluated ${labelText}`;
  if (label.includes('{{')) return `${labelText} is no expression of Gitea. Write ${label.replace(/\{\{/g, '${{')}`;
  // Results of fromJSON in Go's words (modules/actions/jobparser of 1.27.3).
  if (label === 'Array' || label === 'Object')
    return `Gitea makes the one name ${label} of a list from fromJSON. Write the list in runs-on, or one name`;
  if (/^(?:true|false|null|undefined|NaN)$/.test(label))
    return `${label} is what an expression says, and no name. Write a name for each case: \${{ … && 'large' || 'linux' }}`;
  const placeholder = PLACEHOLDER.exec(label)?.groups;
  const { variable, word = variable } = placeholder ?? {};
  const advice = word === undefined ? 'a name' : `\${{ vars.${word} }}, or a name`;
  if (placeholder) return `${labelText} is a placeholder that nothing fills in. Write ${advice}`;
  const [, , inner] = /^(["'])([^"'\s,]+)\1$/.exec(label) ?? [];
  if (inner !== undefined) return `the quotes are part of the name. Write ${inner}`;
  return /^[-_.]|[-_.]$|[-_.]{2}/.test(label)
    ? `a part of ${labelText} is empty: probably an expression without a value`
    : undefined;
}

/** True for a label that Gitea has made from an expression. It is not a typing mistake. */
const hasFault = (label: string): boolean => faultOfExpression(label, '') !== undefined;

/** Returns why no group should have this name of `runs-on`. Undefined: a group may have it. */
function faultOf(label: string, hasRule: boolean): string | undefined {
  const labelText = labelsText([label]);
  const fault = faultOfExpression(label, labelText);
  if (fault !== undefined) return fault;
  if (label !== label.trim()) return `${labelText} begins or ends with a blank`;
  if (label === TOO_MANY || label === TOO_LONG)
    return `${label} stands for names of runs-on that are not shown. Write names that a group has`;
  const [problem] = runnerLabel.safeParse(label).error?.issues ?? [];
  if (problem)
    return `${labelText} is no label that a group can have${hasRule ? ruleText(label, problem.message) : ''}`;
  if (withoutTypography(label) !== label) return `${labelText} holds characters of a word processor: type it again`;
  if (label.startsWith('docker:'))
    return 'an image is no label. Write the label of a group, and the image under container';
  const [name = ''] = label.split(':');
  if (name === label) return undefined;
  return `write ${name}. The rest belongs in the label of a group, and an image may stand under container`;
}

/** Returns the schema's rule that a label breaks. A label with several names should be a list. */
function ruleText(label: string, rule: string): string {
  const names = labelsMeantBy(label).filter((name) => !name.includes(':'));
  if (names.length <= 1) return `: it ${rule.replace(/; write .*/, '')}`;
  const list = `runs-on: [${names.join(', ')}]`;
  return label.includes(',') ? `. Write ${list}` : `: it must not contain spaces. Of several names write ${list}`;
}

/** Returns why the first such name of `runs-on` can be in no group. The schema's rule is long: only `hasRule` adds it. */
function faultIn({ job: { labels } }: UncoveredJob, hasRule = false): string | undefined {
  return labels.map((label) => faultOf(label, hasRule)).find((fault) => fault !== undefined);
}

/** An uncovered job. */
interface UncoveredJob extends Uncovered {
  readonly job: Job;
  readonly nearest?: GroupKey;
}

/** Returns why no group covers the job. */
export function notCoveredText(uncovered: UncoveredJob): string {
  const { job, elsewhere, didYouMean, missing = [], nearest, partly } = uncovered;
  if (elsewhere) return `labels not covered: ${labelsText(job.labels)} (${elsewhereText(elsewhere, job.repository)})`;
  if (didYouMean?.labels.length === 0)
    return `RunnerGroup ${keyText(didYouMean.group)} has its labels, and cannot be planned now`;
  if (didYouMean) return `labels not covered: ${writtenText(didYouMean)} (did you mean ${meantText(didYouMean)}?)`;
  const near = partly ? `did you mean ${meantText(partly)}?` : nearest && `nearest group: ${keyText(nearest)}`;
  const why = faultIn(uncovered) ?? near;
  return `labels not covered: ${labelsText(missing)}${why === undefined ? '' : ` (${why})`}`;
}

function elsewhereText(elsewhere: LabelsElsewhere, repository: string): string {
  if (elsewhere.is === 'several-groups') {
    const places = elsewhere.places.map(({ label, group }) => `${label} is in ${keyText(group)}`);
    return `no group has all of them: ${places.join(', ')}`;
  }
  const { group, scope, gitea } = elsewhere;
  const scopeText = gitea === undefined ? `its scope, ${scope}, does not have ${repository}` : `it is for ${gitea}`;
  return `${keyText(group)} has them, but ${scopeText}`;
}

/** Remedies that differ only in their labels are one. */
export function notCoveredAdvice(jobs: readonly UncoveredJob[]): readonly string[] {
  const sentenceWithoutLabels = ({ sentence }: Remedy): string => sentence('…');
  return [...groupBy(jobs.map(remedyFor), sentenceWithoutLabels).values()].flatMap((remedies) => {
    const labels = [...new Set(remedies.map(({ labels = '' }) => labels))];
    return remedies.slice(0, 1).map(({ sentence }) => sentence(firstNames(labels, MOST_LABELS)));
  });
}

/** Most labels in a sentence. The rest is counted. */
const MOST_LABELS = 8;

interface Remedy {
  /** Absent: the sentence names no label. */
  readonly labels?: string;
  readonly sentence: (labels: string) => string;
}

const ONE_RUNNER =
  'one runner must have all labels of runs-on: add the others to spec.labels of one group, or ask for fewer in the workflow';

function remedyFor(uncovered: UncoveredJob): Remedy {
  const { job, elsewhere, didYouMean, missing = [], partly } = uncovered;
  const withoutLabels = (text: string): Remedy => ({ sentence: () => text });
  if (elsewhere?.is === 'other-scope')
    return withoutLabels(
      `widen the scope of ${keyText(elsewhere.group)}, or add a RunnerGroup with these labels whose scope has ${job.repository}`,
    );
  if (elsewhere) return withoutLabels(ONE_RUNNER);
  if (didYouMean?.labels.length === 0)
    return withoutLabels(`mend RunnerGroup ${keyText(didYouMean.group)}: the warning says how`);
  const fault = faultIn(uncovered, true);
  const toGroup = 'to spec.labels of a group whose scope has the job';
  if (didYouMean) {
    const meant = meantText(didYouMean);
    const why = didYouMean.only ? " (self-hosted and x64 are GitHub's own labels)" : '';
    const add = (labels: string) => (fault === undefined ? `, or add ${labels} ${toGroup}` : '');
    return {
      labels: writtenText(didYouMean),
      sentence: (labels) => `runs-on ${labels}: did you mean ${meant}? Correct it in the workflow${why}${add(labels)}`,
    };
  }
  if (fault !== undefined) return withoutLabels(`correct runs-on in the workflow: ${fault}`);
  // A group of Linux machines must not get this label: its runners would take the job, and could not run it.
  const first = partly ? `correct ${writtenText(partly)} to ${meantText(partly)}, and ` : '';
  const others = missing.filter((label) => !partly?.labels.some(({ written }) => written === label));
  const machineLabel = others.find((label) => machineOf(label) !== undefined);
  if (machineLabel === undefined)
    return {
      labels: labelsText(others),
      sentence: (labels) =>
        `${first}add ${labels} ${toGroup}, as NAME:docker://IMAGE or NAME:host, or correct its runs-on`,
    };
  const machine = machineOf(machineLabel);
  const need =
    machine === 'Windows' || machine === 'macOS'
      ? `${machine}, and pods of a RunnerGroup run on Linux: register a runner on such a machine`
      : 'other machines: write a RunnerGroup for it, with spec.image and spec.podTemplate.spec.nodeSelector';
  return {
    labels: labelsText([machineLabel]),
    sentence: (labels) => `${first}${labels} asks for ${need}, or correct its runs-on`,
  };
}

function writtenText({ labels }: LabelHint): string {
  return labelsText(labels.map(({ written }) => written));
}

/** `ubuntu-latest (runners/ci)` */
function meantText({ group, labels, only }: LabelHint): string {
  return `${only ? `only ${only.join(', ')}` : labels.map(({ meant }) => meant).join(', ')} (${keyText(group)})`;
}
