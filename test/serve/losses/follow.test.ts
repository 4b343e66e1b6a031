/** Law V39 (docs/spec.md): which CI jobs are lost. */
import { describe, expect, it } from 'vitest';
import type { LossReason } from '../../../src/kubernetes/pod-loss.ts';
import type { Job } from '../../../src/plan/evidence.ts';
import { MOST_LOST_JOBS } from '../../../src/runnergroup/status.ts';
import { followLosses, type GroupLosses, NO_LOSSES } from '../../../src/serve/losses/follow.ts';
import type { LiveRunner } from '../../../src/serve/planning/live.ts';
import { done, live, NOW, running } from '../../support/scenario.ts';

const lostRunner = (name: string, loss: LossReason = 'Evicted'): LiveRunner => ({
  job: live(name, 'failed'),
  annotations: {},
  loss,
});
const lookAt = (beganMs: number, ...jobs: readonly Job[]) => ({ found: { jobs, runners: [] }, beganMs });

/** A runner was seen lost at NOW. */
const noticed = (): GroupLosses => followLosses(NO_LOSSES, { runners: [lostRunner('ci-1')], nowMs: NOW }).losses;

describe('a CI job is lost', () => {
  it('when a look that began after the end of its runner shows it in progress', () => {
    const scene = {
      runners: [lostRunner('ci-1')],
      nowMs: NOW + 900,
      look: lookAt(NOW + 500, running(7, 'ci-1'), running(8, 'ci-2')),
    };
    const { losses, found } = followLosses(noticed(), scene);

    const lost = {
      runner: 'ci-1',
      repository: 'acme/web',
      runId: 7,
      jobId: 7,
      attempt: 1,
      reason: 'Evicted',
      lostAt: '2026-11-21T12:00:00Z',
    };
    expect(found).toEqual([lost]);
    expect(losses.lost).toEqual([lost]);
    expect(followLosses(losses, scene).found).toEqual([]);
    expect(followLosses(losses, scene).losses.lost).toBe(losses.lost);
  });

  it('also when Argo CD has removed its Job before that look', () => {
    const before = followLosses(noticed(), { runners: [], nowMs: NOW + 100 }).losses;

    const { found } = followLosses(before, {
      runners: [],
      nowMs: NOW + 900,
      look: lookAt(NOW + 500, running(7, 'ci-1')),
    });

    expect(found.map(({ jobId }) => jobId)).toEqual([7]);
  });
});

describe('a CI job is not lost', () => {
  it('when only a look from before the end shows it in progress: the runner may have reported its end', () => {
    const stale = lookAt(NOW - 1, running(7, 'ci-1'));

    const { losses, found } = followLosses(noticed(), { runners: [lostRunner('ci-1')], nowMs: NOW + 900, look: stale });

    expect(found).toEqual([]);
    expect(losses.suspects.get('ci-1')?.isChecked).toBe(false);
  });

  it('when its runner has reported a failure: that is the author’s', () => {
    const look = lookAt(NOW + 500, done(7, 'ci-1'));
    const after = followLosses(noticed(), { runners: [lostRunner('ci-1', 'OOMKilled')], nowMs: NOW + 900, look });

    // A later job under the same name is not that runner's.
    const later = lookAt(NOW + 9_000, running(9, 'ci-1'));
    const again = followLosses(after.losses, { runners: [lostRunner('ci-1')], nowMs: NOW + 9_900, look: later });

    expect([...after.found, ...again.found]).toEqual([]);
  });

  it('when its runner was idle', () => {
    const look = lookAt(NOW + 500, running(8, 'ci-2'));

    expect(followLosses(noticed(), { runners: [lostRunner('ci-1')], nowMs: NOW + 900, look }).found).toEqual([]);
  });

  it('when its runner lives', () => {
    const runners = [{ job: live('ci-1', 'running'), annotations: {} }];

    const { losses, found } = followLosses(NO_LOSSES, {
      runners,
      nowMs: NOW,
      look: lookAt(NOW + 1, running(7, 'ci-1')),
    });

    expect([losses.lost, found]).toEqual([[], []]);
  });
});

describe('a runner whose node answers again', () => {
  const back: LiveRunner = { job: live('ci-1', 'deleting'), annotations: {}, isBack: true };
  const lost = followLosses(noticed(), {
    runners: [lostRunner('ci-1', 'NodeLost')],
    nowMs: NOW + 900,
    look: lookAt(NOW + 500, running(7, 'ci-1'), running(8, 'ci-2')),
  }).losses;

  it('reports the end of its CI job itself, so that is no longer lost', () => {
    const look = lookAt(NOW + 60_500, running(7, 'ci-1'));

    const { losses, returned } = followLosses(lost, { runners: [back], nowMs: NOW + 61_000, look });

    expect([losses.lost, returned]).toEqual([[], lost.lost]);
  });

  it('is too late for a CI job that Gitea has ended meanwhile', () => {
    const look = lookAt(NOW + 60_500, done(7, 'ci-1'));

    const { losses, returned } = followLosses(lost, { runners: [back], nowMs: NOW + 61_000, look });

    expect([losses.lost, returned]).toEqual([lost.lost, []]);
  });
});

it(`a group notes at most ${MOST_LOST_JOBS} losses, and names the others`, () => {
  const names = Array.from({ length: MOST_LOST_JOBS + 2 }, (_, at) => `ci-${at + 1}`);
  const runners = names.map((name) => lostRunner(name));
  const { losses: before } = followLosses(NO_LOSSES, { runners, nowMs: NOW });

  const look = lookAt(NOW + 500, ...names.map((name, at) => running(at + 1, name)));
  const { losses, found, more } = followLosses(before, { runners, nowMs: NOW + 900, look });

  expect([losses.lost.length, found.length]).toEqual([MOST_LOST_JOBS, MOST_LOST_JOBS]);
  expect(more.map(({ runner }) => runner)).toEqual(names.slice(MOST_LOST_JOBS));
});
