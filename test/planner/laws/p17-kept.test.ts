/** Law P17 (docs/spec.md): a runner whose CI job failed stays for a look, for as long as its group says, with a slot under the cap. */
import { describe, expect, it } from 'vitest';
import type { Job, LiveJob } from '../../../src/planner/evidence.ts';
import { warm } from '../../support/pool-scene.ts';
import { done, group, job, live, NOW, named, planScene, row, running, type Scene } from '../../support/scenario.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const ci = group({ maxActiveRunners: 1, keepFailedMs: 20 * MINUTE });
const name = named(ci, 1);
const FAILED = NOW - 2 * MINUTE;
const failed = (over: Partial<Job> = {}): Job =>
  done(1, name, { startedAtMs: FAILED - 5_000, completedAtMs: FAILED, conclusion: 'failure', ...over });
const waiting = (over: Partial<LiveJob> = {}): LiveJob =>
  live(name, 'running', { createdAtMs: FAILED - MINUTE, pinned: true, ...over });
/** The runner's Job after the first sync. */
const printed = { endedAtMs: FAILED, keepUntilMs: FAILED + 20 * MINUTE };
/** Returns the decision about the runner whose pod waits. */
const decided = (scene: Scene) =>
  planScene({ groups: [ci], jobs: [failed()], liveJobs: [waiting()], ...scene }).runners.find(
    ({ runner }) => runner === name,
  );

