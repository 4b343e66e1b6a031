/** Laws P22 to P25 (docs/spec.md): limits besides the cap. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { matchesGlob } from '../../../src/config/policy/policy-patterns.ts';
import type { Group, Job, Limit, LiveJob } from '../../../src/planner/evidence.ts';
import { limitsBranch } from '../../../src/planner/limits.ts';
import { ORDINALS_SEARCHED } from '../../../src/planner/names.ts';
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

const gpus: Limit = { key: 'limit gpus', name: 'gpus', most: 2 };
const perRepository: Limit = { key: 'runners/ci per repository', most: 1, per: 'repository' };
const perOrganization: Limit = { key: 'runners/ci per organization', most: 2, per: 'organization' };
const arm = { labels: ['arm'] };
const [api, docs] = ['acme/api', 'acme/docs'].map((repository) => ({ repository }));

/** The Job of a runner at work. */
const atWork = (of: Group, id: number, over: Partial<LiveJob> = {}) =>
  live(named(of, id), 'running', { pinned: true, ...over });
/** Returns which jobs get runners if Kubernetes shows these Jobs. */
const served = (groups: readonly Group[], jobs: readonly Job[], liveJobs: readonly LiveJob[] = []) =>
  planScene({ groups, jobs, liveJobs, application: 'mine' }).served;

