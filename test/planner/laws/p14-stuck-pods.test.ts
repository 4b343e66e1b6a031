/** Law P14 (docs/spec.md): a pod that cannot start is waited for, and keeps no slot that others wait for. */
import { describe, expect, it } from 'vitest';
import { type LiveJob, NO_POD } from '../../../src/planner/evidence.ts';
import {
  group,
  idleFor,
  job,
  live,
  NOW,
  named,
  ORIGIN,
  planScene,
  row,
  running,
  type Scene,
} from '../../support/scenario.ts';

const one = group({ maxActiveRunners: 1 });
const two = group({ maxActiveRunners: 2 });
const ci = group();
const other = group({ name: 'zz' });
const MINUTE = 60_000;

const stuck = (name: string, minutes: number, over: Partial<LiveJob> = {}): LiveJob =>
  live(name, 'starting', { createdAtMs: NOW - minutes * MINUTE, trouble: { reason: 'Unschedulable' }, ...over });
/** The kubelet reports the fault. */
const ofNode = { trouble: { reason: 'ImagePullBackOff', ofNode: true } } as const;
const old = (id: number) => job(id, { createdAtMs: NOW - 120 * MINUTE + id });
const OWN = `own-runner ${named(ci, 1)}`;

describe('P14 a pod that cannot start', () => {
  it.each([10, 15, 59])(
    'a pod that cannot start is not exchanged for a twin after %d minutes while no other job waits',
    (minutes) => {
      expect(planScene({ jobs: [old(1)], liveJobs: [stuck(named(ci, 1), minutes)] }).verdicts).toEqual({ 1: OWN });
    },
  );

  it('loses its slot to the job that waits for it, after pendingDeadlineMs and not before', () => {
    const stuckFor = (minutes: number): Scene => ({
      groups: [one],
      jobs: [old(1), old(2)],
      liveJobs: [stuck(named(one, 1), minutes)],
    });

    expect(planScene(stuckFor(14.9)).verdicts).toEqual({ 1: OWN, 2: 'cap' });
    expect(planScene(stuckFor(15)).verdicts).toEqual({ 1: 'cap', 2: `new-runner ${named(one, 2)}` });
    expect(planScene(stuckFor(15)).reasons).toMatchObject({ [named(one, 1)]: 'stuck' });
    expect(planScene(stuckFor(15)).names).toEqual([named(one, 2)]);
  });

  it.each<[string, Scene, Readonly<Record<number, string>>]>([
    [
      'is not followed by another one at the next look: its job shares the runner of the other',
      { groups: [one], jobs: [old(1), old(2)], liveJobs: [live(named(one, 2), 'starting')] },
      { 1: `free-runner ${named(one, 2)}`, 2: 'cap' },
    ],
    [
      'loses no more slots than jobs wait',
      { groups: [two], jobs: [old(1), old(2), old(3)], liveJobs: [stuck(named(two, 1), 20), stuck(named(two, 2), 20)] },
      { 1: OWN, 2: 'cap', 3: `new-runner ${named(two, 3)}` },
    ],
    [
      'serves no job but its own when slots are short',
      { groups: [one], jobs: [old(2), old(3)], liveJobs: [stuck(named(one, 1), 20)] },
      { 2: `new-runner ${named(one, 2)}`, 3: 'cap' },
    ],
    [
      'serves another job while slots are left: a twin would be as stuck',
      { jobs: [old(2)], liveJobs: [stuck(named(ci, 1), 20)] },
      { 2: `free-runner ${named(ci, 1)}` },
    ],
    [
      'is on its way when Kubernetes shows no trouble: it keeps its slot',
      {
        groups: [one],
        jobs: [old(1), old(2)],
        liveJobs: [live(named(one, 1), 'starting', { createdAtMs: NOW - 40 * MINUTE })],
      },
      { 1: OWN, 2: 'cap' },
    ],
    [
      'keeps its slot from jobs that another group can serve',
      {
        groups: [one, other],
        jobs: [old(1), old(2)],
        liveJobs: [stuck(named(one, 1), 20), live(named(other, 9), 'complete')],
      },
      { 1: OWN, 2: `new-runner ${named(other, 2)}` },
    ],
  ])('%s', (_, scene, expected) => {
    expect(planScene(scene).verdicts).toEqual(expected);
  });

  it('a pod that cannot start takes no slot from a runner that starts well: neither from that of another job nor from the second one of its own', () => {
    const jobs = [old(1), old(2)];
    const starting = (name: string) => live(name, 'starting', { createdAtMs: NOW - 30 * MINUTE });
    const besideAnother = [stuck(named(two, 1), 20), starting(named(two, 2))];
    const besideItsOwn = [stuck(named(one, 1), 20, ofNode), starting(named(one, 1, 1))];

    expect(planScene({ groups: [two], jobs: [...jobs, old(3)], liveJobs: besideAnother }).verdicts).toMatchObject({
      1: 'cap',
      2: `own-runner ${named(two, 2)}`,
    });
    expect(planScene({ groups: [one], jobs, liveJobs: besideItsOwn }).verdicts).toEqual({
      1: `own-runner ${named(one, 1, 1)}`,
      2: 'cap',
    });
  });

  it('a pod that cannot start does not cost its job the turn when its group is suspended', () => {
    const off = group({ name: 'off', suspend: true });
    const liveJobs = [stuck(named(off, 1), 20), live(named(one, 9), 'complete')];
    const scene = { groups: [off, one], jobs: [old(1), old(2)], liveJobs };

    expect(planScene(scene).verdicts).toEqual({ 1: `new-runner ${named(one, 1)}`, 2: 'cap' });
    expect(planScene(scene).reasons).toMatchObject({ [named(off, 1)]: 'suspended' });
  });

  it('a pod that cannot start does not cost its job the turn on its next node when its group holds nobody back', () => {
    const gpu = group({ name: 'a', scope: 'repo', maxActiveRunners: 1, labels: ['linux', 'gpu'] });
    const jobs = [job(1, { labels: ['gpu'], createdAtMs: NOW - 120 * MINUTE }), old(2)];
    const liveJobs = [stuck(named(gpu, 1), 20, ofNode), live(named(one, 9), 'complete')];

    expect(planScene({ groups: [gpu, one], jobs, liveJobs }).verdicts).toEqual({
      1: `new-runner ${named(gpu, 1, 1)}`,
      2: `new-runner ${named(one, 2)}`,
    });
  });

  it('a pod that cannot start is tried once more on another node when the kubelet says what is wrong', () => {
    const stuckFor = (minutes: number) => ({ jobs: [old(1)], liveJobs: [stuck(named(ci, 1), minutes, ofNode)] });

    expect(planScene(stuckFor(14.9)).verdicts).toEqual({ 1: OWN });
    expect(planScene(stuckFor(15)).verdicts).toEqual({ 1: `new-runner ${named(ci, 1, 1)}` });
    expect(planScene(stuckFor(15)).reasons).toMatchObject({ [named(ci, 1)]: 'stuck' });
  });

  it('a pod that cannot start is told with its reason, and as late after a spawn timeout', () => {
    const told = (minutes: number, reason = 'Unschedulable') =>
      planScene({ jobs: [old(1)], liveJobs: [stuck(named(ci, 1), minutes, { trouble: { reason } })] }).runners[0];

    expect(told(1)).toMatchObject({ trouble: { reason: 'Unschedulable', isLate: false } });
    expect(told(5)).toMatchObject({ trouble: { isLate: true } });
    // Kubernetes needs a moment to create a pod.
    expect(told(0.4, NO_POD)).not.toHaveProperty('trouble');
    expect(told(0.5, NO_POD)).toHaveProperty('trouble');
    expect(told(0.4)).toHaveProperty('trouble');
    expect(told(0.4)).not.toHaveProperty('priorityClass');
  });

  it('a pod that cannot start is told of a record as final, and of no runner that goes or is lost', () => {
    const trouble = { reason: 'Evicted' };
    const liveJobs = [live(named(one, 1), 'failed', { finishedAtMs: NOW - 5_000, trouble })];
    const toldOf = (scene: Scene) =>
      planScene({ groups: [one], liveJobs, ...scene }).runners.find(({ runner }) => runner === named(one, 1));

    expect(toldOf({ jobs: [job(1)] })).toMatchObject({
      because: 'back-off-record',
      trouble: { ...trouble, isLate: true },
    });
    for (const [because, scene] of Object.entries({
      stuck: { liveJobs: [stuck(named(one, 1), 20)], jobs: [old(1), old(2)] },
      lost: { jobs: [running(1, named(one, 1))] },
    })) {
      expect(toldOf(scene)).toMatchObject({ because });
      expect(toldOf(scene)).not.toHaveProperty('trouble');
    }
  });
});

