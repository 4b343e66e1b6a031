/** Tests the plan's data about groups, jobs and runners beside its decisions (src/planner/decide.ts). */
import { expect, it } from 'vitest';
import { group, job, live, NOW, named, planScene, row, running } from '../support/scenario.ts';

const ci = group();
const key = { namespace: 'runners', name: 'ci' };

it('the plan tells of a group how many runners are at work, and how many jobs wait for it', () => {
  const countsOf = (cap: number, ids: readonly number[]) => {
    const one = group({ maxActiveRunners: cap });
    const jobs = [running(1, named(one, 1)), ...ids.map((id) => job(id))];
    const runners = [row(named(one, 2)), row(named(one, 9), { id: 2, disabled: true })];
    return planScene({ groups: [one], jobs, runners }).groups;
  };

  expect(countsOf(2, [2])).toMatchObject([{ busy: 1, waiting: 1, held: 0 }]);
  expect(countsOf(2, [2, 3, 4])).toMatchObject([{ busy: 1, waiting: 1, held: 2 }]);
});

it('the plan tells of a job at work which group of ours runs it', () => {
  const jobs = [running(1, named(ci, 1)), running(2, 'build-host-1')];
  const [ours, other] = planScene({ jobs }).jobs;

  expect(ours).toMatchObject({ verdict: 'running', group: key });
  expect(other).not.toHaveProperty('group');
});

it('the plan tells of a job that no group covers the labels that its nearest group lacks, sorted', () => {
  const [decision] = planScene({ jobs: [job(1, { labels: ['z', 'linux', 'a', 'z'] })] }).jobs;

  expect(decision).toMatchObject({ because: 'labels-not-covered', missing: ['a', 'z'], nearest: key });
});

it('the plan tells of a job that a cap holds back its place in the line of all sizes of its group', () => {
  const full = group({ maxActiveRunners: 0 });
  const large = group({ maxActiveRunners: 0, size: 'large', labels: ['linux', 'large'] });
  const other = group({ name: 'zz', labels: ['zz'], maxActiveRunners: 0 });
  const asks = (id: number, ...labels: string[]) => job(id, { labels });
  const jobs = [asks(1, 'linux'), asks(2, 'zz'), asks(3, 'large'), asks(4, 'zz'), asks(5, 'linux')];

  expect(planScene({ groups: [full, large, other], jobs }).jobs).toMatchObject(
    [1, 1, 2, 2, 3].map((position) => ({ because: 'cap', position })),
  );
});

it('the plan tells of a runner the scope of its group beside the names of its limits', () => {
  const limits = [{ key: 'limit gpus', name: 'gpus', most: 2 }];
  const scopeOf = (over: { readonly covers?: string }) =>
    planScene({ groups: [group({ limits, ...over })], jobs: [job(1)] }).runners[0];

  expect(scopeOf({ covers: 'acme' })).toMatchObject({ limits: ['gpus'], scope: 'acme' });
  expect(scopeOf({})).toMatchObject({ limits: ['gpus'], scope: '*' });
});

it('no word where there is nothing to tell', () => {
  const trouble = { reason: 'Unschedulable' };
  const told = planScene({ jobs: [job(1)], liveJobs: [live(named(ci, 1), 'starting', { trouble })] });

  expect(told.groups[0]).not.toHaveProperty('renamedTo');
  expect(told.runners).toMatchObject([{ trouble }]);
  expect(told.runners[0]).not.toHaveProperty('trouble.stillSinceMs');
});

it('jobs oldest first, by creation, then id, then Gitea; groups by namespace, then name', () => {
  const two = group({ name: 'two', namespace: 'a', origin: 'https://z.example.com', look: 'two' });
  const early = job(9, { createdAtMs: NOW - 90_000 });
  const same = (id: number) => job(id, { createdAtMs: NOW });
  const planned = planScene({
    groups: [ci, group({ name: 'a' }), two],
    looks: { acme: { jobs: [same(3), same(2), early], runners: [] }, two: { jobs: [same(3)], runners: [] } },
    liveJobs: [live(named(ci, 77), 'complete')],
  });

  expect(planned.groups.map(({ group: { namespace, name } }) => `${namespace}/${name}`)).toEqual([
    'a/two',
    'runners/a',
    'runners/ci',
  ]);
  expect(planned.jobs.map((of) => `${of.job.id} ${of.origin}`)).toEqual([
    `9 ${ci.origin}`,
    `2 ${ci.origin}`,
    `3 ${ci.origin}`,
    `3 ${two.origin}`,
  ]);
});
