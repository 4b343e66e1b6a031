/**
 * The work queue, in virtual time.
 */
import { describe, expect, it } from 'vitest';
import { type Retry, type Turn, type WorkClass, WorkQueue } from '../../../src/serve/queue/work-queue.ts';
import { type Clock, pause } from '../../../src/shared/clock.ts';
import { Failure } from '../../../src/shared/failure.ts';
import { countingClock } from '../../support/counting-clock.ts';
import { strayErrors } from '../../support/stray-errors.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

/** Behaviour of a run after it was noted. */
type Play = (key: string, turn: Turn, clock: Clock) => Promise<Retry | undefined>;

const lasts =
  (ms: number): Play =>
  async (_key, _turn, clock) => {
    await pause(clock, ms);
    return undefined;
  };
const hang: Play = async () => await new Promise(() => undefined);
const refused = new Failure('GR-HTTP-01', 1, 'refused.', 'unreachable');
const fail: Play = async () => {
  throw refused;
};

/** Opens a class, and records what begins when. */
function open(over: Partial<WorkClass> = {}, play = lasts(100)) {
  const clock = new VirtualClock();
  const queue = new WorkQueue(clock);
  const began: string[] = [];
  const most = { atOnce: 0 };
  let running = 0;
  const line = queue.open('work', {
    width: 10,
    deadlineMs: 1_000,
    run: (key, turn) => {
      began.push(`${clock.steadyMs()} ${key}`);
      running += 1;
      most.atOnce = Math.max(most.atOnce, running);
      const end = (): void => {
        running -= 1;
      };
      const played = play(key, turn, clock);
      // The queue hears of its end as soon as it ends.
      void played.then(end, end);
      return played;
    },
    ...over,
  });
  return { began, clock, line, most, queue };
}

it('a key runs when it is due, once for many calls, at the earliest time of all', async () => {
  const { began, clock, line } = open();
  line.add('a', 500);
  for (let at = 0; at < 10; at += 1) line.add('a', 300 + at);
  line.add('a', 900);
  await clock.pass(5_000);

  expect(began).toEqual(['300 a']);
});

it('a key runs once at a time; what is added meanwhile is one more run, at the earliest of all times', async () => {
  const { began, clock, line, most } = open();
  line.add('a');
  await clock.pass(50);
  line.add('a', 500);
  for (let at = 0; at < 10; at += 1) line.add('a', 300);
  await clock.pass(5_000);

  expect(began).toEqual(['0 a', '350 a']);
  expect(most.atOnce).toBe(1);
});

it('a key does not begin when a run that has just begun forgets it or puts it off', async () => {
  const { began, clock, line } = open({}, async (key) => {
    if (key === 'a') line.set('b', 1_000);
    if (key === 'a') line.keepOnly(new Set(['a', 'b']));
    return undefined;
  });
  for (const key of ['a', 'b', 'c']) line.add(key, 10);
  await clock.pass(5_000);

  expect(began).toEqual(['10 a', '1010 b']);
});

it('a key does not run again for what a run has taken in', async () => {
  const { began, clock, line } = open({}, async (_, { absorb }) => {
    await pause(clock, 100);
    absorb();
    return undefined;
  });
  line.add('a');
  await clock.pass(50);
  line.add('a');
  await clock.pass(5_000);

  expect(began).toEqual(['0 a']);
});

it('a key comes again when its run says so', async () => {
  const { clock, line, queue } = open({}, async () => ({ inMs: 1_000 }));
  line.add('a');
  await clock.pass(1);

  expect(queue.rows()).toEqual([{ of: 'work', key: 'a', is: 'waiting', ms: 999, failures: 0 }]);
});

it('a key is due at exactly the time that is set, later or not at all', async () => {
  const { began, clock, line } = open();
  line.add('a', 100);
  line.set('a', 700);
  line.add('b', 100);
  line.set('b', undefined);
  expect(line.has('b')).toBe(false);
  await clock.pass(5_000);

  expect(began).toEqual(['700 a']);
});

it('a key does not begin twice within the gap', async () => {
  const { began, clock, line } = open({ gapMs: 1_000 });
  line.add('a');
  await clock.pass(200);
  line.add('a');
  await clock.pass(5_000);

  expect(began).toEqual(['0 a', '1000 a']);
});

