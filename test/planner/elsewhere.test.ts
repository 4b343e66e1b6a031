/** P11: jobs for which a runner of another Application is there (src/planner/assign.ts). */
import { describe, expect, it } from 'vitest';
import type { LiveJob } from '../../src/planner/evidence.ts';
import {
  emittedNames,
  group,
  job,
  live,
  NOW,
  named,
  namesIn,
  ORIGIN,
  planScene,
  row,
  running,
  verdicts,
  verdictsIn,
} from '../support/scenario.ts';

const ci = group();
/** A group of another Application that covers the same jobs: this plan does not know it. */
const theirs = group({ name: 'team-b' });
const printed = (name: string, over: Partial<LiveJob> = {}): LiveJob =>
  live(name, 'starting', { jobUrl: job(1).url, giteaUrl: ORIGIN, ...over });

describe('a Job of another Application was printed for the job', () => {
  it.each(['starting', 'running', 'unknown'] as const)('and is %s: no second runner', (state) => {
    const planned = planScene({ jobs: [job(1), job(2)], liveJobs: [printed(named(theirs, 1), { state })] });

    expect(verdicts(planned)).toMatchObject({ 1: 'served-elsewhere' });
    expect(emittedNames(planned)).toEqual([named(ci, 2)]);
    expect(planned.jobs[0]).toMatchObject({ runner: named(theirs, 1) });
  });

  it("whatever job is in its name: runners take each other's jobs", () => {
    expect(verdictsIn({ jobs: [job(1)], liveJobs: [printed(named(theirs, 9))] })).toEqual({ 1: 'served-elsewhere' });
  });

  it.each<[string, Partial<LiveJob>]>([
    ['has ended', { state: 'complete' }],
    ['failed', { state: 'failed' }],
    ['is being deleted', { state: 'deleting' }],
    ['is pinned: it works', { pinned: true }],
    ['was printed for another job', { jobUrl: job(2).url }],
    ['names no job', { jobUrl: '' }],
    ['its pod is made for another Gitea', { giteaUrl: 'https://evil.example.com' }],
    ['its pod does not tell its Gitea', { giteaUrl: '' }],
  ])('but %s: the job gets one of ours', (_, over) => {
    expect(planScene({ jobs: [job(1)], liveJobs: [printed(named(theirs, 1), over)] }).jobs).toMatchObject([
      { verdict: 'served', by: 'new-runner' },
    ]);
  });

  it('but the job has been ready for twelve spawn timeouts: it gets one of ours, however young that Job is', () => {
    const verdictAt = (readyMs: number) =>
      verdictsIn({
        jobs: [job(1, { createdAtMs: NOW - readyMs })],
        liveJobs: [printed(named(theirs, 1), { createdAtMs: NOW })],
      });

    expect(verdictAt(3_599_999)).toEqual({ 1: 'served-elsewhere' });
    expect(verdictAt(3_600_000)).toEqual({ 1: expect.stringMatching(/^new-runner ci-1-/) });
  });

  it('and runs for longer, but the job has been ready for a moment only: it has a spawn timeout from then on', () => {
    const runs = printed(named(theirs, 1), { state: 'running', createdAtMs: NOW - 900_000 });

    expect(verdictsIn({ jobs: [job(1)], liveJobs: [runs] })).toEqual({ 1: 'served-elsewhere' });
  });

  it('and its pod is on its way: it has twelve spawn timeouts, and one once it is stuck', () => {
    const verdictOf = (waitsMs: number, over: Partial<LiveJob> = {}) => {
      const late = printed(named(theirs, 1), { createdAtMs: NOW - waitsMs, ...over });
      return verdictsIn({ jobs: [job(1, { createdAtMs: NOW - 600_000 })], liveJobs: [late] })[1];
    };
    const stuck = { trouble: { reason: 'Unschedulable' } };

    expect(verdictOf(300_000)).toBe('served-elsewhere');
    expect(verdictOf(299_999, stuck)).toBe('served-elsewhere');
    expect(verdictOf(300_000, stuck)).toContain('new-runner');
  });

  it('but it works on another job already', () => {
    expect(
      namesIn({
        jobs: [job(1), running(2, named(theirs, 1))],
        liveJobs: [printed(named(theirs, 1), { state: 'running' })],
      }),
    ).toEqual([named(ci, 1)]);
  });

  it.each([
    ['starting', { liveJobs: [printed(named(theirs, 1)), printed(named(ci, 1))] }],
    [
      'registered',
      { liveJobs: [printed(named(theirs, 1)), live(named(ci, 1), 'running')], runners: [row(named(ci, 1))] },
    ],
  ])('but one of ours is there, too, and %s: both stay, because the other Application may leave its own', (_, seen) => {
    const kept = planScene({ jobs: [job(1)], ...seen });

    expect(kept.jobs).toMatchObject([{ verdict: 'served', runner: named(ci, 1) }]);
    expect(emittedNames(kept)).toEqual([named(ci, 1)]);
  });

  it('and the chain would ask for one that nobody sees: none', () => {
    const one = group({ name: 'one', look: 'acme' });
    const two = group({ name: 'two', look: 'acme', labels: ['linux', 'gpu'] });

    expect(
      verdictsIn({
        groups: [one, two],
        jobs: [job(1), running(2, named(two, 1))],
        liveJobs: [printed(named(theirs, 1)), live(named(two, 1), 'running')],
      }),
    ).toMatchObject({ 1: 'served-elsewhere' });
  });

  it('but a free one of ours is left over: it takes the job', () => {
    const liveJobs = [printed(named(theirs, 1)), live(named(ci, 9), 'starting')];

    expect(namesIn({ jobs: [job(1)], liveJobs })).toEqual([named(ci, 9)]);
  });

  it('and the cap is reached: the slot goes to the next job', () => {
    const one = group({ maxActiveRunners: 1 });

    expect(verdictsIn({ groups: [one], jobs: [job(1), job(2)], liveJobs: [printed(named(theirs, 1))] })).toEqual({
      1: 'served-elsewhere',
      2: `new-runner ${named(one, 2)}`,
    });
  });

  it('and for the next one, too: the slot goes to the one after that', () => {
    const one = group({ maxActiveRunners: 1 });
    const liveJobs = [printed(named(theirs, 1)), printed(named(theirs, 2), { jobUrl: job(2).url })];

    expect(verdictsIn({ groups: [one], jobs: [job(1), job(2), job(3)], liveJobs })).toEqual({
      1: 'served-elsewhere',
      2: 'served-elsewhere',
      3: `new-runner ${named(one, 3)}`,
    });
  });

  it('for a job of that number on another Gitea', () => {
    const two = group({ origin: 'https://two.example.com' });
    const other = job(1, { url: 'https://two.example.com/acme/web/actions/runs/1' });

    expect(namesIn({ groups: [two], jobs: [other], liveJobs: [printed(named(theirs, 1))] })).toEqual([named(two, 1)]);
  });

  it('for no job in particular, and Gitea does not say the page of the job', () => {
    expect(namesIn({ jobs: [job(1, { url: '' })], liveJobs: [printed(named(theirs, 1), { jobUrl: '' })] })).toEqual([
      named(ci, 1),
    ]);
  });

  it('for a job that no group of ours covers: that is what is told', () => {
    expect(verdictsIn({ jobs: [job(1, { labels: ['mainframe'] })], liveJobs: [printed(named(theirs, 1))] })).toEqual({
      1: 'labels-not-covered',
    });
  });
});

