/** What had been asked for, at one moment of the past that `replay` plays again: slots of groups, runners, and jobs that wait in line. */
import type { Group } from './evidence.ts';
import { patienceMs } from './patience.ts';
import type { SeenJob } from './world.ts';

/** One group. */
export interface Place {
  readonly group: Group;
  /** Runners that it may have; 0 when suspended. */
  readonly cap: number;
  /** The lines in which jobs wait for it, among others. */
  readonly lines: Line[];
  /** Runners that nobody has seen yet. */
  readonly asked: Set<Start>;
  /** The same, the one that is due first comes first, and some that are not in `asked` any more. */
  readonly starts: Start[];
  /** Runners at work. */
  busy: number;
  /** The longest time that one of its runners took to come, ms. */
  slowestMs: number;
  /** Runners at work or asked for, by the repository of their job, where repositories take turns. */
  readonly slots: Map<string, number>;
}

/** A runner that was asked for. */
export interface Start {
  readonly place: Place;
  /** The job in its name. */
  readonly madeFor: Part;
  readonly sinceMs: number;
  /** Until then it may come. */
  readonly dueMs: number;
  /** The job that waits for it. */
  serves: Part;
}

/** Jobs that wait for a slot of the same groups, and have the same turn there. */
export interface Line {
  /** First owner first. */
  readonly places: readonly Place[];
  /** In queue order; some of them do not wait any more. */
  readonly waiting: Part[];
}

/** What one job has and had. */
export interface Part {
  readonly seen: SeenJob;
  readonly readyMs: number;
  /** Position in the order of age. */
  readonly rank: number;
  /** Undefined when nobody may ask for a runner for it. */
  readonly line: Line | undefined;
  /** The group that has a living runner made for it: that one was asked. */
  readonly home: Place | undefined;
  /** The runner that it waits for. */
  start: Start | undefined;
  /** The runner that was last asked for in its name, whomever it serves now. */
  made: Start | undefined;
  /** Runners in its name that have not come. */
  missed: number;
  isWaiting: boolean;
}

export function openPlace(group: Group): Place {
  const cap = group.suspend ? 0 : group.maxActiveRunners;
  return { group, cap, lines: [], asked: new Set(), starts: [], busy: 0, slowestMs: 0, slots: new Map() };
}

/** Asks the first owner with room for a runner; when none has, the job waits in line, or another one that loses its slot to it. */
export function askOrWait(part: Part, atMs: number): void {
  for (let next: Part | undefined = part; next; ) next = askOnce(next, atMs);
}

/** @returns the job that has lost its slot to this one */
function askOnce(part: Part, atMs: number): Part | undefined {
  const places = part.line?.places ?? [];
  const free = part.home && hasRoom(part.home) ? part.home : places.find(hasRoom);
  if (free) {
    ask(free, part, part, atMs);
    return undefined;
  }
  for (const full of places) {
    const loser = loserTo(part, full);
    if (!loser) continue;
    const { serves } = loser;
    giveUp(loser);
    ask(full, part, part, atMs);
    return serves;
  }
  wait(part);
  return undefined;
}

/** The runner that a repository loses to that of this job, because it would still have as many slots as that one then. */
function loserTo(part: Part, place: Place): Start | undefined {
  const last = place.group.fairness === 'per-repository' ? lastInTurn(place) : undefined;
  return last && turnOf(place, last.serves) > turnOf(place, part) + 1 ? last : undefined;
}

/** One runner more works for this job, or one less. */
export function work(place: Place, part: Part, by: 1 | -1): void {
  place.busy += by;
  count(place, part, by);
}

/** Free slots go to those that wait. */
export function fill(place: Place, atMs: number): void {
  while (hasRoom(place)) {
    const part = takeFirst(place);
    if (!part) return;
    ask(place, part, part, atMs);
  }
}

/** The job wants nothing any more. */
export function leave(part: Part): void {
  const { start } = part;
  part.isWaiting = false;
  if (!start) return;
  giveUp(start);
  const next = takeFirst(start.place);
  if (next) serve(start, next);
}

