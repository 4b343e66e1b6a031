/**
 * Limits how the leading process sends requests to each Gitea:
 *
 *   request budget ........ shared by all looks and what is asked besides (request-budget.ts)
 *   Retry-After ........... remembered: nothing is sent before that time (http/retry-after.ts)
 *   connections ........... eight at most, which scopes use in turn (http/http-client.ts)
 */
import type { GiteaAccess, VersionCache } from '../../clients/gitea/api.ts';
import { describeScope } from '../../clients/gitea/endpoints.ts';
import { type GiteaSettings, type GiteaTarget, giteaClient } from '../../clients/gitea/observe-gitea.ts';
import { type HttpClient, type HttpOptions, outOfTime } from '../../clients/http/http-client.ts';
import { Deadline, type HttpAnswer, type HttpRequest } from '../../clients/http/request.ts';
import { RetryAfter } from '../../clients/http/retry-after.ts';
import type { ServerClocks } from '../../clients/http/server-clocks.ts';
import type { Clock } from '../../shared/clock.ts';
import { Failure } from '../../shared/failure.ts';
import { groupBy } from '../../shared/keys.ts';
import type { Tell } from '../planning/events.ts';
import type { WorkQueue } from '../queue/work-queue.ts';
import { BACKGROUND, BudgetTurns, RequestBudget } from './request-budget.ts';

/** How `serve` sends requests to Gitea, for the leader and for features of each replica. */
export interface GiteasOptions extends GiteaSettings, Pick<HttpOptions, 'wireTo'> {
  /** Requests per minute to one Gitea. */
  readonly giteaRequests: number;
  /** Shortest time between two looks of a target. */
  readonly pollMs: number;
  /** Queue that holds the visits that wait for the budget. */
  readonly queue: WorkQueue;
  readonly clock: Clock;
  readonly clocks: ServerClocks;
  readonly tell: Tell;
}

/** A wait for a turn that is longer than this has failed. Many scopes share the request budget of one Gitea. */
export const LONGEST_TURN_MS = 3_600_000;
/**
 * Options for classes of the queue whose keys send requests to Gitea. Each Gitea has a lane of its own, so a hanging
 * one does not delay the others.
 */
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
  readonly #budgets = new Map<string, RequestBudget>();
  readonly #turns: BudgetTurns;

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
        this.#budgets.get(new URL(line.url).origin)?.spend(line.queue, 1);
        tell({ is: 'gitea-request', line });
      },
    });
    this.#turns = new BudgetTurns(options.queue, clock);
  }

  /** Sets the watched targets, with the namespaces whose groups need each. */
  share(namespacesOf: ReadonlyMap<Pick<GiteaTarget, 'key' | 'url'>, ReadonlySet<string>>): void {
    const sharers = groupBy(namespacesOf, ([target]) => originOf(target));
    for (const origin of new Set([...this.#budgets.keys(), ...sharers.keys()])) {
      const sharing = sharers.get(origin) ?? [];
      this.#budgetOf(origin).share(new Map(sharing.map(([{ key }, namespaces]) => [key, namespaces])));
      // A visit that already waits there still gets its turn.
      if (sharing.length === 0) this.#budgets.delete(origin);
    }
    this.#turns.freed();
  }

  /**
   * Runs `work` when the budget allows requests to this Gitea. The requests of `work` must use the queue `queue`. Two
   * visits of one queue must not overlap, except for `BACKGROUND`. Rejects once closed.
   */
  async visit<T>(at: At, queue: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const budget = this.#budgetOf(originOf(at));
    await this.#take(budget, at, queue, signal);
    try {
      return await work();
    } finally {
      // `take` has paid for the first request, and so has the request itself.
      budget.spend(queue, -1);
    }
  }

  /**
   * Sends one request when its queue has its turn.
   * @throws Failure, also when that turn does not come before the deadline, or this is closed
   */
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

  /** Returns in how many ms a visit of this queue may begin if no other visit waits. */
  turnInMs(at: At, queue: string): number {
    return Math.max(0, this.#budgetOf(originOf(at)).startMs(queue) - this.clock.steadyMs());
  }

  /**
   * Sends requests that do not belong to a look.
   * @param timeoutMs limit for all requests of `work`, from its turn on.
   */
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

  /** Returns how long this Gitea must not be asked, ms. 0: now is fine. */
  pauseMs(target: GiteaTarget): number {
    return this.#retryAfter.pauseOf(originOf(target))?.ms ?? 0;
  }

  async close(): Promise<void> {
    this.#turns.close();
    await this.http.close();
  }

  #budgetOf(origin: string): RequestBudget {
    const { clock, giteaRequests } = this.#options;
    const budget = this.#budgets.get(origin) ?? new RequestBudget(60_000 / giteaRequests, clock);
    this.#budgets.set(origin, budget);
    return budget;
  }

  async #take(budget: RequestBudget, at: At, queue: string, signal?: AbortSignal): Promise<void> {
    const origin = originOf(at);
    const name = `${origin} ${at.scope ? describeScope(at.scope) : queue}`;
    const ms = await this.#turns.take({ budget, queue, lane: origin, name }, signal);
    const isLate = queue !== BACKGROUND && ms > this.#options.pollMs;
    if (ms > 0) this.#options.tell({ is: 'visit-waited', origin, ms, ...(isLate && { lateScopes: budget.targets }) });
  }
}

type At = Pick<GiteaTarget, 'url'> & Partial<Pick<GiteaTarget, 'scope'>>;

export function originOf({ url }: At): string {
  return new URL(url).origin;
}
