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
import { BACKGROUND, budgetTurns, type RequestBudget, requestBudget } from './request-budget.ts';

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
/** Options for classes of the queue that ask Gitea. One lane for each: a hanging one delays no other. */
export function asking(targetOf: (key: string) => GiteaTarget | Failure | undefined) {
  const laneOf = (key: string): string => {
    const target = targetOf(key);
    return target === undefined || target instanceof Failure ? key : originOf(target);
  };
  return { width: 8, perLane: 1, gapMs: 1_000, laneOf };
}

export type Giteas = ReturnType<typeof openGiteas>;

/** Opens the client for all Giteas, with a request budget for each. */
export function openGiteas(options: GiteasOptions) {
  const { timeoutMs: deadlineMs, clock, tell, ...requestOptions } = options;
  const { close: closeVisits, spend, visit, ...visits } = openVisits(options);
  const retryAfter = new RetryAfter(clock);
  const http: HttpClient = giteaClient({
    ...requestOptions,
    deadlineMs,
    clock,
    retryAfter,
    onRequest: (line) => {
      spend(new URL(line.url).origin, line.queue);
      tell({ is: 'gitea-request', line });
    },
  });
  /** A Gitea that is upgraded is asked its version again after the next failure. */
  const versions: VersionCache = new Map();

  return {
    http,
    clock,
    versions,
    visit,
    ...visits,

    /** Sends one request at its queue's turn. @throws Failure, also if that is too late, or this is closed */
    send: async (request: HttpRequest, queue: string, deadline: Deadline): Promise<HttpAnswer> => {
      const late = new AbortController();
      const takeBack = clock.after(deadline.remainingMs(), () => late.abort());
      const send = (): Promise<HttpAnswer> => http.send({ ...request, queue }, deadline);
      try {
        return await visit({ url: request.url.href }, queue, send, late.signal);
      } catch (error) {
        throw error instanceof Failure ? error : outOfTime(request, deadline);
      } finally {
        takeBack();
      }
    },

    /** Sends requests that do not belong to a look. @param timeoutMs limit for all requests of `work`, from its turn on. */
    ask: async <T>(
      target: GiteaTarget,
      timeoutMs: number,
      work: (access: GiteaAccess) => Promise<T>,
      signal?: AbortSignal,
    ): Promise<T> => {
      const { token, url } = target;
      const access = { http, url, token, versions, queue: BACKGROUND };
      const ask = () => work({ ...access, deadline: new Deadline(timeoutMs, clock) });
      return await visit(target, BACKGROUND, ask, signal);
    },

    /** Returns how long this Gitea must not be asked, ms. 0: now is fine. */
    pauseMs: (target: GiteaTarget): number => retryAfter.pauseOf(originOf(target))?.ms ?? 0,

    close: async (): Promise<void> => {
      closeVisits();
      await http.close();
    },
  };
}

/** The request budgets of all Giteas. Who visits one waits for its turn. */
function openVisits({ clock, giteaRequests, pollMs, queue: workQueue, tell }: GiteasOptions) {
  const budgets = new Map<string, RequestBudget>();
  const turns = budgetTurns(workQueue, clock);
  const budgetOf = (origin: string): RequestBudget => {
    const budget = budgets.get(origin) ?? requestBudget(60_000 / giteaRequests, clock);
    budgets.set(origin, budget);
    return budget;
  };

  return {
    /** Runs `work`, whose requests use this queue, when the budget allows it. Visits of one queue must not overlap, but for `BACKGROUND`. Rejects once closed. */
    visit: async <T>(place: GiteaPlace, queue: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> => {
      const origin = originOf(place);
      const budget = budgetOf(origin);
      const name = `${origin} ${place.scope ? describeScope(place.scope) : queue}`;
      const ms = await turns.take({ budget, queue, lane: origin, name }, signal);
      const isLate = queue !== BACKGROUND && ms > pollMs;
      if (ms > 0) tell({ is: 'visit-waited', origin, ms, ...(isLate && { lateScopes: budget.targets() }) });
      try {
        return await work();
      } finally {
        // `take` has paid for the first request, and so has the request itself.
        budget.spend(queue, -1);
      }
    },

    /** Pays for a request. */
    spend: (origin: string, queue: string): void => budgets.get(origin)?.spend(queue, 1),

    /** Sets the watched targets, with the namespaces whose groups need each. */
    share: (namespacesOf: ReadonlyMap<Pick<GiteaTarget, 'key' | 'url'>, ReadonlySet<string>>): void => {
      const sharers = groupBy(namespacesOf, ([target]) => originOf(target));
      for (const origin of new Set([...budgets.keys(), ...sharers.keys()])) {
        const sharing = sharers.get(origin) ?? [];
        budgetOf(origin).share(new Map(sharing.map(([{ key }, namespaces]) => [key, namespaces])));
        // A visit that already waits there still gets its turn.
        if (sharing.length === 0) budgets.delete(origin);
      }
      turns.freed();
    },

    /** Returns in how many ms a visit of this queue may begin if no other visit waits. */
    turnInMs: (place: GiteaPlace, queue: string): number =>
      Math.max(0, budgetOf(originOf(place)).startMs(queue) - clock.steadyMs()),

    close: turns.close,
  };
}

type GiteaPlace = Pick<GiteaTarget, 'url'> & Partial<Pick<GiteaTarget, 'scope'>>;

export function originOf({ url }: GiteaPlace): string {
  return new URL(url).origin;
}
