/** Law P15 (docs/spec.md): a pool has its idle runners while the cap has room, and each slot its next name when its runner is used up. */
import { describe, expect, it } from 'vitest';
import { ORDINALS_SEARCHED } from '../../../src/planner/names.ts';
import { idle, join, pool, reasons, warm } from '../../support/pool-scene.ts';
import {
  done,
  emitted,
  emittedIn,
  emittedNames,
  group,
  job,
  live,
  NOW,
  named,
  namesIn,
  planScene,
  reasonsIn,
  row,
  running,
  type Scene,
  verdicts,
  verdictsIn,
} from '../../support/scenario.ts';

const both = join(idle(warm(1)), idle(warm(2)));
describe('P15 a pool of two', () => {
  it('asks for a runner per slot when nothing is there', () => {
    const planned = planScene({ groups: [pool] });

    expect(emitted(planned)).toMatchObject([
      { runner: warm(1), because: 'warm', pinned: false },
      { runner: warm(2), because: 'warm', pinned: false },
    ]);
    expect(warm(1)).toMatch(/^ci-0-1-[0-9a-f]{8}$/);
    expect(planned.groups).toMatchObject([{ warm: 2, minIdle: 2, waiting: 0, spare: 0 }]);
  });

  it.each([1, 2])('asks for the slot that has none when slot %d has its runner', (slot) => {
    expect(namesIn({ groups: [pool], ...idle(warm(slot)) })).toEqual([warm(1), warm(2)]);
  });

  it.each<[string, Partial<Scene>]>([
    ['are starting', { liveJobs: [live(warm(1), 'starting'), live(warm(2), 'starting')] }],
    ['are starting, of which nobody sees anything', {}],
    ['are registered', both],
    ['are registered, and nobody sees Kubernetes', { runners: [row(warm(1)), row(warm(2))] }],
    [
      'have waited for hours',
      { ...both, liveJobs: [1, 2].map((n) => live(warm(n), 'running', { createdAtMs: NOW - 9e6 })) },
    ],
  ])('keeps its runners when they %s', (_, scene) => {
    expect(namesIn({ groups: [pool], ...scene })).toEqual([warm(1), warm(2)]);
  });

  it('gives a ready job an idle runner before a new one is asked for', () => {
    const planned = planScene({ groups: [pool], jobs: [job(7)], ...both });

    expect(verdicts(planned)).toEqual({ 7: `free-runner ${warm(1)}` });
    expect(emittedNames(planned)).toEqual([warm(1), warm(2)]);
  });

  it('counts an idle runner of a job as far as its name is searched, whatever other runners there are', () => {
    const others = [5, 6].map((id) => named(pool, id));
    const warmAt = (ordinal: number) => {
      const runner = named(pool, 7, ordinal);
      const jobs = [running(5, others[0] ?? ''), running(6, others[1] ?? '')];
      const liveJobs = [...others, runner].map((name) => live(name, 'running', { pinned: others.includes(name) }));
      return planScene({ groups: [pool], jobs, liveJobs, runners: [row(runner)] }).runners.find(
        (each) => each.runner === runner,
      )?.because;
    };

    // It counts itself: a name that is known is passed over.
    expect(warmAt(ORDINALS_SEARCHED)).toBe('warm');
    expect(warmAt(ORDINALS_SEARCHED + 1)).toBe('spare');
  });

  it('gives a ready job a runner that is starting, too', () => {
    const liveJobs = [live(warm(1), 'starting'), live(warm(2), 'starting')];

    expect(namesIn({ groups: [pool], jobs: [job(7)], liveJobs })).toEqual([warm(1), warm(2)]);
  });

  it('refills the slot of a runner that is at work', () => {
    expect(reasonsIn({ groups: [pool], jobs: [running(7, warm(1))], ...both })).toEqual({
      [warm(1)]: 'busy',
      [warm(1, 1)]: 'warm',
      [warm(2)]: 'warm',
    });
  });

  it('asks for no other runner in the place of one that a job was given, and counts what fills the pool beside it', () => {
    const left = named(pool, 5);

    expect(reasonsIn({ groups: [pool], jobs: [job(7)], ...join(idle(warm(1)), idle(left)) })).toEqual({
      [warm(1)]: 'free-runner',
      [left]: 'warm',
    });
  });

  it('has its two beside a runner that was made for a job and waits for it', () => {
    expect(reasonsIn({ groups: [pool], jobs: [job(7)], ...idle(named(pool, 7)) })).toEqual({
      [named(pool, 7)]: 'own-runner',
      [warm(1)]: 'warm',
      [warm(2)]: 'warm',
    });
  });

  it('asks for as many further runners as jobs are left without one', () => {
    const planned = planScene({ groups: [pool], jobs: [job(7), job(8), job(9)], ...both });

    expect(emittedNames(planned)).toHaveLength(3);
    expect(emittedNames(planned)).toContain(named(pool, 7));
  });

  it.each<[string, Partial<Scene>]>([
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
  ])('gives a slot its next name when its runner %s', (_, scene) => {
    expect(namesIn({ groups: [pool], ...scene })).toEqual([warm(1, 1), warm(2)].sort());
  });

  it('keeps the next name of a slot when Gitea forgets the runners before it', () => {
    const known = (...ordinals: readonly number[]): Partial<Scene> => ({
      groups: [pool],
      jobs: ordinals.map((ordinal, nth) => done(nth + 1, warm(1, ordinal))),
      runners: [row(warm(2))],
    });

    expect(namesIn(known(3, 4, 5))).toContain(warm(1, 6));
    expect(namesIn(known(4, 5))).toContain(warm(1, 6));
    expect(namesIn(known(126, 127))).toContain(warm(1, 0));
    expect(namesIn(known(127, 0, 1))).toContain(warm(1, 2));
  });

  it('knows its runner by any name of the ring: none is drained for a high one', () => {
    expect(reasonsIn({ groups: [pool], ...join(idle(warm(1, 127)), idle(warm(2))) })).toEqual({
      [warm(1, 127)]: 'warm',
      [warm(2)]: 'warm',
    });
  });

  it('has a name left when all names of the ring are known', () => {
    const jobs = Array.from({ length: 129 }, (_, ordinal) => done(ordinal + 1, warm(1, ordinal)));

    expect(namesIn({ groups: [pool], jobs, runners: [row(warm(2))] })).toContain(warm(1, 129));
    const liveJobs = [live(warm(1, 129), 'starting'), live(warm(2), 'running')];
    expect(namesIn({ groups: [pool], jobs, runners: [row(warm(2))], liveJobs })).toContain(warm(1, 129));
  });
});

