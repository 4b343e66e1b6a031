/** Law P15 (docs/spec.md): what fills a pool besides its own runners, what doubt keeps there, and what happens when its runners fail. */
import { describe, expect, it } from 'vitest';
import type { LiveJob } from '../../../src/planner/evidence.ts';
import { idle, join, pool, reasons, warm } from '../../support/pool-scene.ts';
import {
  done,
  emitted,
  emittedIn,
  group,
  job,
  live,
  NOW,
  named,
  namesIn,
  planScene,
  reasonsIn,
  row,
  running,
  type Scene,
  verdictsIn,
} from '../../support/scenario.ts';

describe('P15 a runner that no job needs any more', () => {
  const left = named(pool, 5);

  it('fills the pool, is not created again, and nothing else is started for its place', () => {
    const planned = planScene({ groups: [pool], ...join(idle(left), idle(warm(2))) });

    expect(emitted(planned)).toEqual([
      expect.objectContaining({ runner: warm(2), because: 'warm' }),
      expect.objectContaining({ runner: left, because: 'warm', skip: true, pinned: false }),
    ]);
    expect(emitted(planned)[0]).not.toHaveProperty('skip');
  });

  it('fills it before one of a slot that is still starting, and after one of a slot that has come', () => {
    const one = { ...pool, minIdleRunners: 1 };
    const starting = { liveJobs: [live(warm(1), 'starting')] };

    expect(reasonsIn({ groups: [one], ...join(idle(left), starting) })).toEqual({
      [left]: 'warm',
      [warm(1)]: 'drained',
    });
    expect(reasonsIn({ groups: [one], ...join(idle(left), idle(warm(2))) })).toEqual({
      [left]: 'surplus',
      [warm(2)]: 'warm',
    });
  });

  it('takes no slot: the first one is asked for', () => {
    expect(namesIn({ groups: [pool], ...idle(left) })).toEqual([warm(1), left].sort());
  });

  it('loses its pin when it has one', () => {
    const liveJobs = [live(left, 'running', { pinned: true }), live(warm(2), 'running')];
    const rows = { jobs: [done(5, left)], runners: [row(left), row(warm(2))] };

    const [, kept] = emittedIn({ groups: [pool], ...rows, liveJobs });
    expect(kept).toMatchObject({ runner: left, pinned: false });
    expect(kept).not.toHaveProperty('skip');
  });

  it('does not fill it when it is of an older template', () => {
    const old = named({ ...pool, templateHash: 't0' }, 5);

    expect(reasonsIn({ groups: [pool], ...join(idle(old), idle(warm(2))) })).toMatchObject({
      [old]: 'surplus',
    });
  });
});

