/** Law P3 (docs/spec.md): the cap holds. Each scene made it necessary. */
import { describe, expect, it } from 'vitest';
import type { Job, LiveJob } from '../../../src/planner/evidence.ts';
import { done, group, job, live, NOW, named, planScene, running } from '../../support/scenario.ts';

const two = group({ maxActiveRunners: 2 });
const one = group({ maxActiveRunners: 1 });

/**
 * The replay (src/planner/unseen) and the queue (src/planner/queue.ts) must agree: only the replay knows the requests.
 */
describe.each<[string, readonly LiveJob[] | undefined]>([
  ['where Gitea alone tells', undefined],
  ['where Kubernetes shows Jobs', [live(named(two, 77), 'complete')]],
])('P3 the cap holds %s', (_, liveJobs) => {
  const served = (jobs: readonly Job[], of = two, ...more: readonly LiveJob[]) =>
    planScene({ groups: [of], jobs, liveJobs: liveJobs && [...liveJobs, ...more] }).served;

  it('the plan serves the jobs first that have been ready longest, and holds back the others', () => {
    const jobs = [job(3), job(1), job(2)];

    expect(served(jobs)).toEqual([1, 2]);
    expect(planScene({ groups: [two], jobs, liveJobs }).groups).toMatchObject([
      { cap: 2, busy: 0, waiting: 2, held: 1 },
    ]);
  });

  it('the plan counts busy runners, and lets more than the cap live only while they are busy', () => {
    const jobs = [1, 2, 3].map((id) => running(id, named(two, id)));

    expect(planScene({ groups: [two], jobs: [...jobs, job(4)], liveJobs }).names).toHaveLength(3);
  });

  it('puts a job that needed another one behind those that were ready before, whatever its id', () => {
    expect(served([done(1, 'elsewhere', { runId: 7 }), job(2, { runId: 7 }), job(3), job(4)])).toEqual([3, 4]);
  });

  it('the planner does not take the end of a leg of its own matrix for the end of a needed job, nor that of one that never began', () => {
    const leg = (id: number) => ({ runId: 7, name: `test (${id})` });
    const cancelled = job(1, { ...leg(1), status: 'completed', completedAtMs: NOW - 1_000 });

    for (const first of [done(1, 'elsewhere', leg(1)), cancelled])
      expect(served([first, job(2, leg(2)), job(3), job(4)])).toEqual([2, 3]);
  });

  it('the plan takes the newest end of any other job of the run, also when a leg ended after it', () => {
    const ended = (id: number, name: string, secondsAgo: number) =>
      done(id, 'elsewhere', { runId: 7, name, completedAtMs: NOW - secondsAgo * 1_000 });
    const jobs = [
      ended(1, 'build', 5),
      { ...ended(2, 'test (2)', 1), startedAtMs: NOW - 4_000 },
      ended(3, 'lint', 15),
      job(4, { runId: 7, name: 'test (4)' }),
      job(5, { createdAtMs: NOW - 6_000 }),
      job(6, { createdAtMs: NOW - 4_000 }),
    ];

    expect(served(jobs)).toEqual([4, 5]);
    // Ahead by one slot: job 5 has waited longer than job 4, whose needed job ended after 5 came.
    expect(served(jobs, one)).toEqual([5]);
  });

  it('the planner does not take an end after a runner made for the job had begun another one for the end of a needed job', () => {
    // Gives its slot to the first in line.
    const times = { createdAtMs: NOW - 30_000, startedAtMs: NOW - 15_000, completedAtMs: NOW - 5_000 };
    const before = done(5, named(two, 5), times);
    const servedBeside = (runner: string, lintEndedMs: number) => {
      const lint = done(1, 'elsewhere', { runId: 7, name: 'lint', completedAtMs: lintEndedMs });
      const other = running(3, runner, { labels: ['elsewhere'], startedAtMs: NOW - 9_000 });
      return served([lint, job(2, { runId: 7, name: 'unit' }), other, job(4), before], two, live(runner, 'running'));
    };

    expect(servedBeside(named(two, 2), NOW - 1_000)).toEqual([2]);
    expect(servedBeside(named(two, 99), NOW - 1_000)).toEqual([4]);
    // In the same second as the begin.
    expect(servedBeside(named(two, 2), NOW - 9_000)).toEqual([4]);
  });

  it('sorts by creation, then id, not by the order of the answer', () => {
    expect(served([job(1, { createdAtMs: NOW }), job(2, { createdAtMs: NOW - 1 }), job(3)], one)).toEqual([3]);
    const same = { createdAtMs: NOW };
    expect(served([job(3, same), job(2, same)], one)).toEqual([2]);
  });
});
