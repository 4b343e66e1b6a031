/**
 * `gitea.json` of a case -> the requests that may come, each with its whole answer.
 *
 *     recorded   names of files in test/clients/gitea/recorded: a real Gitea's own bytes
 *     levels     rows of one level in short; written out here as that version of Gitea writes its lists
 *     answers    anything else, word for word
 *
 * Each is an exact path with query. A request that is not here fails the case, as does an answer nobody asks for.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';

const RECORDED = join(import.meta.dirname, '..', 'clients', 'gitea', 'recorded');
const DAY = '2026-11-21';
const EPOCH = '1970-01-01T00:00:00Z';
const ROOT = 'https://gitea.example.com';

/** One question and its answer. */
export interface Exchange {
  /** Path and query. */
  readonly request: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  /** One look may ask this several times. */
  readonly again?: boolean;
  /** When a real Gitea answered it. */
  readonly recordedAtMs?: number;
  /** Nobody need ask this. */
  readonly maybe?: boolean;
}

const Headers = z.record(z.string(), z.string()).default({});
const Row = z.looseObject({ id: z.int(), status: z.string().default('queued'), repo: z.string().default('acme/web') });
type Row = z.infer<typeof Row>;

const Level = z.strictObject({
  /** `/admin`, `/orgs/acme`, `/user`, `/repos/acme/web`. */
  at: z.string(),
  jobs: z.array(Row).default([]),
  /** Absent: the runner list of this level is never asked for. */
  runners: z.array(z.looseObject({ name: z.string() })).optional(),
  /** A group keeps a warm pool: everything is read although no job is active. */
  pool: z.boolean().optional(),
});
type Level = z.infer<typeof Level>;

const Answer = z.union([
  /** A real answer to another question; `rows`: only so many rows of a jobs list, as on a Gitea with small pages. */
  z.strictObject({
    request: z.string(),
    recorded: z.string(),
    rows: z.int().optional(),
    maybe: z.boolean().default(false),
  }),
  z.strictObject({
    request: z.string(),
    status: z.int().default(200),
    headers: Headers,
    body: z.unknown(),
    /** May come several times in one look: an answer that is doubted. */
    again: z.boolean().default(false),
    /** May never be asked for: another request of the same moment fails. */
    maybe: z.boolean().default(false),
  }),
]);
type Answer = z.infer<typeof Answer>;

const GiteaFile = z.strictObject({
  /** Answers `/api/v1/version` and picks the form of the rows in `levels`. */
  version: z.string().optional(),
  /** Path below which this Gitea lives, e.g. `/git`. */
  base: z.string().default(''),
  recorded: z.array(z.string()).default([]),
  levels: z.array(Level).default([]),
  answers: z.array(Answer).default([]),
});

const Recording = z.object({
  recordedAt: z.iso.datetime(),
  request: z.object({ path: z.string() }),
  answer: z.object({ status: z.int(), headers: Headers, body: z.unknown() }),
});

/** All exchanges of a `gitea.json`. Throws when two of them are for the same request. */
export function readAnswers(text: string): readonly Exchange[] {
  const file = GiteaFile.parse(JSON.parse(text));
  const version = file.version ?? '1.27.3';
  const exchanges = [
    ...(file.version === undefined ? [] : [ok('/version', { version })]),
    ...file.recorded.map(readRecording),
    ...file.levels.flatMap((level) => writeOut(level, version)),
    ...file.answers.map(readAnswer),
  ].map((exchange) => ({ ...exchange, request: file.base + exchange.request }));
  const known = new Set<string>();
  for (const { request } of exchanges) {
    if (known.has(request)) throw new Error(`gitea.json answers ${request} twice`);
    known.add(request);
  }
  return exchanges;
}

const JobsBody = z.object({ jobs: z.array(z.unknown()), total_count: z.int() });

