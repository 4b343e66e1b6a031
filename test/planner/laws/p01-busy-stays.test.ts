/** Law P1 (docs/spec.md): a busy runner stays, pinned. Each scene made it necessary. */
import { describe, expect, it } from 'vitest';
import type { Group, Job, LiveJob } from '../../../src/planner/evidence.ts';
import {
  done,
  emittedIn,
  emittedNames,
  group,
  job,
  live,
  NOW,
  named,
  planScene,
  row,
  running,
  type Scene,
  verdictsIn,
} from '../../support/scenario.ts';

const ci = group();

describe('P1 a busy runner stays, pinned', () => {
  it.each<[string, Partial<Group>]>([
    ['the cap is lowered below it', { maxActiveRunners: 0 }],
    ['the group is suspended', { suspend: true }],
    ['the labels change', { labels: ['other'] }],
    ['the pod template changes', { templateHash: 't2' }],
  ])('when %s', (_, change) => {
    expect(emittedIn({ groups: [group(change)], jobs: [running(1, named(ci, 7))] })).toMatchObject([
      { runner: named(ci, 7), pinned: true, because: 'busy', job: { id: 1 } },
    ]);
  });

  it('when its registration is gone and its Job is being deleted', () => {
    expect(emittedIn({ jobs: [running(1, named(ci, 1))], liveJobs: [live(named(ci, 1), 'deleting')] })).toMatchObject([
      { runner: named(ci, 1), pinned: true },
    ]);
  });

  it('and is kept and not created by Argo CD when its Job is unseen or about to go', () => {
    const skipped = (...liveJobs: LiveJob[]) =>
      emittedIn({ jobs: [running(1, named(ci, 1))], liveJobs }).map(({ skip = false }) => skip);

    expect(skipped()).toEqual([true]);
    expect(skipped(live(named(ci, 9), 'complete'))).toEqual([true]);
    expect(skipped(live(named(ci, 1), 'deleting'))).toEqual([true]);
    expect(skipped(live(named(ci, 1), 'running'))).toEqual([false]);
  });

  it('and once it is pinned, so that a sync of old manifests creates no second one', () => {
    const pinned = live(named(ci, 1), 'running', { pinned: true });

    expect(emittedIn({ jobs: [running(1, named(ci, 1))], liveJobs: [pinned] })).toMatchObject([
      { because: 'busy', pinned: true, skip: true },
    ]);
  });

  it('the same while it cleans up after a cancel', () => {
    const runners = [row(named(ci, 1), { busy: true })];
    const skipped = (...liveJobs: LiveJob[]) =>
      emittedIn({ jobs: [job(2)], runners, liveJobs }).flatMap(({ because, skip = false }) =>
        because === 'finishing' ? skip : [],
      );

    expect(skipped()).toEqual([true]);
    expect(skipped(live(named(ci, 1), 'running'))).toEqual([false]);
  });

  it.each([true, false])(
    'while it is silent, which Gitea shows as idle, and its CI job is in no list: its repository went elsewhere',
    (busy) => {
      const runners = [row(named(ci, 1), { busy })];
      const liveJobs = [live(named(ci, 1), 'running', { pinned: true })];

      expect(planScene({ runners, liveJobs }).runners).toMatchObject([{ because: 'finishing', pinned: true }]);
      expect(planScene({ runners, liveJobs }).groups).toMatchObject([{ busy: 1 }]);
    },
  );

  it('until its CI job is over: nothing protects another runner of its name, and one sync later that goes', () => {
    const idle = { jobs: [done(1, named(ci, 1))], runners: [row(named(ci, 1))] };
    const before = planScene({ ...idle, liveJobs: [live(named(ci, 1), 'running', { pinned: true })] });
    const after = planScene({ ...idle, liveJobs: [live(named(ci, 1), 'running')] });

    expect(before.runners).toMatchObject([{ emit: true, because: 'unpinning', pinned: false }]);
    expect(after.runners).toMatchObject([{ emit: false, because: 'surplus' }]);
  });

  it.each<[string, Partial<Group>, boolean]>([
    ['whose group is suspended', { suspend: true }, false],
    ['that Gitea shows disabled', {}, true],
  ])('until its CI job is over, also one %s', (_, change, disabled) => {
    expect(
      planScene({
        groups: [group(change)],
        jobs: [done(1, named(ci, 1))],
        runners: [row(named(ci, 1), { disabled })],
        liveJobs: [live(named(ci, 1), 'running', { pinned: true })],
      }).runners,
    ).toMatchObject([{ emit: true, because: 'unpinning', pinned: false }]);
  });

  it('and another runner of its name takes the next job without a pin', () => {
    expect(
      emittedIn({
        jobs: [done(1, named(ci, 1)), job(2)],
        runners: [row(named(ci, 1))],
        liveJobs: [live(named(ci, 1), 'running', { pinned: true })],
      }),
    ).toMatchObject([{ runner: named(ci, 1), pinned: false, because: 'free-runner' }]);
  });

  it('unless Kubernetes shows that its pod is lost: then its slot is free at once', () => {
    const one = group({ maxActiveRunners: 1 });
    const planned = planScene({
      groups: [one],
      jobs: [running(1, named(one, 1)), job(2)],
      liveJobs: [live(named(one, 1), 'failed', { finishedAtMs: NOW })],
    });

    expect(emittedNames(planned)).toEqual([named(one, 2)]);
    expect(planned.runners[0]).toMatchObject({ because: 'lost', emit: true, pinned: false, skip: true });
  });
});

