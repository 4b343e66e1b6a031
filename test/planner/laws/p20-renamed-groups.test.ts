/** P20: a group may be renamed, or handed over to another one, while its runners are at work. */
import { describe, expect, test } from 'vitest';
import type { Group, LiveJob } from '../../../src/planner/evidence.ts';
import { done, group, job, live, named, ORIGIN, planScene, row, running, type Scene } from '../../support/scenario.ts';

const old = group();
const now = group({ name: 'builds', maxActiveRunners: 2 });
const [first, second] = [named(old, 1), named(old, 2)];
const APP = 'team-runners';
const lives = (over: Partial<LiveJob> = {}): LiveJob => live(first, 'running', { application: APP, ...over });
const pinned = lives({ pinned: true });
const working = { jobs: [running(1, first)] };
const runnersAfter = (scene: Scene) =>
  planScene({ application: APP, groups: [now], liveJobs: [lives()], ...scene }).runners;
/** Returns the fate of the first runner, and its group. Undefined: it has no group. */
const fateIn = (scene: Scene): string | undefined => {
  const decision = runnersAfter(scene).find(({ runner }) => runner === first);
  return decision && `${decision.because} in ${decision.group.name}`;
};

describe('P20 a runner of a group that its Application has no more', () => {
  test.each([true, false])(
    'a runner of a group that its Application has no more stays while it works, pinned already: %s',
    (isPinned) => {
      const [decision] = runnersAfter({ ...working, liveJobs: [lives({ pinned: isPinned })] });

      expect(decision).toMatchObject({ emit: true, runner: first, because: 'busy', pinned: true });
      expect(decision).toMatchObject({ group: { name: 'builds' } });
      expect(decision && 'skip' in decision).toBe(isPinned);
    },
  );

  test('a runner of a group that its Application has no more takes a slot under the cap of the group that serves such jobs now', () => {
    const liveJobs = [pinned, lives({ name: second })];
    const jobs = [...working.jobs, running(2, second), job(3)];
    const planned = planScene({ application: APP, groups: [now], jobs, liveJobs });

    expect(planned.groups).toMatchObject([{ busy: 2 }]);
    expect(planned.jobs[2]).toMatchObject({ verdict: 'held', because: 'cap' });
  });

  const unlabelled = { jobs: [running(1, first, { labels: [] })] };
  const narrow = group({ name: 'web', look: 'web', scope: 'repo', covers: 'acme/web' });
  const inTwoLooks = (...runners: NonNullable<Scene['runners']>): Scene => ({
    groups: [narrow, now],
    looks: { acme: { ...working, runners }, web: { ...working, runners: [] } },
  });
  test.each<[string, string | undefined, Scene]>([
    [
      'stays while its row is busy and no list has its CI job: it is being cancelled',
      'finishing in builds',
      {
        groups: [group({ name: 'a', labels: ['linux', 'gpu'] }), now],
        runners: [row(first, { busy: true })],
        liveJobs: [pinned],
      },
    ],
    ['stays so when it is not pinned yet', 'finishing in builds', { runners: [row(first, { busy: true })] }],
    ['is of none while its row is idle', undefined, { runners: [row(first)] }],
    ['is of none while its row is offline', undefined, { runners: [row(first, { busy: true, online: false })] }],
    [
      'goes to the first owner where only its pin shows that it works',
      'unpinning in z',
      { groups: [group({ name: 'a', scope: 'global' }), group({ name: 'z' })], liveJobs: [pinned] },
    ],
    [
      'stays with a CI job that has no labels: its own labels tell the group',
      'busy in builds',
      { ...unlabelled, runners: [row(first)] },
    ],
    [
      'stays with a CI job that has no labels: its pin tells the group',
      'busy in builds',
      { ...unlabelled, liveJobs: [pinned] },
    ],
    [
      'goes to the group with its scope and labels, not to the first owner of its CI job',
      'busy in builds',
      inTwoLooks(row(first)),
    ],
    ['goes to that owner where its row was not read', 'busy in web', inTwoLooks()],
    [
      'goes to the owner with the labels of its Job where its row was not read, as of a bound runner',
      'busy in builds',
      {
        ...working,
        groups: [group({ name: 'a' }), { ...now, labels: ['linux', 'gpu'] }],
        liveJobs: [{ ...pinned, labels: 'gpu:host,linux:docker://node:22' }],
      },
    ],
    [
      'goes to the group with the scope that its Job tells, where its row is in the list of a repository',
      'busy in builds',
      {
        groups: [narrow, { ...now, covers: 'acme' }],
        looks: { acme: { ...working, runners: [] }, web: { ...working, runners: [row(first)] } },
        liveJobs: [lives({ boundTo: 'acme/web', scope: 'acme' })],
      },
    ],
    [
      'goes to the group with its labels among several of that scope',
      'busy in builds',
      {
        groups: [narrow, group({ name: 'a', covers: 'acme' }), { ...now, covers: 'acme', labels: ['linux', 'x'] }],
        looks: {
          acme: { ...working, runners: [] },
          web: { ...working, runners: [row(first, { labels: ['linux', 'x'] })] },
        },
        liveJobs: [lives({ boundTo: 'acme/web', scope: 'acme' })],
      },
    ],
    [
      'goes to that owner where no group has the scope that its Job tells: it was moved, too',
      'busy in builds',
      { ...working, liveJobs: [lives({ scope: 'others' })] },
    ],
    [
      'loses its pin when nothing shows its CI job any more',
      'unpinning in builds',
      {
        groups: [group({ name: 'api', covers: 'acme/api', scope: 'repo' }), now],
        liveJobs: [lives({ pinned: true, giteaUrl: ORIGIN, repository: 'acme/web' })],
      },
    ],
    [
      'goes when its pod has ended',
      'used-up in builds',
      { jobs: [done(1, first)], liveJobs: [lives({ pinned: true, state: 'complete' })] },
    ],
    [
      'stays for a look when its CI job has failed, as any other',
      'debugging in builds',
      {
        groups: [{ ...now, keepFailedMs: 60_000 }],
        jobs: [done(1, first, { conclusion: 'failure' })],
        liveJobs: [pinned],
      },
    ],
  ])('%s', (_, fate, scene) => {
    expect(fateIn(scene)).toBe(fate);
  });

  test('a runner of a group that its Application has no more goes when it is idle or starting: its job gets a runner of the new name', () => {
    const printed = (id: number) => ({ jobUrl: job(id).url, giteaUrl: ORIGIN });
    const liveJobs = [lives(printed(1)), lives({ ...printed(2), name: second, state: 'starting' })];
    const runners = runnersAfter({ jobs: [job(1), job(2)], runners: [row(first)], liveJobs });

    expect(runners.flatMap(({ emit, runner }) => (emit ? runner : []))).toEqual([named(now, 1), named(now, 2)]);
  });
});

