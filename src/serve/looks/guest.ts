/**
 * How the leading process behaves towards each Gitea, whatever it asks there:
 *
 *   request budget ........ shared by all looks and what is asked besides (rate-limiter.ts)
 *   Retry-After ........... remembered: until then no request is sent, whoever wants it (http/courtesy.ts)
 *   connections ........... eight at most, which scopes use in turn (http/gate.ts)
 */

import type { GiteaAccess, VersionCache } from '../../clients/gitea/api.ts';
import { type GiteaTarget, giteaClient } from '../../clients/gitea/observe.ts';
import type { HttpClient, HttpOptions } from '../../clients/http/client.ts';
import type { ServerClocks } from '../../clients/http/clock.ts';
import { Courtesy } from '../../clients/http/courtesy.ts';
import { Deadline } from '../../clients/http/deadline.ts';
import type { Env } from '../../clients/http/proxy.ts';
import type { RequestLine } from '../../clients/http/request.ts';
import type { Clock } from '../../shared/clock.ts';
import { groupBy } from '../../shared/group-by.ts';
import { RateLimiter } from './rate-limiter.ts';

export interface GuestOptions extends Pick<HttpOptions, 'wireTo'> {
  readonly timeoutMs: number;
  readonly ca?: string;
  readonly env: Env;
  /** Requests per minute to one Gitea. */
  readonly giteaRequests: number;
  readonly clock: Clock;
  readonly onRequest: (line: RequestLine) => void;
  readonly clocks: ServerClocks;
  /** Told how long a look or a sweep had to wait for the budget, ms, above 0. */
  readonly onWaited: (origin: string, ms: number) => void;
}

/** Who waits longer for a turn has failed: many scopes share the request budget of one Gitea. */
export const LONGEST_TURN_MS = 3_600_000;
/** The queue of all requests besides looks, such as those of sweeps. */
export const BACKGROUND = 'background';

export class Guest {
  readonly http: HttpClient;
  readonly clock: Clock;
  /** A Gitea that is upgraded is asked its version again after the next failure. */
  readonly versions: VersionCache = new Map();
  readonly #options: GuestOptions;
  readonly #courtesy: Courtesy;
  readonly #limiters = new Map<string, RateLimiter>();

  constructor(options: GuestOptions) {
    this.#options = options;
    const { timeoutMs: deadlineMs, clock, onRequest, ...more } = options;
    this.clock = clock;
    this.#courtesy = new Courtesy(clock);
    this.http = giteaClient({
      ...more,
      deadlineMs,
      clock,
      courtesy: this.#courtesy,
      onRequest: (line) => {
        this.#limiters.get(new URL(line.url).origin)?.spend(line.queue, 1);
        onRequest(line);
      },
    });
  }

  /** What is looked at from now on, for the groups of which namespaces. */
  share(namespacesOf: ReadonlyMap<GiteaTarget, ReadonlySet<string>>): void {
    const sharers = groupBy(namespacesOf, ([target]) => originOf(target));
    for (const origin of new Set([...this.#limiters.keys(), ...sharers.keys()])) {
      const sharing = sharers.get(origin) ?? [];
      this.#limiterOf(origin).share(new Map(sharing.map(([{ key }, namespaces]) => [key, namespaces])));
      // Whoever waits there still gets a turn.
      if (sharing.length === 0) this.#limiters.delete(origin);
    }
  }

  /**
   * Has `work` ask this Gitea when the budget allows it. Its requests must be of the queue `queue`, and there must not be two visits of
   * one queue at the same time, but for `BACKGROUND`. Rejects once closed.
   */
  async visit<T>(target: GiteaTarget, queue: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const limiter = this.#limiterOf(originOf(target));
    await limiter.take(queue, signal);
    try {
      return await work();
    } finally {
      // `take` has paid for the first request, and so has the request itself.
      limiter.spend(queue, -1);
    }
  }

  /** How long this Gitea wants to be left alone, ms; 0: it may be asked. */
  pauseMs(target: GiteaTarget): number {
    return this.#courtesy.pauseOf(originOf(target))?.ms ?? 0;
  }

  async close(): Promise<void> {
    for (const limiter of this.#limiters.values()) limiter.close();
    await this.http.close();
  }

  #limiterOf(origin: string): RateLimiter {
    const { clock, giteaRequests, onWaited } = this.#options;
    const limiter =
      this.#limiters.get(origin) ??
      new RateLimiter({
        clock,
        ratePerS: giteaRequests / 60,
        background: BACKGROUND,
        onWaited: (ms) => onWaited(origin, ms),
      });
    this.#limiters.set(origin, limiter);
    return limiter;
  }
}

/** For what is asked besides looks, within the guest's budget. @param timeoutMs for all of its requests. */
export function accessOf(
  { clock, http, versions }: Pick<Guest, 'clock' | 'http' | 'versions'>,
  { token, url }: GiteaTarget,
  timeoutMs: number,
): GiteaAccess {
  return { http, url, token, deadline: new Deadline(timeoutMs, clock), versions, queue: BACKGROUND };
}

export function originOf({ url }: GiteaTarget): string {
  return new URL(url).origin;
}
