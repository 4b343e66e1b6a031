/** Law P15 (docs/spec.md): a pool has its idle runners while the cap has room, and each slot its next name when its runner is used up. */
import { describe, expect, it } from 'vitest';
import { ORDINALS_SEARCHED } from '../../../src/planner/names.ts';
import { idle, join, pool, warm } from '../../support/pool-scene.ts';
import { done, group, job, live, NOW, named, planScene, row, running, type Scene } from '../../support/scenario.ts';

const both = join(idle(warm(1)), idle(warm(2)));
const starting = (name: string) => ({ liveJobs: [live(name, 'starting')] });
/** Returns the fates of the pool's runners and of those of jobs. */
const fatesIn = (scene: Scene) => planScene({ groups: [pool], ...scene }).reasons;
const left = named(pool, 5);
/** CI goes on that runners of the pool could have taken. */
const elsewhere = { jobs: [running(1, 'someone-else')] };

describe('P15 a pool of two', () => {
  it('a pool of two asks for a runner per slot when nothing is there', () => {
    const planned = planScene({ groups: [pool] });

    expect(planned.emitted).toMatchObject([
      { runner: warm(1), because: 'warm', pinned: false },
      { runner: warm(2), because: 'warm', pinned: false },
    ]);
    expect(warm(1)).toMatch(/^ci-0-1-[0-9a-f]{8}$/);
    expect(planned.groups).toMatchObject([{ warm: 2, minIdle: 2, waiting: 0, spare: 0 }]);
  });

  it.each<[string, Scene]>([
    ['its first one is registered', idle(warm(1))],
    ['its second one is registered', idle(warm(2))],
    ['both are starting', join(starting(warm(1)), starting(warm(2)))],
    ['both are registered', both],
    ['both are registered, and nobody sees Kubernetes', { runners: [row(warm(1)), row(warm(2))] }],
    [
      'both have waited for hours',
      { ...both, liveJobs: [1, 2].map((n) => live(warm(n), 'running', { createdAtMs: NOW - 9e6 })) },
    ],
  ])('a pool of two keeps its runners, and asks for those that lack, when %s', (_, scene) => {
    expect(planScene({ groups: [pool], ...scene }).names).toEqual([warm(1), warm(2)]);
  });

  it.each<[string, Scene]>([
    ['idle', both],
    ['starting', join(starting(warm(1)), starting(warm(2)))],
  ])('a pool of two gives a ready job a runner that is %s before a new one is asked for', (_, seen) => {
    const scene = { groups: [pool], jobs: [job(7)], ...seen };

    expect(planScene(scene).verdicts).toEqual({ 7: `free-runner ${warm(1)}` });
    expect(planScene(scene).names).toEqual([warm(1), warm(2)]);
  });

  it('a pool of two counts an idle runner of a job as far as its name is searched, whatever other runners there are', () => {
    const [five, six] = [named(pool, 5), named(pool, 6)];
    const warmAt = (ordinal: number) => {
      const runner = named(pool, 7, ordinal);
      const working = [five, six].map((name) => live(name, 'running', { pinned: true }));
      const jobs = [running(5, five), running(6, six)];
      return fatesIn({ jobs, liveJobs: [...working, live(runner, 'running')], runners: [row(runner)] })[runner];
    };

    // The search includes the name itself: a known name is skipped.
    expect(warmAt(ORDINALS_SEARCHED)).toBe('warm');
    expect(warmAt(ORDINALS_SEARCHED + 1)).toBe('spare');
  });

  it.each<[string, Scene, Readonly<Record<string, string>>]>([
    [
      'refills the slot of a runner that is at work',
      { jobs: [running(7, warm(1))], ...both },
      { [warm(1)]: 'busy', [warm(1, 1)]: 'warm', [warm(2)]: 'warm' },
    ],
    [
      'asks for no other runner in the place of one that a job was given, and counts what fills the pool beside it',
      { jobs: [job(7)], ...join(idle(warm(1)), idle(left)) },
      { [warm(1)]: 'free-runner', [left]: 'warm' },
    ],
    [
      'has its two beside a runner that was made for a job and waits for it',
      { jobs: [job(7)], ...idle(named(pool, 7)) },
      { [named(pool, 7)]: 'own-runner', [warm(1)]: 'warm', [warm(2)]: 'warm' },
    ],
    [
      'asks for as many further runners as jobs are left without one',
      { jobs: [job(7), job(8), job(9)], ...both },
      { [warm(1)]: 'free-runner', [warm(2)]: 'free-runner', [named(pool, 7)]: 'new-runner' },
    ],
    [
      'knows its runner by a high name: none is drained for it',
      join(idle(warm(1, 127)), idle(warm(2))),
      { [warm(1, 127)]: 'warm', [warm(2)]: 'warm' },
    ],
  ])('%s', (_, scene, fates) => {
    expect(fatesIn(scene)).toEqual(fates);
  });

  it.each<[string, Scene]>([
    ['was used', { jobs: [done(7, warm(1))], runners: [row(warm(2))] }],
    [
      'was used a second ago and has its Job still',
      {
        jobs: [done(7, warm(1))],
        ...join({ liveJobs: [live(warm(1), 'complete', { finishedAtMs: NOW - 1_000 })] }, idle(warm(2))),
      },
    ],
    ['has failed', join({ liveJobs: [live(warm(1), 'failed')] }, idle(warm(2)))],
    ['is being deleted', join({ liveJobs: [live(warm(1), 'deleting')] }, idle(warm(2)))],
    ['is gone, and its row is online', join({ runners: [row(warm(1))] }, idle(warm(2)))],
    [
      'is disabled in Gitea',
      join({ runners: [row(warm(1), { disabled: true })], liveJobs: [live(warm(1), 'running')] }, idle(warm(2))),
    ],
    ['never registered', join({ liveJobs: [live(warm(1), 'running', { createdAtMs: NOW - 400_000 })] }, idle(warm(2)))],
  ])('a pool of two gives a slot its next name when its runner %s', (_, scene) => {
    expect(planScene({ groups: [pool], ...scene }).names).toEqual([warm(1, 1), warm(2)].sort());
  });

  it.each<[string, readonly number[], number]>([
    ['is its first one', [], 0],
    ['is behind the known ones', [0, 1, 2], 3],
    ['is the lowest that nothing speaks of', [0, 1, 3], 2],
    ['is behind all that Gitea lists', Array.from({ length: 150 }, (_, ordinal) => ordinal), 150],
  ])('the next name of a slot %s', (_, ordinals, next) => {
    const jobs = ordinals.map((ordinal, nth) => done(nth + 1, warm(1, ordinal)));

    expect(planScene({ groups: [pool], jobs, runners: [row(warm(2))] }).names).toContain(warm(1, next));
    const seen = join(starting(warm(1, next)), idle(warm(2)));
    expect(planScene({ groups: [pool], jobs, ...seen }).names).toContain(warm(1, next));
  });
});

