/**
 * Finds the runners that may be starting. Gitea shows when its jobs began and ended, so the past is replayed.
 * Each event does to the runners that have been asked for what the plans of that time did:
 *
 *     a job becomes ready ... its first owner with a free slot is asked for a runner; when none has one, it waits in line
 *     a job ends ............ its slot goes to the first in line
 *     a job begins .......... the name of its runner tells which job asked for that one; that job now waits for the runner of the
 *                             one that began
 *     a job is cancelled .... its runner goes to the first in line
 *     a spawn timeout ....... a runner that has not come is asked for again, under the next name
 *
 * Nothing is given up otherwise. So one event more changes little, and runners that start are kept (docs/adr/0019).
 */
import { memo } from '../collections.ts';
import type { Group, ListedJob } from '../evidence.ts';
import type { Facts, PastRequest } from '../facts.ts';
import { OFFLINE_AFTER_MS } from '../judge.ts';
import { isMadeForSame } from '../names.ts';
import { type Owners, takeTurns } from '../owners.ts';
import { blockedFinder } from './needs.ts';
import {
  askOrWait,
  countAtWork,
  exchange,
  fillSlots,
  keepCap,
  leave,
  openGroup,
  type PastGroup,
  type PastJob,
  type PastRunner,
  timeOut,
  type WaitingLine,
} from './requests.ts';

interface Past {
  readonly facts: Facts;
  readonly groups: ReadonlyMap<Group, PastGroup>;
  readonly jobs: ReadonlyMap<ListedJob, PastJob>;
}

/** Replays the past. Returns the request of each ready job. */
export function replayPast(facts: Facts): ReadonlyMap<ListedJob, PastRequest> {
  const past = openPast(facts);
  const shortestTimeoutMs = Math.min(...facts.groups.map(({ spawnTimeoutMs }) => spawnTimeoutMs));
  let dueMs = Number.NEGATIVE_INFINITY;
  const timeOutUntil = (atMs: number): void => {
    if (atMs < dueMs) return;
    // A runner that is requested from now on has all its time before it. Later knowledge of starts only adds time.
    dueMs = atMs + shortestTimeoutMs;
    for (const group of past.groups.values()) dueMs = Math.min(dueMs, timeOut(group, atMs));
  };
  for (const event of eventsOf(past.jobs.values(), facts)) {
    timeOutUntil(event.atMs);
    happen(event, past);
  }
  timeOutUntil(facts.nowMs);
  for (const job of past.jobs.values()) if (job.listed.job.status !== 'queued') leave(job);
  const requests = new Map<ListedJob, PastRequest>();
  for (const { listed, runner } of past.jobs.values()) {
    if (!runner) continue;
    const { from, madeFor } = runner;
    requests.set(listed, { group: from.group, madeFor: madeFor.listed, missed: madeFor.missed });
  }
  return requests;
}

/** The past before its first event. */
function openPast(facts: Facts): Past {
  const groups = new Map(facts.groups.map((group) => [group, openGroup(group)]));
  const lineOf = lineFinder(groups);
  const becameReadyMs = becameReadyFinder(facts);
  const jobs = new Map<ListedJob, PastJob>();
  facts.jobs.forEach((listed, rank) => {
    const readyMs = becameReadyMs(listed);
    if (readyMs === undefined) return;
    const { job, origin } = listed;
    // A free runner that was made for the job tells which group was asked.
    const living = job.status === 'queued' && facts.madeFor(origin, job).find(({ state }) => state === 'free');
    const home = living ? groups.get(living.group) : undefined;
    const line = lineOf(listed, facts.ownersOf(listed));
    const nothing = { runner: undefined, made: undefined, missed: 0, hasLeft: false };
    jobs.set(listed, { listed, readyMs, rank, line, home, ...nothing });
  });
  return { facts, groups, jobs };
}

/** Finds the line of a job: one for each set of owners or, where repositories take turns, one for each repository there. */
function lineFinder(
  groups: ReadonlyMap<Group, PastGroup>,
): (listed: ListedJob, owners: Owners) => WaitingLine | undefined {
  const lineOf = memo((owners: Extract<Owners, { readonly covered: true }>) =>
    memo((_repository: string) => {
      const line: WaitingLine = { groups: owners.groups.flatMap((group) => groups.get(group) ?? []), waiting: [] };
      for (const { lines } of line.groups) lines.push(line);
      return line;
    }),
  );
  return ({ job }, owners) =>
    owners.covered ? lineOf(owners)(takeTurns(owners.groups) ? job.repository : '') : undefined;
}