function readAnswer(answer: Answer): Exchange {
  if ('recorded' in answer) {
    const { request, recorded, rows, maybe } = answer;
    const exchange = readRecording(recorded);
    if (rows === undefined) return { ...exchange, request, maybe };
    const body = JobsBody.parse(exchange.body);
    return { ...exchange, request, maybe, body: { ...body, jobs: body.jobs.slice(0, rows) } };
  }
  return { ...answer, headers: { 'content-type': JSON_TYPE, ...answer.headers } };
}

function readRecording(name: string): Exchange {
  const { recordedAt, request, answer } = Recording.parse(
    JSON.parse(readFileSync(join(RECORDED, `${name}.json`), 'utf8')),
  );
  return { request: request.path, ...answer, recordedAtMs: Date.parse(recordedAt) };
}

const JSON_TYPE = 'application/json;charset=utf-8';

function ok(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Exchange {
  return { request: `/api/v1${path}`, status: 200, headers: { 'content-type': JSON_TYPE, ...headers }, body };
}

/** The lists that one look by `generate` and one by `explain` read. */
function writeOut({ at, jobs, runners, pool }: Level, version: string): readonly Exchange[] {
  const sorts = isAtLeast(version, 27);
  const list = (states: readonly string[], newestFirst = false): Exchange => {
    const rows = jobs.filter(({ status }) => states.includes(status));
    if (sorts) rows.sort((a, b) => (newestFirst ? b.id - a.id : a.id - b.id));
    const query = [...states.map((state) => `status=${state}`), ...(newestFirst ? ['sort=id', 'order=desc'] : [])];
    const body = { jobs: rows.map((row) => writeJob(row, version)), total_count: rows.length };
    const headers: Record<string, string> = isAtLeast(version, 26) ? { 'x-total-count': String(rows.length) } : {};
    return ok(`${at}/actions/jobs?${query.join('&')}&limit=50&page=1`, body, headers);
  };
  const first = [list(['queued', 'in_progress']), list(['waiting', 'queued', 'in_progress'])];
  const isActive = jobs.some(({ status }) => status === 'queued' || status === 'in_progress');
  if (!isActive && !pool) return first;
  const rows = runners?.map((row, index) => ({ id: index + 1, ...RUNNER, ...row }));
  return [
    ...first,
    list(['completed'], sorts),
    ...(rows ? [ok(`${at}/actions/runners?limit=50&page=1`, { runners: rows, total_count: rows.length })] : []),
  ];
}

const RUNNER = {
  status: 'online',
  busy: false,
  disabled: false,
  ephemeral: true,
  labels: [{ id: 0, name: 'linux', type: 'custom' }],
};

function isAtLeast(version: string, minor: number): boolean {
  return Number(version.split('.')[1]) >= minor;
}

/** A job as `services/convert` writes it. Times may be given as `03:39:00`. */
function writeJob({ repo, ...row }: Row, version: string): unknown {
  const claimed = row.status === 'in_progress' || row.status === 'completed';
  const run = row['run_id'] ?? row.id;
  const counted = isAtLeast(version, 27) || claimed ? 1 : 0;
  return {
    url: `${ROOT}/api/v1/repos/${repo}/actions/jobs/${row.id}`,
    html_url: `${ROOT}/${repo}/actions/runs/${run}/jobs/${row.id}`,
    run_id: run,
    run_url: `${ROOT}/api/v1/repos/${repo}/actions/runs/${run}`,
    name: 'build',
    labels: ['linux'],
    run_attempt: counted,
    head_sha: '1b21b31d1bf740f6fe44a81236bd62b392616a63',
    head_branch: 'main',
    ...('runner_name' in row && { runner_id: 1 }),
    ...(row.status === 'completed' && { conclusion: 'success' }),
    steps: isAtLeast(version, 26) ? [] : null,
    ...row,
    created_at: time(row['created_at'] ?? '03:39:00'),
    started_at: time(row['started_at'] ?? (claimed ? '03:39:10' : undefined)),
    completed_at: time(row['completed_at'] ?? (row.status === 'completed' ? '03:39:30' : undefined)),
  };
}

function time(text: unknown): string {
  if (typeof text !== 'string') return EPOCH;
  return /^\d\d:\d\d:\d\d$/.test(text) ? `${DAY}T${text}Z` : text;
}
