/**
 * The three requests that we make to Argo CD's API server (3.5.3). They need an account with `applications, get` and
 * `applications, sync` on the projects of the runners, and nothing else.
 *
 *   read     GET  …/applications/NAME               as it stands in the cluster, from no cache
 *   refresh  GET  …/applications/NAME?refresh=hard  sets annotation `refresh`, runs the plugin and compares; then answers
 *   sync     POST …/applications/NAME/sync          writes `.operation` and answers at once; applies the last refresh
 *
 * Lost wake-up: a comparison removes the annotation at its end, also one that was set again meanwhile. A refresh asked
 * for while another one is under way gets the other one's result. `AppState` shows it: `refreshPending`.
 *
 * Overlooked request: the controller's copy of the Application may be replaced by an older one, without the annotation
 * (`writeBackToInformer`). Then the request stays pending until the Application changes, or is compared by time.
 */
import * as z from 'zod';
import { systemClock } from '../../shared/clock.ts';
import { Failure } from '../../shared/failure.ts';
import type { Texts } from '../../shared/marks.ts';
import { parseUrl } from '../../shared/url.ts';
import { HttpClient, type HttpOptions } from '../http/http-client.ts';
import {
  type Deadline,
  failure,
  type HttpAnswer,
  type HttpRequest,
  insteadOfJson,
  isHeaderText,
  orProxy,
  parseJson,
  proxyWantsLogin,
} from '../http/request.ts';
import { Token } from '../tokens/token.ts';
import { AppShapeError, type AppState, readApplication } from './app-state.ts';
import type { ApplicationRef } from './application.ts';

export interface ArgoCdOptions extends Pick<HttpOptions, 'ca' | 'clock' | 'env' | 'onRequest'> {
  /** Base URL of the API server, perhaps with a root path. */
  readonly url: string;
  /** Returns the account's current token, trimmed. It is sent to the origin of `url` only. @throws Failure */
  readonly readToken: () => Promise<string>;
  /** Namespace of Argo CD, mostly `argocd`: Applications without a namespace live there. */
  readonly controlPlaneNamespace: string;
}

/** `normal`: everything is compared with what the plugin printed last. */
export type RefreshKind = 'hard' | 'normal';

/** `busy`: an operation is already under way, and no new one was started. */
export type SyncStart = 'started' | 'busy';

/** A hard refresh waits for a queue, git and the plugin: the caller's deadline limits it. */
const ATTEMPT_MS = 10 * 60_000;
/** Enough for all wakes, which the queue of `serve` limits: a refresh that hangs must not delay another one. */
const CONNECTIONS = 128;
/** An Application with 600 Jobs has 160 KB; etcd takes none above 1.5 MiB, and JSON adds little. */
const BODY_LIMIT = 8 * 1024 * 1024;

/** Replaces `syncPolicy.retry`: while Argo CD repeats a sync, it refuses all others. `serve` repeats by itself. */
const NO_RETRY = { limit: 0 };

const WRONG_URL =
  'the URL of Argo CD is not of the form https://argocd.example.com, without user and password. Correct --argocd-url.';
const WRONG_TOKEN =
  'the token of Argo CD is empty or holds characters that no token has. Make one with "argocd account generate-token" and put it into key argocd-token of Secret gitea-runners-serve.';

export type ArgoCd = ReturnType<typeof openArgoCd>;

