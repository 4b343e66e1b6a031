/** Laws P48 to P50 (docs/spec.md): runners that wait in a queue of Kueue. */
import { describe, expect, it } from 'vitest';
import type { LiveJob } from '../../../src/planner/evidence.ts';
import { done, group, job, live, NOW, named, planScene, row, running, type Scene } from '../../support/scenario.ts';

const MINUTE = 60_000;
const queued = group({ queue: 'team-a' });
const plain = group();
const WAITS = { reason: 'Suspended', message: 'Job suspended', isSuspended: true, queue: 'team-a' } as const;

/** A Job that Kueue has not let start. */
const waiting = (name: string, minutes: number, over: Partial<LiveJob> = {}): LiveJob =>
  live(name, 'starting', { createdAtMs: NOW - minutes * MINUTE, queue: 'team-a', trouble: WAITS, ...over });
const admitted = (name: string, over: Partial<LiveJob> = {}): LiveJob =>
  live(name, 'running', { queue: 'team-a', ...over });
const scene = (over: Scene): Scene => ({ groups: [queued], ...over });
const only = (over: Scene) => planScene(scene(over)).runners.filter(({ emit }) => emit);
const old = (id: number) => job(id, { createdAtMs: NOW - 30 * 60 * MINUTE + id });
const ci = (id: number) => named(queued, id);

describe('P48 the queue of a runner', () => {
  it('the queue of a runner is that of its group when it is new, and stays that of its Job', () => {
    const queueOf = (groups: Scene['groups'], liveJobs: readonly LiveJob[]) =>
      planScene({ groups: groups ?? [], jobs: [job(1)], liveJobs }).emitted.map(({ queue }) => queue);

    expect(queueOf([queued], [])).toEqual(['team-a']);
    expect(queueOf([queued], [live(ci(1), 'starting')])).toEqual([undefined]);
    expect(queueOf([plain], [waiting(ci(1), 1)])).toEqual(['team-a']);
    expect(queueOf([group({ queue: 'team-b' })], [waiting(ci(1), 1)])).toEqual(['team-a']);
    expect(queueOf([plain], [])).toEqual([undefined]);
  });

  it.each<[string, LiveJob, Scene]>([
    ['while it waits', waiting(ci(1), 1), {}],
    ['while its pod starts', live(ci(1), 'starting', { queue: 'team-a' }), {}],
    ['while it is idle', admitted(ci(1)), { runners: [row(ci(1))] }],
    ['once it is pinned', admitted(ci(1), { pinned: true }), { jobs: [running(1, ci(1))] }],
  ])('the queue of a runner keeps its Job from being applied %s', (_, of, over) => {
    expect(only({ jobs: [job(1)], liveJobs: [of], ...over })).toMatchObject([{ runner: ci(1), skip: true }]);
  });

  it.each<[string, Scene]>([
    ['is made', { jobs: [job(1)], liveJobs: [] }],
    ['gets its pin', { jobs: [running(1, ci(1))], liveJobs: [admitted(ci(1))] }],
    ['loses its pin', { liveJobs: [admitted(ci(1), { pinned: true, state: 'starting' })] }],
  ])('lets its Job be applied when it %s', (_, over) => {
    const [first, ...others] = only(over);

    expect([first?.runner, first?.emit && first.skip, others]).toEqual([ci(1), undefined, []]);
  });
});

