/**
 * The demo as text. `frame` draws a terminal picture of at most 23 lines, pure from the world; words carry the meaning,
 * colour only repeats it.
 */

import type { GiteaJob } from '../simulator/gitea/gitea.ts';
import { isDone } from '../simulator/gitea/model.ts';
import { painted, type Style } from '../src/shared/io.ts';
import { printable } from '../src/shared/printable.ts';
import { fitted } from '../src/shared/table.ts';
import type { DemoJob } from './cluster.ts';
import { CHAPTERS } from './story.ts';
import { covers, type DemoWorld, type Told } from './world.ts';

const QUEUE_ROWS = 9;
const RUNNER_ROWS = 5;
const LOG_ROWS = 2;
const NAME_WIDTH = 24;
const TITLE = 'gitea-runners demo';
const REAL = '  generate is real; Gitea, Argo CD, pods are simulated';
/** Narrower terminals would wrap lines, and then nothing is where it was. */
export const NARROWEST = 72;

/** How text is drawn: `paint` adds colour or leaves the text as it is. */
export interface Canvas {
  readonly columns: number;
  readonly paint: (style: Style, text: string) => string;
}

/** A canvas that colours only when asked to. */
export function canvas(columns: number, colour: boolean): Canvas {
  return { columns, paint: (style, text) => painted(style, text, { colour }) };
}

/** Cuts to the width and fills up to it, so that columns stay where they are. */
function cell(text: string, width: number): string {
  return fitted(printable(text), width).padEnd(width);
}

