/** Law P3 (docs/spec.md): the cap holds. Each scene made it necessary. */
import { describe, expect, it } from 'vitest';
import type { LiveJob } from '../../../src/planner/evidence.ts';
import {
  done,
  emittedNames,
  group,
  job,
  live,
  NOW,
  named,
  planScene as planAnyScene,
  running,
  type Scene,
  servedIds,
  verdicts,
} from '../../support/scenario.ts';

const two = group({ maxActiveRunners: 2 });
const one = group({ maxActiveRunners: 1 });

/** The replay (src/planner/unseen) and the queue (src/planner/queue.ts) must agree: only the first knows what was asked for. */
describe.each<[string, readonly LiveJob[] | undefined]>([
  ['where Gitea alone tells', undefined],
  ['where Kubernetes shows Jobs', [live(named(two, 77), 'complete')]],
])('P3 the cap holds %s', (_, liveJobs) => {
  const planScene = (scene: Scene) => planAnyScene({ liveJobs, ...scene });

  it('serves the jobs first that have been ready longest, and holds back the others', () => {
    const planned = planScene({ groups: [two], jobs: [job(3), job(1), job(2)] });

    expect(emittedNames(planned)).toEqual([named(two, 1), named(two, 2)]);
    expect(verdicts(planned)[3]).toBe('cap');
    expect(planned.groups).toMatchObject([{ cap: 2, busy: 0, waiting: 2, held: 1 }]);
  });

  it('counts busy runners, and lets more than the cap live only while they are busy', () => {
    const jobs = [1, 2, 3].map((id) => running(id, named(two, id)));

    expect(emittedNames(planScene({ groups: [two], jobs: [...jobs, job(4)] }))).toHaveLength(3);
  });

  it('puts a job that needed another one behind those that were ready before, whatever its id', () => {
    const jobs = [done(1, 'elsewhere', { runId: 7 }), job(2, { runId: 7 }), job(3), job(4)];

    expect(servedIds(planScene({ groups: [two], jobs }))).toEqual([3, 4]);
  });

  it('does not take the end of a leg of its own matrix for the end of a needed job', () => {
    const leg = (id: number) => ({ runId: 7, name: `test (${id})` });
    const jobs = [done(1, 'elsewhere', leg(1)), job(2, leg(2)), job(3), job(4)];

    expect(servedIds(planScene({ groups: [two], jobs }))).toEqual([2, 3]);
  });

  it('nor when that leg was cancelled before it began', () => {
    const cancelled = job(1, { runId: 7, name: 'test (1)', status: 'completed', completedAtMs: NOW - 1_000 });
    const jobs = [cancelled, job(2, { runId: 7, name: 'test (2)' }), job(3), job(4)];

    expect(servedIds(planScene({ groups: [two], jobs }))).toEqual([2, 3]);
  });

  it('takes the newest end of any other job of the run, also when a leg ended after it', () => {
    const jobs = [
      done(1, 'elsewhere', { runId: 7, name: 'build', completedAtMs: NOW - 5_000 }),
      done(2, 'elsewhere', {
        runId: 7,
        name: 'test (2)',
        startedAtMs: NOW - 4_000,
        completedAtMs: NOW - 1_000,
      }),
      done(3, 'elsewhere', { runId: 7, name: 'lint', completedAtMs: NOW - 15_000 }),
      job(4, { runId: 7, name: 'test (4)' }),
      job(5, { createdAtMs: NOW - 6_000 }),
      job(6, { createdAtMs: NOW - 4_000 }),
    ];

    expect(servedIds(planScene({ groups: [two], jobs }))).toEqual([4, 5]);
    // By one slot: job 5 has waited longer than job 4, whose needed job ended after 5 came.
    expect(servedIds(planScene({ groups: [one], jobs }))).toEqual([5]);
  });

  it('does not take an end after a runner made for the job had begun another one for the end of a needed job', () => {
    const lint = done(1, 'elsewhere', { runId: 7, name: 'lint', completedAtMs: NOW - 1_000 });
    const other = (runner: string) => running(3, runner, { labels: ['elsewhere'], startedAtMs: NOW - 9_000 });
    // Gives its slot to the first in line.
    const before = done(5, named(two, 5), {
      createdAtMs: NOW - 30_000,
      startedAtMs: NOW - 15_000,
      completedAtMs: NOW - 5_000,
    });
    const servedBeside = (runner: string) =>
      servedIds(
        planScene({
          groups: [two],
          jobs: [lint, job(2, { runId: 7, name: 'unit' }), other(runner), job(4), before],
          liveJobs: liveJobs && [...liveJobs, live(runner, 'running')],
        }),
      );

    expect(servedBeside(named(two, 2))).toEqual([2]);
    expect(servedBeside(named(two, 99))).toEqual([4]);
  });

  it('takes an end in the very second in which its own runner began another job for the end of a needed job', () => {
    const lint = done(1, 'elsewhere', { runId: 7, name: 'lint', completedAtMs: NOW - 9_000 });
    const other = running(3, named(two, 2), { labels: ['elsewhere'], startedAtMs: NOW - 9_000 });
    const before = done(5, named(two, 5), {
      createdAtMs: NOW - 30_000,
      startedAtMs: NOW - 15_000,
      completedAtMs: NOW - 5_000,
    });
    const jobs = [lint, job(2, { runId: 7, name: 'unit' }), other, job(4), before];

    const shown = liveJobs && [...liveJobs, live(named(two, 2), 'running')];
    expect(servedIds(planScene({ groups: [two], jobs, liveJobs: shown }))).toEqual([4]);
  });

  it('sorts by creation, then id, not by the order of the answer', () => {
    const jobs = [job(1, { createdAtMs: NOW }), job(2, { createdAtMs: NOW - 1 }), job(3, { createdAtMs: NOW })];

    expect(emittedNames(planScene({ groups: [one], jobs }))).toEqual([named(one, 2)]);
  });
});
