/** Laws V117 to V119, V122 and T17 (docs/spec.md): which runners `serve` registers, at which level, and whose rows may be left. */
import { describe, expect, it } from 'vitest';
import type { RunnerGroup } from '../../../src/config/runnergroup/runner-group.ts';
import type { EmittedRunner, RunnerDecision } from '../../../src/planner/decisions.ts';
import type { LiveState } from '../../../src/planner/evidence.ts';
import type { AppVerdict } from '../../../src/serve/planning/reconcile.ts';
import type { LiveRunner } from '../../../src/serve/seen/live.ts';
import { Failure } from '../../../src/shared/failure.ts';
import type { Scope } from '../../../src/shared/scope.ts';
import { levelOf, levelsSeen, unusedWishes, type Wish, wishesOf } from '../../../src/tasks/registration/follow.ts';
import { AHEAD_MS } from '../../../src/tasks/registration/registering.ts';
import { SIGHTINGS_APART_MS } from '../../../src/tasks/sweep/choose.ts';
import { runner } from '../../manifests/fixtures.ts';
import { targetOf } from '../../support/looking.ts';
import { runnerGroup } from '../../support/runner-group.ts';

const NAME = 'ci-4711-1-9c31e0aa';
const KEY = `runners/${NAME}`;
const AT = 'org:acme';
const BY_SERVE = runnerGroup({ registration: { by: 'serve', for: 'scope' } });
const TARGET = targetOf('https://gitea.example.com');
const OBJECT = { metadata: { namespace: 'runners', name: 'ci', uid: 'uid-of-the-group' } };

const wanted = (over: Partial<EmittedRunner> = {}): RunnerDecision =>
  ({ ...runner(), runner: NAME, registeredAt: AT, ...over }) as RunnerDecision;
const live = (state: LiveState, registeredAt: string | undefined = AT): LiveRunner => ({
  job: { namespace: 'runners', name: NAME, state, createdAtMs: 0, ...(registeredAt && { registeredAt }) },
  annotations: {},
  groupName: 'ci',
  ...(registeredAt && { uid: 'uid-of-the-job' }),
});

function inQueue(waits: boolean): LiveRunner {
  const { job, ...rest } = live('starting');
  const trouble = { reason: 'Suspended', isSuspended: true, queue: 'team-a' } as const;
  return { ...rest, job: { ...job, queue: 'team-a', ...(waits && { trouble }) } };
}

function verdict(
  runners: readonly RunnerDecision[] | undefined,
  missing: readonly string[] = [],
  group: RunnerGroup | undefined = BY_SERVE,
): AppVerdict {
  const planning = runners
    ? { is: 'planned', atMs: 0, plan: { groups: [], jobs: [], runners } }
    : ({ is: 'waiting' } as const);
  const groups = [{ live: { key: 'runners/ci', object: OBJECT, ...(group && { group }) }, runners: [], facts: {} }];
  return { planning, groups, difference: { missing } } as unknown as AppVerdict;
}

const isFree = () => false;

function wishes(
  decision: RunnerDecision,
  job?: LiveRunner,
  missing: readonly string[] = job ? [] : [KEY],
  isTaken: (key: string, uid: string) => boolean = isFree,
) {
  const jobs = new Map(job ? [[KEY, job]] : []);
  return wishesOf([verdict([decision], missing)], jobs, new Map([[BY_SERVE, TARGET]]), new Map(), isTaken);
}

const dropped: RunnerDecision = {
  emit: false,
  runner: NAME,
  group: { namespace: 'runners', name: 'ci' },
  because: 'surplus',
};

it.each<[string, RunnerDecision, LiveRunner | undefined, Wish['is'] | undefined]>([
  ['that the plan wants and that has no Job is wanted', wanted(), undefined, 'wanted'],
  ['whose Job starts is starting', wanted(), live('starting'), 'starting'],
  ['whose container runs needs nothing', wanted(), live('running'), 'alive'],
  ['whose Job starts and that nobody wants gets nothing', dropped, live('starting'), 'alive'],
  ['whose Job starts and only loses its pin gets nothing', wanted({ because: 'unpinning' }), live('starting'), 'alive'],
  ['that is to wait in a queue of Kueue gets nothing yet', wanted({ queue: 'team-a' }), undefined, undefined],
  ['that waits in a queue of Kueue gets nothing yet', wanted({ queue: 'team-a' }), inQueue(true), undefined],
  ['that Kueue lets start is starting', wanted({ queue: 'team-a' }), inQueue(false), 'starting'],
  ['that works has used its row', wanted({ because: 'busy' }), live('running'), 'used'],
  ['whose CI job is over has used its row, too', { ...dropped, because: 'used-up' }, live('complete'), 'used'],
  ['that its pod registers is none of ours', wanted({ registeredAt: undefined as never }), undefined, undefined],
  ['whose Job its pod registers is none of ours either', dropped, live('starting', ''), undefined],
])('a runner %s', (_, decision, job, is) => {
  expect(wishes(decision, job).get(KEY)?.is).toBe(is);
});

