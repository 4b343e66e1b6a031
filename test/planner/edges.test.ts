/** Edges of the planner's steps, each of which a small change of the source would pass unseen. */
import { describe, expect, it } from 'vitest';
import type { Limit } from '../../src/planner/evidence.ts';
import { runnerName } from '../../src/planner/names.ts';
import { plan } from '../../src/planner/plan.ts';
import { withPast } from '../../src/planner/unseen/unseen.ts';
import { group, INSTANCE, job, live, NOW, named, ORIGIN, planScene, row, running } from '../support/scenario.ts';

const ci = group();
const MINUTE = 60_000;

describe('P44 a cluster that nobody sees', () => {
  const unseen = (nowMs: number) => ({
    instance: INSTANCE,
    looks: new Map(),
    cluster: { is: 'unseen' as const },
    nowMs,
  });
  const looks = new Map([[ci.look, { jobs: [], runners: [] }]]);

  it('a cluster that nobody sees is not planned without its past, unless there is no group', () => {
    expect(() => plan([ci], { ...unseen(NOW), looks })).toThrow('nobody has given the past');
    expect(plan([], unseen(NOW)).runners).toEqual([]);
  });

  it('a cluster that nobody sees is planned with it, and one that is seen does not ask for it', () => {
    const evidence = { ...unseen(NOW), looks };
    const cluster = { is: 'seen' as const, jobs: [], pods: new Map(), listedAtMs: NOW };

    expect(plan([ci], evidence, withPast).runners).toEqual([]);
    expect(plan([ci], { ...evidence, cluster }, () => expect.fail('it asks')).runners).toEqual([]);
  });
});

describe('a shared limit', () => {
  const gpus: Limit = { key: 'limit gpus', name: 'gpus', most: 1 };
  const groups = ['a', 'b'].map((name) => group({ name, labels: [name], limits: [gpus], covers: 'acme' }));

  it('a shared limit has room beside a Job of another Application that says no limit', () => {
    const theirs = { application: 'other', giteaUrl: ORIGIN, scope: 'acme' };
    const liveJobs = [live('x', 'running', { ...theirs, pinned: true })];

    expect(planScene({ groups, jobs: [job(1, { labels: ['a'] })], liveJobs }).served).toEqual([1]);
  });

  it('a shared limit is no hindrance for a plan with a job that no group covers', () => {
    const jobs = [job(1, { labels: ['mainframe'] }), job(2, { labels: ['a'] })];
    const liveJobs = [live(named(ci, 9), 'starting')];

    expect(planScene({ groups, jobs, liveJobs }).verdicts).toMatchObject({ 1: 'labels-not-covered' });
  });
});

it('a limit per repository is no hindrance for a plan with a job that no group covers', () => {
  const limits: readonly Limit[] = [{ key: 'ci per repository', most: 1, per: 'repository' }];
  const jobs = [job(1, { labels: ['mainframe'] }), job(2)];

  expect(planScene({ groups: [group({ limits })], jobs, liveJobs: [] }).verdicts).toMatchObject({
    1: 'labels-not-covered',
    2: `new-runner ${named(ci, 2)}`,
  });
});

it('slots for heavy runners are so few as the weight says', () => {
  const heavy = group({ weight: 2, maxActiveRunners: 5 });
  const liveJobs = [1, 2, 3].map((id) => live(named(heavy, id), id === 1 ? 'running' : 'starting'));

  expect(planScene({ groups: [heavy], jobs: [running(1, named(heavy, 1))], liveJobs }).because).toEqual([
    'busy',
    'spare',
    'surplus',
  ]);
});

it('a job that became ready in the moment in which a stuck pod was asked for does not come later: what was tried before counts', () => {
  const one = group({ maxActiveRunners: 1 });
  const createdAtMs = NOW - 20 * MINUTE;
  const stuck = live(named(one, 1), 'starting', { createdAtMs, trouble: { reason: 'Unschedulable' }, triedBefore: 6 });
  const verdictOf = (readyMs: number) =>
    planScene({
      groups: [one],
      jobs: [job(1, { createdAtMs: createdAtMs - MINUTE }), job(2, { createdAtMs: readyMs })],
      liveJobs: [stuck],
    }).verdicts[2];

  expect(verdictOf(createdAtMs)).toBe('cap');
  expect(verdictOf(createdAtMs + 1)).toBe(`new-runner ${named(one, 2)}`);
});

const one = group({ maxActiveRunners: 1 });
const name = named(one, 1);
const jobs = [running(1, name, { startedAtMs: NOW - 10 * MINUTE, createdAtMs: NOW - 11 * MINUTE })];
const other = group({ name: 'other', origin: 'https://other.example.com', look: 'other' });
const fateWith = (where: 'acme' | 'other') => {
  const fresh = job(7, { labels: ['none'], createdAtMs: NOW - 30_000 });
  const looks = {
    acme: {
      jobs: where === 'acme' ? [...jobs, fresh] : jobs,
      runners: [row(name, { online: false })],
      rowsWereRead: true as const,
    },
    other: { jobs: where === 'other' ? [fresh] : [], runners: [] },
  };
  return planScene({ groups: [one, other], looks }).reasons[name];
};

it('a silent runner is lost where its Gitea was up, and only there', () => {
  expect(fateWith('acme')).toBe('lost');
  expect(fateWith('other')).toBe('busy');
});

it('a runner without a Job may be listed by the look of another group of its Gitea', () => {
  const other = group({ name: 'zz', look: 'zz', labels: ['zz'] });
  const looks = { acme: { jobs: [], runners: [] }, zz: { jobs: [], runners: [row(named(ci, 1))] } };

  expect(planScene({ groups: [ci, other], looks, liveJobs: [] }).reasons).toEqual({ [named(ci, 1)]: 'gone' });
});

it('a runner of a pool that nothing lists is not taken for one of another place: an older template alone proves nothing', () => {
  const former = group({ minIdleRunners: 1, templateHash: 't0' });
  const name = runnerName(INSTANCE, former, { poolIndex: 1 }, 0);
  const liveJobs = [live(name, 'running', { pinned: true, giteaUrl: ORIGIN, runningSinceMs: NOW - 9_000 })];

  expect(planScene({ groups: [group({ minIdleRunners: 1 })], liveJobs }).reasons[name]).toBe('unpinning');
});
