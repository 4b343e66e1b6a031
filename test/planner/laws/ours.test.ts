/** Tests which runners are ours, by prefix, form and group hash of the name. */
import { describe, expect, it } from 'vitest';
import { group, job, live, named, planScene, row, running } from '../../support/scenario.ts';

const ci = group();

describe('a runner is ours only when prefix, form and group hash fit', () => {
  it.each([
    ['a namesake in another namespace', named(group({ namespace: 'elsewhere' }), 1)],
    ['a namesake of another instance', named(ci, 1).replace(/[0-9a-f]{8}$/, '0000cafe')],
    ['a person’s runner', 'build-host-1'],
    ['a group whose name starts alike', named(group({ name: 'ci-2' }), 1)],
  ])('%s is not ours', (_, name) => {
    const planned = planScene({ jobs: [running(1, name)], runners: [row(name, { busy: true })] });

    expect(planned.runners).toEqual([]);
    expect(planned.jobs).toMatchObject([{ verdict: 'running' }]);
    expect(planned.jobs[0]).not.toHaveProperty('group');
  });

  it('a runner that another Gitea reports under our name is not ours', () => {
    const two = group({ name: 'two', origin: 'https://two.example.com', look: 'two' });
    const looks = { acme: { jobs: [], runners: [] }, two: { jobs: [running(1, named(ci, 1))], runners: [] } };

    expect(planScene({ groups: [ci, two], looks }).runners).toEqual([]);
  });

  it('a Job of that name in another namespace is not ours, also when a CI job names our runner', () => {
    const liveJobs = [live(named(ci, 1), 'failed', { namespace: 'elsewhere' })];

    expect(planScene({ jobs: [job(1)], liveJobs }).verdicts).toEqual({ 1: `new-runner ${named(ci, 1)}` });
    expect(planScene({ jobs: [running(1, named(ci, 1))], liveJobs }).because).toEqual(['busy']);
  });

  it('two groups that could not be told apart are refused', () => {
    expect(() => planScene({ groups: [ci, { ...ci }] })).toThrow(/would have the same runner names; rename one/);
  });
});