it.each([
  ['of a group that is not there', wanted({ group: { namespace: 'runners', name: 'other' } }), BY_SERVE],
  ['of a group whose spec is not valid', wanted(), null],
])('a runner %s is not registered', (_, decision, group) => {
  const of = { ...verdict([decision], [KEY, `runners/${NAME}`]) };
  const groups = group
    ? of.groups
    : of.groups.map(({ live: { group: _none, ...rest }, ...more }) => ({ ...more, live: rest }));

  expect(wishesOf([{ ...of, groups }], new Map(), new Map(), new Map(), isFree).size).toBe(0);
});

it('a runner is of the size that its decision says', () => {
  const group = { ...BY_SERVE, sizes: ['small', 'large'].map((name) => ({ name, weight: 1 })) };
  const sizeOf = (size: string | undefined) => {
    const of = verdict([wanted({ ...(size && { size }) })], [KEY], group);
    return wishesOf([of], new Map(), new Map(), new Map(), isFree).get(KEY)?.own.size?.name;
  };

  expect(['large', 'small', 'gone', undefined].map(sizeOf)).toEqual(['large', 'small', undefined, undefined]);
});

it('a runner gets nothing while the pod of another Job has its name', () => {
  const asked: string[][] = [];
  const isTaken = (...of: string[]): boolean => asked.push(of) > 0;

  expect(wishes(wanted(), undefined, [KEY], isTaken).size).toBe(0);
  expect(wishes(wanted(), live('starting'), [], isTaken).get(KEY)?.is).toBe('alive');
  expect(wishes(wanted({ because: 'busy' }), live('running'), [], isTaken).get(KEY)?.is).toBe('used');
  expect(asked).toEqual([
    [KEY, ''],
    [KEY, 'uid-of-the-job'],
    [KEY, 'uid-of-the-job'],
  ]);
});

it('a runner that Argo CD is not to create is not registered', () => {
  expect([...wishes(wanted(), undefined, [])]).toEqual([]);
});

it('a runner of an Application that cannot be planned stays as it was, until its group is gone', () => {
  const before = wishes(wanted());
  const wishedBy = (verdicts: readonly AppVerdict[]) => [
    ...wishesOf(verdicts, new Map(), new Map(), before, isFree).keys(),
  ];

  expect(wishedBy([verdict(undefined)])).toEqual([KEY]);
  expect(wishedBy([])).toEqual([]);
  expect(wishedBy([verdict([])])).toEqual([]);
});

const [of, other] = [wishes(wanted(), live('starting')), wishes(wanted(), live('running'))];
const used = wishes(wanted({ because: 'busy' }), live('running'));
const none = new Map<string, Wish>();
it.each<[string, ReadonlyMap<string, Wish>, ReadonlyMap<string, Wish>, number]>([
  ['a row may be left when its Job goes while it starts', of, none, 1],
  ['a row may be left when its Job goes while it is idle', other, none, 1],
  ['a row may be left when its Job is to be made again', other, wishes(wanted()), 1],
  ['no row is left of a runner that has got a CI job', used, none, 0],
  ['no row is left while its Job is there', of, other, 0],
  ['no row is left of a runner without a Job', wishes(wanted()), none, 0],
])('a row may be left %s', (_, before, now, left) => {
  expect(unusedWishes(before, now)).toHaveLength(left);
});

