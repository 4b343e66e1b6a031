/** P16: a group may move while its runners are at work. */
import { describe, expect, test } from 'vitest';
import type { LiveJob } from '../../../src/planner/evidence.ts';
import { warm } from '../../support/pool-scene.ts';
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

const OLD = 'https://old.example.com';
const ci = group({ covers: 'acme' });
const name = named({ ...ci, origin: OLD }, 1);
const atWork: Partial<LiveJob> = { pinned: true, giteaUrl: OLD, repository: 'acme/web' };

function fateOf(over: Partial<LiveJob>, state: LiveJob['state'] = 'running', groups = [ci]) {
  return planScene({ groups, liveJobs: [live(name, state, over)] }).runners;
}

describe('P16 a runner of the place where its group was before', () => {
  const fromHere = { ...atWork, giteaUrl: ORIGIN };
  test.each<[string, Partial<LiveJob>, LiveJob['state'], typeof ci]>([
    ['another Gitea', atWork, 'running', ci],
    ['another Gitea, when its Job says no repository', { pinned: true, giteaUrl: OLD }, 'running', ci],
    ['another Gitea, when the group serves all of it', atWork, 'running', group()],
    ['another Gitea, in a state that nobody knows', atWork, 'unknown', ci],
    ['another organization', fromHere, 'running', group({ covers: 'other' })],
    ['one repository of it', fromHere, 'running', group({ covers: 'acme/api', scope: 'repo' })],
    ['a repository whose name begins like it', fromHere, 'running', group({ covers: 'acme/we', scope: 'repo' })],
  ])(
    'a runner of the place where its group was before stays until its pod ends when it was at work at the last sync: to %s',
    (_, over, state, to) => {
      expect(fateOf(over, state, [to])).toMatchObject([
        { runner: name, because: 'moved', emit: true, pinned: true, skip: true },
      ]);
    },
  );

  test('a runner of the place where its group was before stays so although its group keeps runners of failed CI jobs: nobody looks where its own one was', () => {
    expect(fateOf(atWork, 'running', [{ ...ci, keepFailedMs: 600_000 }])).toMatchObject([{ because: 'moved' }]);
  });

  test('a runner of the place where its group was before takes a slot under the cap', () => {
    const tight = group({ covers: 'acme', maxActiveRunners: 1 });
    const planned = planScene({ groups: [tight], jobs: [job(9)], liveJobs: [live(name, 'running', atWork)] });

    expect(planned.jobs).toMatchObject([{ verdict: 'held', because: 'cap' }]);
    expect(planned.groups).toMatchObject([{ busy: 1 }]);
  });

  test('a runner of the place where its group was before goes when it was idle at the last sync, and when its pod has ended', () => {
    const idle = { ...atWork, pinned: false };

    expect(fateOf(idle)).toMatchObject([{ emit: false, because: 'replaced' }]);
    expect(fateOf(idle, 'starting')).toMatchObject([{ emit: false, because: 'replaced' }]);
    expect(fateOf(atWork, 'complete')).toMatchObject([{ emit: false, because: 'used-up' }]);
  });

  test('a runner of the place where its group was before goes when its pod has not started, although it was pinned: it was created again and does nothing', () => {
    expect(fateOf(atWork, 'starting')).toMatchObject([{ because: 'unpinning', pinned: false }]);
  });

  test('a runner of the place where its group was before stays no longer than for a look when its CI job has failed', () => {
    const staying = { endedAtMs: NOW - 60_000, keepUntilMs: NOW + 60_000 };
    const keeping = group({ covers: 'acme', keepFailedMs: 120_000 });

    expect(fateOf({ ...atWork, ...staying }, 'running', [keeping])).toMatchObject([
      { because: 'debugging', keep: { untilMs: NOW + 60_000 } },
    ]);
  });

  test('a runner of the place where its group was before serves no job of the new place', () => {
    const liveJobs = [live(name, 'running', { ...atWork, pinned: false })];

    expect(planScene({ groups: [ci], jobs: [job(1)], liveJobs }).jobs).toMatchObject([
      { verdict: 'served', by: 'new-runner', runner: named(ci, 1) },
    ]);
  });
});

