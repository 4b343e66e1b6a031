/** Rows whose fields have the wrong type, size or value. */
import { EPOCH, runnerRow } from '../../../support/gitea-stand-in.ts';
import {
  answers,
  BAD_SHAPE,
  body,
  type Expected,
  type HostileAnswer,
  job,
  LEAK,
  ONE_JOB,
  row,
  rows,
} from './answer.ts';

const text = (fields: string): string =>
  `{"total_count":1,"jobs":[{${JSON.stringify(job(17)).slice(1, -1).replace('"id":17', fields)}}]}`;

const IDS: readonly HostileAnswer[] = [
  row('a negative id', BAD_SHAPE, { id: -7 }),
  row('id null', BAD_SHAPE, { id: null }),
  row('id true', BAD_SHAPE, { id: true }),
  row('an id in a list', BAD_SHAPE, { id: [17] }),
  body('an id of 2^53 + 1, which JSON.parse rounds', BAD_SHAPE, text('"id":9007199254740993')),
  body('an id with a fraction', BAD_SHAPE, text('"id":17.5')),
  body('an id beyond all numbers', BAD_SHAPE, text('"id":1e999')),
  body('an id that is NaN', { code: 'GR-GITEA-07' }, text('"id":NaN')),
  body('an id in hexadecimal', { code: 'GR-GITEA-07' }, text('"id":0x11')),
  body('an id with a leading zero', { code: 'GR-GITEA-07' }, text('"id":017')),
  body('the largest id there is', ONE_JOB, text('"id":9007199254740991')),
  body('the same key twice: the later one counts', ONE_JOB, text('"id":"x","id":17')),
  row('a run id that is text', BAD_SHAPE, { run_id: LEAK }),
  row('run id 0', BAD_SHAPE, { run_id: 0 }),
];

const WORDS: readonly HostileAnswer[] = [
  row('a name that is a number', BAD_SHAPE, { name: 5 }),
  row('a name that is an object', BAD_SHAPE, { name: { toString: LEAK } }),
  row('an unknown status: not ready', { jobs: 0 }, { status: 'dancing' }),
  row('a status of another case: not ready', { jobs: 0 }, { status: 'Queued' }),
  row('a status that is a key of every object: not ready', { jobs: 0 }, { status: '__proto__' }),
  row('an empty status', BAD_SHAPE, { status: '' }),
  row('a status that is a list', BAD_SHAPE, { status: ['queued'] }),
  row('labels that are text', BAD_SHAPE, { labels: 'linux' }),
  row('labels that look like a list', BAD_SHAPE, { labels: { length: 1, 0: 'linux' } }),
  row('a label that is null', BAD_SHAPE, { labels: [null] }),
  row('labels null: nobody serves it', { jobs: 0 }, { labels: null }),
  row('an attempt beyond all reruns', BAD_SHAPE, { run_attempt: 1e9 }),
  row('an attempt with a fraction', BAD_SHAPE, { run_attempt: 0.5 }),
  row('an attempt that is text', BAD_SHAPE, { run_attempt: '1' }),
  row('an address of the job that is null', BAD_SHAPE, { html_url: null }),
  row('an address of the repository that is a list', BAD_SHAPE, { url: [LEAK] }),
  row('a runner name that is null', BAD_SHAPE, { runner_name: null }),
];

const TIMES: readonly HostileAnswer[] = [
  ...[
    '0001-01-01T00:00:00Z',
    EPOCH,
    '2014-12-31T23:59:59Z',
    '9999-12-31T23:59:59Z',
    '+275760-09-13T00:00:01Z',
    '-000001-01-01T00:00:00Z',
    '2026-02-31T10:00:00Z',
    '2026-08-01T25:00:00Z',
    '2026-08-01 10:00:00',
    '2026-08-01',
    '1785578400',
    'yesterday',
    '',
  ].map((created_at) => row(`a queued job that was created at "${created_at}"`, BAD_SHAPE, { created_at })),
  row('a time that is a number', BAD_SHAPE, { created_at: Date.now() }),
  row('a time that is null', BAD_SHAPE, { created_at: null }),
  row('a time in another time zone', ONE_JOB, { created_at: new Date().toISOString().replace('Z', '+00:00') }),
  row('a begin before there was Actions: not told', ONE_JOB, { started_at: '0001-01-01T00:00:00Z' }),
  rows('a begin in the year 9999: not told', { jobs: 1 }, [
    job(17),
    job(18, { started_at: '9999-12-31T23:59:59Z', runner_name: 'static' }, 'in_progress'),
  ]),
  rows('an end before the begin: not told', { jobs: 1 }, [
    job(17),
    job(18, { completed_at: '2020-01-01T00:00:00Z', runner_name: 'static' }, 'in_progress'),
  ]),
  answers('completed jobs of the year 1: evidence only', ONE_JOB, (seen, response) => {
    const done = { created_at: '0001-01-01T00:00:00Z', completed_at: '0001-01-01T00:00:00Z' };
    const found = seen.query.get('status') === 'completed' ? [job(5, done, 'completed')] : [job(17)];
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jobs: found, total_count: 1 }));
  }),
];

const runner = (name: string, expected: Expected, fields: Readonly<Record<string, unknown>>): HostileAnswer =>
  answers(
    name,
    expected,
    (_seen, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ runners: [runnerRow(4, LEAK, fields)], total_count: 1 }));
    },
    'runners',
  );

const RUNNERS: readonly HostileAnswer[] = [
  runner('a runner whose id is text', BAD_SHAPE, { id: '4' }),
  runner('a runner whose id is negative', BAD_SHAPE, { id: -4 }),
  runner('a runner whose name is null', BAD_SHAPE, { name: null }),
  runner('a runner whose status is a number', BAD_SHAPE, { status: 1 }),
  runner('a runner that is busy by the number 1', BAD_SHAPE, { busy: 1 }),
  runner('a runner that does not say whether it is ephemeral', BAD_SHAPE, { ephemeral: undefined }),
  runner('a runner whose label is text', BAD_SHAPE, { labels: ['linux'] }),
  runner('a runner whose labels are text', BAD_SHAPE, { labels: 'linux' }),
  runner('a runner with an unknown status: not online', ONE_JOB, { status: 'sleeping', busy: true }),
  runner('a runner with labels null', ONE_JOB, { labels: null }),
];

export const FIELD_ANSWERS: readonly HostileAnswer[] = [...IDS, ...WORDS, ...TIMES, ...RUNNERS];
