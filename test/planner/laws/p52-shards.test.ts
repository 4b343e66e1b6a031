/** Laws P52 to P57 (docs/spec.md): several Applications print one folder, each its shard. */
import { describe, expect, it } from 'vitest';
import type { EmittedRunner } from '../../../src/planner/decisions.ts';
import type { LiveJob } from '../../../src/planner/evidence.ts';
import { shardOfName } from '../../../src/planner/shards.ts';
import {
  done,
  group,
  job,
  live,
  NOW,
  named,
  ORIGIN,
  planScene,
  row,
  running,
  type Scene,
} from '../../support/scenario.ts';

const ci = group({ maxActiveRunners: 2000 });
const one = named(ci, 1);
const MINUTE = 60_000;
const sharded = (shards: number, scene: Scene) => planScene({ groups: [ci], shards, liveJobs: [], ...scene });
/** Returns the shard of each runner in the output, including records. */
const shardsIn = (shards: number, scene: Scene) =>
  new Map(
    sharded(shards, scene)
      .runners.filter((decision): decision is EmittedRunner => decision.emit)
      .map(({ runner, shard }) => [runner, shard]),
  );
const old = (id: number, minutes: number) => job(id, { createdAtMs: NOW - minutes * MINUTE });

describe('P52 each runner is printed by one shard', () => {
  const jobs = Array.from({ length: 1000 }, (_, index) => job(index + 1));
  const names = jobs.map(({ id }) => named(ci, id));

  it.each([1, 2, 7, 40])('%d shards together print what one Application prints', (shards) => {
    const whole = planScene({ groups: [ci], jobs, liveJobs: [] });
    const parts = sharded(shards, { jobs });

    expect(parts.emitted.map(({ shard, ...decision }) => decision)).toEqual(whole.emitted);
    expect(parts.emitted.every(({ shard = -1 }) => shard >= 0 && shard < shards)).toBe(true);
  });

  it('each of seven prints about as many', () => {
    const sizes = Array.from(
      { length: 7 },
      (_, shard) => names.filter((name) => shardOfName(name, 7) === shard).length,
    );

    expect(Math.min(...sizes)).toBeGreaterThan(110);
    expect(Math.max(...sizes)).toBeLessThan(175);
  });

  it('only the runners that fall to the new shard move when there is one more', () => {
    const moved = names.filter((name) => shardOfName(name, 7) !== shardOfName(name, 8));

    expect(new Set(moved.map((name) => shardOfName(name, 8)))).toEqual(new Set([7]));
    expect(moved.length).toBeGreaterThan(90);
    expect(moved.length).toBeLessThan(165);
  });

  it('no runner has a shard where there are no shards', () => {
    expect(planScene({ jobs: [job(1)], liveJobs: [] }).emitted.map((decision) => 'shard' in decision)).toEqual([false]);
  });
});

describe('P53 a Job that lives stays where it is', () => {
  const other = (shardOfName(one, 4) + 1) % 4;
  const seen = (over: Partial<LiveJob> = {}) => ({ jobs: [job(1)], liveJobs: [live(one, 'starting', over)] });

  it.each<[string, number, Partial<LiveJob>, number]>([
    ['in the shard that its label names, whatever its name says', 4, { shard: other }, other],
    ['in the shard of its label when there are more shards', 40, { shard: other }, other],
    ['in the shard of its label when its number is the last', other + 1, { shard: other }, other],
    ['in shard 0 when it has no label', 40, {}, 0],
  ])('a Job that lives stays %s', (_, shards, over, shard) => {
    expect(shardsIn(shards, seen(over)).get(one)).toBe(shard);
  });

  it('a Job that lives stays where it is goes to the shard that its name falls to when there are fewer', () => {
    for (const shards of [1, 2, 3])
      expect(shardsIn(shards, seen({ shard: 6 })).get(one)).toBe(shardOfName(one, shards));
  });

  it.each<[string, Scene]>([
    ['at work', { jobs: [running(1, one)], liveJobs: [live(one, 'running', { pinned: true, shard: other })] }],
    ['a record', { jobs: [old(1, 1)], liveJobs: [live(one, 'failed', { shard: other })] }],
    ['of a group in trouble', { groups: [], troubled: [ci], liveJobs: [live(one, 'running', { shard: other })] }],
  ])('a Job that lives stays where it is, whatever it is: %s', (_, scene) => {
    expect(shardsIn(4, scene).get(one)).toBe(other);
  });
});

describe('P54 shards are one Application', () => {
  const jobUrl = job(1).url;
  const theirs = named(group({ name: 'gone' }), 9);
  const left = live(theirs, 'starting', { jobUrl, giteaUrl: ORIGIN, application: 'runners-3' });
  const verdict = (application: string, shards?: number) =>
    planScene({
      ...{ groups: [ci], jobs: [job(1)], liveJobs: [left], application },
      ...(shards !== undefined && { shards }),
    }).verdicts[1];

  it('a Job of another shard is no Job of another Application, also when its group is gone', () => {
    expect(verdict('runners-0', 4)).toMatch(/^new-runner /);
    expect(verdict('others-0', 4)).toBe('served-elsewhere');
    expect(verdict('runners-0')).toBe('served-elsewhere');
  });

  it('shards see the same cap', () => {
    const jobs = [1, 2, 3, 4, 5].map((id) => job(id));
    const liveJobs = [live(named(ci, 9), 'running', { pinned: true, shard: 3 })];
    const planned = planScene({
      ...{ groups: [group({ maxActiveRunners: 3 })], shards: 4, application: 'runners-1' },
      ...{ jobs: [...jobs, running(9, named(ci, 9))], liveJobs },
    });

    expect(planned.served).toEqual([1, 2]);
  });
});

