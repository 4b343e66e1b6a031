/** Laws P22 to P25 (docs/spec.md): limits besides the cap. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { matchesGlob } from '../../../src/config/policy/patterns.ts';
import type { Plan } from '../../../src/planner/decisions.ts';
import type { Group, Job, Limit, LiveJob } from '../../../src/planner/evidence.ts';
import { limitsBranch } from '../../../src/planner/limits.ts';
import { ORDINALS_SEARCHED } from '../../../src/planner/names.ts';
import {
  done,
  emittedNames,
  group,
  job,
  live,
  NOW,
  named,
  planScene,
  row,
  running,
  type Scene,
  servedIds,
  verdicts,
} from '../../support/scenario.ts';

const gpus: Limit = { key: 'limit gpus', name: 'gpus', most: 2 };
const perRepository: Limit = { key: 'runners/ci per repository', most: 1, per: 'repository' };
const perOrganization: Limit = { key: 'runners/ci per organization', most: 2, per: 'organization' };
const api = { repository: 'acme/api' };

describe('P22 a runner takes places under the cap and under each limit, and none has more than there are', () => {
  const one = group({ name: 'one', limits: [gpus] });
  const two = group({ name: 'two', labels: ['arm'], limits: [gpus] });

  it('counts the runners of all groups that share a limit', () => {
    const jobs = [running(1, named(one, 1)), job(2, { labels: ['arm'] }), job(3)];
    const liveJobs = [live(named(one, 1), 'running', { pinned: true })];

    const planned = planScene({ groups: [one, two], jobs, liveJobs });

    expect(verdicts(planned)).toMatchObject({ 2: `new-runner ${named(two, 2)}`, 3: 'limit' });
    expect(planned.jobs[2]).toMatchObject({ group: { name: 'one' }, limit: { name: 'gpus', most: 2 } });
  });

  it('counts the lowest number where groups say different ones', () => {
    const low = group({ name: 'two', limits: [{ ...gpus, most: 1 }] });
    const served = (...groups: readonly Group[]) =>
      servedIds(planScene({ groups, jobs: [job(1), job(2)], liveJobs: [] }));

    expect(served(one, low)).toEqual([1]);
    expect(served({ ...low, name: 'first' }, one)).toEqual([1]);
  });

  describe('further runners of one group leave less for another', () => {
    const twice = (of: Group, id: number) =>
      [0, 1].map((ordinal) => live(named(of, id, ordinal), 'failed', { finishedAtMs: NOW - 1_000 }));
    const idleOf = (of: Group, id: number) => live(named(of, id), 'starting');
    const withPool = { ...two, minIdleRunners: 2 };
    const warmOf = (scene: Scene) => planScene({ groups: [one, withPool], ...scene }).groups.map(({ warm }) => warm);
    const elsewhere = running(9, 'someone-else');

    it.each<[string, number, Scene]>([
      ['one is kept for a job that backs off', 1, { jobs: [job(1)], liveJobs: [...twice(one, 1), idleOf(one, 5)] }],
      ['one is kept for CI that goes on elsewhere', 1, { jobs: [elsewhere], liveJobs: [idleOf(one, 5)] }],
      ['none is kept', 2, { jobs: [], liveJobs: [] }],
    ])('which has a pool, while %s', (_, warm, scene) => {
      expect(warmOf(scene)).toEqual([0, warm]);
    });

    it('which has a job that backs off', () => {
      const liveJobs = [...twice(one, 1), idleOf(one, 5), ...twice(two, 2), idleOf(two, 6)];
      const jobs = [job(1), job(2, { labels: ['arm'] })];
      const told = (most: number) =>
        verdicts(
          planScene({ groups: [one, two].map((each) => ({ ...each, limits: [{ ...gpus, most }] })), jobs, liveJobs }),
        );

      expect(told(1)).toEqual({ 1: `free-runner ${named(one, 5)}`, 2: 'backing-off' });
      expect(told(2)).toEqual({ 1: `free-runner ${named(one, 5)}`, 2: `free-runner ${named(two, 6)}` });
    });

    it('but a job with a place counts once', () => {
      const liveJobs = [...twice(two, 2), idleOf(two, 6)];
      const jobs = [job(1), job(2, { labels: ['arm'] })];

      expect(verdicts(planScene({ groups: [one, two], jobs, liveJobs }))[2]).toBe(`free-runner ${named(two, 6)}`);
    });
  });

  it('does not hold back jobs of a group without the limit', () => {
    const other = group({ name: 'other', labels: ['arm'] });
    const jobs = [job(1), job(2), job(3), job(4, { labels: ['arm'] })];

    expect(servedIds(planScene({ groups: [one, other], jobs, liveJobs: [] }))).toEqual([1, 2, 4]);
  });

  it('passes a job on to the next group that covers it and has room under its own limits', () => {
    const wide = group({ name: 'wide', scope: 'global' });
    const planned = planScene({ groups: [one, wide], jobs: [job(1), job(2), job(3)], liveJobs: [] });

    expect(verdicts(planned)[3]).toBe(`new-runner ${named(wide, 3)}`);
  });

  it('counts a runner at work under the limit that its Job says, also when the group has it no more', () => {
    const former = group({ name: 'former', labels: ['arm'] });
    const jobs = [running(1, named(former, 1), { labels: ['arm'] }), job(2), job(3)];
    const liveJobs = [live(named(former, 1), 'running', { pinned: true, limits: ['nobody-has-it', 'gpus'] })];

    expect(servedIds(planScene({ groups: [one, former], jobs, liveJobs }))).toEqual([2]);
  });

  it('counts the weight that the Job says, also when the group weighs less now', () => {
    const jobs = [running(1, named(one, 1)), job(2)];
    const liveJobs = [live(named(one, 1), 'running', { pinned: true, weight: 2, limits: ['gpus'] })];

    expect(verdicts(planScene({ groups: [one], jobs, liveJobs }))[2]).toBe('limit');
  });

  it('counts Jobs of other Applications that say the limit, until they have ended', () => {
    const other = (name: string, state: 'running' | 'complete') =>
      live(name, state, { limits: ['gpus'], application: 'other', pinned: true });
    const scene = { groups: [one], jobs: [job(1), job(2)], application: 'mine' };

    expect(servedIds(planScene({ ...scene, liveJobs: [other('x', 'running')] }))).toEqual([1]);
    expect(servedIds(planScene({ ...scene, liveJobs: [other('x', 'complete')] }))).toEqual([1, 2]);
  });

  it('keeps the older of two runners that two Applications have started for the last place', () => {
    const mine = live(named(one, 1), 'starting', { createdAtMs: NOW - 5_000 });
    const rival = (createdAtMs: number) =>
      live('x', 'starting', { limits: ['gpus'], weight: 2, application: 'other', createdAtMs });
    const scene = { groups: [one], jobs: [job(1)], application: 'mine' };

    expect(servedIds(planScene({ ...scene, liveJobs: [mine, rival(NOW - 4_000)] }))).toEqual([1]);
    expect(servedIds(planScene({ ...scene, liveJobs: [mine, rival(NOW - 6_000)] }))).toEqual([]);
  });

  it('keeps the one with the first name of two that are of the same second', () => {
    const mine = live(named(one, 1), 'starting');
    const served = (name: string) =>
      servedIds(
        planScene({
          groups: [one],
          jobs: [job(1)],
          application: 'mine',
          liveJobs: [mine, live(name, 'starting', { limits: ['gpus'], weight: 2, application: 'other' })],
        }),
      );

    expect(served('x')).toEqual([1]);
    expect(served('a')).toEqual([]);
  });

  it('keeps the older of the two although a job that has no runner waits before it', () => {
    const rival = { limits: ['gpus'], application: 'other', createdAtMs: NOW - 4_000 };
    const liveJobs = [live(named(one, 2), 'starting'), live('x', 'starting', rival)];
    const groups = [{ ...one, limits: [{ ...gpus, most: 1 }] }];

    expect(servedIds(planScene({ groups, jobs: [job(1), job(2)], application: 'mine', liveJobs }))).toEqual([2]);
  });

  it.each([
    ['works, by its Job', { pinned: true }, []],
    ['works, by a CI job', {}, [running(9, 'x', { labels: ['other'] })]],
  ] as const)('gives up one that starts for a younger one of another Application that %s', (_, over, jobs) => {
    const mine = live(named(one, 1), 'starting');
    const rival = { limits: ['gpus'], weight: 2, application: 'other', createdAtMs: NOW - 4_000 };
    const liveJobs = [mine, live('x', 'running', { ...rival, ...over })];

    expect(servedIds(planScene({ groups: [one], jobs: [job(1), ...jobs], application: 'mine', liveJobs }))).toEqual([]);
  });

  it('starts none for a place that another Application has, and takes of younger ones only what they weigh', () => {
    const rival = (name: string, createdAtMs: number) =>
      live(name, 'starting', { limits: ['gpus'], application: 'other', createdAtMs });
    const heavy = group({ name: 'one', limits: [gpus], weight: 2 });
    const mine = live(named(heavy, 1), 'starting');
    const rivals = [rival('x', NOW - 11_000), rival('y', NOW - 9_000)];
    const served = (liveJobs: readonly LiveJob[]) =>
      servedIds(planScene({ groups: [heavy], jobs: [job(1)], application: 'mine', liveJobs }));

    expect(served([mine, ...rivals])).toEqual([]);
    expect(served([mine, ...rivals.slice(1)])).toEqual([1]);
    expect(served(rivals.slice(1))).toEqual([]);
  });

  it('keeps no warm pool beyond a limit that groups share', () => {
    const pools = [one, two].map((each) => ({ ...each, minIdleRunners: 2 }));

    expect(emittedNames(planScene({ groups: pools, liveJobs: [] }))).toHaveLength(2);
    expect(emittedNames(planScene({ groups: pools.slice(0, 1), liveJobs: [] }))).toHaveLength(2);
    const heavy = { ...one, weight: 4, minIdleRunners: 1 };
    const light = { ...two, minIdleRunners: 5 };
    const groups = [heavy, light].map((each) => ({ ...each, limits: [{ ...gpus, most: 6 }] }));
    expect(emittedNames(planScene({ groups, liveJobs: [] }))).toHaveLength(3);
  });

  describe('where an older job of another group needs the place of a runner that lives', () => {
    const arm = { labels: ['arm'] };
    const idle = named(two, 4);
    const served = (groups: readonly Group[], ...more: readonly LiveJob[]) => {
      const jobs = [job(1), job(2), job(4, arm), job(5, arm)];
      return servedIds(planScene({ groups, jobs, liveJobs: [live(idle, 'starting'), ...more] }));
    };

    it('keeps those that live for one job each, and gives what is left to the oldest', () => {
      const spare = named(two, 9);

      expect(served([one, two])).toEqual([1, 4]);
      expect(served([one, two], live(spare, 'starting'))).toEqual([4, 5]);
    });

    it('does the same beside a group that shares nothing, and one with a limit per repository', () => {
      const other = group({ name: 'other', labels: ['mac'] });
      const jobs = [job(1), job(2), job(3, { labels: ['mac'] }), job(4, arm)];
      const liveJobs = [live(idle, 'starting'), live(named(other, 3), 'starting')];
      const limited = { ...one, limits: [gpus, { ...perRepository, most: 9 }] };

      expect(servedIds(planScene({ groups: [one, two, other], jobs, liveJobs }))).toEqual([1, 3, 4]);
      expect(servedIds(planScene({ groups: [limited, two, other], jobs, liveJobs }))).toEqual([1, 3, 4]);
    });

    it('gives it up where Gitea must not have the choice: with a limit per repository the oldest comes first', () => {
      const limits = [gpus, { ...perRepository, most: 9 }];
      const groups = [one, two].map((each) => ({ ...each, limits }));

      expect(served(groups)).toEqual([1, 2]);
    });
  });
});

describe('P23 sizes of a group share its cap, and each runner takes the weight of its size', () => {
  const base = group({ maxActiveRunners: 5 });
  const large = group({
    maxActiveRunners: 5,
    size: 'large',
    weight: 4,
    labels: ['linux', 'large'],
    templateHash: 'big',
  });
  const groups = [base, large];
  const big = { labels: ['linux', 'large'] };

  it('serves a job that asks for a size by a runner of that size, and no other job', () => {
    const planned = planScene({ groups, jobs: [job(1, big), job(2)], liveJobs: [] });

    expect(verdicts(planned)).toEqual({ 1: `new-runner ${named(large, 1)}`, 2: `new-runner ${named(base, 2)}` });
    const [first, second] = planned.runners;
    expect([first, second].map((each) => each?.runner)).toEqual([named(large, 1), named(base, 2)]);
    expect(first).toMatchObject({ size: 'large', weight: 4 });
    expect(second).not.toHaveProperty('size');
  });

  it('is one group in the counts', () => {
    const planned = planScene({ groups, jobs: [job(1, big), job(2)], liveJobs: [] });

    expect(planned.groups).toMatchObject([{ group: { name: 'ci' }, cap: 5, waiting: 2 }]);
  });

  it('counts the runners of all sizes, and the pool of the group', () => {
    const all = { maxActiveRunners: 50, keepFailedMs: 600_000 };
    const pooled = [group({ ...all, minIdleRunners: 1 }), { ...large, ...all }];
    const size = { size: 'large', weight: 4 };
    const at = (id: number, of: Group, over: Partial<LiveJob> = {}) =>
      live(named(of, id), 'running', { pinned: true, ...over });
    const failed = { conclusion: 'failure' } as const;
    const jobs = [
      running(1, named(base, 1)),
      running(2, named(large, 2), big),
      done(3, named(base, 3), failed),
      done(4, named(large, 4), { ...big, ...failed }),
      done(5, 'other', big),
      running(6, 'another', big),
    ];
    const liveJobs = [
      at(1, base),
      at(2, large, size),
      at(3, base),
      at(4, large, size),
      live(named(large, 5), 'starting', size),
    ];
    const free = [8, 9].map((id) => live(named(base, id), 'starting'));

    const { groups: told } = planScene({ groups: pooled, jobs, liveJobs: [...liveJobs, ...free] });

    expect(told).toMatchObject([{ busy: 2, debugging: 2, warm: 1, spare: 2, minIdle: 1 }]);
  });

  it('says in a Job what its size and limits are, and nothing else', () => {
    const many = { ...perRepository, most: 9 };
    const told = (of: Partial<Group>) => {
      const [decision] = planScene({ groups: [group(of)], jobs: [job(1)], liveJobs: [] }).runners;
      return decision?.emit
        ? { weight: decision.weight, limits: decision.limits, has: 'limits' in decision }
        : undefined;
    };

    expect(told({ limits: [gpus, many], weight: 2 })).toEqual({ weight: 2, limits: ['gpus'], has: true });
    expect(told({ limits: [many] })).toEqual({ weight: undefined, limits: undefined, has: false });
  });

  it('holds back what the cap has no room for', () => {
    const jobs = [job(1, big), job(2), job(3)];

    expect(verdicts(planScene({ groups, jobs, liveJobs: [] }))[3]).toBe('cap');
  });

  it('lets no younger job pass a heavy one that waits for room', () => {
    const jobs = [running(1, named(base, 1)), running(2, named(base, 2)), job(3, big), job(4)];
    const liveJobs = [1, 2].map((id) => live(named(base, id), 'running', { pinned: true }));

    expect(verdicts(planScene({ groups, jobs, liveJobs }))).toMatchObject({ 3: 'cap', 4: 'cap' });
  });

  it('keeps a runner that lives for a younger job, when an older heavy one has no room', () => {
    const jobs = [running(1, named(base, 1)), job(2, big), job(3), job(4)];
    const liveJobs = [live(named(base, 1), 'running', { pinned: true }), live(named(base, 4), 'starting')];

    expect(verdicts(planScene({ groups, jobs, liveJobs }))).toMatchObject({
      2: 'cap',
      3: 'cap',
      4: `own-runner ${named(base, 4)}`,
    });
  });

  it('keeps one that was made for a job that another runner has taken, as long as a job waits that it can serve', () => {
    const jobs = [running(1, named(large, 2), big), job(2, big), job(3)];
    const orphan = named(base, 1);
    const liveJobs = [
      live(named(large, 2), 'running', { pinned: true, size: 'large', weight: 4 }),
      live(orphan, 'starting'),
    ];
    const seen = (jobs: readonly Job[]) => verdicts(planScene({ groups, jobs, liveJobs }));

    expect(seen(jobs)).toMatchObject({ 2: 'cap', 3: `free-runner ${orphan}` });
    expect(emittedNames(planScene({ groups, jobs: jobs.slice(0, 2), liveJobs }))).toEqual([named(large, 2)]);
  });

  it('leaves a runner that lives to the job that it was made for, when an older one of a wider group could have it', () => {
    const team: Limit = { key: 'limit team', name: 'team', most: 1 };
    const narrow = group({ name: 'narrow', limits: [team] });
    const wide = group({ name: 'wide', scope: 'global', labels: ['linux', 'arm'], limits: [team] });
    const jobs = [job(1), job(2, { labels: ['arm'] })];
    const liveJobs = [live(named(wide, 2), 'starting')];

    expect(verdicts(planScene({ groups: [narrow, wide], jobs, liveJobs }))).toEqual({
      1: 'limit',
      2: `own-runner ${named(wide, 2)}`,
    });
  });

  describe('where the runner of a heavy job has begun another one', () => {
    const [light, heavy] = [base, large].map((each) => ({ ...each, maxActiveRunners: 4 })) as [Group, Group];
    const seen = (other: Partial<Job>) => {
      const jobs = [job(2, big), job(3), done(1, named(heavy, 2), { createdAtMs: NOW - 10_000, ...other })];
      return servedIds(planScene({ groups: [light, heavy], jobs, liveJobs: [] }));
    };

    it('lets others pass when that one is younger, for half an hour: Gitea may give the heavy one to nobody', () => {
      expect(seen({})).toEqual([3]);
      expect(seen({ startedAtMs: NOW - 1_799_999 })).toEqual([3]);
      expect(seen({ startedAtMs: NOW - 1_800_000 })).toEqual([2]);
    });

    it('does not when that one is as old or older', () => {
      expect(seen({ createdAtMs: job(2).createdAtMs + 1 })).toEqual([3]);
      expect(seen({ createdAtMs: job(2).createdAtMs })).toEqual([2]);
    });

    it('nor when it has not begun any', () => {
      const [two, four] = [light, heavy] as const;
      const liveJobs = [live(named(four, 2), 'complete', { size: 'large', weight: 4 })];

      expect(servedIds(planScene({ groups: [two, four], jobs: [job(2, big), job(3)], liveJobs }))).toEqual([2]);
    });

    it('nor in a suspended group', () => {
      const groups = [light, heavy].map((each) => ({ ...each, suspend: true }));
      const jobs = [job(2, big), done(1, named(heavy, 2), { createdAtMs: NOW - 10_000 })];

      expect(verdicts(planScene({ groups, jobs, liveJobs: [] }))[2]).toBe('suspended');
    });

    it('nor when the job is light: its runner takes no more places than another one', () => {
      const jobs = [job(2), job(3), done(1, named(base, 2), { createdAtMs: NOW - 10_000 })];
      const [one, other] = [light, heavy].map((each) => ({ ...each, maxActiveRunners: 1 })) as [Group, Group];

      expect(servedIds(planScene({ groups: [one, other], jobs, liveJobs: [] }))).toEqual([2]);
    });
  });

  it('knows the size of a runner by its Job, else by the labels that it registered with', () => {
    const jobs = [running(1, named(large, 1)), job(2), job(3)];
    const runners = [row(named(large, 1), { busy: true, labels: ['linux', 'large'] })];
    const liveJobs = [live(named(large, 1), 'running', { pinned: true, size: 'large', weight: 4 })];

    expect(servedIds(planScene({ groups, jobs, runners, liveJobs }))).toEqual([2]);
    expect(servedIds(planScene({ groups, jobs, runners, liveJobs: [] }))).toEqual([2]);
  });

  it('takes no runner for one of another group that has a size of this name', () => {
    const arm = group({ name: 'other', labels: ['arm'] });
    const largeArm = group({ name: 'other', labels: ['arm', 'large'], size: 'large', weight: 4, templateHash: 'arm' });
    const name = named(largeArm, 1);
    const scene = {
      groups: [...groups, arm, largeArm],
      jobs: [running(1, name, { labels: ['arm', 'large'] })],
      liveJobs: [live(name, 'running', { pinned: true, size: 'large', weight: 4 })],
    };

    expect(planScene(scene).runners).toMatchObject([
      { group: { name: 'other' }, because: 'busy', size: 'large', weight: 4 },
    ]);
  });

  it('takes no runner for one of a group of this name in another namespace', () => {
    const elsewhere = [base, { ...large, weight: 2 }].map((each) => ({ ...each, namespace: 'team-b' }));
    const name = named(elsewhere[1] as Group, 1);
    const liveJobs = [live(name, 'running', { namespace: 'team-b', pinned: true, size: 'large', weight: 2 })];
    const planned = planScene({ groups: [...groups, ...elsewhere], jobs: [running(1, name, big)], liveJobs });

    expect(planned.runners).toMatchObject([{ group: { namespace: 'team-b' }, size: 'large', weight: 2 }]);
  });

  it('gives a job that asks for two sizes to the first by name, in whatever order they are written', () => {
    const both = { labels: ['linux', 'large', 'small'] };
    const [one, two] = [large, group({ size: 'small', templateHash: 'small' })].map((of) => ({ ...of, ...both }));
    if (!one || !two) throw new Error('no sizes');
    const jobs = [job(1, both), job(2)];
    const plans = [
      [base, one, two],
      [two, one, base],
    ].map((of) => planScene({ groups: of, jobs, liveJobs: [] }));

    expect(verdicts(plans[0] as Plan)[1]).toBe(`new-runner ${named(large, 1)}`);
    expect(plans[1]).toEqual(plans[0]);
  });

  it('still counts the weight of a runner at work whose size is gone', () => {
    const jobs = [running(1, named(large, 1)), job(2), job(3)];
    const liveJobs = [live(named(large, 1), 'running', { pinned: true, size: 'large', weight: 4 })];

    const planned = planScene({ groups: [base], jobs, liveJobs });

    expect(servedIds(planned)).toEqual([2]);
    expect(emittedNames(planned)).toContain(named(large, 1));
  });

  it('gives no job without a size to a runner of a size, when those without one back off', () => {
    const failed = [0, 1].map((ordinal) =>
      live(named(base, 1, ordinal), 'failed', { finishedAtMs: NOW - 1_000, trouble: { reason: 'Error' } }),
    );

    expect(verdicts(planScene({ groups, jobs: [job(1)], liveJobs: failed }))[1]).toBe('backing-off');
  });

  it('waits for the runner of a size, however many runners of its job have taken other jobs', () => {
    const made = Array.from({ length: ORDINALS_SEARCHED + 3 }, (_each, ordinal) => named(large, 1, ordinal));
    const coming = made.at(-1) as string;
    const jobs = [job(1, big), ...made.slice(0, -1).map((runner, id) => done(id + 2, runner))];
    const liveJobs = [live(coming, 'starting', { size: 'large', weight: 4 })];

    expect(verdicts(planScene({ groups, jobs, liveJobs }))[1]).toBe(`own-runner ${coming}`);
  });
});

describe('P24 the free runners fit under a limit per repository, whichever jobs Gitea gives them', () => {
  const limited = group({ limits: [perRepository] });
  const atWork = [running(1, named(limited, 1))];
  const liveJobs = [live(named(limited, 1), 'running', { pinned: true })];

  it('holds back a second job of a repository, and says for which one the limit is', () => {
    const planned = planScene({ groups: [limited], jobs: [...atWork, job(2)], liveJobs });

    const [, held] = planned.jobs;
    expect(held).toMatchObject({ because: 'limit' });
    expect(held && 'limit' in held && held.limit).toStrictEqual({ most: 1, of: 'acme/web' });
  });

  it('keeps no idle runner that no job needs: Gitea would give it to any', () => {
    const kept = (of: Group) =>
      planScene({ groups: [of], jobs: [running(9, 'someone-else')], liveJobs: [live(named(of, 5), 'starting')] })
        .groups;

    expect(kept(group())).toMatchObject([{ spare: 1 }]);
    expect(kept(group({ limits: [{ ...perRepository, most: 9 }] }))).toMatchObject([{ spare: 0 }]);
  });

  it('starts no runner for any job while one waits whose repository has no place', () => {
    const jobs = [...atWork, job(2, api), job(3), job(4, { repository: 'acme/docs' })];
    const planned = planScene({ groups: [limited], jobs, liveJobs });

    expect(servedIds(planned)).toEqual([]);
    for (const { job, ...decision } of planned.jobs.slice(1))
      expect(decision, `job ${job.id}`).toMatchObject({ because: 'limit', limit: { of: 'acme/web' } });
  });

  it('has as many free runners as the limit has left, while more jobs wait than that', () => {
    const two = group({ limits: [{ ...perRepository, most: 2 }] });
    const seen = (...jobs: readonly Job[]) => servedIds(planScene({ groups: [two], jobs, liveJobs: [] }));

    expect(seen(job(1, api), job(2), job(3, { repository: 'acme/docs' }), job(4))).toEqual([1, 2, 3, 4]);
    expect(seen(job(1, api), job(2), job(3, { repository: 'acme/docs' }), job(4), job(5))).toEqual([1, 2]);
  });

  it('has as many as the limit that has the least left', () => {
    const two = group({ limits: [{ ...perRepository, most: 2 }] });
    const docs = { repository: 'acme/docs' };
    const jobs = [running(1, named(two, 1)), job(2, docs), job(3, docs), job(4, docs), job(5), job(6)];
    const planned = planScene({ groups: [two], jobs, liveJobs });

    expect(servedIds(planned)).toEqual([2]);
    expect(planned.jobs[2]).toMatchObject({ because: 'limit', limit: { of: 'acme/web' } });
  });

  it('says the limit of its own repository to a job that this one holds back, too', () => {
    const jobs = [...atWork, job(2, api), job(3, api), job(4)];
    const busy = [running(5, named(limited, 5), api)];
    const planned = planScene({ groups: [limited], jobs: [...jobs, ...busy], liveJobs });

    expect(planned.jobs.find((each) => each.job.id === 3)).toMatchObject({ limit: { of: 'acme/api' } });
    expect(planned.jobs.find((each) => each.job.id === 4)).toMatchObject({ limit: { of: 'acme/web' } });
  });

  it('keeps the runners that were started for jobs that wait, and starts none beside them', () => {
    const own = live(named(limited, 2), 'starting');
    const jobs = [...atWork, job(2, api), job(3), job(4, { repository: 'acme/docs' })];
    const planned = planScene({ groups: [limited], jobs, liveJobs: [...liveJobs, own] });

    expect(emittedNames(planned)).toEqual([named(limited, 1), own.name]);
    expect(servedIds(planned)).toEqual([2]);
  });

  it('does the same beside other groups, and gives no such runner to an older job without room', () => {
    const arm = group({ name: 'arm', labels: ['arm'] });
    const own = live(named(limited, 3), 'starting');
    const jobs = [...atWork, job(2), job(3, api), job(4, { repository: 'acme/docs' })];

    expect(servedIds(planScene({ groups: [arm, limited], jobs, liveJobs: [...liveJobs, own] }))).toEqual([3]);
  });

  it('keeps as many runners of one repository as that has room for', () => {
    const two = group({ limits: [{ ...perRepository, most: 2 }] });
    const jobs = [job(1), job(2), job(3, api), job(4), job(5, { repository: 'acme/docs' })];
    const own = [1, 2, 3].map((id) => live(named(two, id), 'starting'));

    expect(servedIds(planScene({ groups: [two], jobs, liveJobs: own }))).toEqual([1, 2, 3]);
  });

  it('gives the runner of a job without room to no other job: Gitea could give it to that one', () => {
    const [first, second] = [live(named(limited, 3), 'starting'), live(named(limited, 4), 'starting')];
    const docs = { repository: 'acme/docs' };
    const seen = (...jobs: readonly Job[]) =>
      servedIds(planScene({ groups: [limited], jobs, liveJobs: [...liveJobs, first, second] }));

    expect(seen(...atWork, job(2, api), job(3))).toEqual([]);
    expect(seen(job(2, api), job(3, docs), job(4, docs))).toEqual([2]);
  });

  it('counts a living runner of a job that waits as one of those that there is room for', () => {
    const two = group({ limits: [{ ...perRepository, most: 2 }] });
    const jobs = [job(1), job(2, api), job(3), job(4)];
    const own = live(named(two, 2), 'starting');

    expect(servedIds(planScene({ groups: [two], jobs, liveJobs: [own] }))).toEqual([1, 2]);
  });

  it('drops an idle runner that a job over the limit would get', () => {
    const idle = named(limited, 9);
    const planned = planScene({
      groups: [limited],
      jobs: [...atWork, job(2)],
      runners: [row(idle)],
      liveJobs: [...liveJobs, live(idle, 'running')],
    });

    expect(emittedNames(planned)).toEqual([named(limited, 1)]);
    expect(planned.runners.find(({ runner }) => runner === idle)).toMatchObject({ emit: false, because: 'surplus' });
  });

  it('keeps no runner idle meanwhile', () => {
    const pool = { ...limited, minIdleRunners: 1 };

    expect(emittedNames(planScene({ groups: [pool], jobs: [...atWork, job(2)], liveJobs }))).toEqual([
      liveJobs[0]?.name,
    ]);
    expect(emittedNames(planScene({ groups: [pool], jobs: atWork, liveJobs }))).toHaveLength(2);
  });

  it('does not stop a group of another owner', () => {
    const other = group({ name: 'other', look: 'other', limits: [perRepository] });
    const looks = {
      acme: { jobs: [...atWork, job(2)], runners: [] },
      other: { jobs: [job(3, { repository: 'other/x' })], runners: [] },
    };

    expect(servedIds(planScene({ groups: [limited, other], looks, liveJobs }))).toEqual([3]);
  });

  it('does not count a pod that cannot start as in the way of a job that waits for its organization', () => {
    const ofOwner = group({ limits: [perOrganization] });
    const stuck = live(named(ofOwner, 2), 'starting', {
      createdAtMs: NOW - 900_000,
      trouble: { reason: 'Unschedulable' },
    });

    expect(
      servedIds(planScene({ groups: [ofOwner], jobs: [...atWork, job(2), job(3)], liveJobs: [...liveJobs, stuck] })),
    ).toEqual([2]);
  });

  it('does not stop another group whose runners cannot take the job', () => {
    const arm = group({ name: 'arm', labels: ['arm'] });
    const jobs = [...atWork, job(2), job(3, { labels: ['arm'] })];

    expect(servedIds(planScene({ groups: [limited, arm], jobs, liveJobs }))).toEqual([3]);
  });

  it('counts a repository without regard to case, and an organization with all its repositories', () => {
    const ofOwner = group({ limits: [perOrganization] });
    const jobs = [job(1, { repository: 'Acme/web' }), job(2, api), job(3), job(4, { repository: 'other/x' })];

    expect(servedIds(planScene({ groups: [ofOwner], jobs, liveJobs: [] }))).toEqual([1, 2]);
    expect(servedIds(planScene({ groups: [ofOwner], jobs: jobs.slice(1), liveJobs: [] }))).toEqual([2, 3, 4]);
  });

  it('lets a runner of which nobody knows the repository count for all', () => {
    const finishing = [row(named(limited, 7), { busy: true })];
    const planned = planScene({
      groups: [limited],
      jobs: [job(8)],
      runners: finishing,
      liveJobs: [live(named(limited, 7), 'running', { pinned: true })],
    });

    expect(verdicts(planned)[8]).toBe('limit');
  });

  it('counts a runner for the repository that its Job says, when nobody knows its CI job', () => {
    const busy = live(named(limited, 7), 'running', { pinned: true, repository: 'acme/web' });
    const runners = [row(busy.name, { busy: true })];
    const served = (over: Partial<Job>) =>
      servedIds(planScene({ groups: [limited], jobs: [job(8, over)], runners, liveJobs: [busy] }));

    expect(served({})).toEqual([]);
    expect(served(api)).toEqual([8]);
  });

  it('counts a job without a size as heavy as the largest runner that a job asks for', () => {
    const most: Limit = { ...perRepository, most: 3 };
    const base = group({ limits: [most] });
    const big = { size: 'large', weight: 3, labels: ['linux', 'large'], templateHash: 'big' };
    const large = group({ limits: [most], ...big });
    const huge = group({ limits: [most], ...big, size: 'huge', labels: ['linux', 'huge'] });
    const ofApi = job(2, { ...api, labels: ['linux', 'large'] });
    const seen = (...jobs: readonly Job[]) =>
      servedIds(planScene({ groups: [huge, base, large], jobs: [job(1), ...jobs], liveJobs: [] }));

    expect(seen(ofApi)).toEqual([1, 2]);
    expect(seen(ofApi, job(3))).toEqual([1]);
    expect(seen(job(3), job(4))).toEqual([1, 3, 4]);
    expect(seen(job(3), job(4), job(5))).toEqual([1, 3, 4]);
  });

  it('counts a job with a size as heavy as that', () => {
    const limits = [{ ...perRepository, most: 4 }];
    const base = group({ limits });
    const large = group({ limits, size: 'large', weight: 2, labels: ['linux', 'large'], templateHash: 'large' });
    const huge = group({ limits, size: 'huge', weight: 4, labels: ['linux', 'huge'], templateHash: 'huge' });
    const big = { labels: ['linux', 'large'] };
    const jobs = [job(1, big), job(2, big), job(3, { ...api, labels: ['linux', 'huge'] })];

    expect(servedIds(planScene({ groups: [base, huge, large], jobs, liveJobs: [] }))).toEqual([1, 2, 3]);
  });

  it('counts all sizes of a group together', () => {
    const most: Limit = { ...perRepository, most: 3 };
    const base = group({ limits: [most] });
    const large = group({ limits: [most], size: 'large', weight: 2, labels: ['linux', 'large'], templateHash: 'big' });
    const big = { labels: ['linux', 'large'] };
    const seen = (...jobs: readonly Job[]) => servedIds(planScene({ groups: [base, large], jobs, liveJobs: [] }));

    expect(seen(job(1, big), job(2, api), job(3, { repository: 'acme/docs' }), job(4, big))).toEqual([1, 2]);
    expect(seen(job(1, big), job(2, api), job(3, { repository: 'acme/docs' }))).toEqual([1, 2, 3]);
  });
});

describe('P24 of a limit for branches', () => {
  const ofBranches: Limit = { key: 'runners/ci per ,main,release/*', most: 1, branches: ['main', 'release/*'] };
  const limited = group({ limits: [ofBranches] });
  const on = (branch: string, over: Partial<Job> = {}): Partial<Job> => ({ branch, ...over });
  const atWork = (branch: string) => [running(1, named(limited, 1), on(branch))];
  const liveJobs = [live(named(limited, 1), 'running', { pinned: true })];

  it('counts jobs of these branches together, of all repositories, and says which branches', () => {
    const planned = planScene({ groups: [limited], jobs: [...atWork('main'), job(2, on('release/1', api))], liveJobs });

    expect(planned.jobs[1]).toMatchObject({ because: 'limit', limit: { most: 1, branches: ['main', 'release/*'] } });
    expect(planned.jobs[1]).not.toHaveProperty('limit.of');
  });

  it('starts no runner for jobs of other branches, and of none, while one is held', () => {
    const others = [job(2, on('fix')), job(3, on(''))];
    const held = [...atWork('main'), ...others, job(4, on('main'))];

    expect(servedIds(planScene({ groups: [limited], jobs: held, liveJobs }))).toEqual([]);
    expect(servedIds(planScene({ groups: [limited], jobs: [...atWork('main'), ...others], liveJobs }))).toEqual([2, 3]);
  });

  it('does not count runners at work for other branches', () => {
    for (const branch of ['fix', 'release/1/2', ''])
      expect(
        servedIds(planScene({ groups: [limited], jobs: [...atWork(branch), job(2, on('main'))], liveJobs })),
      ).toEqual([2]);
  });

  it('drops an idle runner that the job over the limit would get', () => {
    const idle = named(limited, 9);
    const jobs = [...atWork('main'), job(2, on('main'))];
    const lives = [...liveJobs, live(idle, 'running')];

    expect(emittedNames(planScene({ groups: [limited], jobs, runners: [row(idle)], liveJobs: lives }))).toEqual([
      named(limited, 1),
    ]);
  });

  it('counts a job and a runner of which nobody knows the branch', () => {
    const unknown = [running(1, named(limited, 1))];

    expect(verdicts(planScene({ groups: [limited], jobs: [...unknown, job(2, on('main'))], liveJobs }))[2]).toBe(
      'limit',
    );
    expect(verdicts(planScene({ groups: [limited], jobs: [...atWork('main'), job(2)], liveJobs }))[2]).toBe('limit');
    const finishing = { runners: [row(named(limited, 1), { busy: true })], liveJobs };
    expect(verdicts(planScene({ groups: [limited], jobs: [job(2, on('main'))], ...finishing }))[2]).toBe('limit');
    expect(servedIds(planScene({ groups: [limited], jobs: [job(2, on('fix'))], ...finishing }))).toEqual([2]);
  });

  it('counts each repository alone where it is also per repository', () => {
    const each = group({ limits: [{ ...ofBranches, per: 'repository' }] });
    const jobs = [...atWork('main'), job(2, on('main', api)), job(3, on('fix'))];
    const seen = (...more: readonly Job[]) => planScene({ groups: [each], jobs: [...jobs, ...more], liveJobs });

    expect(servedIds(seen())).toEqual([2, 3]);
    expect(seen(job(4, on('release/1'))).jobs[3]).toMatchObject({
      limit: { of: 'acme/web', branches: ['main', 'release/*'] },
    });
  });

  it('lets a job take a place under each limit of its branch', () => {
    const all: Limit = { key: 'all', most: 2, branches: ['**'] };
    const both = group({ limits: [{ ...ofBranches, most: 2 }, all] });
    const jobs = [...atWork('main'), job(2, on('fix')), job(3, on(''))];

    expect(servedIds(planScene({ groups: [both], jobs, liveJobs }))).toEqual([2, 3]);
    expect(verdicts(planScene({ groups: [both], jobs: [...jobs, job(4, on('main'))], liveJobs }))[4]).toBe('limit');
  });

  it('does not count a pod that cannot start as in the way of a job that waits for its branch', () => {
    const two = group({ limits: [{ ...ofBranches, most: 2 }] });
    const stuck = live(named(two, 2), 'starting', { createdAtMs: NOW - 900_000, trouble: { reason: 'Unschedulable' } });
    const jobs = [...atWork('main'), job(2, on('main')), job(3, on('main'))];

    expect(servedIds(planScene({ groups: [two], jobs, liveJobs: [...liveJobs, stuck] }))).toEqual([2]);
  });
});

describe('a branch fits a pattern', () => {
  it.each<[string, string, boolean]>([
    ['main', 'main', true],
    ['main', 'Main', false],
    ['main', 'main2', false],
    ['main', 'domain', false],
    ['release/*', 'release/1', true],
    ['release/*', 'release/', true],
    ['release/*', 'release', false],
    ['release/*', 'release/1/a', false],
    ['release/**', 'release/1/a', true],
    ['*-fix', 'a-fix', true],
    ['*-fix', 'b/a-fix', false],
    ['**-fix', 'b/a-fix', true],
    ['ab*ba', 'aba', false],
    ['ab*ba', 'abba', true],
    ['ab*ba', 'ab/ba', false],
    ['a/*/b', 'a/x/b', true],
    ['*', 'main', true],
    ['*', 'a/b', false],
    ['**', 'a/b', true],
    ['**', '', false],
    ['a.c', 'abc', false],
  ])('%s and %s: %s', (pattern, branch, fits) => {
    expect(limitsBranch({ branches: ['other', pattern] }, branch)).toBe(fits);
  });

  it('as the patterns of a policy do, where there is one star', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', '/'), maxLength: 6 });
    const pattern = fc.tuple(letters, fc.constantFrom('', '*', '**'), letters).map((parts) => parts.join(''));

    fc.assert(
      fc.property(pattern, letters.filter(Boolean), (glob, branch) => {
        expect(limitsBranch({ branches: [glob] }, branch)).toBe(matchesGlob(glob, branch));
      }),
    );
  });

  it('always where nobody knows the branch, or the limit is for all', () => {
    expect(limitsBranch({ branches: ['main'] }, undefined)).toBe(true);
    expect(limitsBranch({}, '')).toBe(true);
  });
});

