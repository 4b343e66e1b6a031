/** P18: one group's trouble is its own. */
import { describe, expect, test } from 'vitest';
import { GroupsCollide } from '../../../src/planner/traces.ts';
import { group, job, live, NOW, named, ORIGIN, planScene, running } from '../../support/scenario.ts';

const good = group({ name: 'good' });
const dead = group({ name: 'dead', look: 'nobody' });
/** Their hashes are the same. */
const colliding = [group({ namespace: 'team-232' }), group({ namespace: 'team-241' })] as const;
const troubled = [{ namespace: 'runners', name: 'dead' }];

describe('P18 a group that cannot be planned', () => {
  test('a group that cannot be planned keeps every Job that Kubernetes shows of it, whatever it does; none of them is created or changed', () => {
    const states = ['starting', 'running', 'complete', 'failed', 'deleting', 'unknown'] as const;
    const liveJobs = states.map((state, at) =>
      live(named(dead, at + 1), state, state === 'running' ? { pinned: true } : {}),
    );

    const { runners } = planScene({ groups: [good], troubled, liveJobs });

    expect(runners).toHaveLength(states.length);
    for (const { name, pinned = false } of liveJobs) {
      expect(runners).toContainEqual(
        expect.objectContaining({ emit: true, runner: name, because: 'group-in-trouble', skip: true, pinned }),
      );
    }
  });

  test('a group that cannot be planned gets no new runner', () => {
    const planned = planScene({ groups: [good], troubled, jobs: [job(1)], liveJobs: [] });

    expect(planned.runners.map(({ group: { name } }) => name)).toEqual(['good']);
    expect(planned.groups.map(({ group: { name } }) => name)).toEqual(['good']);
  });

  test('a group that cannot be planned leaves a job that another group covers to that one, as a full group does', () => {
    expect(planScene({ groups: [good], troubled, jobs: [job(1)] }).verdicts).toEqual({
      1: `new-runner ${named(good, 1)}`,
    });
  });

  test('a group in trouble still has its runner for such a job: no second one starts for one spawn timeout', () => {
    const jobs = [job(1)];
    const own = named(dead, 1);
    const printed = { jobUrl: job(1).url, giteaUrl: ORIGIN };

    expect(planScene({ groups: [good], troubled, jobs, liveJobs: [live(own, 'starting', printed)] }).verdicts).toEqual({
      1: 'served-elsewhere',
    });
    const old = live(own, 'running', { ...printed, createdAtMs: NOW - 301_000 });
    const longReady = [job(1, { createdAtMs: NOW - 400_000 })];
    expect(planScene({ groups: [good], troubled, jobs: longReady, liveJobs: [old] }).verdicts).toEqual({
      1: expect.stringMatching(/^new-runner good-1-1-/),
    });
  });

  test('a group that cannot be planned keeps a runner at work that another group sees, under its own name and once', () => {
    const busy = named(dead, 1);
    const jobs = [running(1, busy)];

    expect(planScene({ groups: [good], troubled, jobs, liveJobs: [live(busy, 'running')] }).runners).toEqual([
      expect.objectContaining({ runner: busy, because: 'group-in-trouble' }),
    ]);
  });

  test('a group that cannot be planned takes no Job of another namespace, of another group or of another installation for its own', () => {
    const liveJobs = [
      live(named({ ...dead, namespace: 'others' }, 1), 'running'),
      live(named(dead, 2), 'running', { namespace: 'others' }),
      live('dead-3-1-00000000', 'running'),
      live('dead', 'running'),
    ];

    expect(planScene({ groups: [good], troubled, liveJobs }).runners).toEqual([]);
  });

  test('a group that cannot be planned keeps the PriorityClass of its Jobs', () => {
    const liveJobs = [live(named(dead, 1), 'running', { priorityClass: 'ci-high' })];

    expect(planScene({ groups: [good], troubled, liveJobs }).runners).toMatchObject([{ priorityClass: 'ci-high' }]);
    const without = planScene({ groups: [good], troubled, liveJobs: [live(named(dead, 1), 'running')] });
    expect(without.runners[0]).not.toHaveProperty('priorityClass');
  });

  test('a group that cannot be planned has its runners among the others in the order of namespaces, groups and names', () => {
    const [ci, second] = [group(), group({ name: 'ci-2' })];
    const third = group({ namespace: 'acme', name: 'zz' });
    const liveJobs = [live(named(second, 5), 'running'), live(named(third, 1), 'running', { namespace: 'acme' })];

    expect(
      planScene({ groups: [ci], troubled: [second, third], jobs: [job(3)], liveJobs }).runners.map(
        ({ runner }) => runner,
      ),
    ).toEqual([named(third, 1), named(ci, 3), named(second, 5)]);
  });

  test('a group that cannot be planned has only the Jobs of its namespace where another one has the same runner names', () => {
    const [one, two] = colliding;
    const liveJobs = colliding.map(({ namespace }) => live(named(one, 1), 'running', { namespace }));
    const { runners } = planScene({ groups: [good], troubled: colliding, liveJobs });

    expect(named(one, 1)).toBe(named(two, 1));
    expect(runners.map((each) => each.group.namespace)).toEqual([one.namespace, two.namespace]);
  });

  test('two groups that can be planned and have the same runner names stop everything', () => {
    expect(() => planScene({ groups: [...colliding, good] })).toThrow(GroupsCollide);
  });
});
