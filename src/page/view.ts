/**
 * Selects the figures that a person may see, as data for the page and its JSON. Pure.
 *
 *     figures (all that was seen) ─► explanationFor: without what the person may not read ─► jobs, one job, groups
 */
import { groupLines, jobLines, type Line, line, lines, STATE_WORDS } from '../answers/answer.ts';
import { askAdvice, verdictText } from '../answers/causes.ts';
import { JOB_STATES, type JobState } from '../answers/job-state.ts';
import {
  type ExplainedGroup,
  type ExplainedJob,
  type Explanation,
  emittedRunners,
  groupOfJob,
} from '../answers/model.ts';
import { type Audience, jobForReader, podForReader, runnerForReader } from '../answers/reader.ts';
import { runnerText } from '../answers/reasons.ts';
import { runWords } from '../answers/run-words.ts';
import type { WaitEstimate } from '../answers/wait-estimate.ts';
import type { Run } from '../clients/gitea/runs.ts';
import type { RunnerPlace } from '../clients/kubernetes/kube-pods.ts';
import { memo } from '../planner/collections.ts';
import { type EmittedRunner, type GroupKey, takesSlot } from '../planner/decisions.ts';
import { isOver, type Job } from '../planner/evidence.ts';
import { groupHash, namePrefix, parseRunnerName } from '../planner/names.ts';
import { defined } from '../shared/defined.ts';
import { groupBy, isSame, keyText } from '../shared/keys.ts';
import { printable } from '../shared/printable.ts';
import type { Scope } from '../shared/scope.ts';
import { parseUrl } from '../shared/url.ts';
import type { Trends } from './trends.ts';

/** Result of one look at Gitea and the cluster, for all readers. */
export interface Figures {
  /** State of each job, without details: most jobs are not shown. */
  readonly explanation: Explanation;
  /** Adds the rest to jobs that are shown. Call it once for each visit: its hints have a bound. */
  readonly details: () => (job: ExplainedJob) => ExplainedJob;
  /** The repositories of all CI jobs. */
  readonly repositories: ReadonlySet<string>;
  /** Scopes by group. A group with an invalid spec is left out. */
  readonly scopes: ReadonlyMap<string, Scope>;
  /** CI jobs that have ended, and those that run. */
  readonly begun: readonly Job[];
  /** Returns a run by its id. Undefined: Gitea has not told of it. */
  readonly runOf: (id: number) => Run | undefined;
  /** Places of pods by `<namespace>/<runner>`. */
  readonly pods: ReadonlyMap<string, RunnerPlace>;
  readonly instance: string;
}

/** A reader, with the rights that Gitea gives him. */
export interface Reader extends Audience {
  readonly login: string;
  readonly isAdmin: boolean;
  /** Repositories of which Gitea did not say whether he may read them. Their jobs are not shown. */
  readonly unknown: number;
  /** Two readers with the same text here see the same of the same figures. */
  readonly rights: string;
}

/** Jobs on one page, jobs that ended lately, and runners of a group. */
const PAGE_ROWS = 100;
const MOST_ENDED = 20;
/** Most runners of a group's page. Those without a slot are left out first. */
const MOST_RUNNERS = 200;
export const CHART_HOURS = 12;
const HOUR_MS = 3_600_000;

/** Explains like `explain`, without jobs that the person may not read and scopes of groups that are not his. */
function explanationFor({ details, explanation }: Figures, reader: Reader) {
  const mayRead = memo(reader.mayRead);
  const withDetails = details();
  const { where } = explanation;
  return {
    explanation: {
      ...explanation,
      jobs: explanation.jobs.filter(({ job }) => mayRead(job.repository)),
      runners: explanation.runners.map((decision) => runnerForReader(decision, { ...reader, mayRead })),
      // The problems of a group that cannot be read may quote all of it, and its owner is not known.
      ...(where && !reader.isAdmin && { where: { ...where, broken: [] } }),
    },
    /** Adds the details that the person may read to a job of this explanation. */
    detailed: (job: ExplainedJob): ExplainedJob => jobForReader(withDetails(job), reader),
  };
}

