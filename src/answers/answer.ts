/** The answer of `explain` about one job or one group, as lines that begin with a word. Pure. */
import type { Run } from '../clients/gitea/runs.ts';
import { memo } from '../planner/collections.ts';
import { type EmittedRunner, type RunnerDecision, takesSlot } from '../planner/decisions.ts';
import type { Job, LiveJob } from '../planner/evidence.ts';
import { groupBy, isSame, keyText } from '../shared/keys.ts';
import { timeText } from '../shared/marks.ts';
import { count, duration, firstLines, firstNames } from '../shared/printable.ts';
import { awaitedIn } from './awaited.ts';
import { blockedAdvice, isHeldByMatrix } from './blocked.ts';
import { adviceFor, advicesFor, askAdvice, causeText, oncePerCause, verdictText } from './causes.ts';
import { JOB_STATES, type JobState } from './job-state.ts';
import {
  type ExplainedGroup,
  type ExplainedJob,
  type Explanation,
  emittedRunners,
  findGroup,
  groupOfJob,
  isNotCovered,
  type NotCreated,
} from './model.ts';
import { downOf } from './not-created.ts';
import { adviceOfEach, isUnderSame, runnersAdvice, runnerText, slotsText } from './reasons.ts';
import { hasLogs, seeWhy, troubleText } from './remedies.ts';
import { runWords } from './run-words.ts';
import { runnersIn } from './runner-counts.ts';
import { labelsText } from './uncovered-labels.ts';

/** Lines of one kind. */
export const MOST_TOLD = 5;
/** Jobs of a group that say what helps: the first ones, which are the worst. */
const MOST_ADVISED = 200;

export type Line = readonly [name: string, text: string];

/** Returns the line, or none if there is no text. */
export function line(name: string, text: string | undefined): readonly Line[] {
  return lines(name, text ? [text] : []);
}

/** Returns a line of this name for each text. */
export function lines(name: string, texts: readonly string[]): readonly Line[] {
  return texts.map((text) => [name, text]);
}

export const STATE_WORDS: Readonly<Record<JobState, string>> = {
  unserved: 'is unserved: it gets no runner until somebody acts',
  held: 'is held back',
  starting: 'waits for its runner',
  blocked: 'is blocked in Gitea',
  running: 'is in progress in Gitea',
};

/** Reader of the answer. Absent: an owner of all groups. */
interface Asking {
  /** Adds the details that the reader may see to a job of the explanation. */
  readonly details?: (job: ExplainedJob) => ExplainedJob;
  readonly owns?: (group: string) => boolean;
}

/** Returns all lines about one job: cause, evidence, its group and pod, and what helps. */
export function jobLines(
  job: ExplainedJob,
  explanation: Explanation,
  run: Run | undefined,
  asking: Asking = {},
): readonly Line[] {
  const nowMs = Date.parse(explanation.checkedAt);
  const live = explanation.liveJobs?.find(({ name }) => name === runnerOf(job));
  const { cause, nextSteps: steps } = sentencesOf(explanation, asking)(job);
  return [
    ...line('Cause', cause),
    ...line('Since', sinceText(job.job, nowMs)),
    ...line('Run', run ? undefined : runWords(job.job).join(' · ')),
    ...line('Evidence', jobEvidence(job, run)),
    ...aroundLines([job], explanation, asking),
    ...line('Pod', live && podText(live, nowMs)),
    ...lines('Next', steps),
    ...(job.state === 'running' ? [] : line('Ask', askText(explanation, [groupOf(job, explanation) ?? []].flat()))),
    ...line('Link', job.job.url),
  ];
}

/** Adds to each job its sentences, for `-o json`. `until`: by then the wait has ended or has another cause. */
export function withSentences<T extends Pick<Explanation, 'jobs'>>(answer: T, explanation: Explanation) {
  const sentences = sentencesOf(explanation);
  return { ...answer, jobs: answer.jobs.map((job) => ({ ...job, ...sentences(job) })) };
}

