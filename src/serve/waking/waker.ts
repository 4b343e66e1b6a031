/**
 * Wakes one Application until the cluster shows the plan. One wake at a time. A difference that is found meanwhile goes into the next one.
 *
 *     difference ─► patience (others may come along) ─► its turn (line.ts) ─► wake ─┬─ synced ──► the cluster shows it? else again, later and later
 *                                                             ├─ in-sync ─► a lost wake-up, or Argo CD sees it otherwise: again
 *                                                             ├─ busy ────► again soon
 *                                                             └─ error, foreign, Failure: again, later and later
 *
 * Argo CD loses wake-ups that come while it compares (3.5: argo-cd issue 28306), so nothing counts but the cluster.
 */

import { isAway, type WakeResult, type WakeStep } from '../../argocd/wake.ts';
import type { Clock } from '../../clock.ts';
import { Failure } from '../../failure.ts';
import { changedKeys, type Difference, mayWaitMs, NO_DIFFERENCE } from '../planning/difference.ts';

/** How the last wake ended, for conditions and metrics. `message`: why Argo CD, or the sync before, has failed. */
export type WakeOutcome =
  | { readonly is: WakeResult['is']; readonly message?: string }
  /** `away`: Argo CD could not be reached, and nothing but reads was asked of it. */
  | { readonly is: 'failed'; readonly message: string; readonly away?: true };

/** The outcome of a request to Argo CD that failed. @param steps what was asked before, and the request itself. */
export function failedOutcome(failure: Failure, steps: readonly WakeStep[] = []): WakeOutcome {
  const away = isAway(failure) && steps.every(({ step }) => step === 'read');
  return { is: 'failed', message: `${failure.code} ${failure.message}`, ...(away && { away }) };
}

function isAwayNow(outcome: WakeOutcome | undefined): boolean {
  return outcome?.is === 'failed' && outcome.away === true;
}

export interface WakerOptions {
  /** Runs `work` when this Application may be woken. It answers whether Argo CD has refreshed. */
  readonly turn: (work: () => Promise<boolean>) => Promise<void>;
  /** Wakes Argo CD, and notes in `steps` what it asks. @throws Failure */
  readonly wake: (steps: WakeStep[]) => Promise<WakeResult>;
  readonly clock: Clock;
  /** Told after each wake: how long it took, how long it had waited for its turn, and what was asked. */
  readonly onWake: (outcome: WakeOutcome, ms: number, waitedMs: number, steps: readonly WakeStep[]) => void;
  /** Told when the cluster shows what a wake was for, with the time since the wake began. */
  readonly onShown: (ms: number) => void;
}

/** First pause after a wake that did not help, ms; doubled each time. */
const FIRST_PAUSE_MS: Readonly<Record<WakeOutcome['is'], number>> = {
  // Argo CD applies one Job in about 50 ms, but the operation begins when its queue says so.
  synced: 2_000,
  'in-sync': 500,
  busy: 250,
  error: 5_000,
  foreign: 30_000,
  failed: 1_000,
};
const LONGEST_PAUSE_MS = 60_000;
/** While Argo CD is away a wake ends with its first read and costs nobody anything. The end of the outage is to be noticed. */
const AWAY_PAUSE_MS = 4_000;
/** A difference that may be about nothing gets this long to vanish. */
const DOUBT_MS = 1_000;

export class Waker {
  readonly #options: WakerOptions;
  #difference: Difference = NO_DIFFERENCE;
  /** Since when there has been a difference without a break. */
  #differsSinceMs: number | undefined;
  /** The same for each Job that differs, by its key. */
  #differSince: ReadonlyMap<string, number> = new Map();
  /** Since when the difference may be about nothing. Each wake begins a new doubt. */
  #doubtSinceMs: number | undefined;
  /** What the last wake was for. */
  #target = new Set<string>();
  #beganMs = 0;
  #last: WakeOutcome | undefined;
  /** Not before this time for what the last wake was for already. */
  #retryAtMs = 0;
  #fruitless = 0;
  /** Argo CD is in error. It is woken until it is not, also without a difference. */
  #owes = false;
  /** Nothing is woken: there is no plan. */
  #rests = false;
  #waking = false;
  /** The clock when it was last read. */
  #nowMs = 0;
  #takeBack = (): void => undefined;
  #closed = false;

