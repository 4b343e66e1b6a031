/** Streams of live updates, with a looker that counts who watches. */
import { get, type IncomingMessage } from 'node:http';
import { expect, it } from 'vitest';
import { pageRequests } from '../../src/page/server.ts';
import { sessionsOf } from '../../src/page/session.ts';
import { systemClock } from '../../src/shared/clock.ts';
import { until } from '../serve/rig.ts';
import { serve } from '../support/server.ts';
import { COOKIE_KEY } from './start-page.ts';

/** @param looks so many looks end in the moment in which somebody begins to watch */
async function startStreams({ looks = 0 } = {}) {
  const watchers = new Set<() => void>();
  const sessions = sessionsOf(() => [COOKIE_KEY], systemClock, false);
  const { origin } = await serve((request, response) => {
    const requests = pageRequests({
      trends: () => undefined,
      url: origin,
      clock: systemClock,
      cpuMs: () => 0,
      rights: { loginOf: () => 'anna', whoIs: async () => ({ login: 'anna' }) } as never,
      sessions,
      logUrl: '',
      onMistake: (error) => {
        throw error;
      },
      oauth: undefined as never,
      looker: {
        watch: (onLook: () => void) => {
          watchers.add(onLook);
          for (let look = 0; look < looks; look += 1) onLook();
          return () => watchers.delete(onLook);
        },
      } as never,
    });
    requests(request, response);
  });
  const [cookie = ''] = ((await sessions.session.begin({ token: 'of-anna', login: 'anna' }, 60)) ?? '').split(';');
  const open = () =>
    new Promise<IncomingMessage>((resolve, reject) => {
      get(`${origin}/events`, { headers: { cookie } }, resolve).once('error', reject);
    });
  return { open, watchers };
}

it('a stream of live updates that ends leaves nobody who looks', async () => {
  const { open, watchers } = await startStreams();
  const stream = await open();
  await until('it looks', () => watchers.size === 1);

  stream.destroy();

  await until('it looks no more', () => watchers.size === 0);
});

it('a stream of live updates ends when its reader does not take what is sent, and no more is kept for him', async () => {
  const { open, watchers } = await startStreams({ looks: 10_000 });

  const stream = await open();
  let got = 0;
  for await (const chunk of stream) {
    got += (chunk as Buffer).length;
    if (got > 100_000) break;
  }

  // Bytes of half a megabyte.
  expect(got).toBeGreaterThan(8_000);
  expect(got).toBeLessThan(32_000);
  expect(watchers.size).toBe(0);
});
