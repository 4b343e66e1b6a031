/** Law P10 (docs/spec.md): doubt keeps. Each scene made it necessary. */
import { describe, expect, it } from 'vitest';
import type { Job, LiveJob, RegisteredRunner } from '../../../src/planner/evidence.ts';
import { done, group, job, live, NOW, named, planScene, row, running, type Scene } from '../../support/scenario.ts';

const ci = group();
const one = group({ maxActiveRunners: 1 });
const name = named(one, 1);

describe('P10 a runner at work of which Gitea hears nothing', () => {
  const begun = (seconds: number) =>
    running(1, name, { startedAtMs: NOW - seconds * 1000, createdAtMs: NOW - 700_000 });
  const silent = (scene: Scene = {}): Scene => ({
    groups: [one],
    jobs: [begun(61), job(2)],
    runners: [row(name, { online: false })],
    ...scene,
  });
  const room = (scene: Scene = {}) => planScene(silent(scene)).verdicts[2];
  /** Job 2 shows that Gitea was there so many seconds ago. */
  const whenUp = (seconds: number) => room({ jobs: [begun(61), job(2, { createdAtMs: NOW - seconds * 1000 })] });
  const isFree = `new-runner ${named(one, 2)}`;

  it('a runner at work of which Gitea hears nothing is lost: its slot is free, and its Job stays', () => {
    expect(room()).toBe(isFree);
    expect(planScene(silent()).runners[0]).toMatchObject({ because: 'lost', emit: true, pinned: true, skip: true });
  });

  it('a runner at work of which Gitea hears nothing is not lost when it has just begun, reports, or has no row', () => {
    expect(room({ jobs: [begun(60), job(2)] })).toBe('cap');
    expect(room({ runners: [row(name)] })).toBe('cap');
    expect(room({ runners: [] })).toBe('cap');
  });

  it('a runner at work of which Gitea hears nothing is not lost when nothing shows that Gitea was there to be told: it may have been down', () => {
    expect([15, 16, 59, 60].map(whenUp)).toEqual(['cap', isFree, isFree, 'cap']);
  });

  it('a runner at work of which Gitea hears nothing is kept also when only the end of a job shows that Gitea was there', () => {
    const old = { createdAtMs: NOW - 700_000 };
    const other = done(3, 'elsewhere', { ...old, startedAtMs: NOW - 600_000, completedAtMs: NOW - 20_000 });

    expect(room({ jobs: [begun(61), job(2, old)] })).toBe('cap');
    expect(room({ jobs: [begun(61), job(2, old), other] })).toContain('new-runner');
  });

  it('a runner at work of which Gitea hears nothing is judged by what Kubernetes shows, where it is seen', () => {
    expect(room({ liveJobs: [live(name, 'running')] })).toBe('cap');
    expect(room({ liveJobs: [live(named(one, 9), 'complete')] })).toBe(isFree);
  });
});

describe('P10 doubt keeps', () => {
  it.each<[string, readonly LiveJob[] | undefined]>([
    ['cancelling', undefined],
    ['cancelling, while its Job is being deleted', [live(name, 'deleting')]],
  ])('a runner that Gitea shows busy though it lists no job (%s), with its slot under the cap', (_, liveJobs) => {
    const scene = { groups: [one], jobs: [job(2)], runners: [row(name, { busy: true })], liveJobs };

    expect(planScene(scene).emitted).toMatchObject([{ runner: name, because: 'finishing', pinned: true, skip: true }]);
    expect(planScene(scene).verdicts).toEqual({ 2: 'cap' });
  });

  describe('of two looks', () => {
    const repo = group({ name: 'repo', scope: 'repo', look: 'repo' });
    const bothWays = (first: Job, second: Job): readonly Scene[] =>
      [
        [first, second],
        [second, first],
      ].map(([acme, there]) => ({
        groups: [ci, repo],
        looks: { acme: { jobs: [acme as Job], runners: [] }, repo: { jobs: [there as Job], runners: [] } },
      }));

    it('a runner that one shows busy and the other one finished', () => {
      for (const scene of bothWays(done(1, name), running(1, name))) expect(planScene(scene).because).toEqual(['busy']);
    });

    it.each<[Job['status'], Job['status']]>([
      ['in_progress', 'completed'],
      ['in_progress', 'queued'],
      ['in_progress', 'blocked'],
      ['completed', 'queued'],
      ['completed', 'blocked'],
      ['queued', 'blocked'],
    ])('a job that one shows %s and the other one %s is the first of the two', (later, earlier) => {
      const seen = (status: Job['status']) => job(1, { status, runner: 'elsewhere' });

      for (const scene of bothWays(seen(later), seen(earlier)))
        expect(planScene(scene).jobs.map((of) => of.job.status)).toEqual([later]);
    });

    it('a job that one shows queued again after a rerun, and the other one in its first stay', () => {
      for (const scene of bothWays(job(1, { attempt: 2 }), done(1, name)))
        expect(planScene(scene).verdicts[1]).toContain('new-runner');
    });
  });

  it.each<[string, readonly Partial<RegisteredRunner>[]]>([
    ['surplus', [{ id: 1 }, { id: 2, online: false }]],
    [
      'disabled',
      [
        { id: 1, disabled: true },
        { id: 2, online: false },
      ],
    ],
    ['surplus', [{ id: 1 }, { id: 2, disabled: true }]],
    ['finishing', [{ id: 1, busy: true, disabled: true }, { id: 2 }]],
    [
      'finishing',
      [
        { id: 1, online: false },
        { id: 2, busy: true },
      ],
    ],
    // Gitea gives it jobs by the labels of the newest row.
    ['free-runner', [{ id: 1 }, { id: 2, labels: ['gpu'] }]],
    ['surplus', [{ id: 1, labels: ['gpu'] }, { id: 2 }]],
  ])(
    'a runner whose row is listed several times is %s by the one with most life, then the newest: %j',
    (because, rows) => {
      const groups = [group({ labels: ['linux', 'gpu'] })];

      for (const all of [rows, rows.toReversed()]) {
        const runners = all.map((over) => row(name, over));
        expect(planScene({ groups, jobs: [job(2, { labels: ['gpu'] })], runners }).reasons[name]).toBe(because);
      }
    },
  );

  it('the plan fails when the look of a group is missing', () => {
    expect(() => planScene({ looks: {} })).toThrow('no look at Gitea for RunnerGroup runners/ci');
  });
});