describe('P15 doubt keeps an idle runner', () => {
  const minutesAgo = (minutes: number): number => NOW - minutes * 60_000;
  const old = live(warm(1), 'running', { createdAtMs: minutesAgo(60), runningSinceMs: minutesAgo(59) });
  const away = row(warm(1), { online: false });
  const one = { ...pool, minIdleRunners: 1 };
  /** A CI job of others that began half a minute ago: Gitea was up. */
  const giteaWasUp = running(1, 'someone-else', { startedAtMs: NOW - 30_000, labels: ['other'] });

  it('whose row is offline when Gitea may have been away', () => {
    expect(reasonsIn({ groups: [one], runners: [away], liveJobs: [old] })).toEqual({ [warm(1)]: 'warm' });
  });

  it('but not when Gitea was there to hear it', () => {
    expect(reasonsIn({ groups: [one], jobs: [giteaWasUp], runners: [away], liveJobs: [old] })).toEqual({
      [warm(1)]: 'never-came',
      [warm(1, 1)]: 'warm',
    });
  });

  it('whose row nobody may list', () => {
    expect(reasonsIn({ groups: [one], liveJobs: [old] })).toEqual({ [warm(1)]: 'warm' });
  });

  it('but a job that it does not take gets another one after a spawn timeout', () => {
    const waits = (minutes: number) => job(7, { createdAtMs: minutesAgo(minutes) });

    expect(verdictsIn({ groups: [one], jobs: [waits(4)], liveJobs: [old] })[7]).toContain('free-runner');
    expect(verdictsIn({ groups: [one], jobs: [waits(6)], liveJobs: [old] })[7]).toContain('new-runner');
  });

  it('and waits a spawn timeout for its start, not for its creation, before the job gets another one', () => {
    const slow = (minutes: number) =>
      live(warm(1), 'running', { createdAtMs: minutesAgo(30), runningSinceMs: minutesAgo(minutes) });
    const jobs = [job(7, { createdAtMs: minutesAgo(20) })];

    expect(verdictsIn({ groups: [one], jobs, liveJobs: [slow(4)] })[7]).toContain('free-runner');
    expect(verdictsIn({ groups: [one], jobs, liveJobs: [slow(6)] })[7]).toContain('new-runner');
  });

  it('but not one whose pod has not started in an hour', () => {
    const starting = (minutes: number) => [live(warm(1), 'starting', { createdAtMs: minutesAgo(minutes) })];

    expect(reasonsIn({ groups: [one], liveJobs: starting(59) })).toEqual({ [warm(1)]: 'warm' });
    expect(reasonsIn({ groups: [one], liveJobs: starting(60) })).toEqual({
      [warm(1)]: 'never-came',
      [warm(1, 1)]: 'warm',
    });
  });

  it('until it is seven days old', () => {
    const aged = (days: number) => [live(warm(1), 'running', { createdAtMs: minutesAgo(days * 1440) })];
    const at = (days: number) => planScene({ groups: [one], runners: [row(warm(1))], liveJobs: aged(days) });

    expect(reasons(at(6.9))).toEqual({ [warm(1)]: 'warm' });
    expect(reasons(at(7))).toEqual({ [warm(1)]: 'drained', [warm(1, 1)]: 'warm' });
  });

  it('at any age when it was made for a job: only the Jobs of slots live longer', () => {
    const left = named(one, 5);
    const liveJobs = [live(left, 'running', { createdAtMs: minutesAgo(8 * 1440) })];

    expect(reasonsIn({ groups: [one], runners: [row(left)], liveJobs })).toEqual({ [left]: 'warm' });
  });
});

describe('P15 an idle runner whose pod cannot start', () => {
  const one = { ...pool, minIdleRunners: 1 };
  const stuck = (trouble: LiveJob['trouble'] & {}) => [
    live(warm(1), 'starting', { createdAtMs: NOW - one.pendingDeadlineMs, trouble }),
  ];

  it('is not exchanged for a twin while no job waits', () => {
    const liveJobs = stuck({ reason: 'Unschedulable' });

    expect(reasonsIn({ groups: [one], liveJobs })).toEqual({ [warm(1)]: 'warm' });
  });

  it('is tried once more on another node when its node may be at fault', () => {
    const liveJobs = stuck({ reason: 'ImagePullBackOff', ofNode: true });

    expect(reasonsIn({ groups: [one], liveJobs })).toEqual({ [warm(1)]: 'stuck', [warm(1, 1)]: 'warm' });
  });
});

