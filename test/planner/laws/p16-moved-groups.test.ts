/** P16: a group may move while its runners are at work. */
import { describe, expect, test } from 'vitest';
import type { LiveJob } from '../../../src/planner/evidence.ts';
import { warm } from '../../support/pool-scene.ts';
import { done, group, job, live, NOW, named, ORIGIN, planScene, row, running } from '../../support/scenario.ts';

const OLD = 'https://old.example.com';
const ci = group({ covers: 'acme' });
const name = named({ ...ci, origin: OLD }, 1);
const atWork: Partial<LiveJob> = { pinned: true, giteaUrl: OLD, repository: 'acme/web' };
const moved = { runner: name, because: 'moved', emit: true, pinned: true, skip: true };

function fateOf(over: Partial<LiveJob>, state: LiveJob['state'] = 'running', groups = [ci]) {
  return planScene({ groups, liveJobs: [live(name, state, over)] }).runners;
}

describe('P16 a runner of the place where its group was before', () => {
  test('stays until its pod ends when it was at work at the last sync: another Gitea', () => {
    expect(fateOf(atWork)).toMatchObject([moved]);
    expect(fateOf(atWork, 'unknown')).toMatchObject([moved]);
  });

  test.each([
    ['another organization', group({ covers: 'other' })],
    ['one repository of it', group({ covers: 'acme/api', scope: 'repo' })],
    ['a repository whose name begins like it', group({ covers: 'acme/we', scope: 'repo' })],
  ])('the same for %s', (_, to) => {
    expect(fateOf({ ...atWork, giteaUrl: ORIGIN }, 'running', [to])).toMatchObject([moved]);
  });

  test('takes a place under the cap', () => {
    const tight = group({ covers: 'acme', maxActiveRunners: 1 });
    const planned = planScene({ groups: [tight], jobs: [job(9)], liveJobs: [live(name, 'running', atWork)] });

    expect(planned.jobs).toMatchObject([{ verdict: 'held', because: 'cap' }]);
    expect(planned.groups).toMatchObject([{ busy: 1 }]);
  });

  test('goes when it was idle at the last sync', () => {
    expect(fateOf({ ...atWork, pinned: false })).toMatchObject([{ emit: false, because: 'replaced' }]);
    expect(fateOf({ ...atWork, pinned: false }, 'starting')).toMatchObject([{ emit: false, because: 'replaced' }]);
  });

  test('goes when its pod has not started, although it was pinned: it was created again and does nothing', () => {
    expect(fateOf(atWork, 'starting')).toMatchObject([{ because: 'unpinning', pinned: false }]);
  });

  test('stays no longer than for a look when its CI job has failed', () => {
    const staying = { endedAtMs: NOW - 60_000, keepUntilMs: NOW + 60_000 };
    const keeping = group({ covers: 'acme', keepFailedMs: 120_000 });

    expect(fateOf({ ...atWork, ...staying }, 'running', [keeping])).toMatchObject([
      { because: 'debugging', keep: { untilMs: NOW + 60_000 } },
    ]);
  });

  test('serves no job of the new place', () => {
    const id = 1;

    expect(
      planScene({
        groups: [ci],
        jobs: [job(id)],
        liveJobs: [live(name, 'running', { ...atWork, pinned: false })],
      }).jobs,
    ).toMatchObject([{ verdict: 'served', by: 'new-runner', runner: named(ci, id) }]);
  });

  test('is used up when its pod has ended', () => {
    expect(fateOf(atWork, 'complete')).toMatchObject([{ emit: false, because: 'used-up' }]);
  });
});