export type JobsPage = Readonly<ReturnType<typeof jobsFor>>;

/** `repository` and `branch`: a part of the name, or '' for all. `mine`: only jobs of runs that the reader has started. */
const ALL = { repository: '', branch: '', state: undefined as JobState | undefined, mine: false, page: 1 };
export type JobsWanted = Readonly<typeof ALL>;

/** Returns one page of the jobs that a reader may see and wants, and those that ended lately. */
export function jobsFor(figures: Figures, reader: Reader, jobsQuery: JobsWanted = ALL) {
  const { detailed, explanation } = explanationFor(figures, reader);
  const { branch, mine, page, repository, state } = jobsQuery;
  const has = (text: string, part: string): boolean => text.toLowerCase().includes(part.toLowerCase());
  const isMine = ({ runId }: Job): boolean => figures.runOf(runId)?.actor?.toLowerCase() === reader.login.toLowerCase();
  const isWanted = (job: Job): boolean =>
    has(job.repository, repository) && has(job.branch ?? '', branch) && (!mine || isMine(job));
  const ofAllStates = explanation.jobs.filter(({ job }) => isWanted(job));
  const wantedJobs = ofAllStates.filter((job) => state === undefined || job.state === state);
  // The run with the worst job comes first.
  const jobs = [...groupBy(wantedJobs, ({ job }) => job.runId).values()].flat();
  const pages = Math.max(1, Math.ceil(jobs.length / PAGE_ROWS));
  const shownPage = Math.min(Math.max(1, page), pages);
  const shownJobs = jobs.slice((shownPage - 1) * PAGE_ROWS, shownPage * PAGE_ROWS);
  const countOf = (state: JobState): number => ofAllStates.filter((job) => job.state === state).length;
  const endedJobs = figures.begun
    .filter((job) => job.completedAtMs !== undefined && reader.mayRead(job.repository) && isWanted(job))
    .sort((a, b) => (b.completedAtMs ?? 0) - (a.completedAtMs ?? 0));
  return {
    checkedAt: explanation.checkedAt,
    counts: Object.fromEntries(JOB_STATES.map((each) => [each, countOf(each)])) as Readonly<Record<JobState, number>>,
    /** Number of the page, from 1. */
    page: shownPage,
    pages,
    jobs: shownJobs.map(detailed).map(openRows(explanation, figures, reader)),
    ended: endedJobs.slice(0, MOST_ENDED).map((job) => endedRow(job, figures)),
    unknownRepositories: reader.unknown,
  };
}

/** Times are ISO 8601, spans whole seconds. */
export type JobRow = Readonly<ReturnType<ReturnType<typeof openRows>>>;

/** Rows of jobs that have not ended. */
function openRows(explanation: Explanation, figures: Figures, { owns }: Reader) {
  const nowMs = Date.parse(explanation.checkedAt);
  const emitted = emittedRunners(explanation);
  return (explained: ExplainedJob) => {
    const { elsewhere, estimate, job, verdict } = explained;
    const group = elsewhere ? undefined : explained.group;
    const nearest = elsewhere || group ? undefined : groupOfJob(explained);
    const ownerGroup = group ?? nearest;
    const runner = verdict === 'served' ? explained.runner : job.runner;
    return {
      ...rowOf(job, figures, explained.state, verdictText(explained, nowMs, emitted), runner),
      ...defined({
        group: group && keyText(group),
        nearestGroup: nearest && keyText(nearest),
        isOwn: (ownerGroup && owns(keyText(ownerGroup))) || undefined,
        placeInLine: verdict === 'held' ? explained.position : undefined,
        estimate: estimate && spanOf(estimate),
      }),
    };
  };
}

function spanOf({ ms, fromMs, toMs }: WaitEstimate) {
  return { seconds: secondsOf(ms), from: secondsOf(fromMs), to: secondsOf(toMs) };
}