/** Returns a function that gives the cause of a job, and the next steps for the reader who asks. */
export function sentencesOf(explanation: Explanation, { details, owns }: Asking = {}) {
  const nowMs = Date.parse(explanation.checkedAt);
  const emitted = emittedRunners(explanation);
  const stepsOf = nextSteps(explanation);
  const { worst } = awaitedIn(explanation, details);
  /** Returns the advice for the job that another one waits for. */
  const stepsFor = (awaited: ExplainedJob): readonly string[] => {
    const group = groupOfJob(awaited);
    const { id, name } = awaited.job;
    const isOwner = !owns || (group !== undefined && owns(keyText(group)));
    const steps = isOwner ? stepsOf(awaited) : askAdvice(awaited, []);
    return steps.map((step) => `for job ${id} "${name}": ${step}`);
  };
  return (job: ExplainedJob) => {
    const untilMs = untilOf(job);
    const awaited = worst(job);
    const helping = awaited ? stepsFor(awaited) : [];
    const ownSteps = stepsOf(job, helping.length > 0);
    // What runs ends by itself, and to wait for it, or to cancel it, is the first that helps.
    const steps = awaited?.verdict === 'running' ? [...ownSteps, ...helping] : [...helping, ...ownSteps];
    const noStep = job.verdict === 'running' ? 'nothing: it runs' : waitText(job, nowMs);
    const causes = [
      verdictText(job, nowMs, emitted),
      awaited && `${awaited.job.name}: ${causeText(awaited, nowMs, emitted)}`,
    ];
    return {
      cause: causes.filter(Boolean).join('; '),
      nextSteps: steps.length > 0 ? steps : [noStep],
      ...(untilMs !== undefined && { until: timeText(untilMs) }),
    };
  };
}

/** Whom a person asks who may not do what *Next* says. Undefined: the person may, or nobody looked. */
export function askText({ where, groups }: Explanation, concerned = groups): string | undefined {
  const closed = concerned.filter(({ namespace }) => where?.readOnly?.includes(namespace));
  if (closed.length === 0) return undefined;
  const namespaces = [...new Set(closed.map(({ namespace }) => namespace))].join(', ');
  const places = new Set(closed.map((each) => (each.file === keyText(each) ? `RunnerGroup ${each.file}` : each.file)));
  return `you may not create pods in namespace ${namespaces}, so others do this: whoever merges into ${firstNames([...places], 2)}, and who runs the cluster`;
}

function untilOf(job: ExplainedJob): number | undefined {
  if (job.verdict === 'held') return job.untilMs;
  return job.state === 'starting' ? job.waitUntilMs : job.endsByMs;
}

/** Returns what the job waits for, and until when, if nobody can do anything. */
function waitText({ state, waitUntilMs, ...job }: ExplainedJob, nowMs: number): string {
  if (job.verdict === 'served' && state !== 'starting')
    return seeWhy(job.group, job.runner, `pods -l job-name=${job.runner}`);
  if (state !== 'starting') return 'wait';
  const until = waitUntilMs !== undefined && waitUntilMs > nowMs ? ` until ${timeText(waitUntilMs)}` : '';
  return `wait${until}: its runner takes it as soon as it has registered${until && '. After that another one is tried'}`;
}

/** Returns the runner of a job, or its last one. */
function runnerOf(job: ExplainedJob): string | undefined {
  return job.verdict === 'served' ? job.runner : (job.ended?.runner ?? job.job.runner);
}