describe('P15 the floor comes last', () => {
  const tight = group({ minIdleRunners: 2, maxActiveRunners: 3 });
  const slot = (nth: number, ordinal = 0): string => warm(nth, ordinal, tight);

  it('after runners at work', () => {
    const jobs = [running(1, slot(1)), running(2, slot(2))];

    expect(reasonsIn({ groups: [tight], jobs })).toEqual({
      [slot(1)]: 'busy',
      [slot(2)]: 'busy',
      [slot(1, 1)]: 'warm',
    });
    expect(emittedIn({ groups: [tight], jobs: [...jobs, running(3, named(tight, 3))] })).toHaveLength(3);
  });

  it('after jobs', () => {
    const planned = planScene({ groups: [tight], jobs: [running(1, named(tight, 1)), job(2), job(3)] });

    expect(
      emitted(planned)
        .map(({ because }) => because)
        .sort(),
    ).toEqual(['busy', 'new-runner', 'new-runner']);
    expect(planned.groups).toMatchObject([{ warm: 0 }]);
  });

  it('after suspension: the pool goes, and a runner at work finishes', () => {
    const off = { ...pool, suspend: true };
    const planned = planScene({ groups: [off], jobs: [running(1, warm(1))], ...both });

    expect(reasons(planned)).toEqual({ [warm(1)]: 'busy', [warm(2)]: 'suspended' });
    expect(emittedNames(planned)).toEqual([warm(1)]);
  });

  it('and gives way to a lower floor, the highest slot first', () => {
    const one = { ...pool, minIdleRunners: 1 };
    // By name the tenth comes before the second.
    const ofTwelve = planScene({ groups: [one], ...join(idle(warm(2)), idle(warm(10)), idle(warm(12))) });

    expect(reasonsIn({ groups: [one], ...both })).toEqual({ [warm(1)]: 'warm', [warm(2)]: 'drained' });
    expect(reasons(ofTwelve)).toEqual({ [warm(2)]: 'warm', [warm(10)]: 'drained', [warm(12)]: 'drained' });
    expect(planScene({ groups: [{ ...pool, minIdleRunners: 0 }], ...both }).groups).toMatchObject([{ warm: 0 }]);
  });

  it('before spare runners, and both within the cap', () => {
    const idleOnes = [6, 7, 8, 9].map((id) => idle(named(tight, id)));
    const spareBeside = (count: number) =>
      planScene({ groups: [tight], jobs: [running(1, 'someone-else')], ...join(...idleOnes.slice(0, count)) }).groups;

    expect(spareBeside(2)).toMatchObject([{ warm: 2, spare: 0 }]);
    expect(spareBeside(4)).toMatchObject([{ warm: 2, spare: 1 }]);
  });

  it('and a lower floor drops no young runner that the CI that goes on may need', () => {
    expect(
      reasonsIn({
        groups: [{ ...pool, minIdleRunners: 1 }],
        jobs: [running(1, 'someone-else')],
        ...both,
      }),
    ).toEqual({ [warm(1)]: 'warm', [warm(2)]: 'spare' });
  });
});

describe('P15 a change of the group', () => {
  const changed = { ...pool, templateHash: 't2' };

  it('drains the pool and fills it again', () => {
    const planned = planScene({ groups: [changed], ...both });

    expect(emittedNames(planned)).toEqual([warm(1, 0, changed), warm(2, 0, changed)]);
    expect(reasons(planned)).toMatchObject({ [warm(1)]: 'drained', [warm(2)]: 'drained' });
  });

  it('drains it while CI goes on, too', () => {
    expect(planScene({ groups: [changed], jobs: [running(1, 'someone-else')], ...both }).groups).toMatchObject([
      { warm: 2, spare: 0 },
    ]);
  });

  it('drops no young runner that was made for a job before it, while CI goes on', () => {
    const left = named(pool, 5);

    expect(reasonsIn({ groups: [changed], jobs: [running(1, 'someone-else')], ...idle(left) })).toMatchObject({
      [left]: 'spare',
    });
  });

  it('drops runners that are still starting', () => {
    expect(reasonsIn({ groups: [changed], liveJobs: [live(warm(1), 'starting')] })).toMatchObject({
      [warm(1)]: 'replaced',
    });
  });

  it('a ready job still gets an idle runner of before', () => {
    expect(verdictsIn({ groups: [changed], jobs: [job(7)], ...both })[7]).toContain('free-runner');
  });
});

it('P15 two groups keep pools of their own', () => {
  const other = group({ name: 'other', minIdleRunners: 1 });

  expect(namesIn({ groups: [pool, other] })).toEqual([warm(1), warm(2), warm(1, 0, other)]);
});
