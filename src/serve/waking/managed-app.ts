/** One Application that manages groups of ours: the plan that it should print, what it printed last, and its waker. */
import type { ApplicationRef, ObjectRef } from '../../argocd/application.ts';
import { type WakeTarget, wake } from '../../argocd/wake.ts';
import { Failure } from '../../failure.ts';
import { Deadline } from '../../http/deadline.ts';
import type { Tell } from '../events.ts';
import { NO_DIFFERENCE } from '../planning/difference.ts';
import type { AppVerdict, WakeFacts } from '../round.ts';
import { Waker } from './waker.ts';

/** The part of a verdict that is about waking. */
export type Wish = Pick<AppVerdict, 'planning' | 'difference' | 'prints' | 'settled'>;

export interface ManagedAppOptions {
  readonly argocd: WakeTarget;
  readonly now: () => number;
  readonly tell: Tell;
  /** A wake has ended, or Argo CD has answered. */
  readonly onNews: () => void;
}

/** Longest time for one wake: a hard refresh waits for Argo CD's queues, git and the generator. */
const WAKE_MS = 120_000;
/** The same for an Application whose last wake was not answered in time: it may never answer. */
const WAKE_AGAIN_MS = 30_000;
/** Every so many wakes without an answer one waits as long as the first: an Application may just be slow. */
const PATIENT_EVERY = 4;

/** How long the next wake may take, ms. @param unanswered wakes in a row that were not answered in time. */
export function wakeLimitMs(unanswered: number): number {
  return unanswered % PATIENT_EVERY === 0 ? WAKE_MS : WAKE_AGAIN_MS;
}

export class ManagedApp {
  /** The RunnerGroups whose annotations name this Application. */
  groups: readonly ObjectRef[];
  readonly #key: string;
  readonly #ref: ApplicationRef;
  readonly #options: ManagedAppOptions;
  readonly #waker: Waker;
  /** Keys of the Jobs that the plan holds, and those that it held at the last wake: these are in Argo CD's copy of the output. */
  #wanted: ReadonlySet<string> = new Set();
  #printed: ReadonlySet<string> = new Set();
  /** The last look or plan failed. Argo CD may have met the same fault and kept its error. */
  #failing = false;
  /** Wakes in a row that were not answered in time. */
  #unanswered = 0;
  #closed = false;

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
    const { last, differsSinceMs } = this.#waker;
    const printed = this.#printed;
    return { printed, ...(last && { last }), ...(differsSinceMs !== undefined && { differsSinceMs }) };
  }

  /** Wakes Argo CD until the cluster shows the plan of the verdict. Without a plan nothing is wanted. */
  follow({ planning, difference, prints, settled }: Wish): void {
    if (planning.is !== 'planned') {
      this.#failing ||= planning.is === 'failed';
      this.#waker.want(NO_DIFFERENCE, true);
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
    this.#closed = true;
    this.#waker.close();
  }

  #makeWaker(): Waker {
    const { argocd, now, onNews, tell } = this.#options;
    const application = this.#key;
    return new Waker({
      now,
      wake: async () => {
        const wanted = this.#wanted;
        const deadline = new Deadline(wakeLimitMs(this.#unanswered));
        try {
          const result = await wake(argocd, this.#ref, this.groups, deadline);
          this.#unanswered = 0;
          if (result.is === 'synced' || result.is === 'in-sync') this.#printed = wanted;
          return result;
        } catch (error) {
          this.#unanswered = isTimeout(error) ? this.#unanswered + 1 : 0;
          throw error;
        }
      },
      onWake: (outcome, ms) => {
        tell({ is: 'woken', application, outcome, ms });
        onNews();
      },
      onShown: (ms) => tell({ is: 'plan-shown', application, ms }),
    });
  }

  /** Asked at the start and after each outage. An error that Argo CD has kept, or an old output, is ended by a wake. */
  async #ask(): Promise<void> {
    const { argocd, onNews, tell } = this.#options;
    try {
      const state = await argocd.read(this.#ref, new Deadline(WAKE_MS));
      const [first] = state.errors.filter(({ stops }) => stops);
      if (first) this.#waker.owe({ is: 'error', message: first.message });
      else if (state.sync !== 'Synced') this.#waker.owe();
    } catch (error) {
      // `close` has ended the request.
      if (this.#closed) return;
      if (!(error instanceof Failure)) throw error;
      tell({ is: 'ask-failed', application: this.#key, failure: error });
      this.#waker.owe({ is: 'failed', message: `${error.code} ${error.message}` });
    }
    onNews();
  }
}

function isTimeout(error: unknown): boolean {
  return error instanceof Failure && error.code === 'GR-HTTP-09';
}
