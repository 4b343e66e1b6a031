/** An Argo CD with many Applications and one core: it refreshes one after the other, and each refresh takes its time. In virtual time. */

import type { AppState } from '../../../src/clients/argocd/app-state.ts';
import type { ApplicationRef } from '../../../src/clients/argocd/application.ts';
import type { SyncStart } from '../../../src/clients/argocd/argocd.ts';
import type { Deadline } from '../../../src/clients/http/request.ts';
import type { WakeTarget } from '../../../src/serve/waking/wake.ts';
import { Failure } from '../../../src/shared/failure.ts';
import { appState } from '../../support/applications.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

/** An Application with the jobs that its group has runners for. */
interface BusyApp {
  readonly name: string;
  /** Jobs that should be in the cluster now. */
  readonly wanted: () => readonly string[];
  /** A sync has made these. */
  readonly apply: (jobs: readonly string[]) => void;
}

interface State extends BusyApp {
  pending: boolean;
  reconciledAtMs: number;
  printed: readonly string[];
  live: readonly string[];
  busy: boolean;
  answers: ((shown: AppState) => void)[];
}

const SYNC_MS = 1_000;

export class BusyArgoCd implements WakeTarget {
  readonly clock = new VirtualClock();
  readonly count = { most: 0, refreshes: 0, syncs: 0 };
  readonly #states: ReadonlyMap<string, State>;
  readonly #refreshMs: (name: string) => number | undefined;
  readonly #queue: State[] = [];
  #isWorking = false;

  /** @param refreshMs of one refresh; undefined for an Application whose refresh never ends. */
  constructor(apps: readonly BusyApp[], refreshMs: (name: string) => number | undefined) {
    const idle = { pending: false, reconciledAtMs: 0, printed: [], live: [], busy: false };
    this.#states = new Map(apps.map((app) => [app.name, { ...app, ...idle, answers: [] }]));
    this.#refreshMs = refreshMs;
  }

  /** Refreshes that were asked for and are not done. */
  get underWay(): number {
    return [...this.#states.values()].filter(({ pending }) => pending).length;
  }

  read = async (app: ApplicationRef): Promise<AppState> => shown(this.#stateOf(app));

  refresh = (app: ApplicationRef, deadline: Deadline): Promise<AppState> =>
    new Promise((resolve, reject) => {
      const state = this.#stateOf(app);
      state.answers.push(resolve);
      const late = new Failure('GR-HTTP-09', 1, 'no answer.', 'timeout');
      this.clock.after(deadline.remainingMs(), () => reject(late));
      if (state.pending) return;
      state.pending = true;
      this.count.refreshes += 1;
      this.count.most = Math.max(this.count.most, this.underWay);
      if (this.#refreshMs(state.name) === undefined) return;
      this.#queue.push(state);
      this.#work();
    });

  sync = async (app: ApplicationRef): Promise<SyncStart> => {
    const state = this.#stateOf(app);
    if (state.busy) return 'busy';
    state.busy = true;
    this.count.syncs += 1;
    this.clock.after(SYNC_MS, () => {
      Object.assign(state, { busy: false, live: state.printed });
      state.apply(state.printed);
    });
    return 'started';
  };

  /** Lets time pass until `end` is true; false when it is not within so long. */
  async pass(longestMs: number, end: () => boolean): Promise<boolean> {
    const untilMs = this.clock.steadyMs() + longestMs;
    while (!end() && this.clock.steadyMs() < untilMs) await this.clock.pass(50);
    return end();
  }

  #stateOf({ name }: ApplicationRef): State {
    const state = this.#states.get(name);
    if (!state) throw new Error(`no Application ${name}`);
    return state;
  }

  #work(): void {
    const state = this.#isWorking ? undefined : this.#queue.shift();
    if (!state) return;
    this.#isWorking = true;
    const printed = state.wanted();
    this.clock.after(this.#refreshMs(state.name) ?? 0, () => {
      this.#isWorking = false;
      Object.assign(state, { pending: false, printed, reconciledAtMs: this.clock.now() });
      for (const answer of state.answers.splice(0)) answer(shown(state));
      this.#work();
    });
  }
}

function shown({ busy, live, name, pending, printed, reconciledAtMs }: State): AppState {
  const isSynced = printed.length === live.length && printed.every((each) => live.includes(each));
  const sync = isSynced ? 'Synced' : 'OutOfSync';
  return { ...appState({ name, isOperating: busy, refreshPending: pending, sync }), reconciledAtMs };
}
