/** Law P14 (docs/spec.md): a pod that cannot start is waited for, and keeps no place that others wait for. */
import { describe, expect, it } from 'vitest';
import { type LiveJob, NO_POD } from '../../../src/planner/evidence.ts';
import {
  emittedNames,
  group,
  job,
  live,
  NOW,
  named,
  namesIn,
  planScene,
  row,
  running,
  type Scene,
  verdicts,
  verdictsIn,
} from '../../support/scenario.ts';

const one = group({ maxActiveRunners: 1 });
const ci = group();
const MINUTE = 60_000;

const stuck = (name: string, minutes: number, over: Partial<LiveJob> = {}): LiveJob =>
  live(name, 'starting', { createdAtMs: NOW - minutes * MINUTE, trouble: { reason: 'Unschedulable' }, ...over });
const old = (id: number) => job(id, { createdAtMs: NOW - 120 * MINUTE + id });
const droppedIn = (scene: Scene) =>
  planScene(scene).runners.flatMap((each) => (each.emit ? [] : [`${each.because} ${each.runner}`]));

describe('P14 a pod that cannot start', () => {
  it.each([10, 15, 59])('is not exchanged for a twin after %d minutes while no other job waits', (minutes) => {
    const scene = { jobs: [old(1)], liveJobs: [stuck(named(ci, 1), minutes)] };

    expect(verdictsIn(scene)).toEqual({ 1: `own-runner ${named(ci, 1)}` });
  });

  it('loses its place to the job that waits for it, after pendingDeadlineMs and not before', () => {
    const stuckFor = (minutes: number): Scene => ({
      groups: [one],
      jobs: [old(1), old(2)],
      liveJobs: [stuck(named(one, 1), minutes)],
    });

    expect(verdictsIn(stuckFor(14.9))).toEqual({ 1: `own-runner ${named(one, 1)}`, 2: 'cap' });
    expect(verdictsIn(stuckFor(15))).toEqual({ 1: 'cap', 2: `new-runner ${named(one, 2)}` });
    expect(droppedIn(stuckFor(15))).toEqual([`stuck ${named(one, 1)}`]);
  });

  it('is not followed by another one at the next look: its job shares the runner of the other', () => {
    const scene = { groups: [one], jobs: [old(1), old(2)], liveJobs: [live(named(one, 2), 'starting')] };

    expect(namesIn(scene)).toEqual([named(one, 2)]);
  });

  it('loses no more places than jobs wait', () => {
    const two = group({ maxActiveRunners: 2 });
    const liveJobs = [stuck(named(two, 1), 20), stuck(named(two, 2), 20)];

    expect(verdictsIn({ groups: [two], jobs: [old(1), old(2), old(3)], liveJobs })).toEqual({
      1: `own-runner ${named(two, 1)}`,
      2: 'cap',
      3: `new-runner ${named(two, 3)}`,
    });
  });

  it('serves no job but its own when places are short', () => {
    const jobs = [old(2), old(3)];

    expect(namesIn({ groups: [one], jobs, liveJobs: [stuck(named(one, 1), 20)] })).toEqual([named(one, 2)]);
  });

  it('takes no place from a runner that starts well: neither from that of another job nor from the second one of its own', () => {
    const two = group({ maxActiveRunners: 2 });
    const starting = (name: string) => live(name, 'starting', { createdAtMs: NOW - 30 * MINUTE });
    const ofAnother = planScene({
      groups: [two],
      jobs: [old(1), old(2), old(3)],
      liveJobs: [stuck(named(two, 1), 20), starting(named(two, 2))],
    });
    const trouble = { reason: 'ImagePullBackOff', ofNode: true } as const;
    const ofItsOwn = planScene({
      groups: [one],
      jobs: [old(1), old(2)],
      liveJobs: [stuck(named(one, 1), 20, { trouble }), starting(named(one, 1, 1))],
    });

    expect(verdicts(ofAnother)).toMatchObject({ 1: 'cap', 2: `own-runner ${named(two, 2)}` });
    expect(verdicts(ofItsOwn)).toEqual({ 1: `own-runner ${named(one, 1, 1)}`, 2: 'cap' });
  });

  it('does not cost its job the turn when its group is suspended', () => {
    const off = group({ name: 'off', suspend: true });
    const liveJobs = [stuck(named(off, 1), 20), live(named(one, 9), 'complete')];
    const scene = { groups: [off, one], jobs: [old(1), old(2)], liveJobs };

    expect(verdictsIn(scene)).toEqual({ 1: `new-runner ${named(one, 1)}`, 2: 'cap' });
    expect(droppedIn(scene)).toContain(`suspended ${named(off, 1)}`);
  });

  it('does not cost its job the turn on its next node when its group holds nobody back', () => {
    const gpu = group({ name: 'a', scope: 'repo', maxActiveRunners: 1, labels: ['linux', 'gpu'] });
    const jobs = [job(1, { labels: ['gpu'], createdAtMs: NOW - 120 * MINUTE }), old(2)];
    const trouble = { reason: 'ImagePullBackOff', ofNode: true } as const;
    const liveJobs = [stuck(named(gpu, 1), 20, { trouble }), live(named(one, 9), 'complete')];

    expect(verdictsIn({ groups: [gpu, one], jobs, liveJobs })).toEqual({
      1: `new-runner ${named(gpu, 1, 1)}`,
      2: `new-runner ${named(one, 2)}`,
    });
  });

  it('serves another job while places are left: a twin would be as stuck', () => {
    expect(verdictsIn({ jobs: [old(2)], liveJobs: [stuck(named(ci, 1), 20)] })).toEqual({
      2: `free-runner ${named(ci, 1)}`,
    });
  });

  it('keeps its place from jobs that another group can serve', () => {
    const other = group({ name: 'zz' });
    const liveJobs = [stuck(named(one, 1), 20), live(named(other, 9), 'complete')];

    expect(verdictsIn({ groups: [one, other], jobs: [old(1), old(2)], liveJobs })).toEqual({
      1: `own-runner ${named(one, 1)}`,
      2: `new-runner ${named(other, 2)}`,
    });
  });

  it('is tried once more on another node when the kubelet says what is wrong', () => {
    const trouble = { reason: 'ImagePullBackOff', ofNode: true } as const;
    const stuckFor = (minutes: number): Scene => ({
      jobs: [old(1)],
      liveJobs: [stuck(named(ci, 1), minutes, { trouble })],
    });

    expect(verdictsIn(stuckFor(14.9))).toEqual({ 1: `own-runner ${named(ci, 1)}` });
    expect(verdictsIn(stuckFor(15))).toEqual({ 1: `new-runner ${named(ci, 1, 1)}` });
    expect(droppedIn(stuckFor(15))).toEqual([`stuck ${named(ci, 1)}`]);
  });

  it('is on its way when Kubernetes shows no trouble: it keeps its place', () => {
    const slow = stuck(named(one, 1), 40);
    const { trouble: _, ...onItsWay } = slow;

    expect(verdictsIn({ groups: [one], jobs: [old(1), old(2)], liveJobs: [onItsWay] })).toEqual({
      1: `own-runner ${named(one, 1)}`,
      2: 'cap',
    });
  });

  it('is told with its reason, and as late after a spawn timeout', () => {
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

  it('is told of a record as final, and of no runner that goes or is lost', () => {
    const trouble = { reason: 'Evicted' };
    const toldOf = (scene: Scene) => planScene(scene).runners.find(({ runner }) => runner === named(one, 1));
    const gone = { groups: [one], liveJobs: [stuck(named(one, 1), 20)] };
    const ended = [live(named(one, 1), 'failed', { finishedAtMs: NOW - 5_000, trouble })];

    expect(toldOf({ groups: [one], jobs: [job(1)], liveJobs: ended })).toMatchObject({
      because: 'back-off-record',
      trouble: { ...trouble, isLate: true },
    });
    for (const [because, scene] of Object.entries({
      stuck: { ...gone, jobs: [old(1), old(2)] },
      lost: { groups: [one], jobs: [running(1, named(one, 1))], liveJobs: ended },
    })) {
      expect(toldOf(scene)).toMatchObject({ because });
      expect(toldOf(scene)).not.toHaveProperty('trouble');
    }
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
  const jobs = [1, 2, 3, 4, 5].map(old);
  const newOnes = (liveJobs: readonly LiveJob[], runners: Scene['runners'] = []) =>
    Object.values(verdictsIn({ jobs, liveJobs, runners })).filter((verdict) => verdict.startsWith('new-runner'));

  it('starts none for other jobs while it backs off', () => {
    expect(newOnes([refused(1, 19), refused(2, 19)])).toHaveLength(5);
    expect(newOnes([refused(1, 19), refused(2, 19), refused(3, 19)])).toEqual([]);
  });

  it('then tries one at a time', () => {
    const failed = [refused(1, 20), refused(2, 20), refused(3, 20)];

    expect(newOnes(failed)).toHaveLength(1);
    expect(newOnes([...failed, live(named(ci, 4), 'starting')])).toEqual([]);
  });

  it('is as before once a runner has come up after the last failure', () => {
    const up = live(named(ci, 9), 'running', { runningSinceMs: NOW - 10_000 });
    const failed = [refused(1, 20), refused(2, 20), refused(3, 20)];

    expect(newOnes([...failed, up])).toHaveLength(4);
  });

  it('is as before also once a runner has come up in the very second of the failures, or has run a CI job since', () => {
    const failed = [refused(1, 19), refused(2, 19), refused(3, 19)];
    const slow = { createdAtMs: NOW - 90_000, runningSinceMs: NOW - 19_000 };

    expect(newOnes([...failed, live(named(ci, 9), 'running', slow)])).toHaveLength(4);
    expect(newOnes([...failed, live(named(ci, 9), 'complete', { createdAtMs: NOW - 18_000 })])).toHaveLength(5);
  });

  it('still fails when its runners at work came up before: the token may have been changed since', () => {
    const failed = [refused(1, 19), refused(2, 19), refused(3, 19)];
    const before = live(named(ci, 9), 'running', { createdAtMs: NOW - 90_000 });

    expect(newOnes([...failed, before])).toEqual([]);
  });

  it('backs off from the last failure on, whenever the others were', () => {
    expect(newOnes([refused(1, 60), refused(2, 19), refused(3, 40)])).toEqual([]);
  });

  it('takes the creation of a Job that does not say when it failed, and no time that lies far ahead', () => {
    const failedAt = (over: (id: number) => Partial<LiveJob>) =>
      newOnes([1, 2, 3].map((id) => live(named(ci, id), 'failed', { trouble: { reason: 'X' }, ...over(id) })));

    expect(failedAt(() => ({ createdAtMs: NOW - 19_000 }))).toEqual([]);
    expect(failedAt(() => ({ finishedAtMs: NOW + 299_999 }))).toEqual([]);
    expect(failedAt(() => ({ finishedAtMs: NOW + 300_000 }))).toHaveLength(5);
  });

  it('is not one whose pods are only stuck: other jobs get their runners', () => {
    const waiting = [1, 2, 3].map((id) => stuck(named(ci, id), 0.1));

    expect(newOnes(waiting)).toHaveLength(2);
  });

  it('takes neither an idle runner nor a starting one of a former template for the one that is tried', () => {
    const failed = [refused(1, 20), refused(2, 20), refused(3, 20)];
    const former = live(named(group({ templateHash: 't0' }), 4), 'starting');
    const idle = live(named(ci, 9), 'running', { createdAtMs: NOW - 90_000 });
    const runners = [row(named(ci, 9), { labels: ['gpu'] })];

    expect(newOnes([...failed, former])).toHaveLength(1);
    expect(newOnes([...failed, idle], runners)).toHaveLength(1);
  });

  it('asks for the outcome of the one that is tried after ten seconds', () => {
    const failed = [refused(1, 20), refused(2, 20), refused(3, 20)];
    const [first, ...others] = planScene({ jobs, liveJobs: failed }).jobs;

    expect(first).toMatchObject({ verdict: 'served' });
    for (const each of others) expect(each).toMatchObject({ because: 'backing-off', untilMs: NOW + 10_000 });
  });

  it('does not count runners that came up and failed later', () => {
    const failed = [1, 2, 3].map((id) => {
      const { trouble: _, ...crashed } = refused(id, 19);
      return crashed;
    });

    expect(newOnes(failed)).toHaveLength(5);
  });

  it('lets runners at work finish, and jobs keep the runners that they have', () => {
    const failed = [refused(1, 5), refused(2, 5), refused(3, 5)];
    const planned = planScene({
      jobs: [...jobs, running(7, named(ci, 7))],
      liveJobs: [
        ...failed,
        live(named(ci, 5), 'starting'),
        live(named(ci, 7), 'running', { createdAtMs: NOW - MINUTE }),
      ],
    });

    expect(emittedNames(planned)).toContain(named(ci, 5));
    expect(emittedNames(planned)).toContain(named(ci, 7));
  });
});