describe('P16 an idle runner of a pool tells by its name where it is registered', () => {
  const there = group({ covers: 'beta', minIdleRunners: 1 });
  const ofPool = (of = there) => warm(1, 0, of);
  const idle = (of = there, over: Partial<LiveJob> = {}) => live(ofPool(of), 'running', { giteaUrl: ORIGIN, ...over });
  const waiting = job(9, { repository: 'beta/x' });

  test('it fills no pool and serves no job of the new place, and goes', () => {
    const liveJobs = [idle({ ...there, covers: 'acme' })];
    const planned = planScene({ groups: [there], jobs: [waiting], liveJobs });

    expect(planned.jobs).toMatchObject([{ by: 'new-runner', runner: named(there, 9) }]);
    expect(planned.runners).toMatchObject([
      { emit: true, because: 'warm', runner: ofPool() },
      { emit: false, because: 'replaced', runner: liveJobs[0]?.name },
      { emit: true, because: 'new-runner', runner: named(there, 9) },
    ]);
  });

  test('one that is registered here does', () => {
    expect(planScene({ groups: [there], jobs: [waiting], liveJobs: [idle()] }).jobs).toMatchObject([
      { verdict: 'served', runner: ofPool() },
    ]);
  });

  test('one whose row only a wider scope lists does, too', () => {
    const repo = { ...there, covers: 'beta/x', scope: 'repo', look: 'repo' } as const;
    const wide = group({ name: 'wide' });
    const looks = { repo: { jobs: [waiting], runners: [] }, acme: { jobs: [], runners: [row(ofPool(repo))] } };

    expect(planScene({ groups: [repo, wide], looks, liveJobs: [idle(repo)] }).jobs).toMatchObject([
      { verdict: 'served', runner: ofPool(repo) },
    ]);
  });

  test('one of a job whose row only a wider scope lists serves after a change of the template, too', () => {
    const repo = { ...there, covers: 'beta/x', scope: 'repo', look: 'repo' } as const;
    const runner = named(repo, 9);
    const looks = { repo: { jobs: [waiting], runners: [] }, acme: { jobs: [], runners: [row(runner)] } };
    const liveJobs = [live(runner, 'running', { giteaUrl: ORIGIN, repository: 'beta/x' })];
    const groups = [{ ...repo, templateHash: 't2' }, group({ name: 'wide' })];

    expect(planScene({ groups, looks, liveJobs }).jobs).toMatchObject([{ verdict: 'served', runner }]);
  });

  test('names of runners for jobs are the same in every scope: an upgrade changes none', () => {
    expect(named(there, 9)).toBe(named(group(), 9));
  });
});

describe('P16 nothing has moved', () => {
  const here: Partial<LiveJob> = { pinned: true, giteaUrl: ORIGIN, repository: 'Acme/Web' };
  const repo = group({ covers: 'acme/web', scope: 'repo' });

  test.each([
    ['the same Gitea and owner', here, ci],
    ['the same repository', here, repo],
    ['the whole instance', here, group()],
    ['a Job that tells nothing', { pinned: true }, ci],
  ])('%s: an idle runner loses its pin', (_, over, to) => {
    expect(fateOf(over, 'running', [to])).toMatchObject([{ because: 'unpinning' }]);
  });

  test('what Gitea shows of a runner counts before what its Job tells', () => {
    const liveJobs = [live(name, 'running', atWork)];

    expect(planScene({ groups: [ci], jobs: [running(1, name)], liveJobs }).runners).toMatchObject([
      { because: 'busy' },
    ]);
    expect(planScene({ groups: [ci], jobs: [done(1, name)], liveJobs }).runners).toMatchObject([
      { because: 'used-up' },
    ]);
    expect(planScene({ groups: [ci], runners: [row(name)], liveJobs }).runners).toMatchObject([
      { because: 'finishing' },
    ]);
  });
});

describe('P16 another group of the old place lists the row of a runner', () => {
  const there = group({ look: 'beta', covers: 'beta', minIdleRunners: 1 });
  const other = group({ name: 'gpu', covers: 'acme', labels: ['gpu'] });
  const waiting = job(9, { repository: 'beta/x' });
  const fatesOf = (runner: string, over: Partial<LiveJob>, at: 'acme' | 'beta', busy = false) => {
    const rows = [row(runner, { busy })];
    const looks = {
      acme: { jobs: [], runners: at === 'acme' ? rows : [], rowsWereRead: true as const },
      beta: { jobs: [waiting], runners: at === 'beta' ? rows : [], rowsWereRead: true as const },
    };
    const liveJobs = [live(runner, 'running', { giteaUrl: ORIGIN, ...over })];
    return planScene({ groups: [there, other], looks, liveJobs }).runners.find(({ runner: each }) => each === runner);
  };
  const ofPool = warm(1, 0, { ...there, covers: 'acme' });
  const ofJob = named(there, 1);

  test('an idle one of a pool, or for a CI job, goes', () => {
    expect(fatesOf(ofPool, {}, 'acme')).toMatchObject({ emit: false, because: 'replaced' });
    expect(fatesOf(ofJob, { repository: 'acme/web' }, 'acme')).toMatchObject({ emit: false, because: 'replaced' });
  });

  test('one at work stays', () => {
    expect(fatesOf(ofPool, { pinned: true }, 'acme', true)).toMatchObject({ because: 'finishing', pinned: true });
    expect(fatesOf(ofJob, { pinned: true, repository: 'acme/web' }, 'acme')).toMatchObject({ because: 'finishing' });
  });

  test('one that is listed at the new place serves there', () => {
    expect(fatesOf(ofPool, {}, 'beta')).toMatchObject({ emit: true, because: 'free-runner' });
    expect(fatesOf(ofJob, { repository: 'acme/web' }, 'beta')).toMatchObject({ emit: true, because: 'free-runner' });
  });
});
