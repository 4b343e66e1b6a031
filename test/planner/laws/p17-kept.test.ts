/** Law P17 (docs/spec.md): a runner whose CI job failed stays for a look, for as long as its group says, with a place under the cap. */
import { describe, expect, it } from 'vitest';
import type { Job, LiveJob } from '../../../src/planner/evidence.ts';
import {
  done,
  group,
  job,
  live,
  NOW,
  named,
  planScene,
  row,
  running,
  type Scene,
  verdicts,
  verdictsIn,
} from '../../support/scenario.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const ci = group({ maxActiveRunners: 1, keepFailedMs: 20 * MINUTE });
const name = named(ci, 1);
const FAILED = NOW - 2 * MINUTE;
const failed = (over: Partial<Job> = {}): Job =>
  done(1, name, { startedAtMs: FAILED - 5_000, completedAtMs: FAILED, conclusion: 'failure', ...over });
const waiting = (over: Partial<LiveJob> = {}): LiveJob =>
  live(name, 'running', { createdAtMs: FAILED - MINUTE, pinned: true, ...over });
/** As it stands in the cluster after the first sync. */
const printed = { endedAtMs: FAILED, keepUntilMs: FAILED + 20 * MINUTE };
const decided = (scene: Scene) => planScene({ groups: [ci], ...scene }).runners;

