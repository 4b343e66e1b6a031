/** A bound runner serves jobs of its repository only (docs/adr/0084). */
import { describe, expect, it } from 'vitest';
import type { Job, Limit, LiveJob } from '../../src/planner/evidence.ts';
import { group, job, live, NOW, named, planScene, row, running } from '../support/scenario.ts';

const bound = group({ isBound: true, registeredAt: 'org:acme', covers: 'acme' });
const ofApi = { repository: 'acme/api' } as const;

/** The Job of the runner that was made for this job of acme/web. */
function liveFor(id: number, state: LiveJob['state'] = 'running', over: Partial<LiveJob> = {}): LiveJob {
  return live(named(bound, id), state, { boundTo: 'acme/web', registeredAt: 'repo:acme/web', ...over });
}

const perRepository = (most: number): Limit => ({ key: 'ci per repository', most, per: 'repository' });

it('a bound runner is asked for at the repository of its job', () => {
  const { emitted } = planScene({ groups: [bound], jobs: [job(1), job(2, ofApi)], liveJobs: [] });

  expect(emitted.map(({ registeredAt }) => registeredAt)).toEqual(['repo:acme/web', 'repo:acme/api']);
});

it('a bound runner serves another job of its repository, and none of another one', () => {
  const scene = { groups: [bound], liveJobs: [liveFor(1)] };

  expect(planScene({ ...scene, jobs: [job(2)] }).verdicts[2]).toBe(`free-runner ${named(bound, 1)}`);
  expect(planScene({ ...scene, jobs: [job(2, ofApi)] }).verdicts[2]).toBe(`new-runner ${named(bound, 2)}`);
});

it('a bound runner takes the slot of one that was made before its group had bound runners', () => {
  const { verdicts, reasons } = planScene({
    groups: [bound],
    jobs: [job(1)],
    liveJobs: [live(named(bound, 1), 'running')],
  });

  expect(verdicts[1]).toBe(`new-runner ${named(bound, 1, 1)}`);
  expect(reasons[named(bound, 1)]).toBe('surplus');
});

it('a bound runner keeps its job while Gitea has another name for the repository', () => {
  const renamed = { repository: 'acme/shop' };
  const scene = { groups: [bound], jobs: [job(1, renamed), job(2, renamed)], liveJobs: [liveFor(1), liveFor(9)] };
  const { verdicts } = planScene(scene);

  expect(verdicts).toEqual({ 1: `own-runner ${named(bound, 1)}`, 2: `new-runner ${named(bound, 2)}` });
});

it('a bound runner keeps its job and takes others while Gitea has another name for the owner', () => {
  const now = { repository: 'acme-2/web' };
  const looks = { acme: { jobs: [job(1, now), job(2, now)], runners: [], renamedTo: 'acme-2' } };
  const { verdicts } = planScene({ groups: [bound], looks, liveJobs: [liveFor(9), liveFor(2)] });

  expect(verdicts).toEqual({ 1: `free-runner ${named(bound, 9)}`, 2: `own-runner ${named(bound, 2)}` });
});

it('a bound runner is at work while it is pinned and runs, though no list has its job and nobody read its row', () => {
  const old = { createdAtMs: NOW - 7_200_000, runningSinceMs: NOW - 7_000_000, pinned: true };
  const rows = { runners: [row('other')], rowsWereRead: true, jobs: [] } as const;
  const { reasons } = planScene({ groups: [bound], looks: { acme: rows }, liveJobs: [liveFor(1, 'running', old)] });

  expect(reasons).toEqual({ [named(bound, 1)]: 'finishing' });
});

it('a bound runner has a slot of the cap while its pod ends without a Job, though the list of the owner lacks its row', () => {
  const jobs = [running(1, named(bound, 1)), job(2)];
  const looks = { acme: { jobs, runners: [], rowsWereRead: true as const } };
  const full = { ...bound, maxActiveRunners: 1 };

  expect(planScene({ groups: [full], looks, liveJobs: [] }).verdicts).toEqual({ 1: 'running', 2: 'cap' });
});

it('a bound runner takes the slot of one that is not bound and was asked for before the group was', () => {
  const unbound = live(named(bound, 1), 'starting', { registeredAt: 'org:acme' });
  const { verdicts, reasons } = planScene({ groups: [bound], jobs: [job(1)], liveJobs: [unbound] });

  expect(verdicts).toEqual({ 1: `new-runner ${named(bound, 1, 1)}` });
  expect(reasons).toEqual({ [named(bound, 1)]: 'surplus', [named(bound, 1, 1)]: 'new-runner' });
});

it('a bound runner is exchanged when it does not take its job', () => {
  const runningSinceMs = NOW - 400_000;
  const scene = { groups: [bound], jobs: [job(1, { createdAtMs: NOW - 500_000 })] };
  const asleep = liveFor(1, 'running', { runningSinceMs, createdAtMs: runningSinceMs });

  expect(planScene({ ...scene, liveJobs: [asleep] }).verdicts[1]).toBe(`new-runner ${named(bound, 1, 1)}`);
});

