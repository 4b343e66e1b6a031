/** The page as HTML, from the data of view.ts. `html` escapes all that is put into it. It needs no JavaScript. */
import { html } from 'hono/html';
import { labelsText } from '../../observe/explain/held-back.ts';
import { JOB_STATES, type JobState } from '../../observe/explain/job-state.ts';
import { count, duration, printable } from '../../shared/printable.ts';
import { SCRIPT_PATH, STYLE_PATH } from './assets.ts';
import type { GroupAnswer, GroupRow, GroupsPage, HourOfWaits, JobAnswer, JobRow, JobsPage } from './view.ts';

/** HTML whose texts are escaped. */
export type Markup = ReturnType<typeof html>;

/** What stands around each page. */
export interface Frame {
  readonly title: string;
  /** Absent: nobody is signed in. */
  readonly login?: string;
  /** When the figures were made, by this machine's clock, and now. `trouble`: why they are not newer. Absent: there are none. */
  readonly age?: { readonly atMs: number; readonly nowMs: number; readonly trouble: string | undefined };
  readonly path: string;
}

export function pageOf({ age, login, path, title }: Frame, content: Markup): string {
  const isSignedIn = login !== undefined;
  const person =
    isSignedIn &&
    html`<nav aria-label="Pages">${linkTo('/', 'My jobs', path)} ${linkTo('/groups', 'Groups', path)}</nav>
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
    <p class="brand">CI runners</p>
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

/** Older figures than this are called old although nothing is known to be wrong. */
const OLD_MS = 30_000;

function ageText({ atMs, nowMs, trouble = '' }: NonNullable<Frame['age']>): Markup {
  const isOld = trouble !== '' || nowMs - atMs > OLD_MS;
  const at = new Date(atMs).toISOString();
  const time = html`<time datetime="${at}">${at.slice(0, 10)} ${at.slice(11, 19)} UTC</time>`;
  const old = `, ${duration(nowMs - atMs)} old`;
  return html`<p class="${isOld ? 'age old' : 'age'}">Figures of ${time}${isOld && old}. ${printable(trouble)}</p>`;
}

function ageAt(now: string, at: string): string {
  return duration(Date.parse(now) - Date.parse(at));
}

function wordOf(state: JobState): string {
  return state === 'held' ? 'held back' : state;
}

function stateOf({ state, what }: JobRow): Markup {
  return html`<strong class="state ${state}">${state === 'ended' ? what : wordOf(state)}</strong>`;
}

export function jobsContent(page: JobsPage, repository: string): Markup {
  const { checkedAt, counts, ended, jobs, page: at, pages, unknownRepositories: unknown } = page;
  const told = JOB_STATES.map((state) => `${counts[state]} ${wordOf(state)}`).join(', ');
  const toPage = (other: number, text: string): Markup =>
    html`<a href="/?${new URLSearchParams({ repository, page: String(other) })}">${text}</a>`;
  const hidden = html`<p class="old">Gitea has not said yet of ${unknown} repositories whether you may read them.
      Their jobs are not shown.</p>`;
  const otherPages = html`<nav aria-label="More jobs">
      ${at > 1 && toPage(at - 1, 'Earlier ones')} Page ${at} of ${pages} ${at < pages && toPage(at + 1, 'More jobs')}
    </nav>`;
  return html`<p role="status" id="counts">Jobs: ${told}.</p>
    ${unknown > 0 && hidden}
    <form method="get" action="/" class="filter">
      <label for="repository">Repository</label>
      <input id="repository" name="repository" value="${printable(repository)}" maxlength="200">
      <button type="submit">Show</button>
    </form>
    <h2>Waiting and running</h2>
    ${jobList(jobs, checkedAt, 'No job of a repository that you can read waits or runs.')}
    ${pages > 1 && otherPages}
    <h2>Ended lately</h2>
    ${jobList(ended, checkedAt, 'None is known.')}`;
}

/** @param none what is said instead of an empty list */
function jobList(jobs: readonly JobRow[], now: string, none: string): Markup {
  if (jobs.length === 0) return html`<p>${none}</p>`;
  const rows = jobs.map(
    (job) => html`<li id="job-${job.id}">
      <a href="/jobs/${job.id}">${job.repository} ${job.name}</a> ${stateOf(job)}
      ${job.state !== 'ended' && html`<p>${job.what}</p>`}
      ${jobFacts(job, now)}
    </li>`,
  );
  return html`<ul class="jobs">${rows}</ul>`;
}

function jobFacts({ createdAt, endedAt, group, runner, runsOn, startedAt }: JobRow, now: string): Markup | undefined {
  const since = endedAt === undefined ? (startedAt === undefined ? 'Created' : 'Runs since') : 'Ended';
  const at = endedAt ?? startedAt ?? createdAt;
  const ago = html`<time datetime="${at}">${ageAt(now, at)} ago</time>`;
  const labels = labelsText(runsOn) || 'no labels';
  return facts(Object.entries({ [since]: ago, 'Runs on': labels, Group: group, Runner: runner }));
}

/** What is not known is left out. */
function facts(all: readonly (readonly [string, unknown])[], kind: 'facts' | 'lines' = 'facts'): Markup | undefined {
  const known = all.filter(([, value]) => value !== undefined);
  if (known.length === 0) return undefined;
  const rows = known.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`);
  return html`<dl class="${kind}">${rows}</dl>`;
}

