/** One Application that manages groups of ours: the plan that it should print, what it printed last, and its waker. */
import type { ApplicationRef, ObjectRef } from '../../argocd/application.ts';
import { noting, type WakeTarget, wake } from '../../argocd/wake.ts';
import { Failure } from '../../failure.ts';
import { Deadline } from '../../http/deadline.ts';
import type { Tell } from '../events.ts';
import { NO_DIFFERENCE } from '../planning/difference.ts';
import type { AppVerdict, WakeFacts } from '../round.ts';
import type { WakeLine } from './line.ts';
import { Waker } from './waker.ts';

/** The part of a verdict that is about waking. */
export type Wish = Pick<AppVerdict, 'planning' | 'difference' | 'prints' | 'settled'>;

export interface ManagedAppOptions {
  readonly argocd: WakeTarget;
  /** Shared by all Applications. */
  readonly line: WakeLine;
  readonly now: () => number;
  readonly tell: Tell;
  /** A wake has ended, or Argo CD has answered. */
  readonly onNews: () => void;
}

/** Longest time for one wake. A refresh that is late is waited for: to ask for another one would make Argo CD slower. */
const WAKE_MS = 600_000;
/** For the question how an Application is. */
const ASK_MS = 120_000;

export class ManagedApp {
  /** The RunnerGroups whose annotations name this Application. */
  groups: readonly ObjectRef[];
  readonly #key: string;
  readonly #ref: ApplicationRef;
  readonly #options: ManagedAppOptions;
  readonly #waker: Waker;
  readonly #life = new AbortController();
  /** Keys of the Jobs that the plan holds, and those that it held at the last wake: these are in Argo CD's copy of the output. */
  #wanted: ReadonlySet<string> = new Set();
  #printed: ReadonlySet<string> = new Set();
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
  follow({ planning, difference, prints, settled }: Wish): void {
    if (planning.is !== 'planned') {
      this.#failing ||= planning.is === 'failed';
      if (planning.is === 'failed') this.#waker.rest();
      else this.#waker.want(NO_DIFFERENCE, true);
      return;
    }
    if (this.#failing) {
      this.#failing = false;
      void this.#ask();
    }
    this.#wanted = prints;
    this.#waker.want(difference, settled);
  }

  close(): void {
    this.#life.abort();
    this.#waker.close();
  }

  #makeWaker(): Waker {
    const { argocd, line, now, onNews, tell } = this.#options;
    const application = this.#key;
    return new Waker({
      now,
      turn: (work) => line.pass(this.#life.signal, application, work),
      wake: async (steps) => {
        const wanted = this.#wanted;
        const result = await wake(noting(argocd, steps, now), this.#ref, this.groups, new Deadline(WAKE_MS));
        if (result.is === 'synced' || result.is === 'in-sync') this.#printed = wanted;
        return result;
      },
      onWake: (outcome, ms, waitedMs, steps) => {
        tell({ is: 'woken', application, outcome, ms, waitedMs, steps });
        onNews();
      },
      onShown: (ms) => tell({ is: 'plan-shown', application, ms }),
    });
  }

  /** Asked at the start and after each outage. An error that Argo CD has kept, or an old output, is ended by a wake. */
  async #ask(): Promise<void> {
    const { argocd, onNews, tell } = this.#options;
    try {
      const state = await argocd.read(this.#ref, new Deadline(ASK_MS));
      const [first] = state.errors.filter(({ stops }) => stops);
      if (first) this.#waker.owe({ is: 'error', message: first.message });
      else if (state.sync !== 'Synced') this.#waker.owe();
    } catch (error) {
      // `close` has ended the request.
      if (this.#life.signal.aborted) return;
      if (!(error instanceof Failure)) throw error;
      tell({ is: 'ask-failed', application: this.#key, failure: error });
      this.#waker.owe({ is: 'failed', message: `${error.code} ${error.message}` });
    }
    onNews();
  }
}
