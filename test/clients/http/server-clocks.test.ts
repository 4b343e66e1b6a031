import { expect, it } from 'vitest';
import { HttpClient } from '../../../src/clients/http/http-client.ts';
import { Deadline } from '../../../src/clients/http/request.ts';
import { boundsOf, type ClockReading, common, ServerClocks } from '../../../src/clients/http/server-clocks.ts';
import { serve } from '../../support/server.ts';

const NOON = Date.parse('2026-11-22T12:00:00Z');
const at = (ms: number): string => new Date(ms).toUTCString();

/** An answer of a server whose clock is `skewMs` ahead, asked at noon plus `afterMs`, in 40 ms. */
function reading(skewMs: number, afterMs = 0): ClockReading {
  const sentMs = NOON + afterMs;
  return { sentMs, receivedMs: sentMs + 40, date: at(sentMs + 20 + skewMs) };
}

it.each([0, 1, 499, 500, 999, 1000, 30_000, -1, -30_500, 86_400_000])(
  'bounds of a clock hold a clock that is %i ms ahead',
  (skewMs) => {
    for (let afterMs = 0; afterMs < 1000; afterMs += 37) {
      const bounds = boundsOf(reading(skewMs, afterMs));

      expect(bounds?.leastMs).toBeLessThanOrEqual(skewMs);
      expect(bounds?.mostMs).toBeGreaterThanOrEqual(skewMs);
      expect((bounds?.mostMs ?? 0) - (bounds?.leastMs ?? 0)).toBe(1039);
    }
  },
);

it('bounds of a clock hold it too when the answer is read late', () => {
  expect(boundsOf({ sentMs: NOON, receivedMs: NOON + 9_000, date: at(NOON + 30) })).toEqual({
    leastMs: -9_000,
    mostMs: 999,
  });
});

it.each(['', '0', 'now', '2026-11-22T12:00:00Z', 'Sun, 99 Nov 2026 12:00:00 GMT', 'Sun, 22 Nov 2026 12:00:00 +0200'])(
  'bounds of a clock are unknown for the date %j',
  (date) => {
    expect(boundsOf({ sentMs: NOON, receivedMs: NOON, date })).toBeUndefined();
  },
);

it('bounds of a clock that contradict each other have nothing in common', () => {
  expect(common({ leastMs: 0, mostMs: 5 }, { leastMs: 6, mostMs: 9 })).toBeUndefined();
  expect(common({ leastMs: 0, mostMs: 6 }, { leastMs: 6, mostMs: 9 })).toEqual({ leastMs: 6, mostMs: 6 });
});

it('the clocks of servers are known better with each answer', () => {
  const clocks = new ServerClocks();
  for (const afterMs of [0, 250, 500, 750]) clocks.note('https://a', reading(30_000, afterMs));

  const { leastMs, mostMs } = clocks.boundsFor('https://a') ?? { leastMs: 0, mostMs: 0 };
  expect(leastMs).toBeLessThanOrEqual(30_000);
  expect(mostMs).toBeGreaterThanOrEqual(30_000);
  expect(mostMs - leastMs).toBeLessThan(400);
  expect(clocks.boundsFor('https://b')).toBeUndefined();
});

it('clocks behind one address may differ: all that either shows is possible then', () => {
  const clocks = new ServerClocks();
  clocks.note('https://a', reading(0));
  clocks.note('https://a', reading(30_000));

  expect(clocks.boundsFor('https://a')).toEqual({ leastMs: -40, mostMs: 30_999 });
});

it('the clocks of servers are learnt anew after a minute, and after this machine’s clock was set back', () => {
  for (const afterMs of [60_000, -60_000]) {
    const clocks = new ServerClocks();
    clocks.note('https://a', reading(30_000));
    clocks.note('https://a', reading(0, afterMs));

    expect(clocks.boundsFor('https://a')).toEqual(boundsOf(reading(0, afterMs)));
  }
});

it('the clocks of servers are told by answers of success only, and by none from a cache', async () => {
  const told: Readonly<Record<string, readonly [number, Record<string, string>]>> = {
    '/good': [200, {}],
    '/error': [404, {}],
    '/cached': [200, { age: '60' }],
    '/garbage': [200, { date: 'yesterday' }],
  };
  const server = await serve(({ url = '' }, response) => {
    const [status, headers] = told[url] ?? [500, {}];
    response.writeHead(status, { date: at(Date.now() + 3_600_000), ...headers }).end('{}');
  });
  const known: Record<string, boolean> = {};
  for (const path of Object.keys(told)) {
    const clocks = new ServerClocks();
    const http = new HttpClient({ env: {}, clocks });
    await http.send({ what: 'test', method: 'GET', url: new URL(path, server.origin) }, new Deadline(5_000));
    await http.close();
    const bounds = clocks.boundsFor(server.origin);
    known[path] = bounds !== undefined && bounds.leastMs <= 3_600_000 && bounds.mostMs >= 3_600_000 - 1000;
  }

  expect(known).toEqual({ '/good': true, '/error': false, '/cached': false, '/garbage': false });
});
