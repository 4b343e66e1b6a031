import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { budgetTurns, requestBudget } from '../../../src/serve/looks/request-budget.ts';
import { WorkQueue } from '../../../src/serve/queue/work-queue.ts';
import { type Clock, systemClock } from '../../../src/shared/clock.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const keysOf = (count: number): readonly string[] => Array.from({ length: count }, (_, index) => `t${index}`);

/** Targets of groups of one namespace. */
const inOne = (keys: readonly string[]) => new Map(keys.map((key) => [key, new Set(['runners'])]));

interface Looking {
  /** The namespace of each target. Default: all are of one. */
  readonly namespaceOf?: (key: string) => string;
  /**
   * Time between the end of a look and the next one, ms. Default: as in `Poller`, two looks at a target never begin
   * sooner.
   */
  readonly everyMs?: number;
  /** Targets that look. Default: all. */
  readonly only?: readonly string[];
}

/** The budget of one Gitea with 20 requests a second, and the queue of those who wait for it. */
function opened(onWaited: (key: string, ms: number) => void = () => undefined, clock: Clock = systemClock) {
  const work = new WorkQueue(clock);
  const budget = requestBudget(50, clock);
  const turns = budgetTurns(work, clock);
  return {
    rows: () => work.rows(),
    close: () => turns.close(),
    spend: (key: string, requests: number) => budget.spend(key, requests),
    share: (namespacesOf: ReadonlyMap<string, ReadonlySet<string>>) => {
      budget.share(namespacesOf);
      turns.freed();
    },
    take: async (key: string, signal?: AbortSignal) => {
      const visit = { budget, queue: key, lane: 'https://gitea.example.com', name: `look at ${key}` };
      onWaited(key, await turns.take(visit, signal));
    },
  };
}

/** Targets that look as often as they may, each with so many requests. Answers how often each one has looked. */
function looking(costs: Readonly<Record<string, number>>, over: Looking = {}) {
  const { everyMs = 100, namespaceOf = () => 'runners', only = Object.keys(costs) } = over;
  const waited: number[] = [];
  const turns = opened((_, ms) => waited.push(ms));
  const looks = new Map(only.map((key) => [key, 0]));
  turns.share(new Map(Object.keys(costs).map((key) => [key, new Set([namespaceOf(key)])])));
  const look = async (key: string, cost: number): Promise<void> => {
    await turns.take(key);
    looks.set(key, (looks.get(key) ?? 0) + 1);
    turns.spend(key, cost - 1);
    setTimeout(() => void look(key, cost), everyMs);
  };
  for (const key of only) void look(key, costs[key] ?? 0);
  return { looks, waited };
}

/** Makes so many targets with one request each. */
const many = (count: number, cost = 1) => Object.fromEntries(keysOf(count).map((key) => [key, cost]));

async function minutesLater(looks: ReadonlyMap<string, number>, minutes: number): Promise<Record<string, number>> {
  const before = new Map(looks);
  await vi.advanceTimersByTimeAsync(minutes * 60_000);
  return Object.fromEntries([...looks].map(([key, count]) => [key, count - (before.get(key) ?? 0)]));
}

test('turns let every target look at once at the beginning', async () => {
  const { looks, waited } = looking(many(500));
  await vi.advanceTimersByTimeAsync(0);

  expect(new Set(looks.values())).toEqual(new Set([1]));
  expect(new Set(waited)).toEqual(new Set([0]));
});

test('turns keep 500 targets below 20 requests a second, and give each the same', async () => {
  const { looks } = looking(many(500));
  await minutesLater(looks, 1);
  const counts = Object.values(await minutesLater(looks, 3));

  const sum = counts.reduce((total, count) => total + count, 0);
  expect(sum).toBeLessThanOrEqual(20 * 180 + 1);
  // A tenth is kept for requests that do not belong to looks.
  expect(sum).toBeGreaterThan(20 * 180 * 0.9);
  expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(2);
});

