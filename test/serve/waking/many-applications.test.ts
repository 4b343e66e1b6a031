/** Many Applications that need a wake at the same time. Laws V12 and V51 (docs/spec.md). */

import { expect, it } from 'vitest';
import { hangsAfterMs } from '../../../src/serve/applications.ts';
import { NO_DIFFERENCE } from '../../../src/serve/seen/difference.ts';
import type { WakeTarget } from '../../../src/serve/waking/wake.ts';
import { appState, keyOf, openApplications, PLANNED } from '../../support/applications.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { BusyArgoCd } from './busy-argocd.ts';

const CAP = 10;
const JOBS = 30;
/** A CI job lasts so long. */
const JOB_MS = 5_000;
const TICK_MS = 5_000;
const HOUR_MS = 3_600_000;

/** Makes so many Applications. Each has `JOBS` jobs and `CAP` runners at a time. */
async function scene(count: number, refreshMs: (name: string) => number | undefined) {
  const names = namesOf(count);
  const left = new Map(names.map((name) => [name, [] as readonly string[]]));
  const live = new Map(names.map((name) => [name, new Set<string>()]));
  const doneAtMs = new Map<string, number>();
  const wanted = (name: string): readonly string[] => (left.get(name) ?? []).slice(0, CAP);
  const apply = (name: string, jobs: readonly string[]): void => {
    const here = live.get(name);
    for (const job of jobs) {
      if (here?.has(job) || !left.get(name)?.includes(job)) continue;
      here?.add(job);
      clock.after(JOB_MS, () => {
        here?.delete(job);
        left.set(name, left.get(name)?.filter((each) => each !== job) ?? []);
        if (left.get(name)?.length === 0) doneAtMs.set(name, clock.steadyMs());
        tellPlan(name);
      });
    }
    tellPlan(name);
  };
  const argocd = new BusyArgoCd(
    names.map((name) => ({ name, wanted: () => wanted(name), apply: (jobs) => apply(name, jobs) })),
    refreshMs,
  );
  const { clock } = argocd;
  const tellPlans = (): void => names.forEach(tellPlan);
  const { apps: managed, told } = openApplications(argocd, clock, { names, onNews: tellPlans });
  const tellPlan = (name: string): void => {
    const missing = wanted(name).filter((job) => !live.get(name)?.has(job));
    managed.follow(keyOf(name), { planning: PLANNED, difference: { ...NO_DIFFERENCE, missing }, settled: true });
  };
  const rounds = (): void => {
    tellPlans();
    clock.after(TICK_MS, rounds);
  };
  rounds();
  await clock.pass(100);
  return {
    argocd,
    clock,
    /** Returns how the wakes ended. */
    outcomes: () => told.flatMap((event) => (event.is === 'woken' ? [event.outcome.is] : [])),
    doneAtMs,
    /** Lets these Applications have their jobs from now on. */
    begin: (some: readonly string[]): void => {
      for (const name of some) {
        const jobs = Array.from({ length: JOBS }, (_, job) => `${name}-${job}`);
        left.set(name, jobs);
        tellPlan(name);
      }
    },
  };
}

const namesOf = (count: number): readonly string[] => Array.from({ length: count }, (_, at) => `app-${at}`);

it.each([
  ['5 s, so that the last of 20 at once would wait 100 s', 5_000],
  ['10 s, so that even four at once are answered late', 10_000],
])(
  '20 Applications with 30 jobs each, and an Argo CD that refreshes one after the other all get their runners, no wake is lost, and it takes no longer than one after the other: %s',
  async (_, refreshMs) => {
    const { argocd, begin, clock, doneAtMs, outcomes } = await scene(20, () => refreshMs);
    const beganMs = clock.steadyMs();
    begin(namesOf(20));

    expect(await argocd.pass(4 * HOUR_MS, () => doneAtMs.size === 20)).toBe(true);
    expect(argocd.count.most).toBeLessThanOrEqual(4);
    expect(new Set(outcomes())).toEqual(new Set(['synced']));
    // No refresh was wasted.
    expect(argocd.count.refreshes - argocd.count.syncs).toBeLessThanOrEqual(4);
    // Time of three rounds one after the other: refresh, sync, CI jobs.
    const oneAfterTheOther = 20 * (JOBS / CAP) * (refreshMs + 1_000 + JOB_MS);
    expect(clock.steadyMs() - beganMs).toBeLessThanOrEqual(1.5 * oneAfterTheOther);
    // Fair: they end together, and none is served twice before another one is served once.
    const ends = [...doneAtMs.values()].sort((a, b) => a - b);
    expect((ends.at(-1) ?? 0) - (ends[0] ?? 0)).toBeLessThanOrEqual(21 * refreshMs);
  },
);

