/**
 * The one work queue of the leading process, in the way of client-go: all that it does again and again is a key of a class in it.
 *
 *     add ─► waiting until due ─► a place is free (width, lanes in turn) ─► running ─┬─ again in so many ms ─► waiting
 *             ▲                                                                 │    ├─ nothing more ────────► forgotten
 *             └────────────── added while it ran: once more ◄───────────────────┘    └─ Failure ─ back-off ──► waiting
 *
 * A key runs once at a time. What is added while it runs is one more run. A run has a deadline, and ends with its queue. Times are by a
 * clock that is never set. What the queue holds can be printed: what is due when, what runs since when, what failed last.
 */

import { untilAborted } from '../clients/http/until-aborted.ts';
import { type Clock, doubled } from '../shared/clock.ts';
import { Failure } from '../shared/failure.ts';
import { groupBy } from '../shared/group-by.ts';

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
  /** While it runs: it was added meanwhile. */
  dueMs: number;
  /** A back-off ends then: `add` does not make it sooner. 0: no back-off. */
  firmMs: number;
  run: Run | undefined;
  failures: number;
  failed: { readonly code: string; readonly atMs: number } | undefined;
}

interface Run {
  readonly beganMs: number;
  readonly abort: () => void;
  isLate: boolean;
}

/** The last turn of a lane: how many there were before it, and when the next one may come. */
interface LastTurn {
  readonly nth: number;
  readonly freeMs: number;
}

const NEVER = Number.POSITIVE_INFINITY;
const FIRST_BACK_OFF_MS = 1_000;
const LONGEST_BACK_OFF_MS = 60_000;
/** Lanes whose last turn is remembered. Those within their gap are, however many they are. */
const MOST_TURNS = 1_000;