describe('P17 a runner whose CI job failed', () => {
  it('stays, pinned, and says since when and until when', () => {
    expect(decided({})).toStrictEqual({
      emit: true,
      runner: name,
      group: { namespace: 'runners', name: 'ci' },
      because: 'debugging',
      pinned: true,
      job: failed(),
      keep: { endedAtMs: FAILED, untilMs: FAILED + 20 * MINUTE },
    });
  });

  it.each<[string, boolean, Partial<LiveJob>]>([
    ['says nothing yet', false, {}],
    ['says so', true, printed],
    ['is not pinned', false, { ...printed, pinned: false }],
    ['says another end', false, { ...printed, endedAtMs: NOW + 60 * MINUTE }],
    ['has got another time', false, { ...printed, extendUntilMs: NOW + 60 * MINUTE }],
  ])('a runner whose CI job failed is not created again once its Job says so: it %s', (_, isSkipped, over) => {
    const decision = decided({ liveJobs: [waiting(over)] });

    expect(decision?.emit && decision.skip === true).toBe(isSkipped);
  });

  const late = live(name, 'starting', { createdAtMs: NOW - 4_000 });
  it.each<[string, string, Scene]>([
    [
      'stays when Kubernetes does not know the state of its pod',
      'debugging',
      { liveJobs: [waiting({ state: 'unknown' })] },
    ],
    [
      'stays although the kubelet has not told yet that its pod runs',
      'debugging',
      {
        jobs: [failed({ startedAtMs: NOW - 1_500, completedAtMs: NOW - 500 })],
        liveJobs: [late],
        listedAtMs: NOW - 400,
      },
    ],
    ['is not a second pod under its name, which has not started', 'surplus', { liveJobs: [late], listedAtMs: NOW }],
    [
      'is no pinned Job whose pod has not started: nothing has failed there',
      'free-runner',
      { jobs: [job(2)], liveJobs: [live(name, 'starting', { pinned: true })] },
    ],
    [
      'is none that Gitea shows online and idle: that one takes the next job',
      'free-runner',
      { jobs: [failed(), job(2)], runners: [row(name)] },
    ],
    ['does not stay when its pod has ended by itself', 'used-up', { liveJobs: [waiting({ state: 'complete' })] }],
    ['does not stay when its pod is being deleted', 'deleting', { liveJobs: [waiting({ state: 'deleting' })] }],
    ['does not stay when its pod is not seen', 'used-up', { liveJobs: [live(named(ci, 9), 'complete')] }],
    ['does not stay when it succeeded', 'used-up', { jobs: [done(1, name, { completedAtMs: NOW - 1_000 })] }],
    ['does not stay in a group that keeps none', 'used-up', { groups: [group()] }],
    [
      'is not printed once more, to lose its pin, when its pod has ended',
      'used-up',
      { groups: [group()], liveJobs: [waiting({ ...printed, state: 'complete' })] },
    ],
    [
      'is at work as long as Gitea says so',
      'busy',
      { jobs: [running(1, name, { startedAtMs: NOW - 1_000 })], liveJobs: [waiting(printed)] },
    ],
    [
      'is at work while its row is busy',
      'finishing',
      { jobs: [failed(), job(2)], runners: [row(name, { busy: true })] },
    ],
  ])('%s: %s', (_, because, scene) => {
    expect(decided(scene)?.because).toBe(because);
  });

  it('a runner whose CI job failed takes a slot under the cap, and is counted', () => {
    const planned = planScene({ groups: [ci], jobs: [failed(), job(2)], liveJobs: [waiting()] });

    expect(planned.verdicts).toEqual({ 1: 'done', 2: 'cap' });
    expect(planned.groups).toMatchObject([{ busy: 0, waiting: 0, debugging: 1, held: 1 }]);
  });

  it('a runner whose CI job failed stays when Gitea has forgotten its CI job, e.g. because somebody has run it again', () => {
    const groups = [group({ ...ci, maxActiveRunners: 2 })];

    expect(planScene({ groups, jobs: [job(1, { attempt: 2 })], liveJobs: [waiting(printed)] }).reasons).toEqual({
      [name]: 'debugging',
      [named(ci, 1, 0, 2)]: 'new-runner',
    });
  });

  it('a runner whose CI job failed stays when Gitea has forgotten its CI job before we knew its end: a pin says that it worked', () => {
    const forgotten = (over: Partial<LiveJob>, runners: Scene['runners'] = []) =>
      decided({ jobs: [job(2)], runners, liveJobs: [waiting(over)] });

    expect(forgotten({})).toMatchObject({ because: 'debugging', keep: { endedAtMs: NOW } });
    expect(forgotten({ pinned: false })).toMatchObject({ because: 'free-runner' });
    expect(forgotten({})).not.toHaveProperty('job');
    expect(forgotten({}, [row(name)])).toMatchObject({ because: 'finishing' });
    expect(forgotten({}, [row(name, { online: false })])).toMatchObject({ because: 'free-runner' });
  });

  it('a runner whose CI job failed stays when nothing tells that it worked but this: it has run for 90 s, and Gitea lists others of its group only', () => {
    const becauseOf = (seconds: number, ...runners: NonNullable<Scene['runners']>) => {
      const liveJobs = [waiting({ pinned: false, runningSinceMs: NOW - seconds * 1000 })];
      return decided({ jobs: [job(2)], runners, liveJobs })?.because;
    };
    const other = row(named(ci, 9));

    expect(becauseOf(91, other)).toBe('debugging');
    expect(becauseOf(90, other)).toBe('free-runner');
    expect(becauseOf(91)).toBe('free-runner');
    expect(becauseOf(91, other, row(name, { online: false }))).toBe('free-runner');
  });

  it('an idle runner of a pool is not held when its group has another template or place, where Gitea does not list it', () => {
    const pool = { ...ci, minIdleRunners: 1 };
    const before = warm(1, 0, { ...pool, templateHash: 'before' });
    const liveJobs = [live(before, 'running', { runningSinceMs: NOW - 2 * MINUTE })];
    const runners = [row(named(pool, 9))];

    expect(planScene({ groups: [pool], runners, liveJobs }).reasons).toMatchObject({ [before]: 'replaced' });
  });
});

