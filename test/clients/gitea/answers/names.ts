/** Rows with hostile content: most are accepted, and change neither the YAML nor the terminal. ../rules.test.ts has what each field refuses. */
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

const EVIL =
  '\u001b[31mEVIL\u001b[0m\n  kind: Secret\r\n---\nkind: Secret\n"\'`$(x)`id`\u202e\u0000\u0085\u2028\ud800\u009b31m';

const repository = (name: string, expected: Expected, path: string): HostileAnswer =>
  row(name, expected, { url: `http://g/api/v1/repos/${path}/actions/jobs/17` });

const link = (name: string, expected: Expected, html_url: string): HostileAnswer => row(name, expected, { html_url });

const LINKS: readonly HostileAnswer[] = [
  link('a link with YAML in it', ONE_JOB, 'https://g/\n"}\n---\nkind: Secret'),
  link('a link with a shell in it', ONE_JOB, 'http://evil.example.com@g/$(id)`id`?a=b&"\''),
  link('a link that changes direction', ONE_JOB, 'https://g/\u202egpj.exe'),
  link('no link', ONE_JOB, ''),
  // The annotation would not fit into a Job: 256 KiB are the limit of all annotations together.
  link('a link of 300 KB', ONE_JOB, `http://g/${'a'.repeat(300_000)}`),
];

const REPOSITORIES: readonly HostileAnswer[] = [
  repository('a repository with a line end', BAD_SHAPE, 'ac%0ame/w%22eb'),
  repository('a repository of 100,000 characters', BAD_SHAPE, `${'a'.repeat(100_000)}/x`),
  row('an address of 800 KB that never ends in a job', BAD_SHAPE, { url: '/api/v1/repos//'.repeat(50_000) }),
];

const idText = (id: string): string =>
  `{"total_count":1,"jobs":[{${JSON.stringify(job(17)).slice(1, -1).replace('"id":17', id)}}]}`;

const FIELDS: readonly HostileAnswer[] = [
  body('an id of 2^53 + 1, which JSON.parse rounds', BAD_SHAPE, idText('"id":9007199254740993')),
  body('the largest id there is', ONE_JOB, idText('"id":9007199254740991')),
  body('the same key twice: the later one counts', ONE_JOB, idText('"id":"x","id":17')),
  row('a status that is a key of every object: not ready', { jobs: 0 }, { status: '__proto__' }),
  row('labels null: nobody serves it', { jobs: 0 }, { labels: null }),
  row('a queued job of the year 1970', BAD_SHAPE, { created_at: EPOCH }),
  row('a time in another time zone', ONE_JOB, { created_at: new Date().toISOString().replace('Z', '+00:00') }),
  rows('a begin in the year 9999: not told', ONE_JOB, [
    job(17),
    job(18, { started_at: '9999-12-31T23:59:59Z', runner_name: 'static' }, 'in_progress'),
  ]),
];

const NAMES: readonly HostileAnswer[] = [
  row('a hostile name', ONE_JOB, { name: EVIL }),
  row('a name of 1 MB', ONE_JOB, { name: 'n'.repeat(1_000_000) }),
  row('an empty name', ONE_JOB, { name: '' }),
  row('the name "__proto__"', ONE_JOB, { name: '__proto__' }),
  row('a hostile label: nobody serves it', { jobs: 0 }, { labels: [EVIL, 'linux'] }),
  row('the label "__proto__": nobody serves it', { jobs: 0 }, { labels: ['__proto__'] }),
  row('the label "constructor": nobody serves it', { jobs: 0 }, { labels: ['constructor', 'linux'] }),
  row('200,000 labels', ONE_JOB, { labels: Array(200_000).fill('linux') }),
  row('a hostile status: not ready', { jobs: 0 }, { status: EVIL }),
  rows('a hostile runner name', ONE_JOB, [job(7, { runner_name: EVIL }, 'in_progress'), job(8)]),
  rows('a runner name of 500 KB that begins as ours', ONE_JOB, [
    job(7, { runner_name: `ci-${'9'.repeat(500_000)}` }, 'in_progress'),
    job(8),
  ]),
  rows('the runner name "__proto__"', ONE_JOB, [job(7, { runner_name: '__proto__' }, 'in_progress'), job(8)]),
  answers(
    'a hostile registered runner',
    ONE_JOB,
    (_seen, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const fields = { status: EVIL, busy: true, labels: [{ name: EVIL }] };
      response.end(JSON.stringify({ runners: [runnerRow(1, EVIL, fields)], total_count: 1 }));
    },
    'runners',
  ),
  row('keys of every object as unknown fields', ONE_JOB, {
    constructor: LEAK,
    toString: LEAK,
    hasOwnProperty: LEAK,
    new_in_2_0: { deep: [LEAK] },
  }),
];

export const NAME_ANSWERS: readonly HostileAnswer[] = [...LINKS, ...REPOSITORIES, ...FIELDS, ...NAMES];