describe('P55 a job whose runner does not come', () => {
  const asked = (minutes: number, liveJobs: readonly LiveJob[] = []) =>
    sharded(4, { jobs: [old(1, minutes)], liveJobs }).names;

  it('a job whose runner does not come gets the next ordinal after each spawn timeout, so that another shard may print it', () => {
    expect([1, 4.9, 5, 9.9, 10].map((minutes) => asked(minutes))).toEqual(
      [0, 0, 1, 1, 2].map((ordinal) => [named(ci, 1, ordinal)]),
    );
    expect(
      new Set(
        Array.from({ length: 20 }, (_, turn) => 5 * turn).map((minutes) => shardOfName(asked(minutes)[0] ?? '', 4)),
      ).size,
    ).toBe(4);
  });

  it('a job whose runner does not come keeps the one that lives, however long it takes', () => {
    expect(asked(60, [live(one, 'starting', { createdAtMs: NOW - 50 * MINUTE })])).toEqual([one]);
  });

  it('a job whose runner does not come counts from the end of the last one that failed', () => {
    const failed = (minutes: number) => [live(one, 'failed', { finishedAtMs: NOW - minutes * MINUTE })];

    expect(asked(60, failed(4))).toContain(named(ci, 1, 1));
    expect(asked(60, failed(6))).toContain(named(ci, 1, 2));
  });

  it('begins anew after 24 of them, so that no ordinal is too high to be known', () => {
    expect([115, 120, 125].map((minutes) => asked(minutes)[0])).toEqual(
      [23, 0, 1].map((ordinal) => named(ci, 1, ordinal)),
    );
  });

  it('a job whose runner does not come keeps its name where there are no shards', () => {
    expect(planScene({ groups: [ci], jobs: [old(1, 60)], liveJobs: [] }).names).toEqual([one]);
  });
});

describe('P56 a runner that goes keeps its slots until its Job is gone', () => {
  const small = group({ maxActiveRunners: 1 });
  const changed = group({ maxActiveRunners: 1, templateHash: 't2' });
  const goes = live(named(small, 1), 'starting');
  const begun = (scene: Scene) =>
    sharded(4, { groups: [changed], ...scene }).emitted.map(({ runner, skip = false }) => [runner, skip]);

  it('the one in its slot is not made yet', () => {
    expect(begun({ jobs: [job(1)], liveJobs: [goes] })).toEqual([[named(changed, 1), true]]);
    expect(begun({ jobs: [job(1)], liveJobs: [{ ...goes, state: 'deleting' }] })).toEqual([[named(changed, 1), false]]);
    expect(begun({ jobs: [job(1)] })).toEqual([[named(changed, 1), false]]);
  });

  it('only the last one waits where there is room for others', () => {
    const groups = [group({ maxActiveRunners: 3, templateHash: 't2' })];
    const jobs = [job(1), job(2), job(3)];

    expect(begun({ groups, jobs, liveJobs: [goes] }).map(([, skip]) => skip)).toEqual([false, false, true].toSorted());
    expect(begun({ groups, jobs: [job(1), job(2)], liveJobs: [goes] }).every(([, skip]) => skip === false)).toBe(true);
  });

  it('a runner that lives never waits for one that goes', () => {
    const liveJobs = [goes, live(named(changed, 2), 'starting')];

    expect(begun({ jobs: [job(2)], liveJobs })).toEqual([[named(changed, 2), false]]);
  });

  it('a runner that goes keeps its slots until its Job is gone counts under a limit that groups share', () => {
    const limits = [{ key: 'limit team', name: 'team', most: 1 }];
    const groups = [group({ limits, templateHash: 't2' }), group({ name: 'gpu', labels: ['gpu'], limits })];
    const scene = { groups, jobs: [job(2, { labels: ['gpu'] })], liveJobs: [live(named(group(), 1), 'starting')] };

    expect(sharded(4, scene).emitted.map(({ skip }) => skip)).toEqual([true]);
    expect(planScene({ ...scene }).emitted.map(({ skip }) => skip)).toEqual([undefined]);
  });
});

describe('P57 what another Application has left behind', () => {
  const tracked = (application: string, over: Partial<LiveJob> = {}, state: LiveJob['state'] = 'running') =>
    live(one, state, { shard: 1, application, ...over });
  const decided = (scene: Scene) =>
    sharded(4, { application: 'runners-3', ...scene }).runners.map(({ emit, because, ...of }) => [
      because,
      emit && 'skip' in of && of.skip === true,
    ]);
  const busy = (application: string) => ({
    jobs: [running(1, one)],
    liveJobs: [tracked(application, { pinned: true })],
  });

  it('a runner that another Application has left behind is applied, also at work, so that it can be pruned later', () => {
    expect(decided(busy('runners-1'))).toEqual([['busy', true]]);
    expect(decided(busy('runners-6'))).toEqual([['busy', false]]);
    expect(decided(busy('runners'))).toEqual([['busy', false]]);
  });

  it('a runner that another Application has left behind stays as it is when its group cannot be planned', () => {
    const scene = { groups: [], troubled: [ci], liveJobs: [tracked('runners-6')] };

    expect(decided(scene)).toEqual([['group-in-trouble', true]]);
  });

  it('a runner that another Application has left behind is printed once more when no job needs it', () => {
    const idle = (application: string) => ({ liveJobs: [tracked(application)], runners: [row(one)] });

    expect(decided(idle('runners-1'))).toEqual([['surplus', false]]);
    expect(decided(idle('runners-6'))).toEqual([['unpinning', false]]);
  });

  it('a runner that another Application has left behind is left to Kubernetes when it has ended', () => {
    const ended = { jobs: [done(1, one)], liveJobs: [tracked('runners-6', {}, 'complete')] };

    expect(decided(ended)).toEqual([['used-up', false]]);
  });
});
