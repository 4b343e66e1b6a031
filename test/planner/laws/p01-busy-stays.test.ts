/** Law P1 (docs/spec.md): a busy runner stays, pinned. Each scene made it necessary. */
import { describe, expect, it } from 'vitest';
import type { Group, Job, LiveJob } from '../../../src/planner/evidence.ts';
import { done, group, job, live, NOW, named, planScene, row, running, type Scene } from '../../support/scenario.ts';

const ci = group();
const name = named(ci, 1);
const pinned = live(name, 'running', { pinned: true });

describe('P1 a busy runner stays, pinned', () => {
  it.each<[string, Partial<Group>]>([
    ['the cap is lowered below it', { maxActiveRunners: 0 }],
    ['the group is suspended', { suspend: true }],
    ['the labels change', { labels: ['other'] }],
    ['the pod template changes', { templateHash: 't2' }],
  ])('a busy runner stays when %s', (_, change) => {
    expect(planScene({ groups: [group(change)], jobs: [running(1, named(ci, 7))] }).emitted).toMatchObject([
      { runner: named(ci, 7), pinned: true, because: 'busy', job: { id: 1 } },
    ]);
  });

  it.each<[string, boolean, readonly LiveJob[]]>([
    ['no Job is seen', true, []],
    ['only the Jobs of others are seen', true, [live(named(ci, 9), 'complete')]],
    ['its Job is being deleted', true, [live(name, 'deleting')]],
    ['its Job is not pinned yet', false, [live(name, 'running')]],
    ['its Job is pinned: a sync of old manifests creates no second one', true, [pinned]],
  ])('the Job of a busy runner is created by Argo CD only to be pinned: %s', (_, isSkipped, liveJobs) => {
    const cleansUp = { jobs: [job(2)], runners: [row(name, { busy: true })], liveJobs };
    const stays = (because: string) => ({ runner: name, because, pinned: true, ...(isSkipped && { skip: true }) });

    for (const [because, scene] of Object.entries({
      busy: { jobs: [running(1, name)], liveJobs },
      finishing: cleansUp,
    })) {
      const [first] = planScene(scene).emitted;
      expect(first).toMatchObject(stays(because));
      expect(first?.skip ?? false).toBe(isSkipped);
    }
  });

  it.each([true, false])(
    'a silent runner whose CI job is in no list stays, pinned: its repository went elsewhere (busy: %s)',
    (busy) => {
      const planned = planScene({ runners: [row(name, { busy })], liveJobs: [pinned] });

      expect(planned.runners).toMatchObject([{ because: 'finishing', pinned: true }]);
      expect(planned.groups).toMatchObject([{ busy: 1 }]);
    },
  );

  it('the pin goes when its CI job is over: one sync later another runner of its name is not protected', () => {
    const idle = { jobs: [done(1, name)], runners: [row(name)] };

    expect(planScene({ ...idle, liveJobs: [pinned] }).runners).toMatchObject([
      { emit: true, because: 'unpinning', pinned: false },
    ]);
    expect(planScene({ ...idle, liveJobs: [live(name, 'running')] }).because).toEqual(['surplus']);
    // That runner takes the next job without a pin.
    expect(planScene({ ...idle, jobs: [...idle.jobs, job(2)], liveJobs: [pinned] }).emitted).toMatchObject([
      { runner: name, pinned: false, because: 'free-runner' },
    ]);
  });

  it.each<[string, Partial<Group>, boolean]>([
    ['whose group is suspended', { suspend: true }, false],
    ['that Gitea shows disabled', {}, true],
  ])('the pin goes when its CI job is over, also of one %s', (_, change, disabled) => {
    const scene = { jobs: [done(1, name)], runners: [row(name, { disabled })], liveJobs: [pinned] };

    expect(planScene({ groups: [group(change)], ...scene }).because).toEqual(['unpinning']);
  });

  it('the slot of a busy runner is free at once when Kubernetes shows that its pod is lost', () => {
    const one = group({ maxActiveRunners: 1 });
    const liveJobs = [live(name, 'failed', { finishedAtMs: NOW })];
    const scene = { groups: [one], jobs: [running(1, name), job(2)], liveJobs };

    expect(planScene(scene).names).toEqual([named(one, 2)]);
    expect(planScene(scene).runners[0]).toMatchObject({ because: 'lost', emit: true, pinned: false, skip: true });
  });
});

