import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { bodyReader } from '../../../src/serve/webhook/listener.ts';

const KIB = 1024;

/** Begins a request whose body is on its way. Returns its result: the body, `too long`, or why it was lost. */
function begin(read: ReturnType<typeof bodyReader>) {
  const request = Object.assign(new PassThrough({ highWaterMark: 1024 * KIB }), { headers: {} });
  const result: { of: unknown } = { of: undefined };
  read(request).then(
    (body) => {
      result.of = body ?? 'too long';
    },
    (error: Error) => {
      result.of = error.message;
    },
  );
  const add = async (bytes: Buffer): Promise<void> => {
    request.write(bytes);
    await new Promise(setImmediate);
  };
  const end = async (): Promise<void> => {
    request.end();
    await new Promise(setImmediate);
  };
  return { add, end, request, result };
}

it('a body is what came, however it was cut', async () => {
  const sent = Buffer.from(Array.from({ length: 30_000 }, (_, at) => at % 256));
  for (const size of [7, 8192, 30_000]) {
    const { end, request, result } = begin(bodyReader(64 * KIB, 64 * KIB));
    for (let at = 0; at < sent.length; at += size) request.write(sent.subarray(at, at + size));
    await end();
    expect(sent.equals(result.of as Buffer)).toBe(true);
  }
});

it('a body may have the longest length, and no byte more', async () => {
  const { add, result } = begin(bodyReader(100, 1000));

  await add(Buffer.alloc(100));
  expect(result.of).toBeUndefined();
  await add(Buffer.alloc(1));
  expect(result.of).toBe('too long');
});

it('the oldest bodies give way when all together need too much', async () => {
  const bodies = bodyReader(64 * KIB, 128 * KIB);
  const all = [begin(bodies), begin(bodies), begin(bodies)] as const;
  for (const { add } of all.slice(0, 2)) await add(Buffer.alloc(64 * KIB));
  expect(all.map(({ result }) => result.of)).toEqual([undefined, undefined, undefined]);

  await all[2].add(Buffer.alloc(10));

  expect(all.map(({ result }) => result.of)).toEqual(['too many bodies are being read', undefined, undefined]);
});

it('a body that has ended, or is too long, holds no memory', async () => {
  const bodies = bodyReader(64 * KIB, 128 * KIB);
  const stays = begin(bodies);
  await stays.add(Buffer.alloc(10));
  for (let nth = 0; nth < 10; nth += 1) {
    const ended = begin(bodies);
    await ended.add(Buffer.alloc(64 * KIB));
    await ended.end();
    const long = begin(bodies);
    await long.add(Buffer.alloc(64 * KIB));
    await long.add(Buffer.alloc(1));
  }

  expect(stays.result.of).toBeUndefined();
});
