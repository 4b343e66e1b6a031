/** `explain WHAT` for people: a short paragraph. A pure function of the explanation; the text of each decision is that of the table (causes.ts). */
import type { Run } from '../../clients/gitea/runs.ts';
import { type EmittedRunner, takesPlace } from '../../planner/decisions.ts';
import type { Job, LiveJob } from '../../planner/evidence.ts';
import { type Paper, painted } from '../../shared/io.ts';
import { isSame, keyText } from '../../shared/keys.ts';
import { count, duration, firstLines, printable } from '../../shared/printable.ts';
import { broken } from '../../shared/table.ts';
import { jobTable } from '../explain-text.ts';
import {
  type ExplainedGroup,
  type ExplainedJob,
  type Explanation,
  emittedRunners,
  findGroup,
  groupOfJob,
  isNotCovered,
} from '../explanation.ts';
import { JOB_STATES, type JobState } from '../flags/readers.ts';
import { runnersIn } from '../runner-counts.ts';
import { adviceFor, runnerAdvice, runnerText, slotsText, troubleText, verdictText } from './causes.ts';
import { blockedAdvice } from './held-back.ts';
import type { Subject } from './subject.ts';

type SubjectThat<Is extends Subject['is']> = Subject & { readonly is: Is };

const MOST_TOLD = 5;

export function answerText(subject: Subject, explanation: Explanation, paper: Paper): string {
  switch (subject.is) {
    case 'jobs':
      return jobsText(subject, explanation, paper);
    case 'finished':
      return finishedText(subject, explanation, paper);
    case 'group':
      return paragraph(groupTitle(subject.group), groupLines(subject.group, explanation), paper);
    case 'broken': {
      const next = line('Next', 'correct it in git; gitea-runners validate shows the line');
      const title = `RunnerGroup ${subject.group} cannot be served: it is not valid.`;
      return paragraph(title, [...line('Evidence', subject.problem), ...next], paper);
    }
    case 'out-of-scope': {
      const title = `No RunnerGroup here has jobs of ${subject.repository}.`;
      return paragraph(title, outOfScopeLines(subject, explanation), paper);
    }
    case 'runner': {
      const { runner, decision } = subject;
      const title = decision
        ? `Runner ${runner} of ${keyText(decision.group)} ${decision.emit ? 'stays' : 'goes'}.`
        : `Runner ${runner}: Kubernetes shows its Job, and no RunnerGroup here has it.`;
      return paragraph(title, runnerLines(subject, explanation), paper);
    }
    default:
      return subject satisfies never;
  }
}

type Line = readonly [name: string, text: string];

/** One line; none without a text. */
function line(name: string, text: string | undefined): readonly Line[] {
  return lines(name, text ? [text] : []);
}

function lines(name: string, texts: readonly string[]): readonly Line[] {
  return texts.map((text) => [name, text]);
}

/** Without a terminal. */
const USUAL_COLUMNS = 100;

/** A bold sentence, and below it lines that begin with a word. All names from outside are made printable. */
function paragraph(title: string, below: readonly Line[], paper: Paper): string {
  return titleText(title, paper) + linesText(below, paper);
}

function titleText(title: string, paper: Paper): string {
  return broken(printable(title), paper.columns ?? USUAL_COLUMNS)
    .map((text) => `${painted('bold', text, paper)}\n`)
    .join('');
}

function linesText(below: readonly Line[], paper: Paper): string {
  const width = Math.max(20, (paper.columns ?? USUAL_COLUMNS) - 12);
  const texts = below.flatMap(([name, text]) => {
    // An address is never broken: people click on it or copy it.
    const parts = name === 'Link' ? [printable(text)] : broken(printable(text), width);
    return parts.map((part, index) => `  ${(index === 0 ? `${name}:` : '').padEnd(10)}${part}\n`);
  });
  return texts.join('');
}

/** One job in all that is known of it, several as a table: what they share is said once. */
function jobsText({ jobs, run }: SubjectThat<'jobs'>, explanation: Explanation, paper: Paper): string {
  const [first] = jobs;
  if (first === undefined) return '';
  const title = run ? runTitle(run) : `Unfinished jobs of ${first.job.repository}: ${jobs.length}.`;
  const ofRun = jobs.length > 1 || run ? [titleText(title, paper)] : [];
  if (jobs.length === 1) {
    const { job, state } = first;
    const ofJob = `Job ${job.id} "${job.name}" of ${job.repository} ${STATE_WORDS[state]}.`;
    return [...ofRun, paragraph(ofJob, jobLines(first, explanation, run), paper)].join('\n');
  }
  const tableOfJobs = jobTable({ ...explanation, jobs }, { ...paper, isOfRun: true });
  return [...ofRun, tableOfJobs, linesText(runLines(jobs, explanation, run), paper)].join('\n');
}

