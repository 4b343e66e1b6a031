/** The requests at one moment of the replayed past: unseen runners, and jobs in line for a slot. The functions are the moves, and change this state. */
import type { Group, ListedJob } from '../evidence.ts';
import { patienceMs } from './patience.ts';

/** A group at one moment of the replayed past. */
export interface PastGroup {
  readonly group: Group;
  /** Runners that it may have; 0 when suspended. */
  readonly cap: number;
  /** The lines in which jobs wait for it. Their jobs may wait for other groups, too. */
  readonly lines: WaitingLine[];
  readonly requestedRunners: Set<PastRunner>;
  /** Runners at work. */
  busy: number;
  /** The longest time that one of its runners took to come, ms. */
  slowestMs: number;
  /** When the youngest runner that has come was requested, ms. */
  newestMs: number;
  /** Runners that have not come, although they were asked for after that. */
  missed: number;
  /** Slots in use, by the repository of their job. Only where repositories take turns. */
  readonly slots: Map<string, number>;
}

/** A runner that was asked for. */
export interface PastRunner {
  readonly from: PastGroup;
  /** The job in its name. */
  readonly madeFor: PastJob;
  readonly sinceMs: number;
  /** The runner may come until then, ms. Later knowledge of the group's starts changes it. */
  dueMs: number;
  /** The job that waits for it. */
  serves: PastJob;
}

/** Jobs that wait for a slot of the same groups, and have the same turn there. */
export interface WaitingLine {
  /** First owner first. */
  readonly groups: readonly PastGroup[];
  /** Jobs in line, in queue order. Some entries have left the line. */
  readonly waiting: PastJob[];
}

/** A job at one moment of the replayed past. */
export interface PastJob {
  readonly listed: ListedJob;
  readonly readyMs: number;
  /** Position in the order of age. */
  readonly rank: number;
  /** Undefined when nobody may ask for a runner for it. */
  readonly line: WaitingLine | undefined;
  /** The group that has a living runner made for it: that group was asked. */
  readonly home: PastGroup | undefined;
  /** The runner that it waits for. */
  runner: PastRunner | undefined;
  /** The runner that was last asked for in its name, whichever job it serves now. */
  made: PastRunner | undefined;
  /** Runners in its name that have not come. */
  missed: number;
  /** True when it wants nothing any more. Its line forgets it when it comes first. */
  hasLeft: boolean;
}

export function openGroup(group: Group): PastGroup {
  const cap = group.suspend ? 0 : group.maxActiveRunners;
  return {
    group,
    cap,
    lines: [],
    requestedRunners: new Set(),
    busy: 0,
    slowestMs: 0,
    newestMs: 0,
    missed: 0,
    slots: new Map(),
  };
}

/** Requests a runner of the first owner with a free slot. Without one the job waits in line, or takes the slot of another job, which then requests or waits. */
export function askOrWait(job: PastJob, atMs: number): void {
  for (let next: PastJob | undefined = job; next; ) next = askOnce(next, atMs);
}

/** Requests a runner for a job, or puts the job in line. @returns the job that has lost its slot to this one */
function askOnce(job: PastJob, atMs: number): PastJob | undefined {
  const groups = job.line?.groups ?? [];
  const free = job.home && hasSlot(job.home) ? job.home : groups.find(hasSlot);
  if (free) {
    ask(free, job, job, atMs);
    return undefined;
  }
  for (const full of groups) {
    const loser = loserTo(job, full);
    if (!loser) continue;
    const { serves } = loser;
    giveUp(loser);
    ask(full, job, job, atMs);
    return serves;
  }
  if (job.line) insertInLine(job.line.waiting, job);
  return undefined;
}

/** The runner that a repository loses to the one of this job: after that it still has as many slots as the other one. */
function loserTo(job: PastJob, from: PastGroup): PastRunner | undefined {
  const last = from.group.fairness === 'per-repository' ? lastInTurn(from) : undefined;
  return last && turnOf(from, last.serves) > turnOf(from, job) + 1 ? last : undefined;
}

/** Adds one runner to, or takes one from, those that work for this job. */
export function countAtWork(group: PastGroup, job: PastJob, delta: 1 | -1): void {
  group.busy += delta;
  countSlot(group, job, delta);
}

/** Free slots go to the jobs that wait. */
export function fillSlots(group: PastGroup, atMs: number): void {
  while (hasSlot(group)) {
    const job = takeFirst(group);
    if (!job) return;
    ask(group, job, job, atMs);
  }
}

/** The job wants nothing any more. Its runner goes to the first in line. */
export function leave(job: PastJob): void {
  const { runner } = job;
  job.hasLeft = true;
  if (!runner) return;
  giveUp(runner);
  const next = takeFirst(runner.from);
  if (next) serve(runner, next);
}

/** A runner has come and has taken a job. The job that waited for it gets the runner of the taken one, or asks for another one. */
export function exchange(usedRunner: PastRunner, takenJob: PastJob, atMs: number): void {
  const { from, serves: bereft } = usedRunner;
  learn(usedRunner, atMs);
  const runner = takenJob.runner;
  giveUp(usedRunner);
  if (runner && runner !== usedRunner && bereft.line?.groups.includes(runner.from)) {
    giveUp(runner);
    serve(runner, bereft);
  } else if (runner !== usedRunner) {
    leave(takenJob);
    askOrWait(bereft, atMs);
  }
  fillSlots(from, atMs);
}

