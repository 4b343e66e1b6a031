/**
 * `explain WHAT` for people: cause, since when, evidence, next step and link in a short paragraph; details below. A pure function of the
 * explanation. The text of each decision is that of the table (explain-text.ts).
 */
import type { Run } from '../../clients/gitea/runs.ts';
import type { Job } from '../../planner/evidence.ts';
import { keyText } from '../../shared/key-text.ts';
import { count, firstLines } from '../../shared/printable.ts';
import type { Paper } from '../../shared/terminal.ts';
import { adviceFor, runnerAdvice, slotsText } from '../advice.ts';
import { duration } from '../duration.ts';
import { jobTable, runnerText, troubleText, verdictText } from '../explain-text.ts';
import {
  type ExplainedGroup,
  type ExplainedJob,
  type Explanation,
  emittedRunners,
  findGroup,
  groupOfJob,
} from '../explanation.ts';
import { runnersIn } from '../runner-counts.ts';
import { blockedAdvice } from './blocked.ts';
import { jobEvidence, podText, sinceText } from './evidence.ts';
import { JOB_STATES } from './job-state.ts';
import { type Line, linesText, paragraph, titleText } from './paragraph.ts';
import { slotLines } from './slots.ts';
import type { Subject } from './subject.ts';

/** Groups, runners and steps that are told one by one. */
const MOST_JOBS = 5;
export function answerText(subject: Subject, explanation: Explanation, paper: Paper): string {
  switch (subject.is) {
    case 'jobs':
      return jobsText(subject, explanation, paper);
    case 'finished':
      return finishedText(subject, explanation, paper);
    case 'group':
      return paragraph(groupTitle(subject.group), groupLines(subject.group, explanation), paper);
    case 'broken':
      return paragraph(
        `RunnerGroup ${subject.group} cannot be served: it is not valid.`,
        [
          ['Evidence', subject.problem],
          ['Next', 'correct it in git; gitea-runners validate shows the line'],
        ],
        paper,
      );
    case 'out-of-scope':
      return paragraph(
        `No RunnerGroup here has jobs of ${subject.repository}.`,
        outOfScopeLines(subject, explanation),
        paper,
      );
    case 'runner':
      return paragraph(runnerTitle(subject), runnerLines(subject, explanation), paper);
    default:
      return subject satisfies never;
  }
}

/** One job in all that is known of it, several as a table: what they share is said once. */
function jobsText({ jobs, run }: Subject & { readonly is: 'jobs' }, explanation: Explanation, paper: Paper): string {
  const [first] = jobs;
  if (first === undefined) return '';
  const title = run ? runTitle(run) : `Unfinished jobs of ${first.job.repository}: ${jobs.length}.`;
  const ofRun = jobs.length > 1 || run ? [titleText(title, paper)] : [];
  if (jobs.length === 1)
    return [...ofRun, paragraph(jobTitle(first), jobLines(first, explanation, run), paper)].join('\n');
  const tableOfJobs = jobTable({ ...explanation, jobs }, { ...paper, isOfRun: true });
  return [...ofRun, tableOfJobs, linesText(runLines(jobs, explanation, run), paper)].join('\n');
}

/** Below the table of a run. */
function runLines(jobs: readonly ExplainedJob[], explanation: Explanation, run: Run | undefined): readonly Line[] {
  const groupsOf = (some: readonly ExplainedJob[]): readonly ExplainedGroup[] => [
    ...new Set(some.flatMap((job) => (job.elsewhere ? [] : (groupOf(job, explanation) ?? [])))),
  ];
  const next = [...new Set(jobs.flatMap((job) => nextSteps(job, explanation)))];
  const url = run?.url || (jobs[0]?.job.url.replace(/\/jobs\/\d+$/, '') ?? '');
  return [
    ...(jobs.some((job) => notCounted(job, explanation).length > 0) ? brokenLines(explanation) : []),
    ...groupsOf(jobs).map((group): Line => ['Group', groupText(group)]),
    ...groupsOf(jobs.filter(waitsForSlot)).flatMap((group) => slotLines(group, explanation).map(slotLine)),
    ...firstLines(next, MOST_JOBS).map((text): Line => ['Next', text]),
    ['One job', `gitea-runners explain ${jobs[0]?.job.id} says since when, and how its pod is`],
    ...(url === '' ? [] : [['Link', url] as const]),
  ];
}

