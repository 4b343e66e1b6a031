/**
 * The one work queue of the leading process, in the way of client-go: all that it does again and again is a key of a class in it.
 *
 *     add ─► waiting until due ─► a place is free (width, lanes in turn) ─► running ─┬─ again in so many ms ─► waiting
 *             ▲                                                                 │    ├─ nothing more ────────► forgotten
 *             └────────────── added while it ran: once more ◄───────────────────┘    └─ Failure ─ back-off ──► waiting
 *
 * A key runs once at a time. A run has a deadline, and ends with its queue. Times are by a clock that is never set. What the queue holds can
 * be printed.
 */
import { type Clock, doubled, untilAborted } from '../../shared/clock.ts';
import { Failure } from '../../shared/failure.ts';
import { groupBy } from '../../shared/keys.ts';

/** When a key is due again. `firm`: for a back-off, which `add` does not shorten and `lift` ends. */
export type Retry = Readonly<{ inMs: number; firm?: true }>;

export interface Turn {
  /** Aborted at the deadline, when the key is forgotten, and with the queue. */
  readonly signal: AbortSignal;
  /** How long the key has waited for a place since it was due, ms. */
  readonly waitedMs: number;
  /** Includes everything that was added until now in this run: it causes no further run. */
  readonly absorb: () => void;
  /** Gives the place to other keys. The run goes on, as a slow run does. */
  readonly giveWay: () => void;
}

export interface WorkClass {
  /** Runs a key. Returns when it is due again. Undefined: when it is added again. */
  readonly run: (key: string, turn: Turn) => Promise<Retry | undefined>;
  /** Name of the key in the printed queue. Default: the key. It must hold no secret. */
  readonly nameOf?: (key: string) => string;
  /** Runs at the same time. */
  readonly width: number;
  /** Longest time of a run, ms. Then its signal is aborted, and it is waited for no longer. */
  readonly deadlineMs: number;
  /** Lanes take turns, and `perLane` and `gapMs` hold in each. Default: each key is a lane. */
  readonly laneOf?: (key: string) => string;
  /** Runs of one lane at the same time. Default: no bound but `width`. */
  readonly perLane?: number;
  /** Least time between the beginnings of two runs of a lane, ms. Default: 0. */
  readonly gapMs?: number;
  /** Returns when a rate allows a key to begin, by the steady clock. Called at each turn. Default: no rate. */
  readonly freeMs?: (key: string) => number;
  /** After how many ms a run gives its place to others, and how many such runs may exist. Default: none does. */
  readonly slow?: { readonly afterMs: () => number; readonly most: number };
  /** Pause after so many failures in a row, ms. Default: 1 s, 2 s … a minute. */
  readonly backOffMs?: (failures: number) => number;
  /** Most failures in a row. After that the key is not tried again. Default: no limit. */
  readonly mostTries?: number;
  readonly onFailure?: (key: string, failure: Failure) => void;
}

export interface QueueRow {
  readonly of: string;
  readonly key: string;
  /** `waiting`: due in so many ms, below 0 if it has no place yet. `running`: since so many. */
  readonly is: 'waiting' | 'running';
  readonly ms: number;
  readonly failures: number;
  /** Code of the newest failure, and how long ago it was, ms. */
  readonly failed?: { readonly code: string; readonly agoMs: number };
}

interface Entry {
  readonly key: string;
  readonly lane: string;
  /** When the key is due, if it was added during its run. */
  dueMs: number;
  /** End of a back-off: `add` does not make it sooner. 0: no back-off. */
  firmMs: number;
  failures: number;
  failed?: { readonly code: string; readonly atMs: number };
  run?: Run | undefined;
}

interface Run {
  readonly beganMs: number;
  readonly abort: () => void;
  hasGivenWay: boolean;
}

const NEVER = Number.POSITIVE_INFINITY;
/** Pause after the first failure, ms. It is doubled with each further failure. */
const FIRST_BACK_OFF_MS = 1_000;
const LONGEST_BACK_OFF_MS = 60_000;
/** Most lanes whose last turn is remembered. Lanes within their gap are always remembered. */
const MOST_TURNS = 1_000;

