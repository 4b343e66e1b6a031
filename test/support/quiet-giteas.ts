import { ServerClocks } from '../../src/clients/http/server-clocks.ts';
import { type Giteas, openGiteas } from '../../src/serve/looks/giteas.ts';
import { WorkQueue } from '../../src/serve/queue/work-queue.ts';
import { systemClock } from '../../src/shared/clock.ts';

/** Giteas that tell nobody what they do. The test closes them. @param timeoutMs of one look. */
export function quietGiteas(timeoutMs = 20_000): Giteas {
  return openGiteas({
    timeoutMs,
    pollMs: 5_000,
    env: {},
    clocks: new ServerClocks(),
    giteaRequests: 1200,
    queue: new WorkQueue(systemClock),
    clock: systemClock,
    tell: () => undefined,
  });
}