it('a Job of another Application counts, one of this Application whose group is gone does not', () => {
  const verdictWith = (application: string) =>
    verdictsIn({
      jobs: [job(1)],
      liveJobs: [printed(named(theirs, 1), { application })],
      application: 'mine',
    })[1];

  expect(verdictWith('other')).toBe('served-elsewhere');
  expect(verdictWith('mine')).toContain('new-runner');
});

describe('several Jobs of other Applications were printed for the job', () => {
  const orders = (one: LiveJob, two: LiveJob) =>
    [
      [one, two],
      [two, one],
    ].map((liveJobs) => planScene({ jobs: [job(1)], liveJobs }).jobs);

  it('the youngest counts: it may still come when the others do not', () => {
    const [old, young] = [named(theirs, 1), named(theirs, 1, 1)];
    const stuck = printed(old, { trouble: { reason: 'ImagePullBackOff' }, createdAtMs: NOW - 400_000 });

    for (const [planned] of orders(stuck, printed(young))) {
      expect(planned).toMatchObject({ because: 'served-elsewhere', runner: young });
    }
  });

  it('of the same second: the same one in whatever order Kubernetes lists them', () => {
    const [one, other] = orders(printed(named(theirs, 1)), printed(named(theirs, 1, 1)));

    expect(one).toEqual(other);
  });
});

describe('Gitea lists an idle runner of our form that was made for the job', () => {
  it('but no Job: anybody may have registered it under that name, so the job gets one of ours', () => {
    expect(namesIn({ jobs: [job(1)], runners: [row(named(theirs, 1))] })).toEqual([named(ci, 1)]);
  });
});