describe('P17 the time of a runner that stays', () => {
  const untilOf = (over: Partial<LiveJob>) => {
    const decision = decided({ liveJobs: [waiting({ ...printed, ...over })] });
    return decision?.emit ? decision.keep : undefined;
  };
  const untilMs = printed.keepUntilMs;

  it.each<[string, Partial<LiveJob>, object]>([
    [
      'can be extended',
      { extendUntilMs: FAILED + 180 * MINUTE },
      { endedAtMs: FAILED, untilMs: FAILED + 180 * MINUTE },
    ],
    [
      'can be extended up to 24 hours after the failure',
      { extendUntilMs: FAILED + DAY },
      { endedAtMs: FAILED, untilMs: FAILED + DAY },
    ],
    [
      'cannot be extended for longer',
      { extendUntilMs: Date.UTC(9999, 0, 1) },
      { endedAtMs: FAILED, untilMs: FAILED + DAY, extension: 'too-long' },
    ],
    ['is not shortened by an earlier time', { extendUntilMs: NOW }, { endedAtMs: FAILED, untilMs }],
    [
      'is not shortened by what is no time',
      { extendUntilMs: 'unreadable' },
      { endedAtMs: FAILED, untilMs, extension: 'unreadable' },
    ],
    ['does not begin in the future', { endedAtMs: NOW + 60 * MINUTE }, { endedAtMs: FAILED, untilMs }],
    ['does not begin in a little more than a minute', { endedAtMs: NOW + 61_000 }, { endedAtMs: FAILED, untilMs }],
    [
      'begins in a minute at most, as clocks may be apart',
      { endedAtMs: NOW + MINUTE },
      { endedAtMs: NOW + MINUTE, untilMs: NOW + 21 * MINUTE },
    ],
  ])('the time of a runner that stays %s', (_, over, keep) => {
    expect(untilOf(over)).toEqual(keep);
  });

  it('follows its group: with a new value all that stay have it', () => {
    const groups = [group({ ...ci, keepFailedMs: 60 * MINUTE })];

    expect(decided({ groups, jobs: [], liveJobs: [waiting(printed)] })).toMatchObject({
      because: 'debugging',
      keep: { untilMs: FAILED + 60 * MINUTE },
    });
  });

  it('the time of a runner that stays is over to the second: the pin goes, then the Job, and the slot is free', () => {
    const at = (nowMs: number, over: Partial<LiveJob> = {}) =>
      planScene({ groups: [ci], jobs: [job(2)], liveJobs: [waiting({ ...printed, ...over })], nowMs }).runners;
    const next = { because: 'new-runner' };

    expect(at(untilMs - 1)).toMatchObject([{ because: 'debugging' }]);
    expect(at(untilMs)).toMatchObject([{ emit: true, runner: name, because: 'unpinning', pinned: false }, next]);
    expect(at(untilMs, { pinned: false })).toMatchObject([{ emit: false, runner: name, because: 'used-up' }, next]);
  });

  it('the time of a runner that stays ends at once when its group keeps none any more', () => {
    expect(decided({ groups: [group()], liveJobs: [waiting(printed)] })).toMatchObject({
      because: 'unpinning',
      pinned: false,
    });
  });
});

describe('P17 a pod that waits although its CI job did not fail', () => {
  const cancelled = (agoMs: number, ...more: readonly Job[]) => ({
    jobs: [done(1, name, { completedAtMs: NOW - agoMs }), ...more],
  });

  it('loses its pin 15 s after the end of its CI job: until then it may end by itself', () => {
    expect(decided(cancelled(15_000))?.because).toBe('used-up');
    expect(decided(cancelled(15_001))?.because).toBe('unpinning');
  });

  it('a pod that waits although its CI job did not fail is known by its annotations from then on, also when Gitea has forgotten its CI job', () => {
    const keep = { endedAtMs: NOW - 20_000, untilMs: NOW - 20_000 };
    const annotated = { endedAtMs: keep.endedAtMs, keepUntilMs: keep.untilMs, pinned: false };

    expect(decided(cancelled(20_000))).toMatchObject({ because: 'unpinning', keep });
    expect(planScene({ groups: [ci], jobs: [job(2)], liveJobs: [waiting(annotated)] }).reasons).toEqual({
      [name]: 'used-up',
      [named(ci, 2)]: 'new-runner',
    });
  });

  it('a pod that waits although its CI job did not fail holds no slot', () => {
    const scene = { groups: [ci], ...cancelled(1_000, job(2)), liveJobs: [waiting()] };

    expect(planScene(scene).reasons).toMatchObject({ [named(ci, 2)]: 'new-runner' });
  });
});
