/**
 * What a person sees of the figures, as data: the page and its JSON are made of it. Pure.
 *
 *     figures (all that was seen) ─► explanationFor: without what the person may not read ─► jobs, one job, groups
 */

import { groupLines, jobLines, type Line, STATE_WORDS } from '../answers/answer.ts';
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
import type { Run } from '../clients/gitea/runs.ts';
import type { RunnerPlace } from '../clients/kubernetes/kube-pods.ts';
import { memo } from '../planner/collections.ts';
import { type GroupKey, takesSlot } from '../planner/decisions.ts';
import { isOver, type Job } from '../planner/evidence.ts';
import { groupHash, namePrefix, parseRunnerName } from '../planner/names.ts';
import { groupBy, isSame, keyText } from '../shared/keys.ts';
import { printable } from '../shared/printable.ts';
import type { Scope } from '../shared/scope.ts';
import { parseUrl } from '../shared/url.ts';
import type { Trends } from './trends.ts';

/** One look at Gitea and the cluster, whoever may read it. */
export interface Figures {
  /** Of each job no more than its state: most are not shown. */
  readonly explanation: Explanation;
  /** Tells the rest of jobs that are shown. To be opened for each visit: its hints have a bound. */
  readonly details: () => (job: ExplainedJob) => ExplainedJob;
  /** Of all CI jobs. */
  readonly repositories: ReadonlySet<string>;
  /** By group. Without those whose spec is not valid. */
  readonly scopes: ReadonlyMap<string, Scope>;
  /** CI jobs that have a beginning: those that have ended, and those that run. */
  readonly begun: readonly Job[];
  /** Undefined: Gitea has not told of it. */
  readonly runOf: (id: number) => Run | undefined;
  /** By `<namespace>/<runner>`. */
  readonly pods: ReadonlyMap<string, RunnerPlace>;
  readonly instance: string;
}

/** Who looks, and what Gitea says that he may see. */
export interface Reader extends Audience {
  readonly login: string;
  readonly isAdmin: boolean;
  /** Repositories of which Gitea did not say whether he may read them. Their jobs are not shown. */
  readonly unknown: number;
  /** Two readers with the same text here see the same of the same figures. */
  readonly rights: string;
}

/** Jobs on one page. */
const PAGE_ROWS = 100;
const MOST_ENDED = 20;
const MOST_RUNNERS = 200;
/** Whose waiting times the chart shows. */
export const CHART_HOURS = 12;
const HOUR_MS = 3_600_000;

/** What `explain` answers, without all that names a job of a repository that the person may not read, or the scope of a group not his. */
function explanationFor({ details, explanation }: Figures, reader: Reader) {
  const mayRead = memo(reader.mayRead);
  const more = details();
  const { where } = explanation;
  return {
    explanation: {
      ...explanation,
      jobs: explanation.jobs.filter(({ job }) => mayRead(job.repository)),
      runners: explanation.runners.map((decision) => runnerForReader(decision, { ...reader, mayRead })),
      // What is wrong with a group that cannot be read may quote all of it, and nobody knows whose it is.
      ...(where && !reader.isAdmin && { where: { ...where, broken: [] } }),
    },
    /** All of a job that is shown. */
    detailed: (job: ExplainedJob): ExplainedJob => jobForReader(more(job), reader),
  };
}

export type JobsPage = Readonly<ReturnType<typeof jobsFor>>;

/** `repository` and `branch`: a part of the name; '' for all. `mine`: of runs that the reader has started. */
const ALL = { repository: '', branch: '', state: undefined as JobState | undefined, mine: false, page: 1 };
export type JobsWanted = Readonly<typeof ALL>;

