/**
 * One Application that manages groups of ours: its waker, and what Argo CD says that it has printed. Nothing of that is remembered from our
 * own plans: another leader may have woken it, and Argo CD may have been refreshed by others.
 */

import type { AppJob, AppState } from '../../argocd/app-state.ts';
import type { ApplicationRef, ObjectRef } from '../../argocd/application.ts';
import { ANSWER_MS, noting, type WakeTarget, wake } from '../../argocd/wake.ts';
import type { Clock } from '../../clock.ts';
import { Failure } from '../../failure.ts';
import { Deadline } from '../../http/deadline.ts';
import { keyText } from '../../key-text.ts';
import { parseRunnerName } from '../../plan/names.ts';
import type { Tell } from '../events.ts';
import { NO_DIFFERENCE } from '../planning/difference.ts';
import type { AppVerdict, WakeFacts } from '../round.ts';
import type { WakeLine } from './line.ts';
import { failedOutcome, Waker } from './waker.ts';

/** The part of a verdict that is about waking. */
export type Wish = Pick<AppVerdict, 'planning' | 'difference' | 'settled'>;

export interface ManagedAppOptions {
  readonly argocd: WakeTarget;
  /** Shared by all Applications. */
  readonly line: WakeLine;
  readonly clock: Clock;
  readonly tell: Tell;
  /** A wake has ended, or Argo CD has answered. */
  readonly onNews: () => void;
}

/** Longest time for one wake. A refresh that is late is waited for: to ask for another one would make Argo CD slower. */
const WAKE_MS = 600_000;
/** An Application that nothing is wanted of is read when Argo CD has said nothing of it for so long, ms. */
const ASK_EVERY_MS = 60_000;

export class ManagedApp {
  /** The RunnerGroups whose annotations name this Application. */
  groups: readonly ObjectRef[];
  readonly #key: string;
  readonly #ref: ApplicationRef;
  readonly #options: ManagedAppOptions;
  readonly #waker: Waker;
  readonly #life = new AbortController();
  /** Keys of our Jobs in Argo CD's copy of the output, as it has said last. */
  #printed: ReadonlySet<string> = new Set();
  /** When Argo CD has last been asked how the Application is, by a wake or by a read. */
  #askedMs = 0;
  #asking = false;
  /** The last look or plan failed. Argo CD may have met the same fault and kept its error. */
  #failing = false;

  constructor(key: string, ref: ApplicationRef, groups: readonly ObjectRef[], options: ManagedAppOptions) {
    this.#key = key;
    this.#ref = ref;
    this.groups = groups;
    this.#options = options;
    this.#waker = this.#makeWaker();
    void this.#ask();
  }

  /** True once it shows its plan or was woken in vain. */
  get done(): boolean {
    return this.#waker.done;
  }

  get trouble(): string | undefined {
    return this.#waker.trouble;
  }

  /** How it was woken so far. */
  get wakes(): WakeFacts {
    const { last, differSince } = this.#waker;
    return { printed: this.#printed, differSince, ...(last && { last }) };
  }

  /** Wakes Argo CD until the cluster shows the plan of the verdict. Without a plan nothing is wanted. */
  follow({ planning, difference, settled }: Wish): void {
    if (planning.is !== 'planned') {
      this.#failing ||= planning.is === 'failed';
      if (planning.is === 'failed') this.#waker.rest();
      else this.#waker.want(NO_DIFFERENCE, true);
      return;
    }
    this.#waker.want(difference, settled);
    if (this.#failing) void this.#ask();
    else if (this.#isUnheard()) void this.#ask({ isRoutine: true });
    this.#failing = false;
  }

  close(): void {
    this.#life.abort();
    this.#waker.close();
  }

  #makeWaker(): Waker {
    const { argocd, clock, line, onNews, tell } = this.#options;
    const application = this.#key;
    return new Waker({
      clock,
      turn: (work) => line.pass(this.#life.signal, application, work),
      wake: async (steps) => {
        const result = await wake(noting(argocd, steps), this.#ref, this.groups, new Deadline(WAKE_MS, clock));
        this.#hear(result.app);
        return result;
      },
      onWake: (outcome, ms, waitedMs, steps) => {
        this.#askedMs = clock.now();
        tell({ is: 'woken', application, outcome, ms, waitedMs, steps });
        onNews();
      },
      onShown: (ms) => tell({ is: 'plan-shown', application, ms }),
    });
  }

  /** Nothing is wanted, and nobody has asked Argo CD for a while. A clock that was set back is no reason to wait. */
  #isUnheard(): boolean {
    return this.#waker.done && Math.abs(this.#options.clock.now() - this.#askedMs) >= ASK_EVERY_MS;
  }

  /** What a comparison that failed says of the Jobs is not true, and the Jobs of a stranger's Application are not ours. */
  #hear({ errors, jobs, manages, sync }: AppState): readonly AppJob[] {
    if (sync === 'Unknown' || !this.groups.some(manages) || errors.some(({ stops }) => stops)) return [];
    const ours = jobs.filter(({ name }) => parseRunnerName(name) !== undefined);
    this.#printed = new Set(ours.map(keyText));
    return ours;
  }

  /**
   * Asked at the start, after each outage of Gitea, and once a minute while nothing is wanted. An error that Argo CD has kept, and a Job of
   * ours that is out of sync, are ended by a wake. What else is out of sync is not ours.
   */
  async #ask({ isRoutine = false } = {}): Promise<void> {
    if (this.#asking) return;
    const { argocd, clock, onNews, tell } = this.#options;
    this.#asking = true;
    const askedMs = clock.now();
    this.#askedMs = askedMs;
    try {
      const state = await argocd.read(this.#ref, new Deadline(ANSWER_MS, clock));
      // A wake that has ended since then knows more.
      if (this.#askedMs === askedMs) this.#answered(state);
    } catch (error) {
      // `close` has ended the request.
      if (this.#life.signal.aborted) return;
      if (!(error instanceof Failure)) throw error;
      tell({ is: 'ask-failed', application: this.#key, failure: error });
      // Nothing is known to be wrong: the next minute asks again, and an Argo CD that comes back is not flooded.
      if (!isRoutine) this.#waker.owe(failedOutcome(error));
    } finally {
      this.#asking = false;
    }
    onNews();
  }

  #answered(state: AppState): void {
    const ours = this.#hear(state);
    const [first] = state.errors.filter(({ stops }) => stops);
    if (first) this.#waker.owe({ is: 'error', message: first.message });
    else if (state.sync === 'Unknown' || ours.some(({ outOfSync }) => outOfSync)) this.#waker.owe();
  }
}
