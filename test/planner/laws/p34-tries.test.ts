/** Law P34 (docs/spec.md), to the letter: which runner counts as given up, and which new one follows it. */
import { describe, expect, it } from 'vitest';
import { runnerName } from '../../../src/planner/names.ts';
import { group, INSTANCE, idleFor, job, live, NOW, named, planScene, row, type Scene } from '../../support/scenario.ts';

const ci = group();
const MINUTE = 60_000;
const old = (id: number, over: Parameters<typeof job>[1] = {}) =>
  job(id, { createdAtMs: NOW - 120 * MINUTE + id, ...over });

/** Returns for each runner with a slot, by name, how many were tried before it. */
const triedOf = (scene: Scene) =>
  Object.fromEntries(planScene(scene).emitted.map(({ runner, triedBefore = 0 }) => [runner, triedBefore]));
const pool = (of: typeof ci, index: number) => runnerName(INSTANCE, of, { poolIndex: index }, 0);

describe('P34 a runner was given up', () => {
  it.each([
    [299_999, 0],
    [300_000, 1],
  ])('a Job that failed with nothing done %d ms after its creation counts as %d tries', (lastedMs, tried) => {
    const before = live(named(ci, 1), 'failed', { createdAtMs: NOW - lastedMs - 1_000, finishedAtMs: NOW - 1_000 });

    expect(triedOf({ jobs: [old(1)], liveJobs: [before] })).toEqual({ [named(ci, 1, 1)]: tried });
  });

  it('a runner was not given up when it goes because the cap of its group was lowered', () => {
    const limits = [{ key: 'limit gpus', name: 'gpus', most: 3 }];
    const [a, b] = ['a', 'b'].map((name) => group({ name, limits, labels: [name], maxActiveRunners: 1 })) as [
      typeof ci,
      typeof ci,
    ];
    const jobs = [old(1, { labels: ['a'] }), old(2, { labels: ['a'] }), old(3, { labels: ['b'] })];
    const liveJobs = [1, 2].map((id) => live(named(a, id), 'starting', { limits: ['gpus'] }));

    expect(planScene({ groups: [a, b], jobs, liveJobs }).reasons).toMatchObject({ [named(a, 2)]: 'surplus' });
    expect(triedOf({ groups: [a, b], jobs, liveJobs })).toEqual({ [named(a, 1)]: 0, [named(b, 3)]: 0 });
  });

  it('a runner was not given up while the pool keeps it, although Gitea gives it no job', () => {
    const warm = group({ minIdleRunners: 1 });
    const liveJobs = [idleFor(pool(warm, 1), 6)];

    expect(triedOf({ groups: [warm], jobs: [old(1)], liveJobs, runners: [row(pool(warm, 1))] })).toEqual({
      [pool(warm, 1)]: 0,
      [named(warm, 1)]: 0,
    });
  });

  it('a runner was not given up while it has a job, although Gitea gives it no other one', () => {
    const jobs = [old(1), old(2), job(3)];
    const liveJobs = [idleFor(named(ci, 3), 6)];

    expect(triedOf({ jobs, liveJobs, runners: [row(named(ci, 3))] })).toEqual({
      [named(ci, 1)]: 0,
      [named(ci, 2)]: 0,
      [named(ci, 3)]: 0,
    });
  });
});

describe('P34 a new runner follows', () => {
  const inVain = (id: number, tried: number) =>
    idleFor(named(ci, id), 5 * 2 ** tried + 1, tried > 0 ? { triedBefore: tried } : {});
  const rows = [1, 2, 3].map((id) => row(named(ci, id), { id }));

  it.each([
    [0, 1, 2],
    [2, 0, 1],
    [1, 2, 0],
  ])('new runners follow one given-up runner each, that of the most tries first: %d, %d, %d', (...tries) => {
    const jobs = [1, 2, 3].map((id) => old(id));
    const liveJobs = tries.map((tried, nth) => inVain(nth + 1, tried));

    expect(triedOf({ jobs, liveJobs, runners: rows })).toEqual({
      [named(ci, 1, 1)]: 3,
      [named(ci, 2, 1)]: 2,
      [named(ci, 3, 1)]: 1,
    });
  });

  it('a new runner follows none of a group that shares nothing, also when its own group comes first', () => {
    const first = group({ name: 'aa', labels: ['aa'] });
    const jobs = [old(1), old(2, { labels: ['aa'] })];

    expect(triedOf({ groups: [first, ci], jobs, liveJobs: [inVain(1, 0)], runners: rows.slice(0, 1) })).toEqual({
      [named(first, 2)]: 0,
      [named(ci, 1, 1)]: 1,
    });
  });

  it('a new runner follows with a count of two digits at most', () => {
    const one = group({ maxActiveRunners: 1 });
    const stuck = live(named(one, 1), 'starting', {
      createdAtMs: NOW - 20 * MINUTE,
      trouble: { reason: 'Unschedulable' },
    });
    const followerOf = (triedBefore: number) =>
      triedOf({ groups: [one], jobs: [old(1), job(2)], liveJobs: [{ ...stuck, triedBefore }] });

    expect(followerOf(97)).toEqual({ [named(one, 2)]: 98 });
    expect(followerOf(99)).toEqual({ [named(one, 2)]: 99 });
  });
});

it('P34 a job that came after a stuck pod was asked for gets its slot also when an older job of another repository waits behind it', () => {
  const one = group({ maxActiveRunners: 1, fairness: 'per-repository' });
  const trouble = { reason: 'Unschedulable' };
  const stuck = live(named(one, 1), 'starting', { createdAtMs: NOW - 20 * MINUTE, trouble, triedBefore: 6 });
  const jobs = [old(1), old(2), job(3, { repository: 'acme/api' })];

  expect(planScene({ groups: [one], jobs, liveJobs: [stuck] }).verdicts).toMatchObject({
    2: 'cap',
    3: `new-runner ${named(one, 3)}`,
  });
});