/** `isChained`: what the job waits for has steps of its own. */
export function nextSteps(explanation: Explanation): (job: ExplainedJob, isChained?: boolean) => readonly string[] {
  const { groups, runners } = explanation;
  const stuckFor = stuckAdvice(explanation);
  const decisionOf = new Map(runners.map((each) => [each.runner, each]));
  return (job, isChained = false) => {
    const names = [runnerOf(job), job.ended?.runner].flatMap((name) => name ?? []);
    const untold = names.filter((name) => !toldWith(job).includes(name));
    const ownRunners = new Set(untold.flatMap((name) => decisionOf.get(name) ?? []));
    const isHolder = holdsSlotFor(job);
    const slow = runners.filter((each) => each.emit && each.trouble && !isFaulty(each) && isHolder(each));
    const stepsByState = [
      ...stuckFor(job),
      ...askedAdvice(job, isChained),
      ...adviceFor(job, groups),
      ...runnersAdvice(slow),
      ...runnersAdvice([...ownRunners]),
    ];
    return [...stepsByState, ...[downFor([job], explanation)?.next ?? []].flat()];
  };
}

/** Returns steps against runners in slots for which a job waits. They are late, or nothing comes of them by itself. */
export function stuckAdvice({ runners }: Pick<Explanation, 'runners'>): (job: ExplainedJob) => readonly string[] {
  const faulty = runners.flatMap((each) => (each.emit && isFaulty(each) ? each : []));
  const stepsOf = memo((key: string) => runnersAdvice(faulty.filter(holders.get(key) ?? (() => false))));
  const holders = new Map<string, (runner: EmittedRunner) => boolean>();
  return (job) => {
    if (faulty.length === 0 || job.verdict !== 'held') return [];
    const key = JSON.stringify([job.because, job.group, job.limit]);
    if (!holders.has(key)) holders.set(key, holdsSlotFor(job));
    return stepsOf(key);
  };
}

/** Returns the trouble of a `serve` that is down, if the cause of these jobs does not say it. */
export function downFor(jobs: readonly ExplainedJob[], { where }: Explanation): NotCreated | undefined {
  const isUntold = jobs.some(({ notCreated, verdict }) => verdict === 'served' && !notCreated);
  return where && isUntold ? downOf(where, where.applications[0]) : undefined;
}

/** Runners that need no line of their own: the cause and the advice of their job say all. */
export function toldWith(job: ExplainedJob): readonly string[] {
  const waiting = job.verdict === 'served' && job.notCreated ? [job.runner] : [];
  return job.ended && !hasLogs(job.ended) ? [job.ended.runner, ...waiting] : waiting;
}

/** Returns further advice for a person who asks about this job. The table of all jobs leaves it out. */
function askedAdvice(job: ExplainedJob, isChained: boolean): readonly string[] {
  if (job.isActionsOff) return [];
  if (job.verdict === 'held' && job.because === 'blocked') return blockedAdvice(job, isChained);
  // How the last runner failed comes first: waiting does not help then.
  const { ended, notCreated } = job;
  return notCreated && !notCreated.isUnserved && !notCreated.isKnown && !ended ? [notCreated.next] : [];
}

/** Lines about broken groups, the groups of these jobs, and what holds their slots. */
export function aroundLines(
  jobs: readonly ExplainedJob[],
  explanation: Explanation,
  { owns = () => true }: Asking = {},
): readonly Line[] {
  // The nearest group has nothing to do with labels that others have.
  const groupsOf = (shownJobs: readonly ExplainedJob[]): readonly ExplainedGroup[] => [
    ...new Set(shownJobs.flatMap((job) => (job.elsewhere ? [] : (groupOf(job, explanation) ?? [])))),
  ];
  // Groups that share a limit may have several owners.
  const mayName = ({ group }: EmittedRunner, job: ExplainedJob) => isSame(job.group, group) || owns(keyText(group));
  const waiting = jobs.map((job) => [job, holdsSlotFor(job)] as const);
  const isHolder = (runner: EmittedRunner): boolean =>
    waiting.some(([job, holds]) => holds(runner) && mayName(runner, job));
  return [
    ...(jobs.some((job) => isNotCovered(job) && !job.brokenGroup) ? brokenLines(explanation) : []),
    ...line('But', downFor(jobs, explanation)?.why),
    ...lines('Group', groupsOf(jobs).map(groupText)),
    ...slotLines(isHolder, explanation),
  ];
}

