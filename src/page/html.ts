/** Renders the page as HTML, from the data of view.ts. `html` escapes all values. It needs no JavaScript. */
import { html } from 'hono/html';
import { JOB_STATES, type JobState } from '../answers/job-state.ts';
import { labelsText } from '../answers/uncovered-labels.ts';
import { groupBy } from '../shared/keys.ts';
import { count, duration, printable, rangeText } from '../shared/printable.ts';
import { SCRIPT_PATH, STYLE_PATH } from './assets.ts';
import type {
  GroupAnswer,
  GroupRow,
  GroupsPage,
  HourOfWaits,
  JobAnswer,
  JobRow,
  JobsPage,
  JobsWanted,
  TrendsAnswer,
} from './view.ts';

/** HTML whose texts are escaped. */
export type Markup = ReturnType<typeof html>;

/** The parts around the content of each page. */
export interface Frame {
  readonly title: string;
  /** Login of the signed-in person. Absent: nobody is signed in. */
  readonly login?: string;
  /** When the figures were made, and now, by this machine's clock. `trouble`: why they are not newer. Absent: no figures. */
  readonly age?: { readonly atMs: number; readonly nowMs: number; readonly trouble: string | undefined };
  readonly path: string;
}

export function pageOf({ age, login, path, title }: Frame, content: Markup): string {
  const isSignedIn = login !== undefined;
  const person =
    isSignedIn &&
    html`<nav aria-label="Pages">${linkTo('/', 'Jobs', path)} ${linkTo('/mine', 'My jobs', path)} ${linkTo('/groups', 'Groups', path)}</nav>
    <form method="post" action="/sign-out">
      <span>${printable(login)}</span> <button type="submit">Sign out</button>
    </form>`;
  const page = html`<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  <title>${title} &middot; CI runners</title>
  <link rel="stylesheet" href="${STYLE_PATH}">
  ${isSignedIn && html`<script src="${SCRIPT_PATH}" defer=""></script>`}
</head>
<body>
  <a class="skip" href="#main">Skip to content</a>
  <header>
    <p class="brand"><a href="/">CI runners</a></p>
    ${person}
  </header>
  <main id="main" tabindex="-1">
    <h1>${title}</h1>
    ${age && ageText(age)}
    ${content}
  </main>
</body>
</html>`;
  return page.toString();
}

function linkTo(to: string, text: string, path: string): Markup {
  const isHere = to === '/' ? path === '/' || path.startsWith('/jobs/') : path.startsWith(to);
  return html`<a href="${to}"${isHere && html` aria-current="page"`}>${text}</a>`;
}

/** Figures that are older than this are called old, even if nothing is known to be wrong. */
const OLD_MS = 30_000;

function ageText({ atMs, nowMs, trouble = '' }: NonNullable<Frame['age']>): Markup {
  const isOld = trouble !== '' || nowMs - atMs > OLD_MS;
  const old = `, ${duration(nowMs - atMs)} old`;
  const time = timeOf(new Date(atMs).toISOString());
  return html`<p class="${isOld ? 'age old' : 'age'}">Figures of ${time}${isOld && old}. ${printable(trouble)}</p>`;
}

/** A time in UTC, `2026-01-31T12:00:00Z`. The script of the page shows it as local time. */
function timeOf(time: string): Markup {
  return html`<time class="at" datetime="${time}">${time.slice(0, 10)} ${time.slice(11, 19)} UTC</time>`;
}

function ageAt(now: string, time: string): string {
  return duration(Date.parse(now) - Date.parse(time));
}

function stateWord(state: JobState): string {
  return state === 'held' ? 'held back' : state;
}

/** The state of a job that has ended is its result. */
function stateOf({ state, what }: JobRow): Markup {
  const [name, word] = state === 'ended' ? [what, what] : [state, stateWord(state)];
  return html`<strong class="state ${name}">${word}</strong>`;
}

