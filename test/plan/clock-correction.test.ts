import { describe, expect, it } from 'vitest';
import { correctClocks, type ServerClock, shiftJobs, shiftLook } from '../../src/plan/clock-correction.ts';
import type { LiveJob, Look } from '../../src/planner/evidence.ts';

/** A server whose clock is known to half a second. */
const server = (name: string, skewMs: number): ServerClock => ({
  origin: `https://${name}`,
  bounds: { leastMs: skewMs - 500, mostMs: skewMs + 500 },
});
const silent = (name: string): ServerClock => ({ origin: `https://${name}`, bounds: undefined });
const gitea = (skewMs: number) => server('gitea', skewMs);
const cluster = (skewMs: number) => server('kubernetes', skewMs);
const codes = (correction: ReturnType<typeof correctClocks>) => correction.warnings.map(({ code }) => code);

it.each([
  ['all are equal', 0, 0, { nowShiftMs: 0, jobShiftMs: 0, skewMs: 0 }],
  ['Kubernetes is ahead', 0, 30_000, { nowShiftMs: 0, jobShiftMs: -30_000, skewMs: 30_000 }],
  ['Kubernetes is behind', 0, -30_000, { nowShiftMs: 0, jobShiftMs: 30_000, skewMs: -30_000 }],
  ['Gitea is ahead', 45_000, 0, { nowShiftMs: 45_000, jobShiftMs: 45_000, skewMs: -45_000 }],
  ['this machine is behind both', 60_000, 60_000, { nowShiftMs: 60_000, jobShiftMs: 0, skewMs: 0 }],
  ['a second is within the resolution', 1_000, -900, { nowShiftMs: 0, jobShiftMs: 2_000, skewMs: -2_000 }],
  ['less than two seconds may be none', 0, 1_400, { nowShiftMs: 0, jobShiftMs: 0, skewMs: 1_000 }],
])('times are corrected as they are wrong: %s', (_, giteaMs, clusterMs, expected) => {
  expect(correctClocks([gitea(giteaMs)], cluster(clusterMs))).toMatchObject(expected);
});

it('the correction of clocks is none where the bounds allow that the clocks are equal, however wide they are', () => {
  const slow: ServerClock = { origin: 'https://kubernetes', bounds: { leastMs: -20_000, mostMs: 400 } };

  expect(correctClocks([gitea(0)], slow)).toMatchObject({ jobShiftMs: 0, warnings: [] });
});

it('the correction of clocks is told above ten seconds, with both servers, how far and which way', () => {
  expect(correctClocks([gitea(0)], cluster(10_000)).warnings).toEqual([]);
  const [ahead] = correctClocks([gitea(0)], cluster(31_000)).warnings;
  const [behind] = correctClocks([gitea(20_000)], cluster(0)).warnings;

  expect(ahead?.code).toBe('GR-CLOCK-01');
  expect(ahead?.message).toContain('Kubernetes (https://kubernetes) is 31 s ahead of that of Gitea (https://gitea)');
  expect(behind?.message).toContain('is 20 s behind that of Gitea');
});

it('the correction of clocks leaves a clock alone that is more than a day off, and says so', () => {
  const day = 86_400_000;
  const good = correctClocks([gitea(day)], cluster(0));
  const absurdGitea = correctClocks([gitea(day + 1)], cluster(0));
  const absurdCluster = correctClocks([gitea(5_000)], cluster(-day - 1));

  expect(good).toMatchObject({ nowShiftMs: day, jobShiftMs: day });
  expect(absurdGitea).toMatchObject({ nowShiftMs: 0, jobShiftMs: 0 });
  expect(codes(absurdGitea)).toEqual(['GR-CLOCK-02']);
  expect(absurdCluster).toMatchObject({ nowShiftMs: 5_000, jobShiftMs: 0 });
  expect(codes(absurdCluster)).toEqual(['GR-CLOCK-02']);
  expect(absurdGitea.skewMs).toBeUndefined();
});

it('the correction of clocks needs both clocks for Jobs, and Gitea’s for now', () => {
  expect(correctClocks([silent('gitea')], cluster(30_000))).toEqual({ nowShiftMs: 0, jobShiftMs: 0, warnings: [] });
  expect(correctClocks([gitea(30_000)], silent('kubernetes'))).toMatchObject({ nowShiftMs: 30_000, jobShiftMs: 0 });
  expect(correctClocks([gitea(30_000)], undefined)).toMatchObject({ nowShiftMs: 30_000, jobShiftMs: 0 });
  expect(correctClocks([], cluster(30_000))).toMatchObject({ nowShiftMs: 0, jobShiftMs: 0 });
});

it('the correction of clocks takes several Giteas for one clock while all are known to agree', () => {
  const agreeing = [server('a', 30_000), server('b', 30_600), server('c', 31_500)];

  expect(correctClocks(agreeing, cluster(0)).nowShiftMs).toBeGreaterThanOrEqual(30_000);
  expect(correctClocks(agreeing, cluster(0)).nowShiftMs).toBeLessThanOrEqual(32_000);
  expect(correctClocks(agreeing, cluster(0)).lookShiftsMs).toBeUndefined();
});

it.each<[string, ServerClock[], string[]]>([
  ['another clock', [server('evil', 82_800_000)], ['GR-CLOCK-03']],
  ['no clock', [silent('evil')], []],
  ['a clock that cannot be', [server('evil', 90_000_000)], ['GR-CLOCK-02']],
])('corrects each Gitea by its own clock beside one with %s', (_, others, warned) => {
  const good = server('good', -40_000);
  const job = { id: 1, createdAtMs: 60_000, startedAtMs: 70_000, completedAtMs: 80_000 };
  const look = { jobs: [job], runners: [] } as unknown as Look;

  const correction = correctClocks([...others, good], cluster(5_000));
  const [shifted] = shiftLook(look, 'https://good/git', correction).jobs;

  expect(correction).toMatchObject({ nowShiftMs: 0, jobShiftMs: -5_000 });
  expect(shifted).toEqual({ id: 1, createdAtMs: 100_000, startedAtMs: 110_000, completedAtMs: 120_000 });
  expect(codes(correction)).toEqual(warned);
});

it('the correction of clocks leaves a good Gitea alone whatever clock another one has', () => {
  const look = { jobs: [], runners: [] };

  expect(shiftLook(look, 'https://good', correctClocks([server('good', 0), server('evil', 99_000)], undefined))).toBe(
    look,
  );
});

describe('Jobs that are shifted', () => {
  const jobs: readonly LiveJob[] = [
    { namespace: 'a', name: 'one', state: 'running', createdAtMs: 1_000, runningSinceMs: 1_500 },
    { namespace: 'a', name: 'two', state: 'complete', createdAtMs: 2_000, finishedAtMs: 3_000, pinned: true },
  ];

  it('shifted Jobs have other times and are the same otherwise', () => {
    expect(shiftJobs(jobs, -500)).toEqual([
      { namespace: 'a', name: 'one', state: 'running', createdAtMs: 500, runningSinceMs: 1_000 },
      { namespace: 'a', name: 'two', state: 'complete', createdAtMs: 1_500, finishedAtMs: 2_500, pinned: true },
    ]);
  });

  it('Jobs that are shifted by nothing are the same objects', () => {
    expect(shiftJobs(jobs, 0)).toBe(jobs);
  });
});