/** A runner has come. A start that took so long tells how long the others may take that have been asked for already. */
function learn({ from, sinceMs }: PastRunner, atMs: number): void {
  if (sinceMs >= from.newestMs) {
    from.newestMs = sinceMs;
    from.missed = 0;
  }
  if (atMs - sinceMs <= from.slowestMs) return;
  from.slowestMs = atMs - sinceMs;
  giveTime(from);
}

/** Extends the time of requested runners. No time becomes shorter. */
function giveTime(group: PastGroup): void {
  for (const runner of group.requestedRunners) runner.dueMs = Math.max(runner.dueMs, dueMs(runner));
}

/** Returns how long a runner may take, ms. @param missed runners in the name of its job. Default: by the starts of the group alone */
function timeIn({ slowestMs, missed: groupMissed, group }: PastGroup, missed = 0): number {
  return patienceMs({ missed, groupMissed, slowestMs }, group.spawnTimeoutMs);
}

function dueMs({ from, madeFor, sinceMs }: Omit<PastRunner, 'dueMs'>): number {
  return sinceMs + timeIn(from, madeFor.missed);
}

/** Gives up requests above the cap. The last in turn goes first. */
export function keepCap(group: PastGroup, atMs: number): void {
  while (group.busy + group.requestedRunners.size > group.cap) {
    const last = lastInTurn(group);
    if (!last) return;
    const { serves } = last;
    giveUp(last);
    askOrWait(serves, atMs);
  }
}

/** Asks again, under the next name, for runners that have not come. @returns when the next one is due */
export function timeOut(group: PastGroup, atMs: number): number {
  for (;;) {
    let first: PastRunner | undefined;
    for (const runner of group.requestedRunners) if (!first || runner.dueMs < first.dueMs) first = runner;
    if (!first || atMs < first.dueMs) return first?.dueMs ?? Number.POSITIVE_INFINITY;
    const { madeFor, serves, dueMs } = first;
    giveUp(first);
    madeFor.missed += 1;
    // A runner that others have overtaken is lost. It says nothing about starts.
    const before = timeIn(group);
    if (first.sinceMs > group.newestMs) group.missed += 1;
    // The time stops growing after a few runners. Otherwise each of thousands of old jobs would cost all others a step.
    if (timeIn(group) > before) giveTime(group);
    ask(group, serves, madeFor, dueMs);
  }
}

function hasSlot({ busy, requestedRunners, cap }: PastGroup): boolean {
  return busy + requestedRunners.size < cap;
}

function ask(from: PastGroup, serves: PastJob, madeFor: PastJob, sinceMs: number): void {
  const request = { from, madeFor, sinceMs, serves };
  const runner: PastRunner = { ...request, dueMs: dueMs(request) };
  madeFor.made = runner;
  serve(runner, serves);
}

function giveUp(runner: PastRunner): void {
  const { from, serves } = runner;
  from.requestedRunners.delete(runner);
  serves.runner = undefined;
  countSlot(from, serves, -1);
}

/** Assigns a new runner, or one that was given up, to a job. */
function serve(runner: PastRunner, job: PastJob): void {
  runner.from.requestedRunners.add(runner);
  runner.serves = job;
  job.runner = runner;
  countSlot(runner.from, job, 1);
}

function countSlot(pastGroup: PastGroup, job: PastJob, delta: 1 | -1): void {
  if (pastGroup.group.fairness === 'per-repository')
    pastGroup.slots.set(job.listed.job.repository, turnOf(pastGroup, job) + delta);
}

/** Slots that the job's repository has already; 0 where repositories do not take turns. */
function turnOf({ slots }: PastGroup, { listed }: PastJob): number {
  return slots.get(listed.job.repository) ?? 0;
}

/** Longest ready first, then oldest. No two jobs are equal. */
function inLine(a: PastJob, b: PastJob): number {
  return a.readyMs - b.readyMs || a.rank - b.rank;
}

function inTurn(group: PastGroup, a: PastJob, b: PastJob): number {
  return turnOf(group, a) - turnOf(group, b) || inLine(a, b);
}

/** The runner whose job would get its slot last. */
function lastInTurn(group: PastGroup): PastRunner | undefined {
  let last: PastRunner | undefined;
  for (const runner of group.requestedRunners)
    if (!last || inTurn(group, last.serves, runner.serves) < 0) last = runner;
  return last;
}

/** Takes the first of all jobs that wait for this group out of the line. */
function takeFirst(group: PastGroup): PastJob | undefined {
  let lineOfFirst: WaitingLine | undefined;
  let first: PastJob | undefined;
  for (const line of group.lines) {
    while (line.waiting[0]?.hasLeft) line.waiting.shift();
    const [head] = line.waiting;
    if (!head || (first && inTurn(group, first, head) < 0)) continue;
    lineOfFirst = line;
    first = head;
  }
  lineOfFirst?.waiting.shift();
  return first;
}

/** Inserts a job in queue order. Most jobs go to the end. */
function insertInLine(waiting: PastJob[], job: PastJob): void {
  let index = waiting.length;
  for (let last = waiting[index - 1]; last && inLine(last, job) > 0; last = waiting[index - 1]) index -= 1;
  waiting.splice(index, 0, job);
}
