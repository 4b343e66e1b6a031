/** Lists whose counts, pages or sizes are wrong or very large. */
import { json, runnerRow } from '../../../support/gitea-stand-in.ts';
import { LEAK } from '../fault.ts';
import { answers, BAD_SHAPE, body, type HostileAnswer, job, ONE_JOB, rows } from './answer.ts';

const INCOMPLETE = { code: 'GR-GITEA-09' } as const;
const TOO_LONG = { code: 'GR-GITEA-10' } as const;
const NOT_JSON = { code: 'GR-GITEA-07' } as const;

const runners = (name: string, expected: HostileAnswer['expected'], count: number, total: number): HostileAnswer => {
  const found = Array.from({ length: count }, (_, index) => runnerRow(index + 1, `${LEAK}-${index}`));
  return answers(
    name,
    expected,
    (seen, response) => {
      const start = (Number(seen.query.get('page')) - 1) * 50;
      json(response, { runners: found.slice(start, start + 50), total_count: total });
    },
    'runners',
  );
};

/** Pages are made one by one: all together they have 320 MB. */
const LONG_LABELS = answers('4,000 jobs with 80 labels of 1,000 characters each', { jobs: 0 }, (seen, response) => {
  const first = (Number(seen.query.get('page')) - 1) * 50;
  const isWanted = seen.query.getAll('status').includes('queued');
  const jobs = Array.from({ length: isWanted ? 50 : 0 }, (_, row) => {
    const id = first + row + 1;
    return job(id, { labels: Array.from({ length: 80 }, (__, at) => `${id}-${at}-`.padEnd(1_000, 'x')) });
  });
  json(response, { jobs: first < 4_000 ? jobs : [], total_count: isWanted ? 4_000 : 0 });
});

const COUNTS: readonly HostileAnswer[] = [
  LONG_LABELS,
  rows('a count of 0 and one row', INCOMPLETE, [job(7)], 0),
  rows('a count of 10^15', INCOMPLETE, [job(7)], 1e15),
  body('a count beyond all numbers', BAD_SHAPE, '{"jobs":[],"total_count":1e999}'),
  body('two counts: the later one counts', { jobs: 0 }, '{"jobs":[],"total_count":9,"total_count":0}'),
  runners('runners with a count of 10^15', TOO_LONG, 1, 1e15),
];

const SHAPES: readonly HostileAnswer[] = [
  body('an error object with status 200', BAD_SHAPE, `{"message":"${LEAK}","errors":["${LEAK}"]}`),
  body('jobs that look like a list', BAD_SHAPE, '{"jobs":{"length":1000000000},"total_count":0}'),
  body(
    'lists in lists, 1,900,000 deep',
    BAD_SHAPE,
    `{"jobs":[${'['.repeat(1.9e6)}${']'.repeat(1.9e6)}],"total_count":1}`,
  ),
  body('objects in objects, 500,000 deep', BAD_SHAPE, `${'{"a":'.repeat(5e5)}1${'}'.repeat(5e5)}`),
  body('the key __proto__', { jobs: 0 }, '{"jobs":[],"total_count":0,"__proto__":{"jobs":[1]}}'),
  body('two answers in one', NOT_JSON, '{"jobs":[],"total_count":0}{"jobs":[],"total_count":0}'),
  body('a byte order mark before it', { jobs: 0 }, '\ufeff{"jobs":[],"total_count":0}'),
];

const SIZES: readonly HostileAnswer[] = [
  answers('pages that never end: each counts 1,000 rows more', INCOMPLETE, (seen, response) => {
    const page = Number(seen.query.get('page'));
    const found = Array.from({ length: 50 }, (_, index) => job(page * 50 + index));
    json(response, { jobs: found, total_count: page * 50 + 1000 });
  }),
  answers('5,000 queued jobs', { jobs: 5 }, ({ query }, response) => {
    const first = (Number(query.get('page')) - 1) * 50;
    const count = query.getAll('status').includes('queued') ? 5_000 : 0;
    const jobs = Array.from({ length: Math.min(50, Math.max(0, count - first)) }, (_, row) => job(first + row + 1));
    json(response, { jobs, total_count: count });
  }),
  runners('5,000 runners', ONE_JOB, 5_000, 5_000),
  rows('a row of 3 MB', ONE_JOB, [job(7, { name: 'n'.repeat(3_000_000) })]),
  rows('a row of 5 MB', { code: 'GR-HTTP-12' }, [job(7, { name: 'n'.repeat(5_000_000) })]),
  rows('3 MB of unknown fields', ONE_JOB, [job(7, { more: Array(30_000).fill({ [LEAK]: 'x'.repeat(60) }) })]),
];

const DEPTHS: readonly HostileAnswer[] = [
  body('brackets in a long string: no depth', { jobs: 0 }, `{"jobs":[],"total_count":0,"x":"${'[\\"'.repeat(5e5)}"}`),
  body(
    '60 levels in a long answer',
    { jobs: 0 },
    `{"jobs":[],"total_count":0,"x":"${' '.repeat(2e6)}","y":${'['.repeat(60)}${']'.repeat(60)}}`,
  ),
  body(
    '70 levels in a long answer',
    BAD_SHAPE,
    `{"jobs":[],"total_count":0,"x":"${' '.repeat(2e6)}","y":${'['.repeat(70)}${']'.repeat(70)}}`,
  ),
  body(
    '4 MB of empty objects in an unknown field',
    { jobs: 0 },
    `{"jobs":[],"total_count":0,"x":[{}${',{}'.repeat(1.35e6)}]}`,
  ),
  body(
    '300,000 lists in lists in a short answer',
    BAD_SHAPE,
    `{"jobs":[${'['.repeat(3e5)}${']'.repeat(3e5)}],"total_count":1}`,
  ),
];

export const LIST_ANSWERS: readonly HostileAnswer[] = [...COUNTS, ...SHAPES, ...SIZES, ...DEPTHS];