export class WorkQueue {
  readonly #clock: Clock;
  readonly #lines = new Map<string, KeyQueue>();
  #closed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  open(name: string, work: WorkClass): KeyQueue {
    if (this.#lines.has(name)) throw new Error(`there is a class ${name} already`);
    const line = new KeyQueue(name, this.#clock, work);
    this.#lines.set(name, line);
    if (this.#closed) line.close();
    return line;
  }

  /** Returns all keys: first the one that has run longest, then the one that is due first. */
  rows(): readonly QueueRow[] {
    return [...this.#lines.values()].flatMap((line) => line.rows()).sort(byUrgency);
  }

  close(): void {
    this.#closed = true;
    for (const line of this.#lines.values()) line.close();
  }
}

function byUrgency(a: QueueRow, b: QueueRow): number {
  if (a.is !== b.is) return a.is === 'running' ? -1 : 1;
  return a.is === 'running' ? b.ms - a.ms : a.ms - b.ms;
}

export class KeyQueue {
  readonly #name: string;
  readonly #clock: Clock;
  readonly #work: WorkClass;
  readonly #entries = new Map<string, Entry>();
  /** When each lane may have its next turn. The lane whose last turn is the oldest comes first. */
  readonly #turns = new Map<string, number>();
  #takeBack = (): void => undefined;
  #timerMs = NEVER;
  #closed = false;

  constructor(name: string, clock: Clock, work: WorkClass) {
    this.#name = name;
    this.#clock = clock;
    this.#work = work;
  }

  /** Makes the key due in at most so many ms. A run under way is followed by another one. */
  add(key: string, inMs = 0): void {
    if (this.#closed) return;
    const lane = this.#work.laneOf?.(key) ?? key;
    const entry = this.#entries.get(key) ?? { key, lane, dueMs: NEVER, firmMs: 0, failures: 0 };
    this.#entries.set(key, entry);
    entry.dueMs = Math.min(this.#clock.steadyMs() + inMs, entry.dueMs);
    this.#wakeAt(this.#startMs(entry));
  }

  /** Makes the key due in exactly so many ms, or removes it. A run under way goes on. */
  set(key: string, inMs: number | undefined): void {
    const entry = this.#entries.get(key);
    if (entry) Object.assign(entry, { dueMs: NEVER, firmMs: 0 });
    if (inMs !== undefined) this.add(key, inMs);
    else if (!entry?.run) this.#entries.delete(key);
  }

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

  /** Tells the queue that `freeMs` may have become sooner. */
  freed(): void {
    if (this.#entries.size > 0) this.#wakeAt(this.#clock.steadyMs());
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
      const failureFields = { failures, ...(failed && { failed: { code: failed.code, agoMs: nowMs - failed.atMs } }) };
      return { of: this.#name, key: this.#nameOf(key), ...times, ...failureFields };
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

  /** Returns when the entry may begin, by its times. Infinity: it is not waiting. */
  #startMs({ dueMs, firmMs, key, lane, run }: Entry): number {
    if (run) return NEVER;
    return Math.max(dueMs, firmMs, this.#turns.get(lane) ?? 0, this.#work.freeMs?.(key) ?? 0);
  }

  #wakeAt(atMs: number): void {
    if (atMs >= this.#timerMs) return;
    this.#takeBack();
    this.#timerMs = atMs;
    this.#takeBack = this.#clock.after(Math.ceil(atMs - this.#clock.steadyMs()), () => {
      this.#timerMs = NEVER;
      this.#go();
    });
  }

  /** Starts all due entries that have a place, and sets the timer for the next due or late entry. */
  #go(): void {
    const { perLane = NEVER, slow, width } = this.#work;
    const nowMs = this.#clock.steadyMs();
    const running = [...this.#entries.values()].filter(({ run }) => run);
    const inLane = groupBy(running, ({ lane }) => lane);
    const slowMs = slow?.afterMs() ?? NEVER;
    for (const { run } of running) if (run && run.beganMs + slowMs <= nowMs) run.hasGivenWay = true;
    // An entry that has given way needs no place. At most `slow.most` do so at a time.
    const late = running.filter(({ run }) => run?.hasGivenWay).length;
    let places = width - running.length + Math.min(late, slow?.most ?? 0);
    const isDue = (entry: Entry): boolean => this.#startMs(entry) <= nowMs;
    const due = [...this.#entries.values()].filter(isDue).sort((a, b) => a.dueMs - b.dueMs);
    const waiting = groupBy(due, ({ lane }) => lane);
    const hadTurn = [...this.#turns.keys()].filter((lane) => waiting.has(lane));
    const lanes = [...[...waiting.keys()].filter((lane) => !this.#turns.has(lane)), ...hadTurn];
    for (const lane of lanes) {
      const laneEntries = inLane.get(lane) ?? [];
      const entry = waiting.get(lane)?.shift();
      if (places <= 0 || !entry || laneEntries.length >= perLane) continue;
      // A run that has just begun may have forgotten or put off others.
      if (this.#entries.get(entry.key) === entry && isDue(entry)) {
        void this.#run(entry, nowMs);
        places -= 1;
        inLane.set(lane, [...laneEntries, entry]);
      }
      lanes.push(lane);
    }
    const next = [...this.#entries.values()].map((each) =>
      each.run ? each.run.beganMs + slowMs : this.#startMs(each),
    );
    this.#wakeAt(next.filter((atMs) => atMs > nowMs).reduce((a, b) => Math.min(a, b), NEVER));
  }

  #noteTurn(lane: string, nowMs: number): void {
    this.#turns.delete(lane);
    this.#turns.set(lane, this.#work.gapMs ? nowMs + this.#work.gapMs : 0);
    for (const [oldest, freeMs] of this.#turns) {
      if (this.#turns.size <= MOST_TURNS || freeMs > nowMs) break;
      this.#turns.delete(oldest);
    }
  }

  /** Runs an entry. Rejects with any error that is not a `Failure`: the process handles it. */
  async #run(entry: Entry, nowMs: number): Promise<void> {
    const { deadlineMs } = this.#work;
    const life = new AbortController();
    const { signal } = life;
    const run: Run = { beganMs: nowMs, abort: () => life.abort(), hasGivenWay: false };
    const absorb = (): void => {
      if (entry.run === run) entry.dueMs = NEVER;
    };
    const giveWay = (): void => {
      run.hasGivenWay = true;
      this.#wakeAt(this.#clock.steadyMs());
    };
    const turn = { signal, waitedMs: nowMs - this.#startMs(entry), absorb, giveWay };
    Object.assign(entry, { run, dueMs: NEVER, firmMs: 0 });
    this.#noteTurn(entry.lane, nowMs);
    let isOutOfTime = false;
    const endDeadline = this.#clock.after(deadlineMs, () => {
      isOutOfTime = true;
      run.abort();
    });
    let retry: Retry | undefined;
    try {
      retry = await untilAborted(signal, this.#work.run(entry.key, turn));
      if (!isOutOfTime) entry.failures = 0;
    } catch (error) {
      // An aborted run may reject with any error: that is no failure of its work.
      if (!signal.aborted) {
        if (!(error instanceof Failure)) throw error;
        retry = this.#failed(entry, error);
      }
    } finally {
      endDeadline();
      if (isOutOfTime) retry = this.#failed(entry, this.#outOfTime(entry.key));
      this.#end(entry, retry);
    }
  }

  #failed(entry: Entry, failure: Failure): Retry | undefined {
    const { backOffMs = backOff, mostTries = NEVER, onFailure } = this.#work;
    entry.failures += 1;
    entry.failed = { code: failure.code, atMs: this.#clock.steadyMs() };
    onFailure?.(entry.key, failure);
    return entry.failures < mostTries ? { inMs: backOffMs(entry.failures), firm: true } : undefined;
  }

  #outOfTime(key: string): Failure {
    const subject = `${this.#name} ${this.#nameOf(key)}: not done within ${this.#work.deadlineMs / 1000} s`;
    return new Failure(
      'GR-SERVE-04',
      1,
      `${subject}. It is tried again. If it repeats, check the load of Gitea and of the API server.`,
    );
  }

  #end(entry: Entry, retry: Retry | undefined): void {
    entry.run = undefined;
    // The key was forgotten during the run, and may have been added again.
    if (this.#entries.get(entry.key) !== entry) return;
    const nowMs = this.#clock.steadyMs();
    const againMs = retry ? nowMs + retry.inMs : NEVER;
    entry.dueMs = Math.min(againMs, entry.dueMs);
    if (retry?.firm) entry.firmMs = againMs;
    if (entry.dueMs === NEVER) this.#entries.delete(entry.key);
    this.#wakeAt(nowMs);
  }
}

function backOff(failures: number): number {
  return doubled(FIRST_BACK_OFF_MS, failures - 1, LONGEST_BACK_OFF_MS);
}
