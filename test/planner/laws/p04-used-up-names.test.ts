/** Law P4 (docs/spec.md): a used-up name does not stand for a runner again. Each scene made it necessary. */
import { describe, expect, it } from 'vitest';
import type { Job, LiveJob } from '../../../src/planner/evidence.ts';
import { done, group, job, live, NOW, named, planScene, row, running, type Scene } from '../../support/scenario.ts';

const ci = group();
const one = group({ maxActiveRunners: 1 });
/** The nth runner of job 1, which has failed. */
const failed = (ordinal: number, finishedAtMs = NOW, over: Partial<LiveJob> = {}): LiveJob =>
  live(named(ci, 1, ordinal), 'failed', { finishedAtMs, ...over });
/** Returns the verdict on job 1 beside these Jobs. */
const toldBeside = (liveJobs: readonly LiveJob[], scene: Scene = {}) =>
  planScene({ jobs: [job(1)], liveJobs, ...scene }).verdicts[1];

describe('P4 a used-up name is not emitted again', () => {
  it('the plan takes the next ordinal when the runner of that name has finished a job', () => {
    const liveJobs = [live(named(ci, 2), 'complete')];

    expect(planScene({ jobs: [done(1, named(ci, 2)), job(2)], liveJobs }).names).toEqual([named(ci, 2, 1)]);
  });

  it.each(['failed', 'complete'] as const)(
    'the plan takes the next ordinal at once when the first Job is %s without a CI job, and the one after it only after a back-off',
    (state) => {
      const [first, second] = [failed(0, NOW - 2_000, { state }), failed(1, NOW - 1_000, { state })];
      const backingOff = planScene({ jobs: [job(1)], liveJobs: [first, second] });

      expect(toldBeside([first])).toBe(`new-runner ${named(ci, 1, 1)}`);
      expect(backingOff.jobs).toMatchObject([{ because: 'backing-off' }]);
      // Both records stay to be counted.
      const record = { emit: true, because: 'back-off-record', pinned: false, skip: true };
      expect(backingOff.runners).toMatchObject([record, record]);
      expect(toldBeside([first, second], { nowMs: NOW + 9_000 })).toBe(`new-runner ${named(ci, 1, 2)}`);
    },
  );

  it('the plan waits 10 s after the second failure, twice as long after each further one, at most a spawn timeout', () => {
    const waits = (count: number) => {
      const liveJobs = Array.from({ length: count }, (_, nth) => failed(nth, NOW - 1_000 * (count - nth)));
      const at = (nowMs: number) => toldBeside(liveJobs, { nowMs }) === 'backing-off';
      return [0, 10, 20, 40, 80, 160, 300].find((seconds) => !at(NOW - 1_000 + seconds * 1_000));
    };

    expect([1, 2, 3, 4, 5, 6, 7, 20].map(waits)).toEqual([0, 10, 20, 40, 80, 160, 300, 300]);
    // Counted from the end of the last one.
    expect(toldBeside([failed(0, NOW - 5_000), failed(1, NOW - 1_000)], { nowMs: NOW + 8_999 })).toBe('backing-off');
  });

  it('the plan counts from the creation of a Job that does not say when it failed', () => {
    const timeless = [0, 1].map((nth) => live(named(ci, 1, nth), 'failed', { createdAtMs: NOW - 9_999 }));

    expect(toldBeside(timeless)).toBe('backing-off');
    expect(toldBeside(timeless, { nowMs: NOW + 1 })).toContain('new-runner');
  });

  it.each<[string, Partial<LiveJob>, readonly Job[]]>([
    ['are complete and ran other jobs', { state: 'complete' }, [0, 1].map((nth) => done(10 + nth, named(ci, 1, nth)))],
    ['failed and ran other jobs', {}, [0, 1].map((nth) => done(10 + nth, named(ci, 1, nth)))],
    [
      'are complete and pinned: they were at work, and their CI jobs are not listed any more',
      { state: 'complete', pinned: true },
      [],
    ],
  ])('the planner does not count runners of the job that %s', (_, over, others) => {
    const scene = { jobs: [job(1), ...others], liveJobs: [failed(0, NOW - 1_000, over), failed(1, NOW - 1_000, over)] };

    expect(planScene(scene).verdicts[1]).toBe(`new-runner ${named(ci, 1, 2)}`);
    expect(planScene(scene).because).not.toContain('back-off-record');
  });

  it('the plan keeps the record of a failure only while this stay of the job waits', () => {
    const becauseOf = (...jobs: Job[]) => planScene({ jobs, liveJobs: [failed(0)] }).because;

    expect(becauseOf(job(1))).toContain('back-off-record');
    for (const jobs of [[job(1, { attempt: 2 })], [running(1, 'elsewhere')], []])
      expect(becauseOf(...jobs)).toContain('failed');
  });

  it('the planner does not take an offline row for a used-up name, also where Kubernetes shows other Jobs', () => {
    const runners = [row(named(ci, 1), { online: false })];

    for (const liveJobs of [undefined, [live(named(ci, 9), 'complete')]])
      expect(toldBeside([], { runners, liveJobs })).toBe(`new-runner ${named(ci, 1)}`);
  });

  it('the planner does not wait for a failure that lies far ahead: that clock is wrong', () => {
    const ahead = (ms: number) => [failed(0, NOW + ms), failed(1, NOW + ms)];

    expect(toldBeside(ahead(300_000))).toBe(`new-runner ${named(ci, 1, 2)}`);
    expect(toldBeside(ahead(299_999))).toBe('backing-off');
    expect(toldBeside(ahead(299_999).slice(0, 1))).toBe('backing-off');
  });

  it('the plan counts the failures, whatever their names: an old job starts with a high ordinal', () => {
    expect(toldBeside([failed(8, NOW - 1_000)])).toBe(`new-runner ${named(ci, 1)}`);
  });

  it('the next job gets the slot of a job that backs off, which itself gets a free runner', () => {
    const liveJobs = [failed(0), failed(1)];

    expect(planScene({ groups: [one], jobs: [job(1), job(2)], liveJobs }).verdicts).toEqual({
      1: 'backing-off',
      2: `new-runner ${named(one, 2)}`,
    });
    expect(toldBeside([...liveJobs, live(named(ci, 9), 'running')], { runners: [row(named(ci, 9))] })).toBe(
      `free-runner ${named(ci, 9)}`,
    );
  });

  it('the plan gives free runners to jobs that back off only as far as the cap goes', () => {
    const idle = [named(one, 8), named(one, 9)];
    const liveJobs = [failed(0), failed(1), ...idle.map((name) => live(name, 'running'))];
    const scene = { groups: [one], jobs: [job(1), job(2)], liveJobs, runners: idle.map((name) => row(name)) };

    expect(planScene(scene).verdicts).toEqual({ 1: 'backing-off', 2: `free-runner ${named(one, 8)}` });
  });

  it('a job goes to its second owner while the first one backs off', () => {
    const web = group({ name: 'web', look: 'repo', scope: 'repo' });
    const liveJobs = [0, 1].map((ordinal) => live(named(web, 1, ordinal), 'failed', { finishedAtMs: NOW }));
    const look = { jobs: [job(1)], runners: [] };

    expect(toldBeside(liveJobs, { groups: [web, ci], looks: { repo: look, acme: look } })).toBe(
      `new-runner ${named(ci, 1)}`,
    );
  });

  it('the planner does not count on an idle runner whose Job is gone, when other Jobs of the group are seen', () => {
    const ghost = named(ci, 1);
    const idle = { jobs: [done(2, named(ci, 2)), job(3)], runners: [row(ghost)] };
    const liveJobs = [live(named(ci, 2), 'complete', { finishedAtMs: NOW })];

    expect(planScene({ ...idle, liveJobs }).verdicts[3]).toBe(`new-runner ${named(ci, 3)}`);
    // Without any Job in sight, this may be another cluster.
    expect(planScene(idle).verdicts[3]).toBe(`free-runner ${ghost}`);
    // A runner at work is never given up because its Job is not seen.
    const busy = { jobs: [running(4, ghost), job(3)], runners: [row(ghost, { busy: true })] };
    expect(planScene({ ...busy, liveJobs }).names).toContain(ghost);
  });

  it('the planner does not take a runner that was lost while it ran a job for one that failed to start', () => {
    expect(toldBeside([failed(1)], { jobs: [job(1), running(2, named(ci, 1, 1))] })).toBe(`new-runner ${named(ci, 1)}`);
  });

  it('the plan takes a name that lives again, because Gitea shows its row online, for alive', () => {
    const jobs = [done(1, named(ci, 1)), job(2)];

    expect(planScene({ jobs, runners: [row(named(ci, 1))] }).verdicts[2]).toBe(`free-runner ${named(ci, 1)}`);
  });
});