export function jobsFor(figures: Figures, reader: Reader, wanted: JobsWanted = ALL) {
  const { detailed, explanation } = explanationFor(figures, reader);
  const { branch, mine, page, repository, state } = wanted;
  const has = (text: string, part: string): boolean => text.toLowerCase().includes(part.toLowerCase());
  const isMine = ({ runId }: Job): boolean => figures.runOf(runId)?.actor?.toLowerCase() === reader.login.toLowerCase();
  const isWanted = (job: Job): boolean =>
    has(job.repository, repository) && has(job.branch ?? '', branch) && (!mine || isMine(job));
  const all = explanation.jobs.filter(({ job }) => isWanted(job));
  const ofState = all.filter((job) => state === undefined || job.state === state);
  // The run with the worst job comes first.
  const jobs = [...groupBy(ofState, ({ job }) => job.runId).values()].flat();
  const pages = Math.max(1, Math.ceil(jobs.length / PAGE_ROWS));
  const at = Math.min(Math.max(1, page), pages);
  const count = (of: JobState): number => all.filter((job) => job.state === of).length;
  const ended = figures.begun
    .filter((job) => job.completedAtMs !== undefined && reader.mayRead(job.repository) && isWanted(job))
    .sort((a, b) => (b.completedAtMs ?? 0) - (a.completedAtMs ?? 0));
  return {
    checkedAt: explanation.checkedAt,
    counts: Object.fromEntries(JOB_STATES.map((state) => [state, count(state)])) as Readonly<Record<JobState, number>>,
    /** From 1. */
    page: at,
    pages,
    jobs: jobs
      .slice((at - 1) * PAGE_ROWS, at * PAGE_ROWS)
      .map(detailed)
      .map(rowIn(explanation, figures, reader)),
    ended: ended.slice(0, MOST_ENDED).map((job) => rowOf(job, figures, reader)),
    unknownRepositories: reader.unknown,
  };
}

function rowIn(explanation: Explanation, figures: Figures, reader: Reader): (job: ExplainedJob) => JobRow {
  const nowMs = Date.parse(explanation.checkedAt);
  const emitted = emittedRunners(explanation);
  return (of) => rowOf(of.job, figures, reader, of, verdictText(of, nowMs, emitted));
}

/** Times are ISO 8601, spans whole seconds. */
export type JobRow = Readonly<ReturnType<typeof rowOf>>;

/** @param what what happens to it, and why; of one that has ended: `success`, `failure`, `cancelled` or `skipped` */
function rowOf(
  job: Job,
  { runOf }: Figures,
  { owns }: Reader,
  explained?: ExplainedJob,
  what = job.conclusion ?? 'success',
) {
  const { branch, commit, completedAtMs, createdAtMs, id, labels, name, repository, runId, startedAtMs, url } = job;
  const run = runOf(runId);
  const [runName = '', ...more] = runWords(job, run).map(printable);
  const { elsewhere, estimate } = explained ?? {};
  const position = explained?.verdict === 'held' ? explained.position : undefined;
  const runner = explained?.verdict === 'served' ? explained.runner : job.runner;
  const group = elsewhere ? undefined : explained?.group;
  const nearest = explained && !elsewhere && !group ? groupOfJob(explained) : undefined;
  const isOwn = [group, nearest].some((key) => key !== undefined && owns(keyText(key)));
  const link = linkOf(url);
  return {
    id,
    repository: printable(repository),
    name: printable(name),
    run: { id: runId, name: runName, text: more.join(' · '), ...(run?.actor && { actor: run.actor }) },
    ...(branch && { branch: printable(branch) }),
    ...(commit && { commit }),
    state: explained?.state ?? ('ended' as const),
    runsOn: labels.map(printable),
    createdAt: isoOf(createdAtMs),
    ...(startedAtMs !== undefined && { startedAt: isoOf(startedAtMs) }),
    ...(completedAtMs !== undefined && { endedAt: isoOf(completedAtMs) }),
    what: printable(what),
    ...(runner !== undefined && { runner: printable(runner) }),
    ...(link !== undefined && { link }),
    ...(group && { group: keyText(group) }),
    ...(nearest && { nearestGroup: keyText(nearest) }),
    ...(isOwn && { isOwn }),
    ...(position !== undefined && { placeInLine: position }),
    ...(estimate && { estimate: { seconds: s(estimate.ms), from: s(estimate.fromMs), to: s(estimate.toMs) } }),
  };
}

