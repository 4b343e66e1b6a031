/** Law P15 (docs/spec.md): a pool has its idle runners while the cap has room, and each slot its next name when its runner is used up. */
import { describe, expect, it } from 'vitest';
import type { Plan } from '../../../src/plan/decisions.ts';
import { runnerName } from '../../../src/plan/names.ts';
import {
  done,
  emitted,
  emittedNames,
  group,
  INSTANCE,
  job,
  live,
  NOW,
  named,
  planScene,
  row,
  running,
  type Scene,
  verdicts,
} from '../../support/scenario.ts';

const pool = group({ minIdleRunners: 2 });
/** The runner of a slot. */
const warm = (slot: number, ordinal = 0, of = pool): string =>
  runnerName(INSTANCE, of, { id: 0, attempt: slot }, ordinal);
const idle = (name: string) => ({ runners: [row(name)], liveJobs: [live(name, 'running')] });

function join(...parts: readonly Pick<Scene, 'runners' | 'liveJobs'>[]): Pick<Scene, 'runners' | 'liveJobs'> {
  return {
    runners: parts.flatMap(({ runners = [] }) => runners),
    liveJobs: parts.flatMap((part) => part.liveJobs ?? []),
  };
}

const both = join(idle(warm(1)), idle(warm(2)));
const reasons = (planned: Plan) => Object.fromEntries(planned.runners.map(({ runner, because }) => [runner, because]));

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
    expect(emittedNames(planScene({ groups: [pool], ...scene }))).toEqual([warm(1), warm(2)]);
  });

  it('gives a ready job an idle runner before a new one is asked for', () => {
    const planned = planScene({ groups: [pool], jobs: [job(7)], ...both });

    expect(verdicts(planned)).toEqual({ 7: `free-runner ${warm(1)}` });
    expect(emittedNames(planned)).toEqual([warm(1), warm(2)]);
  });

  it('gives a ready job a runner that is starting, too', () => {
    const liveJobs = [live(warm(1), 'starting'), live(warm(2), 'starting')];

    expect(emittedNames(planScene({ groups: [pool], jobs: [job(7)], liveJobs }))).toEqual([warm(1), warm(2)]);
  });

  it('refills the slot of a runner that is at work', () => {
    const planned = planScene({ groups: [pool], jobs: [running(7, warm(1))], ...both });

    expect(reasons(planned)).toEqual({ [warm(1)]: 'busy', [warm(1, 1)]: 'warm', [warm(2)]: 'warm' });
  });

  it('asks for as many further runners as jobs are left without one', () => {
    const planned = planScene({ groups: [pool], jobs: [job(7), job(8), job(9)], ...both });

    expect(emittedNames(planned)).toHaveLength(3);
    expect(emittedNames(planned)).toContain(named(pool, 7));
  });

  it.each<[string, Partial<Scene>]>([
    ['was used', { jobs: [done(7, warm(1))], runners: [row(warm(2))] }],
    [
      'was used and has its Job still',
      { jobs: [done(7, warm(1))], ...join({ liveJobs: [live(warm(1), 'complete')] }, idle(warm(2))) },
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
    expect(emittedNames(planScene({ groups: [pool], ...scene }))).toEqual([warm(1, 1), warm(2)].sort());
  });

  it('keeps the next name of a slot when Gitea forgets the runners before it', () => {
    const known = (...ordinals: readonly number[]): Partial<Scene> => ({
      groups: [pool],
      jobs: ordinals.map((ordinal, nth) => done(nth + 1, warm(1, ordinal))),
      runners: [row(warm(2))],
    });

    expect(emittedNames(planScene(known(3, 4, 5)))).toContain(warm(1, 6));
    expect(emittedNames(planScene(known(4, 5)))).toContain(warm(1, 6));
    expect(emittedNames(planScene(known(126, 127)))).toContain(warm(1, 0));
    expect(emittedNames(planScene(known(127, 0, 1)))).toContain(warm(1, 2));
  });

  it('has a name left when all names of the ring are known', () => {
    const jobs = Array.from({ length: 129 }, (_, ordinal) => done(ordinal + 1, warm(1, ordinal)));

    expect(emittedNames(planScene({ groups: [pool], jobs, runners: [row(warm(2))] }))).toContain(warm(1, 129));
    const liveJobs = [live(warm(1, 129), 'starting'), live(warm(2), 'running')];
    expect(emittedNames(planScene({ groups: [pool], jobs, runners: [row(warm(2))], liveJobs }))).toContain(
      warm(1, 129),
    );
  });
});