const withLimits = (limits: readonly Limit[]) => ({ ...bound, limits });

it('limits of bound groups hold back the jobs of their repository alone', () => {
  const jobs = [job(1), job(2), job(3), job(4, ofApi), job(5, ofApi)];
  const limited = planScene({ groups: [withLimits([perRepository(1)])], jobs, liveJobs: [] });

  expect([limited.served, limited.verdicts[2], limited.verdicts[5]]).toEqual([[1, 4], 'limit', 'limit']);
});

it('limits of bound groups hold back an unbound group as a whole', () => {
  const jobs = [job(1), job(2), job(4, ofApi)];
  const unbound = group({ limits: [perRepository(1)] });

  expect(planScene({ groups: [unbound], jobs, liveJobs: [] }).served).toEqual([1]);
});

it('limits per branch stop the other branches of their repository, and no other repository', () => {
  const limits = [{ key: 'main', most: 1, branches: ['main'] }];
  const onMain = { branch: 'main' };
  const jobs = [
    job(1, onMain),
    job(2, onMain),
    job(3, { branch: 'x' }),
    job(4, { ...ofApi, branch: 'y' }),
    job(5, { ...ofApi, branch: 'x' }),
  ];

  expect(planScene({ groups: [withLimits(limits)], jobs, liveJobs: [] }).served).toEqual([1, 4, 5]);
});

it('limits per repository do not stop a queue that is too long to be read', () => {
  const jobs = [running(1, named(bound, 1)), job(2, ofApi)];
  const looks = { acme: { jobs, runners: [], unreadJobs: 100 } };
  const groups = [withLimits([perRepository(1)])];

  expect(planScene({ groups, looks, liveJobs: [liveFor(1)] }).served).toEqual([2]);
});

it('limits of bound groups give the slots by turns with fairness per repository', () => {
  const fair = { ...bound, fairness: 'per-repository' as const, maxActiveRunners: 4 };
  const atWork = [running(1, named(bound, 1)), running(9, named(bound, 9))];
  const jobs = [...atWork, job(2), job(3), job(4, ofApi), job(5, ofApi)];

  expect(planScene({ groups: [fair], jobs, liveJobs: [liveFor(1), liveFor(9)] }).served).toEqual([4, 5]);
});

describe('order', () => {
  const ordered = { ...bound, order: ['acme/api', '*'], maxActiveRunners: 1 };
  const served = (jobs: readonly Job[], liveJobs: readonly LiveJob[] = []) =>
    planScene({ groups: [ordered], jobs, liveJobs }).served;

  it('the order gives the slot to the repository that comes first', () => {
    expect(served([job(1), job(2, ofApi)])).toEqual([2]);
  });

  it('puts the repositories that no pattern fits last', () => {
    const groups = [{ ...ordered, order: ['api'] }];

    expect(planScene({ groups, jobs: [job(1), job(2, ofApi)], liveJobs: [] }).served).toEqual([2]);
  });

  it('the order counts the patterns from the first one on that fits', () => {
    const groups = [{ ...ordered, order: ['x', 'web', 'api', '*'] }];

    expect(planScene({ groups, jobs: [job(1, ofApi), job(2)], liveJobs: [] }).served).toEqual([2]);
  });

  it('the order knows the name of the owner from before a rename, and that of now', () => {
    const now = [job(1, { repository: 'Acme-2/web' }), job(2, { repository: 'Acme-2/api' })];
    const looks = { acme: { jobs: now, runners: [], renamedTo: 'Acme-2' } };
    const first = (...order: readonly string[]) =>
      planScene({ groups: [{ ...ordered, order }], looks, liveJobs: [] }).served;

    expect([first('acme/api'), first('acme-2/api'), first('acme/web', 'acme-2/api')]).toEqual([[2], [2], [1]]);
  });

  it('lets no group that shares a limit wait for another one', () => {
    const limits = [{ key: 'limit all', name: 'all', most: 1 }];
    const other = group({ name: 'other', labels: ['other'], limits });
    const groups = [{ ...ordered, limits }, other];
    const ofOther = (id: number) => job(id, { labels: ['other'] });

    expect(planScene({ groups, jobs: [job(1), ofOther(2)], liveJobs: [] }).served).toEqual([1]);
    expect(planScene({ groups, jobs: [ofOther(1), job(2, ofApi)], liveJobs: [] }).served).toEqual([1]);
    expect(planScene({ groups, jobs: [job(1), ofOther(2), job(3, ofApi)], liveJobs: [] }).served).toEqual([3]);
  });

  it('the order takes no slot from a runner that starts', () => {
    expect(served([job(1), job(2, ofApi)], [liveFor(1, 'starting')])).toEqual([1]);
  });

  it('lets no job be passed for longer than half an hour', () => {
    const waiting = (ms: number) => job(1, { createdAtMs: NOW - ms });

    expect(served([waiting(1_799_000), job(2, ofApi)])).toEqual([2]);
    expect(served([waiting(1_800_000), job(2, ofApi)])).toEqual([1]);
  });
});

