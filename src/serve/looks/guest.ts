/**
 * How the leading process behaves towards each Gitea, whatever it asks there:
 *
 *   request budget ........ shared by all looks and what is asked besides (turns.ts)
 *   Retry-After ........... remembered: until then no request is sent, whoever wants it (http/courtesy.ts)
 *   connections ........... eight at most, which scopes use in turn (http/gate.ts)
 */
import { setMaxListeners } from 'node:events';
import type { GiteaAccess, VersionCache } from '../../clients/gitea/api.ts';
import { type GiteaTarget, giteaClient } from '../../clients/gitea/observe.ts';
import type { HttpClient, HttpOptions } from '../../clients/http/client.ts';
import type { ServerClocks } from '../../clients/http/clock.ts';
import { Courtesy } from '../../clients/http/courtesy.ts';
import { Deadline } from '../../clients/http/deadline.ts';
import type { Env } from '../../clients/http/proxy.ts';
import type { RequestLine } from '../../clients/http/request.ts';
import { untilAborted } from '../../clients/http/until-aborted.ts';
import type { Clock } from '../../shared/clock.ts';
import { Turns } from './turns.ts';

export interface GuestOptions extends Pick<HttpOptions, 'wireTo'> {
  /** For one look, ms. */
  readonly timeoutMs: number;
  readonly ca?: string;
  readonly env: Env;
  /** Requests per minute to one Gitea. */
  readonly budget: number;
  readonly clock: Clock;
  readonly onRequest: (line: RequestLine) => void;
  /** Told the time of each Gitea that answers. */
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
  /** By origin. */
  readonly #turns = new Map<string, Turns>();
  readonly #life = new AbortController();

  constructor(options: GuestOptions) {
    this.#options = options;
    const { timeoutMs: deadlineMs, env, ca, clock, clocks, wireTo } = options;
    this.#courtesy = new Courtesy(clock);
    this.clock = clock;
    const onRequest = (line: RequestLine): void => {
      this.#turns.get(new URL(line.url).origin)?.spend(line.queue, 1);
      options.onRequest(line);
    };
    // Every visit that waits listens.
    setMaxListeners(0, this.#life.signal);
    const courtesy = this.#courtesy;
    const more = { ...(ca !== undefined && { ca }), ...(wireTo && { wireTo }) };
    this.http = giteaClient({ deadlineMs, env, clock, clocks, courtesy, onRequest, ...more });
  }

  /** What is looked at from now on, for the groups of which namespaces. */
  share(namespacesOf: ReadonlyMap<GiteaTarget, ReadonlySet<string>>): void {
    const sharers = new Map<string, Map<string, ReadonlySet<string>>>();
    for (const [target, namespaces] of namespacesOf) {
      const origin = originOf(target);
      sharers.set(origin, (sharers.get(origin) ?? new Map()).set(target.key, namespaces));
    }
    for (const [origin, turns] of this.#turns) {
      if (sharers.has(origin)) continue;
      // Whoever waits there still gets a turn.
      turns.share(new Map());
      this.#turns.delete(origin);
    }
    for (const [origin, sharing] of sharers) this.#turnsAt(origin).share(sharing);
  }

  /**
   * Has `work` ask this Gitea when the budget allows it. Its requests must be of the queue `queue`, and there must not be two visits of
   * one queue at the same time, but for `BACKGROUND`. Rejects once closed.
   */
  async visit<T>(target: GiteaTarget, queue: string, work: () => Promise<T>, signal = this.#life.signal): Promise<T> {
    const turns = this.#turnsAt(originOf(target));
    await untilAborted(this.#life.signal, turns.take(queue, signal));
    this.#life.signal.throwIfAborted();
    try {
      return await work();
    } finally {
      // Its first request was paid for by `take`, and when it was sent.
      turns.spend(queue, -1);
    }
  }

  /** How long this Gitea wants to be left alone, ms; 0: it may be asked. */
  pauseMs(target: GiteaTarget): number {
    return this.#courtesy.pauseOf(originOf(target))?.ms ?? 0;
  }

  async close(): Promise<void> {
    this.#life.abort();
    for (const turns of this.#turns.values()) turns.close();
    await this.http.close();
  }

  #turnsAt(origin: string): Turns {
    const known = this.#turns.get(origin);
    if (known) return known;
    const { budget, clock, onWaited } = this.#options;
    const turns = new Turns({
      clock,
      ratePerS: budget / 60,
      background: BACKGROUND,
      onWaited: (ms) => onWaited(origin, ms),
    });
    this.#turns.set(origin, turns);
    return turns;
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
