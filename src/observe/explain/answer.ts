/** The answer of `explain` about one job or one group, as lines that begin with a word. Pure. */
import type { Run } from '../../clients/gitea/runs.ts';
import { type EmittedRunner, takesPlace } from '../../planner/decisions.ts';
import type { Job, LiveJob } from '../../planner/evidence.ts';
import { isSame, keyText } from '../../shared/keys.ts';
import { timeText } from '../../shared/marks.ts';
import { count, duration, firstLines } from '../../shared/printable.ts';
import { adviceFor, verdictText } from './causes.ts';
import { blockedAdvice, labelsText } from './held-back.ts';
import { JOB_STATES, type JobState } from './job-state.ts';
import {
  type ExplainedGroup,
  type ExplainedJob,
  type Explanation,
  emittedRunners,
  findGroup,
  groupOfJob,
  isNotCovered,
} from './model.ts';
import { podTroubleText, runnerAdvice, runnersAdvice, runnerText, slotsText, troubleText } from './reasons.ts';
import { runWords } from './run-words.ts';
import { runnersIn } from './runner-counts.ts';

export const MOST_TOLD = 5;
/** Of a group the first jobs, the worst ones, say what helps. */
const MOST_ADVISED = 200;

export type Line = readonly [name: string, text: string];

/** One line; none without a text. */
export function line(name: string, text: string | undefined): readonly Line[] {
  return lines(name, text ? [text] : []);
}

export function lines(name: string, texts: readonly string[]): readonly Line[] {
  return texts.map((text) => [name, text]);
}

export const STATE_WORDS: Readonly<Record<JobState, string>> = {
  unserved: 'is unserved: it gets no runner until somebody acts',
  held: 'is held back',
  starting: 'waits for its runner',
  blocked: 'is blocked in Gitea',
  running: 'runs',
};

export function jobLines(job: ExplainedJob, explanation: Explanation, run: Run | undefined): readonly Line[] {
  const nowMs = Date.parse(explanation.checkedAt);
  const live = explanation.liveJobs?.find(({ name }) => name === runnerOf(job));
  const group = groupOf(job, explanation);
  const next = nextSteps(job, explanation);
  const nothing = job.verdict === 'running' ? 'nothing: it runs' : waitText(job, nowMs);
  return [
    ...line('Cause', verdictText(job, nowMs, emittedRunners(explanation))),
    ...line('Since', sinceText(job.job, nowMs)),
    ...line('Run', run ? undefined : runWords(job.job).join(' · ')),
    ...line('Evidence', jobEvidence(job, run)),
    ...(isNotCovered(job) ? brokenLines(explanation) : []),
    // The nearest group has nothing to do with labels that others have.
    ...line('Group', group && !job.elsewhere ? groupText(group) : undefined),
    ...(waitsForSlot(job) && group ? slotLines(group, explanation) : []),
    ...line('Pod', live && podText(live, nowMs)),
    ...lines('Next', next.length > 0 ? next : [nothing]),
    ...line('Link', job.job.url),
  ];
}

/** Until when there is nothing to do. */
function waitText({ state, waitUntilMs }: ExplainedJob, nowMs: number): string {
  if (state !== 'starting') return 'wait';
  const until = waitUntilMs !== undefined && waitUntilMs > nowMs ? ` until ${timeText(waitUntilMs)}` : '';
  return `wait${until}: its runner takes it as soon as it has registered${until && '. After that another one is tried'}`;
}

/** The runner of a job, or the last one that it had. */
function runnerOf(job: ExplainedJob): string | undefined {
  return job.verdict === 'served' ? job.runner : (job.ended?.runner ?? job.job.runner);
}

export function nextSteps(job: ExplainedJob, { groups, runners }: Explanation): readonly string[] {
  const decision = runners.find(({ runner }) => runner === runnerOf(job));
  const last = runners.find((each) => each.runner === job.ended?.runner && each !== decision);
  return [
    ...adviceFor(job, groups),
    ...askedAdvice(job),
    ...(decision?.emit && decision.because === 'lost' ? lostAdvice(decision) : []),
    ...[decision, last].flatMap((each) => (each ? runnerAdvice(each) : [])),
  ];
}

function lostAdvice({ isOutlived }: EmittedRunner): readonly string[] {
  if (!isOutlived) return ['re-run the job when Gitea has failed it'];
  return [
    'force-cancel its run in Gitea',
    'if that does not end it, on the host of Gitea: gitea doctor check --run fix-actions-unfinished-run-status --fix',
  ];
}

/** What helps somebody who asks about this job; the table does not say it for each. */
function askedAdvice(job: ExplainedJob): readonly string[] {
  if (job.isActionsOff) return [];
  if (job.verdict === 'held' && job.because === 'blocked') return blockedAdvice(job);
  // How its last runner failed comes first: to wait helps nobody then.
  return job.notCreated && !job.notCreated.isUnserved && !job.ended ? [job.notCreated.next] : [];
}

export function waitsForSlot(job: ExplainedJob): boolean {
  return job.verdict === 'held' && job.because === 'cap' && job.cap !== 0;
}

/** A job that no group covers may be meant for one that is broken. */
export function brokenLines({ where }: Explanation): readonly Line[] {
  const texts = (where?.broken ?? []).map(
    ({ group, problem }) => `RunnerGroup ${group} cannot be served, so it does not count: ${problem}`,
  );
  return lines('But', texts.slice(0, MOST_TOLD));
}

