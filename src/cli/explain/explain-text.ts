/** `explain` for people: a pure function of what `explain --json` prints. All names from outside are made printable. */
import { askText, downFor, stuckAdvice, toldWith } from '../../answers/answer.ts';
import { adviceFor, advicesFor, oncePerCause, verdictText } from '../../answers/causes.ts';
import type { JobState } from '../../answers/job-state.ts';
import {
  type ExplainedGroup,
  type ExplainedJob,
  type Explanation,
  emittedRunners,
  isNotCovered,
} from '../../answers/model.ts';
import { adviceOfEach, isHeldBack, reasonText } from '../../answers/reasons.ts';
import { hasLogs, isSameTrouble, troubleText } from '../../answers/remedies.ts';
import { runWords } from '../../answers/run-words.ts';
import { runnerCounts, runnersIn } from '../../answers/runner-counts.ts';
import { labelsText } from '../../answers/uncovered-labels.ts';
import { memo } from '../../planner/collections.ts';
import type { RunnerDecision } from '../../planner/decisions.ts';
import { baseName } from '../../planner/ready-since.ts';
import type { Style } from '../../shared/io.ts';
import { groupBy, isSame, keyText, stayKey } from '../../shared/keys.ts';
import { count, duration, printable, UNREAD_ADVICE, unreadText } from '../../shared/printable.ts';
import { splitIntoLines, type TableOptions, table, wrapped } from '../../shared/table.ts';
import { whereText } from '../reading/surroundings.ts';

interface ExplainOptions extends TableOptions {
  readonly wide?: boolean;
  /** True if all jobs belong to the run that is named above. */
  readonly isOfRun?: boolean;
}

/** @param all the explanation before filters: the last line is about everything */
export function explainText(
  explanation: Explanation,
  explainOptions: ExplainOptions,
  all: Explanation = explanation,
): string {
  const nowMs = Date.parse(explanation.checkedAt);
  const { groups, jobs, where } = explanation;
  const options = { ...explainOptions, whole: explainOptions.wide === true };
  const columns = options.whole ? undefined : options.columns;
  const hidden = all.jobs.length;
  const filteredOut = `No job passes the filters. They leave out ${count(hidden, 'unfinished job')}.\n`;
  const noUnfinished =
    groups.length === 0 && where && where.broken.length > 0
      ? 'No RunnerGroup can be served, so Gitea was not asked for jobs.\n'
      : 'No jobs are queued or running.\n';
  const noJobs = hidden > 0 ? filteredOut : noUnfinished;
  const causes = jobs.map((job) => job.brokenGroup?.problem ?? (job.notCreated ?? job.behindGit)?.why);
  const parts = [
    ...(where ? [wrapped(whereText(where, causes.join()), columns)] : []),
    groupTable(groups, options),
    jobs.length > 0 ? jobTable(explanation, options) : noJobs,
    ...leftoverTable(explanation, nowMs, options),
    ...adviceText(explanation, columns),
    wrapped(summary(all), columns),
  ];
  return parts.join('\n');
}

function groupTable(groups: readonly ExplainedGroup[], options: TableOptions): string {
  const isOneGitea = new Set(groups.map(({ gitea }) => gitea)).size < 2;
  const rows = groups.map((group) => [
    keyText(group),
    isOneGitea ? group.scope : `${group.gitea} ${group.scope}`,
    group.labels.join(','),
    `${group.slots === undefined ? `${runnersIn(group)} of ${group.cap}` : `${runnersIn(group)} in ${group.slots} of ${group.cap} slots`}${group.suspended ? ' (suspended)' : ''}`,
    ...[group.busy, group.waiting, group.held].map(String),
  ]);
  return table(['GROUP', 'SCOPE', 'LABELS', 'RUNNERS', 'BUSY', 'WAITING', 'HELD'], rows, options);
}

/** Formats jobs as a table: a row for each, or for several of one matrix with one cause. */
export function jobTable(explanation: Explanation, options: ExplainOptions): string {
  const { jobs, checkedAt } = explanation;
  const nowMs = Date.parse(checkedAt);
  const emitted = emittedRunners(explanation);
  // Jobs of one matrix with one cause are one row, and share their text.
  const textOf = memo((job: ExplainedJob) => verdictText(job, nowMs, emitted, true));
  const causeOf = (job: ExplainedJob): string =>
    JSON.stringify([job.origin, job.job.runId, baseName(job.job), job.job.labels, job.state, textOf(job)]);
  const causes = [...groupBy(jobs, (job) => (options.wide ? stayKey(job) : causeOf(job))).values()];
  /** The first job of a run with this text. */
  const toldBy = new Map<string, number>();
  const rows = causes.flatMap((jobsOfCause) => {
    const [first] = jobsOfCause;
    if (!first) return [];
    const { id, name, repository, createdAtMs, labels, url } = first.job;
    const ownText = jobsOfCause.length > 1 ? textOf(first) : verdictText(first, nowMs, emitted);
    const cause = JSON.stringify([first.origin, first.job.runId, textOf(first)]);
    const isRepeated = !options.wide && first.state !== 'running' && ownText.length > SHORT_TEXT;
    const seen = (isRepeated && toldBy.get(cause)) || id;
    toldBy.set(cause, seen);
    const shown = jobsOfCause.length === 1 ? name : `${baseName(first.job)} ×${jobsOfCause.length}`;
    return [
      [
        String(id),
        options.isOfRun ? shown : `${repository} ${shown}`,
        labelsText(labels, ',') || '<none>',
        duration(nowMs - createdAtMs),
        ...(options.wide ? [runWords(first.job).slice(1).join(' '), first.state, url] : []),
        seen === id ? ownText : `as job ${seen}`,
      ],
    ];
  });
  const header = ['JOB', 'NAME', 'RUNS-ON', 'AGE', ...(options.wide ? ['PUSH', 'STATE', 'LINK'] : []), 'WHAT HAPPENS'];
  return table(header, rows, { ...options, styleOf: (row) => STYLES[causes[row]?.[0]?.state ?? 'held'] });
}

