import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { RateLimiter } from '../../../src/serve/looks/giteas.ts';
import { systemClock } from '../../../src/shared/clock.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const keysOf = (count: number): readonly string[] => Array.from({ length: count }, (_, index) => `t${index}`);

/** Targets of groups of one namespace. */
const inOne = (keys: readonly string[]) => new Map(keys.map((key) => [key, new Set(['runners'])]));

/** Targets that look as often as they may, each with so many requests. Answers how often each one has looked. */
function looking(costs: Readonly<Record<string, number>>, waited: number[] = []) {
  const turns = new RateLimiter({ requestMs: 50, clock: systemClock, onWaited: (_, ms) => waited.push(ms) });
  const looks = new Map(Object.keys(costs).map((key) => [key, 0]));
  turns.share(inOne(Object.keys(costs)));
  const look = async (key: string, cost: number): Promise<void> => {
    await turns.take(key);
    looks.set(key, (looks.get(key) ?? 0) + 1);
    turns.spend(key, cost - 1);
    // As `Poller`: two looks of a target never begin sooner.
    setTimeout(() => void look(key, cost), 100);
  };
  for (const [key, cost] of Object.entries(costs)) void look(key, cost);
  return { turns, looks };
}

async function minutesLater(looks: ReadonlyMap<string, number>, minutes: number): Promise<Record<string, number>> {
  const before = new Map(looks);
  await vi.advanceTimersByTimeAsync(minutes * 60_000);
  return Object.fromEntries([...looks].map(([key, count]) => [key, count - (before.get(key) ?? 0)]));
}

describe('turns', () => {
  test('let every target look at once at the beginning', async () => {
    const waited: number[] = [];
    const { looks } = looking(Object.fromEntries(keysOf(500).map((key) => [key, 1])), waited);
    await vi.advanceTimersByTimeAsync(0);

    expect(new Set(looks.values())).toEqual(new Set([1]));
    expect(new Set(waited)).toEqual(new Set([0]));
  });

  test('keep 500 targets below 20 requests a second, and give each the same', async () => {
    const { looks } = looking(Object.fromEntries(keysOf(500).map((key) => [key, 1])));
    await minutesLater(looks, 1);
    const counts = Object.values(await minutesLater(looks, 3));

    const sum = counts.reduce((total, count) => total + count, 0);
    expect(sum).toBeLessThanOrEqual(20 * 180 + 1);
    // A tenth is kept for what is asked besides looks.
    expect(sum).toBeGreaterThan(20 * 180 * 0.9);
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(2);
  });

  test('leave what others do not use to a busy target', async () => {
    const turns = new RateLimiter({ requestMs: 50, clock: systemClock, onWaited: () => undefined });
    turns.share(inOne(keysOf(20)));
    let looks = 0;
    const look = async (): Promise<void> => {
      await turns.take('t0');
      looks += 1;
      turns.spend('t0', 3);
      setTimeout(() => void look(), 100);
    };
    void look();
    await vi.advanceTimersByTimeAsync(60_000);

    // 4 requests each: 5 s of savings and 60 s of all 20 requests a second, not a twentieth of it.
    expect(looks).toBeGreaterThan(290);
    expect(looks * 4).toBeLessThanOrEqual(100 + 60 * 20 + 4);
  });

  test('a look of 1,000 requests delays its own target, and no other one beyond its share', async () => {
    const waited: number[] = [];
    const { looks } = looking({ huge: 1000, small: 3 }, waited);
    await minutesLater(looks, 1);
    const { huge = 0, small = 0 } = await minutesLater(looks, 10);

    // Nearly half of the rate each: 9 requests a second are 3 looks a second.
    expect(small).toBeGreaterThan(600 * 3 * 0.9);
    expect(huge).toBeGreaterThanOrEqual(5);
    expect(huge * 1000 + small * 3).toBeLessThanOrEqual(20 * 600 + 1000);
  });

  test('give a namespace with one target as much as one with 500', async () => {
    const turns = new RateLimiter({ requestMs: 50, clock: systemClock, onWaited: () => undefined });
    const many = keysOf(500).map((key) => [key, new Set(['theirs'])] as const);
    turns.share(new Map([...many, ['own', new Set(['ours'])]]));
    const looks = { theirs: 0, ours: 0 };
    const look = async (key: string, of: keyof typeof looks): Promise<void> => {
      await turns.take(key);
      looks[of] += 1;
      turns.spend(key, 2);
      setTimeout(() => void look(key, of), 1000);
    };
    for (const [key] of many) void look(key, 'theirs');
    void look('own', 'ours');
    await vi.advanceTimersByTimeAsync(600_000);

    // 3 requests once a second and a bit are less than half of the rate.
    expect(looks.ours).toBeGreaterThan(590);
    expect((looks.ours + looks.theirs) * 3).toBeLessThanOrEqual(20 * 600 + 501 * 3 + 100);
    expect(looks.theirs).toBeGreaterThan(500);
  });

  test('forget the debt of a target that is gone, and share anew', async () => {
    const turns = new RateLimiter({ requestMs: 50, clock: systemClock, onWaited: () => undefined });
    turns.share(inOne(['a', 'b']));
    await turns.take('a');
    turns.spend('a', 5000);
    turns.share(inOne(['b']));
    turns.share(inOne(['a', 'b']));

    await turns.take('a');
  });

  test('earn nothing while the clock is set back, and go on after it', async () => {
    let shift = 0;
    const turns = new RateLimiter({
      requestMs: 50,
      clock: { ...systemClock, now: () => Date.now() + shift },
      onWaited: () => undefined,
    });
    turns.share(inOne(['a']));
    await turns.take('a');
    turns.spend('a', 200);
    shift = -3_600_000;
    let passed = false;
    void turns.take('a').then(() => {
      passed = true;
    });
    await vi.advanceTimersByTimeAsync(4000);
    expect(passed).toBe(false);
    await vi.advanceTimersByTimeAsync(7000);
    expect(passed).toBe(true);
  });

  test('let nobody pass once closed', async () => {
    const turns = new RateLimiter({ requestMs: 50, clock: systemClock, onWaited: () => undefined });
    turns.share(inOne(['a']));
    await turns.take('a');
    turns.spend('a', 500);
    let passed = false;
    const ended = turns.take('a').then(
      () => {
        passed = true;
      },
      () => 'rejected',
    );
    turns.close();
    await vi.advanceTimersByTimeAsync(600_000);

    expect([passed, await ended, vi.getTimerCount()]).toEqual([false, 'rejected', 0]);
  });
});