function happen({ what, job, atMs }: PastEvent, past: Past): void {
  if (what === 'ready') askOrWait(job, atMs);
  else if (what === 'cancel') leave(job);
  else if (what === 'begin') begin(job, atMs, past);
  else end(job, atMs, past);
}

function begin(job: PastJob, atMs: number, past: Past): void {
  const group = groupAtWork(job, past);
  const used = group && usedFor(job, past);
  if (group) countAtWork(group, job, 1);
  if (used) exchange(used, job, atMs);
  else leave(job);
  if (group) keepCap(group, atMs);
}

function end(job: PastJob, atMs: number, past: Past): void {
  const group = groupAtWork(job, past);
  if (!group) return;
  countAtWork(group, job, -1);
  fillSlots(group, atMs);
}

/** The group of the runner that took the job. */
function groupAtWork({ listed: { job, origin } }: PastJob, { facts, groups }: Past): PastGroup | undefined {
  const runner = job.runner === undefined ? undefined : facts.findRunner(job.runner);
  return runner?.group.origin === origin && runner.state !== 'foreign' ? groups.get(runner.group) : undefined;
}

/** Returns the requested runner that took the job: of that name or, if it was given up, for the job in the name. */
function usedFor({ listed: { job, origin } }: PastJob, { facts, jobs }: Past): PastRunner | undefined {
  const stay = facts.findRunner(job.runner ?? '')?.madeFor;
  const maker = stay && 'id' in stay ? facts.findJob(origin, stay.id) : undefined;
  const asker = maker && stay && isMadeForSame(maker.job, stay) ? jobs.get(maker) : undefined;
  return asker?.made?.from.requestedRunners.has(asker.made) ? asker.made : asker?.runner;
}

/** The order of events in the same second. */
const ORDER = { end: 0, cancel: 1, ready: 2, begin: 3 } as const;

export interface PastEvent {
  readonly atMs: number;
  readonly what: keyof typeof ORDER;
  readonly job: PastJob;
}

/** Says when a job became ready, ms, as far as is known; undefined when it never did. */
export function becameReadyFinder({ jobs, readySinceMs }: Facts): (listed: ListedJob) => number | undefined {
  const wasBlocked = blockedFinder(jobs);
  return (listed) => {
    const { status, startedAtMs, completedAtMs } = listed.job;
    if (status === 'blocked') return undefined;
    const sinceMs = readySinceMs(listed);
    const isCancelled = status === 'completed' && startedAtMs === undefined;
    if (isCancelled && ((completedAtMs ?? 0) <= sinceMs || wasBlocked(listed))) return undefined;
    return status === 'queued' ? sinceMs : Math.min(sinceMs, startedAtMs ?? sinceMs);
  };
}

/** Returns all events in their order. @param jobs oldest first: events of one kind and second keep that order */
export function eventsOf(jobs: Iterable<PastJob>, facts: Facts): readonly PastEvent[] {
  const events: PastEvent[] = [];
  for (const job of jobs) {
    const { status, startedAtMs, completedAtMs } = job.listed.job;
    const add = (kind: PastEvent['what'], atMs: number | undefined): void => {
      if (atMs !== undefined) events.push({ atMs, what: kind, job });
    };
    add('ready', job.readyMs);
    if (status === 'queued') continue;
    add('begin', startedAtMs);
    add('end', lostMs(job.listed, facts));
    if (status === 'completed') add(startedAtMs === undefined ? 'cancel' : 'end', completedAtMs ?? startedAtMs);
  }
  return events.sort((a, b) => a.atMs - b.atMs || ORDER[a.what] - ORDER[b.what]);
}

/** Returns when the slot of a lost runner became free. Nobody knows, so it is the first possible moment. */
function lostMs({ job, origin }: ListedJob, { findRunner }: Facts): number | undefined {
  if (job.status !== 'in_progress' || job.startedAtMs === undefined) return undefined;
  const runner = findRunner(job.runner ?? '');
  return runner?.group.origin === origin && runner.state === 'lost' ? job.startedAtMs + OFFLINE_AFTER_MS : undefined;
}
