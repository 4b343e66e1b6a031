/** A poller with real requests whose looks are given on a real port. Both end with the test. */
import { onTestFinished } from 'vitest';
import { keysOf, LOOK_PATH } from '../../../src/clients/gitea/kept-look.ts';
import type { GiteaTarget } from '../../../src/clients/gitea/observe-gitea.ts';
import { startHttpServer } from '../../../src/serve/http/http-server.ts';
import { openLookServer } from '../../../src/serve/looks/look-server.ts';
import type { PollerOptions } from '../../../src/serve/looks/poller.ts';
import { type Clock, systemClock } from '../../../src/shared/clock.ts';
import { until } from '../rig.ts';
import { openPoller } from './open-poller.ts';

export const NONCE = '0123456789abcdef'.repeat(2);

/** Opens the looks, and waits until each target was looked at once. */
export async function openLooks(
  targets: readonly GiteaTarget[],
  { clock = systemClock, ...over }: Partial<PollerOptions> & { readonly clock?: Clock } = {},
) {
  const told: string[] = [];
  const looks = openLookServer({ clock, tell: (event) => event.is === 'look-asked' && told.push(event.result) });
  let looked = 0;
  const onLook = (): void => {
    looked += 1;
  };
  const { poller } = openPoller({ onLook, pollMs: 600_000, clock, looks, ...over });
  poller.watch(new Map(targets.map((target) => [target, new Set(['runners'])])));
  const server = await startHttpServer({
    what: 'looks',
    address: { host: '127.0.0.1', port: 0 },
    onRequest: looks.onRequest,
  });
  onTestFinished(() => server.close());
  onTestFinished(() => looks.watch([], () => undefined));
  await until('a look at each', () => looked >= targets.length);
  const url = `http://127.0.0.1:${server.port}`;
  const ask = (target: GiteaTarget, nonce = NONCE) =>
    fetch(url + LOOK_PATH, { headers: { 'x-look': keysOf(target).id, 'x-nonce': nonce } });
  return { poller, looks, told, url, ask, looked: () => looked };
}
