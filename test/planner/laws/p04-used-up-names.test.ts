/** Law P4 (docs/spec.md): a used-up name does not stand for a runner again. Each scene made it necessary. */
import { describe, expect, it } from 'vitest';
import type { Job } from '../../../src/planner/evidence.ts';
import {
  done,
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
  verdicts,
  verdictsIn,
} from '../../support/scenario.ts';

const ci = group();

describe('P4 a used-up name is not emitted again', () => {
  it('takes the next ordinal when the runner of that name has finished a job', () => {
    expect(namesIn({ jobs: [done(1, named(ci, 2)), job(2)], liveJobs: [live(named(ci, 2), 'complete')] })).toEqual([
      named(ci, 2, 1),
    ]);
  });

  it.each(['failed', 'complete'] as const)(
    'takes the next ordinal at once when the first Job is %s without a CI job, and the one after it only after a back-off',
    (state) => {
      const failed = (ordinal: number) =>
        live(named(ci, 1, ordinal), state, { finishedAtMs: NOW - 2_000 + 1_000 * ordinal });
      const first = planScene({ jobs: [job(1)], liveJobs: [failed(0)] });
      const second = planScene({ jobs: [job(1)], liveJobs: [failed(0), failed(1)] });
      const later = planScene({ jobs: [job(1)], liveJobs: [failed(0), failed(1)], nowMs: NOW + 9_000 });

      expect(emittedNames(first)).toEqual([named(ci, 1, 1)]);
      expect(emittedNames(second)).toEqual([]);
      expect(verdicts(second)).toEqual({ 1: 'backing-off' });
      // Both stay to be counted.
      const record = { because: 'back-off-record', pinned: false, skip: true };
      expect(second.runners.filter(({ emit }) => emit)).toMatchObject([record, record]);
      expect(emittedNames(later)).toEqual([named(ci, 1, 2)]);
    },
  );

  it('waits 10 s after the second failure, twice as long after each further one, at most a spawn timeout', () => {
    const waits = (count: number) => {
      const liveJobs = Array.from({ length: count }, (_, nth) =>
        live(named(ci, 1, nth), 'failed', { finishedAtMs: NOW - 1_000 * (count - nth) }),
      );
      const at = (nowMs: number) => verdictsIn({ jobs: [job(1)], liveJobs, nowMs })[1] === 'backing-off';
      return [0, 10, 20, 40, 80, 160, 300].find((seconds) => !at(NOW - 1_000 + seconds * 1_000));
    };

    expect([1, 2, 3, 4, 5, 6, 7, 20].map(waits)).toEqual([0, 10, 20, 40, 80, 160, 300, 300]);
    // From the end of the last one.
    const ends = [5_000, 1_000].map((agoMs, nth) => live(named(ci, 1, nth), 'failed', { finishedAtMs: NOW - agoMs }));
    expect(verdictsIn({ jobs: [job(1)], liveJobs: ends, nowMs: NOW + 8_999 })[1]).toBe('backing-off');
  });

  it('counts from the creation of a Job that does not say when it failed', () => {
    const failed = [0, 1].map((nth) => live(named(ci, 1, nth), 'failed', { createdAtMs: NOW - 9_999 }));

    expect(verdictsIn({ jobs: [job(1)], liveJobs: failed })[1]).toBe('backing-off');
    expect(verdictsIn({ jobs: [job(1)], liveJobs: failed, nowMs: NOW + 1 })[1]).toContain('new-runner');
  });

  it.each(['complete', 'failed'] as const)(
    'does not count runners of the job that ran other jobs and are %s',
    (state) => {
      const names = [0, 1, 2].map((nth) => named(ci, 1, nth));
      const others = names.map((name, nth) => done(10 + nth, name));
      const liveJobs = names.map((name) => live(name, state, { finishedAtMs: NOW - 1_000 }));
      const planned = planScene({ jobs: [job(1), ...others], liveJobs });

      expect(verdicts(planned)[1]).toBe(`new-runner ${named(ci, 1, 3)}`);
      expect(planned.runners.slice(0, 3).map(({ because }) => because)).not.toContain('back-off-record');
    },
  );

  it('does not count a runner of the job that is complete and pinned: it was at work, and its CI job is not listed any more', () => {
    const ended = (ordinal: number) =>
      live(named(ci, 1, ordinal), 'complete', { finishedAtMs: NOW - 1_000, pinned: true });
    const planned = planScene({ jobs: [job(1)], liveJobs: [ended(0), ended(1)] });

    expect(verdicts(planned)[1]).toBe(`new-runner ${named(ci, 1, 2)}`);
    expect(planned.runners.map(({ because }) => because)).not.toContain('back-off-record');
  });

  it('keeps the record of a failure only while this stay of the job waits', () => {
    const liveJobs = [live(named(ci, 1), 'failed', { finishedAtMs: NOW })];
    const becauseOf = (...jobs: Job[]) =>
      planScene({ jobs, liveJobs }).runners.map(({ emit, because }) => [emit, because]);
    const kept = [true, 'back-off-record'];
    const goes = [false, 'failed'];

    expect(becauseOf(job(1))).toContainEqual(kept);
    expect(becauseOf(job(1, { attempt: 2 }))).toContainEqual(goes);
    expect(becauseOf(running(1, 'elsewhere'))).toContainEqual(goes);
    expect(becauseOf()).toContainEqual(goes);
  });

  it('does not take an offline row for a used-up name, also where Kubernetes shows other Jobs', () => {
    expect(
      namesIn({
        jobs: [job(1)],
        runners: [row(named(ci, 1), { online: false })],
        liveJobs: [live(named(ci, 9), 'complete')],
      }),
    ).toEqual([named(ci, 1)]);
  });

  it('does not wait for a failure that lies far ahead: that clock is wrong', () => {
    const ends = [0, 1].map((nth) => live(named(ci, 1, nth), 'failed', { finishedAtMs: NOW + 200_000_000 }));

    expect(verdictsIn({ jobs: [job(1)], liveJobs: ends })[1]).toBe(`new-runner ${named(ci, 1, 2)}`);
    const ahead = (ms: number) => ends.map((end) => ({ ...end, finishedAtMs: NOW + ms }));
    expect(verdictsIn({ jobs: [job(1)], liveJobs: ahead(300_000) })[1]).toContain('new-runner');
    expect(verdictsIn({ jobs: [job(1)], liveJobs: ahead(299_999) })[1]).toBe('backing-off');
    expect(verdictsIn({ jobs: [job(1)], liveJobs: ahead(299_999).slice(0, 1) })[1]).toBe('backing-off');
  });

  it('counts the failures, whatever their names: an old job starts with a high ordinal', () => {
    const failed = live(named(ci, 1, 8), 'failed', { finishedAtMs: NOW - 1_000 });

    expect(verdictsIn({ jobs: [job(1)], liveJobs: [failed] })).toEqual({ 1: `new-runner ${named(ci, 1)}` });
  });

  it('gives the slot of a job that backs off to the next one, and a free runner to the job', () => {
    const one = group({ maxActiveRunners: 1 });
    const liveJobs = [0, 1].map((ordinal) => live(named(one, 1, ordinal), 'failed', { finishedAtMs: NOW }));

    expect(verdictsIn({ groups: [one], jobs: [job(1), job(2)], liveJobs })).toEqual({
      1: 'backing-off',
      2: `new-runner ${named(one, 2)}`,
    });
    const withFree = [...liveJobs, live(named(ci, 9), 'running')];
    expect(verdictsIn({ jobs: [job(1)], liveJobs: withFree, runners: [row(named(ci, 9))] })).toEqual({
      1: `free-runner ${named(ci, 9)}`,
    });
  });

  it('passes a job whose first owner backs off on to the next one', () => {
    const web = group({ name: 'web', look: 'repo', scope: 'repo' });
    const liveJobs = [0, 1].map((ordinal) => live(named(web, 1, ordinal), 'failed', { finishedAtMs: NOW }));
    const look = { jobs: [job(1)], runners: [] };

    expect(verdictsIn({ groups: [web, ci], looks: { repo: look, acme: look }, liveJobs })).toEqual({
      1: `new-runner ${named(ci, 1)}`,
    });
  });

  it('gives free runners to jobs that back off only as far as the cap goes', () => {
    const one = group({ maxActiveRunners: 1 });

    expect(
      verdictsIn({
        groups: [one],
        jobs: [job(1), job(2)],
        liveJobs: [
          live(named(one, 1, 0), 'failed', { finishedAtMs: NOW }),
          live(named(one, 1, 1), 'failed', { finishedAtMs: NOW }),
          live(named(one, 8), 'running'),
          live(named(one, 9), 'running'),
        ],
        runners: [row(named(one, 8)), row(named(one, 9))],
      }),
    ).toEqual({ 1: 'backing-off', 2: `free-runner ${named(one, 8)}` });
  });

  it('does not count on an idle runner whose Job is gone, when other Jobs of the group are seen', () => {
    const ghost = named(ci, 1);
    const jobs = [done(2, named(ci, 2)), job(3)];
    const used = live(named(ci, 2), 'complete', { finishedAtMs: NOW });

    expect(verdictsIn({ jobs, runners: [row(ghost)], liveJobs: [used] })[3]).toBe(`new-runner ${named(ci, 3)}`);
    // Without any Job in sight this cluster may be another one.
    expect(verdictsIn({ jobs, runners: [row(ghost)] })[3]).toBe(`free-runner ${ghost}`);
    // A runner that works is never given up for what is not seen.
    const busy = planScene({
      jobs: [running(4, ghost), job(3)],
      runners: [row(ghost, { busy: true })],
      liveJobs: [used],
    });
    expect(emittedNames(busy)).toContain(ghost);
  });

  it('does not take a runner that was lost while it ran a job for one that failed to start', () => {
    const lost = named(ci, 1, 1);

    expect(
      verdictsIn({
        jobs: [job(1), running(2, lost)],
        liveJobs: [live(lost, 'failed', { finishedAtMs: NOW })],
      })[1],
    ).toBe(`new-runner ${named(ci, 1)}`);
  });

  it('takes a name that lives again, because Gitea shows its row online, for alive', () => {
    expect(verdictsIn({ jobs: [done(1, named(ci, 1)), job(2)], runners: [row(named(ci, 1))] })[2]).toBe(
      `free-runner ${named(ci, 1)}`,
    );
  });
});