/** Returns a function that finds the runners with the slots that a job waits for. */
function holdsSlotFor(job: ExplainedJob): (runner: EmittedRunner) => boolean {
  const { group, verdict } = job;
  if (verdict !== 'held' || !group) return () => false;
  if (job.because === 'limit' && job.limit) return isUnderSame(job.limit, group);
  return (runner) => job.because === 'cap' && job.cap !== 0 && isSame(group, runner.group);
}

function isFaulty(decision: RunnerDecision): boolean {
  const trouble = decision.emit && decision.trouble;
  if (!trouble) return false;
  const { isLate, isSuspended, stillSinceMs, comesByMs } = trouble;
  return isLate || (!isSuspended && stillSinceMs === undefined && comesByMs === undefined);
}

/** Names the broken groups: a job that no group covers may be meant for one of them. */
function brokenLines({ where }: Explanation): readonly Line[] {
  const texts = (where?.broken ?? []).map(
    ({ group, problem }) => `RunnerGroup ${group} cannot be served, so it does not count: ${problem}`,
  );
  return lines('But', texts.slice(0, MOST_TOLD));
}

/** Which runners hold the slots of full groups and limits, those that block others first. */
function slotLines(isHolder: (runner: EmittedRunner) => boolean, explanation: Explanation): readonly Line[] {
  const { groups, checkedAt, jobs } = explanation;
  const nowMs = Date.parse(checkedAt);
  const jobOfRunner = new Map(jobs.map((each) => [each.job.runner, each]));
  const forText = (runner: string): string => {
    const { job, offline } = jobOfRunner.get(runner) ?? {};
    const startedAtMs = job?.startedAtMs;
    const ran = startedAtMs === undefined ? '' : ` for ${duration(nowMs - startedAtMs)}`;
    return `${ran}${offline ? ', and Gitea shows it offline' : ''}`;
  };
  const rank = ({ trouble, because }: EmittedRunner): number => {
    if (trouble) return 0;
    return because === 'debugging' ? 1 : 2;
  };
  const holders = [...emittedRunners(explanation).values()]
    .filter((each) => takesSlot(each) && isHolder(each))
    .sort((a, b) => rank(a) - rank(b))
    .map((each) => `${each.runner}${sizeText(each)} ${runnerText(each, groups, nowMs)}${forText(each.runner)}`);
  return lines('Slot', firstLines(holders, MOST_TOLD));
}

/** ` (size large, 4 slots)` */
function sizeText({ size, weight = 1 }: EmittedRunner): string {
  return weight > 1 ? ` (size ${size}, ${count(weight, 'slot')})` : '';
}

function sinceText({ createdAtMs, startedAtMs, status }: Job, nowMs: number): string {
  const utcText = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
  if (status === 'in_progress' && startedAtMs !== undefined)
    return `it has run for ${duration(nowMs - startedAtMs)} (since ${utcText(startedAtMs)})`;
  return `it was created ${duration(nowMs - createdAtMs)} ago (${utcText(createdAtMs)}); Gitea does not tell when it became ready`;
}

function jobEvidence(explained: ExplainedJob, run: Run | undefined): string {
  const { job, runHas = [], estimate } = explained;
  const labels = job.labels.length === 0 ? 'no runs-on' : `runs-on ${labelsText(job.labels)}`;
  const attempt = job.attempt > 1 ? `, attempt ${job.attempt}` : '';
  const untold = isHeldByMatrix(explained)
    ? 'max-parallel; its workflow does'
    : 'which of them it needs; the graph on the page of the run does';
  const event = run ? `its run was started by ${run.event}; ` : '';
  const unknownWait = `${event}Gitea's API tells neither the concurrency group nor a missing approval; the page of the run shows both`;
  return [
    `Gitea says ${job.status.replace('_', ' ')}, ${labels}${attempt}`,
    ...(estimate ? [`the estimate is made from ${count(estimate.samples, 'finished job')}`] : []),
    ...(job.status === 'blocked' ? [runHas.length > 0 ? `Gitea's API does not tell ${untold}` : unknownWait] : []),
  ].join('; ');
}