/** The runner has come and has taken a job; the one that waited for it gets the runner that the job had, or asks for another one. */
export function exchange(used: Start, taken: Part, atMs: number): void {
  const { place, serves: bereft } = used;
  place.slowestMs = Math.max(place.slowestMs, atMs - used.sinceMs);
  const own = taken.start;
  giveUp(used);
  taken.isWaiting = false;
  if (own && own !== used && bereft.line?.places.includes(own.place)) {
    giveUp(own);
    serve(own, bereft);
  } else if (own !== used) {
    leave(taken);
    askOrWait(bereft, atMs);
  }
  fill(place, atMs);
}

/** Gives up what is more than the cap; who is last in turn loses first. */
export function keepCap(place: Place, atMs: number): void {
  while (place.busy + place.asked.size > place.cap) {
    const last = lastInTurn(place);
    if (!last) return;
    const { serves } = last;
    giveUp(last);
    askOrWait(serves, atMs);
  }
}

/** Asks again, under the next name, for runners that have not come. */
export function timeOut(place: Place, atMs: number): void {
  const { asked, starts } = place;
  for (let first = starts[0]; first; first = starts[0]) {
    const waits = asked.has(first);
    if (waits && atMs < first.dueMs) return;
    starts.shift();
    if (!waits) continue;
    const { madeFor, serves, dueMs } = first;
    giveUp(first);
    madeFor.missed += 1;
    ask(place, serves, madeFor, dueMs);
  }
}

function hasRoom({ busy, asked, cap }: Place): boolean {
  return busy + asked.size < cap;
}

function ask(place: Place, serves: Part, madeFor: Part, sinceMs: number): void {
  const dueMs =
    sinceMs + patienceMs({ missed: madeFor.missed, slowestMs: place.slowestMs }, place.group.spawnTimeoutMs);
  const start: Start = { place, madeFor, sinceMs, dueMs, serves };
  madeFor.made = start;
  serves.start = start;
  place.asked.add(start);
  count(place, serves, 1);
  insert(place.starts, start, (a, b) => a.dueMs - b.dueMs);
}

function giveUp(start: Start): void {
  const { place, serves } = start;
  place.asked.delete(start);
  serves.start = undefined;
  count(place, serves, -1);
}

/** Gives a runner that was given up to another job. */
function serve(start: Start, part: Part): void {
  const { place } = start;
  place.asked.add(start);
  start.serves = part;
  part.start = start;
  count(place, part, 1);
}

function count({ group, slots }: Place, { seen }: Part, by: 1 | -1): void {
  if (group.fairness === 'oldest') return;
  const { repository } = seen.job;
  slots.set(repository, (slots.get(repository) ?? 0) + by);
}

/** Slots that the job's repository has already, where repositories take turns; else 0. */
function turnOf({ slots }: Place, { seen }: Part): number {
  return slots.get(seen.job.repository) ?? 0;
}

function wait(part: Part): void {
  if (!part.line) return;
  part.isWaiting = true;
  insert(part.line.waiting, part, inLine);
}

/** Longest ready first, then oldest. No two parts are equal. */
function inLine(a: Part, b: Part): number {
  return a.readyMs - b.readyMs || a.rank - b.rank;
}

function inTurn(place: Place, a: Part, b: Part): number {
  return turnOf(place, a) - turnOf(place, b) || inLine(a, b);
}

/** The runner whose job would get its slot last. */
function lastInTurn(place: Place): Start | undefined {
  let last: Start | undefined;
  for (const start of place.asked) if (!last || inTurn(place, last.serves, start.serves) < 0) last = start;
  return last;
}

/** The first of all that wait for this place; it waits no longer. */
function takeFirst(place: Place): Part | undefined {
  let lineOfFirst: Line | undefined;
  let first: Part | undefined;
  for (const line of place.lines) {
    const head = headOf(line);
    if (!head || (first && inTurn(place, first, head) < 0)) continue;
    lineOfFirst = line;
    first = head;
  }
  lineOfFirst?.waiting.shift();
  if (first) first.isWaiting = false;
  return first;
}

function headOf({ waiting }: Line): Part | undefined {
  while (waiting[0] && !waiting[0].isWaiting) waiting.shift();
  return waiting[0];
}

/** Puts an item into a sorted list, behind its equals; most often that is the end. */
function insert<T>(sorted: T[], item: T, compare: (a: T, b: T) => number): void {
  let at = sorted.length;
  for (let last = sorted[at - 1]; last !== undefined && compare(last, item) > 0; last = sorted[at - 1]) at -= 1;
  sorted.splice(at, 0, item);
}
