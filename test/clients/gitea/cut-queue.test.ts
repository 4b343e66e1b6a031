/** Law L16: a queue that is too long to be read stops nobody. */
import { expect, test } from 'vitest';
import { observe } from '../../../src/clients/gitea/observe-gitea.ts';
import { failureOf } from '../../support/failure-of.ts';
import { fakeGitea, jobRow, jobRows, json, runnerRow } from '../../support/gitea-stand-in.ts';
import { ACME, lookAt, memoryOf, OPTIONS, targetOf } from '../../support/looking.ts';

const MANY = 100_000;
const LABELS = new Set(['linux']);

/** A look that knows the label `linux`. */
async function lookWithLabels(url: string) {
  const look = (await observe([{ ...targetOf(url), labels: LABELS }], OPTIONS)).get('look');
  return { ids: new Set(look?.jobs.map(({ id }) => id)), look };
}

test('jobs before and behind 100,000 others are seen, with 210 requests', async () => {
  const flood = jobRows(100, MANY).map((row) => ({ ...row, labels: ['nobody-has-this'] }));
  const first = jobRow(1, 'queued', { labels: ['linux'] });
  const last = jobRow(MANY + 1_000, 'queued', { labels: ['linux'] });
  const gitea = await fakeGitea({ jobs: [first, ...flood, last] });

  const { ids, look } = await lookWithLabels(gitea.url);

  expect([first.id, last.id].map((id) => ids.has(id))).toEqual([true, true]);
  expect(look?.unreadJobs).toBe(MANY + 2 - ids.size);
  expect(gitea.seen.length).toBeLessThan(210);
});

test('20,001 jobs are no error; the oldest and the newest 5,000 are read', async () => {
  const gitea = await fakeGitea({ jobs: jobRows(1, 20_001) });

  const { jobs, unreadJobs } = await lookAt(gitea.url);

  const ids = jobs.map(({ id }) => id).sort((a, b) => a - b);
  expect([ids[0], ids[4_999], ids[5_000], ids.at(-1)]).toEqual([1, 5_000, 15_051, 20_001]);
  expect(unreadJobs).toBe(20_001 - ids.length);
});

test('a queue of 10,000 is read whole', async () => {
  const gitea = await fakeGitea({ jobs: jobRows(1, 10_000) });

  const { jobs, unreadJobs } = await lookAt(gitea.url);

  expect([jobs.length, unreadJobs]).toEqual([10_000, undefined]);
});

test('blocked jobs of explain are cut, too, and nobody counts them', async () => {
  const gitea = await fakeGitea({ jobs: [...jobRows(1, 12_000, 'waiting'), jobRow(20_000)] });

  const { jobs, unreadJobs } = await lookAt(gitea.url, ACME, { includeBlocked: true });

  expect([jobs.length, unreadJobs]).toEqual([10_001, undefined]);
});

test('jobs for which the look has no room count as unread', async () => {
  const gitea = await fakeGitea({ jobs: jobRows(1, 2_000) });

  const { jobs, unreadJobs } = await lookAt(gitea.url, ACME, { memory: memoryOf(512 * 1024) });

  expect(jobs.length).toBeLessThan(1_000);
  expect(unreadJobs).toBe(2_000 - jobs.length);
});

test('running jobs and runners are complete, however long the queue is', async () => {
  const queued = jobRows(1_001, 12_000);
  const running = jobRows(1, 300, 'in_progress').map((row) => ({ ...row, runner_name: `ci-${row.id}` }));
  const runners = running.map(({ id }) => runnerRow(id, `ci-${id}`, { busy: true }));
  const found = await lookAt((await fakeGitea({ jobs: [...running, ...queued], runners })).url);

  expect(found.jobs.filter(({ status }) => status === 'in_progress')).toHaveLength(300);
  expect(found.runners).toHaveLength(300);

  const tooMany = await fakeGitea({ jobs: [...queued, ...jobRows(20_000, 20_001, 'in_progress')] });
  expect((await failureOf(lookAt(tooMany.url))).code).toBe('GR-GITEA-10');
});

test.each([
  ['a page in the middle is empty', () => ({ jobs: [], total_count: 20_001 })],
  ['pages repeat each other', () => ({ jobs: jobRows(1, 50), total_count: 20_001 })],
])('an answer that contradicts itself is still an error: %s', async (_, answer) => {
  const gitea = await fakeGitea({
    jobs: jobRows(1, 20_001),
    intercept: ({ query }, response) => query.get('page') === '60' && json(response, answer()),
  });

  expect((await failureOf(lookAt(gitea.url))).code).toBe('GR-GITEA-09');
});

test('a long queue that moves while it is read is none', async () => {
  let total = 20_001;
  const gitea = await fakeGitea({
    intercept: ({ path, query }, response) => {
      if (!path.endsWith('/jobs') || !query.getAll('status').includes('queued')) return false;
      total += 1;
      const jobs = jobRows((Number(query.get('page')) - 1) * 50 + 1, 50).filter(({ id }) => id <= total);
      return json(response, { jobs, total_count: total });
    },
  });

  expect((await lookAt(gitea.url)).unreadJobs).toBeGreaterThan(10_000);
});
