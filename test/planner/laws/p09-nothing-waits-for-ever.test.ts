/** Law P9 (docs/spec.md): nothing waits for ever. Each scene made it necessary. */
import { describe, expect, it } from 'vitest';
import type { LiveJob } from '../../../src/planner/evidence.ts';
import { ORDINALS_SEARCHED } from '../../../src/planner/names.ts';
import { group, job, live, NOW, named, planScene, row, type Scene } from '../../support/scenario.ts';

const ci = group();

describe('P9 nothing waits for ever', () => {
  it('a pod that is on its way, or stuck, is not exchanged within an hour for another one, which would be as slow', () => {
    const seen = (
      state: LiveJob['state'],
      ageMs: number,
      over: Partial<LiveJob> = {},
      runners: Scene['runners'] = [],
    ) =>
      planScene({
        jobs: [job(1, { createdAtMs: NOW - 3_600_000 })],
        runners,
        liveJobs: [live(named(ci, 1), state, { createdAtMs: NOW - ageMs, ...over })],
      }).verdicts[1];
    const own = `own-runner ${named(ci, 1)}`;
    const next = `new-runner ${named(ci, 1, 1)}`;

    for (const over of [{}, { trouble: { reason: 'ImagePullBackOff' } }]) {
      expect(seen('starting', 310_000, over)).toBe(own);
      expect(seen('starting', 3_599_000, over)).toBe(own);
      expect(seen('starting', 3_600_000, over)).toBe(next);
    }
    // Its container runs, and it does not register within a spawn timeout: it hangs.
    expect(seen('running', 299_000)).toBe(own);
    expect(seen('running', 300_000)).toBe(next);
    expect(seen('running', 300_000, {}, [row(named(ci, 1), { online: false })])).toBe(next);
    expect(seen('running', 400_000, { runningSinceMs: NOW - 299_000 })).toBe(own);
    expect(seen('running', 400_000, { runningSinceMs: NOW - 300_000 })).toBe(next);
  });

  it('a runner that was started for a job which had waited for hours is known again', () => {
    const old = job(1, { createdAtMs: NOW - 10 * 3_600_000 });
    const [first = ''] = planScene({ jobs: [old] }).names;

    expect(planScene({ jobs: [old], liveJobs: [live(first, 'starting')] }).names).toEqual([first]);
    expect(planScene({ jobs: [old], liveJobs: [live(first, 'starting')], nowMs: NOW + 200_000 }).names).toEqual([
      first,
    ]);
  });

  it.each([
    ['a day', 86_400_000],
    ['two thousand years', 2_000 * 31_557_600_000],
  ])('jobs that have waited for %s get few ordinals: what a plan costs does not grow with time', (_, ageMs) => {
    const quick = group({ spawnTimeoutMs: 1_000, maxActiveRunners: 100 });
    const jobs = Array.from({ length: 100 }, (_each, nth) => job(nth + 1, { createdAtMs: NOW - ageMs }));
    const names = planScene({ groups: [quick], jobs }).names;
    const possible = Array.from({ length: ORDINALS_SEARCHED }, (_each, ordinal) => named(quick, 1, ordinal));

    expect(names).toHaveLength(100);
    expect(possible).toContain(names.find((name) => name.startsWith('ci-1-')));
  });

  it('the plan gives a job a new runner when its own was disabled', () => {
    expect(planScene({ jobs: [job(1)], runners: [row(named(ci, 1), { disabled: true })] }).names).toEqual([
      named(ci, 1, 1),
    ]);
  });

  it('the plan gives a job a new runner when its own sleeps: registered, but both have been there for a spawn timeout (Gitea 1.26)', () => {
    const waits = job(1, { createdAtMs: NOW - 3_600_000 });
    const seen = (ageMs: number) =>
      planScene({
        jobs: [waits],
        runners: [row(named(ci, 1))],
        liveJobs: [live(named(ci, 1), 'running', { createdAtMs: NOW - ageMs })],
      }).verdicts[1];

    expect(seen(299_000)).toBe(`own-runner ${named(ci, 1)}`);
    expect(seen(300_000)).toBe(`new-runner ${named(ci, 1, 1)}`);
  });

  it('the planner does not wait for a Job that is being deleted', () => {
    expect(planScene({ jobs: [job(1)], liveJobs: [live(named(ci, 1), 'deleting')] }).names).toEqual([named(ci, 1, 1)]);
  });

  it('the plan gives a job that is queued again after a rerun (same id, Gitea 1.26) a runner of its own', () => {
    expect(
      planScene({ jobs: [job(1, { attempt: 1 })], liveJobs: [live(named(ci, 1, 0, 0), 'complete')] }).names,
    ).toEqual([named(ci, 1, 0, 1)]);
  });
});
