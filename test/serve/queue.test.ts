import { describe, expect, it } from 'vitest';
import { Failure } from '../../src/failure.ts';
import { type Again, type Turn, type WorkClass, WorkQueue } from '../../src/serve/queue.ts';
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

const refused = new Failure('GR-HTTP-01', 1, 'refused.');

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

  it('ends at once with its queue, whatever its runs do', async () => {
    const { clock, line, queue, began } = open({ run: async () => await new Promise(() => undefined) });
    line.add('a');
    line.add('b', 500);
    await clock.pass(50);
    await queue.close();
    line.add('c');
    await clock.pass(5_000);

    expect(began).toEqual([]);
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