it('an Application that hangs does not keep good ones waiting for more than a few times as long as their own wakes take', async () => {
  const { argocd, begin, clock, doneAtMs } = await scene(8, (name) => (name <= 'app-5' ? undefined : 1_000));
  begin(['app-6', 'app-7']);
  expect(await argocd.pass(HOUR_MS, () => doneAtMs.size === 2)).toBe(true);

  begin(namesOf(6));
  await clock.pass(1_000);
  expect(argocd.underWay).toBe(4);
  const beganMs = clock.steadyMs();
  begin(['app-6', 'app-7']);
  await argocd.pass(HOUR_MS, () => [...doneAtMs.values()].every((at) => at > beganMs));

  // Six hang, four at a time, 5 s each; then it is their turn.
  expect(Math.max(...doneAtMs.values()) - beganMs).toBeLessThanOrEqual(60_000);
});

it('an Application that hangs counts as one that hangs after four times what others take, between 5 and 60 s', () => {
  expect(hangsAfterMs([])).toBe(60_000);
  expect(hangsAfterMs([800, 900, 1_000])).toBe(5_000);
  expect(hangsAfterMs([9_000, 1_000, 2_000])).toBe(8_000);
  expect(hangsAfterMs([600_000, 2_000, 3_000, 2_500])).toBe(12_000);
  expect(hangsAfterMs([20_000, 40_000, 30_000])).toBe(60_000);
});

const isShown = appState({ sync: 'OutOfSync' });
function openBusy() {
  const clock = new VirtualClock();
  const argocd = { clock, read: async () => isShown, refresh: async () => isShown, sync: async () => 'busy' };
  const names = ['one', 'other'];
  const { apps, told } = openApplications(argocd as unknown as WakeTarget, clock, { names, wakes: 1 });
  const want = (name: string): void => {
    const difference = { ...NO_DIFFERENCE, missing: ['a'] };
    apps.follow(keyOf(name), { planning: PLANNED, difference, settled: true });
  };
  const areWoken = () => names.map((name) => apps.wakes.get(keyOf(name))?.state.is === 'waking');
  return { argocd, areWoken, clock, told, want };
}

it('an Application with another operation under way gives its place away at once: to wait costs Argo CD nothing', async () => {
  const { areWoken, clock, want } = openBusy();
  want('one');
  await clock.pass(100);
  want('other');
  await clock.pass(100);

  expect(areWoken()).toEqual([true, true]);
});

it('an Application with another operation under way is repeated as soon as one that did not wait', async () => {
  const { argocd, clock, told, want } = openBusy();
  const wakes = () => told.filter(({ is }) => is === 'woken').length;
  want('one');
  await clock.pass(20_000);
  argocd.sync = async () => 'started';
  while (wakes() === 0) await clock.pass(100);
  await clock.pass(4_000);

  expect(wakes()).toBe(2);
});

it('an Application with another operation under way tells nothing of how fast Argo CD is: one that hangs after it gives its place away after 5 s', async () => {
  const { areWoken, argocd, clock, told, want } = openBusy();
  want('one');
  await clock.pass(29_000);
  argocd.refresh = () => new Promise(() => undefined);
  await clock.pass(2_000);
  expect([told.some(({ is }) => is === 'woken'), ...areWoken()]).toEqual([true, true, false]);

  want('other');
  await clock.pass(5_000);

  expect(areWoken()).toEqual([true, true]);
});
