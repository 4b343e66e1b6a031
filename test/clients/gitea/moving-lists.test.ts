import { expect, test } from 'vitest';
import { failureOf } from '../../support/failure-of.ts';
import {
  fakeGitea,
  type JobRow,
  jobRow,
  jobRows,
  json,
  type RunnerRow,
  runnerRow,
} from '../../support/gitea-stand-in.ts';
import { ACME, idsOf, lookAt, upTo } from '../../support/looking.ts';

const running = (from: number, count: number): JobRow[] =>
  jobRows(from, count, 'in_progress').map((row) => ({ ...row, runner_name: `r${row.id}` }));

test('a list of many pages sees all 120 jobs and all 45 runners of a Gitea whose MAX_RESPONSE_ITEMS is 20', async () => {
  const runners = upTo(45).map((id) => runnerRow(id, `r${id}`));
  const gitea = await fakeGitea({ jobs: jobRows(1, 120), runners, maxItems: 20 });

  const found = await lookAt(gitea.url);

  expect(idsOf(found)).toEqual(upTo(120));
  expect(found.runners.map(({ id }) => id)).toEqual(upTo(45));
  expect(gitea.lines().filter((line) => line.includes('?status=queued&page='))).toHaveLength(7);
});

test.each([
  ['1.27.3', false],
  ['1.27.3', true],
  ['1.26.4', false],
  ['1.26.4', true],
])(
  'a list of many pages sees the newest 150 completed jobs whatever MAX_RESPONSE_ITEMS is, on %s, asking ahead: %s',
  async (version, ahead) => {
    const gitea = await fakeGitea({
      version,
      maxItems: 20,
      jobs: [jobRow(1000, 'queued'), ...jobRows(1, 400, 'completed')],
    });

    const found = idsOf(await lookAt(gitea.url, ACME, { ahead }));

    const newest = Array.from({ length: 150 }, (_, index) => 251 + index);
    expect(found).toEqual(expect.arrayContaining(newest));
  },
);

test.each([
  [49, 1],
  [50, 2],
])('a list of %i jobs takes %i questions: after a full page the next one must be empty', async (count, questions) => {
  const gitea = await fakeGitea({ jobs: jobRows(1, count) });

  expect(idsOf(await lookAt(gitea.url))).toEqual(upTo(count));

  expect(gitea.lines().filter((line) => line.includes('status=queued'))).toHaveLength(questions);
});

test('a list of many pages asks for blocked jobs, then queued, then running ones, so that one claimed in between is seen', async () => {
  const gitea = await fakeGitea({ jobs: [...jobRows(1, 60), ...running(61, 60), jobRow(121, 'waiting')] });

  const found = await lookAt(gitea.url, undefined, { includeBlocked: true });

  expect(idsOf(found)).toEqual(upTo(121));
  const order = gitea.lines().flatMap((line) => /\?status=(queued|in_progress|waiting)&page/.exec(line)?.[1] ?? []);
  expect(order).toEqual(['waiting', 'queued', 'queued', 'in_progress', 'in_progress']);
});

test('a list that moves while it is read sees a job that is claimed after the queued list was read', async () => {
  const jobs = jobRows(1, 60);
  const gitea = await fakeGitea({
    jobs,
    intercept: ({ query }) => {
      if (query.getAll('status').join() === 'in_progress') jobs[0] = jobRow(1, 'in_progress', { runner_name: 'r' });
      return false;
    },
  });

  const found = await lookAt(gitea.url);

  expect(idsOf(found)).toEqual(upTo(60));
  expect(found.jobs.find(({ id }) => id === 1)?.status).toBe('in_progress');
});

test('a list that moves while it is read accepts that queued jobs leave it, without reading it again', async () => {
  const jobs = jobRows(1, 120);
  let pages = 0;
  const gitea = await fakeGitea({
    jobs,
    maxItems: 20,
    intercept: ({ query }) => {
      if (query.getAll('status').join() === 'queued' && ++pages === 2) jobs.splice(0, 5);
      return false;
    },
  });

  const found = await lookAt(gitea.url);

  expect(pages).toBe(6);
  // Five rows slipped over a page border at most. The next look does not need any row that stays in the list.
  expect(found.jobs.length).toBeGreaterThanOrEqual(115);
  expect(idsOf(found)).toContain(120);
});