describe('P20 a runner is not taken over', () => {
  const gpu = { groups: [group({ name: 'gpu', labels: ['gpu'] })] };

  test.each<[string, Scene]>([
    ['from another Application', { liveJobs: [lives({ application: 'others' })] }],
    ['when nobody says which one its Job is of', { liveJobs: [live(first, 'running')] }],
    ['when nobody says which one this is', { application: '' }],
    ['into another namespace', { liveJobs: [lives({ namespace: 'others' })] }],
    ['by a group that would not serve its CI job', gpu],
    ['by such a group with its pin', { ...gpu, liveJobs: [pinned] }],
  ])('a runner is not taken over %s', (_, scene) => {
    expect(runnersAfter({ ...working, ...scene })).toEqual([]);
  });

  test.each<[string, readonly string[], Partial<LiveJob>, number]>([
    ['a group with the labels of its row takes a runner over', ['arm', 'linux'], {}, 1],
    ['a group of another namespace takes no runner over by its row', ['arm', 'linux'], { namespace: 'others' }, 0],
    ['a group with another label than its row takes no runner over', ['linux', 'gpu'], {}, 0],
    ['a group with more labels than its row takes no runner over', ['linux', 'arm', 'gpu'], {}, 0],
  ])('%s', (_, labels, over, taken) => {
    const groups: readonly Group[] = [group({ name: 'builds', labels })];
    const runners = [row(first, { busy: true, labels: ['linux', 'arm'] })];

    expect(runnersAfter({ groups, runners, liveJobs: [lives(over)] })).toHaveLength(taken);
  });

  test('a runner is not taken over from a group that cannot be planned now', () => {
    const troubled = [{ namespace: old.namespace, name: old.name }];

    expect(fateIn({ ...working, troubled })).toBe('group-in-trouble in ci');
  });
});