describe('P49 a runner that waits in a queue', () => {
  it.each([1, 60, 30 * 60])(
    'a runner that waits in a queue is kept after %d minutes, and nobody must mend it',
    (minutes) => {
      const planned = planScene(scene({ jobs: [old(1)], liveJobs: [waiting(ci(1), minutes)] }));

      expect(planned.verdicts).toEqual({ 1: `own-runner ${ci(1)}` });
      expect(planned.emitted).toMatchObject([{ trouble: { queue: 'team-a', isLate: false } }]);
    },
  );

  it('a runner that waits in a queue is taken back when its CI job is gone, cancelled, or served by another runner', () => {
    const liveJobs = [waiting(ci(1), 1), admitted('ci-9-1-abcdabcd')];
    const at = (...jobs: readonly ReturnType<typeof job>[]) =>
      planScene(scene({ jobs, liveJobs: liveJobs.slice(0, 1) })).reasons[ci(1)];

    expect(at()).toBe('surplus');
    // CI goes on, for which another runner would stay as a spare one.
    expect(at(running(2, 'somebody-else'))).toBe('surplus');
    expect(at(running(1, 'somebody-else'))).toBe('surplus');
    expect(
      planScene({ jobs: [running(2, 'somebody-else')], liveJobs: [live(ci(1), 'starting')] }).reasons,
    ).toMatchObject({ [ci(1)]: 'spare' });
  });

  it('a runner that waits in a queue serves another job when its own has gone to one that was let in before', () => {
    const liveJobs = [waiting(ci(1), 5), admitted(ci(2))];
    const planned = planScene(scene({ jobs: [running(1, ci(2)), job(2)], liveJobs }));

    expect(planned.verdicts).toEqual({ 1: 'running', 2: `free-runner ${ci(1)}` });
  });

  it('a runner that waits in a queue holds its slot under the cap', () => {
    const one = group({ queue: 'team-a', maxActiveRunners: 1 });

    expect(planScene({ groups: [one], jobs: [old(1), old(2)], liveJobs: [waiting(ci(1), 600)] }).verdicts).toEqual({
      1: `own-runner ${ci(1)}`,
      2: 'cap',
    });
  });

  it('a runner of a pool that waits in a queue is kept however long it waits', () => {
    const pool = group({ queue: 'team-a', minIdleRunners: 1 });
    const [first] = planScene({ groups: [pool], liveJobs: [] }).names;
    const days = waiting(String(first), 60 * 24 * 30);

    expect(planScene({ groups: [pool], liveJobs: [days] }).names).toEqual([first]);
  });
});

describe('P51 a runner that Kueue has stopped', () => {
  const stopped = (over: Partial<LiveJob> = {}): LiveJob =>
    live(ci(1), 'failed', { queue: 'team-a', isStopped: true, finishedAtMs: NOW - 5_000, ...over });

  it.each<[string, Scene]>([
    ['had its CI job', { jobs: [running(1, ci(1))] }],
    ['had ended its CI job', { jobs: [done(1, ci(1))] }],
    ['had none yet', { jobs: [job(1)] }],
  ])('a runner that Kueue has stopped goes when it %s, its pin first', (_, over) => {
    expect(planScene(scene({ ...over, liveJobs: [stopped()] })).reasons).toMatchObject({ [ci(1)]: 'failed' });
    expect(only({ ...over, liveJobs: [stopped({ pinned: true })] })).toContainEqual(
      expect.objectContaining({ runner: ci(1), because: 'unpinning', pinned: false }),
    );
  });

  it('a runner that Kueue has stopped takes no slot: its CI job is lost, and another one gets its slot', () => {
    const one = group({ queue: 'team-a', maxActiveRunners: 1 });

    expect(planScene({ groups: [one], jobs: [running(1, ci(1)), job(2)], liveJobs: [stopped()] }).verdicts).toEqual({
      1: 'running',
      2: `new-runner ${ci(2)}`,
    });
  });

  it('a runner that Kueue has stopped is followed by one of another name, and holds back no others', () => {
    const planned = planScene(scene({ jobs: [job(1), job(2)], liveJobs: [stopped({ finishedAtMs: NOW - 60_000 })] }));

    expect(planned.verdicts).toEqual({ 1: `new-runner ${named(queued, 1, 1)}`, 2: `new-runner ${ci(2)}` });
  });

  it('a runner that Kueue has stopped keeps its slot and its pin while its pod may end its CI job', () => {
    const ending = stopped({ state: 'deleting', pinned: true });

    expect(only({ jobs: [running(1, ci(1))], liveJobs: [ending] })).toMatchObject([
      { runner: ci(1), because: 'busy', pinned: true, skip: true },
    ]);
  });
});
