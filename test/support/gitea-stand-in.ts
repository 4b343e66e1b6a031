/** A Gitea small enough to be bent: lists with real paging over rows that a test may change between two requests. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Listening, serve } from './server.ts';

export const EPOCH = '1970-01-01T00:00:00Z';

/** A job as Gitea 1.27 writes it. */
export interface JobRow {
  readonly [field: string]: unknown;
  readonly id: number;
  readonly status: string;
}

export function jobRow(id: number, status = 'queued', fields: Readonly<Record<string, unknown>> = {}): JobRow {
  return {
    id,
    url: `https://gitea.example.com/api/v1/repos/acme/web/actions/jobs/${id}`,
    html_url: `https://gitea.example.com/acme/web/actions/runs/5/jobs/${id}`,
    run_id: 5,
    run_url: 'https://gitea.example.com/api/v1/repos/acme/web/actions/runs/5',
    name: `build ${id}`,
    labels: ['ubuntu-latest'],
    run_attempt: 1,
    head_sha: 'abc',
    status,
    steps: null,
    created_at: '2026-08-01T10:00:00Z',
    started_at: status === 'queued' ? EPOCH : '2026-08-01T10:01:00Z',
    completed_at: status === 'completed' ? '2026-08-01T10:02:00Z' : EPOCH,
    ...fields,
  };
}

export interface RunnerRow {
  readonly [field: string]: unknown;
  readonly id: number;
}

export function runnerRow(id: number, name: string, fields: Readonly<Record<string, unknown>> = {}): RunnerRow {
  return { id, name, status: 'online', busy: false, disabled: false, ephemeral: true, labels: [], ...fields };
}

export function jobRows(from: number, count: number, status = 'queued'): JobRow[] {
  return Array.from({ length: count }, (_, index) => jobRow(from + index, status));
}

/** A request that the fake received. */
export interface Seen {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly line: string;
  readonly authorization: string | undefined;
}

/** Answers in place of the fake when it returns true. */
export type Intercept = (seen: Seen, response: ServerResponse, request: IncomingMessage) => boolean | undefined;

export interface FakeOptions {
  readonly version?: string;
  readonly jobs?: JobRow[];
  readonly runners?: RunnerRow[];
  readonly login?: string;
  readonly repos?: readonly unknown[];
  readonly maxItems?: number;
  /** Path of the server below which Gitea is. */
  readonly subPath?: string;
  readonly intercept?: Intercept;
}

export interface FakeGitea extends Listening {
  readonly url: string;
  readonly seen: Seen[];
  /** `path?query` of every request, the version and paging parameters left out. */
  lines(): readonly string[];
}

export async function fakeGitea(options: FakeOptions = {}): Promise<FakeGitea> {
  const seen: Seen[] = [];
  const answer = answerer(options);
  const listening = await serve((request, response) => {
    const question = see(request);
    seen.push(question);
    if (options.intercept?.(question, response, request)) return;
    answer(question, response);
  });
  const lines = () => seen.map(({ line }) => line).filter((line) => !line.endsWith('/version'));
  return { ...listening, url: listening.origin + (options.subPath ?? ''), seen, lines };
}

export function see(request: IncomingMessage): Seen {
  const url = new URL(request.url ?? '/', 'http://fake');
  const query = new URLSearchParams(url.search);
  const shown = new URLSearchParams(url.search);
  shown.delete('limit');
  const text = shown.toString();
  return {
    path: url.pathname,
    query,
    line: url.pathname + (text && `?${text}`),
    authorization: request.headers.authorization,
  };
}

/** Returns the answers of a healthy Gitea. */
export function answerer(options: FakeOptions): (seen: Seen, response: ServerResponse) => void {
  const {
    version = '1.27.3',
    jobs = [],
    runners = [],
    login = 'bot',
    repos = [],
    maxItems = 50,
    subPath = '',
  } = options;
  return ({ path, query }, response) => {
    const at = path.slice(`${subPath}/api/v1`.length);
    if (at === '/version') return json(response, { version });
    if (at === '/user') return json(response, { id: 1, login });
    if (at === '/settings/api') return json(response, { max_response_items: maxItems });
    if (/^\/users\/[^/]+\/repos$/.test(at)) {
      return json(response, page(repos, query, maxItems), 200, { 'x-total-count': String(repos.length) });
    }
    if (at.endsWith('/actions/runners')) {
      return json(response, { runners: page(runners, query, maxItems), total_count: runners.length });
    }
    if (at.endsWith('/actions/jobs')) {
      const wanted = query.getAll('status');
      const found = jobs.filter(({ status }) => wanted.includes(status));
      if (query.get('order') === 'desc' && /^1\.2[7-9]/.test(version)) found.sort((a, b) => b.id - a.id);
      return json(response, { jobs: page(found, query, maxItems), total_count: found.length });
    }
    return json(response, { message: 'not found' }, 404);
  };
}

function page<T>(rows: readonly T[], query: URLSearchParams, maxItems: number): readonly T[] {
  const size = Math.min(Number(query.get('limit') ?? 30), maxItems);
  const start = (Math.max(1, Number(query.get('page') ?? 1)) - 1) * size;
  return rows.slice(start, start + size);
}

/** Answers with JSON. True, as an `Intercept` says that it has answered. */
export function json(
  response: ServerResponse,
  body: unknown,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): true {
  response.writeHead(status, { 'content-type': 'application/json;charset=utf-8', ...headers });
  response.end(JSON.stringify(body));
  return true;
}