it('P14 a job with two runners, of which one cannot start waits for the other one, while others wait for its slot', () => {
  const liveJobs = [stuck(named(one, 1), 20), live(named(one, 1, 1), 'starting')];

  expect(planScene({ groups: [one], jobs: [old(1), old(2)], liveJobs }).verdicts).toEqual({
    1: `own-runner ${named(one, 1, 1)}`,
    2: 'cap',
  });
});

describe('P32 a pod with a node that gets no further, without a word of Kubernetes', () => {
  /** A pod without progress. Its Job is an hour and a half old at most: only the time without progress counts. */
  const still = (name: string, minutes: number, over: Partial<LiveJob> = {}): LiveJob => {
    const trouble = { reason: 'PodInitializing', message: 'no container has started', node: 'node-1' };
    return live(name, 'starting', {
      createdAtMs: NOW - (minutes + 5) * MINUTE,
      stillSinceMs: NOW - minutes * MINUTE,
      trouble,
      ...over,
    });
  };
  const dead = { trouble: { reason: 'ContainerCreating', node: 'node-1', ofNode: true } } as const;
  const alone = (minutes: number, over: Partial<LiveJob> = {}) =>
    planScene({ jobs: [old(1)], liveJobs: [still(named(ci, 1), minutes, over)] });
  const waitedFor = (minutes: number, over: Partial<LiveJob> = {}) =>
    planScene({ groups: [one], jobs: [old(1), old(2)], liveJobs: [still(named(one, 1), minutes, over)] });

  it.each([{}, dead])(
    'a pod with a node that gets no further, without a word of Kubernetes gives its slot to a job that waits after pendingDeadlineMs, and not before: %j',
    (over) => {
      expect(waitedFor(14.9, over).verdicts).toEqual({ 1: OWN, 2: 'cap' });
      expect(waitedFor(15, over).verdicts).toEqual({ 1: 'cap', 2: `new-runner ${named(one, 2)}` });
      expect(waitedFor(15, over).reasons).toMatchObject({ [named(one, 1)]: 'stuck' });
    },
  );

  it('a pod with a node that gets no further is followed by another one although nobody waits: at once if no image can be under way, else after twice the time', () => {
    const next = { 1: `new-runner ${named(ci, 1, 1)}` };

    expect(alone(14.9, dead).verdicts).toEqual({ 1: OWN });
    expect(alone(15, dead).verdicts).toEqual(next);
    expect(alone(29.9).verdicts).toEqual({ 1: OWN });
    expect(alone(30).verdicts).toEqual(next);
  });

  it('a pod with a node that gets no further is told after a minute, and as late after a spawn timeout', () => {
    expect(alone(0.9).runners[0]).not.toHaveProperty('trouble');
    expect(alone(1).runners[0]).toMatchObject({
      trouble: { node: 'node-1', isLate: false, stillSinceMs: NOW - MINUTE },
    });
    expect(alone(4.9).runners[0]).toMatchObject({ trouble: { isLate: false } });
    expect(alone(5).runners[0]).toMatchObject({ trouble: { isLate: true } });
  });

  it('a stuck pod of another Application is waited for as one that is on its way', () => {
    const url = old(1).url;
    const theirs = still('other-1-1-abcdabcd', 20, { jobUrl: url, giteaUrl: ORIGIN });

    expect(planScene({ jobs: [job(1, { createdAtMs: NOW - 30 * MINUTE, url })], liveJobs: [theirs] }).verdicts).toEqual(
      { 1: 'served-elsewhere' },
    );
  });
});