  constructor(options: WakerOptions) {
    this.#options = options;
  }

  /** How the last wake ended; undefined before the first. */
  get last(): WakeOutcome | undefined {
    return this.#last;
  }

  /** True while there is nothing to do: the cluster shows the plan, or the last wake failed. */
  get done(): boolean {
    if (this.#waking) return false;
    if (this.#rests) return true;
    return (mayWaitMs(this.#difference) === undefined && !this.#owes) || this.trouble !== undefined;
  }

  /** Why the last wake failed; undefined when it did not. */
  get trouble(): string | undefined {
    switch (this.#last?.is) {
      case 'error':
      case 'failed':
        return this.#last.message ?? this.#last.is;
      case 'foreign':
        return 'the Application does not manage the RunnerGroup that names it';
      case 'synced':
      case 'in-sync':
      case 'busy':
      case undefined:
        return undefined;
      default:
        return this.#last satisfies never;
    }
  }

  /** Since when each Job that a sync would change has not been that of the plan, by its key. */
  get differSince(): ReadonlyMap<string, number> {
    return this.#differSince;
  }

  /**
   * Tells what a sync would change now.
   * @param settled false when a runner ended after the look began. The difference may be about nothing then, so it waits a second. Not
   *   longer: where runners end faster than Gitea is looked at, it is never settled.
   */
  want(difference: Difference, settled: boolean): void {
    if (this.#closed) return;
    this.#rests = false;
    const now = this.#now();
    this.#difference = difference;
    this.#differSince = new Map(changedKeys(difference).map((key) => [key, this.#differSince.get(key) ?? now]));
    const mayWait = mayWaitMs(difference);
    this.#doubtSinceMs = settled || mayWait === undefined ? undefined : (this.#doubtSinceMs ?? now);
    if (mayWait === undefined) {
      this.#differsSinceMs = undefined;
      if (this.#target.size > 0 && !this.#waking && this.#last?.is === 'synced') this.#shown(now);
      if (!this.#owes) {
        this.#takeBack();
        return;
      }
    } else {
      this.#differsSinceMs ??= now;
      if (this.#hasNew() && !this.#inTrouble()) this.#fruitless = 0;
    }
    this.#schedule();
  }

  /**
   * There is no plan, because Gitea or its token fails. Then `generate` would fail, too, and only send requests to that Gitea. So nothing is
   * woken, not even for an error of Argo CD, until `want` is called again.
   */
  rest(): void {
    this.#rests = true;
    this.#difference = NO_DIFFERENCE;
    this.#differsSinceMs = undefined;
    this.#differSince = new Map();
    this.#takeBack();
  }

  /** Argo CD was found in error (`outcome`) or out of sync. It is woken until it is not, also without a difference. */
  owe(outcome?: WakeOutcome): void {
    this.#owes = true;
    if (outcome) this.#last = outcome;
    this.#schedule();
  }

  close(): void {
    this.#closed = true;
    this.#takeBack();
  }

  /** When the clock is set back, what was to wait until a later time waits no longer. */
  #now(): number {
    const now = this.#options.clock.now();
    if (now < this.#nowMs) {
      this.#retryAtMs = now;
      if (this.#differsSinceMs !== undefined) this.#differsSinceMs = now;
      this.#differSince = new Map([...this.#differSince.keys()].map((key) => [key, now]));
      if (this.#doubtSinceMs !== undefined) this.#doubtSinceMs = now;
    }
    this.#nowMs = now;
    return now;
  }

  #shown(now: number): void {
    this.#target.clear();
    this.#fruitless = 0;
    this.#options.onShown(now - this.#beganMs);
  }

  #inTrouble(): boolean {
    return this.#last !== undefined && this.#last.is !== 'synced' && this.#last.is !== 'in-sync';
  }

  /** True when something is wanted that the last wake was not for. */
  #hasNew(): boolean {
    return changedKeys(this.#difference).some((key) => !this.#target.has(key));
  }

  #schedule(): void {
    if (this.#waking || this.#closed || this.#rests) return;
    const now = this.#now();
    const mayWait = mayWaitMs(this.#difference);
    const since = this.#differsSinceMs ?? now;
    const doubt = this.#doubtSinceMs === undefined ? now : this.#doubtSinceMs + DOUBT_MS;
    const wanted = mayWait === undefined ? now : Math.max(since + mayWait, doubt, now);
    // New Jobs need not wait for the fate of old ones, unless Argo CD itself is in trouble.
    const mayGo = this.#hasNew() && !this.#inTrouble() ? 0 : this.#retryAtMs;
    this.#takeBack();
    this.#takeBack = this.#options.clock.after(Math.max(0, wanted - now, mayGo - now), () => void this.#wake());
  }

  /** What is wanted is asked again when its turn comes: it may have come by other ways meanwhile, and more may be wanted. */
  async #wake(): Promise<void> {
    if (this.#waking || this.#closed) return;
    this.#waking = true;
    const dueMs = this.#now();
    try {
      await this.#options.turn(async () => this.#isWanted && (await this.#wakeNow(dueMs)));
    } catch (error) {
      if (!this.#closed) throw error;
    }
    this.#waking = false;
    if (this.#isWanted) this.#schedule();
  }

  get #isWanted(): boolean {
    if (this.#closed || this.#rests) return false;
    return mayWaitMs(this.#difference) !== undefined || this.#owes;
  }

  /** @returns whether Argo CD has refreshed. */
  async #wakeNow(dueMs: number): Promise<boolean> {
    this.#beganMs = this.#now();
    this.#target = new Set(changedKeys(this.#difference));
    this.#doubtSinceMs = undefined;
    const steps: WakeStep[] = [];
    const outcome = await this.#outcome(steps);
    if (this.#closed) return false;
    this.#waking = false;
    const now = this.#now();
    // The pauses of an outage are over with it.
    if (isAwayNow(this.#last) && !isAwayNow(outcome)) this.#fruitless = 0;
    this.#last = outcome;
    this.#owes = outcome.is === 'error' || outcome.is === 'failed';
    const tookMs = Math.max(0, now - this.#beganMs);
    this.#retryAtMs = now + this.#pauseMs(outcome, tookMs);
    this.#fruitless += 1;
    this.#options.onWake(outcome, tookMs, this.#beganMs - dueMs, steps);
    if (mayWaitMs(this.#difference) === undefined && !this.#owes) {
      if (outcome.is === 'synced') this.#shown(now);
      this.#fruitless = 0;
    }
    return outcome.is !== 'failed' && outcome.is !== 'foreign';
  }

  /** How long to wait until a wake shows. An Application that is slow to compare is slow to apply, and another wake would slow it down. */
  #pauseMs(outcome: WakeOutcome, tookMs: number): number {
    const first = outcome.is === 'synced' ? Math.max(FIRST_PAUSE_MS.synced, tookMs) : FIRST_PAUSE_MS[outcome.is];
    const longest = isAwayNow(outcome) ? AWAY_PAUSE_MS : LONGEST_PAUSE_MS;
    return Math.min(first * 2 ** Math.min(this.#fruitless, 10), longest);
  }

  async #outcome(steps: WakeStep[]): Promise<WakeOutcome> {
    try {
      const result = await this.#options.wake(steps);
      if (result.is === 'error') return { is: 'error', message: result.errors[0]?.message ?? 'no reason given' };
      const { message = '', phase } = result.app.operation ?? {};
      const hasFailed = phase === 'Failed' || phase === 'Error';
      return { is: result.is, ...(hasFailed && message !== '' && { message }) };
    } catch (error) {
      if (error instanceof Failure) return failedOutcome(error, steps);
      if (this.#closed) return { is: 'failed', message: 'stopped' };
      throw error;
    }
  }
}
