/** P29 and P30: somebody gives the owner or the repository of a scope another name in Gitea. */
import { describe, expect, it } from 'vitest';
import type { Group, Job, Limit, LiveJob } from '../../../src/planner/evidence.ts';
import { group, job, live, NOW, named, ORIGIN, planScene, row, running } from '../../support/scenario.ts';

const acme = group({ covers: 'acme' });
const web = group({ covers: 'acme/web', scope: 'repo' });
/** As Gitea writes it, which may be in capitals. */
const NAMES: readonly (readonly [string, Group, renamedTo: string, repository: string])[] = [
  ['an organization', acme, 'Acme-Inc', 'Acme-Inc/web'],
  ['a repository', web, 'acme/Site', 'acme/Site'],
  ['the owner of a repository', web, 'acme-inc/web', 'acme-inc/web'],
];

const before: Partial<LiveJob> = { giteaUrl: ORIGIN, repository: 'acme/web', createdAtMs: NOW - 5_000 };
const since: Partial<LiveJob> = { ...before, createdAtMs: NOW - 15_000, runningSinceMs: NOW - 3_000 };

describe.each(NAMES)('P29 %s has another name', (_, of, renamedTo, repository) => {
  const name = named(of, 1);
  const planWith = (liveJobs: readonly LiveJob[], jobs: readonly Job[] = [job(1, { repository })], now = renamedTo) =>
    planScene({ groups: [of], liveJobs, looks: { acme: { jobs, runners: [], rowsWereRead: true, renamedTo: now } } });

  it.each<[string, LiveJob]>([
    ['starts', live(name, 'starting', before)],
    ['runs, and is not listed yet', live(name, 'running', since)],
    ['was printed since', live(name, 'starting', { ...before, repository })],
  ])('a runner that %s stays the one of its job', (_, liveJob) => {
    const planned = planWith([liveJob]);

    expect(planned.verdicts).toEqual({ 1: `own-runner ${name}` });
    expect(planned.names).toEqual([name]);
    expect(planned.groups).toMatchObject([{ renamedTo }]);
  });

  it('a runner at work whose CI job is in no list belongs to this scope', () => {
    const atWork = live(name, 'running', { ...since, pinned: true });

    expect(planWith([atWork], []).because).not.toContain('moved');
    expect(planWith([{ ...atWork, repository: 'beta/web' }], []).because).toEqual(['moved']);
  });

  it('a Job under a third name belongs to another scope', () => {
    expect(planWith([live(name, 'starting', { ...before, repository: 'beta/web' })]).reasons[name]).toBe('replaced');
  });

  it('a pinned runner whose RunnerGroup is renamed as well finds its heir', () => {
    const orphan = live(named(group({ name: 'old' }), 1), 'running', { ...since, pinned: true, application: 'app' });
    const looks = { acme: { jobs: [], runners: [], renamedTo } };
    const planned = planScene({ groups: [of], application: 'app', liveJobs: [orphan], looks });

    expect(planned.runners).toMatchObject([{ runner: orphan.name, group: { name: 'ci' }, emit: true }]);
  });
});

it('P29: without another name a Job of another place is replaced', () => {
  const name = named(acme, 1);
  const liveJobs = [live(name, 'starting', { ...before, repository: 'acme-inc/web' })];

  expect(planScene({ groups: [acme], jobs: [job(1)], liveJobs }).reasons[name]).toBe('replaced');
});

describe('P30 what counts for a repository counts under its new name', () => {
  const one: Limit = { key: 'runners/ci per repository', most: 1, per: 'repository' };
  const limited = { ...acme, limits: [one] };
  const busy = named(limited, 1);
  const cancelling = [row(busy, { busy: true })];
  const plan = (renamedTo?: string) =>
    planScene({
      groups: [limited],
      liveJobs: [live(busy, 'running', { ...since, pinned: true })],
      looks: {
        acme: {
          jobs: [job(2, { repository: 'acme-inc/web' }), job(3, { repository: 'acme-inc/api' })],
          runners: cancelling,
          ...(renamedTo && { renamedTo }),
        },
      },
    });

  it('the slot of a runner at work whose CI job is in no list counts under the new name of its repository', () => {
    expect(plan('acme-inc').jobs.map(({ verdict }) => verdict)).toEqual(['held', 'held']);
    expect(plan('acme-inc').jobs[0]).toMatchObject({ because: 'limit', limit: { of: 'acme-inc/web' } });
    // Nobody knows that it is the same repository.
    expect(plan().verdicts).toMatchObject({ 2: `new-runner ${named(limited, 2)}` });
  });

  it.each([
    ['the new name', 'acme-inc', 'limit'],
    ['the old name', 'acme', 'limit'],
    ['another one', 'beta', undefined],
  ])(
    'a Job of another Application with %s of the owner in its spec (%s) holds ours back by: %s',
    (_, scope, because) => {
      const shared: Limit = { key: 'limit team', name: 'team', most: 1 };
      const theirs = live(named(group({ name: 'theirs' }), 9), 'running', {
        ...{ ...since, pinned: true, limits: ['team'], scope, application: 'theirs' },
      });
      const looks = { acme: { jobs: [job(2, { repository: 'acme-inc/web' })], runners: [], renamedTo: 'Acme-Inc' } };
      const groups = [{ ...acme, limits: [shared] }];
      const [decision] = planScene({ groups, liveJobs: [theirs], looks, application: 'ours' }).jobs;

      expect(decision && 'because' in decision ? decision.because : undefined).toBe(because);
    },
  );
});

describe('P11 a runner of another Application was printed under the old name', () => {
  const page = (repository: string, ids: string) => `${ORIGIN}/${repository}/actions/runs/${ids}`;
  const theirs = named(group({ name: 'team-b' }), 7);
  const verdict = (jobUrl: string, url: string, over: Partial<Job> = {}) =>
    planScene({
      groups: [acme],
      jobs: [job(7, { runId: 5, repository: 'acme/site', url, ...over })],
      liveJobs: [live(theirs, 'starting', { ...before, jobUrl })],
    }).verdicts[7];

  it('the job of the runner is known by the ids of run and job, which no other job of this Gitea has', () => {
    expect(verdict(page('acme/web', '5/jobs/7'), page('acme/site', '5/jobs/7'))).toBe('served-elsewhere');
  });

  it.each([
    ['another job', page('acme/web', '5/jobs/8'), page('acme/site', '5/jobs/7')],
    ['another run', page('acme/web', '6/jobs/7'), page('acme/site', '5/jobs/7')],
    ['the numbers of a repository, before Gitea 1.27', page('acme/web', '1/jobs/0'), page('acme/site', '1/jobs/0')],
  ])('the job of the runner is not taken for %s', (_, jobUrl, url) => {
    expect(verdict(jobUrl, url)).toBe(`new-runner ${named(acme, 7)}`);
  });

  it('a job that was printed under the numbers of before Gitea 1.27 is known by its whole page', () => {
    expect(verdict(page('acme/site', '1/jobs/0'), page('acme/site', '1/jobs/0'))).toBe('served-elsewhere');
  });
});

it('a runner of a job is running under either name', () => {
  const name = named(acme, 1);
  const looks = {
    acme: { jobs: [running(1, name, { repository: 'acme-inc/web' })], runners: [], renamedTo: 'acme-inc' },
  };
  const planned = planScene({ groups: [acme], looks, liveJobs: [live(name, 'running', since)] });

  expect(planned.reasons).toEqual({ [name]: 'busy' });
});