describe('P33 a suspended Job', () => {
  const held = { trouble: { reason: 'Suspended', message: 'Job suspended', isSuspended: true } } as const;
  const aged = (hours: number, over: Scene = {}) =>
    planScene({ jobs: [old(1)], liveJobs: [stuck(named(ci, 1), hours * 60, held)], ...over });

  it.each([0.3, 1, 30])('a suspended Job is kept after %d h, and told, and not as what somebody must mend', (hours) => {
    expect(aged(hours).verdicts).toEqual({ 1: OWN });
    expect(aged(hours).runners).toMatchObject([{ emit: true, trouble: { isSuspended: true, isLate: false } }]);
  });

  it('a suspended Job keeps its place, which a new Job would not get earlier', () => {
    const liveJobs = [stuck(named(one, 1), 120, held)];

    expect(planScene({ groups: [one], jobs: [old(1), old(2)], liveJobs }).verdicts).toEqual({ 1: OWN, 2: 'cap' });
  });

  it('a suspended Job ends when no job needs it, and when its group is changed', () => {
    const liveJobs = [stuck(named(ci, 1), 120, held)];

    expect(aged(2, { jobs: [] }).reasons).toEqual({ [named(ci, 1)]: 'surplus' });
    expect(planScene({ groups: [group({ templateHash: 't2' })], jobs: [old(1)], liveJobs }).reasons).toMatchObject({
      [named(ci, 1)]: 'replaced',
    });
  });
});