describe('P22 a runner takes slots under the cap and under each limit, and none has more than there are', () => {
  const one = group({ name: 'one', covers: 'acme', limits: [gpus] });
  const two = group({ name: 'two', covers: 'acme', ...arm, limits: [gpus] });
  const withMost = (most: number) => [one, two].map((each) => ({ ...each, limits: [{ ...gpus, most }] }));

  it('the plan counts the runners of all groups that share a limit', () => {
    const jobs = [running(1, named(one, 1)), job(2, arm), job(3)];
    const planned = planScene({ groups: [one, two], jobs, liveJobs: [atWork(one, 1)] });

    expect(planned.verdicts).toMatchObject({ 2: `new-runner ${named(two, 2)}`, 3: 'limit' });
    expect(planned.jobs[2]).toMatchObject({ group: { name: 'one' }, limit: { name: 'gpus', most: 2 } });
  });

  it('the plan counts the lowest number where groups say different ones', () => {
    const low = group({ name: 'two', limits: [{ ...gpus, most: 1 }] });

    expect(served([one, low], [job(1), job(2)])).toEqual([1]);
    expect(served([{ ...low, name: 'first' }, one], [job(1), job(2)])).toEqual([1]);
  });

  const twice = (of: Group, id: number) =>
    [0, 1].map((ordinal) => live(named(of, id, ordinal), 'failed', { finishedAtMs: NOW - 1_000 }));
  const idleOf = (of: Group, id: number) => live(named(of, id), 'starting');
  const elsewhere = running(9, 'someone-else');

  it.each<[string, number, Scene]>([
    ['one is kept for a job that backs off', 1, { jobs: [job(1)], liveJobs: [...twice(one, 1), idleOf(one, 5)] }],
    ['one is kept for CI that goes on elsewhere', 1, { jobs: [elsewhere], liveJobs: [idleOf(one, 5)] }],
    ['none is kept', 2, { jobs: [], liveJobs: [] }],
  ])('further runners of one group leave less for the pool of another, while %s', (_, warm, scene) => {
    const { groups } = planScene({ groups: [one, { ...two, minIdleRunners: 2 }], ...scene });

    expect(groups.map((each) => each.warm)).toEqual([0, warm]);
  });

  it('further runners of one group leave less for another that has a job that backs off', () => {
    const liveJobs = [...twice(one, 1), idleOf(one, 5), ...twice(two, 2), idleOf(two, 6)];
    const told = (most: number) =>
      planScene({ groups: withMost(most), jobs: [job(1), job(2, arm)], liveJobs }).verdicts;

    expect(told(1)).toEqual({ 1: `free-runner ${named(one, 5)}`, 2: 'backing-off' });
    expect(told(2)).toEqual({ 1: `free-runner ${named(one, 5)}`, 2: `free-runner ${named(two, 6)}` });
  });

  it('a job that has a slot counts once', () => {
    const liveJobs = [...twice(two, 2), idleOf(two, 6)];

    expect(planScene({ groups: [one, two], jobs: [job(1), job(2, arm)], liveJobs }).verdicts[2]).toContain(
      'free-runner',
    );
  });

  it('the planner does not hold back jobs of a group without the limit', () => {
    const other = group({ name: 'other', ...arm });

    expect(served([one, other], [job(1), job(2), job(3), job(4, arm)])).toEqual([1, 2, 4]);
  });

  it('the plan passes a job on to the next group that covers it and has room under its own limits', () => {
    const wide = group({ name: 'wide', scope: 'global' });
    const told = planScene({ groups: [one, wide], jobs: [job(1), job(2), job(3)], liveJobs: [] }).verdicts;

    expect(told[3]).toBe(`new-runner ${named(wide, 3)}`);
  });

  it('the plan counts a runner at work under the limit that its Job says, also when the group has it no more', () => {
    const former = group({ name: 'former', ...arm });
    const jobs = [running(1, named(former, 1), arm), job(2), job(3)];

    expect(served([one, former], jobs, [atWork(former, 1, { limits: ['nobody-has-it', 'gpus'] })])).toEqual([2]);
  });

  it('the plan counts the weight that the Job says, also when the group weighs less now', () => {
    const jobs = [running(1, named(one, 1)), job(2)];
    const liveJobs = [atWork(one, 1, { weight: 2, limits: ['gpus'] })];

    expect(planScene({ groups: [one], jobs, liveJobs }).verdicts[2]).toBe('limit');
  });

  it('the plan counts the weight of its group, when the Job was made before it weighed so much', () => {
    const [lighter, light] = withMost(3) as readonly Group[] as [Group, Group];
    const beside = (first: Group) =>
      served([first, light], [running(1, named(one, 1)), job(2, arm)], [atWork(one, 1, { weight: 2 })]);

    expect(beside({ ...lighter, weight: 3 })).toEqual([]);
    expect(beside(lighter)).toEqual([2]);
  });

  it('the plan counts a runner at work under a limit that its group has got since, besides those that its Job says', () => {
    const team: Limit = { key: 'limit team', name: 'team', most: 1 };
    const both = { ...one, limits: [gpus, team] };
    const other = group({ name: 'other', ...arm, limits: [team] });
    const liveJobs = [atWork(one, 1, { limits: ['gpus'] })];

    expect(served([both, other], [running(1, named(one, 1)), job(2, arm)], liveJobs)).toEqual([]);
    expect(served([one, other], [running(1, named(one, 1)), job(2, arm)], liveJobs)).toEqual([2]);
  });

  describe('where another Application has a runner that says the limit', () => {
    const sinceMs = NOW - 5_000;
    const mine = live(named(one, 1), 'starting', { createdAtMs: sinceMs });
    const theirs = { limits: ['gpus', 'no-group-has-it'], application: 'other', giteaUrl: ORIGIN, scope: 'acme' };
    const light = (over: Partial<LiveJob>) => live('x', 'starting', { ...theirs, createdAtMs: sinceMs, ...over });
    const rival = (over: Partial<LiveJob> = {}, name = 'x') => light({ weight: 2, name, ...over });
    const younger = { createdAtMs: sinceMs + 1_000 };

    it.each<[string, readonly LiveJob[], readonly number[]]>([
      ['keeps ours that is older', [mine, rival(younger)], [1]],
      ['gives up ours that is younger', [mine, rival({ createdAtMs: sinceMs - 1_000 })], []],
      ['keeps ours of the same second that comes first by name', [mine, rival()], [1]],
      ['gives up ours of the same second that comes last by name', [mine, rival({}, 'a')], []],
      ['gives up ours for a younger one that is pinned', [mine, rival({ ...younger, pinned: true })], []],
      ['gives up ours for a younger one that has a CI job', [mine, rival(younger, 'claimed')], []],
      ['counts one that works', [rival({ state: 'running', pinned: true })], []],
      ['counts what it weighs', [light({ state: 'running', pinned: true })], [1]],
      ['counts none that has ended', [rival({ state: 'complete', pinned: true })], [1]],
    ])('%s', (_, liveJobs, ids) => {
      expect(served([one], [job(1), running(9, 'claimed', { labels: ['other'] })], liveJobs)).toEqual(ids);
    });

    it.each<[string, Partial<LiveJob>, Parameters<typeof running>[2], string | undefined]>([
      ['its scope is renamed', {}, undefined, 'acme2'],
      ['the spec has the new name of the scope already', { pinned: true }, undefined, undefined],
      ['its repository is renamed while it works', { pinned: true }, { repository: 'acme/site' }, 'acme'],
      ['its repository is renamed while it starts', {}, { repository: 'acme/site' }, 'acme'],
    ])('the plan counts a runner of another Application when %s', (_, over, { repository } = {}, renamedTo) => {
      const now = repository ?? 'acme2/web';
      const name = named(group({ name: 'other' }), 9);
      const other = live(name, over.pinned ? 'running' : 'starting', { ...theirs, repository: 'acme/web', ...over });
      const work = over.pinned ? running(9, name, { repository: now }) : job(9, { repository: now, labels: ['other'] });
      for (const per of [undefined, 'repository', 'organization'] as const) {
        const limits = [{ key: 'gpus', name: 'gpus', most: 1, ...(per && { per }) }];
        const groups = [group({ covers: renamedTo === undefined ? 'acme2' : 'acme', limits })];
        const look = { jobs: [work, job(1, { repository: now })], runners: [], ...(renamedTo && { renamedTo }) };
        const liveJobs = [other];

        expect(planScene({ groups, application: 'mine', liveJobs, looks: { acme: look } }).verdicts[1]).toBe('limit');
      }
    });

    it('the plan keeps the older of the two although a job that has no runner waits before it', () => {
      const liveJobs = [live(named(one, 2), 'starting'), light(younger)];
      const groups = withMost(1);
      const alone = { groups: groups.slice(0, 1), jobs: [job(1), job(2)], liveJobs };

      expect(planScene(alone).verdicts).toEqual({ 1: `free-runner ${named(one, 2)}`, 2: 'limit' });
      expect(served(groups, [job(1, arm), job(2)], liveJobs)).toEqual([2]);
    });

    it('the plan starts none for the slot of one that will go, either', () => {
      const [old, young] = [light({ createdAtMs: NOW - 9_000 }), rival({ createdAtMs: NOW - 1_000 }, 'y')];

      expect(served([one], [job(1)], [old, young])).toEqual([]);
      expect(served([one], [job(1)], [old])).toEqual([1]);
    });

    it('the plan opens no slot for a new runner by an older runner of a group without the limit', () => {
      const web = group({ name: 'web', covers: 'acme/web', scope: 'repo', look: 'web', maxActiveRunners: 1 });
      const look = { jobs: [job(1), job(2)], runners: [] };
      const own = live(named(web, 2), 'starting', { createdAtMs: NOW - 60_000, application: 'mine' });
      const limited = { ...one, limits: [{ ...gpus, most: 1 }] };

      expect(
        planScene({
          groups: [{ ...limited, labels: ['linux', 'gpu'] }, web],
          application: 'mine',
          liveJobs: [own, light({})],
          looks: { acme: look, web: look },
        }).verdicts,
      ).toEqual({ 1: `free-runner ${named(web, 2)}`, 2: 'cap' });
    });

    describe('and each has some: the oldest stay, whichever jobs they are for, and none is over the limit', () => {
      const heavy = group({ name: 'heavy', covers: 'acme', labels: ['heavy'], weight: 3 });
      const applications = { mine: [one], other: [two, heavy] };
      /** Names of the runners that both Applications keep. */
      const keptOf = (most: number, ...all: readonly (readonly [of: Group, id: number, ageS: number])[]) => {
        const limits = [{ ...gpus, most }];
        const liveJobs = all.map(([of, id, ageS]) => {
          const application = of === one ? 'mine' : 'other';
          return light({ name: named(of, id), createdAtMs: NOW - ageS * 1000, application, weight: of.weight ?? 1 });
        });
        return Object.entries(applications).flatMap(([application, own]) => {
          const jobs = all.flatMap(([of, id]) => (own.includes(of) ? job(id, { labels: of.labels }) : []));
          return planScene({ groups: own.map((of) => ({ ...of, limits })), application, jobs, liveJobs }).names;
        });
      };

      it('the first and the third by age are of one Application: it keeps one', () => {
        expect(keptOf(2, [one, 2, 60], [two, 3, 40], [one, 1, 20])).toHaveLength(2);
        expect(keptOf(3, [one, 2, 60], [two, 3, 40], [one, 1, 20])).toHaveLength(3);
      });

      it('a runner that weighs too much makes room for a younger one', () => {
        expect(keptOf(3, [one, 1, 60], [heavy, 3, 40], [one, 4, 20])).toEqual([named(one, 1), named(one, 4)]);
      });

      it('our own weigh what their group weighs now', () => {
        const liveJobs = [
          light({ createdAtMs: NOW - 60_000 }),
          light({ name: named(heavy, 1), application: 'mine', createdAtMs: NOW - 40_000 }),
        ];
        const own = { ...heavy, limits: [{ ...gpus, most: 3 }] };

        expect(
          planScene({ groups: [own], application: 'mine', jobs: [job(1, { labels: ['heavy'] })], liveJobs }).names,
        ).toEqual([]);
      });

      it('our own weigh what their Jobs say, which is what others see, also when their group weighs less now', () => {
        const liveJobs = [
          light({ weight: 2, createdAtMs: NOW - 60_000 }),
          light({ name: named(one, 1), application: 'mine', weight: 3, createdAtMs: NOW - 40_000 }),
          light({ name: 'y', createdAtMs: NOW - 20_000 }),
        ];

        expect(served(withMost(3).slice(0, 1), [job(1)], liveJobs)).toEqual([]);
      });

      it('two Applications keep as many runners as the limit allows, in any mix', () => {
        const runner = fc.tuple(fc.constantFrom(one, two), fc.integer({ min: 1, max: 200 }));
        fc.assert(
          fc.property(fc.array(runner, { maxLength: 8 }), fc.integer({ min: 1, max: 6 }), (runners, most) => {
            const all = runners.map(([of, ageS], nth) => [of, nth + 1, ageS] as const);

            expect(keptOf(most, ...all)).toHaveLength(Math.min(most, all.length));
          }),
        );
      });
    });

    describe('which is no hostage of others: it counts only', () => {
      const working = (over: Partial<LiveJob>) => rival({ state: 'running', pinned: true, ...over });

      it.each<[string, Partial<LiveJob>, readonly number[]]>([
        ['on the same Gitea', { giteaUrl: 'https://evil.example.com' }, [1]],
        ['when its Gitea is known', { giteaUrl: '' }, [1]],
        ['for a scope of the same owner', { scope: 'evil' }, [1]],
        ['for a scope of the same owner, not for all of Gitea', { scope: '*' }, [1]],
        ['for a scope of the same owner: one of its repositories is one', { scope: 'Acme/web' }, []],
        ['for a scope of the same owner, or else a CI job of that one', { scope: '', repository: 'evil/acme' }, [1]],
        ['for a scope of the same owner, or else a CI job of that one', { scope: '', repository: 'acme/web' }, []],
        ['for a scope of the same owner, and one must be said', { scope: '' }, [1]],
        [
          'for a scope of the same owner, who may have that name since: the CI job has it',
          { scope: 'acme-before', repository: 'Acme/web' },
          [],
        ],
        [
          'for a scope of the same owner, not for all of Gitea, whatever CI job it has',
          { scope: '*', repository: 'acme/web' },
          [1],
        ],
        [
          'for a scope of the same owner, unless it is of this Application',
          { application: 'mine', giteaUrl: 'https://other' },
          [],
        ],
      ])('a runner elsewhere counts only %s', (_, over, ids) => {
        const { scope, ...rest } = working(over);

        expect(served([one], [job(1)], [scope === '' ? rest : { ...rest, ...(scope && { scope }) }])).toEqual(ids);
      });

      it('a runner elsewhere counts for one owner of several that share the limit', () => {
        const groups = [one, { ...two, covers: 'other/app' }];

        expect(served(groups, [job(1)], [working({ scope: 'other' })])).toEqual([]);
      });

      it('a runner elsewhere counts for all of Gitea where the group is for all of it', () => {
        const global = group({ limits: [gpus] });

        expect(served([global], [job(1)], [working({ scope: '*' })])).toEqual([]);
        expect(served([global], [job(1)], [working({})])).toEqual([1]);
      });

      it('a runner elsewhere counts with at most as many slots as our own limit has', () => {
        const heavy = { weight: 10_000, createdAtMs: NOW - 6_000 };

        expect(served([one], [job(1)], [mine, light(heavy)])).toEqual([]);
        expect(served([one], [job(1)], [mine, light({ ...heavy, createdAtMs: NOW - 1_000 })])).toEqual([1]);
      });

      it('a runner elsewhere counts while it may come: one spawn timeout, and twelve while its pod starts', () => {
        const servedBeside = (ageMs: number, over: Partial<LiveJob>) =>
          served([one], [job(1)], [rival({ createdAtMs: NOW - ageMs, ...over })]);
        const stuck = { trouble: { reason: 'Unschedulable' } };
        const idle = { state: 'running' } as const;
        const waitsInLine = { trouble: { reason: 'Suspended', isSuspended: true } } as const;

        for (const over of [stuck, idle]) {
          expect(servedBeside(299_999, over)).toEqual([]);
          expect(servedBeside(300_000, over)).toEqual([1]);
        }
        for (const over of [{}, waitsInLine]) {
          expect(servedBeside(3_599_999, over)).toEqual([]);
          expect(servedBeside(3_600_000, over)).toEqual([1]);
        }
        expect(servedBeside(900_000, { ...idle, runningSinceMs: NOW - 299_999 })).toEqual([]);
      });

      it('an idle runner of ours makes room after the time for which it can be expected to come', () => {
        const idle = live(named(one, 1), 'running', { createdAtMs: NOW - 300_000 });
        const kept = planScene({ groups: [one], jobs: [job(7)], liveJobs: [idle, rival()], application: 'mine' });

        expect(kept.names).toEqual([]);
      });

      it('a runner elsewhere counts for the longest spawn timeout of the groups that share the limit', () => {
        const slow = { ...two, spawnTimeoutMs: 600_000 };
        const unlimited = group({ name: 'zz', labels: ['zz'], spawnTimeoutMs: 900_000 });
        const beside = (ageMs: number) =>
          served([one, slow, unlimited], [job(1)], [rival({ state: 'running', createdAtMs: NOW - ageMs })]);

        expect(beside(599_999)).toEqual([]);
        expect(beside(600_000)).toEqual([1]);
      });

      it('a runner on another Gitea does not count, also where nothing says which Application is which', () => {
        const { application: _, ...unknown } = working({ giteaUrl: 'https://evil.example.com' });

        expect(planScene({ groups: [one], jobs: [job(1)], liveJobs: [unknown] }).served).toEqual([1]);
      });

      it('a runner elsewhere counts with no end while it works', () => {
        expect(served([one], [job(1)], [working({ createdAtMs: NOW - 86_400_000 })])).toEqual([]);
      });

      it.each<[string, readonly string[], readonly string[]]>([
        ['three names', ['a', 'b', 'c', 'd'], ['a', 'b', 'c']],
        ['its name, without ours', ['a'], ['a']],
      ])('a held job tells the runners in its way by %s', (_, names, expected) => {
        const others = names.map((name) => working({ name, weight: 1 }));
        const { jobs } = planScene({
          groups: [one],
          jobs: [job(1), job(2)],
          liveJobs: [live(named(one, 2), 'starting', { createdAtMs: NOW - 60_000 }), ...others],
          application: 'mine',
        });
        const [told] = jobs.flatMap((each) => ('limit' in each && each.limit ? each.limit : []));

        expect(told?.others?.map(({ name }) => name)).toEqual(expected);
      });

      it('a held job says which runner takes the place, and of which Application', () => {
        const [held] = planScene({ groups: [one], jobs: [job(1)], liveJobs: [working({})], application: 'mine' }).jobs;

        expect(held).toMatchObject({ because: 'limit', limit: { others: [{ name: 'x', application: 'other' }] } });
      });
    });

    it('has what is left beside it, besides runners of ours that are free', () => {
      expect(served(withMost(3), [job(1), job(2)], [mine, light({})])).toEqual([1, 2]);
      expect(served(withMost(2), [job(1), job(2)], [mine, light({})])).toEqual([1]);
    });

    it('has what is left beside it, and counts runners of ours at work once', () => {
      const jobs = [running(8, named(one, 8)), running(9, named(one, 9)), job(1), job(2)];

      expect(served(withMost(4), jobs, [atWork(one, 8), atWork(one, 9), light({})])).toEqual([1]);
    });

    it('the plan gives up ours that is free while runners at work are more than may be', () => {
      const heavy = rival({ state: 'running', pinned: true });

      expect(served([one], [running(9, named(one, 9)), job(1)], [atWork(one, 9), mine, heavy])).toEqual([]);
    });

    it('the plan starts none for its place, and takes of younger ones only what they weigh', () => {
      const heavy = { ...one, weight: 2 };
      const rivals = [light({ createdAtMs: NOW - 6_000 }), light({ ...younger, name: 'y' })];

      expect(served([heavy], [job(1)], [mine, ...rivals])).toEqual([]);
      expect(served([heavy], [job(1)], [mine, ...rivals.slice(1)])).toEqual([1]);
      expect(served([heavy], [job(1)], rivals.slice(1))).toEqual([]);
    });
  });

  it('the plan keeps no warm pool beyond a limit that groups share', () => {
    const pools = [one, two].map((each) => ({ ...each, minIdleRunners: 2 }));
    const [heavy, light] = withMost(6).map((each, nth) => ({ ...each, minIdleRunners: nth === 0 ? 1 : 5 }));
    const kept = (...groups: readonly Group[]) => planScene({ groups, liveJobs: [] }).names.length;

    expect(kept(...pools)).toBe(2);
    expect(kept(...pools.slice(0, 1))).toBe(2);
    expect(kept({ ...(heavy as Group), weight: 4 }, light as Group)).toBe(3);
  });

  describe('where an older job of another group needs the slot of a runner that lives', () => {
    const jobs = [job(1), job(2), job(4, arm), job(5, arm)];
    const idle = live(named(two, 4), 'starting');

    it('the plan keeps those that live for one job each, and gives what is left to the oldest', () => {
      expect(served([one, two], jobs, [idle])).toEqual([1, 4]);
      expect(served([one, two], jobs, [idle, live(named(two, 9), 'starting')])).toEqual([4, 5]);
    });

    it('the plan does the same beside a group that shares nothing, and one with a limit per repository', () => {
      const other = group({ name: 'other', labels: ['mac'] });
      const limited = { ...one, limits: [gpus, { ...perRepository, most: 9 }] };
      const mixed = [job(1), job(2), job(3, { labels: ['mac'] }), job(4, arm)];

      for (const first of [one, limited])
        expect(served([first, two, other], mixed, [idle, live(named(other, 3), 'starting')])).toEqual([1, 3, 4]);
    });

    it('the plan gives it up where Gitea must not have the choice: with a limit per repository the oldest comes first', () => {
      const limits = [gpus, { ...perRepository, most: 9 }];
      const groups = [one, two].map((each) => ({ ...each, limits }));

      expect(served(groups, jobs, [idle])).toEqual([1, 2]);
    });
  });
});

