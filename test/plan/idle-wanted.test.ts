/** Law P28 (docs/spec.md): the warm pool by the calendar and by demand. */
import { describe, expect, it } from 'vitest';
import type { RunnerGroup } from '../../src/config/runnergroup/runner-group.ts';
import { scheduledIdle, withIdleWanted } from '../../src/plan/idle-wanted.ts';
import { toPlanned } from '../../src/plan/plan-groups.ts';
import type { Job } from '../../src/planner/evidence.ts';
import { runnerGroup } from '../support/runner-group.ts';
import { done, job, NOW, running } from '../support/scenario.ts';

type Hours = RunnerGroup['idleSchedule'][number];

const OFFICE: Hours = {
  runners: 3,
  from: '07:00',
  to: '19:00',
  days: ['Mon', 'Tue', 'Wed', 'Thu', 'Fri'],
  timeZone: 'Europe/Berlin',
};
const at = (time: string, hours: Partial<Hours> = {}, minIdleRunners = 0): number =>
  scheduledIdle({ idleSchedule: [{ ...OFFICE, ...hours }], minIdleRunners }, Date.parse(time));

it.each([
  ['on a Friday in winter, at the first minute', '2026-11-27T07:00:00+01:00', 3],
  ['a second before its hours', '2026-11-27T06:59:59+01:00', 0],
  ['at the last minute', '2026-11-27T18:59:59+01:00', 3],
  ['when its hours are over', '2026-11-27T19:00:00+01:00', 0],
  ['on a Saturday', '2026-11-28T12:00:00+01:00', 0],
  ['in summer time', '2026-07-27T07:00:00+02:00', 3],
  ['in summer time, an hour too early', '2026-07-27T07:00:00+03:00', 0],
  ['while it is another day in UTC', '2026-11-29T23:30:00Z', 0],
])('the calendar %s (%s) wants %i idle runners', (_, time, wanted) => {
  expect(at(time)).toBe(wanted);
});

it('hours that go on after midnight belong to the day on which they begin', () => {
  const night = { from: '22:00', to: '02:00', days: ['Fri'] as Hours['days'] };
  const found = ['27T21:59', '27T22:00', '28T01:59', '28T02:00', '28T22:00', '27T01:00'].map((time) =>
    at(`2026-11-${time}:00+01:00`, night),
  );

  expect(found).toEqual([0, 3, 3, 0, 0, 0]);
});

it('a whole day has the same begin and end', () => {
  expect(at('2026-11-27T00:00:00+01:00', { from: '00:00', to: '00:00' })).toBe(3);
  expect(at('2026-11-27T23:59:00+01:00', { from: '00:00', to: '00:00' })).toBe(3);
  expect(at('2026-11-28T00:00:00+01:00', { from: '00:00', to: '00:00' })).toBe(0);
});

it('minIdleRunners holds always, and hours that overlap give the larger number', () => {
  expect(at('2026-11-28T12:00:00+01:00', {}, 1)).toBe(1);
  expect(at('2026-11-27T12:00:00+01:00', {}, 5)).toBe(5);
  const idleSchedule = [OFFICE, { ...OFFICE, runners: 7, from: '09:00', to: '10:00' }];
  expect(scheduledIdle({ idleSchedule, minIdleRunners: 0 }, Date.parse('2026-11-27T09:30:00+01:00'))).toBe(7);
});

describe('by demand', () => {
  const ago = (minutes: number): number => NOW - 60_000 * minutes;
  const group = runnerGroup({ idleDemand: { minutes: 10, most: 4 } });
  const wanted = (jobs: readonly Job[], of = [group]): readonly number[] => {
    const evidence = {
      instance: '',
      looks: new Map([['look', { jobs, runners: [] }]]),
      cluster: { is: 'unseen' as const },
      nowMs: NOW,
    };
    const planned = of.map((each) => [toPlanned(each, 'look', each.name), each] as const);
    return withIdleWanted(planned, evidence).map(({ minIdleRunners }) => minIdleRunners);
  };
  const ended = (id: number, minutes: number, over: Partial<Job> = {}): Job => {
    return { ...done(id, `ci-${id}`), createdAtMs: ago(minutes), startedAtMs: ago(minutes), ...over };
  };

  it('a group wants as many idle runners as CI jobs came in the last minutes, whatever became of them', () => {
    const jobs = [
      { ...job(1), createdAtMs: ago(1) },
      { ...running(2, 'ci-2'), createdAtMs: ago(9), startedAtMs: ago(9) },
      ended(3, 9.9),
      ended(4, 10),
      ended(5, 30),
    ];

    expect(wanted(jobs)).toEqual([3]);
  });

  it('demand never wants more idle runners than allowed, and none when no CI job has come', () => {
    expect(wanted([1, 2, 3, 4, 5, 6].map((id) => ended(id, 2)))).toEqual([4]);
    expect(wanted([ended(1, 11)])).toEqual([0]);
    expect(wanted([])).toEqual([0]);
  });

  it('a job that needed no runner asks for none: blocked, skipped, never started, copied by a re-run', () => {
    const { startedAtMs: _, ...never } = ended(3, 1, { conclusion: 'cancelled' });
    const jobs = [
      { ...job(1), status: 'blocked' as const, createdAtMs: ago(1) },
      ended(2, 1, { conclusion: 'skipped' }),
      never,
      ended(4, 1, { startedAtMs: ago(60) }),
    ];

    expect(wanted(jobs)).toEqual([0]);
  });

  it('a group wants idle runners only for jobs that it is the first owner of', () => {
    const narrow = runnerGroup({ name: 'narrow', idleDemand: { minutes: 10, most: 4 } });
    const wide = runnerGroup({
      name: 'wide',
      labels: ['linux', 'gpu'].map((name) => ({ name, text: `${name}:host` })),
      idleDemand: { minutes: 10, most: 4 },
    });
    const jobs = [ended(1, 1), ended(2, 1), ended(3, 1, { labels: ['gpu'] }), ended(4, 1, { labels: ['windows'] })];

    expect(wanted(jobs, [narrow, wide])).toEqual([2, 1]);
  });

  it('a pool that is larger already stays as large', () => {
    expect(wanted([ended(1, 1)], [{ ...group, minIdleRunners: 2 }])).toEqual([2]);
  });
});
