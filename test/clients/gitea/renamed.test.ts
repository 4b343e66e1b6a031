/** Law L19 (docs/spec.md): a scope that somebody has renamed in Gitea is looked at, asked and changed under its new name. */
import { describe, expect, it } from 'vitest';
import type { GiteaVersion } from '../../../simulator/gitea/versions.ts';
import { GiteaApi } from '../../../src/clients/gitea/api.ts';
import { observe } from '../../../src/clients/gitea/observe-gitea.ts';
import { deleteRegistration, readRegistrationToken } from '../../../src/clients/gitea/registrations.ts';
import { askForRerun, readRunJobs } from '../../../src/clients/gitea/runs.ts';
import { setCommitStatus } from '../../../src/clients/gitea/set-commit-status.ts';
import { ownLevel } from '../../../src/clients/gitea/user-repos.ts';
import { Token } from '../../../src/clients/tokens/token.ts';
import type { Scope } from '../../../src/shared/scope.ts';
import { failureOf } from '../../support/failure-of.ts';
import { fakeGitea, jobRow } from '../../support/gitea-stand-in.ts';
import { ACME, accessTo, lookAt, OPTIONS, SECRET } from '../../support/looking.ts';
import { startAcme } from '../../support/start-acme.ts';

/** Versions that can re-run jobs. */
const VERSIONS: readonly GiteaVersion[] = ['1.26.0', '1.27.3', '28.0.0'];
const WEB: Scope = { kind: 'repo', owner: 'acme', repo: 'web' };
const ANNA: Scope = { kind: 'user', user: 'anna' };

/** acme has a repository, and anna has one. Each has a job. */
async function open(version: GiteaVersion = '1.27.3') {
  const { simulator } = await startAcme({ version });
  const { gitea } = simulator;
  gitea.addUser('root', { admin: true });
  gitea.addToken('root', ['all'], 'of-root');
  gitea.addToken('anna', ['all'], SECRET);
  gitea.addRepo('anna/own');
  const spec = { jobs: [{ key: 'build', runsOn: ['linux'] }] };
  const jobs = ['acme/web', 'anna/own'].map((repository) => gitea.push(repository, spec).jobs[0]);
  const access = accessTo(simulator.url);
  return { simulator, gitea, jobs, access };
}

type World = Awaited<ReturnType<typeof open>>;

const RENAMES: readonly (readonly [string, Scope, (gitea: World['gitea']) => void, string, string])[] = [
  ['an organization', ACME, (gitea) => gitea.renameOwner('acme', 'acme-inc'), 'acme-inc', 'acme-inc/web'],
  ['a repository', WEB, (gitea) => gitea.renameRepo('acme/web', 'site'), 'acme/site', 'acme/site'],
  ['the owner of a repository', WEB, (gitea) => gitea.renameOwner('acme', 'acme-inc'), 'acme-inc/web', 'acme-inc/web'],
  [
    'a repository and its owner',
    WEB,
    (gitea) => {
      gitea.renameRepo('acme/web', 'site');
      gitea.renameOwner('acme', 'acme-inc');
    },
    'acme-inc/site',
    'acme-inc/site',
  ],
  ['the user himself', ANNA, (gitea) => gitea.renameOwner('anna', 'anna-b'), 'anna-b', 'anna-b/own'],
  [
    'a repository that went to another owner',
    WEB,
    (gitea) => {
      gitea.addOrg('beta', { owners: ['anna'] });
      gitea.transferRepo('acme/web', 'beta');
    },
    'beta/web',
    'beta/web',
  ],
];