function endedRow(job: Job, figures: Figures): JobRow {
  return rowOf(job, figures, 'ended', job.conclusion ?? 'success', job.runner);
}

/** Makes the row of a job. @param text its state and the reason, or its result */
function rowOf(job: Job, { runOf }: Figures, state: JobState | 'ended', text: string, runner: string | undefined) {
  const { branch, commit, completedAtMs, createdAtMs, id, labels, name, repository, runId, startedAtMs, url } = job;
  const run = runOf(runId);
  const [runName = '', ...otherWords] = runWords(job, run).map(printable);
  return defined({
    id,
    repository: printable(repository),
    name: printable(name),
    run: defined({ id: runId, name: runName, text: otherWords.join(' · '), actor: run?.actor || undefined }),
    branch: branch ? printable(branch) : undefined,
    commit: commit || undefined,
    state,
    runsOn: labels.map(printable),
    createdAt: isoOf(createdAtMs),
    startedAt: startedAtMs === undefined ? undefined : isoOf(startedAtMs),
    endedAt: completedAtMs === undefined ? undefined : isoOf(completedAtMs),
    what: printable(text),
    runner: runner === undefined ? undefined : printable(runner),
    link: linkOf(url),
  });
}

export type JobAnswer = Readonly<NonNullable<ReturnType<typeof jobFor>>>;

/** Returns one job. Undefined: there is none, or it may not be read. Nobody learns which. */
export function jobFor(figures: Figures, reader: Reader, id: number) {
  const shown = explanationFor(figures, reader);
  const { detailed, explanation } = shown;
  const open = explanation.jobs.find(({ job }) => job.id === id);
  if (open) return openJob(detailed(open), shown, figures, reader);
  const endedJob = figures.begun.find((job) => job.id === id && job.completedAtMs !== undefined);
  if (!endedJob || !reader.mayRead(endedJob.repository)) return undefined;
  return jobAnswer(explanation, endedJob, endedRow(endedJob, figures), 'has ended', []);
}

function openJob(
  explained: ExplainedJob,
  { detailed, explanation }: ReturnType<typeof explanationFor>,
  figures: Figures,
  reader: Reader,
) {
  const liveJobs = (explanation.liveJobs ?? []).map((live) => podForReader(live, groupOfJob(explained), reader));
  const lines = jobLines(explained, { ...explanation, liveJobs }, undefined, { details: detailed, owns: reader.owns });
  const answer = linesFor(lines, explained, reader);
  const row = openRows(explanation, figures, reader)(explained);
  return jobAnswer(explanation, explained.job, row, STATE_WORDS[explained.state], answer);
}

/** @param answer as `explain` answers: a word, and what it says. Empty: the job has ended */
function jobAnswer({ checkedAt }: Explanation, job: Job, row: JobRow, stateWords: string, answer: readonly Line[]) {
  const title = printable(`Job ${job.id} "${job.name}" of ${job.repository} ${stateWords}.`);
  return { checkedAt, job: row, title, answer: printableLines(answer) };
}

/** The page shows run and link elsewhere. A reader who does not own the group learns whom to ask. */
function linesFor(answer: readonly Line[], job: ExplainedJob, { owns }: Reader): readonly Line[] {
  const group = groupOfJob(job);
  const isWaiting = job.job.status === 'queued' && job.verdict !== 'running';
  const shownLines = [
    ...answer.filter(([name]) => name !== 'Link' && name !== 'Run'),
    ...line('Gitea', isWaiting ? NO_RUNNER_ONLINE : undefined),
  ];
  if (group && owns(keyText(group))) return shownLines;
  const ownersAdvice = shownLines.flatMap(([name, text]) => (name === 'Next' ? text : []));
  return [...shownLines.filter(([name]) => name !== 'Next'), ...lines('Next', askAdvice(job, ownersAdvice))];
}