function runTitle({ repository, number, workflow, event, branch, status, conclusion }: Run): string {
  const of = [workflow, event, ...(branch === '' ? [] : [`branch ${branch}`])].join(', ');
  return `Run ${repository}#${number} (${of}): ${conclusion ?? statusWord(status)}`;
}

/** Gitea's API says `waiting` for what is blocked. */
function statusWord(status: string): string {
  return status === 'waiting' ? 'blocked' : status.replace('_', ' ');
}

function jobTitle({ job, state }: ExplainedJob): string {
  return `Job ${job.id} "${job.name}" of ${job.repository} ${STATE_WORDS[state]}.`;
}

const STATE_WORDS: Readonly<Record<(typeof JOB_STATES)[number], string>> = {
  unserved: 'is unserved: it gets no runner until somebody acts',
  held: 'is held back',
  starting: 'waits for its runner',
  blocked: 'is blocked in Gitea',
  running: 'runs',
};

/** The runner of a job, or the last one that it had. */
function runnerOf(job: ExplainedJob): string | undefined {
  return job.verdict === 'served' ? job.runner : (job.ended?.runner ?? job.job.runner);
}

function nextSteps(job: ExplainedJob, explanation: Explanation): readonly string[] {
  const decision = explanation.runners.find((each) => each.runner === runnerOf(job));
  const last = explanation.runners.find((each) => each.runner === job.ended?.runner && each !== decision);
  return [
    ...adviceFor(job, groupOf(job, explanation)),
    ...askedAdvice(job),
    ...(decision?.because === 'lost' ? ['re-run the job when Gitea has failed it'] : []),
    ...[decision, last].flatMap((each) => (each ? runnerAdvice(each) : [])),
  ];
}

const slotLine = (text: string): Line => ['Slot', text];

function jobLines(job: ExplainedJob, explanation: Explanation, run: Run | undefined): readonly Line[] {
  const nowMs = Date.parse(explanation.checkedAt);
  const live = explanation.liveJobs?.find(({ name }) => name === runnerOf(job));
  const group = groupOf(job, explanation);
  const slots = waitsForSlot(job) && group ? slotLines(group, explanation) : [];
  const next = nextSteps(job, explanation);
  return [
    ['Cause', verdictText(job, nowMs, emittedRunners(explanation))],
    ['Since', sinceText(job.job, nowMs)],
    ['Evidence', jobEvidence(job, run)],
    ...notCounted(job, explanation),
    // The nearest group has nothing to do with labels that others have.
    ...(group && !job.elsewhere ? [['Group', groupText(group)] as const] : []),
    ...slots.map(slotLine),
    ...(live ? [['Pod', podText(live, nowMs)] as const] : []),
    ...(next.length > 0 ? next.map((text) => ['Next', text] as const) : [['Next', nothingToDo(job)] as const]),
    ...linkLine(job.job),
  ];
}

function waitsForSlot(job: ExplainedJob): boolean {
  return job.verdict === 'held' && job.because === 'cap' && job.cap !== 0;
}

/** What helps somebody who asks about this job; the table does not say it for each. */
function askedAdvice(job: ExplainedJob): readonly string[] {
  if (job.isActionsOff) return [];
  if (job.verdict === 'held' && job.because === 'blocked') return blockedAdvice(job);
  // How its last runner failed comes first: to wait helps nobody then.
  return job.notCreated && !job.notCreated.isUnserved && !job.ended ? [job.notCreated.next] : [];
}

/** A job that no group covers may be meant for one that is broken. */
function notCounted(job: ExplainedJob, explanation: Explanation): readonly Line[] {
  return job.verdict === 'held' && job.because === 'labels-not-covered' ? brokenLines(explanation) : [];
}

function brokenLines({ where }: Explanation): readonly Line[] {
  return (where?.broken ?? [])
    .slice(0, MOST_JOBS)
    .map(({ group, problem }) => ['But', `RunnerGroup ${group} cannot be served, so it does not count: ${problem}`]);
}

function groupText(group: ExplainedGroup): string {
  const { cap, held, suspended, scope, gitea } = group;
  const slots = slotsText(group);
  const runners = `${runnersIn(group)} of ${cap} runners${slots === '' ? '' : ` (${slots})`}`;
  return `${keyText(group)}${suspended ? ' (suspended)' : ''}: ${runners}, ${count(held, 'job')} held back; ${scope} at ${gitea}`;
}

function nothingToDo({ state, verdict }: ExplainedJob): string {
  if (verdict === 'running') return 'nothing: it runs';
  return state === 'starting' ? 'wait: its runner takes it as soon as it has registered' : 'wait';
}