describe('P1 a busy runner whose Job was re-created', () => {
  const two = group({ maxActiveRunners: 2 });
  const busy = running(1, named(two, 1), { startedAtMs: NOW - 60_000 });
  const recreated = (state: LiveJob['state']) => live(named(two, 1), state, { pinned: true });
  const verdictOfNext = (liveJobs: readonly LiveJob[], listedAtMs = NOW - 1_000) =>
    verdictsIn({ groups: [two], jobs: [busy, job(2)], liveJobs, listedAtMs })[2];

  it('takes two places under the cap: a pod that has not started is not the one that works', () => {
    expect(verdictOfNext([recreated('starting')])).toBe('cap');
    expect(verdictOfNext([recreated('running')])).toBe(`new-runner ${named(two, 2)}`);
    expect(verdictOfNext([live(named(two, 9), 'complete')])).toBe(`new-runner ${named(two, 2)}`);
  });

  it('takes no more than two', () => {
    const three = group({ maxActiveRunners: 3 });

    expect(verdictsIn({ groups: [three], jobs: [busy, job(2)], liveJobs: [recreated('starting')] })[2]).toBe(
      `new-runner ${named(three, 2)}`,
    );
  });

  it('when nobody says when the Jobs were listed: it was at most 20 s ago, and clocks are 2 s apart', () => {
    const agoMs = (ms: number) =>
      verdictsIn({
        groups: [two],
        jobs: [running(1, named(two, 1), { startedAtMs: NOW - ms }), job(2)],
        liveJobs: [recreated('starting')],
      })[2];

    expect(agoMs(22_000)).toBe(`new-runner ${named(two, 2)}`);
    expect(agoMs(22_001)).toBe('cap');
  });

  it('but only when the Jobs were listed after the CI job had begun', () => {
    expect(verdictOfNext([recreated('starting')], NOW - 58_000)).toBe(`new-runner ${named(two, 2)}`);
    expect(verdictOfNext([recreated('starting')], NOW - 57_999)).toBe('cap');
  });

  it('is found without a comparison of the clocks of Gitea and Kubernetes', () => {
    const ahead = { ...recreated('starting'), createdAtMs: NOW + 60_000 };
    const behind = { ...recreated('running'), createdAtMs: NOW - 300_000 };

    expect(verdictOfNext([ahead])).toBe('cap');
    expect(verdictOfNext([behind])).toBe(`new-runner ${named(two, 2)}`);
  });

  it('is not ended by the second runner of its name that has run another job', () => {
    const second = done(2, named(two, 1), { startedAtMs: NOW - 30_000 });
    const liveJobs = [live(named(two, 1), 'complete')];

    expect(planScene({ groups: [two], jobs: [busy, second], liveJobs }).runners).toMatchObject([{ because: 'busy' }]);
  });

  it('whichever job of its name was created first: what counts is which one began last', () => {
    const began = (id: number, secondsAgo: number) => ({ id, startedAtMs: NOW - secondsAgo * 1000 });
    const becauseOf = (...jobs: Job[]) =>
      planScene({ groups: [two], jobs, liveJobs: [live(named(two, 1), 'complete')] }).runners.map(
        ({ because }) => because,
      );
    const hasRun = (id: number, secondsAgo: number) => done(id, named(two, 1), began(id, secondsAgo));
    const runs = (id: number, secondsAgo: number) => running(id, named(two, 1), began(id, secondsAgo));

    // The Job that ended ran job 1, which began after job 3: the runner of job 3 still works.
    expect(becauseOf(hasRun(1, 10), hasRun(2, 60), runs(3, 30))).toEqual(['busy']);
    expect(becauseOf(hasRun(1, 60), hasRun(2, 10), runs(3, 30))).toEqual(['busy']);
    // It ran job 1, which began after all that have ended.
    expect(becauseOf(runs(1, 10), runs(2, 60), hasRun(3, 30))).toEqual(['lost']);
    expect(becauseOf(hasRun(1, 60), runs(2, 30))).toEqual(['lost']);
    // Both in one second: nothing says that there is a second runner.
    expect(becauseOf(hasRun(1, 30), runs(2, 30))).toEqual(['lost']);
  });

  it('also when Gitea does not say when its job began', () => {
    const { startedAtMs: _, ...unknown } = running(1, named(two, 1));
    const liveJobs = [live(named(two, 1), 'complete')];
    const becauseOf = (scene: Scene) => planScene({ groups: [two], ...scene }).runners.map(({ because }) => because);

    expect(becauseOf({ jobs: [unknown] })).toEqual(['busy']);
    expect(becauseOf({ jobs: [unknown], runners: [row(named(two, 1), { online: false })] })).toEqual(['busy']);
    expect(becauseOf({ jobs: [unknown, done(2, named(two, 1))], liveJobs })).toEqual(['busy']);
    expect(becauseOf({ jobs: [unknown], liveJobs })).toEqual(['lost']);
  });

  it('takes a place for each job that runs under its name', () => {
    expect(verdictsIn({ groups: [two], jobs: [busy, running(2, named(two, 1)), job(3)] })[3]).toBe('cap');
  });

  it('is free when Gitea has given up the job and the pod that is seen has not started', () => {
    const jobs = [done(1, named(ci, 1), { startedAtMs: NOW - 60_000 }), job(2)];

    expect(verdictsIn({ jobs, liveJobs: [live(named(ci, 1), 'starting')] })[2]).toBe(`free-runner ${named(ci, 1)}`);
    expect(verdictsIn({ jobs, liveJobs: [live(named(ci, 1), 'running')] })[2]).toBe(`new-runner ${named(ci, 2)}`);
  });

  it('loses its pin then, when no job needs it', () => {
    const jobs = [done(1, named(ci, 1), { startedAtMs: NOW - 60_000 })];

    expect(planScene({ jobs, liveJobs: [live(named(ci, 1), 'starting', { pinned: true })] }).runners).toMatchObject([
      { emit: true, because: 'unpinning', pinned: false },
    ]);
  });

  it('loses it also while the row of the first runner is there', () => {
    const becauseOf = (state: LiveJob['state']) =>
      planScene({ runners: [row(named(ci, 1))], liveJobs: [live(named(ci, 1), state, { pinned: true })] }).runners;

    expect(becauseOf('starting')).toMatchObject([{ because: 'unpinning' }]);
    expect(becauseOf('running')).toMatchObject([{ because: 'finishing' }]);
  });
});
