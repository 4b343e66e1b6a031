/** Sends one request to the simulated Gitea and returns its answer, without sockets. */
import type { Doer } from './access.ts';
import type { DatabaseOrder, Paging } from './lists.ts';
import type { State } from './model.ts';

/** Configuration of this Gitea. */
export interface Setup extends Paging {
  /** ROOT_URL without a trailing slash: the start of every URL in an answer. */
  readonly root: string;
  readonly databaseOrder: DatabaseOrder;
}

/** A request, and what it is answered from. */
export interface Ask {
  readonly state: State;
  readonly setup: Setup;
  readonly doer: Doer;
  readonly method: string;
  /** Path without sub-path, e.g. `/api/v1/version`. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: string;
}

export interface Answer {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}