export type JobAnswer = Readonly<NonNullable<ReturnType<typeof jobFor>>>;

/** Undefined: there is none, or it may not be read. Nobody learns which. */
export function jobFor(figures: Figures, reader: Reader, id: number) {
  const { detailed, explanation: all } = explanationFor(figures, reader);
  const bare = all.jobs.find(({ job }) => job.id === id);
  const found = bare?.job ?? figures.begun.find((job) => job.id === id && job.completedAtMs !== undefined);
  if (!found || !reader.mayRead(found.repository)) return undefined;
  const explained = bare && detailed(bare);
  const liveJobs = explained && (all.liveJobs ?? []).map((live) => podForReader(live, groupOfJob(explained), reader));
  const explanation = { ...all, ...(liveJobs && { liveJobs }) };
  const lines = explained ? linesFor(jobLines(explained, explanation, undefined), explained, reader) : [];
  const does = explained ? STATE_WORDS[explained.state] : 'has ended';
  return {
    checkedAt: explanation.checkedAt,
    job: explained ? rowIn(explanation, figures, reader)(explained) : rowOf(found, figures, reader),
    title: printable(`Job ${id} "${found.name}" of ${found.repository} ${does}.`),
    /** As `explain` answers: a word, and what it says. Empty: it has ended. */
    answer: printed(lines),
  };
}

/** The page shows run and link elsewhere. A reader who does not own the group learns whom to ask. */
function linesFor(lines: readonly Line[], job: ExplainedJob, { owns }: Reader): readonly Line[] {
  const group = groupOfJob(job);
  const shown = lines.filter(([name]) => name !== 'Link' && name !== 'Run');
  const waits = job.job.status === 'queued' && job.verdict !== 'running';
  const all: readonly Line[] = waits ? [...shown, ['Gitea', NO_RUNNER_ONLINE]] : shown;
  if (group && owns(keyText(group))) return all;
  const own = all.flatMap(([name, text]) => (name === 'Next' ? text : []));
  return [...all.filter(([name]) => name !== 'Next'), ...askAdvice(job, own).map((text): Line => ['Next', text])];
}

/** Gitea 1.27.3 says it of each job that waits while no runner with its labels is online. */
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
  const { checkedAt, groups, runners } = explanation;
  const nowMs = Date.parse(checkedAt);
  const open = new Set(explanation.jobs.map(({ job }) => job.id));
  const lives = new Map((explanation.liveJobs ?? []).map((live) => [keyText(live), live]));
  const own = runners.flatMap((each) => (each.emit && isSame(each.group, group) ? each : []));
  const shown = [...own].sort((a, b) => Number(takesSlot(b)) - Number(takesSlot(a))).slice(0, MOST_RUNNERS);
  const jobs: ExplainedJob[] = [];
  for (const job of explanation.jobs) {
    if (jobs.length === PAGE_ROWS) break;
    // Of a job that no group covers it is only the nearest one.
    const told = isSame(job.group, group) ? detailed(job) : undefined;
    // Else it waits for another group.
    if (told && !told.elsewhere) jobs.push(told);
  }
  return {
    ...groupRow(group, explanation),
    checkedAt,
    // The others repeat the counts.
    answer: printed(groupLines(group, explanation, detailed).filter(([name]) => /^(?:Pod|Status|Next)$/.test(name))),
    waits: waitsOf(figures, group),
    runners: shown.map((decision) => {
      const { runner } = decision;
      const at = keyText({ namespace: group.namespace, name: runner });
      const place = figures.pods.get(at);
      const live = lives.get(at);
      const hasLog = place && live && !isOver(live.state);
      const logs = hasLog ? logLink(logUrl, { ...place, runner, namespace: group.namespace }) : undefined;
      return {
        runner,
        what: printable(runnerText(decision, groups, nowMs)),
        ...(decision.job && open.has(decision.job.id) && { job: decision.job.id }),
        ...place,
        ...(live && { createdAt: isoOf(live.createdAtMs), state: live.state }),
        ...(logs !== undefined && { logLink: logs }),
      };
    }),
    /** They are left out: there are too many. */
    moreRunners: own.length - shown.length,
    jobs: jobs.map(rowIn(explanation, figures, reader)),
  };
}

