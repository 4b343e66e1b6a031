/**
 * Tests that any answer of Gitea ends as a whole look or as one Failure of a known code, in time, and without the
 * token.
 */
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { observe } from '../../src/clients/gitea/observe-gitea.ts';
import { Token } from '../../src/clients/tokens/token.ts';
import type { Look } from '../../src/planner/evidence.ts';
import { Failure } from '../../src/shared/failure.ts';
import type { Scope } from '../../src/shared/scope.ts';
import { jobRow, runnerRow } from '../support/gitea-stand-in.ts';
import { serve } from '../support/server.ts';
import { expectShowable, runCampaign, TIMEOUT_MS } from './campaign.ts';
import { byteChanges, nodeChanges, sometimes } from './mutate.ts';

const SECRET = 's3cret-t0ken-of-the-fuzzer';
/** Stands in every body and in headers: no part of an answer may be shown. */
const LEAK = 'leak-of-an-answer';
const DEADLINE_MS = 1500;

/** Pieces of text that mean something there, between `¦`. */
const TOKENS = [
  ...'{¦}¦[¦]¦,¦:¦"¦\\u0000¦\\ud800¦null¦true¦1e999¦-1'.split('¦'),
  '9'.repeat(20),
  ...'\0¦\ufeff¦"total_count":0¦"total_count":1¦"jobs":[]¦"runners":null¦"id":1¦"status":"queued"'.split('¦'),
  '<html>',
  'x'.repeat(3000),
];

/** Returns a good answer of Gitea, page by page. */
function goodAnswer(url: URL): unknown {
  const at = url.pathname.replace('/api/v1', '');
  const limit = Number(url.searchParams.get('limit') ?? 30);
  const page = Math.max(1, Number(url.searchParams.get('page') ?? 1));
  const cut = (rows: readonly unknown[]) => rows.slice((page - 1) * limit, page * limit);
  if (at === '/version') return { version: '1.27.3', leak: LEAK };
  if (at === '/user') return { id: 1, login: 'bot', leak: LEAK };
  if (at === '/settings/api') return { max_response_items: 50, leak: LEAK };
  if (at.endsWith('/repos'))
    return [{ id: 1, full_name: 'anna/web', name: 'web', owner: { login: 'anna' }, has_actions: true }];
  if (at.endsWith('/runners')) return { runners: cut(RUNNERS), total_count: RUNNERS.length, leak: LEAK };
  const wanted = url.searchParams.getAll('status');
  const rows = JOBS.filter(({ status }) => wanted.includes(status));
  return { jobs: cut(rows), total_count: rows.length, leak: LEAK };
}

const JOBS = [
  ...Array.from({ length: 4 }, (_, index) => jobRow(100 + index, 'queued', { name: LEAK })),
  ...Array.from({ length: 2 }, (_, index) => jobRow(10 + index, 'in_progress', { runner_name: `ci-${index}` })),
  ...Array.from({ length: 2 }, (_, index) => jobRow(1 + index, 'completed', { conclusion: 'success' })),
];
const RUNNERS = Array.from({ length: 2 }, (_, index) => runnerRow(index + 1, `ci-${index}`, { busy: true }));

/** A change of one answer. */
interface Bend {
  /** Number of the changed request in the look, from 0. Other requests get good answers. */
  readonly request: number;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly change: (value: unknown) => unknown;
  readonly bytes: (input: Uint8Array) => Uint8Array;
  readonly end: 'whole' | 'cut' | 'reset' | 'again';
}

const bend: fc.Arbitrary<Bend> = fc.record({
  request: fc.nat(6),
  status: fc.oneof(
    { weight: 10, arbitrary: fc.constant(200) },
    { weight: 1, arbitrary: fc.constantFrom(204, 206, 301, 304, 400, 401, 403, 404, 407, 422, 429, 500, 502, 503) },
  ),
  headers: fc.oneof(
    { weight: 10, arbitrary: fc.constant({}) },
    {
      weight: 2,
      arbitrary: fc.constantFrom<Record<string, string>>(
        { 'content-type': 'text/html' },
        { 'content-type': `application/json; charset=${LEAK}` },
        { 'content-encoding': 'gzip' },
        { 'retry-after': '1' },
        { 'retry-after': '99999999999' },
        { 'retry-after': LEAK },
        { location: `/${LEAK}` },
        { location: `http://127.0.0.1:9/${LEAK}` },
        { 'x-total-count': '-1' },
        { 'set-cookie': LEAK },
        { connection: 'close' },
      ),
    },
  ),
  change: sometimes(nodeChanges, 3, 1),
  bytes: sometimes(byteChanges(TOKENS), 1, 6),
  end: fc.oneof(
    { weight: 12, arbitrary: fc.constant<'whole'>('whole') },
    { weight: 2, arbitrary: fc.constantFrom('cut', 'reset', 'again') },
  ),
});

