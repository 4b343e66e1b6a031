import { ServerClocks } from '../../src/clients/http/clock.ts';
import { Guest } from '../../src/serve/looks/guest.ts';
import { systemClock } from '../../src/shared/clock.ts';

/** A guest of Giteas that tells nobody what it does. The test closes it. @param timeoutMs of one look. */
export function quietGuest(timeoutMs = 20_000): Guest {
  return new Guest({
    timeoutMs,
    env: {},
    clocks: new ServerClocks(),
    giteaRequests: 1200,
    clock: systemClock,
    tell: () => undefined,
  });
}