describe('P15 the floor comes last', () => {
  const tight = group({ minIdleRunners: 2, maxActiveRunners: 3 });
  const slot = (nth: number, ordinal = 0): string => warm(nth, ordinal, tight);

  it('after runners at work', () => {
    const jobs = [running(1, slot(1)), running(2, slot(2))];

    expect(reasons(planScene({ groups: [tight], jobs }))).toEqual({
      [slot(1)]: 'busy',
      [slot(2)]: 'busy',
      [slot(1, 1)]: 'warm',
    });
    expect(emitted(planScene({ groups: [tight], jobs: [...jobs, running(3, named(tight, 3))] }))).toHaveLength(3);
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
    const planned = planScene({ groups: [{ ...pool, minIdleRunners: 1 }], ...both });

    expect(reasons(planned)).toEqual({ [warm(1)]: 'warm', [warm(2)]: 'drained' });
    expect(planScene({ groups: [{ ...pool, minIdleRunners: 0 }], ...both }).groups).toMatchObject([{ warm: 0 }]);
  });

  it('before spare runners', () => {
    const liveJobs = [live(named(tight, 8), 'running'), live(named(tight, 9), 'running')];
    const runners = [row(named(tight, 8)), row(named(tight, 9))];
    const planned = planScene({ groups: [tight], jobs: [running(1, 'someone-else')], liveJobs, runners });

    expect(planned.groups).toMatchObject([{ warm: 2, spare: 0 }]);
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
    const planned = planScene({ groups: [changed], jobs: [running(1, 'someone-else')], ...both });

    expect(planned.groups).toMatchObject([{ warm: 2, spare: 0 }]);
  });

  it('drops runners that are still starting', () => {
    const planned = planScene({ groups: [changed], liveJobs: [live(warm(1), 'starting')] });

    expect(reasons(planned)).toMatchObject({ [warm(1)]: 'replaced' });
  });

  it('a ready job still gets an idle runner of before', () => {
    expect(verdicts(planScene({ groups: [changed], jobs: [job(7)], ...both }))[7]).toContain('free-runner');
  });
});

describe('P15 a runner that no job needs any more', () => {
  const left = named(pool, 5);

  it('fills the pool, is not created again, and nothing else is started for its place', () => {
    const planned = planScene({ groups: [pool], ...join(idle(left), idle(warm(2))) });

    expect(emitted(planned)).toEqual([
      expect.objectContaining({ runner: warm(2), because: 'warm' }),
      expect.objectContaining({ runner: left, because: 'warm', skip: true, pinned: false }),
    ]);
    expect(emitted(planned)[0]).not.toHaveProperty('skip');
  });

  it('loses its pin when it has one', () => {
    const liveJobs = [live(left, 'running', { pinned: true }), live(warm(2), 'running')];
    const planned = planScene({ groups: [pool], runners: [row(left), row(warm(2))], liveJobs });

    const [, kept] = emitted(planned);
    expect(kept).toMatchObject({ runner: left, pinned: false });
    expect(kept).not.toHaveProperty('skip');
  });

  it('does not fill it when it is of an older template', () => {
    const old = named({ ...pool, templateHash: 't0' }, 5);

    expect(reasons(planScene({ groups: [pool], ...join(idle(old), idle(warm(2))) }))).toMatchObject({
      [old]: 'surplus',
    });
  });
});

describe('P15 doubt keeps an idle runner', () => {
  const minutesAgo = (minutes: number): number => NOW - minutes * 60_000;
  const old = live(warm(1), 'running', { createdAtMs: minutesAgo(60), runningSinceMs: minutesAgo(59) });
  const away = row(warm(1), { online: false });
  const one = { ...pool, minIdleRunners: 1 };
  /** A CI job of others that began half a minute ago: Gitea was up. */
  const giteaWasUp = running(1, 'someone-else', { startedAtMs: NOW - 30_000, labels: ['other'] });

  it('whose row is offline when Gitea may have been away', () => {
    expect(reasons(planScene({ groups: [one], runners: [away], liveJobs: [old] }))).toEqual({ [warm(1)]: 'warm' });
  });

  it('but not when Gitea was there to hear it', () => {
    const planned = planScene({ groups: [one], jobs: [giteaWasUp], runners: [away], liveJobs: [old] });

    expect(reasons(planned)).toEqual({ [warm(1)]: 'never-came', [warm(1, 1)]: 'warm' });
  });

  it('whose row nobody may list', () => {
    expect(reasons(planScene({ groups: [one], liveJobs: [old] }))).toEqual({ [warm(1)]: 'warm' });
  });

  it('but a job that it does not take gets another one after a spawn timeout', () => {
    const waits = (minutes: number) => job(7, { createdAtMs: minutesAgo(minutes) });

    expect(verdicts(planScene({ groups: [one], jobs: [waits(4)], liveJobs: [old] }))[7]).toContain('free-runner');
    expect(verdicts(planScene({ groups: [one], jobs: [waits(6)], liveJobs: [old] }))[7]).toContain('new-runner');
  });

  it('until it is seven days old', () => {
    const aged = (days: number) => [live(warm(1), 'running', { createdAtMs: minutesAgo(days * 1440) })];
    const at = (days: number) => planScene({ groups: [one], runners: [row(warm(1))], liveJobs: aged(days) });

    expect(reasons(at(6.9))).toEqual({ [warm(1)]: 'warm' });
    expect(reasons(at(7))).toEqual({ [warm(1)]: 'drained', [warm(1, 1)]: 'warm' });
  });
});