it('a key that is forgotten is aborted, and comes anew', async () => {
  const ended: string[] = [];
  const { clock, line } = open({}, async (key, { signal }) => {
    signal.addEventListener('abort', () => ended.push(key));
    await pause(clock, 100);
    return { inMs: 0 };
  });
  line.add('a');
  line.add('b');
  await clock.pass(50);
  line.keepOnly(new Set(['b']));
  await clock.pass(10);

  expect(ended).toEqual(['a']);
  expect([line.has('a'), line.has('b')]).toEqual([false, true]);
});

it('a key comes when its run says so or when it was added, whichever is sooner', async () => {
  const { began, clock, line } = open({}, async () => {
    await pause(clock, 100);
    return { inMs: 1_000 };
  });
  line.add('a');
  await clock.pass(50);
  line.add('a', 3_000);
  await clock.pass(1_500);
  line.add('a');
  await clock.pass(500);

  expect(began).toEqual(['0 a', '1100 a', '1550 a']);
});

it('a key that is set while it runs comes then, or not at all', async () => {
  const { began, clock, line } = open();
  line.add('a');
  line.add('b');
  await clock.pass(50);
  for (const key of ['a', 'b']) line.add(key);
  line.set('a', undefined);
  line.set('b', 700);
  line.set('c', undefined);
  expect([line.isRunning('a'), line.has('c')]).toEqual([true, false]);
  await clock.pass(5_000);

  expect(began).toEqual(['0 a', '0 b', '750 b']);
});

it('a key keeps what is due when a run takes something in that has ended long before', async () => {
  const { began, clock, line } = open({}, async (_, { absorb }) => {
    clock.after(150, absorb);
    return { inMs: 200 };
  });
  line.add('a');
  await clock.pass(250);

  expect(began).toEqual(['0 a', '200 a']);
});

it('a key that is forgotten gives its place up at once', async () => {
  const { clock, line } = open({ width: 1 }, hang);
  line.add('a');
  line.add('b');
  await clock.pass(50);
  line.keepOnly(new Set(['b']));
  await clock.pass(0);

  expect(line.isRunning('b')).toBe(true);
});

it('a key that exists anew is none of the business of its old run', async () => {
  const { began, clock, line } = open({}, hang);
  line.add('a');
  await clock.pass(50);
  line.keepOnly(new Set());
  line.add('a', 500);
  await clock.pass(100);
  expect([line.has('a'), line.isRunning('a')]).toEqual([true, false]);

  await clock.pass(500);
  expect(began).toEqual(['0 a', '550 a']);
  expect(line.isRunning('a')).toBe(true);
});

it('a key begins in time when others are due before it and after it', async () => {
  const { began, clock, line } = open();
  line.add('b', 500);
  line.add('a', 100);
  line.add('c', 900);
  await clock.pass(5_000);

  expect(began).toEqual(['100 a', '500 b', '900 c']);
});

it('a key is told how long it has waited for a place, a gap not counted', async () => {
  const waited: string[] = [];
  const { clock, line } = open({ width: 1, gapMs: 1_000 }, async (key, { waitedMs }) => {
    waited.push(`${key} ${waitedMs}`);
    await pause(clock, 100);
    return undefined;
  });
  line.add('a');
  line.add('b', 30);
  await clock.pass(150);
  line.add('a');
  await clock.pass(5_000);

  expect(waited).toEqual(['a 0', 'b 70', 'a 0']);
});

it('the printed queue is what runs longest, then what is due first, by the names that may be told', async () => {
  const { clock, line, queue } = open({ width: 2, nameOf: (key) => key.toUpperCase() }, hang);
  for (const [at, key] of ['a', 'b', 'c', 'd'].entries()) line.add(key, 100 * (3 - at));
  await clock.pass(250);
  line.add('e', 400);
  line.add('f', 200);

  expect(queue.rows().map(({ key, is, ms }) => `${key} ${is} ${ms}`)).toEqual([
    'D running 250',
    'C running 150',
    'B waiting -50',
    'A waiting 50',
    'F waiting 200',
    'E waiting 400',
  ]);
});

it('the printed queue is of all classes, each of which is there once', async () => {
  const { clock, line, queue } = open({}, hang);
  const work: WorkClass = { width: 1, deadlineMs: 1_000, run: () => new Promise(() => undefined) };
  const other = queue.open('other', work);
  line.add('c');
  await clock.pass(900);
  line.add('a', 100);
  other.add('b', 50);

  expect(queue.rows().map(({ of, key }) => `${of} ${key}`)).toEqual(['work c', 'other b', 'work a']);
  expect(() => queue.open('other', work)).toThrow('other');
});

