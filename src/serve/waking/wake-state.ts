/**
 * Decides what the next wake of one Application waits for. Pure: a state, an event, and the next state. Times are by a steady clock.
 *
 *                     no plan                        the cluster shows the plan, and Argo CD is well
 *     any state ─────────────────► unplanned     any ───────────────────────────────────────────────► shown
 *
 *     unplanned, shown ── a difference ─► gathering ── its turn ─► waking ─┬─ something new is wanted ─► gathering
 *                                          others may come along,          └─ else, or in trouble ─────► pausing ── its turn ─► waking
 *                                          a doubt may vanish                                            later and later
 *     shown ── Argo CD is in error, or misses a Job ─► pausing
 *
 * Argo CD loses wake-ups that come while it compares (3.5: argo-cd issue 28306), so nothing counts but the cluster.
 */
import { doubled } from '../../shared/clock.ts';
import type { Failure } from '../../shared/failure.ts';
import { changedKeys, type Difference, mayWaitMs, NO_DIFFERENCE } from '../seen/difference.ts';
import { isAway, type WakeResult, type WakeStep } from './wake.ts';

/** How the last wake ended. `message`: why Argo CD, or the last sync, failed. `says`: more of its words. */
export type WakeOutcome =
  | { readonly is: Exclude<WakeResult['is'], 'error'>; readonly message?: string; readonly says?: string }
  | { readonly is: 'error'; readonly message: string }
  /** `away`: Argo CD could not be reached, and only reads were sent. */
  | { readonly is: 'failed'; readonly message: string; readonly away?: true };

interface Memory {
  /** Changes that a sync would make. Absent: there is no plan. */
  readonly difference?: Difference;
  /** Since when each Job has differed from the plan, by its key. */
  readonly differSince: ReadonlyMap<string, number>;
  /** Since when there has been a difference without a break. */
  readonly sinceMs?: number;
  /** Since when the difference may be outdated: a runner ended after the look. Each wake begins a new doubt. */
  readonly doubtMs?: number;
  /** Result of the last wake, its begin, and the differences that it was for. */
  readonly last?: WakeOutcome;
  readonly beganMs: number;
  readonly target: ReadonlySet<string>;
  /** Earliest time of another wake for the same differences. */
  readonly retryMs: number;
  readonly fruitless: number;
  /** Argo CD is in error or misses a Job: it is woken until it is not, also without a difference. */
  readonly owes: boolean;
}

export type WakeState = Memory &
  (
    | { readonly is: 'unplanned' | 'shown' | 'waking'; readonly untilMs?: never }
    /** The state waits for a time, and then for its turn. */
    | { readonly is: 'gathering' | 'pausing'; readonly untilMs: number }
  );

export type WakeNews =
  /** `settled`: false when a runner ended after the look began. */
  | { readonly is: 'planned'; readonly difference: Difference; readonly settled: boolean }
  /** Gitea or its token fails. Then `generate` would fail, too, and only send requests to that Gitea. */
  | { readonly is: 'no-plan' }
  | { readonly is: 'its-turn' }
  /** `comparedMs`: until Argo CD had compared. Absent: all of the time. */
  | { readonly is: 'woken'; readonly outcome: WakeOutcome; readonly comparedMs?: number | undefined }
  /** Argo CD was found in error (`outcome`), or misses a Job. */
  | { readonly is: 'unwell'; readonly outcome?: WakeOutcome };

export const NEVER_WOKEN: WakeState = {
  is: 'shown',
  difference: NO_DIFFERENCE,
  differSince: new Map(),
  beganMs: 0,
  target: new Set(),
  retryMs: 0,
  fruitless: 0,
  owes: false,
};

/** First pause after a wake that did not help, ms. Each further one is twice as long. */
const FIRST_PAUSE_MS: Readonly<Record<WakeOutcome['is'], number>> = {
  // Argo CD applies one Job in about 50 ms, but the operation begins when its queue says so.
  synced: 2_000,
  'in-sync': 500,
  busy: 250,
  error: 5_000,
  foreign: 30_000,
  failed: 1_000,
};
/** Longest pause between two wakes for the same difference, ms. Each wake costs Argo CD about a second. */
const LONGEST_PAUSE_MS = 60_000;
/** Pause between wakes that only read, ms: while Argo CD is away or busy. They are cheap. */
const READING_PAUSE_MS = 4_000;
/** A difference that may be about nothing gets this long to vanish. Not longer: where runners end faster than Gitea is looked at, it stays. */
const DOUBT_MS = 1_000;

export function follow(state: WakeState, news: WakeNews, nowMs: number): WakeState {
  const { is, untilMs: _, ...memory } = state;
  const isWaking = is === 'waking';
  const settleUnlessWaking = (next: Memory): WakeState => (isWaking ? { ...next, is } : settle(next, nowMs));
  switch (news.is) {
    case 'planned':
      return settleUnlessWaking(afterPlan(memory, news, nowMs));
    case 'no-plan':
      return settleUnlessWaking(withoutPlan(memory));
    case 'unwell':
      // The wake's own result will be newer than this news.
      return isWaking ? state : settle({ ...memory, owes: true, ...(news.outcome && { last: news.outcome }) }, nowMs);
    case 'its-turn':
      return is === 'gathering' || is === 'pausing' ? startWake(memory, nowMs) : state;
    case 'woken':
      return isWaking ? settle(afterWake(memory, news, nowMs), nowMs) : state;
    default:
      return news satisfies never;
  }
}

/** True if the cluster shows the plan, there is no plan, or the last wake failed. */
export function isDone(state: WakeState): boolean {
  return state.is !== 'waking' && (state.untilMs === undefined || troubleOf(state) !== undefined);
}

