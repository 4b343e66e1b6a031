/** `Retry-After` is remembered between requests, and shared by clients. */
import { expect, test } from 'vitest';
import { Deadline } from '../../../src/clients/http/request.ts';
import { RetryAfter } from '../../../src/clients/http/retry-after.ts';
import { answering, open, request } from './sending.ts';

test('a request that another one was told to wait for is not sent, and fails at once when the pause is too long', async () => {
  const server = await answering([429, { 'retry-after': '120' }]);
  const retryAfter = new RetryAfter();
  const [first, second] = [open({ retryAfter }), open({ retryAfter })];
  const asked = request(server.origin);

  await expect(first.send(asked, new Deadline(10_000))).rejects.toMatchObject({ code: 'GR-HTTP-10' });
  await expect(second.send(asked, new Deadline(10_000))).rejects.toMatchObject({
    code: 'GR-HTTP-10',
    message: expect.stringMatching(/the server is busy \(429\) and asks to wait 1[12][0-9] s/),
  });

  expect(server.count()).toBe(1);
});

test('a request that waits for its place is not sent either', async () => {
  const server = await answering([429, { 'retry-after': '120' }]);
  const client = open({ retryAfter: new RetryAfter(), connections: 1 });

  const sent = Array.from({ length: 10 }, () => client.send(request(server.origin), new Deadline(10_000)));
  const results = await Promise.allSettled(sent);

  expect(new Set(results.map(({ status }) => status))).toEqual(new Set(['rejected']));
  expect(server.count()).toBe(1);
});

test('a request waits for the end of a short pause', async () => {
  const server = await answering([200]);
  const retryAfter = new RetryAfter();
  retryAfter.note(server.origin, { status: 503, ms: 50 });

  expect((await open({ retryAfter }).send(request(server.origin), new Deadline(10_000))).status).toBe(200);
  expect(retryAfter.pauseOf(server.origin)).toBeUndefined();
});

test('Retry-After of one server does not delay another', async () => {
  const [busy, free] = [await answering([429, { 'retry-after': '120' }]), await answering([200])];
  const client = open({ retryAfter: new RetryAfter() });
  await client.send(request(busy.origin), new Deadline(1_000)).catch(() => undefined);

  expect((await client.send(request(free.origin), new Deadline(10_000))).status).toBe(200);
});

test('the longest wish holds, and none more than an hour', () => {
  const retryAfter = new RetryAfter();
  retryAfter.note('http://a', { status: 429, ms: 60_000 });
  retryAfter.note('http://a', { status: 429, ms: 1_000 });
  retryAfter.note('http://b', { status: 429, ms: 86_400_000 });

  expect(retryAfter.pauseOf('http://a')?.ms).toBeGreaterThan(50_000);
  expect(retryAfter.pauseOf('http://b')?.ms).toBeLessThanOrEqual(3_600_000);
});

test.each([500, 502, 503, 429])('a request that is to be sent once is not repeated after %i', async (status) => {
  const server = await answering([status, { 'retry-after': '0' }]);
  const asked = request(server.origin, { once: true });

  expect((await open({ retryAfter: new RetryAfter() }).send(asked, new Deadline(10_000))).status).toBe(status);
  expect(server.count()).toBe(1);
});