it('a failure comes again after a pause, later and later; nobody makes it sooner, but its end does', async () => {
  const { began, clock, line, queue } = open({}, fail);
  line.add('a');
  for (let at = 0; at < 100; at += 1) {
    line.add('a');
    await clock.pass(80);
  }
  expect(began).toEqual(['0 a', '1000 a', '3000 a', '7000 a']);
  expect(queue.rows()).toEqual([
    { of: 'work', key: 'a', is: 'waiting', ms: 7_000, failures: 4, failed: { code: 'GR-HTTP-01', agoMs: 1_000 } },
  ]);

  line.lift('a');
  await clock.pass(1);
  expect(began.at(-1)).toBe('8000 a');
});

it('a failure is told, and tried as often as its class says', async () => {
  const told: string[] = [];
  const { clock, line } = open({ mostTries: 2, onFailure: (key, { code }) => told.push(`${key} ${code}`) }, fail);
  line.add('a');
  await clock.pass(600_000);

  expect(told).toEqual(['a GR-HTTP-01', 'a GR-HTTP-01']);
  expect(line.has('a')).toBe(false);
});

it('a failure is what a run is that takes too long: its signal is aborted, and it comes again, later and later', async () => {
  const ended: number[] = [];
  const told: string[] = [];
  const { clock, line } = open(
    {
      nameOf: (key) => key.toUpperCase(),
      onFailure: (key, { code, message }) => told.push(`${clock.steadyMs()} ${key}: ${code} ${message}`),
    },
    async (_, { signal }) => {
      signal.addEventListener('abort', () => ended.push(clock.steadyMs()));
      return await new Promise(() => undefined);
    },
  );
  line.add('a');
  await clock.pass(5_000);

  expect(ended).toEqual([1_000, 3_000]);
  expect(told).toEqual([
    '1000 a: GR-SERVE-04 work A: not done within 1 s. It is tried again. If it repeats, check the load of Gitea and of the API server.',
    '3000 a: GR-SERVE-04 work A: not done within 1 s. It is tried again. If it repeats, check the load of Gitea and of the API server.',
  ]);
  expect(line.isRunning('a')).toBe(true);
});

it('a failure is what a run is that takes too long, also when it is broken off at once in its own way', async () => {
  const told: string[] = [];
  const { clock, line } = open({ onFailure: (_, { code }) => told.push(code) }, (_, { signal }) => {
    return new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(new Error('aborted')));
    });
  });
  line.add('a');
  await clock.pass(1_500);

  expect(told).toEqual(['GR-SERVE-04']);
  expect(line.has('a')).toBe(true);
});

it('a failure pauses a minute at most, and begins with a second again after a success', async () => {
  const { began, clock, line } = open({}, async () => {
    if (began.length === 9) return { inMs: 0 };
    throw refused;
  });
  line.add('a');
  await clock.pass(185_000);

  const seconds = began.map((each) => Number.parseInt(each, 10) / 1_000);
  expect(seconds.map((at, n) => at - (seconds[n - 1] ?? 0))).toEqual([0, 1, 2, 4, 8, 16, 32, 60, 60, 0, 1]);
});

it('a failure ends its pause when a time is set, and no other wait is ended by `lift`', async () => {
  const { began, clock, line } = open({}, async (key) => {
    if (key === 'failed') throw refused;
    await pause(clock, 100);
    return undefined;
  });
  for (const key of ['failed', 'again']) line.add(key);
  line.add('added', 500);
  line.set('set', 300);
  line.set('set', 600);
  for (const key of ['added', 'set', 'stranger']) line.lift(key);
  await clock.pass(50);
  line.add('again', 650);
  for (const key of ['failed', 'again']) line.lift(key);
  line.set('failed', 400);
  await clock.pass(800);

  expect(began).toEqual(['0 failed', '0 again', '450 failed', '500 added', '600 set', '700 again']);
  expect(line.has('stranger')).toBe(false);
});

it('a failure that is a mistake of ours reaches the process, unless its run was broken off', async () => {
  const seen = strayErrors();
  const { clock, line } = open({}, async (key) => {
    await pause(clock, 100);
    throw new Error(key);
  });
  line.add('mistake');
  line.add('gone');
  await clock.pass(50);
  line.keepOnly(new Set(['mistake']));
  await clock.pass(1_000);

  expect(seen).toEqual([new Error('mistake')]);
  expect(line.has('mistake')).toBe(false);
});