describe.each(VERSIONS)('Gitea %s', (version) => {
  it.each(RENAMES)('%s was renamed: a look finds the jobs and says the new name', async (_, scope, rename, now, of) => {
    const { gitea, simulator } = await open(version);
    const before = await lookAt(simulator.url, scope);

    rename(gitea);
    const after = await lookAt(simulator.url, scope);

    expect(before.renamedTo).toBeUndefined();
    expect(after.renamedTo).toBe(now);
    expect(after.jobs.map(({ repository }) => repository)).toEqual([of]);
    expect(after.rowsWereRead).toBe(true);
  });

  it('another name that is asked for costs no request while it is the right one', async () => {
    const { simulator } = await open(version);

    for (const scope of [ACME, WEB, ANNA]) await lookAt(simulator.url, scope);

    const asked = simulator.requests.map(({ target }) => target.replace(/\?.*/, '').replace('/api/v1', ''));
    const kinds = new Set(
      asked.filter((path) => !path.endsWith('/actions/jobs') && !path.endsWith('/actions/runners')),
    );
    expect(kinds).toEqual(new Set(['/version', '/user']));
  });

  it("another user's name costs no request more, and tells his new name", async () => {
    const { gitea, simulator } = await open(version);
    const token = new Token('of-root', simulator.url);
    const look = async () => {
      const from = simulator.requests.length;
      const looks = await observe([{ key: 'look', url: simulator.url, scope: ANNA, token }], OPTIONS);
      const asked = simulator.requests.slice(from).map(({ target }) => target);
      return { found: looks.get('look'), lists: asked.filter((target) => target.includes('/users/')).length };
    };

    expect(await look()).toMatchObject({ lists: 1, found: { jobs: [{ repository: 'anna/own' }] } });
    gitea.renameOwner('anna', 'anna-b');
    // The redirect, and where it leads.
    expect(await look()).toMatchObject({
      lists: 2,
      found: { renamedTo: 'anna-b', jobs: [{ repository: 'anna-b/own' }] },
    });
  });

  it('what changes something reaches the same place under its new name', async () => {
    const { access, gitea, jobs } = await open(version);
    const scope = { kind: 'owner', owner: 'acme' } as const;
    const token = gitea.registrationToken(scope);
    const runner = gitea.register({ name: 'one', scope, labels: ['linux'] });
    const idle = gitea.register({ name: 'two', scope, labels: ['linux'] });
    gitea.poll(runner.id);
    gitea.finish(runner.id, 'failure');
    gitea.renameRepo('acme/web', 'site');
    gitea.renameOwner('acme', 'acme-inc');

    const place = { repository: 'acme/web', runId: jobs[0]?.runId ?? 0 };
    expect(await readRunJobs(access, place)).toMatchObject([{ runner: 'one' }]);
    expect(await askForRerun(access, place, { jobId: jobs[0]?.id ?? 0 })).toBe('asked');
    expect(gitea.jobsOfRun(place.runId)[0]?.status).toBe('waiting');
    const sha = 'a'.repeat(40);
    await setCommitStatus(access, { repository: 'acme/web', sha, context: 'c', description: 'd', url: '' });
    expect(gitea.state.commitStatuses).toMatchObject([{ sha, repoId: gitea.state.repos.get('acme-inc/site')?.id }]);
    expect(await readRegistrationToken(access, ACME)).toEqual({ token, now: 'acme-inc' });
    const level = await ownLevel(new GiteaApi(access), ACME);
    expect(level && (await deleteRegistration(access, level, idle.id))).toBe('deleted');
    expect(gitea.runners().map(({ name }) => name)).not.toContain('two');
  });

  it('a name that another one has taken is no redirect any more: it is his', async () => {
    const { gitea, simulator } = await open(version);
    gitea.renameOwner('acme', 'acme-inc');
    gitea.addUser('eve');
    gitea.addOrg('acme', { owners: ['eve'] });
    gitea.addRepo('acme/web');

    expect((await failureOf(lookAt(simulator.url, ACME))).kind).toBe('forbidden');
    expect((await failureOf(readRegistrationToken(accessTo(simulator.url), ACME))).kind).toBe('forbidden');
    await failureOf(askForRerun(accessTo(simulator.url), { repository: 'acme/web', runId: 1 }, { jobId: 1 }));
    expect(gitea.job(1).status).toBe('waiting');
  });
});

const JOBS = '/api/v1/orgs/acme/actions/jobs';
const leading = async (to: string, from = JOBS) =>
  await fakeGitea({
    jobs: [jobRow(1)],
    intercept: ({ path }, response, { url = '' }) => {
      if (path !== from) return false;
      response.writeHead(307, { location: to + url.replace(/[^?]*/, '') }).end();
      return true;
    },
  });

it.each([
  '/api/v1/admin/actions/jobs',
  '/api/v1/user/actions/jobs',
  '/api/v1/users/evil/actions/jobs',
  '/api/v1/repos/evil/web/actions/jobs',
  '/api/v1/orgs/evil/actions/runners',
  '/api/v1/orgs/evil/actions/jobs/more',
  '/api/v1/orgs/..%2fadmin/actions/jobs',
  '/api/v1/orgs/%2e%2e/admin/actions/jobs',
  '/api/v1/orgs/evil%20org/actions/jobs',
  '/api/v1/orgs//actions/jobs',
  '/login',
])('a redirect that is no other name is not followed: %s', async (to) => {
  const gitea = await leading(to);

  const failure = await failureOf(lookAt(gitea.url));

  expect(failure).toMatchObject({ code: 'GR-HTTP-11', message: expect.stringContaining('to another path') });
  expect(gitea.lines().filter((line) => !line.startsWith(JOBS))).toEqual([]);
});

it('a redirect that is no other name is not followed to another server, by a POST neither', async () => {
  const other = await fakeGitea();
  const path = '/api/v1/orgs/acme/actions/runners/registration-token';
  const gitea = await leading(`${other.url}${path}`, path);

  const failure = await failureOf(readRegistrationToken(accessTo(gitea.url), ACME));

  expect([failure.code, other.seen]).toEqual(['GR-HTTP-11', []]);
});

it('a redirect that is no other name is not followed for a POST about no name', async () => {
  const path = '/api/v1/admin/actions/runners/registration-token';
  const gitea = await leading('/login', path);

  await failureOf(readRegistrationToken(accessTo(gitea.url), { kind: 'global' }));

  expect(gitea.lines()).toEqual([path]);
});