/** Gitea 1.27.3 says so of each job that waits while no runner with its labels is online. */
const NO_RUNNER_ONLINE =
  'its page may say "No runner is online to pick up this job.". Here a runner is started for each job and goes after it, so that is no fault by itself: the cause above counts';

export type GroupsPage = Readonly<ReturnType<typeof groupsFor>>;

export function groupsFor(figures: Figures, reader: Reader) {
  const { explanation } = figures;
  const broken = explanation.where?.broken.filter(({ group }) => reader.owns(group)) ?? [];
  return {
    checkedAt: explanation.checkedAt,
    groups: ownGroups(figures, reader).map((group) => groupRow(group, explanation)),
    broken: broken.map(({ group, problem }) => ({ group, problem: printable(problem) })),
  };
}

function ownGroups(figures: Figures, reader: Reader): readonly ExplainedGroup[] {
  return figures.explanation.groups.filter((group) => reader.owns(keyText(group)));
}

export type GroupRow = Readonly<ReturnType<typeof groupRow>>;

function groupRow(group: ExplainedGroup, { where }: Explanation) {
  const problem = where?.statuses.find((each) => each.group === keyText(group))?.notReady;
  return {
    group: keyText(group),
    scope: printable(group.scope),
    labels: group.labels.map(printable),
    isSuspended: group.suspended,
    cap: group.cap,
    busy: group.busy,
    starting: group.waiting,
    idle: group.spare + group.warm,
    debugging: group.debugging,
    queue: group.held,
    ...(problem !== undefined && { problem: printable(problem) }),
  };
}

export type GroupAnswer = Readonly<NonNullable<ReturnType<typeof groupFor>>>;

/** @param logUrl see `logLink` */
export function groupFor(figures: Figures, reader: Reader, key: string, logUrl = '') {
  const group = ownGroups(figures, reader).find((each) => keyText(each) === key);
  if (!group) return undefined;
  const { detailed, explanation } = explanationFor(figures, reader);
  const ownRunners = explanation.runners.flatMap((each) => (each.emit && isSame(each.group, group) ? each : []));
  const shownRunners = ownRunners
    .toSorted((a, b) => Number(takesSlot(b)) - Number(takesSlot(a)))
    .slice(0, MOST_RUNNERS);
  // The other lines repeat the counts.
  const answer = groupLines(group, explanation, detailed).filter(([name]) => /^(?:Pod|Status|Next)$/.test(name));
  return {
    ...groupRow(group, explanation),
    checkedAt: explanation.checkedAt,
    answer: printableLines(answer),
    waits: waitsOf(figures, group),
    runners: shownRunners.map(runnerRows(explanation, figures, logUrl)),
    /** Runners that are left out, because there are too many. */
    moreRunners: ownRunners.length - shownRunners.length,
    jobs: firstJobsOf(group, explanation, detailed).map(openRows(explanation, figures, reader)),
  };
}

function runnerRows(explanation: Explanation, figures: Figures, logUrl: string) {
  const nowMs = Date.parse(explanation.checkedAt);
  const openJobs = new Set(explanation.jobs.map(({ job }) => job.id));
  const lives = new Map((explanation.liveJobs ?? []).map((live) => [keyText(live), live]));
  return (decision: EmittedRunner) => {
    const { job, runner } = decision;
    const { namespace } = decision.group;
    const key = keyText({ namespace, name: runner });
    const place = figures.pods.get(key);
    const live = lives.get(key);
    const logs = place && live && !isOver(live.state) && logLink(logUrl, { ...place, runner, namespace });
    return {
      runner,
      what: printable(runnerText(decision, explanation.groups, nowMs)),
      ...(job && openJobs.has(job.id) && { job: job.id }),
      ...place,
      ...(live && { createdAt: isoOf(live.createdAtMs), state: live.state }),
      ...(logs && { logLink: logs }),
    };
  };
}

