/** Law L15: what one look may keep. */
import { expect, test } from 'vitest';
import { shareOutBytes } from '../../../src/clients/gitea/bounds.ts';
import { observe } from '../../../src/clients/gitea/observe-gitea.ts';
import { failureOf } from '../../support/failure-of.ts';
import { fakeGitea, jobRow, jobRows, runnerRow } from '../../support/gitea-stand-in.ts';
import { ACME, idsOf, lookAt, OPTIONS, targetOf, upTo } from '../../support/looking.ts';

const MIB = 1024 * 1024;
const KNOWN = { labels: new Set(['linux', 'gpu']) };
const many = (id: number, count: number): string[] => upTo(count).map((label) => `${id}.${label}`.padEnd(100, 'x'));

async function lookFor(jobs: Parameters<typeof fakeGitea>[0], bytes?: number) {
  const gitea = await fakeGitea(jobs);
  const options = { ...OPTIONS, ...(bytes !== undefined && { bytes }) };
  const found = await observe([{ ...targetOf(gitea.url), ...KNOWN }], options);
  return found.get('look') ?? { jobs: [], runners: [] };
}

test('a look keeps ten labels that no group has, those that groups have, and a marker', async () => {
  const { jobs } = await lookFor({ jobs: [jobRow(1, 'queued', { labels: [...many(1, 30), 'linux', 'gpu'] })] });

  expect(jobs[0]?.labels).toEqual([...many(1, 10), 'linux', 'gpu', '(too many)']);
});

test('a look keeps the labels that tell which one is missing', async () => {
  const { jobs } = await lookFor({ jobs: [jobRow(1, 'queued', { name: 'build', labels: ['linux', 'gpus'] })] });

  expect(jobs[0]).toMatchObject({ name: 'build', labels: ['linux', 'gpus'] });
  expect(jobs[0]?.url).not.toBe('');
});

test('a look keeps the names of uncovered jobs up to 256 KiB, and those of all covered ones', async () => {
  const uncovered = upTo(3_000).map((id) => jobRow(id, 'queued', { name: `job ${id}`, labels: many(id, 5) }));
  const covered = upTo(100).map((id) =>
    jobRow(5_000 + id, 'queued', { name: `covered ${id}`, labels: ['linux', 'gpu'] }),
  );
  const { jobs } = await lookFor({ jobs: [...uncovered, ...covered] });

  const kept = jobs.flatMap(({ labels, name }) => (name.startsWith('covered') ? [] : [...labels, name]));
  expect(kept.reduce((sum, text) => sum + (text === '(too many)' ? 0 : text.length), 0)).toBeLessThan(256 * 1024);
  expect(jobs.filter(({ labels }) => labels.includes('(too many)')).length).toBeGreaterThan(2_000);
  expect(jobs.filter(({ name, labels }) => name.startsWith('covered') && labels.length === 2)).toHaveLength(100);
});

test('a look leaves uncovered jobs out before covered ones, and queued ones before running ones', async () => {
  const uncovered = jobRows(1, 1_000).map((row) => ({ ...row, labels: ['windows'] }));
  const covered = jobRows(2_001, 1_000).map((row) => ({ ...row, labels: ['linux'] }));
  const running = jobRows(4_001, 400, 'in_progress').map((row) => ({ ...row, labels: ['linux'], runner_name: 'r' }));
  const { jobs } = await lookFor({ jobs: [...uncovered, ...covered, ...running] }, MIB / 2);

  const count = (from: number, to: number) => jobs.filter(({ id }) => id >= from && id < to).length;
  expect(count(1, 2_001)).toBeLessThan(1_000);
  expect(count(2_001, 4_001)).toBeGreaterThan(100);
  expect(count(4_001, 5_000)).toBe(400);
});

test('a look fails when running jobs or runners need more bytes than it may keep', async () => {
  const running = jobRows(1, 2_000, 'in_progress');
  const runners = upTo(2_000).map((id) => runnerRow(id, `runner-${id}`.padEnd(200, 'r')));

  for (const full of [{ jobs: running }, { jobs: [jobRow(1)], runners }]) {
    const failure = await failureOf(lookFor(full, MIB / 2));
    expect(failure.code).toBe('GR-GITEA-10');
    expect(failure.message).toContain('the rows need more memory than one scope has');
  }
});

test('a look keeps a branch once, counts its length, and keeps few of jobs that no group covers', async () => {
  const onBranches = (branchOf: (id: number) => string, labels = ['linux']) =>
    upTo(2_000).map((id) => jobRow(id, 'queued', { labels, head_branch: branchOf(id) }));
  const seen = (jobs: ReturnType<typeof onBranches>) => lookFor({ jobs: [...jobs] }, MIB);
  const same = await seen(onBranches(() => 'main'));
  const long = await seen(onBranches((id) => `${id}-`.padEnd(255, 'b')));
  const uncovered = await seen(onBranches((id) => `${id}-`.padEnd(255, 'b'), ['odd']));

  expect(new Set(same.jobs.map(({ branch }) => branch))).toEqual(new Set(['main']));
  expect(long.jobs.length).toBeLessThan(same.jobs.length);
  expect(long.unreadJobs).toBeGreaterThan(0);
  const kept = uncovered.jobs.filter(({ branch }) => branch !== undefined);
  expect(kept.length).toBeGreaterThan(0);
  // 256 KiB for all texts of such jobs.
  expect(kept.length).toBeLessThan(500);
});

test('a look keeps everything where nobody knows the labels', async () => {
  const labels = many(1, 30);
  const gitea = await fakeGitea({ jobs: [jobRow(1, 'queued', { labels })] });

  expect((await lookAt(gitea.url, ACME)).jobs[0]?.labels).toEqual(labels);
});

test('a look counts each row once, however often its moving list is read', async () => {
  let readings = 0;
  const jobs = jobRows(1, 120, 'in_progress');
  const gitea = await fakeGitea({
    jobs,
    intercept: ({ query }) => {
      const isSecondPage = query.getAll('status').join() === 'in_progress' && query.get('page') === '2';
      if (isSecondPage) readings += 1;
      // One job begins during each reading but the last.
      if (isSecondPage && readings < 4) jobs.push(...jobRows(120 + readings, 1, 'in_progress'));
      return false;
    },
  });
  const bytes = 100 * 1024;
  const whole = await fakeGitea({ jobs: jobRows(1, 246, 'in_progress') });

  expect(idsOf(await lookAt(gitea.url, ACME, { bytes }))).toEqual(upTo(123));
  expect(readings).toBe(4);
  // Twice as many different rows have no room.
  expect((await failureOf(lookAt(whole.url, ACME, { bytes }))).code).toBe('GR-GITEA-10');
});

test('each Gitea and each of its scopes gets an equal share of bytes', () => {
  const one = { url: 'https://one.example.com' };
  const other = { url: 'https://two.example.com/gitea' };
  const sharesOf = (targets: readonly { readonly url: string }[]) => {
    const shareOf = shareOutBytes(targets);
    return [one, other].map((target) => shareOf(target) / MIB);
  };

  expect(sharesOf([one, other])).toEqual([24, 24]);
  expect(sharesOf([one, ...Array.from({ length: 8 }, () => other)])).toEqual([24, 3]);
  expect(sharesOf([one, ...Array.from({ length: 5_000 }, () => other)])).toEqual([24, 0.5]);
});
