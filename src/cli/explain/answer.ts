/**
 * `explain WHAT` for people: cause, since when, evidence, next step and link in a short paragraph; details below. A pure function of the
 * explanation. The text of each decision is that of the table (explain-text.ts).
 */
import type { Run } from '../../gitea/runs.ts';
import type { Job, LiveJob } from '../../plan/evidence.ts';
import { count, printable } from '../../printable.ts';
import { adviceFor, keyText, runnerAdvice } from '../advice.ts';
import { duration } from '../duration.ts';
import { runnerText, troubleText, verdictText } from '../explain-text.ts';
import type { ExplainedGroup, ExplainedJob, Explanation } from '../explanation.ts';
import { broken } from '../table.ts';
import { type Paper, painted } from '../terminal.ts';
import { JOB_STATES } from './job-state.ts';
import type { Subject } from './subject.ts';

/** One line of a paragraph: `Since`, `Next`. */
type Line = readonly [name: string, text: string];

/** Jobs of a run that are told one by one; the others are counted. */
const MOST_JOBS = 5;
/** Without a terminal. */
const USUAL_COLUMNS = 100;

export function answerText(subject: Subject, explanation: Explanation, paper: Paper): string {
  switch (subject.is) {
    case 'jobs': {
      const told = subject.jobs.slice(0, MOST_JOBS);
      const rest = subject.jobs.length - told.length;
      return [
        ...(subject.run ? [`${runTitle(subject.run)}\n`] : []),
        ...told.map((job) => paragraph(jobTitle(job), jobLines(job, explanation, subject.run), paper)),
        ...(rest > 0 ? [`… and ${count(rest, 'more unfinished job')} of this run.\n`] : []),
      ].join('\n');
    }
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
    case 'runner':
      return paragraph(runnerTitle(subject), runnerLines(subject, explanation), paper);
    default:
      return subject satisfies never;
  }
}

/** A bold sentence, and below it lines that begin with a word. */
function paragraph(title: string, lines: readonly Line[], paper: Paper): string {
  const width = (paper.columns ?? USUAL_COLUMNS) - 12;
  const body = lines.flatMap(([name, text]) =>
    // An address is never broken: people click on it or copy it.
    (name === 'Link' ? [printable(text)] : broken(printable(text), Math.max(20, width))).map(
      (part, index) => `  ${(index === 0 ? `${name}:` : '').padEnd(10)}${part}`,
    ),
  );
  return [
    ...broken(printable(title), paper.columns ?? USUAL_COLUMNS).map((line) => painted('bold', line, paper)),
    ...body,
  ]
    .map((line) => `${line}\n`)
    .join('');
}

function runTitle({ repository, number, workflow, event, branch, status, conclusion }: Run): string {
  const of = [workflow, event, ...(branch === '' ? [] : [`branch ${branch}`])].join(', ');
  return printable(`Run ${repository}#${number} (${of}): ${conclusion ?? statusWord(status)}`);
}

/** Gitea's API says `waiting` for what is blocked. */
function statusWord(status: string): string {
  return status === 'waiting' ? 'blocked' : status.replace('_', ' ');
}

function jobTitle({ job, state }: ExplainedJob): string {
  return `Job ${job.id} "${job.name}" of ${job.repository} ${STATE_WORDS[state]}.`;
}

const STATE_WORDS: Readonly<Record<(typeof JOB_STATES)[number], string>> = {
  stuck: 'is stuck: it gets no runner until somebody acts',
  held: 'is held back',
  starting: 'waits for its runner',
  blocked: 'is blocked in Gitea',
  running: 'runs',
};

function jobLines(job: ExplainedJob, explanation: Explanation, run: Run | undefined): readonly Line[] {
  const nowMs = Date.parse(explanation.checkedAt);
  const emitted = new Map(explanation.runners.flatMap((each) => (each.emit ? [[each.runner, each] as const] : [])));
  const runner = job.verdict === 'served' ? job.runner : (job.job.runner ?? failedRunnerOf(job, explanation));
  const decision = explanation.runners.find((each) => each.runner === runner);
  const live = explanation.liveJobs?.find(({ name }) => name === runner);
  const group = groupOf(job, explanation);
  const next = [...adviceFor(job, group), ...(decision ? runnerAdvice(decision) : [])];
  return [
    ['Cause', verdictText(job, nowMs, emitted)],
    ['Since', sinceText(job.job, nowMs)],
    ['Evidence', jobEvidence(job, run)],
    ...(group ? [['Group', groupText(group)] as const] : []),
    ...(live ? [['Pod', podText(live, nowMs)] as const] : []),
    ...(next.length > 0 ? next.map((text) => ['Next', text] as const) : [['Next', nothingToDo(job)] as const]),
    ...linkLine(job.job),
  ];
}

