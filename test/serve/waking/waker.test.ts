import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { AppState } from '../../../src/argocd/app-state.ts';
import type { WakeResult } from '../../../src/argocd/wake.ts';
import { systemClock } from '../../../src/clock.ts';
import { Failure } from '../../../src/failure.ts';
import { NO_DIFFERENCE } from '../../../src/serve/planning/difference.ts';
import { Waker } from '../../../src/serve/waking/waker.ts';

const app: AppState = {
  name: 'runners',
  namespace: 'argocd',
  project: 'default',
  sync: 'OutOfSync',
  errors: [],
  refreshPending: false,
  manages: () => true,
  jobs: [],
};

/** A waker whose wakes last 500 ms and end as `results` say, the last of them for ever. */
function start(...results: readonly ((() => never) | WakeResult)[]) {
  return startSlow(500, ...results);
}

/** One whose wakes last so long. */
function startSlow(wakeMs: number, ...results: readonly ((() => never) | WakeResult)[]) {
  const woken: number[] = [];
  const shown: number[] = [];
  const began = Date.now();
  const waker = new Waker({
    clock: systemClock,
    turn: async (work) => void (await work()),
    wake: async () => {
      const result = results[Math.min(woken.length, results.length - 1)];
      woken.push(Date.now() - began);
      await new Promise((resolve) => setTimeout(resolve, wakeMs));
      if (typeof result === 'function') return result();
      return result ?? { is: 'synced', app };
    },
    onWake: () => undefined,
    onShown: (ms) => shown.push(ms),
  });
  return { waker, woken, shown };
}