/** Longer texts are told once for a run. */
const SHORT_TEXT = 40;

/** Words carry the meaning; colour only repeats it. */
const STYLES: Readonly<Record<JobState, Style>> = {
  unserved: 'red',
  held: 'yellow',
  starting: 'cyan',
  blocked: 'dim',
  running: 'green',
};

/** Runners that are seen but not needed: a reader may look for their Jobs. */
function leftoverTable({ runners, groups }: Explanation, nowMs: number, options: TableOptions): readonly string[] {
  const shownRunners = runners.filter(({ because }) => because !== 'used-up');
  const rows = shownRunners.flatMap((decision) => {
    const text = reasonText(decision, groups, nowMs);
    if (text === undefined) return [];
    const why = decision.emit && decision.trouble ? ` (${troubleText(decision.trouble)})` : '';
    return [[decision.runner, keyText(decision.group), `${text}${why}`]];
  });
  const usedUp = runners.length - shownRunners.length;
  return [
    ...(rows.length === 0 ? [] : [table(['RUNNER', 'GROUP', 'WHAT HAPPENS'], rows, options)]),
    ...(usedUp === 0 ? [] : [`Runners that have done their job: ${usedUp}.\n`]),
  ];
}

/** Returns the advice for jobs that wait for a person: a line per cause, all in one string. Empty: nobody can do anything. */
function adviceText(explanation: Explanation, columns = Number.POSITIVE_INFINITY): readonly string[] {
  const { jobs, groups, runners } = explanation;
  const unread = Math.max(0, ...groups.map(({ unreadJobs = 0 }) => unreadJobs));
  const advisedRunners = new Set(jobs.flatMap(toldWith));
  const isTold = (decision: RunnerDecision): boolean =>
    advisedRunners.has(decision.runner) || jobs.some((job) => isEndTold(job, decision));
  const stuckFor = stuckAdvice(explanation);
  const lines = [
    ...(unread > 0 ? [`${unreadText(unread)}: ${UNREAD_ADVICE}`] : []),
    ...oncePerCause([
      ...jobs.flatMap((job) =>
        isNotCovered(job) || job.isUnseen ? [] : [...stuckFor(job), ...adviceFor(job, groups)],
      ),
      ...adviceOfEach(runners.filter((each) => !isTold(each))),
      ...jobs.flatMap((job) => downFor([job], explanation)?.next ?? []),
    ]),
    // How to see more helps no job.
    ...oncePerCause(jobs.flatMap((job) => (job.isUnseen ? adviceFor(job, groups) : []))),
    // Jobs that were stopped come before jobs that no group covers.
    ...advicesFor(jobs.filter(isNotCovered), (job) => adviceFor(job, groups)),
  ];
  const folded = (line: string): string => splitIntoLines(printable(line), Math.max(20, columns - 6)).join('\n      ');
  const ask = askText(explanation);
  const asking = lines.length > 0 && ask !== undefined ? [`Ask:  ${folded(ask)}\n`] : [];
  return lines.length === 0 ? [] : [[...lines.map((line) => `Next: ${folded(line)}\n`), ...asking].join('')];
}

/** True for a runner that ended as the last one of the job, if its logs say no more than the advice for the job. */
function isEndTold({ ended, group }: ExplainedJob, decision: RunnerDecision): boolean {
  const trouble = decision.because === 'back-off-record' && decision.trouble;
  return Boolean(ended && trouble && !hasLogs(ended) && isSame(group, decision.group) && isSameTrouble(ended, trouble));
}

/** `Plan: 4 runners (4 busy, 0 for queued jobs), 3 jobs unserved (1 held back), 2 more held back, 1 blocked.` */
function summary({ groups, jobs }: Explanation): string {
  const inState = (jobState: JobState) => jobs.filter(({ state }) => state === jobState);
  const unserved = inState('unserved');
  const [held, both] = [jobs, unserved].map((someJobs) => someJobs.filter(isHeldBack).length) as [number, number];
  const isRest = unserved.length > 0;
  const waiting = [
    ...(isRest ? [`${count(unserved.length, 'job')} unserved${both > 0 ? ` (${both} held back)` : ''}`] : []),
    ...(both === 0 || held > both
      ? [`${isRest ? held - both : count(held, 'job')}${both > 0 ? ' more' : ''} held back`]
      : []),
    `${inState('blocked').length} blocked`,
  ];
  const { runners, uses } = runnerCounts(groups);
  return `Plan: ${runners} (${uses}), ${waiting.join(', ')}.\n`;
}