describe('where a leader before may have registered bound runners', () => {
  const bound = { registration: { by: 'serve', for: 'repository' } } as const;
  const GITEA = 'https://gitea.example.com';
  const jobs = [
    { verdict: 'done', origin: GITEA, job: { repository: 'acme/web' } },
    { verdict: 'running', origin: GITEA, job: { repository: 'acme/api' } },
    { verdict: 'held', origin: GITEA, job: { repository: 'acme/web' } },
    { verdict: 'held', origin: GITEA, job: { repository: 'other/web' } },
    { verdict: 'held', origin: 'https://other.example.com', job: { repository: 'acme/far' } },
  ];
  const seen = (group: Partial<RunnerGroup>, renamedTo?: string): readonly string[] => {
    const groups = [{ group: { namespace: 'runners', name: 'ci' }, renamedTo }];
    const of = { planning: { is: 'planned', plan: { groups, jobs, runners: [] } } } as unknown as AppVerdict;
    return levelsSeen(of)({ ...BY_SERVE, ...bound, ...group });
  };

  it.each<[string, Partial<RunnerGroup>, readonly string[], string?]>([
    ['all repositories of its scope whose jobs are listed', {}, ['repo:acme/web', 'repo:acme/api']],
    ['those that it chooses', { repositories: ['Api'] }, ['repo:acme/api']],
    ['those under the name of now, too', {}, ['repo:acme/web', 'repo:acme/api', 'repo:other/web'], 'other'],
    ['none, if its runners are not bound', { registration: { by: 'serve', for: 'scope' } }, []],
  ])('places of bound runners of a former leader are %s', (_, group, levels, renamedTo) => {
    expect(seen(group, renamedTo)).toEqual(levels);
  });

  it('places of bound runners of a former leader are those of a Gitea below a path, too', () => {
    const giteaUrl = `${GITEA}/gitea`;
    const below = [{ verdict: 'done', origin: giteaUrl, job: { repository: 'acme/web' } }, ...jobs];
    const of = { planning: { is: 'planned', plan: { groups: [], jobs: below, runners: [] } } } as unknown as AppVerdict;

    expect(levelsSeen(of)({ ...BY_SERVE, ...bound, giteaUrl })).toEqual(['repo:acme/web']);
  });

  it('places of bound runners of a former leader are all of a Gitea for a group that serves all of it', () => {
    expect(seen({ scope: { kind: 'global' } })).toEqual(['repo:acme/web', 'repo:acme/api', 'repo:other/web']);
  });

  it('places of bound runners of a former leader are found without a look at each job for each group', () => {
    let reads = 0;
    const counted = Array.from({ length: 1_000 }, (_, nth) => ({
      origin: GITEA,
      get job() {
        reads += 1;
        return { repository: `other/r${nth}` };
      },
    }));
    const plan = { groups: [], jobs: counted, runners: [] };
    const levelsOf = levelsSeen({ planning: { is: 'planned', plan } } as unknown as AppVerdict);

    for (let nth = 0; nth < 200; nth += 1) expect(levelsOf({ ...BY_SERVE, ...bound, name: `g${nth}` })).toEqual([]);
    expect(reads).toBeLessThan(5_000);
  });

  it('places of bound runners of a former leader are not known without a plan', () => {
    expect(levelsSeen(verdict(undefined))({ ...BY_SERVE, ...bound })).toEqual([]);
  });
});

describe('the level of a runner', () => {
  const at = (level: string, group: Partial<RunnerGroup>, renamedTo?: string): Scope =>
    levelOf({ ...(wishes(wanted()).get(KEY) as Wish), at: level, group: { ...BY_SERVE, ...group }, renamedTo });
  const bound = { registration: { by: 'serve', for: 'repository' } } as const;
  const WEB = { kind: 'repo', owner: 'acme', repo: 'web' } as const;

  it.each<[string, string, Partial<RunnerGroup>, Scope, string?]>([
    ['that of its group', 'org:acme', {}, BY_SERVE.scope],
    ['that of now, if Gitea has another name', 'org:acme-inc', {}, BY_SERVE.scope, 'acme-inc'],
    ['a repository of its group', 'repo:acme/web', bound, WEB],
    ['a repository of a group that was bound', 'repo:acme/web', {}, WEB],
    ['a repository that its group chooses', 'repo:acme/web', { ...bound, repositories: ['acme/W*'] }, WEB],
    [
      'a chosen repository by the name of now',
      'repo:acme-inc/web',
      { ...bound, repositories: ['acme-inc/web'] },
      { ...WEB, owner: 'acme-inc' },
      'acme-inc',
    ],
    ['a repository by the name of now', 'repo:acme-inc/web', bound, { ...WEB, owner: 'acme-inc' }, 'acme-inc'],
  ])('the level of a runner may be %s', (_, level, group, scope, renamedTo) => {
    expect(at(level, group, renamedTo)).toEqual(scope);
  });

  it.each([
    ['another organization', 'org:other', {}],
    ['the whole Gitea', 'global', {}],
    ['all of its group, if that is bound', 'org:acme', bound],
    ['a repository of somebody else', 'repo:other/web', bound],
    ['a repository that its group does not choose', 'repo:acme/api', { ...bound, repositories: ['Web'] }],
    ['what is no repository', 'repo:acme', bound],
    ['a path', 'repo:acme/web/../..', bound],
  ])('the level of a runner is not %s', (_, level, group) => {
    expect(() => at(level, group)).toThrow(/which its RunnerGroup does not give/);
  });

  it('the level of a runner that nobody gives is told in a hundred characters', () => {
    const told = (): string => {
      try {
        return String(at(`repo:${'x'.repeat(95)}abc`, {}));
      } catch (error) {
        return error instanceof Failure && error.exit === 1 ? error.message : 'another error';
      }
    };

    expect(told()).toContain(`asks for repo:${'x'.repeat(95)} (annotation gitea.bpg.pw/registered-at), which`);
  });
});

it('credentials wait for less time than a sweep waits between two observations', () => {
  expect(AHEAD_MS).toBeLessThan(SIGHTINGS_APART_MS);
});
