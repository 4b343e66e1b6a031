/** Law P8 (docs/spec.md): time alone changes nothing but at a spawn timeout. Each scene made it necessary. */
import { describe, expect, it } from 'vitest';
import type { LiveJob } from '../../../src/planner/evidence.ts';
import { done, group, job, live, NOW, named, namesIn, row, verdictsIn } from '../../support/scenario.ts';

const ci = group();

describe('P8 time alone changes nothing but at a spawn timeout', () => {
  it('takes the next name when a runner has not come for a spawn timeout, and again after twice as long each time', () => {
    const at = (seconds: number) => namesIn({ jobs: [job(1, { createdAtMs: NOW })], nowMs: NOW + seconds * 1000 });

    expect(at(0)).toEqual([named(ci, 1, 0)]);
    expect(at(299)).toEqual([named(ci, 1, 0)]);
    expect(at(300)).toEqual([named(ci, 1, 1)]);
    expect(at(899)).toEqual([named(ci, 1, 1)]);
    expect(at(900)).toEqual([named(ci, 1, 2)]);
    expect(at(2100)).toEqual([named(ci, 1, 3)]);
  });

  it('counts from when the job came within the cap, not from its creation', () => {
    const one = group({ maxActiveRunners: 1 });
    const old = { createdAtMs: NOW - 3_600_000 };

    expect(namesIn({ groups: [one], jobs: [done(1, named(one, 1), old), job(2, old)] })).toEqual([named(one, 2)]);
  });

  it('counts from the end that freed its own slot, not from a later one', () => {
    const two = group({ maxActiveRunners: 2 });
    const old = { createdAtMs: NOW - 3_600_000 };
    const begun = { ...old, startedAtMs: NOW - 3_590_000 };
    const jobs = [
      done(1, named(two, 1), { ...begun, completedAtMs: NOW - 400_000 }),
      done(2, named(two, 2), { ...begun, completedAtMs: NOW - 1_000 }),
      job(3, old),
      job(4, old),
    ];

    expect(namesIn({ groups: [two], jobs })).toEqual([named(two, 3, 1), named(two, 4, 0)]);
  });

  it('counts from the end of the job that it needed', () => {
    const old = { createdAtMs: NOW - 3_600_000, runId: 9 };

    expect(namesIn({ jobs: [done(1, 'elsewhere', old), job(2, old)] })).toEqual([named(ci, 2)]);
  });

  it('counts from what Kubernetes shows of the pod', () => {
    const oldJob = job(1, { createdAtMs: NOW - 3_600_000 });
    const seen = (state: LiveJob['state'], ageMs: number, over: Partial<LiveJob> = {}) =>
      verdictsIn({ jobs: [oldJob], liveJobs: [live(named(ci, 1), state, { createdAtMs: NOW - ageMs, ...over })] })[1];
    const own = `own-runner ${named(ci, 1)}`;
    const next = `new-runner ${named(ci, 1, 1)}`;

    // Its container runs, and it does not register.
    expect(seen('running', 299_000)).toBe(own);
    expect(seen('running', 300_000)).toBe(next);
    expect(seen('running', 400_000, { runningSinceMs: NOW - 299_000 })).toBe(own);
    expect(seen('running', 400_000, { runningSinceMs: NOW - 300_000 })).toBe(next);
    // An image that cannot be pulled: the next pod would be as stuck.
    const trouble = { reason: 'ImagePullBackOff' };
    expect(seen('starting', 3_599_000, { trouble })).toBe(own);
    expect(seen('starting', 3_600_000, { trouble })).toBe(next);
  });

  it('keeps the same one of two registered runners of a job, in whatever order Gitea lists them', () => {
    const runners = [row(named(ci, 1, 0)), row(named(ci, 1, 1), { id: 2 })];
    const kept = verdictsIn({ jobs: [job(1)], runners });

    expect(verdictsIn({ jobs: [job(1)], runners: runners.toReversed() })).toEqual(kept);
  });

  it('gives a job the same one of two free runners, in whatever order Gitea lists them', () => {
    const runners = [row(named(ci, 8)), row(named(ci, 9), { id: 2 })];
    const given = verdictsIn({ jobs: [job(1)], runners });

    expect(verdictsIn({ jobs: [job(1)], runners: runners.toReversed() })).toEqual(given);
  });

  it('is not upset by a Gitea whose clock is ahead', () => {
    expect(namesIn({ jobs: [job(1, { createdAtMs: NOW + 900_000 })] })).toEqual([named(ci, 1)]);
  });
});