export class WorkQueue {
  readonly #clock: Clock;
  readonly #lines = new Map<string, KeyQueue>();
  #closed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @param name unique; it stands in what is printed. */
  open(name: string, work: WorkClass): KeyQueue {
    if (this.#lines.has(name)) throw new Error(`there is a class ${name} already`);
    const line = new KeyQueue(name, this.#clock, work);
    this.#lines.set(name, line);
    if (this.#closed) line.close();
    return line;
  }

  /** All keys: what runs longest, then what is due first. */
  rows(): readonly QueueRow[] {
    return [...this.#lines.values()].flatMap((line) => line.rows()).sort(byUrgency);
  }

  /** Aborts what runs and forgets all keys. Nothing begins any more. */
  close(): void {
    this.#closed = true;
    for (const line of this.#lines.values()) line.close();
  }
}

function byUrgency(a: QueueRow, b: QueueRow): number {
  if (a.is !== b.is) return a.is === 'running' ? -1 : 1;
  return a.is === 'running' ? b.ms - a.ms : a.ms - b.ms;
}

/** The keys of one class. */
export class KeyQueue {
  readonly #name: string;
  readonly #clock: Clock;
  readonly #work: WorkClass;
  readonly #entries = new Map<string, Entry>();
  /** By lane, the oldest turn first. */
  readonly #turns = new Map<string, LastTurn>();
  #begun = 0;
  #takeBack = (): void => undefined;
  #timerMs = NEVER;
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
    entry.dueMs = Math.min(this.#clock.steadyMs() + inMs, entry.dueMs);
    this.#wakeAt(this.#startMs(entry));
  }

  /** It is due in exactly so many ms, or not at all. A run that is under way goes on. */
  set(key: string, inMs: number | undefined): void {
    const entry = this.#entries.get(key);
    if (entry) Object.assign(entry, { dueMs: NEVER, firmMs: 0 });
    if (inMs !== undefined) this.add(key, inMs);
    else if (!entry?.run) this.#entries.delete(key);
  }

  /** Ends a back-off: it is due now. */
  lift(key: string): void {
    if (this.#entries.get(key)?.firmMs) this.set(key, 0);
  }

  /** Forgets all others: they exist no more. Their runs are aborted. */
  keepOnly(keys: { readonly has: (key: string) => boolean }): void {
    for (const [key, { run }] of this.#entries) {
      if (keys.has(key)) continue;
      run?.abort();
      this.#entries.delete(key);
      this.#wakeAt(this.#clock.steadyMs());
    }
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
      return { of: this.#name, key: this.#nameOf(key), ...times, ...more };
    });
  }

  close(): void {
    this.#closed = true;
    this.keepOnly(new Set());
    this.#takeBack();
  }

  #nameOf(key: string): string {
    return this.#work.nameOf?.(key) ?? key;
  }

  #entryOf(key: string): Entry {
    const known = this.#entries.get(key);
    if (known) return known;
    const lane = this.#work.laneOf?.(key) ?? key;
    const entry: Entry = { key, lane, dueMs: NEVER, firmMs: 0, run: undefined, failures: 0, failed: undefined };
    this.#entries.set(key, entry);
    return entry;
  }

  /** When the entry may begin, as far as times say; never: it is not waiting. */
  #startMs({ dueMs, firmMs, lane, run }: Entry): number {
    return run ? NEVER : Math.max(dueMs, firmMs, this.#turns.get(lane)?.freeMs ?? 0);
  }

  #wakeAt(atMs: number): void {
    if (atMs >= this.#timerMs) return;
    this.#takeBack();
    this.#timerMs = atMs;
    this.#takeBack = this.#clock.after(Math.max(0, atMs - this.#clock.steadyMs()), () => {
      this.#timerMs = NEVER;
      this.#go();
    });
  }

  /** Begins what is due and has a place, and sets the timer for what is due next. */
  #go(): void {
    const nowMs = this.#clock.steadyMs();
    for (let entry = this.#next(nowMs); entry; entry = this.#next(nowMs)) this.#begin(entry, nowMs);
    const later = [...this.#entries.values()].map((entry) => this.#startMs(entry)).filter((atMs) => atMs > nowMs);
    this.#wakeAt(later.reduce((a, b) => Math.min(a, b), NEVER));
  }

  /** What begins next: of the lane whose last turn is the oldest, what is due first. Undefined: nothing is due, or has a place. */
  #next(nowMs: number): Entry | undefined {
    const { perLane = NEVER, slow, width } = this.#work;
    const all = [...this.#entries.values()];
    const running = all.filter(({ run }) => run);
    // Runs that take long have given their places up, as far as there may be more of them without one.
    const late = running.filter(({ run }) => run?.isLate).slice(0, slow?.most);
    if (running.length - late.length >= width) return undefined;
    const inLane = groupBy(running, ({ lane }) => lane);
    const nth = ({ lane }: Entry): number => this.#turns.get(lane)?.nth ?? -1;
    const isBefore = (a: Entry, b: Entry): boolean => (nth(a) - nth(b) || a.dueMs - b.dueMs) < 0;
    // Not sorted: there may be thousands, and one is wanted.
    return all
      .filter((entry) => this.#startMs(entry) <= nowMs && (inLane.get(entry.lane)?.length ?? 0) < perLane)
      .reduce<Entry | undefined>((first, each) => (first && !isBefore(each, first) ? first : each), undefined);
  }

  #begin(entry: Entry, nowMs: number): void {
    const life = new AbortController();
    const run: Run = { beganMs: nowMs, abort: () => life.abort(), isLate: false };
    const absorb = (): void => {
      if (entry.run === run) entry.dueMs = NEVER;
    };
    const turn = { signal: life.signal, waitedMs: nowMs - this.#startMs(entry), absorb };
    Object.assign(entry, { run, dueMs: NEVER, firmMs: 0 });
    this.#hasTurn(entry.lane, nowMs);
    // An error that is no `Failure` is for the process.
    void this.#run(entry, run, turn);
  }

  #hasTurn(lane: string, nowMs: number): void {
    const { gapMs } = this.#work;
    this.#turns.delete(lane);
    this.#turns.set(lane, { nth: this.#begun, freeMs: gapMs ? nowMs + gapMs : 0 });
    this.#begun += 1;
    for (const [oldest, { freeMs }] of this.#turns) {
      if (this.#turns.size <= MOST_TURNS || freeMs > nowMs) break;
      this.#turns.delete(oldest);
    }
  }

  async #run(entry: Entry, run: Run, turn: Turn): Promise<void> {
    const { deadlineMs, slow } = this.#work;
    let isOutOfTime = false;
    const endDeadline = this.#clock.after(deadlineMs, () => {
      isOutOfTime = true;
      run.abort();
    });
    const endSlow =
      slow &&
      this.#clock.after(slow.afterMs(), () => {
        run.isLate = true;
        this.#wakeAt(this.#clock.steadyMs());
      });
    let again: Again | undefined;
    try {
      again = await untilAborted(turn.signal, this.#work.run(entry.key, turn));
      if (!isOutOfTime) entry.failures = 0;
    } catch (error) {
      // Whatever was broken off fails in its own way.
      if (!turn.signal.aborted) {
        if (!(error instanceof Failure)) throw error;
        again = this.#failed(entry, error);
      }
    } finally {
      endDeadline();
      endSlow?.();
      if (isOutOfTime) again = this.#failed(entry, this.#outOfTime(entry.key));
      this.#end(entry, again);
    }
  }

  #failed(entry: Entry, failure: Failure): Again | undefined {
    const { backOffMs = backOff, mostTries = NEVER, onFailure } = this.#work;
    entry.failures += 1;
    entry.failed = { code: failure.code, atMs: this.#clock.steadyMs() };
    onFailure?.(entry.key, failure);
    return entry.failures < mostTries ? { inMs: backOffMs(entry.failures), firm: true } : undefined;
  }

  #outOfTime(key: string): Failure {
    const what = `${this.#name} ${this.#nameOf(key)}: not done within ${this.#work.deadlineMs / 1000} s.`;
    return new Failure('GR-SERVE-04', 1, `${what} It is tried again.`);
  }

  #end(entry: Entry, again: Again | undefined): void {
    entry.run = undefined;
    // Its key was forgotten meanwhile, and may have been added again.
    if (this.#entries.get(entry.key) !== entry) return;
    const nowMs = this.#clock.steadyMs();
    const againMs = again ? nowMs + again.inMs : NEVER;
    entry.dueMs = Math.min(againMs, entry.dueMs);
    if (again?.firm) entry.firmMs = againMs;
    if (entry.dueMs === NEVER) this.#entries.delete(entry.key);
    this.#wakeAt(nowMs);
  }
}

function backOff(failures: number): number {
  return doubled(FIRST_BACK_OFF_MS, failures - 1, LONGEST_BACK_OFF_MS);
}
