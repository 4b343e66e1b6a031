/** P20: a group may be renamed, or handed over to another one, while its runners are at work. */
import { describe, expect, test } from 'vitest';
import type { Group, Job, LiveJob } from '../../../src/planner/evidence.ts';
import { done, group, job, live, named, ORIGIN, planScene, row, running, type Scene } from '../../support/scenario.ts';

const old = group();
const now = group({ name: 'builds', maxActiveRunners: 2 });
const [first, second] = [named(old, 1), named(old, 2)];
const APP = 'team-runners';

function lives(name: string, over: Partial<LiveJob> = {}, state: LiveJob['state'] = 'running'): LiveJob {
  return live(name, state, { application: APP, ...over });
}

function planAfter(
  liveJobs: readonly LiveJob[],
  jobs: readonly Job[],
  scene: Scene = {},
  groups: readonly Group[] = [now],
) {
  return planScene({ application: APP, groups, jobs, liveJobs, ...scene });
}

describe('P20 a runner of a group that its Application has no more', () => {
  test.each([
    ['pinned', true, { skip: true }],
    ['not pinned yet', false, {}],
  ])('stays while it works: %s', (_, pinned, skip) => {
    const { runners } = planAfter([lives(first, { pinned })], [running(1, first)]);

    expect(runners).toEqual([
      expect.objectContaining({ emit: true, runner: first, because: 'busy', pinned: true, ...skip }),
    ]);
    expect(runners[0]).toMatchObject({ group: { name: 'builds' } });
    expect('skip' in (runners[0] ?? {})).toBe(pinned);
  });

  test('takes a place under the cap of the group that serves such jobs now', () => {
    const liveJobs = [lives(first, { pinned: true }), lives(second)];
    const planned = planAfter(liveJobs, [running(1, first), running(2, second), job(3)]);

    expect(planned.groups).toMatchObject([{ busy: 2 }]);
    expect(planned.jobs[2]).toMatchObject({ verdict: 'held', because: 'cap' });
  });

  test('stays while its row is busy and no list has its CI job: it is being cancelled', () => {
    const liveJobs = [lives(first, { pinned: true })];
    const other = group({ name: 'a', labels: ['linux', 'gpu'] });
    const planned = planAfter(liveJobs, [], { runners: [row(first, { busy: true })] }, [other, now]);

    expect(planned.runners).toMatchObject([{ emit: true, because: 'finishing', group: { name: 'builds' } }]);
    expect(planAfter([lives(first)], [], { runners: [row(first)] }).runners).toEqual([]);
  });

  test('and is not pinned yet stays while its row is online and busy', () => {
    const rowOf = (over: object) => planAfter([lives(first)], [], { runners: [row(first, over)] }).runners;

    expect(rowOf({ busy: true })).toMatchObject([{ emit: true, because: 'finishing' }]);
    expect(rowOf({ busy: true, online: false })).toEqual([]);
  });

  test('goes to the first owner where only its pin shows that it works', () => {
    const groups = [group({ name: 'a', scope: 'global' }), group({ name: 'z' })];

    expect(planAfter([lives(first, { pinned: true })], [], {}, groups).runners).toMatchObject([
      { emit: true, group: { name: 'z' } },
    ]);
  });

  test('stays with a CI job that has no labels: its own labels tell the group, or its pin does', () => {
    const odd = running(1, first, { labels: [] });

    const busy = [{ emit: true, because: 'busy', group: { name: 'builds' } }];
    expect(planAfter([lives(first)], [odd], { runners: [row(first)] }).runners).toMatchObject(busy);
    expect(planAfter([lives(first, { pinned: true })], [odd]).runners).toMatchObject(busy);
  });

  test('goes to the group with its scope and labels, not to the first owner of its CI job', () => {
    const narrow = group({ name: 'web', look: 'web', scope: 'repo', covers: 'acme/web' });
    const work = [running(1, first)];
    const looks = { acme: { jobs: work, runners: [row(first)] }, web: { jobs: work, runners: [] } };

    expect(planAfter([lives(first)], [], { looks }, [narrow, now]).runners).toMatchObject([
      { because: 'busy', group: { name: 'builds' } },
    ]);
    const unread = { ...looks, acme: { jobs: work, runners: [] } };
    expect(planAfter([lives(first)], [], { looks: unread }, [narrow, now]).runners).toMatchObject([
      { because: 'busy', group: { name: 'web' } },
    ]);
  });

  test('loses its pin when nothing shows its CI job any more', () => {
    const at = { pinned: true, giteaUrl: ORIGIN, repository: 'acme/web' };
    const elsewhere = group({ name: 'api', covers: 'acme/api', scope: 'repo' });

    expect(planAfter([lives(first, at)], [], {}, [elsewhere, now]).runners).toMatchObject([
      { because: 'unpinning', pinned: false, group: { name: 'builds' } },
    ]);
  });

  test('goes when it is idle or starting: its job gets a runner of the new name', () => {
    const printed = (id: number) => ({ jobUrl: job(id).url, giteaUrl: ORIGIN });
    const liveJobs = [lives(first, printed(1)), lives(second, printed(2), 'starting')];
    const planned = planAfter(liveJobs, [job(1), job(2)], { runners: [row(first)] });

    expect(planned.runners.filter(({ emit }) => emit).map(({ runner }) => runner)).toEqual([
      named(now, 1),
      named(now, 2),
    ]);
  });

  test('loses its pin when its CI job is over and its pod is idle', () => {
    expect(planAfter([lives(first, { pinned: true }, 'complete')], [done(1, first)]).runners).toMatchObject([
      { emit: false, runner: first, because: 'used-up' },
    ]);
  });

  test('stays for a look when its CI job has failed, as any other', () => {
    const keeping = { ...now, keepFailedMs: 60_000 };
    const failed = done(1, first, { conclusion: 'failure' });

    expect(planAfter([lives(first, { pinned: true })], [failed], {}, [keeping]).runners).toMatchObject([
      { emit: true, runner: first, because: 'debugging' },
    ]);
  });
});