describe('P23 sizes of a group share its cap, and each runner takes the weight of its size', () => {
  const base = group({ maxActiveRunners: 5 });
  const big = { labels: ['linux', 'large'] };
  const size = { size: 'large', weight: 4 };
  const large = group({ maxActiveRunners: 5, ...size, ...big, templateHash: 'big' });
  const groups = [base, large];

  it('the plan serves a job that asks for a size by a runner of that size, and no other job; it is one group in the counts', () => {
    const planned = planScene({ groups, jobs: [job(1, big), job(2)], liveJobs: [] });

    expect(planned.verdicts).toEqual({ 1: `new-runner ${named(large, 1)}`, 2: `new-runner ${named(base, 2)}` });
    expect(planned.runners).toMatchObject([{ runner: named(large, 1), ...size }, { runner: named(base, 2) }]);
    expect(planned.runners[1]).not.toHaveProperty('size');
    expect(planned.groups).toMatchObject([{ group: { name: 'ci' }, cap: 5, waiting: 2 }]);
  });

  it('the plan counts the runners of all sizes, and the pool of the group', () => {
    const all = { maxActiveRunners: 50, keepFailedMs: 600_000 };
    const failed = { conclusion: 'failure' } as const;
    const jobs = [
      running(1, named(base, 1)),
      running(2, named(large, 2), big),
      done(3, named(base, 3), failed),
      done(4, named(large, 4), { ...big, ...failed }),
      done(5, 'other', big),
      running(6, 'another', big),
    ];
    const working = [atWork(base, 1), atWork(large, 2, size), atWork(base, 3), atWork(large, 4, size)];
    const free = [live(named(large, 5), 'starting', size), ...[8, 9].map((id) => live(named(base, id), 'starting'))];
    const told = planScene({
      groups: [group({ ...all, minIdleRunners: 1 }), { ...large, ...all }],
      jobs,
      liveJobs: [...working, ...free],
    });

    expect(told.groups).toMatchObject([{ busy: 2, debugging: 2, warm: 1, spare: 2, minIdle: 1 }]);
  });

  it('the plan says in a Job what its size and limits are, and nothing else', () => {
    const many = { ...perRepository, most: 9 };
    const told = (of: Partial<Group>) => planScene({ groups: [group(of)], jobs: [job(1)], liveJobs: [] }).runners[0];

    expect(told({ limits: [gpus, many], weight: 2 })).toMatchObject({ weight: 2, limits: ['gpus'] });
    for (const field of ['weight', 'limits']) expect(told({ limits: [many] })).not.toHaveProperty(field);
  });

  it('the plan holds back what the cap has no room for', () => {
    expect(planScene({ groups, jobs: [job(1, big), job(2), job(3)], liveJobs: [] }).verdicts[3]).toBe('cap');
  });

  it('lets no younger job pass a heavy one that waits for room', () => {
    const jobs = [running(1, named(base, 1)), running(2, named(base, 2)), job(3, big), job(4)];

    expect(planScene({ groups, jobs, liveJobs: [atWork(base, 1), atWork(base, 2)] }).verdicts).toMatchObject({
      3: 'cap',
      4: 'cap',
    });
  });

  it('the plan keeps a runner that lives for a younger job, when an older heavy one has no room', () => {
    const jobs = [running(1, named(base, 1)), job(2, big), job(3), job(4)];

    expect(
      planScene({ groups, jobs, liveJobs: [atWork(base, 1), live(named(base, 4), 'starting')] }).verdicts,
    ).toMatchObject({ 2: 'cap', 3: 'cap', 4: `own-runner ${named(base, 4)}` });
  });

  it('the plan keeps one that was made for a job that another runner has taken, as long as a job waits that it can serve', () => {
    const jobs = [running(1, named(large, 2), big), job(2, big)];
    const orphan = named(base, 1);
    const scene = { groups, liveJobs: [atWork(large, 2, size), live(orphan, 'starting')] };

    expect(planScene({ ...scene, jobs: [...jobs, job(3)] }).verdicts).toMatchObject({
      2: 'cap',
      3: `free-runner ${orphan}`,
    });
    expect(planScene({ ...scene, jobs }).names).toEqual([named(large, 2)]);
  });

  it('the plan leaves a runner that lives to the job that it was made for, when an older one of a wider group could have it', () => {
    const limits: readonly Limit[] = [{ key: 'limit team', name: 'team', most: 1 }];
    const narrow = group({ name: 'narrow', limits });
    const wide = group({ name: 'wide', scope: 'global', labels: ['linux', 'arm'], limits });
    const liveJobs = [live(named(wide, 2), 'starting')];

    expect(planScene({ groups: [narrow, wide], jobs: [job(1), job(2, arm)], liveJobs }).verdicts).toEqual({
      1: 'limit',
      2: `own-runner ${named(wide, 2)}`,
    });
  });

  describe('where the runner of a heavy job has begun another one', () => {
    const withCap = (maxActiveRunners: number) => groups.map((each) => ({ ...each, maxActiveRunners }));
    const young = { createdAtMs: NOW - 10_000 };
    const seen = (other: Partial<Job>) =>
      served(withCap(4), [job(2, big), job(3), done(1, named(large, 2), { ...young, ...other })]);

    it('lets others pass when that one is younger, for half an hour: Gitea may give the heavy one to nobody', () => {
      expect(seen({})).toEqual([3]);
      expect(seen({ startedAtMs: NOW - 1_799_999 })).toEqual([3]);
      expect(seen({ startedAtMs: NOW - 1_800_000 })).toEqual([2]);
    });

    it('does not when that one is as old or older', () => {
      expect(seen({ createdAtMs: job(2).createdAtMs + 1 })).toEqual([3]);
      expect(seen({ createdAtMs: job(2).createdAtMs })).toEqual([2]);
    });

    it('does not get one when its runner has begun none, or its group is suspended', () => {
      const jobs = [job(2, big), done(1, named(large, 2), young)];
      const off = groups.map((each) => ({ ...each, suspend: true }));

      expect(served(withCap(4), [job(2, big), job(3)], [live(named(large, 2), 'complete', size)])).toEqual([2]);
      expect(planScene({ groups: off, jobs, liveJobs: [] }).verdicts[2]).toBe('suspended');
    });

    it('does not get one when the job is light: its runner takes no more slots than another one', () => {
      expect(served(withCap(1), [job(2), job(3), done(1, named(base, 2), young)])).toEqual([2]);
    });
  });

  it('the plan knows the size of a runner by its Job, else by the labels that it registered with', () => {
    const jobs = [running(1, named(large, 1)), job(2), job(3)];
    const runners = [row(named(large, 1), { busy: true, ...big })];

    for (const liveJobs of [[atWork(large, 1, size)], []])
      expect(planScene({ groups, jobs, runners, liveJobs }).served).toEqual([2]);
    // At the registration it had the labels of a size. Its Job says that it has no size.
    expect(planScene({ groups, jobs, runners, liveJobs: [atWork(large, 1)] }).served).toEqual([2, 3]);
  });

  it.each([
    ['another group that has a size of this name', { name: 'other' }],
    ['a group of this name in another namespace', { namespace: 'team-b' }],
  ])('the plan takes no runner for one of %s', (_, place) => {
    const others = [base, { ...large, weight: 2 }].map((each) => ({ ...each, ...place }));
    const runner = named(others[1] as Group, 1);
    const { namespace } = others[1] as Group;
    const liveJobs = [live(runner, 'running', { namespace, pinned: true, size: 'large' })];

    expect(
      planScene({ groups: [...groups, ...others], jobs: [running(1, runner, big)], liveJobs }).runners,
    ).toMatchObject([{ group: place, because: 'busy', size: 'large', weight: 2 }]);
  });

  it('the plan gives a job that asks for two sizes to the first by name, in whatever order they are written', () => {
    const both = { labels: ['linux', 'large', 'small'] };
    const sizes = [large, group({ size: 'small', templateHash: 'small' })].map((of) => ({ ...of, ...both }));
    const planOf = (all: readonly Group[]) => planScene({ groups: all, jobs: [job(1, both), job(2)], liveJobs: [] });
    const planned = planOf([base, ...sizes]);

    expect(planned.verdicts[1]).toBe(`new-runner ${named(large, 1)}`);
    expect(planOf([...sizes.toReversed(), base])).toEqual(planned);
  });

  it('the cap still counts the weight of a runner at work whose size is gone', () => {
    const jobs = [running(1, named(large, 1)), job(2), job(3)];
    const planned = planScene({ groups: [base], jobs, liveJobs: [atWork(large, 1, size)] });

    expect(planned.served).toEqual([2]);
    expect(planned.runners).toContainEqual(expect.objectContaining({ emit: true, runner: named(large, 1) }));
  });

  it('the plan gives no job without a size to a runner of a size, when those without one back off', () => {
    const failed = [0, 1].map((ordinal) =>
      live(named(base, 1, ordinal), 'failed', { finishedAtMs: NOW - 1_000, trouble: { reason: 'Error' } }),
    );

    expect(planScene({ groups, jobs: [job(1)], liveJobs: failed }).verdicts[1]).toBe('backing-off');
  });

  it('the plan waits for the runner of a size, however many runners of its job have taken other jobs', () => {
    const made = Array.from({ length: ORDINALS_SEARCHED + 3 }, (_each, ordinal) => named(large, 1, ordinal));
    const coming = made.at(-1) as string;
    const jobs = [job(1, big), ...made.slice(0, -1).map((runner, id) => done(id + 2, runner))];

    expect(planScene({ groups, jobs, liveJobs: [live(coming, 'starting', size)] }).verdicts[1]).toBe(
      `own-runner ${coming}`,
    );
  });
});

