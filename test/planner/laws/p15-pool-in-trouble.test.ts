/** Law P15 (docs/spec.md): what fills a pool besides its own runners, what doubt keeps there, and what happens when its runners fail. */
import { describe, expect, it } from 'vitest';
import type { LiveJob } from '../../../src/planner/evidence.ts';
import { idle, join, pool, warm } from '../../support/pool-scene.ts';
import { done, group, job, live, NOW, named, planScene, row, running, type Scene } from '../../support/scenario.ts';

/** A group that keeps one idle runner. */
const one = { ...pool, minIdleRunners: 1 };
const fatesIn = (scene: Scene) => planScene({ groups: [one], ...scene }).reasons;

describe('P15 a runner that no job needs any more', () => {
  const left = named(pool, 5);

  it('fills the pool, is not created again, and nothing else is started for its slot', () => {
    const out = planScene({ groups: [pool], ...join(idle(left), idle(warm(2))) }).emitted;

    expect(out).toEqual([
      expect.objectContaining({ runner: warm(2), because: 'warm' }),
      expect.objectContaining({ runner: left, because: 'warm', skip: true, pinned: false }),
    ]);
    expect(out[0]).not.toHaveProperty('skip');
  });

  it('fills it before one of a slot that is still starting, and after one of a slot that has come', () => {
    const starting = { liveJobs: [live(warm(1), 'starting')] };

    expect(fatesIn(join(idle(left), starting))).toEqual({ [left]: 'warm', [warm(1)]: 'drained' });
    expect(fatesIn(join(idle(left), idle(warm(2))))).toEqual({ [left]: 'surplus', [warm(2)]: 'warm' });
  });

  it('a runner that no job needs any more takes no slot: the first one is asked for', () => {
    expect(planScene({ groups: [pool], ...idle(left) }).names).toEqual([warm(1), left].sort());
  });

  it('loses its pin when it has one', () => {
    const liveJobs = [live(left, 'running', { pinned: true }), live(warm(2), 'running')];
    const runners = [row(left), row(warm(2))];
    const [, kept] = planScene({ groups: [pool], jobs: [done(5, left)], runners, liveJobs }).emitted;

    expect(kept).toMatchObject({ runner: left, pinned: false });
    expect(kept).not.toHaveProperty('skip');
  });

  it('a runner that no job needs any more does not fill it when it is of an older template', () => {
    const old = named({ ...pool, templateHash: 't0' }, 5);

    expect(fatesIn({ groups: [pool], ...join(idle(old), idle(warm(2))) })).toMatchObject({ [old]: 'surplus' });
  });
});