it('a failure is not told of a run that was broken off, and a run that has ended is not broken off', async () => {
  const told: string[] = [];
  const signals: AbortSignal[] = [];
  const { clock, line } = open({ onFailure: (key) => told.push(key) }, (key, { signal }) => {
    signals.push(signal);
    return new Promise((resolve, reject) => {
      if (key === 'done') resolve(undefined);
      signal.addEventListener('abort', () => reject(refused));
    });
  });
  line.add('done');
  line.add('gone');
  await clock.pass(50);
  line.keepOnly(new Set());
  await clock.pass(5_000);

  expect(signals.map(({ aborted }) => aborted)).toEqual([false, true]);
  expect(told).toEqual([]);
});

const keys = Array.from({ length: 6 }, (_, at) => `many/${at}`);

it('a class runs as many at a time as it is wide, and then the one that was due first', async () => {
  const { began, clock, line, most } = open({ width: 2 });
  for (const [at, key] of keys.entries()) line.add(key, keys.length - at);
  await clock.pass(5_000);

  expect(most.atOnce).toBe(2);
  expect(began.map((each) => each.split(' ')[1])).toEqual([...keys].reverse());
});

it('a class gives lanes their turns: a lane of many does not hold up a lane of one', async () => {
  const { began, clock, line } = open({ width: 1, laneOf: (key) => key.split('/')[0] ?? '' });
  for (const key of keys) line.add(key);
  await clock.pass(150);
  line.add('one/0');
  await clock.pass(5_000);

  expect(began.indexOf('200 one/0')).toBe(2);
});

it('a class runs no more of a lane than it may, and not before the gap', async () => {
  const { began, clock, line } = open({ laneOf: () => 'one', perLane: 1, gapMs: 1_000 });
  for (const key of keys.slice(0, 3)) line.add(key);
  await clock.pass(5_000);

  expect(began.map((each) => each.split(' ')[0])).toEqual(['0', '1000', '2000']);
});

it('a class gives a place that a run gives away to the next one at once', async () => {
  const slow = { afterMs: () => 50_000, most: 1 };
  const { began, clock, line } = open({ width: 1, deadlineMs: 60_000, slow }, async (_, { giveWay }) => {
    clock.after(300, giveWay);
    return await new Promise(() => undefined);
  });
  for (const key of ['a', 'b', 'c']) line.add(key);
  await clock.pass(10_000);

  expect(began).toEqual(['0 a', '300 b']);
});

/** Runs hang, but for `teaches`, which lasts `lastsMs`. Before its end a run is slow after `beforeMs`, then after `afterMs`. */
function openWithTeacher(width: number, lastsMs: number, beforeMs: number, afterMs: number) {
  let slowMs = beforeMs;
  const slow = { afterMs: () => slowMs, most: 1 };
  return open({ width, deadlineMs: 60_000, slow }, async (key, _, clock) => {
    if (key !== 'teaches') return await new Promise(() => undefined);
    await pause(clock, lastsMs);
    slowMs = afterMs;
    return undefined;
  });
}

it('a run that has given its place away does not take it back', async () => {
  const { began, clock, line } = openWithTeacher(1, 1_000, 500, 50_000);
  for (const key of ['a', 'teaches', 'b', 'c']) line.add(key);
  await clock.pass(30_000);

  expect(began).toEqual(['0 a', '500 teaches', '1500 b']);
});

it('a class learns from a run that ends that another one takes long', async () => {
  const { began, clock, line } = openWithTeacher(2, 10_000, 60_000, 15_000);
  for (const key of ['a', 'teaches', 'b', 'c', 'd']) line.add(key);
  await clock.pass(30_000);

  expect(began).toEqual(['0 a', '0 teaches', '10000 b', '15000 c']);
});

it('a class has as many runs without a place as it may, and each that ends lets another one go on', async () => {
  const lastMs: Readonly<Record<string, number>> = { a: 2_000, b: 60_000, c: 60_000, quick: 100 };
  const slow = { afterMs: () => 500, most: 1 };
  const { began, clock, line } = open({ width: 1, deadlineMs: 60_000, slow }, async (key) => {
    await pause(clock, lastMs[key] ?? 0);
    return undefined;
  });
  for (const key of ['quick', 'a', 'b', 'c', 'd']) line.add(key);
  await clock.pass(10_000);

  // From 600 on, a has no place. From 2,100 on, b has none, and c keeps its own.
  expect(began).toEqual(['0 quick', '100 a', '600 b', '2100 c']);
});