/** Opens a client for one account of one Argo CD. @throws Failure: exit 2 for a wrong URL, exit 1 from its requests */
export function openArgoCd(options: ArgoCdOptions) {
  const { url, readToken, ca, clock = systemClock, controlPlaneNamespace, env, onRequest } = options;
  const parsed = parseUrl(url);
  if (parsed === undefined || !['http:', 'https:'].includes(parsed.protocol) || parsed.username !== '')
    throw new Failure('GR-ARGOCD-02', 2, WRONG_URL);
  const base = (parsed.origin + parsed.pathname).replace(/\/+$/, '');
  const limits = { attemptMs: ATTEMPT_MS, bodyLimit: BODY_LIMIT, connections: CONNECTIONS };
  const places = { caFrom: 'with --argocd-ca-file', addressIn: 'in --argocd-url' };
  const http = new HttpClient({ env, clock, ca, onRequest, ...limits, ...places });

  /** The Application as it is. Argo CD compares nothing for this. */
  const read = (app: ApplicationRef, deadline: Deadline): Promise<AppState> => get(app, 'read', {}, deadline);

  /** Runs the plugin and compares; takes a second or more. The head of this file says when the request is lost. */
  const refresh = (app: ApplicationRef, deadline: Deadline, kind: RefreshKind = 'hard'): Promise<AppState> =>
    get(app, 'refresh', { refresh: kind }, deadline);

  /** Starts a sync with prune of the last output, with the Application's own options. Does not wait for its end. */
  const sync = async (app: ApplicationRef, deadline: Deadline): Promise<SyncStart> => {
    const request: HttpRequest = {
      ...(await requestFor(app, 'sync', '/sync')),
      method: 'POST',
      // Argo CD compares the media type as a whole: with a charset it answers 415.
      body: JSON.stringify({ prune: true, retryStrategy: NO_RETRY, ...appNamespaceOf(app) }),
    };
    const answer = await http.send(request, deadline);
    if (isBusy(answer)) return 'busy';
    if (answer.status !== 200) throw refusal(request, answer, `sync, <project>/${objectOf(app)}`);
    jsonOf(request, answer);
    return 'started';
  };

  const get = async (app: ApplicationRef, verb: string, query: Texts, deadline: Deadline): Promise<AppState> => {
    const request = await requestFor(app, verb, '');
    request.url.search = new URLSearchParams({ ...query, ...appNamespaceOf(app) }).toString();
    const answer = await http.send(request, deadline);
    if (answer.status !== 200) throw refusal(request, answer, `get, <project>/${objectOf(app)}`);
    const state = stateIn(request, answer);
    if (state.name !== app.name || (app.namespace !== undefined && state.namespace !== app.namespace)) {
      throw wrongShape(request, 'another Application than the one asked for');
    }
    return state;
  };

  const requestFor = async (app: ApplicationRef, verb: string, below: string): Promise<HttpRequest> => {
    const secret = (await readToken()).trim();
    if (!isHeaderText(secret)) throw new Failure('GR-ARGOCD-01', 1, WRONG_TOKEN);
    const token = new Token(secret, base, 'Bearer');
    return {
      what: `${verb} Application ${objectOf(app)}`,
      method: 'GET',
      url: new URL(`${base}/api/v1/applications/${encodeURIComponent(app.name)}${below}`),
      authorization: (to) => token.headerFor(to),
      mayLeadTo: (to) => token.covers(to),
      queue: objectOf(app),
    };
  };

  /** Sent only for Applications elsewhere: then a wrong `controlPlaneNamespace` does no harm to the others. */
  const appNamespaceOf = ({ namespace }: ApplicationRef): { readonly appNamespace?: string } =>
    namespace === undefined || namespace === controlPlaneNamespace ? {} : { appNamespace: namespace };

  /** As RBAC writes it below the project (util/security/rbac.go): without the namespace when that is Argo CD's own. */
  const objectOf = (app: ApplicationRef): string => [...Object.values(appNamespaceOf(app)), app.name].join('/');

  return { clock, read, refresh, sync, close: () => http.close() };
}

function stateIn(request: HttpRequest, answer: HttpAnswer): AppState {
  const json = jsonOf(request, answer);
  try {
    return readApplication(json);
  } catch (error) {
    if (error instanceof AppShapeError) throw wrongShape(request, error.message);
    throw error;
  }
}

/** Parses an answer. The gateway always says application/json; anything else comes from a proxy or portal before it. */
function jsonOf(request: HttpRequest, answer: HttpAnswer): unknown {
  const json = answer.mediaType === 'application/json' ? parseJson(answer.text) : undefined;
  if (json !== undefined) return json;
  throw wrongContent(request, answer);
}

function wrongContent(request: HttpRequest, answer: HttpAnswer, status = ''): Failure {
  const remedy = orProxy(`${BASE}, and that no login page or firewall stands before it`, answer, request);
  return failure(request, 'GR-ARGOCD-10', insteadOfJson(answer) + status, remedy);
}

/** An error as the gateway writes it: gRPC code and message (grpc-gateway v1, runtime/errors.go). */
const GatewayError = z.object({ code: z.number(), message: z.string() });

const BASE = 'Check that the URL is the base address of Argo CD, with its root path if it has one';

const INVALID_ARGUMENT = 3;
const FAILED_PRECONDITION = 9;

