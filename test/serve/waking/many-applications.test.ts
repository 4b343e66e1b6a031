/** Many Applications that need a wake at the same time. Laws V12 and V51 (docs/spec.md). */

import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { NO_DIFFERENCE } from '../../../src/serve/planning/difference.ts';
import { hangsAfterMs, WakeLine } from '../../../src/serve/waking/line.ts';
import { ManagedApp, type Wish } from '../../../src/serve/waking/managed-app.ts';
import { type BusyApp, type BusyArgoCd, busyArgoCd, GROUP } from './busy-argocd.ts';

const CAP = 10;
const JOBS = 30;
/** A CI job lasts so long. */
const JOB_MS = 5_000;
const TICK_MS = 5_000;
const HOUR_MS = 3_600_000;

// Sockets stay real: Node's own timers are not these.
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'hrtime'] }));
afterEach(() => void vi.useRealTimers());

interface Scene {
  readonly argocd: BusyArgoCd;
  /** How wakes ended. */
  readonly outcomes: readonly string[];
  readonly doneAtMs: ReadonlyMap<string, number>;
  /** Lets these Applications have their jobs from now on. */
  readonly begin: (names: readonly string[]) => void;
}

/** So many Applications; each has `JOBS` jobs and `CAP` runners at a time. */
async function scene(count: number, refreshMs: (name: string) => number | undefined): Promise<Scene> {
  const names = Array.from({ length: count }, (_, at) => `app-${at}`);
  const left = new Map(names.map((name) => [name, [] as readonly string[]]));
  const live = new Map(names.map((name) => [name, new Set<string>()]));
  const outcomes: string[] = [];
  const doneAtMs = new Map<string, number>();
  const wanted = (name: string): readonly string[] => (left.get(name) ?? []).slice(0, CAP);
  const apps = names.map((name): BusyApp => {
    const apply = (jobs: readonly string[]): void => {
      const here = live.get(name);
      for (const job of jobs) {
        if (here?.has(job) || !left.get(name)?.includes(job)) continue;
        here?.add(job);
        setTimeout(() => {
          here?.delete(job);
          left.set(name, left.get(name)?.filter((each) => each !== job) ?? []);
          if (left.get(name)?.length === 0) doneAtMs.set(name, Date.now());
          tellPlan(name);
        }, JOB_MS);
      }
      tellPlan(name);
    };
    return { name, wanted: () => wanted(name), apply };
  });
  const argocd = await busyArgoCd(apps, refreshMs);
  const line = new WakeLine(4, systemClock);
  const managed = new Map(
    names.map((name) => [
      name,
      new ManagedApp(`argocd/${name}`, { namespace: 'argocd', name }, [GROUP], {
        argocd: argocd.target,
        line,
        clock: systemClock,
        tell: (event) => {
          if (event.is === 'woken') outcomes.push(event.outcome.is);
        },
        onNews: () => tellPlan(name),
      }),
    ]),
  );
  const tellPlan = (name: string): void => {
    const missing = wanted(name).filter((job) => !live.get(name)?.has(job));
    const wish = {
      planning: { is: 'planned' },
      difference: { ...NO_DIFFERENCE, missing },
      settled: true,
    };
    managed.get(name)?.follow(wish as unknown as Wish);
  };
  onTestFinished(() => {
    for (const app of managed.values()) app.close();
  });
  const rounds = (): void => {
    for (const name of names) tellPlan(name);
    setTimeout(rounds, TICK_MS);
  };
  rounds();
  await argocd.pass(100, () => false);
  return {
    argocd,
    outcomes,
    doneAtMs,
    begin: (some) => {
      for (const name of some) {
        left.set(
          name,
          Array.from({ length: JOBS }, (_, job) => `${name}-${job}`),
        );
        tellPlan(name);
      }
    },
  };
}

const namesOf = (count: number): readonly string[] => Array.from({ length: count }, (_, at) => `app-${at}`);

describe('20 Applications with 30 jobs each, and an Argo CD that refreshes one after the other', () => {
  it.each([
    ['5 s, so that the last of 20 at once would wait 100 s', 5_000],
    ['10 s, so that even four at once are answered late', 10_000],
  ])(
    'all get their runners, no wake is lost, and it takes no longer than one after the other: %s',
    async (_, refreshMs) => {
      const { argocd, begin, doneAtMs, outcomes } = await scene(20, () => refreshMs);
      const beganMs = Date.now();
      begin(namesOf(20));

      expect(await argocd.pass(4 * HOUR_MS, () => doneAtMs.size === 20)).toBe(true);
      expect(argocd.most()).toBeLessThanOrEqual(4);
      expect(new Set(outcomes)).toEqual(new Set(['synced']));
      // No refresh was thrown away.
      expect(argocd.refreshes() - argocd.syncs()).toBeLessThanOrEqual(4);
      // One after the other, three times: refresh, sync, CI jobs.
      const oneAfterTheOther = 20 * (JOBS / CAP) * (refreshMs + 1_000 + JOB_MS);
      expect(Date.now() - beganMs).toBeLessThanOrEqual(1.5 * oneAfterTheOther);
      // Fair: they end together, and none is served twice before another one is served once.
      const ends = [...doneAtMs.values()].sort((a, b) => a - b);
      expect((ends.at(-1) ?? 0) - (ends[0] ?? 0)).toBeLessThanOrEqual(21 * refreshMs);
    },
  );
});

describe('an Application that hangs', () => {
  it('does not keep good ones waiting for more than a few times as long as their own wakes take', async () => {
    const { argocd, begin, doneAtMs } = await scene(8, (name) => (name <= 'app-5' ? undefined : 1_000));
    begin(['app-6', 'app-7']);
    expect(await argocd.pass(HOUR_MS, () => doneAtMs.size === 2)).toBe(true);

    begin(namesOf(6));
    await argocd.pass(1_000, () => false);
    expect(argocd.underWay()).toBe(4);
    const beganMs = Date.now();
    begin(['app-6', 'app-7']);
    await argocd.pass(HOUR_MS, () => [...doneAtMs.values()].every((at) => at > beganMs));

    // Six hang, four at a time, 5 s each; then it is their turn.
    expect(Math.max(...doneAtMs.values()) - beganMs).toBeLessThanOrEqual(60_000);
  });

  it('does not take a wake that has failed for one that was fast', async () => {
    const line = new WakeLine(1, systemClock);
    const { signal } = new AbortController();
    for (let at = 0; at < 8; at += 1) await line.pass(signal, 'away', async () => false);
    void line.pass(signal, 'slow', async () => await new Promise(() => undefined));
    const next = vi.fn(async () => true);
    void line.pass(signal, 'next', next);
    await vi.advanceTimersByTimeAsync(59_000);
    expect(next).not.toHaveBeenCalled();

    await vi.advanceTimersByTimeAsync(2_000);
    expect(next).toHaveBeenCalledOnce();
  });

  it('counts as one that hangs after four times what others take, between 5 and 60 s', () => {
    expect(hangsAfterMs([])).toBe(60_000);
    expect(hangsAfterMs([800, 900, 1_000])).toBe(5_000);
    expect(hangsAfterMs([600_000, 2_000, 3_000, 2_500])).toBe(12_000);
    expect(hangsAfterMs([20_000, 40_000, 30_000])).toBe(60_000);
  });
});