describe('P17 a runner whose CI job failed', () => {
  it('stays, pinned, and says since when and until when', () => {
    expect(decided({ jobs: [failed()], liveJobs: [waiting()] })).toStrictEqual([
      {
        emit: true,
        runner: name,
        group: { namespace: 'runners', name: 'ci' },
        because: 'debugging',
        pinned: true,
        job: failed(),
        keep: { endedAtMs: FAILED, untilMs: FAILED + 20 * MINUTE },
      },
    ]);
  });

  it('is not created again once its Job says so', () => {
    const skipped = (over: Partial<LiveJob>) =>
      decided({ jobs: [failed()], liveJobs: [waiting(over)] }).map((each) => each.emit && each.skip === true);

    expect(skipped({})).toEqual([false]);
    expect(skipped(printed)).toEqual([true]);
    expect(skipped({ ...printed, pinned: false })).toEqual([false]);
    // Somebody has changed it.
    expect(skipped({ ...printed, endedAtMs: NOW + 60 * MINUTE })).toEqual([false]);
    expect(skipped({ ...printed, extendUntilMs: NOW + 60 * MINUTE })).toEqual([false]);
  });

  it('stays when Kubernetes does not know the state of its pod', () => {
    expect(decided({ jobs: [failed()], liveJobs: [waiting({ state: 'unknown' })] })).toMatchObject([
      { because: 'debugging' },
    ]);
  });

  it('stays although the kubelet has not told yet that its pod runs', () => {
    const justFailed = failed({ startedAtMs: NOW - 1_500, completedAtMs: NOW - 500 });
    const late = live(name, 'starting', { createdAtMs: NOW - 4_000 });

    expect(decided({ jobs: [justFailed], liveJobs: [late], listedAtMs: NOW - 400 })).toMatchObject([
      { emit: true, runner: name, because: 'debugging', pinned: true },
    ]);
  });

  it('is not a second pod under its name, which has not started', () => {
    const second = live(name, 'starting', { createdAtMs: NOW - 4_000 });

    expect(decided({ jobs: [failed()], liveJobs: [second], listedAtMs: NOW })).not.toMatchObject([
      { because: 'debugging' },
    ]);
  });

  it('is no pinned Job whose pod has not started: nothing has failed there', () => {
    const again = live(name, 'starting', { pinned: true });

    expect(decided({ jobs: [job(2)], liveJobs: [again] })).toMatchObject([{ because: 'free-runner' }]);
  });

  it('is none that Gitea shows online and idle: that one takes the next job', () => {
    expect(verdictsIn({ groups: [ci], jobs: [failed(), job(2)], runners: [row(name)], liveJobs: [waiting()] })[2]).toBe(
      `free-runner ${name}`,
    );
  });

  it('takes a place under the cap, and is counted', () => {
    const planned = planScene({ groups: [ci], jobs: [failed(), job(2)], liveJobs: [waiting()] });

    expect(verdicts(planned)).toEqual({ 1: 'done', 2: 'cap' });
    expect(planned.groups).toMatchObject([{ busy: 0, waiting: 0, debugging: 1, held: 1 }]);
  });

  it('stays when Gitea has forgotten its CI job, e.g. because somebody has run it again', () => {
    const again = job(1, { attempt: 2 });

    expect(
      planScene({
        groups: [group({ ...ci, maxActiveRunners: 2 })],
        jobs: [again],
        liveJobs: [waiting(printed)],
      }).runners,
    ).toMatchObject([
      { because: 'debugging', runner: name },
      { because: 'new-runner', runner: named(ci, 1, 0, 2) },
    ]);
  });

  it('stays when Gitea has forgotten its CI job before we knew its end: a pin says that it worked', () => {
    const forgotten = (over: Partial<LiveJob>, runners: Scene['runners'] = []) =>
      decided({ jobs: [job(2)], runners, liveJobs: [waiting(over)] })[0];

    expect(forgotten({})).toMatchObject({ because: 'debugging', keep: { endedAtMs: NOW } });
    expect(forgotten({ pinned: false })).toMatchObject({ because: 'free-runner' });
    expect(forgotten({})).not.toHaveProperty('job');
    expect(forgotten({}, [row(name)])).toMatchObject({ because: 'finishing' });
    expect(forgotten({}, [row(name, { online: false })])).toMatchObject({ because: 'free-runner' });
  });

  it('stays when nothing tells that it worked but this: it has run for 90 s, and Gitea lists others of its group only', () => {
    const becauseOf = (seconds: number, ...runners: NonNullable<Scene['runners']>) => {
      const liveJobs = [waiting({ pinned: false, runningSinceMs: NOW - seconds * 1000 })];
      return decided({ jobs: [job(2)], runners, liveJobs }).find(({ runner }) => runner === name)?.because;
    };
    const other = row(named(ci, 9));

    expect(becauseOf(91, other)).toBe('debugging');
    expect(becauseOf(90, other)).toBe('free-runner');
    expect(becauseOf(91)).toBe('free-runner');
    expect(becauseOf(91, other, row(name, { online: false }))).toBe('free-runner');
  });

  it.each<[string, Scene]>([
    ['has ended by itself', { jobs: [failed()], liveJobs: [waiting({ state: 'complete' })] }],
    ['is being deleted', { jobs: [failed()], liveJobs: [waiting({ state: 'deleting' })] }],
    ['is not seen', { jobs: [failed()], liveJobs: [live(named(ci, 9), 'complete')] }],
    ['succeeded', { jobs: [done(1, name, { completedAtMs: NOW - 1_000 })], liveJobs: [waiting()] }],
    ['is of a group that keeps none', { groups: [group()], jobs: [failed()], liveJobs: [waiting()] }],
  ])('does not stay when its pod %s', (_, scene) => {
    expect(planScene({ groups: [ci], ...scene }).runners.map(({ because }) => because)).not.toContain('debugging');
  });

  it('is not printed once more, to lose its pin, when its pod has ended: the Job goes', () => {
    const over = { ...printed, state: 'complete' } as const;

    expect(decided({ groups: [group()], jobs: [failed()], liveJobs: [waiting(over)] })).toMatchObject([
      { emit: false, because: 'used-up' },
    ]);
  });

  it('is at work as long as Gitea says so', () => {
    const again = running(1, name, { startedAtMs: NOW - 1_000 });
    const busy = [row(name, { busy: true })];

    expect(decided({ jobs: [again], liveJobs: [waiting(printed)] })).toMatchObject([{ because: 'busy' }]);
    expect(decided({ jobs: [failed(), job(2)], runners: busy, liveJobs: [waiting()] })).toMatchObject([
      { because: 'finishing' },
    ]);
  });
});