describe('P20 a runner is not taken over', () => {
  const runnersOf = (liveJobs: readonly LiveJob[], jobs = [running(1, first)], scene: Scene = {}, groups = [now]) =>
    planAfter(liveJobs, jobs, scene, groups).runners;

  test('from another Application, or when nobody says which one this is', () => {
    expect(runnersOf([lives(first, { application: 'others' })])).toEqual([]);
    expect(runnersOf([live(first, 'running')])).toEqual([]);
    expect(planScene({ groups: [now], jobs: [running(1, first)], liveJobs: [lives(first)] }).runners).toEqual([]);
  });

  test('into another namespace, or by a group that would not serve its CI job', () => {
    expect(runnersOf([lives(first, { namespace: 'others' })])).toEqual([]);
    const gpu = group({ name: 'gpu', labels: ['gpu'] });
    expect(runnersOf([lives(first)], undefined, {}, [gpu])).toEqual([]);
    expect(runnersOf([lives(first, { pinned: true })], undefined, {}, [gpu])).toEqual([]);
  });

  test('into another namespace, or by a group with other labels than its row', () => {
    const takenBy = (labels: readonly string[], over: Partial<LiveJob> = {}) => {
      const runners = [row(first, { busy: true, labels: ['linux', 'arm'] })];
      return runnersOf([lives(first, over)], [], { runners }, [group({ name: 'builds', labels })]).length;
    };

    expect(takenBy(['arm', 'linux'])).toBe(1);
    expect(takenBy(['arm', 'linux'], { namespace: 'others' })).toBe(0);
    expect(takenBy(['linux', 'gpu'])).toBe(0);
    expect(takenBy(['linux', 'arm', 'gpu'])).toBe(0);
    expect(runnersOf([lives(first)], [], { runners: [row(first, { busy: true })] })).toHaveLength(1);
  });

  test('from a group that cannot be planned now', () => {
    const troubled = [{ namespace: old.namespace, name: old.name }];

    expect(runnersOf([lives(first)], undefined, { troubled })).toMatchObject([
      { because: 'group-in-trouble', group: { name: 'ci' } },
    ]);
  });
});