describe('P15 doubt keeps an idle runner', () => {
  const minutesAgo = (minutes: number): number => NOW - minutes * 60_000;
  const runs = (minutes: number, over: Partial<LiveJob> = {}, name = warm(1)) =>
    live(name, 'running', { createdAtMs: minutesAgo(minutes), ...over });
  const old = runs(60, { runningSinceMs: minutesAgo(59) });
  const away = row(warm(1), { online: false });
  /** A CI job of others that began half a minute ago: Gitea was up. */
  const giteaWasUp = running(1, 'someone-else', { startedAtMs: NOW - 30_000, labels: ['other'] });
  const kept = { [warm(1)]: 'warm' };
  const exchanged = (because: string) => ({ [warm(1)]: because, [warm(1, 1)]: 'warm' });
  const days = (count: number) => count * 1440;

  it.each<[string, Scene, Readonly<Record<string, string>>]>([
    ['whose row is offline when Gitea may have been away', { runners: [away], liveJobs: [old] }, kept],
    [
      'whose row is offline, but not when Gitea was there to hear it',
      { jobs: [giteaWasUp], runners: [away], liveJobs: [old] },
      exchanged('never-came'),
    ],
    ['whose row nobody may list', { liveJobs: [old] }, kept],
    ['whose pod has not started', { liveJobs: [{ ...runs(59), state: 'starting' }] }, kept],
    [
      'whose pod has not started, but not for an hour',
      { liveJobs: [{ ...runs(60), state: 'starting' }] },
      exchanged('never-came'),
    ],
    ['until it is seven days old', { runners: [row(warm(1))], liveJobs: [runs(days(6.9))] }, kept],
    ['but none that is seven days old', { runners: [row(warm(1))], liveJobs: [runs(days(7))] }, exchanged('drained')],
    [
      'at any age when it was made for a job: only the Jobs of slots live longer',
      { runners: [row(named(one, 5))], liveJobs: [runs(days(8), {}, named(one, 5))] },
      { [named(one, 5)]: 'warm' },
    ],
    [
      'whose pod cannot start, while no job waits',
      { liveJobs: [{ ...runs(15), state: 'starting', trouble: { reason: 'Unschedulable' } }] },
      kept,
    ],
    [
      'whose pod cannot start, but not when its node may be at fault',
      { liveJobs: [{ ...runs(15), state: 'starting', trouble: { reason: 'ImagePullBackOff', ofNode: true } }] },
      exchanged('stuck'),
    ],
  ])('doubt keeps an idle runner %s', (_, scene, fates) => {
    expect(fatesIn(scene)).toEqual(fates);
  });

  it('a job that an idle runner does not take gets another runner a spawn timeout after the job came, and after the start', () => {
    const given = (jobMinutes: number, runner: LiveJob) =>
      planScene({ groups: [one], jobs: [job(7, { createdAtMs: minutesAgo(jobMinutes) })], liveJobs: [runner] })
        .verdicts[7];
    const slow = (minutes: number) => runs(30, { runningSinceMs: minutesAgo(minutes) });

    expect(given(4, old)).toContain('free-runner');
    expect(given(6, old)).toContain('new-runner');
    expect(given(20, slow(4))).toContain('free-runner');
    expect(given(20, slow(6))).toContain('new-runner');
  });
});

