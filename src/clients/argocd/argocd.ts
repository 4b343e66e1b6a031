/**
 * The three requests that we make to Argo CD's API server. They need an account with `applications, get` and `applications, sync`
 * on the projects of the runners, and nothing else. What the server does, from its source (3.5.3):
 *
 *   read     GET  …/applications/NAME               as it stands in the cluster (no cache)
 *   refresh  GET  …/applications/NAME?refresh=hard  sets the annotation `refresh: hard`, then waits for an event of the Application
 *            without it (server/application/application.go, `Get`): so it answers after the comparison, with its result. The plugin
 *            runs within that comparison; one more look at the repository (app details) runs beside it.
 *   sync     POST …/applications/NAME/sync          writes `.operation` and answers at once. The controller then compares again from
 *            its cache (`SyncAppState`: noCache false), so it applies what the refresh before it generated.
 *
 * Lost wake-up: a comparison that was asked for by an annotation removes it at its end, also one that was set again meanwhile. So a
 * refresh asked for while another one is under way (a push webhook, the UI) is answered by that other one's result. `AppState`
 * shows it: `refreshPending`.
 *
 * The query `project` is not needed: without it Argo CD finds the Application by name and checks the rights on its real project.
 * The query would only turn a 403 for a missing Application into a 404.
 */
import { type Clock, systemClock } from '../../shared/clock.ts';
import { Failure } from '../../shared/failure.ts';
import { parseUrl } from '../../shared/parse-url.ts';
import { HttpClient } from '../http/client.ts';
import type { Deadline } from '../http/deadline.ts';
import type { Env } from '../http/proxy.ts';
import { type HttpAnswer, type HttpRequest, isHeaderText, parseJson, type RequestLine } from '../http/request.ts';
import { Token } from '../tokens/token.ts';
import { AppShapeError, type AppState, readApplication } from './app-state.ts';
import type { ApplicationRef } from './application.ts';
import { isBusy, type NeededRight, notJson, refusal, wrongShape } from './refusals.ts';

export interface ArgoCdOptions {
  /** Default: the real one. */
  readonly clock?: Clock;
  /** Base URL of the API server, perhaps with a root path. */
  readonly url: string;
  /** Of an Argo CD account, as read from its file; white space around it is removed. It goes to the origin of `url` only. */
  readonly token: string;
  /** PEM certificates that are trusted instead of the built-in ones. */
  readonly ca?: string;
  /** Source of HTTPS_PROXY, HTTP_PROXY and NO_PROXY. */
  readonly env: Env;
  /** Where Argo CD itself lives, `argocd` mostly: an Application without a namespace lives there. */
  readonly controlPlaneNamespace: string;
  readonly onRequest?: (line: RequestLine) => void;
  /** A request that takes longer no longer counts as one of the eight that may run at the same time, ms. Default 5,000. */
  readonly slowAfterMs?: number;
}

/** `busy`: an operation is already under way, and no new one was started. */
export type SyncStart = 'started' | 'busy';

/** A hard refresh waits for a queue, git and the plugin; the caller's deadline is what limits it. */
const ATTEMPT_MS = 10 * 60_000;
/** A refresh that hangs costs Argo CD nothing, so it must not keep others waiting. */
const SLOW_AFTER_MS = 5_000;
/** Requests that hang at the same time. With more, the others wait until one of them ends. */
const MOST_SLOW = 120;
/** An Application with 600 Jobs has 160 KB; etcd takes none above 1.5 MiB, and JSON adds little. */
const BODY_LIMIT = 8 * 1024 * 1024;

/**
 * In place of the Application's `syncPolicy.retry`. While Argo CD repeats a sync it refuses all others, by default for two minutes and
 * a half: one Job that Kubernetes refuses would keep the runners of other groups waiting. We repeat by ourselves (wake-state.ts).
 */
const NO_RETRY = { limit: 0 };

/** One Argo CD with one account. Connections are kept until `close`. Every method throws `Failure` (exit 1). */
export class ArgoCd {
  readonly clock: Clock;
  readonly #http: HttpClient;
  readonly #base: string;
  readonly #token: Token;
  readonly #controlPlaneNamespace: string;