describe('P24 the free runners fit under a limit per repository, whichever jobs Gitea gives them', () => {
  const upTo = (most: number, over: Partial<Group> = {}) => group({ limits: [{ ...perRepository, most }], ...over });
  const limited = upTo(1);
  const busy = running(1, named(limited, 1));
  const liveJobs = [atWork(limited, 1)];
  const starting = (id: number) => live(named(limited, id), 'starting');

  it('the plan holds back a second job of a repository, and says for which one the limit is', () => {
    const [, held] = planScene({ groups: [limited], jobs: [busy, job(2)], liveJobs }).jobs;

    expect(held).toMatchObject({ because: 'limit' });
    expect(held && 'limit' in held && held.limit).toStrictEqual({ most: 1, of: 'acme/web' });
  });

  it('the plan keeps no idle runner that no job needs: Gitea would give it to any', () => {
    const kept = (of: Group) =>
      planScene({ groups: [of], jobs: [running(9, 'someone-else')], liveJobs: [live(named(of, 5), 'starting')] })
        .groups;

    expect(kept(group())).toMatchObject([{ spare: 1 }]);
    expect(kept(upTo(9))).toMatchObject([{ spare: 0 }]);
  });

  it('the plan starts no runner for any job while one waits whose repository has no slot', () => {
    const jobs = [busy, job(2, api), job(3), job(4, docs)];
    const planned = planScene({ groups: [limited], jobs, liveJobs });

    for (const { job, ...decision } of planned.jobs.slice(1))
      expect(decision, `job ${job.id}`).toMatchObject({ because: 'limit', limit: { of: 'acme/web' } });
  });

  it('the planner has as many free runners as the limit has left, while more jobs wait than that', () => {
    const jobs = [job(1, api), job(2), job(3, docs), job(4)];

    expect(served([upTo(2)], jobs)).toEqual([1, 2, 3, 4]);
    expect(served([upTo(2)], [...jobs, job(5)])).toEqual([1, 2]);
  });

  it('the planner has as many as the limit that has the least left', () => {
    const jobs = [busy, job(2, docs), job(3, docs), job(4, docs), job(5), job(6)];
    const planned = planScene({ groups: [upTo(2)], jobs, liveJobs });

    expect(planned.served).toEqual([2]);
    expect(planned.jobs[2]).toMatchObject({ because: 'limit', limit: { of: 'acme/web' } });
  });

  it('the plan says the limit of its own repository to a job that this one holds back, too', () => {
    const jobs = [busy, job(2, api), job(3, api), job(4), running(5, named(limited, 5), api)];
    const { jobs: told } = planScene({ groups: [limited], jobs, liveJobs });

    expect(told.find((each) => each.job.id === 3)).toMatchObject({ limit: { of: 'acme/api' } });
    expect(told.find((each) => each.job.id === 4)).toMatchObject({ limit: { of: 'acme/web' } });
  });

  it('the plan keeps the runners that were started for jobs that wait, and starts none beside them', () => {
    const jobs = [busy, job(2, api), job(3), job(4, docs)];
    const scene = { groups: [limited], jobs, liveJobs: [...liveJobs, starting(2)] };

    expect(planScene(scene).names).toEqual([named(limited, 1), named(limited, 2)]);
    expect(planScene(scene).served).toEqual([2]);
  });

  it('the planner does the same beside other groups, and gives no such runner to an older job without room', () => {
    const jobs = [busy, job(2), job(3, api), job(4, docs)];

    expect(served([group({ name: 'arm', ...arm }), limited], jobs, [...liveJobs, starting(3)])).toEqual([3]);
  });

  it('the plan keeps as many runners of one repository as that has room for', () => {
    const jobs = [job(1), job(2), job(3, api), job(4), job(5, docs)];

    expect(served([upTo(2)], jobs, [1, 2, 3].map(starting))).toEqual([1, 2, 3]);
  });

  it('the plan gives the runner of a job without room to no other job: Gitea could give it to that one', () => {
    const seen = (...jobs: readonly Job[]) => served([limited], jobs, [...liveJobs, starting(3), starting(4)]);

    expect(seen(busy, job(2, api), job(3))).toEqual([]);
    expect(seen(job(2, api), job(3, docs), job(4, docs))).toEqual([2]);
  });

  it('drops an idle runner that a job over the limit would get, and fills no pool meanwhile', () => {
    const idle = named(limited, 9);
    const jobs = [busy, job(2)];
    const pool = { groups: [{ ...limited, minIdleRunners: 1 }], liveJobs };
    const planned = planScene({
      groups: [limited],
      jobs,
      runners: [row(idle)],
      liveJobs: [...liveJobs, live(idle, 'running')],
    });

    expect(planned.runners).toMatchObject([{ emit: true }, { emit: false, runner: idle, because: 'surplus' }]);
    expect(planScene({ ...pool, jobs }).names).toEqual([named(limited, 1)]);
    expect(planScene({ ...pool, jobs: [busy] }).names).toHaveLength(2);
  });

  it('the planner does not stop a group of another owner, nor one whose runners cannot take the job', () => {
    const looks = {
      acme: { jobs: [busy, job(2)], runners: [] },
      other: { jobs: [job(3, { repository: 'other/x' })], runners: [] },
    };

    expect(planScene({ groups: [limited, upTo(1, { name: 'other', look: 'other' })], looks, liveJobs }).served).toEqual(
      [3],
    );
    expect(served([limited, group({ name: 'arm', ...arm })], [busy, job(2), job(3, arm)], liveJobs)).toEqual([3]);
  });

  it.each<[string, Limit, Partial<Job>]>([
    ['organization', perOrganization, {}],
    ['branch', { key: 'of main', most: 2, branches: ['main'] }, { branch: 'main' }],
  ])(
    'the planner does not count a pod that cannot start as in the way of a job that waits for its %s',
    (_, limit, on) => {
      const trouble = { reason: 'Unschedulable' };
      const stuck = live(named(limited, 2), 'starting', { createdAtMs: NOW - 900_000, trouble });
      const jobs = [running(1, named(limited, 1), on), job(2, on), job(3, on)];

      expect(served([group({ limits: [limit] })], jobs, [...liveJobs, stuck])).toEqual([2]);
    },
  );

  it('the plan counts a repository without regard to case, and an organization with all its repositories', () => {
    const groups = [group({ limits: [perOrganization] })];
    const jobs = [job(1, { repository: 'Acme/web' }), job(2, api), job(3), job(4, { repository: 'other/x' })];

    expect(served(groups, jobs)).toEqual([1, 2]);
    expect(served(groups, jobs.slice(1))).toEqual([2, 3, 4]);
  });

  it('the plan counts a runner without a CI job for the repository that its Job says, or else for all', () => {
    const runners = [row(named(limited, 7), { busy: true })];
    const verdictBeside = (over: Partial<LiveJob>, on: Partial<Job> = {}) =>
      planScene({ groups: [limited], jobs: [job(8, on)], runners, liveJobs: [atWork(limited, 7, over)] }).verdicts[8];

    expect(verdictBeside({})).toBe('limit');
    expect(verdictBeside({ repository: 'acme/web' })).toBe('limit');
    expect(verdictBeside({ repository: 'acme/web' }, api)).toContain('new-runner');
  });

  it('the plan counts one that works at the place where its group was before for its repository there', () => {
    const moved = { ...limited, covers: 'acme' };
    const there = {
      giteaUrl: 'https://before.example.com',
      jobUrl: 'https://before.example.com/old/app/actions/runs/7',
    };
    const liveJob = atWork(limited, 7, { ...there, repository: 'old/app' });

    expect(served([moved], [job(8)], [liveJob])).toEqual([8]);
  });

  it('the plan counts a runner for the repository of its CI job, although it was made for one of another', () => {
    const beside = (on: Partial<Job>) =>
      served([limited], [running(1, named(limited, 1), docs), job(2, on)], [atWork(limited, 1, api ?? {})]);

    expect(beside(docs ?? {})).toEqual([]);
    expect(beside(api ?? {})).toEqual([2]);
  });

  describe('where a group has sizes', () => {
    const sized = (most: number, size: string, weight: number) =>
      upTo(most, { size, weight, labels: ['linux', size], templateHash: size });
    const big = { labels: ['linux', 'large'] };

    it('the plan counts a job without a size as heavy as the largest runner that a job asks for', () => {
      const groups = [sized(3, 'huge', 3), upTo(3), sized(3, 'large', 3)];
      const ofApi = job(2, { ...api, ...big });

      expect(served(groups, [job(1), ofApi])).toEqual([1, 2]);
      expect(served(groups, [job(1), ofApi, job(3)])).toEqual([1]);
      expect(
        served(
          groups,
          [1, 3, 4].map((id) => job(id)),
        ),
      ).toEqual([1, 3, 4]);
      expect(
        served(
          groups,
          [1, 3, 4, 5].map((id) => job(id)),
        ),
      ).toEqual([1, 3, 4]);
    });

    it('the plan counts a job with a size as heavy as that', () => {
      const jobs = [job(1, big), job(2, big), job(3, { ...api, labels: ['linux', 'huge'] })];

      expect(served([upTo(4), sized(4, 'huge', 4), sized(4, 'large', 2)], jobs)).toEqual([1, 2, 3]);
    });

    it('the plan counts all sizes of a group together', () => {
      const groups = [upTo(3), sized(3, 'large', 2)];
      const jobs = [job(1, big), job(2, api), job(3, docs)];

      expect(served(groups, [...jobs, job(4, big)])).toEqual([1, 2]);
      expect(served(groups, jobs)).toEqual([1, 2, 3]);
    });
  });
});

