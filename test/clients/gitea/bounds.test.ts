/** Law L15: what one look may keep. */
import { describe, expect, it, test } from 'vitest';
import { LookMemory } from '../../../src/clients/gitea/bounds.ts';
import { observe } from '../../../src/clients/gitea/observe-gitea.ts';
import { failureOf } from '../../support/failure-of.ts';
import { fakeGitea, jobRow, jobRows, runnerRow } from '../../support/gitea-stand-in.ts';
import { ACME, idsOf, lookAt, memoryOf, OPTIONS, targetOf, upTo } from '../../support/looking.ts';

const MIB = 1024 * 1024;
const KNOWN = { labels: new Set(['linux', 'gpu']) };
const many = (id: number, count: number): string[] => upTo(count).map((label) => `${id}.${label}`.padEnd(100, 'x'));

async function lookFor(jobs: Parameters<typeof fakeGitea>[0], bytes?: number) {
  const gitea = await fakeGitea(jobs);
  const options = { ...OPTIONS, ...(bytes !== undefined && { memory: memoryOf(bytes) }) };
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
  const memory = memoryOf(100 * 1024);
  const whole = await fakeGitea({ jobs: jobRows(1, 246, 'in_progress') });

  expect(idsOf(await lookAt(gitea.url, ACME, { memory }))).toEqual(upTo(123));
  expect(readings).toBe(4);
  // Twice as many different rows have no room.
  expect((await failureOf(lookAt(whole.url, ACME, { memory }))).code).toBe('GR-GITEA-10');
});

describe('the memory of all looks', () => {
  const ONE = 'https://one.example.com';
  const OTHER = 'https://two.example.com/gitea';
  /** So many targets of a namespace. */
  const scopes = (namespace: string, count: number, url = ONE) =>
    upTo(count).map((nth) => [{ key: `${namespace} ${url} ${nth}`, url }, new Set([namespace])] as const);
  const most = (memory: LookMemory, key: string) => memory.begin(key).most(Number.POSITIVE_INFINITY) / MIB;

  it.each([
    ['of each Gitea', [...scopes('a', 1), ...scopes('a', 8, OTHER)], [24, 3]],
    ['of each namespace', [...scopes('a', 8), ...scopes('b', 1, OTHER)], [3, 24]],
    ['and never less than 512 KiB', [...scopes('a', 5_000), ...scopes('b', 1, OTHER)], [0.5, 24]],
  ])('gives equal shares to the scopes %s', (_, all, shares) => {
    const memory = new LookMemory(new Map(all));

    const [first, last] = [all[0], all.at(-1)];
    expect([first, last].map((entry) => most(memory, entry?.[0].key ?? ''))).toEqual(shares);
  });

  it('gives what scopes do not need to one that needs it, together never more than 48 MiB', () => {
    const all = scopes('a', 96);
    const memory = new LookMemory(new Map(all));
    const [large, second, ...small] = all.map(([{ key }]) => memory.begin(key));
    expect(large?.most(MIB)).toBe(MIB / 2);

    for (const room of small) room.end(0);
    expect(large?.most(MIB) ?? 0).toBe(24 * MIB);
    large?.keeps(24 * MIB);
    second?.keeps(24 * MIB);

    expect(large?.most(25 * MIB)).toBe(24 * MIB);
    expect(most(memory, all[2]?.[0].key ?? '')).toBe(0.5);
  });

  it('keeps the room of the last look that was good when one fails', () => {
    const all = scopes('a', 2);
    const memory = new LookMemory(new Map([...all, ...scopes('b', 2)]));
    const [first, second] = all.map(([{ key }]) => key) as [string, string];
    memory.begin(first).end(20 * MIB);
    memory.begin(first).end(undefined);
    for (const [{ key }] of scopes('b', 2)) memory.begin(key).end(0);

    expect(most(memory, second)).toBe(24);
    memory.begin(second).end(15 * MIB);
    expect(most(memory, scopes('b', 1)[0]?.[0].key ?? '')).toBe(13);
  });

  it('many scopes of a namespace do not stop the look at a large one of another namespace', async () => {
    const gitea = await fakeGitea({ jobs: jobRows(1, 2_000, 'in_progress') });
    const victim = { ...targetOf(gitea.url), ...KNOWN };
    const crowd = scopes('crowd', 110, gitea.url);
    const look = async (namespace: string) => {
      const memory = new LookMemory(
        new Map<Readonly<Record<'key' | 'url', string>>, ReadonlySet<string>>([
          ...crowd,
          [victim, new Set([namespace])],
        ]),
      );
      return await observe([victim], { ...OPTIONS, memory });
    };

    expect((await look('victims')).get('look')?.jobs).toHaveLength(2_000);
    const { message } = await failureOf(look('crowd'));
    expect(message).toContain('a scope has more when RunnerGroups of namespace crowd name fewer scopes');
  });
});