const chosen = (...repositories: readonly string[]) => ({ ...bound, repositories });
const verdict = (repository: string, ...patterns: readonly string[]) =>
  planScene({ groups: [chosen(...patterns)], jobs: [job(1, { repository })], liveJobs: [] }).verdicts[1];

it.each([
  ['acme/web', 'web'],
  ['acme/Web', 'web'],
  ['acme/web', 'acme/web'],
  ['acme/team-a', 'team-*'],
  ['acme/web', 'acme/*'],
  ['acme/web', '*'],
])('a group that chooses repositories serves %s, which %s fits', (repository, pattern) => {
  expect(verdict(repository, pattern)).toBe(`new-runner ${named(bound, 1)}`);
});

it.each([
  ['acme/web', 'api'],
  ['acme/web-2', 'web'],
  ['acme/my-team-a', 'team-*'],
  ['web/other', 'web'],
])('repositories does not serve %s, which %s does not fit', (repository, pattern) => {
  expect(verdict(repository, pattern)).toBe('repository-not-chosen');
});

it('a group that chooses repositories leaves the job to a group that chooses it', () => {
  const groups = [chosen('api'), { ...chosen('web'), name: 'web' }];

  expect(planScene({ groups, jobs: [job(1)], liveJobs: [] }).emitted.map((each) => each.group.name)).toEqual(['web']);
});

it('a group that chooses repositories says that labels are not covered before it says that a repository is not chosen', () => {
  const { verdicts } = planScene({ groups: [chosen('api')], jobs: [job(1, { labels: ['other'] })], liveJobs: [] });

  expect(verdicts[1]).toBe('labels-not-covered');
});

it('repositories know the name of the owner from before a rename', () => {
  const looks = { acme: { jobs: [job(1, { repository: 'acme-2/web' })], runners: [], renamedTo: 'acme-2' } };

  expect(planScene({ groups: [chosen('acme/web')], looks, liveJobs: [] }).served).toEqual([1]);
});

it.each<[boolean, string, string?]>([
  [true, 'acme/w*b'],
  [true, '*/web'],
  [true, 'a*'],
  [true, 'web*'],
  [false, 'w*bb'],
  [false, 'web*b'],
  [false, '*/we'],
  [false, 'eb'],
])('chosen %s by %s', (isChosen, pattern) => {
  const name = pattern.startsWith('a*') ? 'acme/api' : 'acme/web';

  expect(verdict(name, pattern) !== 'repository-not-chosen').toBe(isChosen);
});

it('repositories know the name of before a rename for groups of that scope alone', () => {
  const now = [job(1, { repository: 'acme-2/web' })];
  const looks = { acme: { jobs: now, runners: [], renamedTo: 'Acme-2' }, all: { jobs: now, runners: [] } };
  const all = { ...chosen('acme/web'), name: 'all', look: 'all', scope: 'global' as const };

  expect(planScene({ groups: [all, chosen('x')], looks, liveJobs: [] }).served).toEqual([]);
  expect(
    planScene({ groups: [all, { ...chosen('acme/w*', 'x'), labels: ['linux'] }], looks, liveJobs: [] }).served,
  ).toEqual([1]);
});

it('repositories may have several patterns that begin alike', () => {
  expect(verdict('acme/team-a', 'team-*a', 'team-*b')).toBe(`new-runner ${named(bound, 1)}`);
});

it('repositories hold beside a group that serves all, too', () => {
  const groups = [chosen('api'), group({ name: 'other', labels: ['other'] })];

  expect(planScene({ groups, jobs: [job(1)], liveJobs: [] }).verdicts[1]).toBe('repository-not-chosen');
});

it('repositories that begin like the new name of the scope have no other name', () => {
  const looks = { acme: { jobs: [job(1, { repository: 'acme-23/web' })], runners: [], renamedTo: 'acme-2' } };

  expect(planScene({ groups: [chosen('acme3/web', 'acme/web')], looks, liveJobs: [] }).served).toEqual([]);
});

it('the repositories of 200 groups with 20,000 patterns are found without a try of each', () => {
  const groups = Array.from({ length: 200 }, (_, of) => ({
    ...chosen(...Array.from({ length: 100 }, (__, nth) => `r*${of}x${nth}`)),
    name: `g${of}`,
  }));
  let tries = 0;
  const { startsWith } = String.prototype;
  String.prototype.startsWith = function (...args) {
    tries += 1;
    return startsWith.apply(this, args);
  };
  try {
    planScene({
      groups,
      jobs: Array.from({ length: 200 }, (_, id) => job(id + 1, { repository: `acme/r${id}` })),
      liveJobs: [],
    });
  } finally {
    String.prototype.startsWith = startsWith;
  }

  expect(tries).toBeLessThan(200 * 100);
});

it('repositories know the name of the only repository from before a rename', () => {
  const looks = { acme: { jobs: [job(1, { repository: 'acme/shop' })], runners: [], renamedTo: 'acme/shop' } };
  const only = { ...chosen('web'), scope: 'repo' as const, covers: 'acme/web' };

  expect(planScene({ groups: [only], looks, liveJobs: [] }).served).toEqual([1]);
});