/** The newest record of a runner that was made for this job and failed. Its name holds the id of the job. */
function failedRunnerOf(job: ExplainedJob, { runners }: Explanation): string | undefined {
  if (job.verdict !== 'held' || job.because !== 'backing-off') return undefined;
  return runners.findLast(({ because, runner }) => because === 'back-off-record' && runner.includes(`-${job.job.id}-`))
    ?.runner;
}

function sinceText({ createdAtMs, startedAtMs, status }: Job, nowMs: number): string {
  if (status === 'in_progress' && startedAtMs !== undefined)
    return `it has run for ${duration(nowMs - startedAtMs)} (since ${timeText(startedAtMs)})`;
  return `it was created ${duration(nowMs - createdAtMs)} ago (${timeText(createdAtMs)}); Gitea does not tell when it became ready`;
}

/** `2026-11-21 12:00:00 UTC` */
function timeText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

function jobEvidence({ job, runHas = [], estimate, position }: ExplainedJob, run: Run | undefined): string {
  const labels = job.labels.length === 0 ? 'no runs-on' : `runs-on ${job.labels.join(', ')}`;
  const attempt = job.attempt > 1 ? `, attempt ${job.attempt}` : '';
  const facts = [`Gitea says ${job.status.replace('_', ' ')}, ${labels}${attempt}`];
  if (position !== undefined && estimate)
    facts.push(`the estimate is made from ${count(estimate.samples, 'finished job')}`);
  if (job.status === 'blocked') facts.push(blockedEvidence(runHas.length, run));
  return facts.join('; ');
}

function blockedEvidence(others: number, run: Run | undefined): string {
  if (others > 0) return "Gitea's API does not tell which of them it needs; the graph on the page of the run does";
  const likely = run?.event.startsWith('pull_request')
    ? 'the run is of a pull request, so an approval is likely; '
    : '';
  return `${likely}Gitea's API tells neither the concurrency group nor a missing approval; the page of the run shows both`;
}

function groupText({
  namespace,
  name,
  busy,
  waiting,
  spare,
  cap,
  held,
  suspended,
  scope,
  gitea,
}: ExplainedGroup): string {
  const runners = `${busy + waiting + spare} of ${cap} runners (${busy} busy, ${waiting} starting${spare > 0 ? `, ${spare} spare` : ''})`;
  return `${namespace}/${name}${suspended ? ' (suspended)' : ''}: ${runners}, ${count(held, 'job')} held back; ${scope} at ${gitea}`;
}

/** `its Job was created 3m12s ago; the pod is starting: ImagePullBackOff: …` */
function podText({ state, createdAtMs, trouble }: LiveJob, nowMs: number): string {
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

function nothingToDo({ state, verdict, job }: ExplainedJob): string {
  if (verdict === 'running') return 'nothing: it runs';
  if (job.status === 'blocked')
    return 'open the page of the run: it shows what it needs, and a button when it waits for approval';
  return state === 'starting' ? 'wait: its runner takes it as soon as it has registered' : 'wait';
}

function linkLine({ url }: Job): readonly Line[] {
  return url === '' ? [] : [['Link', url]];
}

function groupOf(job: ExplainedJob, { groups }: Explanation): ExplainedGroup | undefined {
  const key = job.verdict === 'held' ? (job.group ?? job.nearest) : job.group;
  return key && groups.find(({ namespace, name }) => namespace === key.namespace && name === key.name);
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
    return [`Job ${job.id}`, `"${job.name}" finished${ended}${on}`];
  });
  const url = run?.url || jobs[0]?.url || '';
  return paragraph(title, [...lines, ...(url === '' ? [] : [['Link', url] as const])], paper);
}

function groupTitle({ namespace, name, suspended, held, cap }: ExplainedGroup): string {
  const what = `RunnerGroup ${namespace}/${name}`;
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