  /** Throws `Failure` when the URL (exit 2) or the token (exit 1) cannot be one. */
  constructor(options: ArgoCdOptions) {
    const { url, token, ca, clock = systemClock, env, onRequest, slowAfterMs = SLOW_AFTER_MS } = options;
    this.clock = clock;
    const parsed = parseUrl(url);
    if (parsed === undefined || !['http:', 'https:'].includes(parsed.protocol) || parsed.username !== '') {
      const message =
        'the URL of Argo CD is not of the form https://argocd.example.com, without user and password. Correct --argocd-url.';
      throw new Failure('GR-ARGOCD-02', 2, message);
    }
    const secret = token.trim();
    if (!isHeaderText(secret)) {
      const message =
        'the token of Argo CD is empty or holds characters that no token has. Make one with "argocd account generate-token" and put it into the Secret.';
      throw new Failure('GR-ARGOCD-01', 1, message);
    }
    this.#base = (parsed.origin + parsed.pathname).replace(/\/+$/, '');
    this.#token = new Token(secret, this.#base, 'Bearer');
    this.#controlPlaneNamespace = options.controlPlaneNamespace;
    this.#http = new HttpClient({
      env,
      clock,
      attemptMs: ATTEMPT_MS,
      bodyLimit: BODY_LIMIT,
      caFrom: 'with --argocd-ca-file',
      slowRequests: { afterMs: () => slowAfterMs, most: MOST_SLOW },
      ca,
      onRequest,
    });
  }

  /** The Application as it is. Argo CD compares nothing for this. */
  async read(app: ApplicationRef, deadline: Deadline): Promise<AppState> {
    return await this.#get(app, 'read', {}, deadline);
  }

  /** Has the plugin run and everything compared, and gives the result. Takes a second or more; see above for when it is lost. */
  async refresh(app: ApplicationRef, deadline: Deadline): Promise<AppState> {
    return await this.#get(app, 'refresh', { refresh: 'hard' }, deadline);
  }

  /** Starts a sync with prune of what was generated last; the Application's own sync options hold. Does not wait for its end. */
  async sync(app: ApplicationRef, deadline: Deadline): Promise<SyncStart> {
    const namespace = this.#appNamespace(app);
    const request: HttpRequest = {
      ...this.#request(app, 'sync', '/sync'),
      method: 'POST',
      // Argo CD compares the media type as a whole: with a charset it answers 415.
      body: JSON.stringify({ prune: true, retryStrategy: NO_RETRY, ...namespace }),
    };
    const answer = await this.#http.send(request, deadline);
    if (isBusy(answer)) return 'busy';
    if (answer.status !== 200) throw refusal(request, answer, this.#needs(app, 'sync'));
    jsonOf(request, answer);
    return 'started';
  }

  /** Drops all connections. */
  async close(): Promise<void> {
    await this.#http.close();
  }

  async #get(
    app: ApplicationRef,
    verb: string,
    query: Readonly<Record<string, string>>,
    deadline: Deadline,
  ): Promise<AppState> {
    const request = this.#request(app, verb, '');
    request.url.search = new URLSearchParams({ ...query, ...this.#appNamespace(app) }).toString();
    const answer = await this.#http.send(request, deadline);
    if (answer.status !== 200) throw refusal(request, answer, this.#needs(app, 'get'));
    const state = readState(request, jsonOf(request, answer));
    if (state.name !== app.name || (app.namespace !== undefined && state.namespace !== app.namespace)) {
      throw wrongShape(request, 'another Application than the one asked for');
    }
    return state;
  }

  #request(app: ApplicationRef, verb: string, below: string): HttpRequest {
    return {
      what: `${verb} Application ${this.#objectOf(app)}`,
      method: 'GET',
      url: new URL(`${this.#base}/api/v1/applications/${encodeURIComponent(app.name)}${below}`),
      authorization: (to) => this.#token.headerFor(to),
      mayLeadTo: (to) => this.#token.covers(to),
      queue: this.#objectOf(app),
    };
  }

  /** Sent only for Applications elsewhere: then a wrong `controlPlaneNamespace` does no harm to the others. */
  #appNamespace({ namespace }: ApplicationRef): { readonly appNamespace?: string } {
    return namespace === undefined || namespace === this.#controlPlaneNamespace ? {} : { appNamespace: namespace };
  }

  /** As RBAC writes it below the project (util/security/rbac.go): without the namespace when that is Argo CD's own. */
  #objectOf(app: ApplicationRef): string {
    const { appNamespace } = this.#appNamespace(app);
    return appNamespace === undefined ? app.name : `${appNamespace}/${app.name}`;
  }

  #needs(app: ApplicationRef, action: NeededRight['action']): NeededRight {
    return { action, object: this.#objectOf(app) };
  }
}

function readState(request: HttpRequest, json: unknown): AppState {
  try {
    return readApplication(json);
  } catch (error) {
    if (error instanceof AppShapeError) throw wrongShape(request, error.message);
    throw error;
  }
}

/** The gateway always says application/json. Anything else comes from somebody who stands in between. */
function jsonOf(request: HttpRequest, answer: HttpAnswer): unknown {
  const json = answer.mediaType === 'application/json' ? parseJson(answer.text) : undefined;
  if (json === undefined) throw notJson(request, answer);
  return json;
}