describe('P15 runners of a pool that fail', () => {
  const failed = (ordinal: number, secondsAgo: number, over = {}) =>
    live(warm(1, ordinal), 'failed', {
      createdAtMs: NOW - secondsAgo * 1000 - 5_000,
      finishedAtMs: NOW - secondsAgo * 1000,
      ...over,
    });
  const because = (liveJobs: readonly LiveJob[]) => fatesIn({ liveJobs });

  it('runners of a pool that fail are replaced at once, then after 10 s, and their records stay for that', () => {
    expect(because([failed(0, 1)])).toEqual({ [warm(1)]: 'back-off-record', [warm(1, 1)]: 'warm' });
    const twice = [failed(0, 30), failed(1, 9)];
    expect(because(twice)).toEqual({ [warm(1)]: 'back-off-record', [warm(1, 1)]: 'back-off-record' });
    expect(because([failed(0, 30), failed(1, 10)])).toMatchObject({ [warm(1, 2)]: 'warm' });
  });

  it('count from their creation when Kubernetes does not tell their end', () => {
    const { finishedAtMs: _, ...created } = failed(1, 0);

    expect(because([failed(0, 30), { ...created, createdAtMs: NOW - 9_000 }])).not.toHaveProperty(warm(1, 2));
    expect(because([failed(0, 30), { ...created, createdAtMs: NOW - 10_000 }])).toHaveProperty(warm(1, 2));
  });

  it('hold back no slot of another group', () => {
    const other = group({ name: 'other', minIdleRunners: 1 });
    const ofOther = (ordinal: number) => ({ ...failed(ordinal, 1), name: warm(1, ordinal, other) });
    const come = idle(warm(1, 9, other));
    const both = (...parts: readonly Pick<Scene, 'runners' | 'liveJobs'>[]) =>
      fatesIn({ groups: [one, other], ...join(...parts) });

    expect(both({ liveJobs: [ofOther(0), ofOther(1)] })).toHaveProperty(warm(1), 'warm');
    // A runner of the other group that has come does not end our back-off either.
    expect(both({ liveJobs: [failed(0, 2), failed(1, 1)] }, come)).toMatchObject({
      [warm(1)]: 'back-off-record',
      [warm(1, 1)]: 'back-off-record',
    });
  });

  it('leave ten records at most, the newest, also of the same second, and when runners of the slot have come since', () => {
    const twelve = (endedAgo: (ordinal: number) => number) =>
      Array.from({ length: 12 }, (_, ordinal) => failed(ordinal, endedAgo(ordinal)));
    const recordsIn = (scene: Scene) =>
      Object.entries(fatesIn(scene)).flatMap(([name, reason]) => (reason === 'back-off-record' ? name : []));
    const same = twelve(() => 400);
    const used = live(warm(1, 12), 'complete', { finishedAtMs: NOW - 1_000 });

    expect(recordsIn({ liveJobs: twelve((ordinal) => 1_120 - ordinal * 60) })).toEqual(
      Array.from({ length: 10 }, (_, nth) => warm(1, nth + 2)).sort(),
    );
    expect(recordsIn({ liveJobs: same })).toHaveLength(10);
    expect(because(same.toReversed())).toEqual(because(same));
    expect(recordsIn({ liveJobs: [...same.slice(0, 10), used], jobs: [done(1, used.name)] })).toHaveLength(10);
  });

  it('count for ten seconds when they may have had a CI job that Gitea has forgotten, however many they are', () => {
    const ended = (secondsAgo: number) =>
      [0, 1, 2, 3].map((ordinal) => ({ ...failed(ordinal, secondsAgo + ordinal), state: 'complete' as const }));

    expect(because(ended(9))).not.toHaveProperty(warm(1, 4));
    expect(because(ended(10))).toMatchObject({ [warm(1, 4)]: 'warm' });
  });

  it('runners of a pool that fail do not count when their pin shows that they had one', () => {
    const ended = (over: object) => because([failed(0, 1, { pinned: true, ...over })]);

    expect(ended({ state: 'complete' })).toEqual({ [warm(1)]: 'used-up', [warm(1, 1)]: 'warm' });
    // A Job that was re-created with its pin may have failed before it started.
    expect(ended({ state: 'failed' })).toMatchObject({ [warm(1)]: 'back-off-record' });
  });

  it('leave none when the slot has a registered runner, the floor is lower, or the group is suspended', () => {
    const seen = { liveJobs: [failed(0, 60)] };

    expect(fatesIn(join(seen, idle(warm(1, 1))))).toMatchObject({ [warm(1)]: 'failed' });
    for (const groups of [[group()], [{ ...one, suspend: true }]])
      expect(fatesIn({ groups, ...seen })).toEqual({ [warm(1)]: 'failed' });
  });

  it('runners of a pool that fail are tried one at a time while all runners of the group fail, and a job comes first', () => {
    const trouble = { reason: 'RegistrationFailed' };
    const liveJobs = [1, 2, 3].map((id) =>
      live(named(pool, id), 'failed', { finishedAtMs: NOW - 200_000, createdAtMs: NOW - 300_000, trouble }),
    );
    const sinceMs = { createdAtMs: NOW - 600_000, runningSinceMs: NOW - 600_000 };
    const olderIdle = { runners: [row(named(pool, 9))], liveJobs: [live(named(pool, 9), 'running', sinceMs)] };

    expect(planScene({ groups: [pool], liveJobs }).names).toEqual([warm(1)]);
    for (const groups of [[pool], [one]])
      expect(planScene({ groups, jobs: [job(9)], liveJobs }).names).toEqual([named(pool, 9)]);
    // A job that has its runner tries none.
    expect(fatesIn({ groups: [pool], jobs: [job(9)], ...join({ liveJobs }, olderIdle) })).toMatchObject({
      [named(pool, 9)]: 'own-runner',
      [warm(1)]: 'warm',
    });
  });
});
