/** One Application that manages groups of ours: what it shall print, what it printed last, and the waker that tells it to. */
import type { ApplicationRef, ObjectRef } from '../../argocd/application.ts';
import { type WakeTarget, wake } from '../../argocd/wake.ts';
import { Failure } from '../../failure.ts';
import { Deadline } from '../../http/deadline.ts';
import type { Plan } from '../../plan/decisions.ts';
import { differenceOf, type LiveRunner, NO_DIFFERENCE, printedKeys } from '../planning/difference.ts';
import type { Log } from '../subscribers/log.ts';
import type { Metrics } from '../subscribers/metrics.ts';
import { type WakeOutcome, Waker } from './waker.ts';

export interface ManagedAppOptions {
  readonly argocd: WakeTarget;
  readonly now: () => number;
  readonly log: Log;
  readonly metrics: Metrics;
  /** A wake has ended, or Argo CD has answered. */
  readonly onNews: () => void;
}

/** Longest time for one wake: a hard refresh waits for Argo CD's queues, git and the generator. */
const WAKE_MS = 120_000;
/** The same for an Application whose last wake was not answered in time: it may hang for ever. */
const WAKE_AGAIN_MS = 30_000;
/** One of so many wakes in a row without an answer is patient again: an Application may just be slow. */
const PATIENT_EVERY = 4;

/** How long the next wake may take, ms. @param unanswered wakes in a row that were not answered in time. */
export function wakeLimitMs(unanswered: number): number {
  return unanswered % PATIENT_EVERY === 0 ? WAKE_MS : WAKE_AGAIN_MS;
}

export class ManagedApp {
  /** Who names this Application as theirs. */
  groups: readonly ObjectRef[];
  readonly #key: string;
  readonly #ref: ApplicationRef;
  readonly #options: ManagedAppOptions;
  readonly #waker: Waker;
  /** Keys of the Jobs that the plan holds, and those that it held at the last wake: these are in Argo CD's copy of the output. */
  #wanted: ReadonlySet<string> = new Set();
  #printed: ReadonlySet<string> = new Set();
  /** The last look or plan failed: Argo CD may have met the same trouble and kept its error. */
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

  /** How its last wake ended. */
  get last(): Waker['last'] {
    return this.#waker.last;
  }

  /** How long the cluster has not shown the plan, ms. */
  get differsForMs(): number {
    return this.#waker.differsForMs();
  }

  get printed(): ReadonlySet<string> {
    return this.#printed;
  }

  /**
   * It shall print this plan.
   * @param live all Jobs of this Application.
   * @param settled no look that may explain the difference is under way.
   */
  planned({ runners }: Plan, live: readonly LiveRunner[], settled: boolean): void {
    if (this.#failing) {
      this.#failing = false;
      void this.#ask();
    }
    this.#wanted = printedKeys(runners);
    this.#waker.want(differenceOf(runners, live, this.#options.now(), this.#printed), settled);
  }

  /** What it shall print is not known now. */
  unplanned(failed: boolean): void {
    this.#failing ||= failed;
    this.#waker.want(NO_DIFFERENCE, true);
  }

  close(): void {
    this.#closed = true;
    this.#waker.close();
  }

  #makeWaker(): Waker {
    const { argocd, log, metrics, now, onNews } = this.#options;
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
        metrics.wakes.inc({ application, outcome: outcome.is });
        metrics.wakeSeconds.observe({ application }, ms / 1000);
        const level = outcome.is === 'synced' || outcome.is === 'in-sync' || outcome.is === 'busy' ? 'info' : 'warn';
        log[level]({ application, outcome: outcome.is, ms: Math.round(ms), ...textOf(outcome) }, 'woke Argo CD');
        onNews();
      },
      onShown: (ms) => metrics.shownSeconds.observe({ application }, ms / 1000),
    });
  }

  /** At start and after each outage: an error that Argo CD kept meanwhile must be woken away, and so must an old output. */
  async #ask(): Promise<void> {
    const { argocd, log, onNews } = this.#options;
    try {
      const state = await argocd.read(this.#ref, new Deadline(WAKE_MS));
      const [first] = state.errors.filter(({ stops }) => stops);
      if (first) this.#waker.owe({ is: 'error', message: first.message });
      else if (state.sync !== 'Synced') this.#waker.owe();
    } catch (error) {
      // Whoever closed this has ended the question, too.
      if (this.#closed) return;
      if (!(error instanceof Failure)) throw error;
      log.warn({ application: this.#key, code: error.code, error: error.message }, 'cannot ask Argo CD');
      this.#waker.owe({ is: 'failed', message: `${error.code} ${error.message}` });
    }
    onNews();
  }
}

function textOf(outcome: WakeOutcome): { readonly error?: string } {
  return 'message' in outcome && outcome.message !== undefined ? { error: outcome.message } : {};
}

function isTimeout(error: unknown): boolean {
  return error instanceof Failure && error.code === 'GR-HTTP-09';
}