const scope = fc.constantFrom<Scope>(
  { kind: 'global' },
  { kind: 'org', org: 'acme' },
  { kind: 'user', user: 'anna' },
  { kind: 'repo', owner: 'acme', repo: 'web' },
);

/** Answers well but for the bent requests. */
function answer(request: IncomingMessage, response: ServerResponse, bends: readonly Bend[], count: number): void {
  const good = goodAnswer(new URL(request.url ?? '/', 'http://fake'));
  const bent = bends.find((one) => one.request === count);
  if (!bent) {
    response.writeHead(200, { 'content-type': 'application/json', 'x-total-count': '1' });
    response.end(JSON.stringify(good));
    return;
  }
  const body = bent.bytes(Buffer.from(JSON.stringify(bent.change(good)) ?? ''));
  if (bent.end === 'reset') return void request.socket.destroy();
  response.writeHead(bent.status, {
    'content-type': 'application/json',
    'x-leak': LEAK,
    'x-total-count': '1',
    ...bent.headers,
  });
  if (bent.end === 'cut') {
    response.write(body, () => request.socket.destroy());
    return;
  }
  // A second answer that nobody asked for follows the whole one.
  if (bent.end === 'again')
    response.once('finish', () => request.socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx'));
  response.end(body);
}

async function listening(): Promise<{ readonly url: string; readonly plan: (bends: readonly Bend[]) => void }> {
  const state: { bends: readonly Bend[]; count: number } = { bends: [], count: 0 };
  const { origin: url } = await serve((request, response) => {
    answer(request, response, state.bends, state.count);
    state.count += 1;
  });
  return { url, plan: (bends) => Object.assign(state, { bends, count: 0 }) };
}

const DOCUMENTED = new Set(readFileSync('docs/errors.md', 'utf8').match(/GR-(?:GITEA|HTTP)-\d\d/g));

test(
  'gitea',
  async () => {
    const { url, plan } = await listening();
    const lines: string[] = [];
    await runCampaign({
      name: 'gitea',
      input: fc.record({
        scope,
        bends: fc.array(bend, { minLength: 1, maxLength: 3 }),
        includeBlocked: fc.boolean(),
        ahead: fc.boolean(),
      }),
      mostCpuMs: 2000,
      rounds: 1,
      check: async ({ scope: wanted, bends, includeBlocked, ahead }) => {
        plan(bends);
        lines.length = 0;
        const token = new Token(SECRET, new URL(url).origin);
        const start = performance.now();
        const outcome = await observe([{ key: 'look', url, scope: wanted, token }], {
          deadlineMs: DEADLINE_MS,
          includeBlocked,
          ahead,
          env: {},
          onRequest: (line) => lines.push(JSON.stringify(line)),
        }).catch((error: unknown) => error);
        // The time limit, and as much again for a machine that is busy.
        expect(performance.now() - start).toBeLessThan(DEADLINE_MS + 10_000);
        if (outcome instanceof Failure) expectGoodFailure(outcome);
        else expectGoodLook((outcome as ReadonlyMap<string, Look>).get('look'));
        for (const line of lines) expectShowable(line, [SECRET]);
      },
    });
  },
  TIMEOUT_MS,
);

function expectGoodFailure({ code, exit, message }: Failure): void {
  expect(DOCUMENTED).toContain(code);
  expect([1, 3]).toContain(exit);
  expect(message.split('\n').length).toBeLessThanOrEqual(20);
  expect(message.length).toBeLessThan(4000);
  expectShowable(message, [SECRET, LEAK]);
}

function expectGoodLook(look: Look | undefined): void {
  if (!look) throw new Error('neither a look nor a Failure');
  expect(new Set(look.jobs.map(({ id }) => id)).size).toBe(look.jobs.length);
  for (const { id, attempt, repository, labels, status, createdAtMs, startedAtMs, completedAtMs } of look.jobs) {
    expect(Number.isSafeInteger(id) && Number.isSafeInteger(attempt) && attempt >= 0).toBe(true);
    expect(repository).toMatch(/^[\w.-]+\/[\w.-]+$/);
    expect(labels.every((label) => typeof label === 'string')).toBe(true);
    expect(['queued', 'blocked', 'in_progress', 'completed']).toContain(status);
    for (const time of [createdAtMs, startedAtMs ?? 0, completedAtMs ?? 0]) expect(Number.isFinite(time)).toBe(true);
  }
  for (const { id, name, online, busy } of look.runners) {
    expect([Number.isSafeInteger(id), typeof name, typeof online, typeof busy]).toEqual([
      true,
      'string',
      'boolean',
      'boolean',
    ]);
  }
}