function linkLine({ url }: Job): readonly Line[] {
  return url === '' ? [] : [['Link', url]];
}

function groupOf(job: ExplainedJob, { groups }: Explanation): ExplainedGroup | undefined {
  return findGroup(groupOfJob(job), groups);
}

function finishedText(
  { jobs, run }: Subject & { readonly is: 'finished' },
  { checkedAt }: Explanation,
  paper: Paper,
): string {
  const nowMs = Date.parse(checkedAt);
  const title = run
    ? `${runTitle(run)}. None of its jobs waits for a runner.`
    : 'It has finished: it waits for nothing.';
  const lines = jobs.slice(0, MOST_JOBS).map((job): Line => {
    const ended = job.completedAtMs === undefined ? '' : ` ${duration(nowMs - job.completedAtMs)} ago`;
    const on = job.runner === undefined ? '' : ` on ${job.runner}`;
    return [`Job ${job.id}`, `"${job.name}" ${CONCLUDED[job.conclusion ?? 'success']}${ended}${on}`];
  });
  const url = run?.url || jobs[0]?.url || '';
  return paragraph(title, [...lines, ...(url === '' ? [] : [['Link', url] as const])], paper);
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
  const key = keyText(group);
  const of = explanation.jobs.filter((job) => groupOf(job, explanation) === group);
  const states = JOB_STATES.map((state) => [of.filter((job) => job.state === state).length, state] as const);
  const jobs = states.filter(([some]) => some > 0).map(([some, state]) => `${some} ${state}`);
  const troubled = explanation.runners.filter((each) => keyText(each.group) === key && each.emit && each.trouble);
  const next = [...new Set([...of.flatMap((job) => adviceFor(job, group)), ...troubled.flatMap(runnerAdvice)])];
  const status = explanation.where?.statuses.find((each) => each.group === key);
  return [
    ['Runners', groupText(group)],
    ['Jobs', jobs.join(', ') || 'none is queued or running'],
    ['Labels', group.labels.join(', ')],
    ...troubled
      .slice(0, MOST_JOBS)
      .map((each): Line => ['Pod', `${each.runner}: ${each.emit && each.trouble ? troubleText(each.trouble) : ''}`]),
    ...(status?.notReady === undefined ? [] : [['Status', status.notReady] as const]),
    ...next.slice(0, MOST_JOBS).map((text): Line => ['Next', text]),
    ['File', group.file],
  ];
}

function outOfScopeLines(
  { repository }: Subject & { readonly is: 'out-of-scope' },
  explanation: Explanation,
): readonly Line[] {
  const { groups } = explanation;
  const scopes = groups.slice(0, MOST_JOBS).map((group) => `${keyText(group)} has ${group.scope} at ${group.gitea}`);
  const more = groups.length > MOST_JOBS ? [`and ${groups.length - MOST_JOBS} more`] : [];
  return [
    ['Cause', `the scope of no RunnerGroup has ${repository}, so nothing here starts a runner for it`],
    ['Evidence', [...scopes, ...more].join('; ')],
    ...brokenLines(explanation),
    [
      'Next',
      `add a RunnerGroup whose scope has ${repository}, or look where its RunnerGroup is: other files, another namespace (-A), another cluster`,
    ],
  ];
}

function runnerTitle({ runner, decision }: Subject & { readonly is: 'runner' }): string {
  if (!decision) return `Runner ${runner}: Kubernetes shows its Job, and no RunnerGroup here has it.`;
  return `Runner ${runner} of ${keyText(decision.group)} ${decision.emit ? 'stays' : 'goes'}.`;
}

function runnerLines(
  { runner, decision, live }: Subject & { readonly is: 'runner' },
  explanation: Explanation,
): readonly Line[] {
  const nowMs = Date.parse(explanation.checkedAt);
  const job = explanation.jobs.find((each) => (each.verdict === 'served' ? each.runner : each.job.runner) === runner);
  const next = decision ? runnerAdvice(decision) : [];
  return [
    ...(decision ? [['Cause', runnerText(decision, explanation.groups, nowMs)] as const] : []),
    ...(live ? [['Pod', podText(live, nowMs)] as const] : []),
    ...(job ? [['CI job', `${job.job.id} "${job.job.name}" of ${job.job.repository}: ${job.state}`] as const] : []),
    ...next.map((text): Line => ['Next', text]),
    ...(job ? linkLine(job.job) : []),
  ];
}