test('turns leave what others do not use to a busy target', async () => {
  const { looks } = looking(many(20, 4), { only: ['t0'] });
  const { t0 = 0 } = await minutesLater(looks, 1);

  // The budget of 5 s, and 60 s of all 20 requests a second, not a twentieth of them.
  expect(t0).toBeGreaterThan(290);
  expect(t0 * 4).toBeLessThanOrEqual(100 + 60 * 20 + 4);
});

test('a look of 1,000 requests delays its own target, and no other one beyond its share', async () => {
  const { looks } = looking({ huge: 1000, small: 3 });
  await minutesLater(looks, 1);
  const { huge = 0, small = 0 } = await minutesLater(looks, 10);

  // Nearly half of the rate each: 9 requests a second are 3 looks a second.
  expect(small).toBeGreaterThan(600 * 3 * 0.9);
  expect(huge).toBeGreaterThanOrEqual(5);
  expect(huge * 1000 + small * 3).toBeLessThanOrEqual(20 * 600 + 1000);
});

test('turns give a namespace with one target as much as one with 500', async () => {
  const namespaceOf = (key: string): string => (key === 'own' ? 'ours' : 'theirs');
  const { looks } = looking({ ...many(500, 3), own: 3 }, { namespaceOf, everyMs: 1_000 });
  const { own = 0, ...others } = await minutesLater(looks, 3);
  const theirs = Object.values(others).reduce((sum, count) => sum + count, 0);

  // 3 requests once a second and a bit are less than half of the rate.
  expect(own).toBeGreaterThan(176);
  expect((own + theirs) * 3).toBeLessThanOrEqual(20 * 180 + 501 * 3 + 100);
  expect(theirs).toBeGreaterThan(500);
});

test('turns forget the debt of a target that is gone, and share anew', async () => {
  const turns = opened();
  turns.share(inOne(['a', 'b']));
  await turns.take('a');
  turns.spend('a', 5000);
  turns.share(inOne(['b']));
  turns.share(inOne(['a', 'b']));

  await turns.take('a');
});

test('turns come at once for those whose debt a change of the targets has taken away', async () => {
  const turns = opened();
  turns.share(inOne(['a', 'b']));
  await turns.take('a');
  turns.spend('a', 5_000);
  let passed = false;
  const taken = turns.take('a').then(() => {
    passed = true;
  });
  await vi.advanceTimersByTimeAsync(0);
  expect(passed).toBe(false);

  // No time passes.
  turns.share(inOne(['b']));
  await vi.advanceTimersByTimeAsync(0);
  await taken;
});

test('turns cost nothing where a look has ended before its turn', async () => {
  const waited: string[] = [];
  const turns = opened((key) => waited.push(key));
  turns.share(inOne(['a']));
  await turns.take('a');
  turns.spend('a', 1_000);
  const ending = new AbortController();
  const taken = expect(turns.take('a', ending.signal)).rejects.toThrow('no more');
  ending.abort(new Error('no more'));
  await taken;
  await vi.advanceTimersByTimeAsync(3_600_000);

  expect(waited).toEqual(['a']);
  expect(vi.getTimerCount()).toBe(0);
});

test('turns earn nothing while the clock is set back, and go on after it', async () => {
  let shift = 0;
  const clock = { ...systemClock, now: () => Date.now() + shift };
  const turns = opened(undefined, clock);
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

test('turns stand in the queue while they wait, each with its time', async () => {
  const turns = opened();
  turns.share(inOne(['a', 'b']));
  await turns.take('a');
  turns.spend('a', 200);
  void turns.take('a');
  await vi.advanceTimersByTimeAsync(1_000);

  // 201 requests of 50 ms, of which 5 s were saved.
  expect(turns.rows()).toEqual([{ of: 'budget', key: 'look at a', is: 'waiting', ms: 4_100, failures: 0 }]);
  await vi.advanceTimersByTimeAsync(4_100);
  expect(turns.rows()).toEqual([]);
});

test('turns let nobody pass once closed', async () => {
  const turns = opened();
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