/** @param jobsQuery the filters that the page has */
export function jobsContent(page: JobsPage, jobsQuery: JobsWanted): Markup {
  const { branch, mine, repository, state = '' } = jobsQuery;
  const path = mine ? '/mine' : '/';
  const { checkedAt, counts, ended, jobs, page: shownPage, pages, unknownRepositories } = page;
  const countsText = JOB_STATES.map((each) => `${counts[each]} ${stateWord(each)}`).join(', ');
  const toPage = (pageNumber: number, text: string): Markup =>
    html`<a href="${path}?${new URLSearchParams({ repository, branch, state, page: String(pageNumber) })}">${text}</a>`;
  const option = (value: string, text: string): Markup =>
    html`<option value="${value}"${value === state && html` selected=""`}>${text}</option>`;
  const field = (name: string, value: string): Markup =>
    html`<label for="${name}">${name}</label> <input id="${name}" name="${name}" value="${printable(value)}" maxlength="200">`;
  const hidden = html`<p class="old">Gitea has not said yet of ${unknownRepositories} repositories whether you may read them.
      Their jobs are not shown.</p>`;
  const otherPages = html`<nav aria-label="More jobs">
      ${shownPage > 1 && toPage(shownPage - 1, 'Earlier ones')} Page ${shownPage} of ${pages} ${shownPage < pages && toPage(shownPage + 1, 'More jobs')}
    </nav>`;
  return html`<p role="status" id="counts">Jobs: ${countsText}.</p>
    ${unknownRepositories > 0 && hidden}
    <details id="filter"${`${repository}${branch}${state}` !== '' && html` open=""`}><summary id="filters">Filter</summary>
      <form method="get" action="${path}">${field('repository', repository)} ${field('branch', branch)}
        <label for="state">state</label>
        <select id="state" name="state">${option('', 'all')}${JOB_STATES.map((each) => option(each, stateWord(each)))}</select>
        <button type="submit">Show</button></form></details>
    ${mine && html`<p class="age">Jobs of runs that you have started, as far as Gitea has told who did.</p>`}
    <h2>Waiting and running</h2>
    ${jobList(jobs, checkedAt, 'No job that you can read waits or runs.')}
    ${pages > 1 && otherPages}
    <h2>Ended lately</h2>
    ${jobList(ended, checkedAt, 'None is known.')}`;
}

function jobList(jobs: readonly JobRow[], now: string, textIfEmpty: string): Markup {
  if (jobs.length === 0) return html`<p>${textIfEmpty}</p>`;
  return html`${[...groupBy(jobs, ({ run }) => run.id).values()].map(
    (ofRun) => html`<h3>${ofRun[0]?.run.name} <span>${ofRun[0]?.run.text}</span></h3>
    <ul class="jobs">${ofRun.map(
      (job) => html`<li id="job-${job.id}" class="${job.state}">
        <h4><a href="/jobs/${job.id}">${job.name}</a></h4> ${stateOf(job)} ${sinceOf(job, now)}
        ${job.state !== 'ended' && html`<p>${job.what}</p>`}
      </li>`,
    )}</ul>`,
  )}`;
}

/** The last thing that happened to a job. */
function lastChange({ createdAt, endedAt, startedAt }: JobRow): readonly [word: string, at: string] {
  if (endedAt !== undefined) return ['Ended', endedAt];
  return startedAt === undefined ? ['Created', createdAt] : ['Runs since', startedAt];
}

function sinceOf(job: JobRow, now: string): Markup {
  const [, changedAt] = lastChange(job);
  return html`<time datetime="${changedAt}">${ageAt(now, changedAt)} ago</time>`;
}

function jobFacts(job: JobRow, now: string): Markup | undefined {
  const { group, isOwn, nearestGroup, runner, runsOn } = job;
  const [change, changedAt] = lastChange(job);
  const groupPage = isOwn ? `/groups/${group ?? nearestGroup}` : undefined;
  return facts([
    [change, html`${timeOf(changedAt)} (${sinceOf(job, now)})`],
    ['Runs on', labelsText(runsOn) || 'no labels'],
    ['Group', group && linkName(group, groupPage)],
    ['Nearest group', nearestGroup && linkName(nearestGroup, groupPage)],
    ['Runner', runner && linkName(runner, group && groupPage && `${groupPage}#runner-${runner}`)],
  ]);
}

function linkName(name: string, page: string | undefined): Markup | string {
  return page === undefined ? name : html`<a href="${page}">${name}</a>`;
}

