/**
 * Tests labels and steps of any length, which authors of workflows write. Gitea's lists have them, and they must not
 * stop the jobs of others.
 */

import { expect, test } from 'vitest';
import { systemClock } from '../../../src/shared/clock.ts';
import { failureOf } from '../../support/failure-of.ts';
import { fakeGitea, type JobRow, jobRow, jobRows, runnerRow } from '../../support/gitea-stand-in.ts';
import { ACME, idsOf, lookAt, upTo } from '../../support/looking.ts';

const MIB = 1024 * 1024;
const NOW = Date.parse('2026-08-01T12:00:00Z');
const AROUND = { clock: { ...systemClock, now: () => NOW } };

/** Steps as Gitea lists them, of so many MiB. */
function steps(mib: number): Fields {
  const step = { name: 'x'.repeat(250), number: 1, status: 'completed', conclusion: 'success' };
  return { steps: Array.from({ length: (mib * MIB) / JSON.stringify(step).length }, () => step) };
}

type Fields = Readonly<Record<string, unknown>>;
const labels = (mib: number): Fields => ({ labels: ['x'.repeat(mib * MIB)] });

test.each<[string, JobRow[], readonly number[]]>([
  [
    'a queued job with a label of 5 MiB: it alone is left out',
    [jobRow(2, 'queued', labels(5)), ...jobRows(10, 20)],
    upTo(20).map((id) => id + 9),
  ],
  ['nothing but a job with a label of 5 MiB', [jobRow(2, 'queued', labels(5))], []],
  ['60 queued jobs with long labels', upTo(60).map((id) => jobRow(id, 'queued', labels(0.25))), upTo(60)],
  [
    'a running job with steps of 8 MiB',
    [jobRow(1, 'in_progress', { ...steps(8), runner_name: 'r' }), ...jobRows(10, 3)],
    [1, 10, 11, 12],
  ],
  [
    'a completed job with steps of 5 MiB',
    [...jobRows(10, 3), jobRow(1, 'completed', steps(5)), jobRow(2, 'completed')],
    [2, 10, 11, 12],
  ],
])('%s', async (_, jobs, expected) => {
  for (const maxItems of [50, 20, 7]) {
    const gitea = await fakeGitea({ jobs, maxItems });

    expect(idsOf(await lookAt(gitea.url, ACME, AROUND)), `pages of ${maxItems}`).toEqual(expected);
  }
});

test('a runner with a label of 5 MiB is left out', async () => {
  const runners = [runnerRow(1, 'long', { labels: [{ name: 'x'.repeat(5 * MIB) }] }), runnerRow(2, 'good')];
  const gitea = await fakeGitea({ jobs: jobRows(1, 1), runners });

  expect((await lookAt(gitea.url, ACME, AROUND)).runners.map(({ name }) => name)).toEqual(['good']);
});

test('a page on which no row can be read', async () => {
  const jobs = [...upTo(7).map((id) => jobRow(id, 'queued', labels(5))), ...jobRows(10, 7)];
  const gitea = await fakeGitea({ jobs, maxItems: 7 });

  expect(idsOf(await lookAt(gitea.url, ACME, AROUND))).toEqual([10, 11, 12, 13, 14, 15, 16]);
});

test('a job of long texts or many labels is cut short, with a label that no group can have', async () => {
  const many = upTo(1_000).map((number) => `label-${number}`);
  const name = 'x'.repeat(MIB);
  const long = { ...labels(1), name, html_url: `https://gitea.example.com/${name}` };
  const gitea = await fakeGitea({ jobs: [jobRow(1, 'queued', long), jobRow(2, 'queued', { labels: many })] });

  const found = await lookAt(gitea.url, ACME, AROUND);

  expect(found.jobs[0]).toMatchObject({ name: '(too long)', url: '' });
  expect(found.jobs.map((job) => job.labels)).toEqual([['(too long)'], [...many.slice(0, 200), '(too many)']]);
});

test('many long labels are cut at 4,096 characters, and end with a label that no group can have', async () => {
  const many = upTo(80).map((number) => `${number}`.padEnd(1_000, 'x'));
  const gitea = await fakeGitea({ jobs: [jobRow(1, 'queued', { labels: many })] });

  const found = await lookAt(gitea.url, ACME, AROUND);

  expect(found.jobs.map((job) => job.labels)).toEqual([[...many.slice(0, 4), '(too many)']]);
});

test('a running job that cannot be read is an error: its runner must not be deleted', async () => {
  const gitea = await fakeGitea({ jobs: [jobRow(1, 'in_progress', { ...labels(20), runner_name: 'r' })] });

  expect((await failureOf(lookAt(gitea.url, ACME, AROUND))).code).toBe('GR-HTTP-12');
});