export function troubleOf({ last }: Pick<WakeState, 'last'>): string | undefined {
  switch (last?.is) {
    case 'error':
    case 'failed':
      return last.message;
    case 'foreign':
      return 'the Application does not manage the RunnerGroup that names it';
    case 'synced':
    case 'in-sync':
    case 'busy':
    case undefined:
      return undefined;
    default:
      return last satisfies never;
  }
}

/** Returns what the wake waits for, until when. @param timeOf formats the wall clock at a steady time. */
export function waitText(state: WakeState, timeOf: (steadyMs: number) => string): string | undefined {
  switch (state.is) {
    case 'shown':
    case 'unplanned':
      return undefined;
    case 'gathering':
      return `serve wakes Argo CD at ${timeOf(state.untilMs)}, or when its turn comes`;
    case 'pausing':
      return `The last wake ended with ${state.last?.is ?? 'nothing'}; the next one comes at ${timeOf(state.untilMs)}`;
    case 'waking':
      return `serve has been waking Argo CD since ${timeOf(state.beganMs)}`;
    default:
      return state satisfies never;
  }
}

/** Returns how long the cluster took to show the last wake's result, ms. Undefined: this was known before. */
export function shownAfterMs(before: WakeState, after: WakeState, nowMs: number): number | undefined {
  return before.target.size > 0 && after.target.size === 0 ? nowMs - after.beganMs : undefined;
}

/** Returns the outcome of a failed request to Argo CD. @param steps the requests so far, including this one. */
export function failedOutcome(failure: Failure, steps: readonly WakeStep[] = []): WakeOutcome {
  const away = isAway(failure) && steps.every(({ step }) => step === 'read');
  return { is: 'failed', message: `${failure.code} ${failure.message}`, ...(away && { away }) };
}

function withoutPlan({ difference: _, sinceMs: _since, doubtMs: _doubt, ...memory }: Memory): Memory {
  return { ...memory, differSince: new Map() };
}

function afterPlan(state: Memory, { difference, settled }: Extract<WakeNews, { is: 'planned' }>, nowMs: number) {
  const { sinceMs = nowMs, doubtMs = nowMs, ...memory } = state;
  const differSince = new Map(changedKeys(difference).map((key) => [key, memory.differSince.get(key) ?? nowMs]));
  const memoryNow = { ...memory, difference, differSince };
  // Without a difference there is no time since which it lasts.
  if (mayWaitMs(difference) === undefined) return memoryNow;
  return settled ? { ...memoryNow, sinceMs } : { ...memoryNow, sinceMs, doubtMs };
}

function startWake({ doubtMs: _, ...memory }: Memory, nowMs: number): WakeState {
  return { ...memory, is: 'waking', beganMs: nowMs, target: new Set(memory.differSince.keys()) };
}

function afterWake(memory: Memory, news: Extract<WakeNews, { is: 'woken' }>, nowMs: number): Memory {
  const { comparedMs = nowMs - memory.beganMs, outcome } = news;
  // Pauses because of an outage or of another operation end with their cause.
  const wasAway = isAwayNow(memory.last) && !isAwayNow(outcome);
  const wasBusy = memory.last?.is === 'busy' && outcome.is !== 'busy';
  const fruitless = wasAway || wasBusy ? 0 : memory.fruitless;
  const pause = pauseMs(outcome, comparedMs, fruitless);
  const owes = outcome.is === 'error' || outcome.is === 'failed';
  return { ...memory, last: outcome, fruitless: fruitless + 1, retryMs: nowMs + pause, owes };
}

/** Returns how long a wake may take to show, ms. Where comparing is slow, another wake makes it slower. */
function pauseMs(outcome: WakeOutcome, comparedMs: number, fruitless: number): number {
  const first = outcome.is === 'synced' ? Math.max(FIRST_PAUSE_MS.synced, comparedMs) : FIRST_PAUSE_MS[outcome.is];
  const longest = isAwayNow(outcome) || outcome.is === 'busy' ? READING_PAUSE_MS : LONGEST_PAUSE_MS;
  return doubled(first, fruitless, longest);
}

/** Returns the state of an Application that is not being woken. */
function settle(memory: Memory, nowMs: number): WakeState {
  const { difference, doubtMs = Number.NEGATIVE_INFINITY, last, retryMs, sinceMs = nowMs, target } = memory;
  if (!difference) return { ...memory, is: 'unplanned' };
  const pausing = { is: 'pausing', untilMs: Math.max(retryMs, nowMs) } as const;
  const mayWait = mayWaitMs(difference);
  if (mayWait === undefined) {
    const shown = last?.is === 'synced' ? { ...memory, target: NEVER_WOKEN.target } : memory;
    return memory.owes ? { ...shown, ...pausing } : { ...shown, is: 'shown', fruitless: 0, retryMs: 0 };
  }
  const gatheredMs = Math.max(sinceMs + mayWait, doubtMs + DOUBT_MS);
  const gathering = { is: 'gathering', untilMs: gatheredMs } as const;
  // New Jobs need not wait for the fate of old ones, unless Argo CD itself is in trouble.
  const isNew = changedKeys(difference).some((key) => !target.has(key)) && !isInTrouble(memory);
  if (isNew) return { ...memory, ...gathering, fruitless: 0 };
  return { ...memory, ...(retryMs > gatheredMs ? pausing : gathering) };
}

function isInTrouble({ last }: Memory): boolean {
  return last !== undefined && last.is !== 'synced' && last.is !== 'in-sync';
}

function isAwayNow(outcome: WakeOutcome | undefined): boolean {
  return outcome?.is === 'failed' && outcome.away === true;
}
