/** Law P8 (docs/spec.md): time alone changes nothing but at a spawn timeout. Each scene made it necessary. */
import { describe, expect, it } from 'vitest';
import { done, group, job, NOW, named, planScene, row } from '../../support/scenario.ts';

const ci = group();

describe('P8 time alone changes nothing but at a spawn timeout', () => {
  it('the plan takes the next name when a runner has not come for a spawn timeout, and again after twice as long each time', () => {
    const at = (seconds: number) =>
      planScene({ jobs: [job(1, { createdAtMs: NOW })], nowMs: NOW + seconds * 1000 }).names;

    const ordinals = [0, 0, 1, 1, 2, 3];
    expect([0, 299, 300, 899, 900, 2100].map(at)).toEqual(ordinals.map((ordinal) => [named(ci, 1, ordinal)]));
  });

  it('the plan counts from when the job came within the cap, not from its creation', () => {
    const one = group({ maxActiveRunners: 1 });
    const old = { createdAtMs: NOW - 3_600_000 };

    expect(planScene({ groups: [one], jobs: [done(1, named(one, 1), old), job(2, old)] }).names).toEqual([
      named(one, 2),
    ]);
  });

  it('the plan counts from the end that freed its own slot, not from a later one', () => {
    const two = group({ maxActiveRunners: 2 });
    const old = { createdAtMs: NOW - 3_600_000 };
    const begun = { ...old, startedAtMs: NOW - 3_590_000 };
    const jobs = [
      done(1, named(two, 1), { ...begun, completedAtMs: NOW - 400_000 }),
      done(2, named(two, 2), { ...begun, completedAtMs: NOW - 1_000 }),
      job(3, old),
      job(4, old),
    ];

    expect(planScene({ groups: [two], jobs }).names).toEqual([named(two, 3, 1), named(two, 4, 0)]);
  });

  it('the plan counts from the end of the job that it needed', () => {
    const old = { createdAtMs: NOW - 3_600_000, runId: 9 };

    expect(planScene({ jobs: [done(1, 'elsewhere', old), job(2, old)] }).names).toEqual([named(ci, 2)]);
  });

  it('the plan gives a job the same one of two runners, its own or free ones, in whatever order Gitea lists them', () => {
    for (const names of [
      [named(ci, 1, 0), named(ci, 1, 1)],
      [named(ci, 8), named(ci, 9)],
    ]) {
      const runners = names.map((name, nth) => row(name, { id: nth + 1 }));
      const given = planScene({ jobs: [job(1)], runners }).verdicts;

      expect(planScene({ jobs: [job(1)], runners: runners.toReversed() }).verdicts).toEqual(given);
    }
  });

  it('the planner is not upset by a Gitea whose clock is ahead', () => {
    expect(planScene({ jobs: [job(1, { createdAtMs: NOW + 900_000 })] }).names).toEqual([named(ci, 1)]);
  });
});