it('a class runs as many of a lane as it may, one after the other without a gap', async () => {
  const { began, clock, line } = open({ laneOf: (key) => key.split('/')[0] ?? '', perLane: 2 });
  for (const key of [...keys.slice(0, 5), 'one/0']) line.add(key);
  await clock.pass(5_000);

  expect(began).toEqual(['0 many/0', '0 one/0', '0 many/1', '100 many/2', '100 many/3', '200 many/4']);
});

it('a class gives each lane its turn, over and over', async () => {
  const { began, clock, line } = open({ width: 1, laneOf: (key) => key.charAt(0) });
  for (const key of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1', 'c2', 'c3']) line.add(key);
  await clock.pass(5_000);

  expect(began.map((each) => each.split(' ')[1])).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'c2', 'a3', 'c3']);
});

it('a class begins at once what has a place, many of a lane in one moment', async () => {
  const { began, clock, line } = open({ width: 1, laneOf: () => 'one' }, async () => undefined);
  for (const key of ['a', 'b', 'c']) line.add(key);
  await clock.pass(0);

  expect(began).toEqual(['0 a', '0 b', '0 c']);
});

describe('with many lanes', () => {
  const atOnce: Play = async () => undefined;

  it('remembers the turns of the newest 1,000', async () => {
    const { began, clock, line } = open({ width: 1 }, atOnce);
    const turns = async (...lanes: readonly string[]): Promise<void> => {
      for (const lane of lanes) line.add(lane);
      await clock.pass(1);
    };
    await turns('forgotten', 'next', 'again', 'known');
    for (let lane = 0; lane < 996; lane += 1) await turns(`${lane}`);
    await turns('again', 'one more');
    began.length = 0;
    // Those without a turn come first, in the order in which they were due. Each begin removes an older turn.
    await turns('known', 'again', 'forgotten', 'new');

    expect(began.map((each) => each.split(' ')[1])).toEqual(['forgotten', 'new', 'known', 'again']);
  });

  it('forgets no gap', async () => {
    const { clock, line } = open({ width: 2_000, gapMs: 60_000 }, atOnce);
    for (let lane = 0; lane < 1_500; lane += 1) line.add(`${lane}`);
    await clock.pass(1_000);
    line.add('0');

    expect(line.rows().map(({ ms }) => ms)).toEqual([59_000]);
  });
});

it('a class ends at once with its queue, whatever its runs do', async () => {
  const signals: AbortSignal[] = [];
  const { began, clock, line, queue } = open({}, async (_, { signal }) => {
    signals.push(signal);
    return await new Promise(() => undefined);
  });
  line.add('a');
  line.add('b', 500);
  await clock.pass(50);
  line.add('a');
  queue.close();
  const late = queue.open('late', { width: 1, deadlineMs: 1_000, run: async () => void began.push('late') });
  for (const each of [line, late]) {
    each.add('c');
    each.set('d', 0);
  }
  await clock.pass(5_000);

  expect(began).toEqual(['0 a']);
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  expect(queue.rows()).toEqual([]);
});

it('a class leaves no timer behind when it is closed: the process could not end', async () => {
  const virtual = new VirtualClock();
  const { clock, due } = countingClock(virtual);
  const queue = new WorkQueue(clock);
  const work: WorkClass = { width: 1, deadlineMs: 1_000, run: () => new Promise(() => undefined) };
  const line = queue.open('work', { ...work, slow: { afterMs: () => 500, most: 1 } });
  line.add('a');
  line.add('b', 50);
  await virtual.pass(10);
  line.add('c', 40);
  const idle = queue.open('idle', work);
  idle.add('a', 60_000);
  idle.set('a', undefined);
  queue.close();
  await virtual.pass(0);

  expect(due.size).toBe(0);
});

it('a class does not care when the clock is set', async () => {
  const { began, clock, line } = open();
  line.add('a', 1_000);
  clock.aheadMs -= 3_600_000;
  await clock.pass(1_000);
  line.add('b', 1_000);
  clock.aheadMs += 7_200_000;
  await clock.pass(1_000);

  expect(began).toEqual(['1000 a', '2000 b']);
});