test('a list that moves while it is read reads the running jobs again until their count holds still', async () => {
  const jobs = running(1, 120);
  let pages = 0;
  const gitea = await fakeGitea({
    jobs,
    intercept: ({ query }) => {
      if (query.getAll('status').join() === 'in_progress' && ++pages === 2) jobs.splice(10, 1);
      return false;
    },
  });

  const found = await lookAt(gitea.url);

  expect(idsOf(found)).toEqual(upTo(120));
  expect(pages).toBe(6);
});

test('a list that moves while it is read finds a running job that slipped over a page border while another one began, by its runner', async () => {
  const jobs = running(1, 60);
  let pages = 0;
  const gitea = await fakeGitea({
    jobs,
    runners: [runnerRow(51, 'r51', { busy: true })],
    intercept: ({ query }) => {
      // Job 10 ends and job 61 begins between the two pages: the count stays 60, and job 51 is on neither page.
      if (query.getAll('status').join() === 'in_progress' && ++pages === 2) {
        jobs.splice(9, 1);
        jobs.push(...running(61, 1));
      }
      return false;
    },
  });

  expect(idsOf(await lookAt(gitea.url))).toEqual(upTo(61));
});

test('a list that moves while it is read reads the queued jobs again when a row is missing under an unchanging count', async () => {
  let first = true;
  const gitea = await fakeGitea({
    jobs: jobRows(1, 60),
    intercept: ({ query }, response) => {
      if (!first || query.getAll('status').join() !== 'queued' || query.get('page') !== '2') return false;
      first = false;
      return json(response, { jobs: jobRows(50, 10), total_count: 60 });
    },
  });

  expect(idsOf(await lookAt(gitea.url))).toEqual(upTo(60));
});

test('a list that moves while it is read joins readings of the runners, whose order is that of their last contact', async () => {
  const runners: RunnerRow[] = upTo(60).map((id) => runnerRow(id, `r${id}`));
  let pages = 0;
  const gitea = await fakeGitea({
    jobs: [jobRow(1)],
    runners,
    intercept: ({ path, query }) => {
      // Before each second page, the last runner calls and moves to the front.
      if (path.endsWith('/runners') && query.get('page') === '2' && ++pages < 3) runners.unshift(...runners.splice(-1));
      return false;
    },
  });

  const found = await lookAt(gitea.url);

  expect(found.runners.map(({ id }) => id).sort((a, b) => a - b)).toEqual(upTo(60));
  expect(pages).toBe(2);
});

/** A Gitea in which `count` rows stand on pages of 50, and the total is wrong. */
const lying = (path: string, key: string, rows: readonly unknown[], total: number) =>
  fakeGitea({
    jobs: [jobRow(1000)],
    intercept: (seen, response) => {
      if (!seen.path.endsWith(path) || (path === '/jobs' && !seen.query.getAll('status').includes('in_progress'))) {
        return false;
      }
      const start = (Number(seen.query.get('page')) - 1) * 50;
      return json(response, { [key]: rows.slice(start, start + 50), total_count: total });
    },
  });

test.each([0, 1, 49, 50, 51, 59])(
  'a total_count that is too small never hides a busy runner: 60 running jobs, %i counted',
  async (total) => {
    const gitea = await lying('/jobs', 'jobs', running(1, 60), total);

    const failure = await failureOf(lookAt(gitea.url));

    expect([failure.code, failure.exit]).toEqual(['GR-GITEA-09', 1]);
    expect(failure.message).toBe(
      `list running jobs of org acme: GET ${gitea.origin}/api/v1/orgs/acme/actions/jobs: total_count is ${total}, but 60 rows arrived, in each of 4 readings. Nothing was rendered. Check what stands before Gitea (caches), or try again when it is less busy.`,
    );
  },
);

test.each([0, 1, 49, 50, 51, 59])(
  'a total_count that is too small never hides a registered runner: 60 rows, %i counted',
  async (total) => {
    const rows = upTo(60).map((id) => runnerRow(id, `r${id}`));
    const gitea = await lying('/runners', 'runners', rows, total);

    expect((await failureOf(lookAt(gitea.url))).code).toBe('GR-GITEA-09');
  },
);

test.each([
  ['the newest 150', '1.27.3', []],
  ['those of the last pages, and of the first one, of a Gitea that cannot sort', '1.26.0', upTo(50)],
] as const)('completed jobs are %s (%s)', async (_, version, first) => {
  const gitea = await fakeGitea({ version, jobs: [...jobRows(1, 400, 'completed'), jobRow(401)] });

  expect(idsOf(await lookAt(gitea.url))).toEqual([...first, ...upTo(400).slice(-150), 401]);
});