describe('P25 no job waits for ever for limits that never have room at the same moment', () => {
  const team: Limit = { key: 'limit team', name: 'team', most: 2 };
  const one = group({ name: 'one', maxActiveRunners: 1, limits: [team] });
  const two = group({ name: 'two', labels: ['arm'], limits: [team] });
  const busy = running(1, named(one, 1));
  const liveJobs = [live(named(one, 1), 'running', { pinned: true })];
  const young = job(3, { labels: ['arm'] });

  it('does not stop a job that needs another limit only', () => {
    expect(servedIds(planScene({ groups: [one, two], jobs: [busy, job(2), young], liveJobs }))).toEqual([3]);
  });

  it('keeps the place of the first in line when that one has waited half an hour', () => {
    const old = job(2, { createdAtMs: NOW - 1_800_000 });

    expect(servedIds(planScene({ groups: [one, two], jobs: [busy, old, young], liveJobs }))).toEqual([]);
  });

  it('keeps nothing for those behind it', () => {
    const jobs = [busy, job(2, { createdAtMs: NOW - 1_800_001 }), job(4, { createdAtMs: NOW - 1_800_000 }), young];
    const wider = { ...team, most: 3 };
    const groups = [one, two].map((each) => ({ ...each, limits: [wider] }));

    expect(servedIds(planScene({ groups, jobs, liveJobs }))).toEqual([3]);
  });

  describe('where a job is given to no runner', () => {
    const single = { ...team, most: 1 };
    const groups = [one, two].map((each) => ({ ...each, limits: [single] }));
    const sinceMs = NOW - 400_000;
    const never = job(2, { createdAtMs: sinceMs });
    const own = named(one, 2);
    const idle = (ageMs: number) => ({
      runners: [row(own)],
      liveJobs: [live(own, 'running', { createdAtMs: NOW - ageMs, runningSinceMs: NOW - ageMs })],
    });

    it('gives its place to a job of another group, when its runner has been idle for a spawn timeout', () => {
      const seen = (ageMs: number) => servedIds(planScene({ groups, jobs: [never, young], ...idle(ageMs) }));

      expect(seen(299_000)).toEqual([2]);
      expect(seen(300_000)).toEqual([3]);
    });

    it('does not take the place back while the runner of the other job starts', () => {
      const liveJobs = [live(named(two, 3), 'starting')];

      expect(servedIds(planScene({ groups, jobs: [never, young], liveJobs }))).toEqual([3]);
      expect(servedIds(planScene({ groups, jobs: [never, young], liveJobs: [] }))).toEqual([2]);
    });
  });
});