/** Rows without a value are left out. */
function facts(rows: readonly (readonly [string, unknown])[], kind: 'facts' | 'lines' = 'facts'): Markup | undefined {
  const shown = rows.filter(([, value]) => value !== undefined);
  if (shown.length === 0) return undefined;
  const items = shown.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`);
  return html`<dl class="${kind}">${items}</dl>`;
}

export function jobContent({ answer, checkedAt, job }: JobAnswer): Markup {
  const lines = answer.map(([name, text]) => [name, withLinks(name, text)] as const);
  return html`<p>${job.run.text}</p>
    <p role="status" class="answer">${stateOf(job)}</p>
    ${jobFacts(job, checkedAt)}
    ${answer.length > 0 && html`<h2>Why</h2>`}
    ${facts(lines, 'lines')}
    ${job.link !== undefined && html`<p>${linkOut(job.link, 'This job in Gitea')}</p>`}`;
}

/** The job of a runner has a page, and a time is shown as local time. No name that people choose stands before them. */
function withLinks(name: string, text: string): Markup | string {
  const job = name === 'Slot' ? /^[\w-]+ stays: it (?:runs|is wanted for) job (\d+)(?= ")/.exec(text) : undefined;
  if (job) return html`<a href="/jobs/${job[1]}">${job[0]}</a>${text.slice(job[0].length)}`;
  const dateParts = name === 'Since' ? /^(.*\()(\d{4}-\d\d-\d\d) ([\d:]{8}) UTC(.*)$/.exec(text) : undefined;
  return dateParts ? html`${dateParts[1]}${timeOf(`${dateParts[2]}T${dateParts[3]}Z`)}${dateParts[4]}` : text;
}

function linkOut(to: string, text: string): Markup {
  return html`<a href="${to}" rel="noreferrer">${text}</a>`;
}

export function groupsContent({ broken, groups }: GroupsPage): Markup {
  if (groups.length + broken.length === 0)
    return html`<p>You own the scope of no RunnerGroup here.
      Owners of an organization, of a repository and of Gitea see theirs.</p>`;
  return html`<ul class="groups">
    ${groups.map(
      (group) => html`<li id="group-${group.group}">
        <h2><a href="/groups/${group.group}">${group.group}</a></h2>
        ${groupFacts(group)}
      </li>`,
    )}
    ${broken.map(
      ({ group, problem }) => html`<li>
        <h2>${group}</h2>
        <p class="old">It cannot be served now: ${problem}</p>
      </li>`,
    )}
  </ul>`;
}

function groupFacts(group: GroupRow): Markup {
  const { busy, cap, debugging, idle, isSuspended, labels, problem, queue, scope, starting } = group;
  const counts = { Cap: cap, Busy: busy, Starting: starting, Idle: idle, 'Held for debugging': debugging || undefined };
  return html`${isSuspended && html`<p class="old">Suspended: it starts no runners.</p>`}
    ${problem !== undefined && html`<p class="old">Not ready: ${problem}</p>`}
    ${facts(Object.entries({ Scope: scope, Labels: labels.join(', '), ...counts, Queue: queue }))}`;
}

export function groupContent(group: GroupAnswer): Markup {
  const { answer, checkedAt, jobs, moreRunners, runners, waits } = group;
  const rows = runners.map(({ createdAt, job, logLink, node, pod, runner, state, what }): readonly unknown[] => {
    return [
      html`<span id="runner-${runner}">${runner}</span>`,
      linkName(what, job === undefined ? undefined : `/jobs/${job}`),
      pod ?? 'none',
      node ?? 'none',
      createdAt === undefined ? 'not created' : ageAt(checkedAt, createdAt),
      state ?? 'not created',
      logLink === undefined ? 'none' : linkOut(logLink, `Log of ${runner}`),
    ];
  });
  const names = ['Runner', 'What it does', 'Pod', 'Node', 'Age', 'State', 'Log'];
  return html`${groupFacts(group)}
    ${facts(answer, 'lines')}
    <h2 id="waits">Waiting times</h2>
    ${chart(waits)}
    <p><a href="/groups/${group.group}/trends">Trends: the last days of this group</a></p>
    <h2 id="runners">Runners</h2>
    ${rows.length === 0 ? html`<p>There is none.</p>` : table('runners', names, rows)}
    ${moreRunners > 0 && html`<p>${moreRunners} more runners are not shown.</p>`}
    <h2>Jobs</h2>
    ${jobList(jobs, checkedAt, 'None that you can read waits or runs.')}`;
}

/** A table that is scrolled when it is too wide, also by keyboard. Each row begins with its name. */
function table(headingId: string, names: readonly (Markup | string)[], rows: readonly (readonly unknown[])[]): Markup {
  return html`<section class="wide" tabindex="0" aria-labelledby="${headingId}"><table>
    <thead><tr>${names.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
    <tbody>${rows.map(
      ([name, ...cells]) => html`<tr><th scope="row">${name}</th>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`,
    )}</tbody>
  </table></section>`;
}

/** Draws a bar for each hour. The whole bar is the longest wait, and its first part the median. */
function chart(waits: readonly HourOfWaits[]): Markup {
  const jobs = waits.reduce((sum, hour) => sum + hour.jobs, 0);
  if (jobs === 0) return html`<p>No job of the last hours is known that began on a runner of this group.</p>`;
  const longestOfAll = Math.max(1, ...waits.map(({ longest }) => longest));
  const rows = waits.map(({ from, jobs: begun, longest, median }): readonly unknown[] => {
    const bar = barOf(longestOfAll, longest, median);
    const spans = [median, longest].map((seconds) => (begun > 0 ? duration(seconds * 1000) : ''));
    return [html`<time class="at hour" datetime="${from}">${from.slice(11, 16)}</time>`, begun, ...spans, bar];
  });
  return html`<figure>
    ${table('waits', [html`Hour <span class="utc">(UTC)</span>`, 'Jobs', 'Median', 'Longest', 'Bar'], rows)}
    <figcaption>${count(jobs, 'job')}, by the hour in which it began.
      Whole bar: the longest wait. Its first part: the median.
      A wait begins with the creation of the job, so it holds what the job needed, too.</figcaption>
  </figure>`;
}

/** Draws two bars, one over the other. A table has the same figures. */
function barOf(width: number, longer: number, shorter = 0): Markup {
  return html`<svg viewBox="0 0 ${width} 1" preserveAspectRatio="none" aria-hidden="true">
      <rect class="longest" width="${longer}" height="1"/><rect class="median" width="${shorter}" height="1"/></svg>`;
}

export function trendsContent({ days, from, group, isWhole, otherRepositories, repositories }: TrendsAnswer): Markup {
  const backLink = html`<p><a href="/groups/${group}">To the group</a></p>`;
  const cut =
    !isWhole && html`<p class="old">Gitea has more CI jobs than are read here: the first days lack some or all.</p>`;
  if (days.length === 0)
    return html`${cut}<p>No CI job is known that ended on this group since ${from.slice(0, 10)}.</p>${backLink}`;
  const longest = Math.max(1, ...days.map(({ waitP95 }) => waitP95?.atMost ?? 0));
  const mostMinutes = Math.max(1, ...repositories.map(({ ciMinutes }) => ciMinutes));
  const share = (part: number, all: number): string => `${part} (${Math.round((100 * part) / all)} %)`;
  const rows = days.map(({ failed, jobs, name, waitP50, waitP95 }): readonly unknown[] => {
    const bar = barOf(longest, waitP95?.atMost ?? 0, waitP50?.atMost);
    return [name, jobs, share(failed, jobs), rangeText(waitP50), rangeText(waitP95), bar];
  });
  const minutes = repositories.map(({ ciMinutes, failed, jobs, name }): readonly unknown[] => {
    return [name, jobs, share(failed, jobs), ciMinutes.toFixed(0), barOf(mostMinutes, ciMinutes)];
  });
  return html`${cut}
    <h2 id="days">Waiting by day</h2>
    <figure>${table('days', ['Day (UTC)', 'Jobs', 'Failed', 'Wait p50', 'Wait p95', 'Bar'], rows)}
      <figcaption>CI jobs by the day on which they ended. Whole bar: p95, at most. Its first part: p50.
        Of a range, its end counts from the creation of a job, and its begin from the end of the last job before it in its run.</figcaption></figure>
    <h2 id="repositories">CI minutes by repository</h2>
    ${minutes.length === 0 ? html`<p>None that you can read.</p>` : table('repositories', ['Repository', 'Jobs', 'Failed', 'Minutes', 'Bar'], minutes)}
    ${otherRepositories > 0 && html`<p>Not shown: ${otherRepositories} more. They have fewer minutes, or you may not read them.</p>`}
    <p class="age">Failed jobs include lost ones: Gitea keeps no mark of a lost runner. The metric gitea_runners_lost_runners_total counts those.</p>
    ${backLink}`;
}

/** @param to the path that the person wanted, and gets after the sign-in */
export function signInContent(to: string, why: string): Markup {
  const address = `/sign-in?${new URLSearchParams({ to })}`;
  return html`<p>${why}</p><p><a class="button" href="${address}">Sign in with Gitea</a></p>`;
}

/** A page that says one thing, e.g. why a request was refused. */
export function messageContent(text: string): Markup {
  return html`<p>${printable(text)}</p><p><a href="/">To the jobs</a></p>`;
}
