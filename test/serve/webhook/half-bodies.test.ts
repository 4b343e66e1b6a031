import { expect, it } from 'vitest';
import { HalfBodies } from '../../../src/serve/webhook/half-bodies.ts';

const KIB = 1024;

function begin(bodies: HalfBodies) {
  const body = { gaveWay: false };
  const half = bodies.begin(() => {
    body.gaveWay = true;
  });
  return { half, body };
}

it('a body is what came, however it was cut', () => {
  const sent = Buffer.from(Array.from({ length: 30_000 }, (_, at) => at % 256));
  for (const size of [1, 7, 8192, 30_000]) {
    const { half } = begin(new HalfBodies(64 * KIB, 64 * KIB));
    for (let at = 0; at < sent.length; at += size) expect(half.add(sent.subarray(at, at + size))).toBe(true);
    expect(half.bytes().equals(sent)).toBe(true);
  }
});

it('a body may have the longest length, and no byte more', () => {
  const { half } = begin(new HalfBodies(100, 1000));

  expect(half.add(Buffer.alloc(100))).toBe(true);
  expect(half.add(Buffer.alloc(1))).toBe(false);
});

it('the oldest bodies give way when all together need too much', () => {
  const bodies = new HalfBodies(64 * KIB, 128 * KIB);
  const [first, second, third] = [begin(bodies), begin(bodies), begin(bodies)];
  for (const { half } of [first, second]) half.add(Buffer.alloc(64 * KIB));
  expect([first.body.gaveWay, second.body.gaveWay]).toEqual([false, false]);

  third.half.add(Buffer.alloc(10));

  expect([first.body.gaveWay, second.body.gaveWay, third.body.gaveWay]).toEqual([true, false, false]);
});

it('a body that has ended, or is too long, holds no memory', () => {
  const bodies = new HalfBodies(64 * KIB, 128 * KIB);
  const stays = begin(bodies);
  stays.half.add(Buffer.alloc(10));
  for (let nth = 0; nth < 10; nth += 1) {
    const ended = begin(bodies).half;
    ended.add(Buffer.alloc(64 * KIB));
    ended.end();
    ended.end();
    const long = begin(bodies).half;
    long.add(Buffer.alloc(64 * KIB));
    long.add(Buffer.alloc(1));
  }

  expect(stays.body.gaveWay).toBe(false);
});
