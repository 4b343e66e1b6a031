/** Law P7 (docs/spec.md): a job has one owner. Each scene made it necessary. */
import { describe, expect, it } from 'vitest';
import type { Group } from '../../../src/planner/evidence.ts';
import { done, group, job, live, NOW, named, planScene, row, type Scene } from '../../support/scenario.ts';

const ci = group();

describe('P7 a job that several groups cover has one owner', () => {
  const repo = group({ name: 'z-repo', scope: 'repo', labels: ['linux', 'gpu', 'arm'], look: 'acme' });
  const org = group({ name: 'b-org', labels: ['linux', 'gpu'] });
  const small = group({ name: 'x-small' });
  const same = group({ name: 'w-same' });
  const global = group({ name: 'a-global', scope: 'global' });
  const ownerAmong = (...groups: Group[]) =>
    planScene({ groups, jobs: [job(1)] }).emitted.map(({ group: { name } }) => name);

  it('narrowest scope, then fewest labels, then name', () => {
    expect(ownerAmong(global, org, small, same, repo)).toEqual(['z-repo']);
    expect(ownerAmong(global, org, small, same)).toEqual(['w-same']);
    expect(ownerAmong(global, org, small)).toEqual(['x-small']);
    expect(ownerAmong(global, org)).toEqual(['b-org']);
    expect(ownerAmong(group({ name: 'z', namespace: 'a' }), group({ name: 'y', namespace: 'b' }))).toEqual(['y']);
  });

  it('the plan passes on to the next group with room when the owner is full or suspended', () => {
    expect(ownerAmong(group({ maxActiveRunners: 0 }), global)).toEqual(['a-global']);
    expect(ownerAmong(group({ suspend: true }), global)).toEqual(['a-global']);
  });

  it('a job that several groups cover stays with the group that had room first, unless Kubernetes shows that nothing is starting there', () => {
    const groups = [group({ maxActiveRunners: 1 }), global];
    const old = { createdAtMs: NOW - 60_000 };
    const scene = { groups, jobs: [done(1, named(ci, 1), old), job(2, old)] };

    expect(planScene(scene).names).toEqual([named(global, 2)]);
    expect(planScene({ ...scene, liveJobs: [live(named(ci, 1), 'complete')] }).names).toEqual([named(ci, 2)]);
  });

  it('the plan keeps no runner of the group where it backs off, when another one serves it', () => {
    const failed = [0, 1].map((ordinal) =>
      live(named(ci, 1, ordinal), 'failed', { finishedAtMs: NOW - 1_000, trouble: { reason: 'Error' } }),
    );
    const liveJobs = [...failed, live(named(ci, 9), 'starting')];

    expect(planScene({ groups: [ci, global], jobs: [job(1)], liveJobs }).names).toEqual([named(global, 1)]);
  });

  it.each<[string, Scene]>([
    ['registered', { runners: [row(named(global, 1))] }],
    ['starting', { liveJobs: [live(named(global, 1), 'starting'), live(named(ci, 9), 'complete')] }],
  ])(
    'a job that several groups cover stays with the group that already has a living runner for it, which is %s',
    (_, seen) => {
      expect(planScene({ groups: [ci, global], jobs: [job(1)], ...seen }).verdicts).toEqual({
        1: `own-runner ${named(global, 1)}`,
      });
    },
  );

  it('a job that several groups cover is not shared with a group of another Gitea that has a job of the same id', () => {
    const other = group({ name: 'other', origin: 'https://two.example.com', look: 'two' });

    expect(
      planScene({
        groups: [ci, other],
        looks: { acme: { jobs: [job(1)], runners: [] }, two: { jobs: [job(1)], runners: [] } },
      }).names,
    ).toEqual([named(ci, 1), named(other, 1)]);
  });

  it('a job that several groups cover is served only by groups whose look lists it', () => {
    const narrow = group({ name: 'narrow', scope: 'repo', look: 'repo' });

    expect(
      planScene({
        groups: [narrow, ci],
        looks: { acme: { jobs: [job(1)], runners: [] }, repo: { jobs: [], runners: [] } },
      }).names,
    ).toEqual([named(ci, 1)]);
  });
});