function runLines(jobs: readonly ExplainedJob[], explanation: Explanation, run: Run | undefined): readonly Line[] {
  const groupsOf = (some: readonly ExplainedJob[]): readonly ExplainedGroup[] => [
    ...new Set(some.flatMap((job) => (job.elsewhere ? [] : (groupOf(job, explanation) ?? [])))),
  ];
  const next = [...new Set(jobs.flatMap((job) => nextSteps(job, explanation)))];
  const [first] = jobs;
  return [
    ...(jobs.some(isNotCovered) ? brokenLines(explanation) : []),
    ...lines('Group', groupsOf(jobs).map(groupText)),
    ...groupsOf(jobs.filter(waitsForSlot)).flatMap((group) => slotLines(group, explanation)),
    ...lines('Next', firstLines(next, MOST_TOLD)),
    ...line('One job', `gitea-runners explain ${first?.job.id} says since when, and how its pod is`),
    ...line('Link', run?.url || first?.job.url.replace(/\/jobs\/\d+$/, '')),
  ];
}

function runTitle({ repository, number, workflow, event, branch, status, conclusion }: Run): string {
  const of = [workflow, event, ...(branch === '' ? [] : [`branch ${branch}`])].join(', ');
  // Gitea's API says `waiting` for what is blocked.
  const word = status === 'waiting' ? 'blocked' : status.replace('_', ' ');
  return `Run ${repository}#${number} (${of}): ${conclusion ?? word}`;
}

const STATE_WORDS: Readonly<Record<JobState, string>> = {
  unserved: 'is unserved: it gets no runner until somebody acts',
  held: 'is held back',
  starting: 'waits for its runner',
  blocked: 'is blocked in Gitea',
  running: 'runs',
};

