/**
 * How the leading process behaves towards each Gitea, whatever it asks there:
 *
 *   request budget ........ shared by all looks and what is asked besides (`RateLimiter`)
 *   Retry-After ........... remembered: nothing is sent before that time (http/retry-after.ts)
 *   connections ........... eight at most, which scopes use in turn (http/client.ts)
 */
import type { GiteaAccess, VersionCache } from '../../clients/gitea/api.ts';
import { type GiteaSettings, type GiteaTarget, giteaClient } from '../../clients/gitea/observe.ts';
import { type HttpClient, type HttpOptions, outOfTime } from '../../clients/http/client.ts';
import type { ServerClocks } from '../../clients/http/clock.ts';
import { Deadline, type HttpAnswer, type HttpRequest } from '../../clients/http/request.ts';
import { RetryAfter } from '../../clients/http/retry-after.ts';
import type { Clock } from '../../shared/clock.ts';
import { Failure } from '../../shared/failure.ts';
import { groupBy, groupBySeveral, keepOnly } from '../../shared/keys.ts';
import type { Tell } from '../events.ts';

/** How `serve` asks Gitea, for the leader and for features of each replica. */
export interface GiteasSettings extends GiteaSettings {
  /** Requests per minute to one Gitea. */
  readonly giteaRequests: number;
}

export interface GiteasOptions extends GiteasSettings, Pick<HttpOptions, 'wireTo'> {
  /** Shortest time between two looks of a target. */
  readonly pollMs: number;
  readonly clock: Clock;
  readonly clocks: ServerClocks;
  readonly tell: Tell;
}

/** A wait for a turn that is longer than this has failed. Many scopes share the request budget of one Gitea. */
export const LONGEST_TURN_MS = 3_600_000;
/** The queue of all requests besides looks, such as those of sweeps. */
export const BACKGROUND = 'background';
/** For classes of the queue whose keys ask Gitea: each Gitea has a lane, so one that hangs holds up no other. */
export function asking(targetOf: (key: string) => GiteaTarget | Failure | undefined) {
  const laneOf = (key: string): string => {
    const target = targetOf(key);
    return target === undefined || target instanceof Failure ? key : originOf(target);
  };
  return { width: 8, perLane: 1, gapMs: 1_000, laneOf };
}

export class Giteas {
  readonly http: HttpClient;
  readonly clock: Clock;
  /** A Gitea that is upgraded is asked its version again after the next failure. */
  readonly versions: VersionCache = new Map();
  readonly #options: GiteasOptions;
  readonly #retryAfter: RetryAfter;
  readonly #limiters = new Map<string, RateLimiter>();

  constructor(options: GiteasOptions) {
    this.#options = options;
    const { timeoutMs: deadlineMs, clock, tell, ...more } = options;
    this.clock = clock;
    this.#retryAfter = new RetryAfter(clock);
    this.http = giteaClient({
      ...more,
      deadlineMs,
      clock,
      retryAfter: this.#retryAfter,
      onRequest: (line) => {
        this.#limiters.get(new URL(line.url).origin)?.spend(line.queue, 1);
        tell({ is: 'gitea-request', line });
      },
    });
  }

