/** Laws P9 and P10 (docs/spec.md), where a queue was too long to be read. */
import { expect, it } from 'vitest';
import type { Plan } from '../../../src/planner/decisions.ts';
import { group, job, live, NOW, named, planScene, row, running } from '../../support/scenario.ts';

const ci = group();
const inOutput = ({ runners }: Plan) => runners.flatMap(({ emit, runner }) => (emit ? [runner] : []));
const OLD = { createdAtMs: NOW - 86_400_000 };
const idle = { liveJobs: [live(named(ci, 7), 'running', OLD)], runners: [row(named(ci, 7))] };

/** Runner 7 idles for a job that no look has; `unread` queued jobs were left out. */
function scene(unread?: number, more: object = {}) {
  const look = { jobs: [running(9, 'x')], runners: idle.runners, ...(unread && { unreadJobs: unread }) };
  return planScene({ ...idle, looks: { [ci.look]: look }, ...more });
}

it('an idle runner stays while its job may be an unread one', () => {
  expect(inOutput(scene(1))).toEqual([named(ci, 7)]);
  expect(inOutput(scene())).toEqual([]);
});

it('an idle runner gets the oldest job that was read, and no other runner is started', () => {
  const look = { jobs: [job(8)], runners: idle.runners, unreadJobs: 12 };

  expect(inOutput(planScene({ ...idle, looks: { [ci.look]: look } }))).toEqual([named(ci, 7)]);
});

it('an idle runner stays only within the cap, and not in a suspended group', () => {
  const one = group({ maxActiveRunners: 1 });
  const suspended = group({ suspend: true });
  const busy = { jobs: [running(9, named(one, 9))], runners: [...idle.runners, row(named(one, 9))], unreadJobs: 1 };
  const looks = { [ci.look]: busy };

  expect(inOutput(planScene({ ...idle, groups: [one], looks }))).toEqual([named(one, 9)]);
  expect(inOutput(scene(12, { groups: [suspended] }))).toEqual([]);
});

it('each group of a scope with unread jobs says so, and no other group', () => {
  const other = group({ name: 'other', look: 'other' });
  const looks = { [ci.look]: { jobs: [], runners: [], unreadJobs: 1 }, other: { jobs: [], runners: [] } };

  expect(planScene({ groups: [ci, other], looks }).groups.map(({ unreadJobs }) => unreadJobs)).toEqual([1, undefined]);
});
