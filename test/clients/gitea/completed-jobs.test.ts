/** Tests how far completed jobs are read. */

import { describe, expect, test } from 'vitest';
import { observe } from '../../../src/clients/gitea/observe-gitea.ts';
import { systemClock } from '../../../src/shared/clock.ts';
import { fakeGitea, type JobRow, jobRow, json } from '../../support/gitea-stand-in.ts';
import { ACME, idsOf, lookAt, OPTIONS, targetOf, upTo } from '../../support/looking.ts';

const NOW = Date.parse('2026-08-01T12:00:00Z');
const at = (minutesAgo: number): string => new Date(NOW - minutesAgo * 60_000).toISOString().replace('.000', '');

/** `count` completed jobs, ids from 1, the last one a minute ago, each a minute before the next one. */
function past(count: number): JobRow[] {
  return upTo(count).map((id) => {
    const time = at(count - id + 1);
    return jobRow(id, 'completed', { created_at: time, started_at: time, completed_at: time });
  });
}

const waiting = (minutesAgo: number): JobRow => jobRow(10_000, 'queued', { created_at: at(minutesAgo) });
const AT_NOW = { clock: { ...systemClock, now: () => NOW } };
const ALONE = { ...AT_NOW, needsHistory: async () => true };

describe.each(['1.27.3', '1.26.0'])('completed jobs of Gitea %s', (version) => {
  const pagesOf = (lines: readonly string[]): number =>
    lines.filter((line) => line.includes('status=completed')).length;

  test.each([false, true])('reach back to the oldest active job and half an hour more (ahead: %s)', async (ahead) => {
    const gitea = await fakeGitea({ version, jobs: [...past(1000), waiting(300)] });

    const found = idsOf(await lookAt(gitea.url, ACME, { ...ALONE, ahead }));

    expect(found).toEqual(expect.arrayContaining(upTo(1000).slice(-330)));
    // Rounds of 3, 3 and 6 pages besides the first; two that 1.26 does not sort were asked for ahead.
    expect(pagesOf(gitea.lines())).toBeLessThanOrEqual(15);
  });

  test('completed jobs are all read when no page is old enough', async () => {
    const gitea = await fakeGitea({ version, jobs: [...past(400), waiting(5000)] });

    expect(idsOf(await lookAt(gitea.url, ACME, ALONE))).toEqual([...upTo(400), 10_000]);
  });

  test.each([
    [50, 1],
    [20, 1],
  ])('completed jobs are 1,500 at most, in pages of %i', async (maxItems, firstPage) => {
    const gitea = await fakeGitea({ version, maxItems, jobs: [...past(2000), waiting(5000)] });

    const found = idsOf(await lookAt(gitea.url, ACME, ALONE));

    expect(found).toEqual(expect.arrayContaining(upTo(2000).slice(-1500)));
    // Up to 1.26 the first page holds the oldest rows, and is known anyway.
    expect(pagesOf(gitea.lines())).toBeLessThanOrEqual(1500 / maxItems + firstPage);
  });

  test.each([
    ['the active jobs are young', 60, ALONE],
    ['Kubernetes shows the Jobs', 300, { ...AT_NOW, needsHistory: async () => false }],
    ['nobody says whether Kubernetes does', 300, AT_NOW],
  ])('completed jobs are 150 when %s', async (_, minutesAgo, options) => {
    const gitea = await fakeGitea({ version, jobs: [...past(1000), waiting(minutesAgo)] });

    await lookAt(gitea.url, ACME, options);

    expect(pagesOf(gitea.lines())).toBe(version === '1.27.3' ? 3 : 4);
  });

  test.each([false, true])(
    'completed jobs are read without any active job where a group keeps runners (ahead: %s)',
    async (ahead) => {
      const failed = { runner_name: 'ci-1000', conclusion: 'failure' };
      const gitea = await fakeGitea({ version, jobs: [...past(999), { ...past(1000).at(-1), ...failed } as JobRow] });
      const options = { ...OPTIONS, ...AT_NOW, ahead };
      const target = targetOf(gitea.url);

      const without = await observe([target], options);
      const asked = pagesOf(gitea.lines());
      const found = await observe([{ ...target, readsEnds: true }], options);

      expect([...without.values()].map(({ jobs }) => jobs)).toEqual([[]]);
      expect([...found.values()].flatMap(({ jobs }) => jobs.filter((job) => job.conclusion))).toMatchObject([
        { id: 1000, status: 'completed', runner: 'ci-1000', conclusion: 'failure' },
      ]);
      if (!ahead) expect(pagesOf(gitea.lines()) - asked).toBe(version === '1.27.3' ? 1 : 2);
    },
  );

  test('completed jobs are read on behind a page with one row that ended long ago', async () => {
    const rows = past(1000).map((row) => {
      const time = at(100_000);
      return row.id % 50 === 1 ? { ...row, created_at: time, started_at: time, completed_at: time } : row;
    });
    const gitea = await fakeGitea({ version, jobs: [...rows, waiting(300)] });

    expect(idsOf(await lookAt(gitea.url, ACME, ALONE))).toEqual(expect.arrayContaining(upTo(1000).slice(-330)));
  });

  test('completed jobs may end before their count says', async () => {
    const rows = past(1000);
    const gitea = await fakeGitea({
      version,
      jobs: [waiting(5000)],
      intercept: ({ query }, response) => {
        const page = Number(query.get('page'));
        const jobs = page <= 4 ? rows.slice((page - 1) * 50, page * 50) : [];
        return query.get('status') === 'completed' && json(response, { jobs, total_count: 1e15 });
      },
    });

    expect((await lookAt(gitea.url, ACME, ALONE)).jobs.length).toBeGreaterThanOrEqual(51);
  });

  test('completed jobs never change what is known of an active job', async () => {
    const gitea = await fakeGitea({
      version,
      jobs: [...past(400), jobRow(10_000, 'queued', { created_at: at(5000) })],
      intercept: ({ query }, response) =>
        query.get('status') === 'completed' &&
        query.get('page') === (version === '1.27.3' ? '5' : '2') &&
        json(response, { jobs: [jobRow(10_000, 'completed')], total_count: 400 }),
    });

    const found = await lookAt(gitea.url, ACME, ALONE);

    expect(found.jobs.find(({ id }) => id === 10_000)?.status).toBe('queued');
  });
});

test('an empty first page ends the list, whatever its count says', async () => {
  const gitea = await fakeGitea({
    jobs: [waiting(5000)],
    intercept: ({ query }, response) =>
      query.get('status') === 'completed' && json(response, { jobs: [], total_count: 1e15 }),
  });

  expect(idsOf(await lookAt(gitea.url, ACME, ALONE))).toEqual([10_000]);
  expect(gitea.lines().filter((line) => line.includes('status=completed'))).toHaveLength(1);
});