describe('P17 the time of a runner that stays', () => {
  const untilOf = (over: Partial<LiveJob>) =>
    decided({ jobs: [failed()], liveJobs: [waiting({ ...printed, ...over })] }).map((each) => each.emit && each.keep);

  it('can be extended, up to 24 hours after the failure', () => {
    const untilMs = FAILED + 3 * 60 * MINUTE;

    expect(untilOf({ extendUntilMs: untilMs })).toEqual([{ endedAtMs: FAILED, untilMs }]);
    expect(untilOf({ extendUntilMs: FAILED + DAY })).toEqual([{ endedAtMs: FAILED, untilMs: FAILED + DAY }]);
    expect(untilOf({ extendUntilMs: Date.UTC(9999, 0, 1) })).toEqual([
      { endedAtMs: FAILED, untilMs: FAILED + DAY, extension: 'too-long' },
    ]);
  });

  it('is not shortened by an earlier time, nor by what is no time', () => {
    const untilMs = FAILED + 20 * MINUTE;

    expect(untilOf({ extendUntilMs: NOW })).toEqual([{ endedAtMs: FAILED, untilMs }]);
    expect(untilOf({ extendUntilMs: 'unreadable' })).toEqual([{ endedAtMs: FAILED, untilMs, extension: 'unreadable' }]);
  });

  it('does not begin in the future, whatever somebody has written: only clocks may be a minute apart', () => {
    expect(untilOf({ endedAtMs: NOW + MINUTE })).toMatchObject([{ endedAtMs: NOW + MINUTE }]);
    expect(untilOf({ endedAtMs: NOW + MINUTE + 1_000 })).toMatchObject([{ endedAtMs: FAILED }]);
    expect(untilOf({ endedAtMs: NOW + 60 * MINUTE })).toEqual([{ endedAtMs: FAILED, untilMs: FAILED + 20 * MINUTE }]);
  });

  it('follows its group: with a new value all that stay have it', () => {
    const longer = group({ ...ci, keepFailedMs: 60 * MINUTE });

    expect(planScene({ groups: [longer], liveJobs: [waiting(printed)] }).runners).toMatchObject([
      { because: 'debugging', keep: { untilMs: FAILED + 60 * MINUTE } },
    ]);
  });

  it('is over to the second: the pin goes, then the Job, and the place is free', () => {
    const at = (nowMs: number, over: Partial<LiveJob> = {}) =>
      planScene({ groups: [ci], jobs: [job(2)], liveJobs: [waiting({ ...printed, ...over })], nowMs });
    const untilMs = printed.keepUntilMs;

    expect(at(untilMs - 1).runners).toMatchObject([{ because: 'debugging' }]);
    expect(at(untilMs).runners).toMatchObject([
      { emit: true, runner: name, because: 'unpinning', pinned: false },
      { because: 'new-runner' },
    ]);
    expect(at(untilMs, { pinned: false }).runners).toMatchObject([
      { emit: false, runner: name, because: 'used-up' },
      { because: 'new-runner' },
    ]);
  });

  it('ends at once when its group keeps none any more', () => {
    expect(planScene({ groups: [group()], jobs: [failed()], liveJobs: [waiting(printed)] }).runners).toMatchObject([
      { because: 'unpinning', pinned: false },
    ]);
  });
});

describe('P17 a pod that waits although its CI job did not fail', () => {
  const cancelled = (agoMs: number) => done(1, name, { completedAtMs: NOW - agoMs });

  it('loses its pin 15 s after the end of its CI job: until then it may end by itself', () => {
    const decisionAfter = (agoMs: number) =>
      decided({ jobs: [cancelled(agoMs)], liveJobs: [waiting()] }).map(({ because }) => because);

    expect(decisionAfter(15_000)).toEqual(['used-up']);
    expect(decisionAfter(15_001)).toEqual(['unpinning']);
  });

  it('is known by its annotations from then on, also when Gitea has forgotten its CI job', () => {
    const [unpinned] = decided({ jobs: [cancelled(20_000)], liveJobs: [waiting()] });
    const keep = { endedAtMs: NOW - 20_000, untilMs: NOW - 20_000 };
    const annotated = { endedAtMs: keep.endedAtMs, keepUntilMs: keep.untilMs };

    expect(unpinned).toMatchObject({ because: 'unpinning', keep });
    expect(decided({ jobs: [job(2)], liveJobs: [waiting({ ...annotated, pinned: false })] })).toMatchObject([
      { emit: false, runner: name, because: 'used-up' },
      { because: 'new-runner' },
    ]);
  });

  it('holds no place', () => {
    expect(verdictsIn({ groups: [ci], jobs: [cancelled(1_000), job(2)], liveJobs: [waiting()] })[2]).toBe(
      `new-runner ${named(ci, 2)}`,
    );
  });
});