describe('P15 the floor comes last', () => {
  const tight = group({ minIdleRunners: 2, maxActiveRunners: 3 });

  it('runners at work leave less for the floor', () => {
    const jobs = [running(1, warm(1)), running(2, warm(2))];

    expect(planScene({ groups: [tight], jobs }).reasons).toEqual({
      [warm(1)]: 'busy',
      [warm(2)]: 'busy',
      [warm(1, 1)]: 'warm',
    });
    expect(planScene({ groups: [tight], jobs: [...jobs, running(3, left)] }).because).toEqual(['busy', 'busy', 'busy']);
  });

  it('queued jobs get their slots before the floor', () => {
    const planned = planScene({ groups: [tight], jobs: [running(1, named(tight, 1)), job(2), job(3)] });

    expect(planned.runners.map(({ because }) => because)).toEqual(['busy', 'new-runner', 'new-runner']);
    expect(planned.groups).toMatchObject([{ warm: 0 }]);
  });

  it('a suspended group has no pool, and a runner at work finishes', () => {
    expect(fatesIn({ groups: [{ ...pool, suspend: true }], jobs: [running(1, warm(1))], ...both })).toEqual({
      [warm(1)]: 'busy',
      [warm(2)]: 'suspended',
    });
  });

  it('a lower floor drains the runners with the highest numbers, but keeps a young one that CI may need', () => {
    const groups = [{ ...pool, minIdleRunners: 1 }];
    // By name, the tenth comes before the second.
    const ofTwelve = join(idle(warm(2)), idle(warm(10)), idle(warm(12)));

    expect(fatesIn({ groups, ...both })).toEqual({ [warm(1)]: 'warm', [warm(2)]: 'drained' });
    expect(fatesIn({ groups, ...both, ...elsewhere })).toEqual({ [warm(1)]: 'warm', [warm(2)]: 'spare' });
    expect(fatesIn({ groups, ...ofTwelve })).toEqual({
      [warm(2)]: 'warm',
      [warm(10)]: 'drained',
      [warm(12)]: 'drained',
    });
    expect(fatesIn({ groups: [group()], ...both })).toEqual({ [warm(1)]: 'drained', [warm(2)]: 'drained' });
  });

  it('the floor comes before spare runners, and both fit under the cap', () => {
    const spareBeside = (count: number) => {
      const idleOnes = [6, 7, 8, 9].slice(0, count).map((id) => idle(named(tight, id)));
      return planScene({ groups: [tight], ...elsewhere, ...join(...idleOnes) }).groups;
    };

    expect(spareBeside(2)).toMatchObject([{ warm: 2, spare: 0 }]);
    expect(spareBeside(4)).toMatchObject([{ warm: 2, spare: 1 }]);
  });
});

describe('P15 a change of the group', () => {
  const changed = { ...pool, templateHash: 't2' };
  const filled = { [warm(1, 0, changed)]: 'warm', [warm(2, 0, changed)]: 'warm' };

  it.each<[string, Scene, Readonly<Record<string, string>>]>([
    ['drains the pool and fills it again', both, { ...filled, [warm(1)]: 'drained', [warm(2)]: 'drained' }],
    [
      'drains it while CI goes on, too',
      { ...elsewhere, ...both },
      { ...filled, [warm(1)]: 'drained', [warm(2)]: 'drained' },
    ],
    [
      'drops no young runner that was made for a job before it, while CI goes on',
      { ...elsewhere, ...idle(left) },
      { ...filled, [left]: 'spare' },
    ],
    ['drops runners that are still starting', starting(warm(1)), { ...filled, [warm(1)]: 'replaced' }],
  ])('%s', (_, scene, fates) => {
    expect(fatesIn({ groups: [changed], ...scene })).toEqual(fates);
  });

  it('a ready job still gets an idle runner of before', () => {
    expect(planScene({ groups: [changed], jobs: [job(7)], ...both }).verdicts[7]).toContain('free-runner');
  });
});

it('P15 two groups keep pools of their own', () => {
  const other = group({ name: 'other', minIdleRunners: 1 });

  expect(planScene({ groups: [pool, other] }).names).toEqual([warm(1), warm(2), warm(1, 0, other)]);
});
