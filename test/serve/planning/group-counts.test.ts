import { expect, it } from 'vitest';
import type { HeldBecause, Plan } from '../../../src/planner/decisions.ts';
import { countsOf } from '../../../src/serve/planning/group-counts.ts';
import { runnerGroup } from '../../support/runner-group.ts';
import { job, NOW, ORIGIN } from '../../support/scenario.ts';

const group = runnerGroup({ maxActiveRunners: 1 });

const [own, other] = [
  { namespace: 'runners', name: 'ci' },
  { namespace: 'runners', name: 'other' },
];
const jobs = (...of: readonly object[]) => of.map((each, nth) => ({ job: job(nth + 1), origin: ORIGIN, ...each }));
const counts = (plan: { readonly jobs?: readonly object[]; readonly runners?: readonly object[] }) =>
  countsOf({ groups: [], jobs: [], runners: [], ...plan } as unknown as Plan, group);
const held = (because: HeldBecause, more: object = {}) => ({ verdict: 'held', because, group: own, ...more });

it('the counts of a group are its jobs that are ready, by what holds them back', () => {
  const all = [
    held('cap'),
    held('limit', { limit: { name: 'gpus', most: 2 } }),
    held('limit', { limit: { most: 3 } }),
    held('suspended'),
    held('backing-off'),
    held('blocked'),
    held('cap', { group: other }),
    { verdict: 'served', by: 'own-runner', group: own, runner: 'ci-1' },
    { verdict: 'running', group: own },
    { verdict: 'done' },
  ];

  expect(counts({ jobs: jobs(...all) })).toStrictEqual({
    queued: 6,
    held: { cap: 1, limit: 2, suspended: 1, 'backing-off': 1 },
    limit: { name: 'gpus', most: 2 },
    summary: undefined,
    stuck: [],
    suspended: [],
    debugging: [],
  });
  expect(counts({ jobs: jobs(held('cap')) })).not.toHaveProperty('limit');
});

it('name its pods that cannot start for long, and its runners that stay for a look', () => {
  const late = { reason: 'Unschedulable', isLate: true };
  const keep = { endedAtMs: NOW, untilMs: NOW + 1_000 };
  const emitted = (runner: string, more: object) => ({
    emit: true,
    runner,
    group: own,
    because: 'new-runner',
    ...more,
  });
  const runners = [
    emitted('late', { trouble: late }),
    emitted('new', { trouble: { ...late, isLate: false } }),
    emitted('failed', { because: 'back-off-record', trouble: late }),
    emitted('fine', {}),
    emitted('theirs', { group: other, trouble: late }),
    { emit: false, runner: 'dropped', group: own, because: 'stuck', trouble: late },
    emitted('kept', { because: 'debugging', keep }),
    emitted('at-once', { because: 'debugging' }),
    emitted('unpinned', { because: 'unpinning', keep }),
  ];

  expect(counts({ runners })).toMatchObject({
    stuck: [
      { runner: 'late', trouble: late, failed: false },
      { runner: 'failed', trouble: late, failed: true },
    ],
    debugging: [{ runner: 'kept', untilMs: NOW + 1_000 }],
  });
});

it('goes over the runners of a plan once, however many groups ask (V102)', () => {
  let reads = 0;
  const runner = {
    group: { namespace: 'runners', name: 'ci' },
    get emit() {
      reads += 1;
      return false;
    },
  };
  const plan = { groups: [], jobs: [], runners: [runner] } as unknown as Plan;
  for (const name of ['a', 'b', 'c']) countsOf(plan, runnerGroup({ name }));

  expect(reads).toBe(1);
});