export function jobContent({ answer, checkedAt, job, title }: JobAnswer): Markup {
  return html`<p class="answer">${title}</p>
    <p role="status">${stateOf(job)}</p>
    ${jobFacts(job, checkedAt)}
    ${answer.length > 0 && html`<h2>Why</h2>`}
    ${facts(answer, 'lines')}
    ${job.link !== undefined && html`<p>${linkOut(job.link, 'This job in Gitea')}</p>`}`;
}

function linkOut(to: string, text: string): Markup {
  return html`<a href="${to}" rel="noreferrer">${text}</a>`;
}

export function groupsContent({ broken, groups }: GroupsPage): Markup {
  if (groups.length + broken.length === 0)
    return html`<p>You own the scope of no RunnerGroup here.
      Owners of an organization, of a repository and of Gitea see theirs.</p>`;
  return html`<ul class="jobs">
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
  const rows = runners.map(({ createdAt, logLink, node, pod, runner, state, what }): readonly unknown[] => {
    const since = createdAt === undefined ? 'not created' : ageAt(checkedAt, createdAt);
    const log = logLink === undefined ? 'none' : linkOut(logLink, `Log of ${runner}`);
    return [runner, what, pod ?? 'none', node ?? 'none', since, state ?? 'not created', log];
  });
  const names = ['Runner', 'What it does', 'Pod', 'Node', 'Age', 'State', 'Log'];
  return html`${groupFacts(group)}
    ${facts(answer, 'lines')}
    <h2 id="waits">Waiting times</h2>
    ${chart(waits)}
    <h2 id="runners">Runners</h2>
    ${rows.length === 0 ? html`<p>There is none.</p>` : table('runners', names, rows)}
    ${moreRunners > 0 && html`<p>${moreRunners} more runners are not shown.</p>`}
    <h2>Jobs</h2>
    ${jobList(jobs, checkedAt, 'None that you can read waits or runs.')}`;
}

/** It is scrolled when it is too wide, also by keyboard. @param label id of its heading @param rows each begins with its name */
function table(label: string, names: readonly string[], rows: readonly (readonly unknown[])[]): Markup {
  return html`<section class="wide" tabindex="0" aria-labelledby="${label}"><table>
    <thead><tr>${names.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
    <tbody>${rows.map(
      ([name, ...cells]) => html`<tr><th scope="row">${name}</th>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`,
    )}</tbody>
  </table></section>`;
}

/** A bar for each hour: all of it is the longest wait, its first part the median. */
function chart(waits: readonly HourOfWaits[]): Markup {
  const jobs = waits.reduce((sum, hour) => sum + hour.jobs, 0);
  if (jobs === 0) return html`<p>No job of the last hours is known that began on a runner of this group.</p>`;
  const most = Math.max(1, ...waits.map(({ longest }) => longest));
  const rows = waits.map(({ from, jobs: some, longest, median }): readonly unknown[] => {
    const bar = html`<svg viewBox="0 0 ${most} 1" preserveAspectRatio="none" aria-hidden="true">
      <rect class="longest" width="${longest}" height="1"/><rect class="median" width="${median}" height="1"/></svg>`;
    const spans = [median, longest].map((seconds) => (some > 0 ? duration(seconds * 1000) : ''));
    return [from.slice(11, 16), some, ...spans, bar];
  });
  return html`<figure>
    ${table('waits', ['Hour (UTC)', 'Jobs', 'Median', 'Longest', 'Both'], rows)}
    <figcaption>${count(jobs, 'job')}, by the hour in which it began.
      Whole bar: the longest wait. Its first part: the median.
      A wait begins with the creation of the job, so it holds what the job needed, too.</figcaption>
  </figure>`;
}

/** @param to where to go afterwards */
export function signInContent(to: string, why: string): Markup {
  const address = `/sign-in?${new URLSearchParams({ to })}`;
  return html`<p>${why}</p><p><a class="button" href="${address}">Sign in with Gitea</a></p>`;
}

export function messageContent(text: string): Markup {
  return html`<p>${printable(text)}</p>`;
}