function jobLines(job: ExplainedJob, explanation: Explanation, run: Run | undefined): readonly Line[] {
  const nowMs = Date.parse(explanation.checkedAt);
  const live = explanation.liveJobs?.find(({ name }) => name === runnerOf(job));
  const group = groupOf(job, explanation);
  const next = nextSteps(job, explanation);
  const wait = job.state === 'starting' ? 'wait: its runner takes it as soon as it has registered' : 'wait';
  const nothing = job.verdict === 'running' ? 'nothing: it runs' : wait;
  return [
    ...line('Cause', verdictText(job, nowMs, emittedRunners(explanation))),
    ...line('Since', sinceText(job.job, nowMs)),
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

/** The runner of a job, or the last one that it had. */
function runnerOf(job: ExplainedJob): string | undefined {
  return job.verdict === 'served' ? job.runner : (job.ended?.runner ?? job.job.runner);
}

function nextSteps(job: ExplainedJob, { groups, runners }: Explanation): readonly string[] {
  const decision = runners.find(({ runner }) => runner === runnerOf(job));
  const last = runners.find((each) => each.runner === job.ended?.runner && each !== decision);
  return [
    ...adviceFor(job, groups),
    ...askedAdvice(job),
    ...(decision?.because === 'lost' ? ['re-run the job when Gitea has failed it'] : []),
    ...[decision, last].flatMap((each) => (each ? runnerAdvice(each) : [])),
  ];
}

/** What helps somebody who asks about this job; the table does not say it for each. */
function askedAdvice(job: ExplainedJob): readonly string[] {
  if (job.isActionsOff) return [];
  if (job.verdict === 'held' && job.because === 'blocked') return blockedAdvice(job);
  // How its last runner failed comes first: to wait helps nobody then.
  return job.notCreated && !job.notCreated.isUnserved && !job.ended ? [job.notCreated.next] : [];
}

function waitsForSlot(job: ExplainedJob): boolean {
  return job.verdict === 'held' && job.because === 'cap' && job.cap !== 0;
}

/** A job that no group covers may be meant for one that is broken. */
function brokenLines({ where }: Explanation): readonly Line[] {
  const texts = (where?.broken ?? []).map(
    ({ group, problem }) => `RunnerGroup ${group} cannot be served, so it does not count: ${problem}`,
  );
  return lines('But', texts.slice(0, MOST_TOLD));
}

/** Which runners hold the slots of a full group, those that block others first. */
function slotLines(group: ExplainedGroup, explanation: Explanation): readonly Line[] {
  const { groups, checkedAt } = explanation;
  const rank = ({ trouble, because }: EmittedRunner): number => (trouble ? 0 : because === 'debugging' ? 1 : 2);
  const holders = [...emittedRunners(explanation).values()]
    .filter((each) => isSame(each.group, group) && takesPlace(each))
    .sort((a, b) => rank(a) - rank(b));
  const texts = holders.map((each) => {
    const why = each.trouble && `its pod cannot start: ${troubleText(each.trouble)}`;
    return `${each.runner} ${why ?? runnerText(each, groups, Date.parse(checkedAt))}`;
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
  const labels = job.labels.length === 0 ? 'no runs-on' : `runs-on ${job.labels.join(', ')}`;
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
function podText({ state, createdAtMs, end, ...live }: LiveJob, nowMs: number): string {
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

function groupText(group: ExplainedGroup): string {
  const { cap, held, suspended, scope, gitea } = group;
  const slots = slotsText(group);
  const runners = `${runnersIn(group)} of ${cap} runners${slots === '' ? '' : ` (${slots})`}`;
  return `${keyText(group)}${suspended ? ' (suspended)' : ''}: ${runners}, ${count(held, 'job')} held back; ${scope} at ${gitea}`;
}

function groupOf(job: ExplainedJob, { groups }: Explanation): ExplainedGroup | undefined {
  return findGroup(groupOfJob(job), groups);
}

function finishedText({ jobs, run }: SubjectThat<'finished'>, { checkedAt }: Explanation, paper: Paper): string {
  const nowMs = Date.parse(checkedAt);
  const title = run
    ? `${runTitle(run)}. None of its jobs waits for a runner.`
    : 'It has finished: it waits for nothing.';
  const told = jobs.slice(0, MOST_TOLD).flatMap(({ id, name, completedAtMs, conclusion, runner }) => {
    const ended = completedAtMs === undefined ? '' : ` ${duration(nowMs - completedAtMs)} ago`;
    const on = runner === undefined ? '' : ` on ${runner}`;
    return line(`Job ${id}`, `"${name}" ${CONCLUDED[conclusion ?? 'success']}${ended}${on}`);
  });
  return paragraph(title, [...told, ...line('Link', run?.url || jobs[0]?.url)], paper);
}

const CONCLUDED: Readonly<Record<NonNullable<Job['conclusion']> | 'success', string>> = {
  success: 'finished',
  failure: 'failed',
  cancelled: 'was cancelled',
  skipped: 'was skipped: its condition was false, or a job that it needs did not succeed;',
};

function groupTitle(group: ExplainedGroup): string {
  const { suspended, held, cap } = group;
  const what = `RunnerGroup ${keyText(group)}`;
  if (suspended) return `${what} is suspended: it starts no runners.`;
  if (cap === 0) return `${what} starts no runners: its cap is 0.`;
  return held > 0 ? `${what} holds back ${count(held, 'job')}.` : `${what} holds nothing back.`;
}

function groupLines(group: ExplainedGroup, explanation: Explanation): readonly Line[] {
  const of = explanation.jobs.filter((job) => groupOf(job, explanation) === group);
  const jobs = JOB_STATES.flatMap((state) => {
    const some = of.filter((job) => job.state === state).length;
    return some > 0 ? [`${some} ${state}`] : [];
  });
  const runners = [...emittedRunners(explanation).values()].filter((each) => isSame(each.group, group));
  const pods = runners.flatMap(({ runner, trouble }) => (trouble ? [`${runner}: ${troubleText(trouble)}`] : []));
  const next = of
    .flatMap((job) => adviceFor(job, explanation.groups))
    .concat(runners.filter(({ trouble }) => trouble).flatMap(runnerAdvice));
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

function outOfScopeLines({ repository }: SubjectThat<'out-of-scope'>, explanation: Explanation): readonly Line[] {
  const { groups } = explanation;
  const scopes = groups.slice(0, MOST_TOLD).map((group) => `${keyText(group)} has ${group.scope} at ${group.gitea}`);
  const more = groups.length > MOST_TOLD ? [`and ${groups.length - MOST_TOLD} more`] : [];
  const next = `add a RunnerGroup whose scope has ${repository}, or look where its RunnerGroup is: other files, another namespace (-A), another cluster`;
  return [
    ...line('Cause', `the scope of no RunnerGroup has ${repository}, so nothing here starts a runner for it`),
    ...lines('Evidence', [[...scopes, ...more].join('; ')]),
    ...brokenLines(explanation),
    ...line('Next', next),
  ];
}

function runnerLines({ runner, decision, live }: SubjectThat<'runner'>, explanation: Explanation): readonly Line[] {
  const nowMs = Date.parse(explanation.checkedAt);
  const { job, state } =
    explanation.jobs.find((each) => (each.verdict === 'served' ? each.runner : each.job.runner) === runner) ?? {};
  return [
    ...line('Cause', decision && runnerText(decision, explanation.groups, nowMs)),
    ...line('Pod', live && podText(live, nowMs)),
    ...line('CI job', job && `${job.id} "${job.name}" of ${job.repository}: ${state}`),
    ...lines('Next', decision ? runnerAdvice(decision) : []),
    ...line('Link', job?.url),
  ];
}