function firstJobsOf(group: GroupKey, { jobs }: Explanation, detailed: (job: ExplainedJob) => ExplainedJob) {
  const ownJobs: ExplainedJob[] = [];
  for (const outlined of jobs) {
    if (ownJobs.length === PAGE_ROWS) break;
    // The nearest group of a job that no group covers is not its group.
    if (!isSame(outlined.group, group)) continue;
    const job = detailed(outlined);
    // A job with `elsewhere` waits for another group.
    if (!job.elsewhere) ownJobs.push(job);
  }
  return ownJobs;
}

/** Waiting times of CI jobs since their creation, by the hour in which they began. Includes hours without a job. */
export type HourOfWaits = GroupAnswer['waits'][number];

function waitsOf({ begun, explanation, instance }: Figures, group: GroupKey) {
  const [prefix, hash] = [namePrefix(group.name), groupHash(instance, group)];
  const untilMs = (Math.floor(Date.parse(explanation.checkedAt) / HOUR_MS) + 1) * HOUR_MS;
  const waitsByHour = Array.from({ length: CHART_HOURS }, (): number[] => []);
  for (const { createdAtMs, runner, startedAtMs } of begun) {
    const name = startedAtMs === undefined ? undefined : parseRunnerName(runner ?? '');
    if (startedAtMs === undefined || name?.prefix !== prefix || name.groupHash !== hash) continue;
    const hour = CHART_HOURS - Math.ceil((untilMs - startedAtMs) / HOUR_MS);
    waitsByHour[hour]?.push(Math.max(0, secondsOf(startedAtMs - createdAtMs)));
  }
  return waitsByHour.map((seconds, index) => {
    seconds.sort((a, b) => a - b);
    return {
      from: isoOf(untilMs - (CHART_HOURS - index) * HOUR_MS),
      jobs: seconds.length,
      median: seconds[Math.floor((seconds.length - 1) / 2)] ?? 0,
      longest: seconds.at(-1) ?? 0,
    };
  });
}

/** Most repositories in trends. For each of them, Gitea is asked whether the person may read it. */
const MOST_REPOSITORIES = 20;

export function repositoriesIn({ repositories }: Trends): readonly string[] {
  const most = repositories.toSorted((a, b) => b.ciMinutes - a.ciMinutes);
  return most.slice(0, MOST_REPOSITORIES).map(({ name }) => name);
}

export type TrendsAnswer = Readonly<ReturnType<typeof trendsFor>>;

/** Returns the trends for owners of the group. Days are those of UTC. A day without CI jobs is left out. */
export function trendsFor(trends: Trends, reader: Reader) {
  const { days, repositories, ...period } = trends;
  const names = repositoriesIn(trends).filter(reader.mayRead);
  const shownRepositories = names.flatMap((name) => repositories.find((each) => each.name === name) ?? []);
  const figuresOf = ({ ciMinutes, failed, jobs, name, waitP50, waitP95 }: Trends['days'][number]) => {
    return { name: printable(name), jobs, failed, ciMinutes, waitP50, waitP95 };
  };
  return {
    ...period,
    days: days.map(figuresOf),
    repositories: shownRepositories.map(figuresOf),
    otherRepositories: repositories.length - shownRepositories.length,
  };
}

/** Makes the link to a pod's log. @param template `https://logs.example.com/?pod={pod}`. '': there are no links */
function logLink(template: string, words: Readonly<Record<string, string>>): string | undefined {
  return linkOf(template.replace(/\{(\w+)\}/g, (_, word: string) => encodeURIComponent(words[word] ?? '')));
}

/** A link that a browser may follow. Gitea writes them, and whoever stands between. */
function linkOf(text: string): string | undefined {
  const url = parseUrl(text);
  return url && /^https?:$/.test(url.protocol) && url.href.length <= 2_000 ? url.href : undefined;
}

function printableLines(lines: readonly Line[]): readonly Line[] {
  return lines.map(([name, text]) => [name, printable(text)]);
}

function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}

function secondsOf(ms: number): number {
  return Math.round(ms / 1000);
}