describe('P15 runners of a pool that fail', () => {
  const one = { ...pool, minIdleRunners: 1 };
  const failed = (ordinal: number, secondsAgo: number, over = {}) =>
    live(warm(1, ordinal), 'failed', {
      createdAtMs: NOW - secondsAgo * 1000 - 5_000,
      finishedAtMs: NOW - secondsAgo * 1000,
      ...over,
    });
  const because = (liveJobs: Scene['liveJobs'] = []) => reasons(planScene({ groups: [one], liveJobs }));

  it('are replaced at once, then after 10 s, and their records stay for that', () => {
    expect(because([failed(0, 1)])).toEqual({ [warm(1)]: 'back-off-record', [warm(1, 1)]: 'warm' });
    const twice = [failed(0, 30), failed(1, 9)];
    expect(because(twice)).toEqual({ [warm(1)]: 'back-off-record', [warm(1, 1)]: 'back-off-record' });
    expect(because([failed(0, 30), failed(1, 10)])).toMatchObject({ [warm(1, 2)]: 'warm' });
  });

  it('leave ten records at most, the newest', () => {
    const many = Array.from({ length: 12 }, (_, ordinal) => failed(ordinal, 400 + (12 - ordinal) * 60));
    const kept = Object.values(because(many));

    expect(kept.filter((reason) => reason === 'back-off-record')).toHaveLength(10);
    expect(because(many)).toMatchObject({
      [warm(1, 0)]: 'failed',
      [warm(1, 1)]: 'failed',
      [warm(1, 11)]: 'back-off-record',
    });
  });

  it('count for ten seconds when they may have had a CI job that Gitea has forgotten, however many they are', () => {
    const ended = (secondsAgo: number) =>
      [0, 1, 2, 3].map((ordinal) => ({ ...failed(ordinal, secondsAgo + ordinal), state: 'complete' as const }));

    expect(because(ended(9))).not.toHaveProperty(warm(1, 4));
    expect(because(ended(10))).toMatchObject({ [warm(1, 4)]: 'warm' });
  });

  it('leave none when the slot has a registered runner, the floor is lower, or the group is suspended', () => {
    const registered = join({ liveJobs: [failed(0, 60)] }, idle(warm(1, 1)));
    expect(reasons(planScene({ groups: [one], ...registered }))).toMatchObject({ [warm(1)]: 'failed' });
    for (const groups of [[{ ...one, minIdleRunners: 0 }], [{ ...one, suspend: true }]]) {
      expect(reasons(planScene({ groups, liveJobs: [failed(0, 60)] }))).toEqual({ [warm(1)]: 'failed' });
    }
  });

  it('are tried one at a time while all runners of the group fail, and a job comes first', () => {
    const trouble = { reason: 'RegistrationFailed' };
    const liveJobs = [1, 2, 3].map((id) =>
      live(named(pool, id), 'failed', { finishedAtMs: NOW - 200_000, createdAtMs: NOW - 300_000, trouble }),
    );

    expect(emittedNames(planScene({ groups: [pool], liveJobs }))).toEqual([warm(1)]);
    expect(emittedNames(planScene({ groups: [pool], jobs: [job(9)], liveJobs }))).toEqual([named(pool, 9)]);
  });
});

it('P15 two groups keep pools of their own', () => {
  const other = group({ name: 'other', minIdleRunners: 1 });

  expect(emittedNames(planScene({ groups: [pool, other] }))).toEqual([warm(1), warm(2), warm(1, 0, other)]);
});