const missing = (...names: string[]) => ({ ...NO_DIFFERENCE, missing: names });

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('a waker', () => {
  it('does nothing without a difference', async () => {
    const { waker, woken } = start();
    for (let at = 0; at < 100; at += 1) waker.want(NO_DIFFERENCE, true);
    await vi.advanceTimersByTimeAsync(600_000);

    expect(woken).toEqual([]);
    expect(waker.done).toBe(true);
  });

  it('wakes once for many tellings of the same difference, and is done when the cluster shows the plan', async () => {
    const { waker, woken, shown } = start();
    for (let at = 0; at < 1000; at += 1) {
      waker.want(missing('a'), true);
      await vi.advanceTimersByTimeAsync(1);
    }
    waker.want(NO_DIFFERENCE, true);
    await vi.advanceTimersByTimeAsync(600_000);

    expect(woken).toHaveLength(1);
    expect(shown).toHaveLength(1);
  });

  it('needs at most three wakes for a new job every millisecond of a second', async () => {
    const { waker, woken } = start();
    for (let at = 0; at < 1000; at += 1) {
      waker.want(missing(...Array.from({ length: at + 1 }, (_, job) => `job-${job}`)), true);
      await vi.advanceTimersByTimeAsync(1);
    }
    const during = woken.length;
    waker.want(NO_DIFFERENCE, true);
    await vi.advanceTimersByTimeAsync(60_000);

    expect(during).toBeLessThanOrEqual(3);
  });

  it('wakes at once again for a job that came during a wake', async () => {
    const { waker, woken } = start();
    waker.want(missing('a'), true);
    await vi.advanceTimersByTimeAsync(100);
    waker.want(missing('a', 'b'), true);
    await vi.advanceTimersByTimeAsync(1_000);

    expect(woken).toHaveLength(2);
    expect(woken[1]).toBeLessThan(600);
  });

  it('wakes again and again, later and later, while the cluster does not show the plan', async () => {
    const { waker, woken } = start({ is: 'in-sync', app });
    waker.want(missing('a'), true);
    await vi.advanceTimersByTimeAsync(300_000);
    const gaps = woken.slice(1).map((at, index) => at - (woken[index] ?? 0));

    expect(woken.length).toBeGreaterThan(5);
    expect(gaps).toEqual([...gaps].sort((a, b) => a - b));
    expect(Math.max(...gaps)).toBeLessThanOrEqual(60_500);
  });

  it('gives an Argo CD that needs long to compare as long to apply', async () => {
    const { waker, woken } = startSlow(9_000, { is: 'synced', app });
    waker.want(missing('a'), true);
    await vi.advanceTimersByTimeAsync(17_900);
    expect(woken).toHaveLength(1);

    await vi.advanceTimersByTimeAsync(200);
    expect(woken).toHaveLength(2);
  });

  it('waits for companions before it tidies up, but not with a waiting CI job among them', async () => {
    const { waker, woken } = start();
    waker.want({ ...NO_DIFFERENCE, untidy: ['old'] }, true);
    await vi.advanceTimersByTimeAsync(4_000);
    expect(woken).toEqual([]);

    waker.want({ ...NO_DIFFERENCE, untidy: ['old'], missing: ['new'] }, true);
    await vi.advanceTimersByTimeAsync(100);
    expect(woken).toHaveLength(1);
  });

  it('gives a doubtful difference time to vanish', async () => {
    const { waker, woken } = start();
    waker.want(missing('a'), false);
    await vi.advanceTimersByTimeAsync(500);
    waker.want(NO_DIFFERENCE, true);
    await vi.advanceTimersByTimeAsync(60_000);

    expect(woken).toEqual([]);
  });

  it('does not wait for ever when runners end faster than Gitea is looked at', async () => {
    const { waker, woken } = start();
    for (let at = 0; at < 100; at += 1) {
      waker.want(missing('a'), false);
      await vi.advanceTimersByTimeAsync(100);
    }

    expect(woken[0]).toBeLessThanOrEqual(1_100);
  });

  it('waits no longer when the clock is set back', async () => {
    const { waker, woken } = start(() => {
      vi.setSystemTime(Date.now() - 3_600_000);
      throw new Failure('GR-HTTP-01', 1, 'refused.');
    });
    waker.want(missing('a'), true);
    await vi.advanceTimersByTimeAsync(600);
    for (let second = 0; second < 10; second += 1) {
      waker.want(missing('a'), true);
      await vi.advanceTimersByTimeAsync(1_000);
    }

    expect(woken.length).toBeGreaterThan(1);
    expect(waker.differSince.get('a')).toBeLessThanOrEqual(Date.now());
  });

  it('keeps waking an Argo CD in error although nothing differs any more, until it is well', async () => {
    const broken: WakeResult = {
      is: 'error',
      errors: [{ type: 'ComparisonError', message: 'no Gitea', stops: true }],
      app,
    };
    const { waker, woken } = start(broken, broken, broken, { is: 'in-sync', app });
    waker.want(missing('a'), true);
    await vi.advanceTimersByTimeAsync(600);
    waker.want(NO_DIFFERENCE, true);
    expect(waker.trouble).toBe('no Gitea');

    await vi.advanceTimersByTimeAsync(600_000);
    expect(woken).toHaveLength(4);
    expect(waker.trouble).toBeUndefined();
    expect(waker.done).toBe(true);
  });

  it('does not wake an Argo CD in error while there is no plan: its generator would fail, too', async () => {
    const broken: WakeResult = {
      is: 'error',
      errors: [{ type: 'ComparisonError', message: 'GR-HTTP-10', stops: true }],
      app,
    };
    const { waker, woken } = start(broken, { is: 'in-sync', app });
    waker.want(missing('a'), true);
    await vi.advanceTimersByTimeAsync(600);
    waker.rest();
    await vi.advanceTimersByTimeAsync(600_000);
    expect(woken).toHaveLength(1);
    expect(waker.done).toBe(true);

    waker.want(NO_DIFFERENCE, true);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(woken).toHaveLength(2);
  });

  it.each(['GR-HTTP-01', 'GR-ARGOCD-07', 'GR-ARGOCD-08'])(
    'notices within 5 s that Argo CD is back (%s)',
    async (code) => {
      const { waker, woken } = start(() => {
        throw new Failure(code, 1, 'refused.');
      });
      waker.want(missing('a'), true);
      await vi.advanceTimersByTimeAsync(600_000);

      const gaps = woken.slice(1).map((at, index) => at - (woken[index] ?? 0));
      // A wake that fails lasts 500 ms here.
      expect(Math.max(...gaps)).toBe(4_500);
      expect(gaps.length).toBeLessThan(140);
    },
  );

  it('owes a wake that failed, although nothing differs any more', async () => {
    const away = () => {
      throw new Failure('GR-HTTP-01', 1, 'refused.');
    };
    const { waker, woken } = start(away, { is: 'in-sync', app });
    waker.want(missing('a'), true);
    await vi.advanceTimersByTimeAsync(600);
    waker.want(NO_DIFFERENCE, true);
    await vi.advanceTimersByTimeAsync(600_000);

    expect(woken).toHaveLength(2);
  });

  it('lets a new difference wait for others again after there was no plan', async () => {
    const surplus = { ...NO_DIFFERENCE, surplus: ['a'] };
    const { waker, woken } = start();
    waker.want(surplus, true);
    await vi.advanceTimersByTimeAsync(1_900);
    waker.rest();
    await vi.advanceTimersByTimeAsync(60_000);
    waker.want(surplus, true);
    await vi.advanceTimersByTimeAsync(1_900);
    expect(woken).toEqual([]);

    await vi.advanceTimersByTimeAsync(200);
    expect(woken).toHaveLength(1);
  });

  it('is not woken when its turn comes and nothing is wanted any more', async () => {
    let myTurn: () => void = () => undefined;
    const turned = new Promise<void>((resolve) => {
      myTurn = resolve;
    });
    const wake = vi.fn(async (): Promise<WakeResult> => ({ is: 'synced', app }));
    const waker = new Waker({
      clock: systemClock,
      turn: async (work) => {
        await turned;
        await work();
      },
      wake,
      onWake: () => undefined,
      onShown: () => undefined,
    });
    waker.want(missing('a'), true);
    await vi.advanceTimersByTimeAsync(1_000);
    waker.want(NO_DIFFERENCE, true);
    myTurn();
    await vi.advanceTimersByTimeAsync(60_000);

    expect(wake).not.toHaveBeenCalled();
  });

  it('backs off from an Argo CD that refuses, also when new jobs keep coming', async () => {
    const { waker, woken } = start(() => {
      throw new Failure('GR-ARGOCD-04', 1, 'refused.');
    });
    for (let second = 0; second < 60; second += 1) {
      waker.want(missing(...Array.from({ length: second + 1 }, (_, job) => `job-${job}`)), true);
      await vi.advanceTimersByTimeAsync(1_000);
    }

    expect(woken.length).toBeLessThan(10);
    expect(woken.length).toBeGreaterThan(3);
    expect(waker.trouble).toBe('GR-ARGOCD-04 refused.');
  });

  it('wakes for an error that was there before', async () => {
    const { waker, woken } = start({ is: 'in-sync', app });
    waker.owe({ is: 'error', message: 'from before' });
    await vi.advanceTimersByTimeAsync(100);

    expect(woken).toHaveLength(1);
  });

  it('stops when it is closed', async () => {
    const { waker, woken } = start();
    waker.want(missing('a'), true);
    waker.close();
    waker.want(missing('b'), true);
    await vi.advanceTimersByTimeAsync(60_000);

    expect(woken).toEqual([]);
  });

  it('says since when each Job has not been that of the plan', async () => {
    const { waker } = start({ is: 'in-sync', app });
    const began = Date.now();
    waker.want(missing('a'), true);
    await vi.advanceTimersByTimeAsync(7_000);
    waker.want(missing('a', 'b'), true);
    expect([...waker.differSince]).toEqual([
      ['a', began],
      ['b', began + 7_000],
    ]);

    waker.want(missing('b'), true);
    await vi.advanceTimersByTimeAsync(1_000);
    waker.want(missing('a', 'b'), true);
    expect([...waker.differSince]).toEqual([
      ['a', began + 8_000],
      ['b', began + 7_000],
    ]);
    waker.rest();
    expect(waker.differSince.size).toBe(0);
  });

  it('says why the last sync has failed, as long as Argo CD says so', async () => {
    const operation = { phase: 'Failed', message: 'one or more objects failed to apply', startedAtMs: 0 } as const;
    const { waker } = start(
      { is: 'synced', app: { ...app, operation } },
      { is: 'synced', app: { ...app, operation: { ...operation, phase: 'Succeeded' } } },
    );
    waker.want(missing('a'), true);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(waker.last).toEqual({ is: 'synced', message: 'one or more objects failed to apply' });

    await vi.advanceTimersByTimeAsync(60_000);
    expect(waker.last).toEqual({ is: 'synced' });
  });
});