/** True if an operation runs already. Argo CD sends the same codes for other reasons, so its text decides. */
function isBusy(answer: HttpAnswer): boolean {
  const { code, message } = (answer.status === 400 && readError(answer)) || {};
  return code === FAILED_PRECONDITION && message?.includes('another operation is already in progress') === true;
}

/** Makes the Failure for any status except 200. A missing Application is a 403, too. @param right as in an RBAC line */
function refusal(request: HttpRequest, answer: HttpAnswer, right: string): Failure {
  const { status } = answer;
  const error = readError(answer);
  const say = failure.bind(undefined, request);
  // The gateway always answers in JSON. So this answer comes from a proxy before it.
  if ((status === 401 || status === 403) && !error) return wrongContent(request, answer, ` (${status})`);
  switch (status) {
    case 401:
      return say('GR-ARGOCD-03', 'Argo CD does not accept the token (401)', NEW_TOKEN);
    case 403: {
      if (error?.message.includes('sync window'))
        return say('GR-ARGOCD-05', 'a sync window of the project forbids it (403)', IN_WINDOW);
      const grant = `Give its account "${lineOf(error?.message, right)}" in argocd-rbac-cm`;
      return say('GR-ARGOCD-04', 'Argo CD forbids it (403)', `${grant}; ${OR_NOT_THERE}`);
    }
    case 404:
      return say('GR-ARGOCD-06', 'not found (404)', BASE);
    case 407:
      return proxyWantsLogin(request);
    case 429:
    case 503: {
      const remedy = 'It is tried again; look at argocd-server';
      return say('GR-ARGOCD-07', `Argo CD is busy or starting (${status})`, remedy, 'rate-limited');
    }
    default: {
      if (status < 500) return otherFailure(request, status, status === 400 ? error?.code : undefined);
      const remedy = 'Look into the log of argocd-server';
      return say('GR-ARGOCD-08', `an error of the server (${status})`, remedy, 'server-error');
    }
  }
}

const NEW_TOKEN =
  'Make a new one with "argocd account generate-token" and put it into key argocd-token of Secret gitea-runners-serve: it is expired, revoked or of another Argo CD';
const IN_WINDOW = 'Wait for its end, or allow manual syncs in the window ("manualSync: true")';
const OR_NOT_THERE =
  'the same is answered when the Application does not exist, or when its namespace is not among application.namespaces';

/** Returns the RBAC line. Argo CD names project and account if the account may at least see the Application. */
function lineOf(message = '', right: string): string {
  const [, known, account] = /: applications, (\w+, [\w./-]+), sub: ([\w.-]+)/.exec(message) ?? [];
  return `p, ${account ?? '<account>'}, applications, ${known ?? right}, allow`;
}

/** Makes the Failure for JSON that is not this Application. `detail` is a clause without values from the answer. */
function wrongShape(request: HttpRequest, detail: string): Failure {
  const remedy = 'Check what stands before Argo CD; if nothing does, report this with the version of Argo CD';
  return failure(request, 'GR-ARGOCD-11', `the answer is not what Argo CD sends: ${detail}`, remedy);
}

/** Makes the Failure for any other status. @param code of gRPC */
function otherFailure(request: HttpRequest, status: number, code: number | undefined): Failure {
  if (code === INVALID_ARGUMENT) {
    const received = 'Argo CD does not accept the project of the Application (400, InvalidArgument)';
    const remedy =
      'The project does not exist, or its sourceNamespaces do not allow the namespace of the Application: correct spec.project or the AppProject';
    return failure(request, 'GR-ARGOCD-13', received, remedy);
  }
  if (code === FAILED_PRECONDITION) {
    const remedy =
      'The Application is being deleted, its git repository cannot be reached, or its sync options are forbidden: look at it in Argo CD';
    return failure(request, 'GR-ARGOCD-12', 'Argo CD cannot do that now (400, FailedPrecondition)', remedy);
  }
  const remedy = 'Check that the URL is that of Argo CD, with the right http or https';
  return failure(request, 'GR-ARGOCD-09', `an unexpected status (${status})`, remedy);
}

function readError({ mediaType, text }: HttpAnswer): z.infer<typeof GatewayError> | undefined {
  return mediaType === 'application/json' ? GatewayError.safeParse(parseJson(text)).data : undefined;
}
