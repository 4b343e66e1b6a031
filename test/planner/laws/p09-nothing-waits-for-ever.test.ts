/** Law P9 (docs/spec.md): nothing waits for ever. Each scene made it necessary. */
import { describe, expect, it } from 'vitest';
import { ORDINALS_SEARCHED } from '../../../src/planner/names.ts';
import { group, job, live, NOW, named, namesIn, row, verdictsIn } from '../../support/scenario.ts';

const ci = group();

describe('P9 nothing waits for ever', () => {
  it('a pod that is on its way is not exchanged for another one, which would be as slow', () => {
    const seen = (ageMs: number) =>
      verdictsIn({ jobs: [job(1)], liveJobs: [live(named(ci, 1), 'starting', { createdAtMs: NOW - ageMs })] });

    expect(seen(310_000)).toEqual({ 1: `own-runner ${named(ci, 1)}` });
    expect(seen(3_599_000)).toEqual({ 1: `own-runner ${named(ci, 1)}` });
    // After an hour its node will not come.
    expect(seen(3_600_000)).toEqual({ 1: `new-runner ${named(ci, 1, 1)}` });
  });

  it('a runner that was started for a job which had waited for hours is known again', () => {
    const old = job(1, { createdAtMs: NOW - 10 * 3_600_000 });
    const [first = ''] = namesIn({ jobs: [old] });

    expect(namesIn({ jobs: [old], liveJobs: [live(first, 'starting')] })).toEqual([first]);
    expect(namesIn({ jobs: [old], liveJobs: [live(first, 'starting')], nowMs: NOW + 200_000 })).toEqual([first]);
  });

  it.each([
    ['a day', 86_400_000],
    ['two thousand years', 2_000 * 31_557_600_000],
  ])('jobs that have waited for %s get few ordinals: what a plan costs does not grow with time', (_, ageMs) => {
    const quick = group({ spawnTimeoutMs: 1_000, maxActiveRunners: 100 });
    const jobs = Array.from({ length: 100 }, (_each, nth) => job(nth + 1, { createdAtMs: NOW - ageMs }));
    const names = namesIn({ groups: [quick], jobs });
    const possible = Array.from({ length: ORDINALS_SEARCHED }, (_each, ordinal) => named(quick, 1, ordinal));

    expect(names).toHaveLength(100);
    expect(possible).toContain(names.find((name) => name.startsWith('ci-1-')));
  });

  it('gives a job a new runner when its own was disabled', () => {
    expect(namesIn({ jobs: [job(1)], runners: [row(named(ci, 1), { disabled: true })] })).toEqual([named(ci, 1, 1)]);
  });

  it('gives a job a new runner when its own is hung: its Job runs, it is offline, and the spawn timeout has passed', () => {
    expect(
      namesIn({
        jobs: [job(1)],
        runners: [row(named(ci, 1), { online: false })],
        liveJobs: [live(named(ci, 1), 'running', { createdAtMs: NOW - 300_000 })],
      }),
    ).toEqual([named(ci, 1, 1)]);
  });

  it('keeps asking for the same name while the runner’s old row is offline', () => {
    expect(namesIn({ jobs: [job(1)], runners: [row(named(ci, 1), { online: false })] })).toEqual([named(ci, 1)]);
  });

  it('gives a job a new runner when its own sleeps: registered, but both have been there for a spawn timeout (Gitea 1.26)', () => {
    const waits = job(1, { createdAtMs: NOW - 3_600_000 });
    const seen = (ageMs: number) =>
      verdictsIn({
        jobs: [waits],
        runners: [row(named(ci, 1))],
        liveJobs: [live(named(ci, 1), 'running', { createdAtMs: NOW - ageMs })],
      })[1];

    expect(seen(299_000)).toBe(`own-runner ${named(ci, 1)}`);
    expect(seen(300_000)).toBe(`new-runner ${named(ci, 1, 1)}`);
  });

  it('does not wait for a Job that is being deleted', () => {
    expect(namesIn({ jobs: [job(1)], liveJobs: [live(named(ci, 1), 'deleting')] })).toEqual([named(ci, 1, 1)]);
  });

  it('gives a job that is queued again after a rerun (same id, Gitea 1.26) a runner of its own', () => {
    expect(namesIn({ jobs: [job(1, { attempt: 1 })], liveJobs: [live(named(ci, 1, 0, 0), 'complete')] })).toEqual([
      named(ci, 1, 0, 1),
    ]);
  });
});
