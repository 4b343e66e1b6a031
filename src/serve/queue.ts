/**
 * The one work queue of the leading process, in the way of client-go: all that it does again and again is a key of a class in it.
 *
 *     add ─► waiting until due ─► a place is free (width, lanes in turn) ─► running ─┬─ again in so many ms ─► waiting
 *             ▲                                                                 │    ├─ nothing more ────────► forgotten
 *             └────────────── added while it ran: once more ◄───────────────────┘    └─ Failure ─ back-off ──► waiting
 *
 * A key runs once at a time. What is added while it runs is one more run. A run has a deadline, and ends with its queue. Times are by a
 * clock that is never set. What the queue holds can be printed: what is due when, what runs since when, what failed last.
 *
 * Long because: a class and its keys are one thought.
 */
import type { Clock } from '../clock.ts';
import { Failure } from '../failure.ts';
import { groupBy } from '../group-by.ts';
import { untilAborted } from '../http/until-aborted.ts';

/** When a key is due again. */
export interface Again {
  readonly inMs: number;
  /** It is not made sooner by `add`: a back-off. `lift` ends it. */
  readonly firm?: true;
}

/** What a run is told. */
export interface Turn {
  /** Aborted at the deadline, when the key is forgotten, and with the queue. */
  readonly signal: AbortSignal;
  /** How long it has waited for a place since it was due, ms. */
  readonly waitedMs: number;
  /** What was added until now is what this run does: it is no reason for another one. */
  readonly absorb: () => void;
}

export interface WorkClass {
  /** Runs a key. Answers when it is due again; undefined: when it is added again. A `Failure` that it throws is told to `onFailure`. */
  readonly run: (key: string, turn: Turn) => Promise<Again | undefined>;
  /** What stands in the printed queue. Default: the key. It must hold no secret. */
  readonly nameOf?: (key: string) => string;
  /** Runs at the same time. */
  readonly width: number;
  /** Longest time of a run, ms. Then its signal is aborted, and it is waited for no longer. */
  readonly deadlineMs: number;
  /** Lanes take turns, and `perLane` and `gapMs` hold in each. Default: each key is a lane. */
  readonly laneOf?: (key: string) => string;
  /** Runs of one lane at the same time. Default: no bound but `width`. */
  readonly perLane?: number;
  /** Between the beginnings of two runs of a lane, ms. Default: 0. */
  readonly gapMs?: number;
  /** After how many ms a run gives its place to others and goes on, and how many may. Default: none does. */
  readonly slow?: { readonly afterMs: () => number; readonly most: number };
  /** Pause after so many failures in a row, ms. Default: 1 s, 2 s … a minute. */
  readonly backOffMs?: (failures: number) => number;
  /** After so many failures in a row it is not tried again. Default: it always is. */
  readonly mostTries?: number;
  readonly onFailure?: (key: string, failure: Failure) => void;
}

/** A key as it is now. */
export interface QueueRow {
  readonly of: string;
  readonly key: string;
  /** `waiting`: due in so many ms, below 0 if it has no place yet. `running`: since so many. */
  readonly is: 'waiting' | 'running';
  readonly ms: number;
  /** In a row. */
  readonly failures: number;
  /** Code of the newest failure, and how long ago it was, ms. */
  readonly failed?: { readonly code: string; readonly agoMs: number };
}

interface Entry {
  readonly key: string;
  readonly lane: string;
  /** Undefined: it is not due. While it runs: it was added meanwhile. */
  dueMs: number | undefined;
  /** Not before, whoever adds it. */
  firmMs: number;
  run: Run | undefined;
  failures: number;
  failed: { readonly code: string; readonly atMs: number } | undefined;
}

interface Run {
  readonly beganMs: number;
  readonly abort: () => void;
  hasPlace: boolean;
  isLate: boolean;
}

const LONGEST_BACK_OFF_MS = 60_000;
/** Lanes whose last turn is remembered. */
const MOST_TURNS = 1_000;