describe('P34 a runner that follows one that was given up', () => {
  const triedOf = (scene: Scene) =>
    planScene(scene).emitted.map(({ runner, triedBefore = 0 }) => [runner, triedBefore]);

  it.each<[string, LiveJob, Scene]>([
    ['idled in vain', idleFor(named(ci, 1), 6), { runners: [row(named(ci, 1))] }],
    ['did not register', idleFor(named(ci, 1), 6), {}],
    ['did not start for an hour', stuck(named(ci, 1), 61), {}],
    ['was on a bad node', stuck(named(ci, 1), 16, ofNode), {}],
  ])('a runner that follows one that was given up has twice the time when that one %s', (_, before, more) => {
    const jobs = [old(1)];

    expect(triedOf({ jobs, liveJobs: [before], ...more })).toEqual([[named(ci, 1, 1), 1]]);
    expect(triedOf({ jobs, liveJobs: [{ ...before, triedBefore: 1 }], ...more })).toEqual([[named(ci, 1), 1]]);
    const twice = { ...before, triedBefore: 1, createdAtMs: before.createdAtMs - 61 * MINUTE };
    const longer = { ...twice, runningSinceMs: NOW - 10 * MINUTE };
    expect(triedOf({ jobs, liveJobs: [before.runningSinceMs === undefined ? twice : longer], ...more })).toEqual([
      [named(ci, 1, 1), 2],
    ]);
  });

  it('a runner that follows one that was given up is one that gets the place, also for another job and of another group under the same limit', () => {
    const limits = [{ key: 'limit gpus', name: 'gpus', most: 1 }];
    const a = group({ name: 'a', limits, labels: ['a'] });
    const b = group({ name: 'b', limits, labels: ['b'] });
    const jobs = [old(1), old(2)].map((each, nth) => ({ ...each, labels: [nth === 0 ? 'a' : 'b'] }));
    const liveJobs = [idleFor(named(a, 1), 6, { limits: ['gpus'] })];
    const runners = [row(named(a, 1), { labels: ['a'] })];

    expect(triedOf({ groups: [one], jobs: [old(1), old(2)], liveJobs: [stuck(named(one, 1), 16)] })).toEqual([
      [named(one, 2), 1],
    ]);
    expect(triedOf({ groups: [a, b], jobs, liveJobs, runners })).toEqual([[named(b, 2), 1]]);
  });

  it('a runner that follows one that was given up keeps no slot longer from a job that has come since its pod was asked for', () => {
    const stuckFor = (minutes: number, jobs: readonly ReturnType<typeof job>[]) =>
      planScene({
        groups: [one],
        jobs: [old(1), ...jobs],
        liveJobs: [stuck(named(one, 1), minutes, { triedBefore: 6 })],
      }).verdicts;
    const isNew = job(2, { createdAtMs: NOW - 5 * MINUTE });

    expect(stuckFor(14.9, [isNew])).toMatchObject({ 2: 'cap' });
    expect(stuckFor(15, [isNew])).toMatchObject({ 2: `new-runner ${named(one, 2)}` });
    expect(stuckFor(15, [old(2)])).toMatchObject({ 2: 'cap' });
  });

  it('a runner that follows one that was given up counts no tries for a CI job that no longer waits', () => {
    const liveJobs = [idleFor(named(ci, 1), 11, { triedBefore: 1 })];

    expect(triedOf({ jobs: [old(1), old(2)], liveJobs })).toEqual([
      [named(ci, 1, 1), 2],
      [named(ci, 2), 0],
    ]);
    expect(triedOf({ jobs: [old(2)], liveJobs })).toEqual([[named(ci, 2), 0]]);
  });

  it('a runner that follows one that was given up is only one of those that start in this moment, and none of a group that shares nothing', () => {
    const liveJobs = [idleFor(named(ci, 1), 6)];
    const jobs = [old(1), old(2), { ...old(3), labels: ['zz'] }];
    const groups = [ci, group({ name: 'zz', labels: ['zz'] })];

    expect(triedOf({ groups, jobs, liveJobs }).map(([, tried]) => tried)).toEqual([1, 0, 0]);
  });

  it('follows none that is dropped because no job needs it', () => {
    const liveJobs = [idleFor(named(ci, 9), 60), idleFor(named(ci, 1), 1)];
    const runners = [row(named(ci, 9), { labels: ['gpu'] }), row(named(ci, 1), { labels: ['gpu'] })];

    expect(triedOf({ jobs: [old(1)], liveJobs, runners })).toEqual([[named(ci, 1, 1), 0]]);
  });
});