/** Which runners hold the slots of a full group, those that block others first. */
export function slotLines(group: ExplainedGroup, explanation: Explanation): readonly Line[] {
  const { groups, checkedAt } = explanation;
  const rank = ({ trouble, because }: EmittedRunner): number => (trouble ? 0 : because === 'debugging' ? 1 : 2);
  const holders = [...emittedRunners(explanation).values()]
    .filter((each) => isSame(each.group, group) && takesPlace(each))
    .sort((a, b) => rank(a) - rank(b));
  const texts = holders.map((each) => {
    const nowMs = Date.parse(checkedAt);
    return `${each.runner} ${each.trouble ? podTroubleText(each.trouble, nowMs) : runnerText(each, groups, nowMs)}`;
  });
  return lines('Slot', firstLines(texts, MOST_TOLD));
}

function sinceText({ createdAtMs, startedAtMs, status }: Job, nowMs: number): string {
  const utcText = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
  if (status === 'in_progress' && startedAtMs !== undefined)
    return `it has run for ${duration(nowMs - startedAtMs)} (since ${utcText(startedAtMs)})`;
  return `it was created ${duration(nowMs - createdAtMs)} ago (${utcText(createdAtMs)}); Gitea does not tell when it became ready`;
}

function jobEvidence({ job, runHas = [], estimate }: ExplainedJob, run: Run | undefined): string {
  const labels = job.labels.length === 0 ? 'no runs-on' : `runs-on ${labelsText(job.labels)}`;
  const attempt = job.attempt > 1 ? `, attempt ${job.attempt}` : '';
  const needs = "Gitea's API does not tell which of them it needs; the graph on the page of the run does";
  const event = run ? `its run was started by ${run.event}; ` : '';
  const waits = `${event}Gitea's API tells neither the concurrency group nor a missing approval; the page of the run shows both`;
  return [
    `Gitea says ${job.status.replace('_', ' ')}, ${labels}${attempt}`,
    ...(estimate ? [`the estimate is made from ${count(estimate.samples, 'finished job')}`] : []),
    ...(job.status === 'blocked' ? [runHas.length > 0 ? needs : waits] : []),
  ].join('; ');
}

/** `its Job was created 3m12s ago; the pod is starting: ImagePullBackOff: …` */
export function podText({ state, createdAtMs, end, ...live }: LiveJob, nowMs: number): string {
  const trouble = live.trouble ?? end;
  const why = trouble ? `: ${troubleText(trouble)}` : '';
  return `its Kubernetes Job was created ${duration(nowMs - createdAtMs)} ago; ${POD_WORDS[state]}${why}`;
}

const POD_WORDS: Readonly<Record<LiveJob['state'], string>> = {
  starting: 'its pod does not run yet',
  running: 'its pod runs',
  complete: 'it has ended',
  failed: 'it has failed',
  deleting: 'it is being deleted',
  unknown: 'the state of its pod is not known',
};

export function groupText(group: ExplainedGroup): string {
  const { cap, held, suspended, scope, gitea } = group;
  const slots = slotsText(group);
  const runners = `${runnersIn(group)} of ${cap} runners${slots === '' ? '' : ` (${slots})`}`;
  return `${keyText(group)}${suspended ? ' (suspended)' : ''}: ${runners}, ${count(held, 'job')} held back; ${scope} at ${gitea}`;
}

export function groupOf(job: ExplainedJob, { groups }: Explanation): ExplainedGroup | undefined {
  return findGroup(groupOfJob(job), groups);
}

export function groupTitle(group: ExplainedGroup): string {
  const { suspended, held, cap } = group;
  const what = `RunnerGroup ${keyText(group)}`;
  if (suspended) return `${what} is suspended: it starts no runners.`;
  if (cap === 0) return `${what} starts no runners: its cap is 0.`;
  return held > 0 ? `${what} holds back ${count(held, 'job')}.` : `${what} holds nothing back.`;
}

/** @param details for an explanation of which not all is known (`explainerOf`) */
export function groupLines(
  group: ExplainedGroup,
  explanation: Explanation,
  details = (job: ExplainedJob): ExplainedJob => job,
): readonly Line[] {
  const of = explanation.jobs.filter((job) => isSame(groupOfJob(job), group));
  const jobs = JOB_STATES.flatMap((state) => {
    const some = of.filter((job) => job.state === state).length;
    return some > 0 ? [`${some} ${state}`] : [];
  });
  const runners = [...emittedRunners(explanation).values()].filter((each) => isSame(each.group, group));
  const pods = runners.flatMap(({ runner, trouble }) => (trouble ? [`${runner}: ${troubleText(trouble)}`] : []));
  const next = of
    .slice(0, MOST_ADVISED)
    .flatMap((job) => adviceFor(details(job), explanation.groups))
    .concat(runnersAdvice(runners.filter(({ trouble }) => trouble)));
  const status = explanation.where?.statuses.find((each) => each.group === keyText(group));
  return [
    ...line('Runners', groupText(group)),
    ...line('Jobs', jobs.join(', ') || 'none is queued or running'),
    ...line('Labels', group.labels.join(', ')),
    ...lines('Pod', pods.slice(0, MOST_TOLD)),
    ...line('Status', status?.notReady),
    ...lines('Next', [...new Set(next)].slice(0, MOST_TOLD)),
    ...line('File', group.file),
  ];
}
