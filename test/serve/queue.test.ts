/**
 * The work queue, in virtual time.
 */
import { describe, expect, it } from 'vitest';
import { type Again, type Turn, type WorkClass, WorkQueue } from '../../src/serve/queue.ts';
import type { Clock } from '../../src/shared/clock.ts';
import { Failure } from '../../src/shared/failure.ts';
import { strayErrors } from '../support/stray-errors.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

/** A class whose runs take 100 ms, and what has run when. */
function open(over: Partial<WorkClass> = {}) {
  const clock = new VirtualClock();
  const queue = new WorkQueue(clock);
  const began: string[] = [];
  const most = { atOnce: 0 };
  let running = 0;
  const line = queue.open('work', {
    width: 10,
    deadlineMs: 1_000,
    run: async (key) => {
      began.push(`${clock.steadyMs()} ${key}`);
      running += 1;
      most.atOnce = Math.max(most.atOnce, running);
      await new Promise<void>((resolve) => clock.after(100, resolve));
      running -= 1;
      return undefined;
    },
    ...over,
  });
  return { began, clock, line, most, queue };
}

const refused = new Failure('GR-HTTP-01', 1, 'refused.', 'unreachable');
const hang = async (): Promise<undefined> => await new Promise(() => undefined);

describe('a key', () => {
  it('runs when it is due, once for many calls, at the earliest time of all', async () => {
    const { began, clock, line } = open();
    line.add('a', 500);
    for (let at = 0; at < 10; at += 1) line.add('a', 300 + at);
    line.add('a', 900);
    await clock.pass(5_000);

    expect(began).toEqual(['300 a']);
  });

  it('runs once at a time; what is added meanwhile is one more run', async () => {
    const { began, clock, line, most } = open();
    line.add('a');
    await clock.pass(50);
    for (let at = 0; at < 10; at += 1) line.add('a');
    await clock.pass(5_000);

    expect(began).toEqual(['0 a', '100 a']);
    expect(most.atOnce).toBe(1);
  });

  it('does not begin when a run that has just begun forgets it or puts it off', async () => {
    const began: string[] = [];
    const { clock, line } = open({
      run: async (key) => {
        began.push(`${clock.steadyMs()} ${key}`);
        if (key === 'a') line.set('b', 1_000);
        if (key === 'a') line.keepOnly(new Set(['a', 'b']));
        return undefined;
      },
    });
    for (const key of ['a', 'b', 'c']) line.add(key, 10);
    await clock.pass(5_000);

    expect(began).toEqual(['10 a', '1010 b']);
  });

  it('does not run again for what a run has taken in', async () => {
    const began: number[] = [];
    const { clock, line } = open({
      run: async (_, { absorb }) => {
        began.push(clock.steadyMs());
        await new Promise<void>((resolve) => clock.after(100, resolve));
        absorb();
        return undefined;
      },
    });
    line.add('a');
    await clock.pass(50);
    line.add('a');
    await clock.pass(5_000);

    expect(began).toEqual([0]);
  });

  it('comes again when its run says so', async () => {
    const { clock, line, ...seen } = open({ run: async () => ({ inMs: 1_000 }) });
    line.add('a');
    await clock.pass(1);

    expect(seen.queue.rows()).toEqual([{ of: 'work', key: 'a', is: 'waiting', ms: 999, failures: 0 }]);
  });

  it('is due at exactly the time that is set, later or not at all', async () => {
    const { began, clock, line } = open();
    line.add('a', 100);
    line.set('a', 700);
    line.add('b', 100);
    line.set('b', undefined);
    expect(line.has('b')).toBe(false);
    await clock.pass(5_000);

    expect(began).toEqual(['700 a']);
  });

  it('does not begin twice within the gap', async () => {
    const { began, clock, line } = open({ gapMs: 1_000 });
    line.add('a');
    await clock.pass(200);
    line.add('a');
    await clock.pass(5_000);

    expect(began).toEqual(['0 a', '1000 a']);
  });

  it('that is forgotten is aborted, and comes anew', async () => {
    const ended: string[] = [];
    const { clock, line } = open({
      run: async (key, { signal }: Turn): Promise<Again> => {
        signal.addEventListener('abort', () => ended.push(key));
        await new Promise<void>((resolve) => clock.after(100, resolve));
        return { inMs: 0 };
      },
    });
    line.add('a');
    line.add('b');
    await clock.pass(50);
    line.keepOnly(new Set(['b']));
    await clock.pass(10);

    expect(ended).toEqual(['a']);
    expect([line.has('a'), line.has('b')]).toEqual([false, true]);
  });

  it('comes at the earliest of all times that were named while it ran', async () => {
    const { began, clock, line } = open();
    line.add('a');
    await clock.pass(50);
    line.add('a', 500);
    line.add('a', 300);
    await clock.pass(5_000);

    expect(began).toEqual(['0 a', '350 a']);
  });

  it('comes when its run says so or when it was added, whichever is sooner', async () => {
    const began: number[] = [];
    const { clock, line } = open({
      run: async () => {
        began.push(clock.steadyMs());
        await new Promise<void>((resolve) => clock.after(100, resolve));
        return { inMs: 1_000 };
      },
    });
    line.add('a');
    await clock.pass(50);
    line.add('a', 3_000);
    await clock.pass(1_500);
    line.add('a');
    await clock.pass(500);

    expect(began).toEqual([0, 1_100, 1_550]);
  });

  it('that is set while it runs comes then, or not at all', async () => {
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

  it('keeps what is due when a run takes something in that has ended long before', async () => {
    const began: number[] = [];
    const { clock, line } = open({
      run: async (_, { absorb }) => {
        began.push(clock.steadyMs());
        clock.after(150, absorb);
        return { inMs: 200 };
      },
    });
    line.add('a');
    await clock.pass(250);

    expect(began).toEqual([0, 200]);
  });

  it('that is forgotten gives its place up at once', async () => {
    const { clock, line } = open({ width: 1, run: hang });
    line.add('a');
    line.add('b');
    await clock.pass(50);
    line.keepOnly(new Set(['b']));
    await clock.pass(0);

    expect(line.isRunning('b')).toBe(true);
  });

  it('that exists anew is none of the business of its old run', async () => {
    const began: number[] = [];
    const { clock, line } = open({
      run: async () => {
        began.push(clock.steadyMs());
        return await hang();
      },
    });
    line.add('a');
    await clock.pass(50);
    line.keepOnly(new Set());
    line.add('a', 500);
    await clock.pass(100);
    expect([line.has('a'), line.isRunning('a')]).toEqual([true, false]);

    await clock.pass(500);
    expect(began).toEqual([0, 550]);
    expect(line.isRunning('a')).toBe(true);
  });

  it('begins in time when others are due before it and after it', async () => {
    const { began, clock, line } = open();
    line.add('b', 500);
    line.add('a', 100);
    line.add('c', 900);
    await clock.pass(5_000);

    expect(began).toEqual(['100 a', '500 b', '900 c']);
  });

  it('is told how long it has waited for a place, a gap not counted', async () => {
    const waited: string[] = [];
    const { clock, line } = open({
      width: 1,
      gapMs: 1_000,
      run: async (key, { waitedMs }) => {
        waited.push(`${key} ${waitedMs}`);
        await new Promise<void>((resolve) => clock.after(100, resolve));
        return undefined;
      },
    });
    line.add('a');
    line.add('b', 30);
    await clock.pass(150);
    line.add('a');
    await clock.pass(5_000);

    expect(waited).toEqual(['a 0', 'b 70', 'a 0']);
  });
});

describe('what is printed', () => {
  it('is what runs longest, then what is due first, by the names that may be told', async () => {
    const { clock, line, queue } = open({ width: 2, nameOf: (key) => key.toUpperCase(), run: hang });
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

  it('is of all classes, each of which is there once', async () => {
    const { clock, line, queue } = open({ run: hang });
    const other = queue.open('other', { width: 1, deadlineMs: 1_000, run: hang });
    line.add('c');
    await clock.pass(900);
    line.add('a', 100);
    other.add('b', 50);

    expect(queue.rows().map(({ of, key }) => `${of} ${key}`)).toEqual(['work c', 'other b', 'work a']);
    expect(() => queue.open('other', { width: 1, deadlineMs: 1_000, run: hang })).toThrow('other');
  });
});

describe('a failure', () => {
  it('comes again after a pause, later and later; nobody makes it sooner, but its end does', async () => {
    const began: number[] = [];
    const { clock, line, queue } = open({
      run: async () => {
        began.push(clock.steadyMs() / 1_000);
        throw refused;
      },
    });
    line.add('a');
    for (let at = 0; at < 100; at += 1) {
      line.add('a');
      await clock.pass(80);
    }
    expect(began).toEqual([0, 1, 3, 7]);
    expect(queue.rows()).toEqual([
      { of: 'work', key: 'a', is: 'waiting', ms: 7_000, failures: 4, failed: { code: 'GR-HTTP-01', agoMs: 1_000 } },
    ]);

    line.lift('a');
    await clock.pass(1);
    expect(began.at(-1)).toBe(8);
  });

  it('is told, and tried as often as its class says', async () => {
    const told: string[] = [];
    const { clock, line } = open({
      mostTries: 2,
      onFailure: (key, { code }) => told.push(`${key} ${code}`),
      run: async () => {
        throw refused;
      },
    });
    line.add('a');
    await clock.pass(600_000);

    expect(told).toEqual(['a GR-HTTP-01', 'a GR-HTTP-01']);
    expect(line.has('a')).toBe(false);
  });

  it('is what a run is that takes too long: its signal is aborted, and it comes again', async () => {
    const ended: number[] = [];
    const told: string[] = [];
    const { clock, line } = open({
      onFailure: (_, { code }) => told.push(code),
      run: async (_, { signal }) => {
        signal.addEventListener('abort', () => ended.push(clock.steadyMs()));
        return await new Promise(() => undefined);
      },
    });
    line.add('a');
    await clock.pass(2_500);

    expect(ended).toEqual([1_000]);
    expect(told).toEqual(['GR-SERVE-04']);
    expect(line.isRunning('a')).toBe(true);
  });

  it('names a run that takes too long as it may be told, and pauses longer each time', async () => {
    const told: string[] = [];
    const { clock, line } = open({
      nameOf: (key) => key.toUpperCase(),
      onFailure: (key, { message }) => told.push(`${clock.steadyMs()} ${key}: ${message}`),
      run: hang,
    });
    line.add('a');
    await clock.pass(5_000);

    expect(told).toEqual([
      '1000 a: work A: not done within 1 s. It is tried again.',
      '3000 a: work A: not done within 1 s. It is tried again.',
    ]);
  });

  it('is what a run is that takes too long, also when it is broken off at once in its own way', async () => {
    const told: string[] = [];
    const { clock, line } = open({
      onFailure: (_, { code }) => told.push(code),
      run: (_, { signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(new Error('aborted')));
        }),
    });
    line.add('a');
    await clock.pass(1_500);

    expect(told).toEqual(['GR-SERVE-04']);
    expect(line.has('a')).toBe(true);
  });

  it('pauses a minute at most, and begins with a second again after a success', async () => {
    const began: number[] = [];
    const { clock, line } = open({
      run: async () => {
        began.push(clock.steadyMs() / 1_000);
        if (began.length === 9) return { inMs: 0 };
        throw refused;
      },
    });
    line.add('a');
    await clock.pass(185_000);

    expect(began.map((at, n) => at - (began[n - 1] ?? 0))).toEqual([0, 1, 2, 4, 8, 16, 32, 60, 60, 0, 1]);
  });

  it('ends its pause when a time is set, and no other wait is ended by `lift`', async () => {
    const began: string[] = [];
    const { clock, line } = open({
      run: async (key) => {
        began.push(`${clock.steadyMs()} ${key}`);
        if (key === 'failed') throw refused;
        await new Promise<void>((resolve) => clock.after(100, resolve));
        return undefined;
      },
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

  it('that is a mistake of ours reaches the process, unless its run was broken off', async () => {
    const seen = strayErrors();
    const { clock, line } = open({
      run: async (key) => {
        await new Promise<void>((resolve) => clock.after(100, resolve));
        throw new Error(key);
      },
    });
    line.add('mistake');
    line.add('gone');
    await clock.pass(50);
    line.keepOnly(new Set(['mistake']));
    await clock.pass(1_000);

    expect(seen).toEqual([new Error('mistake')]);
    expect(line.has('mistake')).toBe(false);
  });

  it('is not told of a run that was broken off, and a run that has ended is not broken off', async () => {
    const told: string[] = [];
    const signals: AbortSignal[] = [];
    const { clock, line } = open({
      onFailure: (key) => told.push(key),
      run: (key, { signal }) => {
        signals.push(signal);
        return new Promise((resolve, reject) => {
          if (key === 'done') resolve(undefined);
          signal.addEventListener('abort', () => reject(refused));
        });
      },
    });
    line.add('done');
    line.add('gone');
    await clock.pass(50);
    line.keepOnly(new Set());
    await clock.pass(5_000);

    expect(signals.map(({ aborted }) => aborted)).toEqual([false, true]);
    expect(told).toEqual([]);
  });
});

describe('a class', () => {
  const keys = Array.from({ length: 6 }, (_, at) => `many/${at}`);

  it('runs as many at a time as it is wide, and then the one that was due first', async () => {
    const { began, clock, line, most } = open({ width: 2 });
    for (const [at, key] of keys.entries()) line.add(key, keys.length - at);
    await clock.pass(5_000);

    expect(most.atOnce).toBe(2);
    expect(began.map((each) => each.split(' ')[1])).toEqual([...keys].reverse());
  });

  it('gives lanes their turns: a lane of many does not hold up a lane of one', async () => {
    const { began, clock, line } = open({ width: 1, laneOf: (key) => key.split('/')[0] ?? '' });
    for (const key of keys) line.add(key);
    await clock.pass(150);
    line.add('one/0');
    await clock.pass(5_000);

    expect(began.indexOf('200 one/0')).toBe(2);
  });

  it('runs no more of a lane than it may, and not before the gap', async () => {
    const { began, clock, line } = open({ laneOf: () => 'one', perLane: 1, gapMs: 1_000 });
    for (const key of keys.slice(0, 3)) line.add(key);
    await clock.pass(5_000);

    expect(began.map((each) => each.split(' ')[0])).toEqual(['0', '1000', '2000']);
  });

  it('lets a run that takes long go on without a place', async () => {
    const began: string[] = [];
    const { clock, line } = open({
      width: 1,
      deadlineMs: 60_000,
      slow: { afterMs: () => 500, most: 1 },
      run: async (key) => {
        began.push(`${clock.steadyMs()} ${key}`);
        return await new Promise(() => undefined);
      },
    });
    for (const key of ['a', 'b', 'c']) line.add(key);
    await clock.pass(10_000);

    expect(began).toEqual(['0 a', '500 b']);
  });

  it('gives a place that a run gives away to the next one at once', async () => {
    const began: string[] = [];
    const { clock, line } = open({
      width: 1,
      deadlineMs: 60_000,
      slow: { afterMs: () => 50_000, most: 1 },
      run: async (key, { giveWay }) => {
        began.push(`${clock.steadyMs()} ${key}`);
        clock.after(300, giveWay);
        return await hang();
      },
    });
    for (const key of ['a', 'b', 'c']) line.add(key);
    await clock.pass(10_000);

    expect(began).toEqual(['0 a', '300 b']);
  });

  /** Runs hang, but for `teaches`, which lasts `lastsMs`. Before its end a run is slow after `beforeMs`, then after `afterMs`. */
  function openWithTeacher(width: number, lastsMs: number, beforeMs: number, afterMs: number) {
    const began: string[] = [];
    let slowMs = beforeMs;
    const run = async (key: string): Promise<undefined> => {
      began.push(`${clock.steadyMs()} ${key}`);
      if (key !== 'teaches') return await hang();
      await new Promise<void>((resolve) => clock.after(lastsMs, resolve));
      slowMs = afterMs;
      return undefined;
    };
    const { clock, line } = open({ width, deadlineMs: 60_000, slow: { afterMs: () => slowMs, most: 1 }, run });
    return { began, clock, line };
  }

  it('a run that has given its place away does not take it back', async () => {
    const { began, clock, line } = openWithTeacher(1, 1_000, 500, 50_000);
    for (const key of ['a', 'teaches', 'b', 'c']) line.add(key);
    await clock.pass(30_000);

    expect(began).toEqual(['0 a', '500 teaches', '1500 b']);
  });

  it('learns from a run that ends that another one takes long', async () => {
    const { began, clock, line } = openWithTeacher(2, 10_000, 60_000, 15_000);
    for (const key of ['a', 'teaches', 'b', 'c', 'd']) line.add(key);
    await clock.pass(30_000);

    expect(began).toEqual(['0 a', '0 teaches', '10000 b', '15000 c']);
  });

  it('has as many runs without a place as it may, and each that ends lets another one go on', async () => {
    const began: string[] = [];
    const lasts: Readonly<Record<string, number>> = { a: 2_000, b: 60_000, c: 60_000, quick: 100 };
    const { clock, line } = open({
      width: 1,
      deadlineMs: 60_000,
      slow: { afterMs: () => 500, most: 1 },
      run: async (key) => {
        began.push(`${clock.steadyMs()} ${key}`);
        await new Promise<void>((resolve) => clock.after(lasts[key] ?? 0, resolve));
        return undefined;
      },
    });
    for (const key of ['quick', 'a', 'b', 'c', 'd']) line.add(key);
    await clock.pass(10_000);

    // Since 600 a has no place. Since 2,100 b has none, and c keeps its own.
    expect(began).toEqual(['0 quick', '100 a', '600 b', '2100 c']);
  });

  it('runs as many of a lane as it may, one after the other without a gap', async () => {
    const { began, clock, line } = open({ laneOf: (key) => key.split('/')[0] ?? '', perLane: 2 });
    for (const key of [...keys.slice(0, 5), 'one/0']) line.add(key);
    await clock.pass(5_000);

    expect(began).toEqual(['0 many/0', '0 one/0', '0 many/1', '100 many/2', '100 many/3', '200 many/4']);
  });

  it('gives each lane its turn, over and over', async () => {
    const { began, clock, line } = open({ width: 1, laneOf: (key) => key.charAt(0) });
    for (const key of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1', 'c2', 'c3']) line.add(key);
    await clock.pass(5_000);

    expect(began.map((each) => each.split(' ')[1])).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'c2', 'a3', 'c3']);
  });

  it('begins at once what has a place, many of a lane in one moment', async () => {
    const began: string[] = [];
    const { clock, line } = open({
      width: 1,
      laneOf: () => 'one',
      run: async (key) => {
        began.push(`${clock.steadyMs()} ${key}`);
        return undefined;
      },
    });
    for (const key of ['a', 'b', 'c']) line.add(key);
    await clock.pass(0);

    expect(began).toEqual(['0 a', '0 b', '0 c']);
  });

  describe('with many lanes', () => {
    const run = async (): Promise<undefined> => undefined;

    it('remembers the turns of the newest 1,000', async () => {
      const began: string[] = [];
      const { clock, line } = open({
        width: 1,
        run: async (key) => {
          began.push(key);
          return undefined;
        },
      });
      const turns = async (...lanes: readonly string[]): Promise<void> => {
        for (const lane of lanes) line.add(lane);
        await clock.pass(1);
      };
      await turns('forgotten', 'next', 'again', 'known');
      for (let lane = 0; lane < 996; lane += 1) await turns(`${lane}`);
      await turns('again', 'one more');
      began.length = 0;
      // Those without a turn come first, in the order in which they were due. Each that begins pushes an older one out.
      await turns('known', 'again', 'forgotten', 'new');

      expect(began).toEqual(['forgotten', 'new', 'known', 'again']);
    });

    it('forgets no gap', async () => {
      const { clock, line } = open({ width: 2_000, gapMs: 60_000, run });
      for (let lane = 0; lane < 1_500; lane += 1) line.add(`${lane}`);
      await clock.pass(1_000);
      line.add('0');

      expect(line.rows().map(({ ms }) => ms)).toEqual([59_000]);
    });
  });

  it('ends at once with its queue, whatever its runs do', async () => {
    const began: string[] = [];
    const signals: AbortSignal[] = [];
    const work: WorkClass = {
      width: 10,
      deadlineMs: 1_000,
      run: async (key, { signal }) => {
        began.push(key);
        signals.push(signal);
        return await hang();
      },
    };
    const { clock, line, queue } = open(work);
    line.add('a');
    line.add('b', 500);
    await clock.pass(50);
    line.add('a');
    queue.close();
    const late = queue.open('late', work);
    for (const each of [line, late]) {
      each.add('c');
      each.set('d', 0);
    }
    await clock.pass(5_000);

    expect(began).toEqual(['a']);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    expect(queue.rows()).toEqual([]);
  });

  it('leaves no timer behind when it is closed: the process could not end', async () => {
    const clock = new VirtualClock();
    const left = new Set<symbol>();
    const counting: Clock = {
      now: clock.now,
      steadyMs: clock.steadyMs,
      nextTurn: clock.nextTurn,
      after: (ms, call) => {
        const timer = Symbol();
        left.add(timer);
        const takeBack = clock.after(ms, () => {
          left.delete(timer);
          call();
        });
        return () => {
          left.delete(timer);
          takeBack();
        };
      },
    };
    const queue = new WorkQueue(counting);
    const slow = { afterMs: () => 500, most: 1 };
    const line = queue.open('work', { width: 1, deadlineMs: 1_000, slow, run: hang });
    line.add('a');
    line.add('b', 50);
    await clock.pass(10);
    line.add('c', 40);
    const idle = queue.open('idle', { width: 1, deadlineMs: 1_000, run: hang });
    idle.add('a', 60_000);
    idle.set('a', undefined);
    queue.close();
    await clock.pass(0);

    expect(left.size).toBe(0);
  });

  it('does not care when the clock is set', async () => {
    const { began, clock, line } = open();
    line.add('a', 1_000);
    clock.aheadMs -= 3_600_000;
    await clock.pass(1_000);
    line.add('b', 1_000);
    clock.aheadMs += 7_200_000;
    await clock.pass(1_000);

    expect(began).toEqual(['1000 a', '2000 b']);
  });
});