describe('P14 a group whose runners fail before they start', () => {
  const refused = (id: number, secondsAgo: number, over: Partial<LiveJob> = {}): LiveJob =>
    live(named(ci, id), 'failed', {
      createdAtMs: NOW - (secondsAgo + 45) * 1000,
      finishedAtMs: NOW - secondsAgo * 1000,
      trouble: { reason: 'RegistrationFailed' },
      ...over,
    });
  const three = (secondsAgo: number, over: Partial<LiveJob> = {}) =>
    [1, 2, 3].map((id) => refused(id, secondsAgo, over));
  const jobs = [1, 2, 3, 4, 5].map(old);
  const newOnes = (liveJobs: readonly LiveJob[], runners: Scene['runners'] = []) =>
    Object.values(planScene({ jobs, liveJobs, runners }).verdicts).filter((verdict) => verdict.startsWith('new-runner'))
      .length;

  it('a group whose runners fail before they start starts none for other jobs while it backs off, from the last failure on, whenever the others were', () => {
    expect(newOnes(three(19).slice(1))).toBe(5);
    expect(newOnes(three(19))).toBe(0);
    expect(newOnes([refused(1, 60), refused(2, 19), refused(3, 40)])).toBe(0);
  });

  it('tries one runner at a time after the back-off, and asks for its outcome after ten seconds', () => {
    const [first, ...others] = planScene({ jobs, liveJobs: three(20) }).jobs;

    expect(first).toMatchObject({ verdict: 'served' });
    for (const each of others) expect(each).toMatchObject({ because: 'backing-off', untilMs: NOW + 10_000 });
    expect(newOnes([...three(20), live(named(ci, 4), 'starting')])).toBe(0);
  });

  it('a group whose runners fail before they start asks for the outcome of the one that comes when the back-off is over', () => {
    const liveJobs = [...three(19), live(named(ci, 4), 'starting')];
    const [, second] = planScene({ jobs: [old(4), old(5)], liveJobs }).jobs;

    expect(second).toMatchObject({ because: 'backing-off', untilMs: NOW + 1_000 });
  });

  it('tries the next job when the first one backs off by itself', () => {
    const own = [100, 40, 30, 25].map((secondsAgo, ordinal) => refused(1, secondsAgo, { name: named(ci, 1, ordinal) }));
    const good = live(named(ci, 9), 'running', {
      createdAtMs: NOW - 60_000,
      runningSinceMs: NOW - 50_000,
      pinned: true,
    });
    const working = running(9, named(ci, 9), { startedAtMs: NOW - 49_000 });
    const told = planScene({ jobs: [...jobs.slice(0, 3), working], liveJobs: [...own, good] }).verdicts;

    expect(told).toMatchObject({ 1: 'backing-off', 2: `new-runner ${named(ci, 2)}`, 3: 'backing-off' });
  });

  it('a group whose runners fail before they start is as before once a runner has come up since, in the very second of the failures, or has run a CI job since', () => {
    const slow = { createdAtMs: NOW - 90_000, runningSinceMs: NOW - 19_000 };

    expect(newOnes([...three(20), live(named(ci, 9), 'running', { runningSinceMs: NOW - 10_000 })])).toBe(4);
    expect(newOnes([...three(19), live(named(ci, 9), 'running', slow)])).toBe(4);
    expect(newOnes([...three(19), live(named(ci, 9), 'complete', { createdAtMs: NOW - 18_000 })])).toBe(5);
  });

  it('a group still fails when a runner with a long CI job came up before the failures, and ended after them', () => {
    const long = { createdAtMs: NOW - 600_000, finishedAtMs: NOW - 1_000 };

    expect(newOnes([...three(19), live(named(ci, 9), 'complete', long)])).toBe(0);
  });

  it('a group still fails when its runners at work came up before: the token may have been changed since', () => {
    expect(newOnes([...three(19), live(named(ci, 9), 'running', { createdAtMs: NOW - 90_000 })])).toBe(0);
  });

  it('a group whose runners fail before they start takes the creation of a Job that does not say when it failed, and no time that lies far ahead', () => {
    const failedAt = (over: Partial<LiveJob>) =>
      newOnes([1, 2, 3].map((id) => live(named(ci, id), 'failed', { trouble: { reason: 'X' }, ...over })));

    expect(failedAt({ createdAtMs: NOW - 19_000 })).toBe(0);
    expect(failedAt({ finishedAtMs: NOW + 299_999 })).toBe(0);
    expect(failedAt({ finishedAtMs: NOW + 300_000 })).toBe(5);
  });

  it('a group whose runners fail before they start is not one whose pods are only stuck, or came up and failed later: other jobs get their runners', () => {
    const crashed = three(19).map(({ trouble: _, ...live }) => live);

    expect(newOnes([1, 2, 3].map((id) => stuck(named(ci, id), 0.1)))).toBe(2);
    expect(newOnes(crashed)).toBe(5);
  });

  it('a group whose runners fail before they start takes neither an idle runner nor a starting one of a former template for the one that is tried', () => {
    const former = live(named(group({ templateHash: 't0' }), 4), 'starting');
    const idle = live(named(ci, 9), 'running', { createdAtMs: NOW - 90_000 });

    expect(newOnes([...three(20), former])).toBe(1);
    expect(newOnes([...three(20), idle], [row(named(ci, 9), { labels: ['gpu'] })])).toBe(1);
  });

  it('lets runners at work finish, and jobs keep the runners that they have', () => {
    const names = [named(ci, 5), named(ci, 7)];
    const working = live(named(ci, 7), 'running', { createdAtMs: NOW - MINUTE });
    const liveJobs = [...three(5), live(named(ci, 5), 'starting'), working];

    expect(planScene({ jobs: [...jobs, running(7, named(ci, 7))], liveJobs }).names).toEqual(
      expect.arrayContaining(names),
    );
  });
});