/** `its Kubernetes Job was created 3m12s ago; its pod does not run yet`. The cause says why. */
export function podText({ state, createdAtMs }: LiveJob, nowMs: number): string {
  return `its Kubernetes Job was created ${duration(nowMs - createdAtMs)} ago; ${POD_WORDS[state]}`;
}

const POD_WORDS: Readonly<Record<LiveJob['state'], string>> = {
  starting: 'its pod does not run yet',
  running: 'its pod runs',
  complete: 'it has ended',
  failed: 'it has failed',
  deleting: 'it is being deleted',
  unknown: 'the state of its pod is not known',
};

function groupText(group: ExplainedGroup): string {
  const { cap, held, slots: takenSlots, suspended, scope, gitea } = group;
  const slots = slotsText(group);
  const all = runnersIn(group);
  const occupancy =
    takenSlots === undefined ? `${all} of ${cap} runners` : `${count(all, 'runner')} in ${takenSlots} of ${cap} slots`;
  const runners = `${occupancy}${slots === '' ? '' : ` (${slots})`}`;
  return `${keyText(group)}${suspended ? ' (suspended)' : ''}: ${runners}, ${count(held, 'job')} held back; ${scope} at ${gitea}`;
}

function groupOf(job: ExplainedJob, { groups }: Explanation): ExplainedGroup | undefined {
  return findGroup(groupOfJob(job), groups);
}

/** `RunnerGroup runners/ci holds back 2 jobs.` */
export function groupTitle(group: ExplainedGroup): string {
  const { suspended, held, cap } = group;
  const title = `RunnerGroup ${keyText(group)}`;
  if (suspended) return `${title} is suspended: it starts no runners.`;
  if (cap === 0) return `${title} starts no runners: its cap is 0.`;
  return held > 0 ? `${title} holds back ${count(held, 'job')}.` : `${title} holds nothing back.`;
}

/** @param details adds the rest to jobs of an outline (`explainerOf`) */
export function groupLines(
  group: ExplainedGroup,
  explanation: Explanation,
  details = (job: ExplainedJob): ExplainedJob => job,
): readonly Line[] {
  const jobs = explanation.jobs.filter((job) => isSame(groupOfJob(job), group));
  const byState = groupBy(jobs, ({ state }) => state);
  const counts = JOB_STATES.flatMap((state) => (byState.has(state) ? [`${byState.get(state)?.length} ${state}`] : []));
  const runners = [...emittedRunners(explanation).values()].filter((each) => isSame(each.group, group));
  const pods = runners.flatMap(({ runner, trouble }) => (trouble ? [`${runner}: ${troubleText(trouble)}`] : []));
  const advised = jobs.slice(0, MOST_ADVISED).map(details);
  const stuckFor = stuckAdvice(explanation);
  const [uncovered = [], others = []] = [true, false].map((is) => advised.filter((job) => isNotCovered(job) === is));
  const advice = [
    ...oncePerCause([
      ...others.flatMap((job) => [...stuckFor(job), ...adviceFor(job, explanation.groups)]),
      ...adviceOfEach(runners.filter(({ trouble }) => trouble)),
    ]),
    ...advicesFor(uncovered, (job) => adviceFor(job, explanation.groups)),
  ];
  const status = explanation.where?.statuses.find((each) => each.group === keyText(group));
  return [
    ...line('Runners', groupText(group)),
    ...line('Jobs', counts.join(', ') || 'none is queued or running'),
    ...line('Labels', group.labels.join(', ')),
    ...lines('Pod', pods.slice(0, MOST_TOLD)),
    ...line('Status', status?.notReady),
    ...lines('Next', advice.slice(0, MOST_TOLD)),
    ...(advice.length > 0 ? line('Ask', askText(explanation, [group])) : []),
    ...line('File', group.file),
  ];
}