/** `4.2 s`. */
export function secondsText(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

interface Row {
  readonly text: string;
  readonly style: Style;
}

/** Says of every CI job what becomes of it, in the order of Gitea's list. */
function queueRows(world: DemoWorld): readonly { readonly job: GiteaJob; readonly row: Row }[] {
  // Free runners serve the oldest jobs they cover; what is left is held back or not seen yet.
  const free = world.cluster.jobs().filter((live) => live.phase === 'starting' || live.phase === 'idle');
  return world.jobs().map((job) => ({ job, row: queueRow(world, job, free) }));
}

function queueRow(world: DemoWorld, job: GiteaJob, free: DemoJob[]): Row {
  const wait = world.waits.get(job.id);
  const waited = wait?.tookMs === undefined ? '' : `, waited ${secondsText(wait.tookMs - wait.readyMs)}`;
  if (isDone(job.status)) return { text: `done: ${job.status}${waited}`, style: 'green' };
  if (job.status === 'running') {
    const runner = world.cluster.jobs().find((live) => live.runs?.id === job.id)?.name ?? 'a runner';
    return { text: `runs on ${runner}`, style: 'cyan' };
  }
  if (job.status === 'blocked') return { text: `blocked: needs ${job.needs.join(', ')}`, style: 'dim' };
  if (world.isUncovered(job)) return { text: `no runner: labels not covered: ${job.labels?.join(', ')}`, style: 'red' };
  const index = free.findIndex((live) => covers(live, job));
  if (index >= 0) {
    free.splice(index, 1);
    return { text: 'queued: a runner is starting', style: 'yellow' };
  }
  const group = world.groups.find((each) => covers(each, job));
  const full = group !== undefined && world.cluster.active(group.name) >= group.cap;
  return { text: full ? `queued: held back by the cap of ${group.cap}` : 'queued: new', style: 'yellow' };
}

function queueLines(world: DemoWorld, { columns, paint }: Canvas): string[] {
  const rows = [...queueRows(world)];
  // The oldest finished jobs make room first.
  while (rows.length > QUEUE_ROWS) {
    const finished = rows.findIndex(({ job }) => isDone(job.status));
    if (finished < 0) break;
    rows.splice(finished, 1);
  }
  const shown = rows.slice(0, rows.length > QUEUE_ROWS ? QUEUE_ROWS - 1 : QUEUE_ROWS);
  const repos = new Map([...world.simulator.gitea.state.repos.values()].map(({ id, name }) => [id, name]));
  const lines = shown.map(({ job, row }) => {
    const name = cell(`#${job.id} ${repos.get(job.repoId) ?? ''} ${job.name}`, NAME_WIDTH);
    return `  ${name}  ${paint(row.style, cell(row.text, columns - NAME_WIDTH - 5).trimEnd())}`;
  });
  if (rows.length > shown.length) lines.push(`  … and ${rows.length - shown.length} more`);
  return [...lines, ...Array<string>(QUEUE_ROWS - lines.length).fill('')];
}

function runnerLines(world: DemoWorld, { columns, paint }: Canvas): string[] {
  const jobs = world.cluster.jobs();
  const lines = jobs.slice(0, RUNNER_ROWS).map((live) => {
    const madeFor = live.madeFor === undefined ? '' : `made for #${live.madeFor}`;
    const [text, style] = runnerText(live);
    return `  ${cell(live.name, 21)}  ${cell(madeFor, 13)}  ${paint(style, cell(text, columns - 42).trimEnd())}`;
  });
  if (lines.length === 0) lines.push(paint('dim', '  none'));
  return [...lines, ...Array<string>(RUNNER_ROWS - lines.length).fill('')];
}

function runnerText(live: DemoJob): readonly [string, Style] {
  switch (live.phase) {
    case 'starting':
      return ['pod starts', 'dim'];
    case 'idle':
      return ['registered, waits for work', 'yellow'];
    case 'busy':
      return [
        live.runs ? `runs ${live.runs.id === live.madeFor ? '' : 'another: '}#${live.runs.id} ${live.runs.name}` : '',
        'cyan',
      ];
    case 'done':
      return [`done with #${live.runs?.id}; Kubernetes removes the Job`, 'green'];
    default:
      return live.phase satisfies never;
  }
}

/** One line of the log. */
export function logLine({ atMs, who, what }: Told, columns = Number.POSITIVE_INFINITY): string {
  return fitted(`${secondsText(atMs).padStart(7)}  ${who.padEnd(8)} ${printable(what)}`, columns);
}

function logLines(world: DemoWorld, { columns, paint }: Canvas): string[] {
  const lines = world.told.slice(-LOG_ROWS).map((told) => paint('dim', logLine(told, columns - 1)));
  return [...lines, ...Array<string>(LOG_ROWS - lines.length).fill('')];
}

/** Counts of the queue by what people call it. */
function counts(world: DemoWorld): string {
  const of = (...statuses: readonly string[]) => world.jobs().filter((job) => statuses.includes(job.status)).length;
  const done = world.jobs().filter((job) => isDone(job.status)).length;
  return `${of('waiting')} queued, ${of('running')} running, ${of('blocked')} blocked, ${done} done`;
}

/** The picture of this moment: at most 23 lines, none longer than the terminal is wide. */
export function frame(world: DemoWorld, on: Canvas): string[] {
  const columns = Math.min(on.columns, 110);
  const fitted = { ...on, columns };
  const [first, second] = CHAPTERS[world.chapter];
  const caps = world.groups.map(({ name, cap }) => `${name} ${world.cluster.active(name)} of ${cap}`).join(', ');
  const clock = secondsText(world.nowMs);
  return [
    `${on.paint('bold', TITLE)}${on.paint('dim', cell(REAL, columns - TITLE.length - clock.length - 2))} ${clock}`,
    '',
    `  ${on.paint('bold', cell(first, columns - 3).trimEnd())}`,
    `  ${on.paint('bold', cell(second, columns - 3).trimEnd())}`,
    '',
    `${on.paint('bold', 'GITEA QUEUE')}${cell(`  org acme: ${counts(world)}`, columns - 12).trimEnd()}`,
    ...queueLines(world, fitted),
    `${on.paint('bold', 'RUNNERS')}${cell(`  one Kubernetes Job each: ${caps}`, columns - 8).trimEnd()}`,
    ...runnerLines(world, fitted),
    ...logLines(world, fitted),
  ];
}
