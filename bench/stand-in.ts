/** A Gitea 1.27 for benches: one org with so many queued jobs, and nothing else. An answer is made once a minute. */
import { createServer } from 'node:http';

const PAGE = 50;
/** Age of jobs at a sync, ms. For older ones, the planner looks for runners that have not come. */
const RECENT_MS = 60_000;

export interface StandIn {
  readonly url: string;
  /** Returns the requests so far: first pages and requests without pages, and further pages. */
  readonly requests: () => { readonly first: number; readonly further: number };
  readonly close: () => void;
}

/** @param delayMs what each answer waits, as on a network with this round trip (connections are made at once). */
export async function standIn(count: number, delayMs = 0): Promise<StandIn> {
  const pages = new Map<string, { readonly body: string; readonly madeMs: number }>();
  let first = 0;
  let further = 0;
  const recentBody = (key: string) => {
    const known = pages.get(key);
    return known && Date.now() - known.madeMs < RECENT_MS ? known.body : undefined;
  };
  const makeBody = (key: string, path: string, total: number, page: number) => {
    const madeMs = Date.now();
    const body = JSON.stringify(answer(path, total, page, `${new Date(madeMs).toISOString().slice(0, 19)}Z`));
    pages.set(key, { body, madeMs });
    return body;
  };
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://localhost');
    const queued = url.searchParams.getAll('status').includes('queued');
    const page = Number(url.searchParams.get('page') ?? 1);
    if (page === 1) first += 1;
    else further += 1;
    const key = `${url.pathname.split('/').at(-1)} ${queued} ${page}`;
    const body = recentBody(key) ?? makeBody(key, url.pathname, queued ? count : 0, page);
    response.setHeader('Content-Type', 'application/json');
    if (delayMs === 0) response.end(body);
    else setTimeout(() => response.end(body), delayMs);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return { url: `http://127.0.0.1:${address.port}`, requests: () => ({ first, further }), close: () => server.close() };
}

function answer(path: string, total: number, page: number, createdAt: string): unknown {
  if (path.endsWith('/version')) return { version: '1.27.3' };
  if (path.endsWith('/runners')) return { runners: [], total_count: 0 };
  const from = (page - 1) * PAGE;
  const rows = Math.max(0, Math.min(PAGE, total - from));
  return { jobs: Array.from({ length: rows }, (_, index) => job(from + index, createdAt)), total_count: total };
}

/** Makes a job as long as Gitea's own rows, without steps. */
function job(index: number, createdAt: string): unknown {
  const api = 'https://gitea.example.com/api/v1/repos/acme/web/actions';
  return {
    id: 1000 + index,
    run_id: index + 1,
    run_attempt: 1,
    name: `build ${index}`,
    labels: ['ubuntu-latest'],
    status: 'queued',
    url: `${api}/jobs/${1000 + index}`,
    run_url: `${api}/runs/${index}`,
    html_url: `https://gitea.example.com/acme/web/actions/runs/${index}/jobs/0`,
    head_sha: '035e298200000000000000000000000000000000',
    steps: [],
    created_at: createdAt,
    started_at: '1970-01-01T00:00:00Z',
    completed_at: '1970-01-01T00:00:00Z',
  };
}