describe('P24 while jobs are unread', () => {
  const perRepository: Limit = { key: 'runners/ci per repository', most: 3, per: 'repository' };
  const ofBranches: Limit = { key: 'runners/ci per ,main', most: 2, branches: ['main'] };
  const servedWith = (limits: readonly Limit[], unreadJobs: number, busy: readonly Job[] = []) => {
    const limited = group({ limits });
    const jobs = [...busy, ...[11, 12, 13, 14].map((id) => job(id, { branch: 'fix', repository: `acme/r${id}` }))];
    const looks = { [limited.look]: { jobs, runners: [], ...(unreadJobs > 0 && { unreadJobs }) } };
    const liveJobs = busy.map(({ runner = '' }) => live(runner, 'running', { pinned: true }));
    return planScene({ groups: [limited], looks, liveJobs }).served.length;
  };
  const busy = [1, 2].map((id) => running(id, named(group(), id), { branch: 'main', repository: 'acme/web' }));

  it.each<[string, readonly Limit[], number]>([
    ['a branch', [ofBranches], 2],
    ['each repository', [perRepository], 3],
    ['both', [ofBranches, perRepository], 2],
  ])('no more free runners are started than a limit for %s leaves', (_, limits, most) => {
    expect(servedWith(limits, 0)).toBe(4);
    expect(servedWith(limits, 1)).toBe(most);
  });

  it('runners at work count while jobs are unread, whichever repository or branch they are of', () => {
    expect(servedWith([ofBranches], 1, busy)).toBe(0);
    expect(servedWith([perRepository], 1, busy)).toBe(1);
    expect(servedWith([perRepository], 1, [...busy, running(3, named(group(), 3), { repository: 'acme/api' })])).toBe(
      1,
    );
  });
});

