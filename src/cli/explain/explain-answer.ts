/** Formats `explain WHAT` for people, as a short paragraph. Pure. Decisions have the same text as in the table (causes.ts). */
import {
  aroundLines,
  askText,
  groupLines,
  groupTitle,
  jobLines,
  type Line,
  line,
  lines,
  MOST_TOLD,
  nextSteps,
  podText,
  STATE_WORDS,
} from '../../answers/answer.ts';
import { advicesFor } from '../../answers/causes.ts';
import { brokenFor } from '../../answers/explanation.ts';
import type { ExplainedJob, Explanation } from '../../answers/model.ts';
import { brokenAdvice } from '../../answers/reasons.ts';
import { jobOfRunner, runnerSentences } from '../../answers/runner-answer.ts';
import type { Run } from '../../clients/gitea/runs.ts';
import type { Job } from '../../planner/evidence.ts';
import { type Paper, painted } from '../../shared/io.ts';
import { keyText } from '../../shared/keys.ts';
import { duration, firstLines, printable } from '../../shared/printable.ts';
import { splitIntoLines } from '../../shared/table.ts';
import { jobTable } from './explain-text.ts';
import type { Subject } from './subject.ts';

type SubjectThat<Is extends Subject['is']> = Subject & { readonly is: Is };

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
      const title = `RunnerGroup ${subject.group} cannot be served.`;
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

/** Width without a terminal. */
const USUAL_COLUMNS = 100;

/** A bold sentence, and below it lines that begin with a word. All names from outside are made printable. */
function paragraph(title: string, below: readonly Line[], paper: Paper): string {
  return titleText(title, paper) + linesText(below, paper);
}

function titleText(title: string, paper: Paper): string {
  return splitIntoLines(printable(title), paper.columns ?? USUAL_COLUMNS)
    .map((text) => `${painted('bold', text, paper)}\n`)
    .join('');
}

function linesText(below: readonly Line[], paper: Paper): string {
  const width = Math.max(20, (paper.columns ?? USUAL_COLUMNS) - 12);
  const texts = below.flatMap(([name, text]) =>
    splitIntoLines(printable(text), width).map((part, at) => `  ${(at === 0 ? `${name}:` : '').padEnd(10)}${part}\n`),
  );
  return texts.join('');
}

/** Describes one job with all details, or several as a table: common facts are printed once. */
function jobsText({ jobs, run }: SubjectThat<'jobs'>, explanation: Explanation, paper: Paper): string {
  const [first] = jobs;
  if (first === undefined) return '';
  const title = run ? runTitle(run) : `Unfinished jobs of ${first.job.repository}: ${jobs.length}.`;
  const ofRun = jobs.length > 1 || run ? [titleText(title, paper)] : [];
  if (jobs.length === 1) {
    const { job, state } = first;
    const ofJob = `Job ${job.id} "${job.name}" of ${job.repository} ${STATE_WORDS[state]}.`;
    // The pod may wait for a task of `serve`.
    const status = explanation.where?.statuses.find((each) => state === 'starting' && each.group === groupKey(first));
    const all = [...jobLines(first, explanation, run), ...line('Status', status?.notReady)];
    return [...ofRun, paragraph(ofJob, all, paper)].join('\n');
  }
  const tableOfJobs = jobTable({ ...explanation, jobs }, { ...paper, isOfRun: true });
  return [...ofRun, tableOfJobs, linesText(runLines(jobs, explanation, run), paper)].join('\n');
}

function groupKey(job: ExplainedJob): string {
  return 'group' in job && job.group ? keyText(job.group) : '';
}

function runLines(jobs: readonly ExplainedJob[], explanation: Explanation, run: Run | undefined): readonly Line[] {
  const next = advicesFor(jobs, nextSteps(explanation));
  const [first] = jobs;
  return [
    ...aroundLines(jobs, explanation),
    ...lines('Next', firstLines(next, MOST_TOLD)),
    ...(next.length > 0 ? line('Ask', askText(explanation)) : []),
    ...line('One job', `gitea-runners explain ${first?.job.id} says since when, and how its pod is`),
    ...line('Link', run?.url || first?.job.url.replace(/\/jobs\/\d+$/, '')),
  ];
}

function runTitle({ actor, branch, conclusion, event, number, repository, status, workflow }: Run): string {
  const trigger = actor ? `${event} by ${actor}` : event;
  const details = [workflow, trigger, ...(branch === '' ? [] : [`branch ${branch}`])].join(', ');
  // Gitea's API says `waiting` for a blocked job.
  const word = status === 'waiting' ? 'blocked' : status.replace('_', ' ');
  return `Run ${repository}#${number} (${details}): ${conclusion ?? word}`;
}

function finishedText({ jobs, run }: SubjectThat<'finished'>, { checkedAt }: Explanation, paper: Paper): string {
  const nowMs = Date.parse(checkedAt);
  const title = run
    ? `${runTitle(run)}. None of its jobs waits for a runner.`
    : 'It has finished: it waits for nothing.';
  const jobTexts = jobs.slice(0, MOST_TOLD).flatMap(({ id, name, completedAtMs, conclusion, runner }) => {
    const endedText = completedAtMs === undefined ? '' : ` ${duration(nowMs - completedAtMs)} ago`;
    const on = runner === undefined ? '' : ` on ${runner}`;
    return line(`Job ${id}`, `"${name}" ${CONCLUDED[conclusion ?? 'success']}${endedText}${on}`);
  });
  return paragraph(title, [...jobTexts, ...line('Link', run?.url || jobs[0]?.url)], paper);
}

const CONCLUDED: Readonly<Record<NonNullable<Job['conclusion']> | 'success', string>> = {
  success: 'finished',
  failure: 'failed',
  cancelled: 'was cancelled',
  skipped: 'was skipped: its condition was false, or a job that it needs did not succeed;',
};

function outOfScopeLines({ repository }: SubjectThat<'out-of-scope'>, explanation: Explanation): readonly Line[] {
  const { groups } = explanation;
  const scopes = groups.slice(0, MOST_TOLD).map((group) => `${keyText(group)} has ${group.scope} at ${group.gitea}`);
  const restLine = groups.length > MOST_TOLD ? [`and ${groups.length - MOST_TOLD} more`] : [];
  const next = `add a RunnerGroup whose scope has ${repository}, or look where its RunnerGroup is: other files, another namespace (-A), another cluster`;
  const [broken] = brokenFor(repository, explanation.where);
  const noScope = `the scope of no RunnerGroup has ${repository}, so nothing here starts a runner for it`;
  return [
    ...line(
      'Cause',
      broken ? `RunnerGroup ${broken.group} may have ${repository}, and cannot be served: ${broken.problem}` : noScope,
    ),
    ...lines('Evidence', [[...scopes, ...restLine].join('; ')]),
    ...line('Next', broken ? brokenAdvice(broken) : next),
  ];
}

function runnerLines({ runner, decision, live }: SubjectThat<'runner'>, explanation: Explanation): readonly Line[] {
  const nowMs = Date.parse(explanation.checkedAt);
  const { job, state } = jobOfRunner(explanation, runner) ?? {};
  const { cause, nextSteps: steps } = runnerSentences({ runner, decision, live }, explanation);
  return [
    ...line('Cause', cause),
    ...line('Pod', live && podText(live, nowMs)),
    ...line('CI job', job && `${job.id} "${job.name}" of ${job.repository}: ${state}`),
    ...lines('Next', steps),
    ...line('Link', job?.url),
  ];
}
