import { expect, it } from 'vitest';
import { phaseRows } from '../bench/phases.ts';
import type { ReceivedSpan } from './support/otlp-server.ts';

const span = (traceId: string, name: string, beganMs: number, endedMs: number, job?: number): ReceivedSpan => ({
  traceId,
  spanId: `${traceId}${name}${beganMs}`,
  ...(job === undefined ? { parentSpanId: 'root', attributes: {} } : {}),
  attributes: job === undefined ? {} : { 'gitea.job.id': job, outcome: job === 9 ? 'gone' : 'running' },
  name,
  beganMs,
  endedMs,
  status: 0,
  resource: {},
});

it('phaseRows has each phase of each CI job that counts, in order', () => {
  const spans = [
    span('a', 'root', 100, 1_100, 1),
    span('a', 'wake', 200, 800),
    span('a', 'refresh', 200, 500),
    span('a', 'refresh', 500, 700),
    span('a', 'generate', 250, 300),
    span('a', 'generate', 550, 580),
    span('b', 'root', 0, 500, 2),
    span('b', 'wake', 0, 400),
    span('other', 'root', 0, 9_000, 3),
    span('gone', 'root', 0, 9_000, 9),
  ];
  const rows = phaseRows(
    spans,
    new Map([
      [1, 40],
      [2, undefined],
      [9, 0],
    ]),
  );

  expect(rows.map(({ phase, p50, p95, jobs }) => [phase, p50, p95, jobs])).toEqual([
    ['announce', 60, 60, 1],
    ['wake', 600, 600, 2],
    ['  refresh', 500, 500, 1],
    ['    generate', 30, 30, 1],
    ['webhook -> running', 1_000, 1_000, 2],
  ]);
});