  /** What is looked at from now on, for the groups of which namespaces. */
  share(namespacesOf: ReadonlyMap<Pick<GiteaTarget, 'key' | 'url'>, ReadonlySet<string>>): void {
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
  async visit<T>(at: At, queue: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const limiter = this.#limiterOf(originOf(at));
    await limiter.take(queue, signal);
    try {
      return await work();
    } finally {
      // `take` has paid for the first request, and so has the request itself.
      limiter.spend(queue, -1);
    }
  }

  /** Sends one request in the turn of its queue. @throws Failure, also when its turn does not come: until the deadline, or at all */
  async send(request: HttpRequest, queue: string, deadline: Deadline): Promise<HttpAnswer> {
    const late = new AbortController();
    const takeBack = this.clock.after(deadline.remainingMs(), () => late.abort());
    const send = (): Promise<HttpAnswer> => this.http.send({ ...request, queue }, deadline);
    try {
      return await this.visit({ url: request.url.href }, queue, send, late.signal);
    } catch (error) {
      throw error instanceof Failure ? error : outOfTime(request, deadline);
    } finally {
      takeBack();
    }
  }

  /** In how many ms a visit of this queue may begin, if nobody else asks. */
  turnInMs(at: At, queue: string): number {
    return Math.max(0, this.#limiterOf(originOf(at)).startMs(queue) - this.clock.steadyMs());
  }

  /** What is asked besides looks. @param timeoutMs for all requests of `work`, from its turn on. */
  async ask<T>(
    target: GiteaTarget,
    timeoutMs: number,
    work: (access: GiteaAccess) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> {
    const { clock, http, versions } = this;
    const { token, url } = target;
    const access = { http, url, token, versions, queue: BACKGROUND };
    const ask = () => work({ ...access, deadline: new Deadline(timeoutMs, clock) });
    return await this.visit(target, BACKGROUND, ask, signal);
  }

  /** How long this Gitea wants to be left alone, ms; 0: it may be asked. */
  pauseMs(target: GiteaTarget): number {
    return this.#retryAfter.pauseOf(originOf(target))?.ms ?? 0;
  }

  async close(): Promise<void> {
    for (const limiter of this.#limiters.values()) limiter.close();
    await this.http.close();
  }

  #limiterOf(origin: string): RateLimiter {
    const { clock, giteaRequests, pollMs, tell } = this.#options;
    const known = this.#limiters.get(origin);
    if (known) return known;
    const onWaited = (key: string, ms: number): void => {
      const isLate = key !== BACKGROUND && ms > pollMs;
      if (ms > 0) tell({ is: 'visit-waited', origin, ms, ...(isLate && { lateScopes: made.targets }) });
    };
    const made: RateLimiter = new RateLimiter({ clock, requestMs: 60_000 / giteaRequests, onWaited });
    this.#limiters.set(origin, made);
    return made;
  }
}

type At = Pick<GiteaTarget, 'url'>;

export function originOf({ url }: At): string {
  return new URL(url).origin;
}

const SAVED_MS = 5_000;
const BACKGROUND_SHARE = 0.1;

interface RateLimiterOptions {
  /** What one request costs of the time of all. */
  readonly requestMs: number;
  readonly clock: Clock;
  readonly onWaited: (key: string, ms: number) => void;
}

interface Waiting {
  readonly key: string;
  readonly sinceMs: number;
  readonly go: () => void;
  readonly stop: (reason: unknown) => void;
}

/**
 * When the next look at one Gitea may begin, so that all looks together ask no more than so many requests per second.
 *
 *   the target has paid for its last look ... at once: every target earns its share of the rate
 *   the Gitea has requests to spare ......... at once, in the order of asking: what others do not use
 *   else .................................... as soon as one of both is true
 *
 * So a look of many requests delays the next look at its own target only. Namespaces have equal shares, and the targets of a namespace
 * share what it has: a hundred groups in one namespace do not delay a group in another one. What is asked besides looks has a tenth.
 */
export class RateLimiter {
  readonly #options: RateLimiterOptions;
  /** When each target has earned what it has asked for, and when all of them together have. */
  readonly #paidMs = new Map<string, number>();
  #allPaidMs = 0;
  readonly #waiting = new Set<Waiting>();
  #shares: ReadonlyMap<string, number> = new Map();
  #takeBack = (): void => undefined;

  constructor(options: RateLimiterOptions) {
    this.#options = options;
  }

  /** The targets from now on, each with the namespaces whose groups need it. */
  share(namespacesOf: ReadonlyMap<string, ReadonlySet<string>>): void {
    this.#shares = sharesOf(namespacesOf);
    keepOnly(this.#paidMs, this.#shares);
    this.#go();
  }

  /** Resolves when a look at this target may begin; its first request is then paid for. Rejects when `signal` is aborted before. */
  async take(key: string, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    await new Promise<void>((go, stop) => {
      const waiting = { key, sinceMs: this.#options.clock.steadyMs(), go, stop };
      const leave = () => this.#waiting.delete(waiting) && stop(signal?.reason);
      signal?.addEventListener('abort', leave, { once: true });
      this.#waiting.add(waiting);
      this.#go();
    });
  }

  /** A look has made so many requests. Below 0: fewer than were paid for. */
  spend(key: string, requests: number): void {
    const nowMs = this.#options.clock.steadyMs();
    const costMs = requests * this.#options.requestMs;
    this.#allPaidMs = Math.max(this.#allPaidMs, nowMs) + costMs;
    // A target that is gone may go at once: its look ends before it begins.
    const share = this.#shares.get(key) ?? 1;
    this.#paidMs.set(key, Math.max(this.#paidMs.get(key) ?? 0, nowMs) + costMs / share);
  }

  close(): void {
    this.#takeBack();
    for (const { stop } of this.#waiting) stop(new Error('closed'));
    this.#waiting.clear();
  }

  get targets(): number {
    return this.#shares.size - 1;
  }

  /** When a look at this target may begin, if nobody else asks. */
  startMs(key: string): number {
    return Math.min(this.#paidMs.get(key) ?? 0, this.#allPaidMs + this.#options.requestMs - SAVED_MS);
  }

  /** Lets those looks begin whose turn it is, and sets a timer for the next one. */
  #go(): void {
    this.#takeBack();
    const { clock, onWaited } = this.#options;
    const nowMs = clock.steadyMs();
    for (const waiting of this.#waiting) {
      if (this.startMs(waiting.key) > nowMs) continue;
      this.#waiting.delete(waiting);
      this.spend(waiting.key, 1);
      onWaited(waiting.key, nowMs - waiting.sinceMs);
      waiting.go();
    }
    if (this.#waiting.size === 0) return;
    const nextMs = Math.min(...[...this.#waiting].map(({ key }) => this.startMs(key)));
    this.#takeBack = clock.after(Math.ceil(nextMs - nowMs), () => this.#go());
  }
}

function sharesOf(namespacesOf: ReadonlyMap<string, ReadonlySet<string>>): ReadonlyMap<string, number> {
  const targets = groupBySeveral([...namespacesOf], ([, namespaces]) => [...namespaces]);
  const shareIn = (namespace: string): number =>
    (1 - BACKGROUND_SHARE) / (targets.size * (targets.get(namespace)?.length ?? 1));
  const ofTargets = [...namespacesOf].map(
    ([key, namespaces]) => [key, [...namespaces].reduce((sum, name) => sum + shareIn(name), 0)] as const,
  );
  return new Map([[BACKGROUND, BACKGROUND_SHARE], ...ofTargets]);
}
