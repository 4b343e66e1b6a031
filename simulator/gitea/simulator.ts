/**
 * A Gitea for the demo and the tests: real HTTP on 127.0.0.1, real answers (texts, order, pages, versions), no database.
 *
 *     test or demo ──gitea.push(…), gitea.poll(…)──► state ◄──GET /api/v1/…── program under test
 *
 * What it does is what Gitea's source does or what was measured on real servers; each place names its source.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { authenticate, type Doer, ErrorAnswer } from './access.ts';
import type { Answer, Setup } from './ask.ts';
import { Gitea } from './gitea.ts';
import { answer } from './routes.ts';
import type { GiteaVersion } from './versions.ts';

export interface SimulatorOptions {
  /** Default `1.27.3`. */
  readonly version?: GiteaVersion;
  /** Milliseconds since 1970; default the real clock. */
  readonly now?: () => number;
  /** Default 0: any free port. */
  readonly port?: number;
  /** Sub-path of ROOT_URL without a trailing slash, e.g. `/git`. */
  readonly subPath?: string;
  /** ROOT_URL as the answers show it, when Gitea does not know the name under which it is reached. */
  readonly rootUrl?: string;
  /** `MAX_RESPONSE_ITEMS`, default 50. */
  readonly maxResponseItems?: number;
  /** `DEFAULT_PAGING_NUM`, default 30. */
  readonly defaultPagingNum?: number;
  /** Order of unordered lists (up to 1.26), default `by-id`. */
  readonly databaseOrder?: Setup['databaseOrder'];
}

/** One received request. Headers are left out on purpose: they hold tokens. */
export interface SeenRequest {
  readonly method: string;
  /** Path and query as sent, sub-path included. */
  readonly target: string;
}

/**
 * Called before each request is answered. It may change the simulator's state (a job claimed between two pages), or
 * send an error by itself and return true.
 */
export type Intercept = (request: IncomingMessage, response: ServerResponse) => boolean | Promise<boolean>;

export interface Simulator {
  /** Base URL without a trailing slash, sub-path included: what a RunnerGroup has in `spec.gitea.url`. */
  readonly url: string;
  readonly gitea: Gitea;
  /** Every request so far, oldest first. */
  readonly requests: readonly SeenRequest[];
  /** Sets or, without an argument, removes the hook. */
  intercept(hook?: Intercept): void;
  /** Ends the server and all its connections. */
  close(): Promise<void>;
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString();
}

function send(response: ServerResponse, { status, body, headers }: Answer): void {
  if (body === undefined) {
    const text = status === 404 ? '404 page not found\n' : '';
    response.writeHead(status, { ...headers, ...(text ? { 'Content-Type': 'text/plain; charset=utf-8' } : {}) });
    response.end(text);
    return;
  }
  response.writeHead(status, { ...headers, 'Content-Type': 'application/json;charset=utf-8' });
  response.end(`${JSON.stringify(body)}\n`);
}

/** An error in the form `{"message","url"}` (services/context/api.go, APIError). */
function refusalAnswer({ status, message, errors }: ErrorAnswer, setup: Setup): Answer {
  const body = { message, url: `${setup.root}/api/swagger`, ...(errors === undefined ? {} : { errors }) };
  return { status, body };
}

/** A malformed percent sign in a path, which Gitea answers with 400. */
function isBadPath(error: unknown): boolean {
  return error instanceof URIError;
}

async function handle(gitea: Gitea, setup: Setup, subPath: string, request: IncomingMessage): Promise<Answer> {
  const url = new URL(request.url ?? '/', 'http://simulator');
  if (!url.pathname.startsWith(`${subPath}/`)) return { status: 404 };
  const method = request.method ?? 'GET';
  const body = await bodyOf(request);
  try {
    const doer: Doer = authenticate(gitea.state, request);
    const path = url.pathname.slice(subPath.length);
    return answer({ state: gitea.state, setup, doer, method, path, query: url.searchParams, body });
  } catch (error) {
    if (error instanceof ErrorAnswer) return refusalAnswer(error, setup);
    if (isBadPath(error)) return { status: 400 };
    throw error;
  }
}

/** Starts a simulator. Close it in the test's teardown. */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const gitea = new Gitea(options.version ?? '1.27.3', options.now ?? Date.now);
  const subPath = options.subPath ?? '';
  const requests: SeenRequest[] = [];
  let hook: Intercept | undefined;
  let setup: Setup;

  const server = createServer(async (request, response) => {
    requests.push({ method: request.method ?? 'GET', target: request.url ?? '/' });
    try {
      if (await hook?.(request, response)) return;
      send(response, await handle(gitea, setup, subPath, request));
    } catch (error) {
      // A mistake in the simulator or in a hook must not look like an answer of Gitea.
      response.destroy(error instanceof Error ? error : new Error(String(error)));
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, '127.0.0.1', resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the simulator has no port');
  const url = `http://127.0.0.1:${address.port}${subPath}`;
  setup = {
    root: options.rootUrl ?? url,
    maxResponseItems: options.maxResponseItems ?? 50,
    defaultPagingNum: options.defaultPagingNum ?? 30,
    databaseOrder: options.databaseOrder ?? 'by-id',
  };

  return {
    url,
    gitea,
    requests,
    intercept: (next) => {
      hook = next;
    },
    close: () =>
      new Promise((resolve, reject) => {
        server.close((error) => (error ? reject(error) : resolve()));
        server.closeAllConnections();
      }),
  };
}