/** CI jobs that began within one hour: how long they had waited, from their creation on. The hours without a job, too. */
export type HourOfWaits = GroupAnswer['waits'][number];

function waitsOf({ begun, explanation, instance }: Figures, group: GroupKey) {
  const [prefix, ofGroup] = [namePrefix(group.name), groupHash(instance, group)];
  const untilMs = (Math.floor(Date.parse(explanation.checkedAt) / HOUR_MS) + 1) * HOUR_MS;
  const waits = Array.from({ length: CHART_HOURS }, (): number[] => []);
  for (const { createdAtMs, runner, startedAtMs } of begun) {
    const name = startedAtMs === undefined ? undefined : parseRunnerName(runner ?? '');
    if (startedAtMs === undefined || name?.prefix !== prefix || name.groupHash !== ofGroup) continue;
    waits[CHART_HOURS - Math.ceil((untilMs - startedAtMs) / HOUR_MS)]?.push(Math.max(0, s(startedAtMs - createdAtMs)));
  }
  return waits.map((seconds, index) => {
    seconds.sort((a, b) => a - b);
    return {
      from: isoOf(untilMs - (CHART_HOURS - index) * HOUR_MS),
      jobs: seconds.length,
      median: seconds[Math.floor((seconds.length - 1) / 2)] ?? 0,
      longest: seconds.at(-1) ?? 0,
    };
  });
}

/** Repositories of which trends tell: whether a person may read them is asked one by one. */
const MOST_REPOSITORIES = 20;

/** Those with the most CI minutes. */
export function repositoriesIn({ repositories }: Trends): readonly string[] {
  const most = repositories.toSorted((a, b) => b.ciMinutes - a.ciMinutes);
  return most.slice(0, MOST_REPOSITORIES).map(({ name }) => name);
}

export type TrendsAnswer = Readonly<ReturnType<typeof trendsFor>>;

/** @param trends of a group that the reader owns. Days are those of UTC; one without CI jobs is left out. */
export function trendsFor(trends: Trends, reader: Reader) {
  const { days, repositories, ...of } = trends;
  const shown = repositoriesIn(trends).filter(reader.mayRead);
  const told = shown.flatMap((name) => repositories.find((each) => each.name === name) ?? []);
  const figures = ({ ciMinutes, failed, jobs, name, waitP50, waitP95 }: Trends['days'][number]) => {
    return { name: printable(name), jobs, failed, ciMinutes, waitP50, waitP95 };
  };
  return {
    ...of,
    days: days.map(figures),
    repositories: told.map(figures),
    otherRepositories: repositories.length - shown.length,
  };
}

/** `https://logs.example.com/?pod={pod}`: its words in braces are `namespace`, `pod`, `node` and `runner`. '': there is none. */
function logLink(template: string, words: Readonly<Record<string, string>>): string | undefined {
  return linkOf(template.replace(/\{(\w+)\}/g, (_, word: string) => encodeURIComponent(words[word] ?? '')));
}

/** A link that a browser may follow. Gitea writes them, and whoever stands between. */
function linkOf(text: string): string | undefined {
  const url = parseUrl(text);
  return url && /^https?:$/.test(url.protocol) && url.href.length <= 2_000 ? url.href : undefined;
}

function printed(lines: readonly Line[]): readonly Line[] {
  return lines.map(([name, text]) => [name, printable(text)]);
}

function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}

function s(ms: number): number {
  return Math.round(ms / 1000);
}
