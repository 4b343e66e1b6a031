/**
 * An Argo CD with many Applications and one core: it refreshes one after the other, and each refresh takes its time. Real HTTP; time
 * passes by the faked timers of the test, and only while no request is on its way.
 */

import type { ServerResponse } from 'node:http';
import { onTestFinished, vi } from 'vitest';
import type { ObjectRef } from '../../../src/clients/argocd/application.ts';
import type { WakeTarget } from '../../../src/clients/argocd/wake.ts';
import { systemClock } from '../../../src/shared/clock.ts';
import { BUSY, client, gatewayError, json } from '../../support/fake-argocd.ts';
import { serve } from '../../support/server.ts';

/** One Application and the jobs that its group has runners for. */
export interface BusyApp {
  readonly name: string;
  /** Jobs that should be in the cluster now. */
  readonly wanted: () => readonly string[];
  /** A sync has made these. */
  readonly apply: (jobs: readonly string[]) => void;
}

export interface BusyArgoCd {
  readonly target: WakeTarget;
  /** Refreshes that were asked for and are not done. */
  readonly underWay: () => number;
  readonly most: () => number;
  readonly refreshes: () => number;
  readonly syncs: () => number;
  /** Lets time pass until `end` is true; false when it is not within so long. */
  readonly pass: (longestMs: number, end: () => boolean) => Promise<boolean>;
}

interface State {
  readonly app: BusyApp;
  pending: boolean;
  reconciledAtMs: number;
  printed: readonly string[];
  live: readonly string[];
  busy: boolean;
  readonly waiting: ServerResponse[];
}

const GROUP: ObjectRef = { group: 'gitea.bpg.pw', kind: 'RunnerGroup', namespace: 'runners', name: 'ci' };

/** @param refreshMs of one refresh; undefined for an Application whose refresh never ends. */
export async function busyArgoCd(
  apps: readonly BusyApp[],
  refreshMs: (name: string) => number | undefined,
  syncMs = 1_000,
): Promise<BusyArgoCd> {
  const states = new Map(
    apps.map((app): [string, State] => [
      app.name,
      { app, pending: false, reconciledAtMs: Date.now(), printed: [], live: [], busy: false, waiting: [] },
    ]),
  );
  const queue: State[] = [];
  let working = false;
  let held = 0;
  const count = { most: 0, refreshes: 0, syncs: 0 };

  const underWay = (): number => [...states.values()].filter(({ pending }) => pending).length;
  const shown = (state: State): object => ({
    metadata: {
      name: state.app.name,
      namespace: 'argocd',
      ...(state.pending && { annotations: { 'argocd.argoproj.io/refresh': 'hard' } }),
    },
    spec: { project: 'ci' },
    status: {
      sync: { status: sameSet(state.printed, state.live) ? 'Synced' : 'OutOfSync' },
      reconciledAt: new Date(state.reconciledAtMs).toISOString(),
      resources: [GROUP],
    },
  });
  const work = (): void => {
    const state = working ? undefined : queue.shift();
    if (!state) return;
    working = true;
    const wanted = state.app.wanted();
    setTimeout(() => {
      working = false;
      Object.assign(state, { pending: false, printed: wanted, reconciledAtMs: Date.now() });
      for (const response of state.waiting.splice(0)) json(response, shown(state));
      work();
    }, refreshMs(state.app.name));
  };
  const refresh = (state: State, response: ServerResponse): void => {
    state.waiting.push(response);
    if (state.pending) return;
    state.pending = true;
    count.refreshes += 1;
    count.most = Math.max(count.most, underWay());
    if (refreshMs(state.app.name) === undefined) return;
    queue.push(state);
    work();
  };
  const sync = (state: State, response: ServerResponse): void => {
    if (state.busy) return void gatewayError(response, 400, 9, BUSY);
    state.busy = true;
    count.syncs += 1;
    setTimeout(() => {
      state.busy = false;
      state.live = state.printed;
      state.app.apply(state.printed);
    }, syncMs);
    json(response, shown(state));
  };
  const listening = await serve((request, response) => {
    held += 1;
    response.once('close', () => {
      held -= 1;
    });
    const url = new URL(request.url ?? '/', 'http://fake');
    const state = states.get(url.pathname.split('/')[4] ?? '');
    if (!state) return void json(response, {}, 404);
    request.resume().once('end', () => {
      if (request.method === 'POST') sync(state, response);
      else if (url.searchParams.has('refresh')) refresh(state, response);
      else json(response, shown(state));
    });
  });
  const argocd = client(listening.origin);
  onTestFinished(() => argocd.close());
  let asked = 0;
  const counted = async <T>(answer: Promise<T>): Promise<T> => {
    asked += 1;
    return await answer.finally(() => {
      asked -= 1;
    });
  };
  /** Every request has arrived, and every answer was taken. */
  const arrived = async (): Promise<void> => {
    for (let quiet = 0; quiet < 5; quiet = asked === held ? quiet + 1 : 0) await new Promise(setImmediate);
  };
  return {
    target: {
      clock: systemClock,
      read: (app, deadline) => counted(argocd.read(app, deadline)),
      refresh: (app, deadline, how) => counted(argocd.refresh(app, deadline, how)),
      sync: (app, deadline) => counted(argocd.sync(app, deadline)),
    },
    underWay,
    most: () => count.most,
    refreshes: () => count.refreshes,
    syncs: () => count.syncs,
    pass: async (longestMs, end) => {
      const until = Date.now() + longestMs;
      await arrived();
      while (!end() && Date.now() < until) {
        await vi.advanceTimersByTimeAsync(50);
        await arrived();
      }
      return end();
    },
  };
}

function sameSet(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((each) => b.includes(each));
}
