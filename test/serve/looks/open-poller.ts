import { onTestFinished } from 'vitest';
import { ServerClocks } from '../../../src/clients/http/server-clocks.ts';
import { type PollerOptions, startPoller } from '../../../src/serve/looks/poller.ts';
import { WorkQueue } from '../../../src/serve/queue/work-queue.ts';
import { systemClock } from '../../../src/shared/clock.ts';

/** Opens a poller with its own queue. It ends with the test. */
export function openPoller(over: Pick<PollerOptions, 'onLook'> & Partial<PollerOptions>) {
  const queue = new WorkQueue(systemClock);
  const poller = startPoller({
    queue,
    timeoutMs: 20_000,
    env: {},
    clocks: new ServerClocks(),
    pollMs: 5_000,
    giteaRequests: 1200,
    clock: systemClock,
    random: () => 0.5,
    tell: () => undefined,
    ...over,
  });
  onTestFinished(async () => {
    await Promise.all([queue.close(), poller.giteas.close()]);
  });
  return { poller, queue };
}
