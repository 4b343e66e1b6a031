/** Law P13 (docs/spec.md): a runner keeps its PriorityClass, and no tier gets more runners than it has slots. */
import { describe, expect, it } from 'vitest';
import type { LiveJob } from '../../../src/planner/evidence.ts';
import { group, job, live, NOW, named, planScene, row, running, type Scene } from '../../support/scenario.ts';

const tiers = [
  { priorityClassName: 'critical', threshold: 1 },
  { priorityClassName: 'standard', threshold: 3 },
];
const ci = group({ maxActiveRunners: 3, priorityTiers: tiers });

const classesOf = (scene: Scene): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries(
    planScene({ groups: [ci], ...scene }).emitted.map(({ runner, priorityClass }) => [runner, priorityClass]),
  );
const alive = (id: number, priorityClass: string, over: Partial<LiveJob> = {}): LiveJob =>
  live(named(ci, id), 'running', { priorityClass, ...over });

describe('P13 priority tiers', () => {
  it('fill from the first one, in the order of the queue', () => {
    // By name, the tenth comes before the ninth.
    expect(classesOf({ jobs: [job(11), job(9), job(10)] })).toEqual({
      [named(ci, 9)]: 'critical',
      [named(ci, 10)]: 'standard',
      [named(ci, 11)]: 'standard',
    });
  });

  it('priority tiers never change the class of a runner that exists, and give a new one the lowest slot that no runner has', () => {
    const atWork = (priorityClass: string) => [alive(2, priorityClass, { pinned: true })];
    const jobs = [running(2, named(ci, 2)), job(3)];
    const [two, three, four] = [2, 3, 4].map((id) => named(ci, id)) as [string, string, string];

    expect(classesOf({ jobs, liveJobs: [...atWork('standard'), alive(3, 'standard')] })).toEqual({
      [two]: 'standard',
      [three]: 'standard',
    });
    expect(classesOf({ jobs, liveJobs: atWork('critical') })).toEqual({ [two]: 'critical', [three]: 'standard' });
    expect(classesOf({ jobs: [...jobs, job(4)], liveJobs: atWork('standard') })).toEqual({
      [two]: 'standard',
      [three]: 'critical',
      [four]: 'standard',
    });
  });

  it('leave a runner without a class as it is, and one with a class that no tier has any more', () => {
    const jobs = [job(1), job(2), job(3)];
    const liveJobs = [live(named(ci, 1), 'starting'), alive(2, 'former')];

    expect(classesOf({ jobs, liveJobs })).toEqual({
      [named(ci, 1)]: undefined,
      [named(ci, 2)]: 'former',
      [named(ci, 3)]: 'critical',
    });
  });

  it('keep the class of a runner whose group has no tiers any more', () => {
    const liveJobs = [alive(1, 'critical')];

    expect(classesOf({ groups: [group()], jobs: [job(1)], liveJobs })).toEqual({ [named(ci, 1)]: 'critical' });
  });

  it('count no records of failures', () => {
    const liveJobs = [live(named(ci, 1), 'failed', { priorityClass: 'critical', finishedAtMs: NOW - 5_000 })];

    expect(classesOf({ jobs: [job(1)], liveJobs })).toEqual({ [named(ci, 1, 1)]: 'critical' });
  });

  it('count no lost runner, whose Job has ended or is gone', () => {
    const giteaWasUp = running(3, 'someone-else', { startedAtMs: NOW - 30_000 });
    const jobs = [running(1, named(ci, 1), { startedAtMs: NOW - 600_000 }), job(2), giteaWasUp];
    const ended = { liveJobs: [alive(1, 'critical', { state: 'complete' })] };
    const gone = { runners: [row(named(ci, 1), { online: false })], liveJobs: [live(named(ci, 9), 'complete')] };
    const lostIn = (scene: Scene) =>
      planScene({ groups: [ci], jobs, ...scene }).runners.filter(({ because }) => because === 'lost');

    for (const seen of [ended, gone]) expect(classesOf({ jobs, ...seen })).toEqual({ [named(ci, 2)]: 'critical' });
    expect(lostIn(ended)).toMatchObject([{ runner: named(ci, 1), priorityClass: 'critical' }]);
    expect(lostIn(gone)).toEqual([expect.not.objectContaining({ priorityClass: expect.anything() })]);
  });

  it('count the slots of two tiers with the same class together', () => {
    const priorityTiers = ['critical', 'standard', 'critical', 'low'].map((priorityClassName, nth) => ({
      priorityClassName,
      threshold: nth + 1,
    }));
    const of = group({ maxActiveRunners: 4, priorityTiers });
    const liveJobs = [alive(1, 'critical'), alive(2, 'critical'), alive(3, 'standard')];

    expect(classesOf({ groups: [of], jobs: [1, 2, 3, 4].map((id) => job(id)), liveJobs })).toMatchObject({
      [named(of, 4)]: 'low',
    });
  });

  it('count a runner at work whose Job nobody sees in the lowest free slot', () => {
    const jobs = [running(1, named(ci, 1)), job(2)];
    const liveJobs = [live(named(ci, 9), 'complete')];

    expect(classesOf({ jobs, liveJobs })).toMatchObject({ [named(ci, 2)]: 'standard' });
  });
});