export class WorkQueue {
  readonly #clock: Clock;
  readonly #lines = new Map<string, Line>();
  #closed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @param name unique; it stands in what is printed. */
  open(name: string, work: WorkClass): Line {
    if (this.#lines.has(name)) throw new Error(`there is a class ${name} already`);
    const line = new Line(name, this.#clock, work);
    this.#lines.set(name, line);
    if (this.#closed) void line.close();
    return line;
  }

  /** All keys, those that are due first at first. */
  rows(): readonly QueueRow[] {
    return [...this.#lines.values()].flatMap((line) => line.rows()).sort(byUrgency);
  }

  /** Aborts what runs, and resolves when it has ended. Nothing begins any more. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#lines.values()].map((line) => line.close()));
  }
}

/** What runs longest, then what is due first. */
function byUrgency(a: QueueRow, b: QueueRow): number {
  if (a.is !== b.is) return a.is === 'running' ? -1 : 1;
  return a.is === 'running' ? b.ms - a.ms : a.ms - b.ms;
}

/** The keys of one class. */
export class Line {
  readonly #name: string;
  readonly #clock: Clock;
  readonly #work: WorkClass;
  readonly #entries = new Map<string, Entry>();
  /** When a run of each lane began last; lanes without a gap are not in it. */
  readonly #beganMs = new Map<string, number>();
  /** Lanes that had a turn, the last one last. */
  #turns: readonly string[] = [];
  readonly #running = new Set<Promise<void>>();
  /** Runs in each lane. */
  readonly #perLane = new Map<string, number>();
  #used = 0;
  #slow = 0;
  #takeBack = (): void => undefined;
  #timerMs = Number.POSITIVE_INFINITY;
  #closed = false;

  constructor(name: string, clock: Clock, work: WorkClass) {
    this.#name = name;
    this.#clock = clock;
    this.#work = work;
  }

  /** It is due in so many ms at the latest. A run that is under way is followed by another one. */
  add(key: string, inMs = 0): void {
    if (this.#closed) return;
    const entry = this.#entryOf(key);
    this.#due(entry, Math.min(this.#clock.steadyMs() + inMs, entry.dueMs ?? Number.POSITIVE_INFINITY));
  }

  /** It is due in exactly so many ms, or not at all. A run that is under way goes on. */
  set(key: string, inMs: number | undefined): void {
    if (this.#closed || (inMs === undefined && !this.#entries.has(key))) return;
    const entry = this.#entryOf(key);
    entry.firmMs = 0;
    if (inMs === undefined && !entry.run) this.#entries.delete(key);
    else this.#due(entry, inMs === undefined ? undefined : this.#clock.steadyMs() + inMs);
  }

  /** Ends a back-off: it is due now. */
  lift(key: string): void {
    const entry = this.#entries.get(key);
    if (entry?.dueMs === undefined || entry.firmMs === 0) return;
    entry.firmMs = 0;
    this.#due(entry, this.#clock.steadyMs());
  }

  /** It exists no more. A run of it is aborted. */
  forget(key: string): void {
    this.#entries.get(key)?.run?.abort();
    this.#entries.delete(key);
  }

  /** Forgets all others. */
  keepOnly(keys: { readonly has: (key: string) => boolean }): void {
    for (const key of this.#entries.keys()) if (!keys.has(key)) this.forget(key);
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  isRunning(key: string): boolean {
    return this.#entries.get(key)?.run !== undefined;
  }

  rows(): readonly QueueRow[] {
    const nowMs = this.#clock.steadyMs();
    return [...this.#entries.values()].map((entry): QueueRow => {
      const { failed, failures, key, run } = entry;
      const times = run
        ? ({ is: 'running', ms: nowMs - run.beganMs } as const)
        : ({ is: 'waiting', ms: this.#startMs(entry) - nowMs } as const);
      const more = { failures, ...(failed && { failed: { code: failed.code, agoMs: nowMs - failed.atMs } }) };
      return { of: this.#name, key: this.#work.nameOf?.(key) ?? key, ...times, ...more };
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#takeBack();
    for (const { run } of this.#entries.values()) run?.abort();
    await Promise.all(this.#running);
  }

  #entryOf(key: string): Entry {
    const known = this.#entries.get(key);
    if (known) return known;
    const lane = this.#work.laneOf?.(key) ?? key;
    const entry: Entry = { key, lane, dueMs: undefined, firmMs: 0, run: undefined, failures: 0, failed: undefined };
    this.#entries.set(key, entry);
    return entry;
  }

  #due(entry: Entry, dueMs: number | undefined): void {
    entry.dueMs = dueMs;
    if (dueMs !== undefined && entry.run === undefined) this.#wakeAt(this.#startMs(entry));
  }

  /** When the entry may begin, as far as times say; never: it is not waiting. */
  #startMs({ dueMs, firmMs, lane, run }: Entry): number {
    if (dueMs === undefined || run) return Number.POSITIVE_INFINITY;
    const { gapMs = 0 } = this.#work;
    const free = gapMs === 0 ? 0 : (this.#beganMs.get(lane) ?? Number.NEGATIVE_INFINITY) + gapMs;
    return Math.max(dueMs, firmMs, free);
  }

  #wakeAt(atMs: number): void {
    if (atMs >= this.#timerMs || this.#closed) return;
    this.#takeBack();
    this.#timerMs = atMs;
    this.#takeBack = this.#clock.after(Math.max(0, atMs - this.#clock.steadyMs()), () => {
      this.#timerMs = Number.POSITIVE_INFINITY;
      this.#go();
    });
  }

  /** Begins what is due and has a place, and sets the timer for what is due next. */
  #go(): void {
    const nowMs = this.#clock.steadyMs();
    const { gapMs = 0, perLane = Number.POSITIVE_INFINITY, width } = this.#work;
    for (const [lane, beganMs] of this.#beganMs) if (nowMs - beganMs >= gapMs) this.#beganMs.delete(lane);
    for (const entry of this.#inTurns(nowMs)) {
      if (this.#used >= width) break;
      // Its lane may have begun another one just now.
      if (this.#startMs(entry) > nowMs || (this.#perLane.get(entry.lane) ?? 0) >= perLane) continue;
      this.#begin(entry, nowMs);
    }
    const later = [...this.#entries.values()].map((entry) => this.#startMs(entry)).filter((atMs) => atMs > nowMs);
    const nextMs = later.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
    if (nextMs < Number.POSITIVE_INFINITY) this.#wakeAt(nextMs);
  }

  /** What is due, one of each lane after the other. A lane that had a turn stands last. */
  *#inTurns(nowMs: number): Generator<Entry, void> {
    const due = [...this.#entries.values()].filter((entry) => this.#startMs(entry) <= nowMs);
    due.sort((a, b) => (a.dueMs ?? 0) - (b.dueMs ?? 0));
    const lanes = groupBy(due, ({ lane }) => lane);
    const turnOf = (lane: string): number => this.#turns.indexOf(lane);
    const order = [...lanes.keys()].sort((a, b) => turnOf(a) - turnOf(b));
    for (let turn = 0; turn < due.length; turn += 1) {
      for (const lane of order) {
        const entry = lanes.get(lane)?.[turn];
        if (entry) yield entry;
      }
    }
  }

  #begin(entry: Entry, nowMs: number): void {
    const life = new AbortController();
    const waitedMs = Math.max(0, nowMs - this.#startMs(entry));
    const run: Run = { beganMs: nowMs, abort: () => life.abort(), hasPlace: true, isLate: false };
    const absorb = (): void => {
      if (entry.run === run) entry.dueMs = undefined;
    };
    entry.run = run;
    entry.dueMs = undefined;
    this.#used += 1;
    if (this.#work.gapMs) this.#beganMs.set(entry.lane, nowMs);
    this.#perLane.set(entry.lane, (this.#perLane.get(entry.lane) ?? 0) + 1);
    this.#turns = [...this.#turns.filter((lane) => lane !== entry.lane), entry.lane].slice(-MOST_TURNS);
    const running = this.#run(entry, run, { signal: life.signal, waitedMs, absorb }).finally(() =>
      this.#running.delete(running),
    );
    this.#running.add(running);
  }

  async #run(entry: Entry, run: Run, turn: Turn): Promise<void> {
    const { deadlineMs, slow } = this.#work;
    let isOutOfTime = false;
    const takeBacks = [
      this.#clock.after(deadlineMs, () => {
        isOutOfTime = true;
        run.abort();
      }),
    ];
    if (slow) {
      takeBacks.push(
        this.#clock.after(slow.afterMs(), () => {
          run.isLate = true;
          this.#letYield();
        }),
      );
    }
    let again: Again | undefined;
    try {
      again = await untilAborted(turn.signal, this.#work.run(entry.key, turn));
      if (isOutOfTime) throw this.#outOfTime(entry.key);
      entry.failures = 0;
    } catch (error) {
      if (!(error instanceof Failure)) {
        // Whatever was broken off fails in its own way.
        if (!turn.signal.aborted) throw error;
      } else if (isOutOfTime || !turn.signal.aborted) again = this.#failed(entry, error);
    } finally {
      for (const takeBack of takeBacks) takeBack();
      this.#end(entry, run, again);
    }
  }

  #failed(entry: Entry, failure: Failure): Again | undefined {
    const {
      mostTries = Number.POSITIVE_INFINITY,
      backOffMs = (failures) => Math.min(1_000 * 2 ** (failures - 1), LONGEST_BACK_OFF_MS),
      onFailure,
    } = this.#work;
    entry.failures += 1;
    entry.failed = { code: failure.code, atMs: this.#clock.steadyMs() };
    onFailure?.(entry.key, failure);
    if (entry.failures >= mostTries) return undefined;
    return { inMs: backOffMs(entry.failures), firm: true };
  }

  #outOfTime(key: string): Failure {
    const seconds = this.#work.deadlineMs / 1000;
    return new Failure(
      'GR-SERVE-04',
      1,
      `${this.#name} ${this.#work.nameOf?.(key) ?? key}: not done within ${seconds} s. It is tried again.`,
    );
  }

  #end(entry: Entry, run: Run, again: Again | undefined): void {
    if (run.hasPlace) this.#used -= 1;
    else this.#slow -= 1;
    entry.run = undefined;
    const left = (this.#perLane.get(entry.lane) ?? 0) - 1;
    if (left > 0) this.#perLane.set(entry.lane, left);
    else this.#perLane.delete(entry.lane);
    if (this.#closed) return;
    // A key that was forgotten meanwhile, or exists anew, is not this one.
    if (this.#entries.get(entry.key) === entry) this.#comesAgain(entry, again);
    this.#letYield();
    this.#wakeAt(this.#clock.steadyMs());
  }

  #comesAgain(entry: Entry, again: Again | undefined): void {
    const nowMs = this.#clock.steadyMs();
    const atMs = again ? nowMs + again.inMs : undefined;
    if (atMs !== undefined) entry.dueMs = Math.min(atMs, entry.dueMs ?? atMs);
    entry.firmMs = again?.firm && atMs !== undefined ? atMs : 0;
    if (entry.dueMs === undefined) this.#entries.delete(entry.key);
  }

  /** Runs that take long give their places up, as far as there may be more of them without one. */
  #letYield(): void {
    const most = this.#work.slow?.most ?? 0;
    for (const { run } of this.#entries.values()) {
      if (this.#slow >= most) return;
      if (!run?.isLate || !run.hasPlace) continue;
      run.hasPlace = false;
      this.#used -= 1;
      this.#slow += 1;
      this.#wakeAt(this.#clock.steadyMs());
    }
  }
}