describe('P15 runners of a pool that fail', () => {
  const one = { ...pool, minIdleRunners: 1 };
  const failed = (ordinal: number, secondsAgo: number, over = {}) =>
    live(warm(1, ordinal), 'failed', {
      createdAtMs: NOW - secondsAgo * 1000 - 5_000,
      finishedAtMs: NOW - secondsAgo * 1000,
      ...over,
    });
  const because = (liveJobs: Scene['liveJobs'] = []) => reasonsIn({ groups: [one], liveJobs });

  it('are replaced at once, then after 10 s, and their records stay for that', () => {
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
      reasonsIn({ groups: [one, other], ...join(...parts) });

    expect(both({ liveJobs: [ofOther(0), ofOther(1)] })).toHaveProperty(warm(1), 'warm');
    // Nor does a runner of theirs that has come end the back-off of ours.
    expect(both({ liveJobs: [failed(0, 2), failed(1, 1)] }, come)).toMatchObject({
      [warm(1)]: 'back-off-record',
      [warm(1, 1)]: 'back-off-record',
    });
  });

  it('leave ten records at most, the newest', () => {
    const many = Array.from({ length: 12 }, (_, ordinal) => failed(ordinal, 400 + (12 - ordinal) * 60));
    const kept = Object.values(because(many));

    expect(kept.filter((reason) => reason === 'back-off-record')).toHaveLength(10);
    expect(because(many)).toMatchObject({
      [warm(1, 0)]: 'failed',
      [warm(1, 1)]: 'failed',
      [warm(1, 11)]: 'back-off-record',
    });
  });

  it('leave ten records, too, when they failed in the same second, and when runners of the slot have come since', () => {
    const recordsIn = (scene: Scene) =>
      Object.values(reasonsIn({ groups: [one], ...scene })).filter((reason) => reason === 'back-off-record');
    const liveJobs = Array.from({ length: 12 }, (_, ordinal) => failed(ordinal, 400));
    const used = live(warm(1, 12), 'complete', { finishedAtMs: NOW - 1_000 });

    expect(recordsIn({ liveJobs })).toHaveLength(10);
    expect(because(liveJobs.toReversed())).toEqual(because(liveJobs));
    expect(recordsIn({ liveJobs: [...liveJobs.slice(0, 10), used], jobs: [done(1, used.name)] })).toHaveLength(10);
  });

  it('count for ten seconds when they may have had a CI job that Gitea has forgotten, however many they are', () => {
    const ended = (secondsAgo: number) =>
      [0, 1, 2, 3].map((ordinal) => ({ ...failed(ordinal, secondsAgo + ordinal), state: 'complete' as const }));

    expect(because(ended(9))).not.toHaveProperty(warm(1, 4));
    expect(because(ended(10))).toMatchObject({ [warm(1, 4)]: 'warm' });
  });

  it('do not count when their pin shows that they had one', () => {
    const ended = (over: object) => because([failed(0, 1, { pinned: true, ...over })]);

    expect(ended({ state: 'complete' })).toEqual({ [warm(1)]: 'used-up', [warm(1, 1)]: 'warm' });
    // A Job that was re-created with its pin may have failed before it started.
    expect(ended({ state: 'failed' })).toMatchObject({ [warm(1)]: 'back-off-record' });
  });

  it('leave none when the slot has a registered runner, the floor is lower, or the group is suspended', () => {
    const registered = join({ liveJobs: [failed(0, 60)] }, idle(warm(1, 1)));
    expect(reasonsIn({ groups: [one], ...registered })).toMatchObject({ [warm(1)]: 'failed' });
    for (const groups of [[{ ...one, minIdleRunners: 0 }], [{ ...one, suspend: true }]]) {
      expect(reasonsIn({ groups, liveJobs: [failed(0, 60)] })).toEqual({ [warm(1)]: 'failed' });
    }
  });

  it('are tried one at a time while all runners of the group fail, and a job comes first', () => {
    const trouble = { reason: 'RegistrationFailed' };
    const liveJobs = [1, 2, 3].map((id) =>
      live(named(pool, id), 'failed', { finishedAtMs: NOW - 200_000, createdAtMs: NOW - 300_000, trouble }),
    );
    const olderIdle = {
      runners: [row(named(pool, 9))],
      liveJobs: [live(named(pool, 9), 'running', { createdAtMs: NOW - 600_000, runningSinceMs: NOW - 600_000 })],
    };

    expect(namesIn({ groups: [pool], liveJobs })).toEqual([warm(1)]);
    expect(namesIn({ groups: [pool], jobs: [job(9)], liveJobs })).toEqual([named(pool, 9)]);
    const ofOne = { ...pool, minIdleRunners: 1 };
    expect(namesIn({ groups: [ofOne], jobs: [job(9)], liveJobs })).toEqual([named(pool, 9)]);
    // A job that has its runner tries none.
    const served = { jobs: [job(9)], ...join({ liveJobs }, olderIdle) };
    expect(reasonsIn({ groups: [pool], ...served })).toMatchObject({
      [named(pool, 9)]: 'own-runner',
      [warm(1)]: 'warm',
    });
  });
});