describe('P16 an idle runner of a pool tells by its name where it is registered', () => {
  const there = group({ covers: 'beta', minIdleRunners: 1 });
  const ofPool = (of = there) => warm(1, 0, of);
  const idle = (runner: string, over: Partial<LiveJob> = {}) => live(runner, 'running', { giteaUrl: ORIGIN, ...over });
  const waiting = job(9, { repository: 'beta/x' });

  test('an idle runner of the old place fills no pool and serves no job of the new place, and goes', () => {
    const before = ofPool({ ...there, covers: 'acme' });

    expect(planScene({ groups: [there], jobs: [waiting], liveJobs: [idle(before)] }).reasons).toEqual({
      [ofPool()]: 'warm',
      [before]: 'replaced',
      [named(there, 9)]: 'new-runner',
    });
  });

  test('an idle runner that is registered here serves a job of the new place', () => {
    expect(planScene({ groups: [there], jobs: [waiting], liveJobs: [idle(ofPool())] }).reasons).toEqual({
      [ofPool()]: 'free-runner',
    });
  });

  test('a runner whose row only a wider scope lists serves jobs, too; one of a job also after a new template', () => {
    const repo = { ...there, covers: 'beta/x', scope: 'repo', look: 'repo' } as const;
    const servedBy = (runner: string, of: typeof there) => {
      const looks = { repo: { jobs: [waiting], runners: [] }, acme: { jobs: [], runners: [row(runner)] } };
      const liveJobs = [idle(runner, runner === ofPool(repo) ? {} : { repository: 'beta/x' })];
      return planScene({ groups: [of, group({ name: 'wide' })], looks, liveJobs }).jobs;
    };

    expect(servedBy(ofPool(repo), repo)).toMatchObject([{ verdict: 'served', runner: ofPool(repo) }]);
    expect(servedBy(named(repo, 9), { ...repo, templateHash: 't2' })).toMatchObject([
      { verdict: 'served', runner: named(repo, 9) },
    ]);
  });

  test('names of runners for jobs are the same in every scope: an upgrade changes none', () => {
    expect(named(there, 9)).toBe(named(group(), 9));
  });
});

describe('P16 nothing has moved', () => {
  const here: Partial<LiveJob> = { pinned: true, giteaUrl: ORIGIN, repository: 'Acme/Web' };

  test.each([
    ['the same Gitea and owner', here, ci],
    ['the same repository', here, group({ covers: 'acme/web', scope: 'repo' })],
    ['the whole instance', here, group()],
    ['a Job that tells nothing', { pinned: true }, ci],
  ])('%s: an idle runner loses its pin', (_, over, to) => {
    expect(fateOf(over, 'running', [to])).toMatchObject([{ because: 'unpinning' }]);
  });

  test.each<[string, Scene]>([
    ['busy', { jobs: [running(1, name)] }],
    ['used-up', { jobs: [done(1, name)] }],
    ['finishing', { runners: [row(name)] }],
  ])('what Gitea shows of a runner counts before what its Job tells: %s', (because, scene) => {
    expect(planScene({ groups: [ci], liveJobs: [live(name, 'running', atWork)], ...scene }).because).toEqual([because]);
  });
});

const there = group({ look: 'beta', covers: 'beta', minIdleRunners: 1 });
const other = group({ name: 'gpu', covers: 'acme', labels: ['gpu'] });
const ofPool = warm(1, 0, { ...there, covers: 'acme' });
const ofJob = named(there, 1);
const fromAcme = { repository: 'acme/web' };

test.each<[string, string, 'acme' | 'beta', string, Partial<LiveJob>, boolean]>([
  ['an idle one of a pool goes', 'replaced', 'acme', ofPool, {}, false],
  ['an idle one for a CI job goes', 'replaced', 'acme', ofJob, fromAcme, false],
  ['one of a pool at work stays', 'finishing', 'acme', ofPool, { pinned: true }, true],
  ['one for a CI job at work stays', 'finishing', 'acme', ofJob, { pinned: true, ...fromAcme }, false],
  ['one of a pool that is listed at the new place serves there', 'free-runner', 'beta', ofPool, {}, false],
  ['one for a CI job that is listed at the new place serves there', 'free-runner', 'beta', ofJob, fromAcme, false],
])('P16 another group of the old place lists the row of a runner: %s', (_, because, at, runner, over, busy) => {
  const empty = { jobs: [], runners: [], rowsWereRead: true } as const;
  const seen = { acme: empty, beta: { ...empty, jobs: [job(9, { repository: 'beta/x' })] } };
  const looks = { ...seen, [at]: { ...seen[at], runners: [row(runner, { busy })] } };
  const liveJobs = [live(runner, 'running', { giteaUrl: ORIGIN, ...over })];

  expect(planScene({ groups: [there, other], looks, liveJobs }).reasons[runner]).toBe(because);
});