describe('P24 of a limit for branches', () => {
  const ofBranches: Limit = { key: 'runners/ci per ,main,release/*', most: 1, branches: ['main', 'release/*'] };
  const limited = group({ limits: [ofBranches] });
  const on = (branch: string, over: Partial<Job> = {}): Partial<Job> => ({ branch, ...over });
  const busyOn = (branch: string) => running(1, named(limited, 1), on(branch));
  const liveJobs = [atWork(limited, 1)];
  const servedOf = (...jobs: readonly Job[]) => served([limited], jobs, liveJobs);

  it('the plan counts jobs of these branches together, of all repositories, and says which branches', () => {
    const [, held] = planScene({
      groups: [limited],
      jobs: [busyOn('main'), job(2, on('release/1', api))],
      liveJobs,
    }).jobs;

    expect(held).toMatchObject({ because: 'limit', limit: { most: 1, branches: ['main', 'release/*'] } });
    expect(held).not.toHaveProperty('limit.of');
  });

  it('the plan starts no runner for jobs of other branches, and of none, while one is held', () => {
    const jobs = [busyOn('main'), job(2, on('fix')), job(3, on(''))];

    expect(servedOf(...jobs, job(4, on('main')))).toEqual([]);
    expect(servedOf(...jobs)).toEqual([2, 3]);
  });

  it.each(['fix', 'release/1/2', ''])('the planner does not count a runner at work for the branch "%s"', (branch) => {
    expect(servedOf(busyOn(branch), job(2, on('main')))).toEqual([2]);
  });

  it('drops an idle runner that the job over the limit would get', () => {
    const idle = named(limited, 9);
    const lives = [...liveJobs, live(idle, 'running')];

    expect(
      planScene({
        groups: [limited],
        jobs: [busyOn('main'), job(2, on('main'))],
        runners: [row(idle)],
        liveJobs: lives,
      }).names,
    ).toEqual([named(limited, 1)]);
  });

  it('the plan counts a job and a runner of which nobody knows the branch', () => {
    const verdictOf = (jobs: readonly Job[], runners: Scene['runners'] = []) =>
      planScene({ groups: [limited], jobs, runners, liveJobs }).verdicts[2];
    const finishing = [row(named(limited, 1), { busy: true })];

    expect(verdictOf([running(1, named(limited, 1)), job(2, on('main'))])).toBe('limit');
    expect(verdictOf([busyOn('main'), job(2)])).toBe('limit');
    expect(verdictOf([job(2, on('main'))], finishing)).toBe('limit');
    expect(verdictOf([job(2, on('fix'))], finishing)).toContain('new-runner');
  });

  it('the plan counts each repository alone where it is also per repository', () => {
    const groups = [group({ limits: [{ ...ofBranches, per: 'repository' }] })];
    const jobs = [busyOn('main'), job(2, on('main', api)), job(3, on('fix'))];

    expect(served(groups, jobs, liveJobs)).toEqual([2, 3]);
    expect(planScene({ groups, jobs: [...jobs, job(4, on('release/1'))], liveJobs }).jobs[3]).toMatchObject({
      limit: { of: 'acme/web', branches: ['main', 'release/*'] },
    });
  });

  it('lets a job take a slot under each limit of its branch', () => {
    const groups = [
      group({
        limits: [
          { ...ofBranches, most: 2 },
          { key: 'all', most: 2, branches: ['**'] },
        ],
      }),
    ];
    const jobs = [busyOn('main'), job(2, on('fix')), job(3, on(''))];

    expect(served(groups, jobs, liveJobs)).toEqual([2, 3]);
    expect(planScene({ groups, jobs: [...jobs, job(4, on('main'))], liveJobs }).verdicts[4]).toBe('limit');
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

  it('a branch fits a pattern as the patterns of a policy do, where there is one star', () => {
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
  const groupsWith = (most: number) => [
    group({ name: 'one', maxActiveRunners: 1, limits: [{ ...team, most }] }),
    group({ name: 'two', ...arm, limits: [{ ...team, most }] }),
  ];
  const [one, two] = groupsWith(2) as [Group, Group];
  const busy = running(1, named(one, 1));
  const liveJobs = [atWork(one, 1)];
  const old = job(2, { createdAtMs: NOW - 1_800_000 });
  const young = job(3, arm);

  it('the planner does not stop a job that needs another limit only', () => {
    expect(served([one, two], [busy, job(2), young], liveJobs)).toEqual([3]);
  });

  it('the plan keeps the slot of the first in line when that one has waited half an hour', () => {
    expect(served([one, two], [busy, old, young], liveJobs)).toEqual([]);
  });

  it('the plan keeps the slot of one that has waited so long, although younger ones come first there by their turn', () => {
    const taking = groupsWith(3).map((each) => ({ ...each, fairness: 'per-repository' as const }));
    const servedBeside = (waiting: Job) =>
      served(
        taking,
        [busy, running(5, named(two, 5), arm), waiting, job(4, api), young],
        [...liveJobs, atWork(two, 5)],
      );

    expect(servedBeside(old)).toEqual([]);
    expect(servedBeside(job(2))).toEqual([3]);
  });

  it('the plan keeps nothing for those behind it', () => {
    const jobs = [busy, { ...old, createdAtMs: NOW - 1_800_001 }, { ...old, id: 4 }, young];

    expect(served(groupsWith(3), jobs, liveJobs)).toEqual([3]);
  });

  describe('where a job is given to no runner', () => {
    const jobs = [job(2, { createdAtMs: NOW - 400_000 }), young];
    const own = named(one, 2);

    it('the plan gives its slot to a job of another group, when its runner has been idle for a spawn timeout', () => {
      const seen = (ageMs: number) => {
        const sinceMs = { createdAtMs: NOW - ageMs, runningSinceMs: NOW - ageMs };
        return planScene({
          groups: groupsWith(1),
          jobs,
          runners: [row(own)],
          liveJobs: [live(own, 'running', sinceMs)],
        }).served;
      };

      expect(seen(299_000)).toEqual([2]);
      expect(seen(300_000)).toEqual([3]);
    });

    it('the planner does not take the slot back while the runner of the other job starts', () => {
      expect(served(groupsWith(1), jobs, [live(named(two, 3), 'starting')])).toEqual([3]);
      expect(served(groupsWith(1), jobs)).toEqual([2]);
    });
  });
});