describe('P1 a busy runner whose Job was re-created', () => {
  const two = group({ maxActiveRunners: 2 });
  const busy = running(1, name, { startedAtMs: NOW - 60_000 });
  const recreated = (state: LiveJob['state']) => live(name, state, { pinned: true });
  const verdictOfNext = (liveJob: LiveJob, listedAtMs = NOW - 1_000, of = two) =>
    planScene({ groups: [of], jobs: [busy, job(2)], liveJobs: [liveJob], listedAtMs }).verdicts[2];
  const fits = `new-runner ${named(two, 2)}`;

  it('a busy runner whose Job was re-created takes two slots under the cap: a pod that has not started is not the one that works', () => {
    expect(verdictOfNext(recreated('starting'))).toBe('cap');
    expect(verdictOfNext(recreated('starting'), NOW, group({ maxActiveRunners: 3 }))).toBe(fits);
    expect(verdictOfNext(recreated('running'))).toBe(fits);
    expect(verdictOfNext(live(named(two, 9), 'complete'))).toBe(fits);
  });

  it('a busy runner whose Job was re-created takes one slot when the first runner has ended', () => {
    const jobs = [done(3, name, { startedAtMs: NOW - 90_000 }), busy, job(2)];
    const planned = planScene({ groups: [two], jobs, liveJobs: [recreated('running')] });

    expect(planned.verdicts[2]).toBe(fits);
    expect(planned.runners[0]).toMatchObject({ because: 'busy', job: { id: 1 } });
  });

  it('a busy runner whose Job was re-created takes one slot only if the Jobs were listed after the CI job had begun: clocks are 2 s apart', () => {
    expect(verdictOfNext(recreated('starting'), NOW - 58_000)).toBe(fits);
    expect(verdictOfNext(recreated('starting'), NOW - 57_999)).toBe('cap');
  });

  it('a busy runner whose Job was re-created is found without a comparison of the clocks of Gitea and Kubernetes', () => {
    expect(verdictOfNext({ ...recreated('starting'), createdAtMs: NOW + 60_000 })).toBe('cap');
    expect(verdictOfNext({ ...recreated('running'), createdAtMs: NOW - 300_000 })).toBe(fits);
  });

  it('a busy runner whose Job was re-created is not ended by the second runner of its name, whose job began later, whichever job was created first', () => {
    const began = (id: number, secondsAgo: number) => ({ id, startedAtMs: NOW - secondsAgo * 1000 });
    const becauseOf = (...jobs: Job[]) =>
      planScene({ groups: [two], jobs, liveJobs: [live(name, 'complete')] }).because;
    const hasRun = (id: number, secondsAgo: number) => done(id, name, began(id, secondsAgo));
    const runs = (id: number, secondsAgo: number) => running(id, name, began(id, secondsAgo));

    // The Job that ended ran job 1, which began after job 3: the runner of job 3 still works.
    expect(becauseOf(hasRun(1, 10), hasRun(2, 60), runs(3, 30))).toEqual(['busy']);
    expect(becauseOf(hasRun(1, 60), hasRun(2, 10), runs(3, 30))).toEqual(['busy']);
    // It ran job 1, which began after all ended jobs.
    expect(becauseOf(runs(1, 10), runs(2, 60), hasRun(3, 30))).toEqual(['lost']);
    expect(becauseOf(hasRun(1, 60), runs(2, 30))).toEqual(['lost']);
    // Both in one second: nothing proves a second runner.
    expect(becauseOf(hasRun(1, 30), runs(2, 30))).toEqual(['lost']);
  });

  it.each<[string, string, Scene]>([
    ['nothing else is known', 'busy', {}],
    ['its row is offline', 'busy', { runners: [row(name, { online: false })] }],
    ['a second runner of its name has ended', 'busy', { jobs: [done(2, name)], liveJobs: [live(name, 'complete')] }],
    ['its Job has ended', 'lost', { liveJobs: [live(name, 'complete')] }],
  ])(
    'a busy runner whose Job was re-created is judged also when Gitea does not say when its job began: %s',
    (_, because, { jobs = [], ...seen }) => {
      const { startedAtMs: _ms, ...unknown } = running(1, name);

      expect(planScene({ groups: [two], jobs: [unknown, ...jobs], ...seen }).because).toEqual([because]);
    },
  );

  it('a busy runner whose Job was re-created is over when its Job has ended, although Gitea still shows its row busy', () => {
    const ended = live(name, 'complete', { pinned: true });

    expect(planScene({ groups: [two], runners: [row(name, { busy: true })], liveJobs: [ended] }).because).toEqual([
      'used-up',
    ]);
  });

  it('a busy runner whose Job was re-created takes a slot for each job that runs under its name', () => {
    expect(planScene({ groups: [two], jobs: [busy, running(2, name), job(3)] }).verdicts[3]).toBe('cap');
  });

  it('a busy runner whose Job was re-created is free, and loses its pin, when Gitea has given up the job and the pod that is seen has not started', () => {
    const jobs = [done(1, name, { startedAtMs: NOW - 60_000 })];
    const verdictAt = (state: LiveJob['state']) =>
      planScene({ jobs: [...jobs, job(2)], liveJobs: [live(name, state)] }).verdicts[2];

    expect(verdictAt('starting')).toBe(`free-runner ${name}`);
    expect(verdictAt('running')).toBe(fits);
    expect(planScene({ jobs, liveJobs: [recreated('starting')] }).because).toEqual(['unpinning']);
  });

  it('loses it also while the row of the first runner is there', () => {
    const becauseOf = (state: LiveJob['state']) =>
      planScene({ runners: [row(name)], liveJobs: [recreated(state)] }).because;

    expect(becauseOf('starting')).toEqual(['unpinning']);
    expect(becauseOf('running')).toEqual(['finishing']);
  });
});
