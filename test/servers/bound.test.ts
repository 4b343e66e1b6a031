/**
 * Laws L24 and L26 against real Gitea and the real runner: a runner that we have registered, and that finds its credentials in a file that it
 * cannot write, gets jobs of one repository alone.
 */
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { levelOf } from '../../src/clients/gitea/endpoints.ts';
import { observe } from '../../src/clients/gitea/observe-gitea.ts';
import { credentialsFile, type Registered, registerRunner } from '../../src/clients/gitea/register.ts';
import { deleteRegistration, readRegistrationToken } from '../../src/clients/gitea/registrations.ts';
import { Token } from '../../src/clients/tokens/token.ts';
import type { Scope } from '../../src/shared/scope.ts';
import { failureOf } from '../support/failure-of.ts';
import { OPTIONS } from '../support/looking.ts';
import { type Account, type ApiJob, type LevelPath, repositoryOf } from './account.ts';
import { IdleRunner } from './bare-runner.ts';
import { GITEA_VERSIONS } from './build.ts';
import { sleep, waitUntil } from './process.ts';
import { useSite } from './site.ts';
import { workflow } from './workflows.ts';

const ORG = '/orgs/acme';
const ORG_SCOPE: Scope = { kind: 'org', org: 'acme' };
const repoOf = (owner: string, repo: string): Scope => ({ kind: 'repo', owner, repo });
const ALPHA = repoOf('acme', 'alpha');
const BETA = repoOf('acme', 'beta');
/** Written without a schema: the runner would add one, and write the file again. */
const LABEL = 'lab';
const ONE = { 'one.yml': workflow({ one: { runsOn: LABEL } }) };
/** Jobs of each repository, in two runs. */
const MANY = 100;
const HALF = { 'half.yml': workflow({ half: { runsOn: LABEL, matrix: MANY / 2 } }) };

describe.each(GITEA_VERSIONS)('Gitea %s', (version) => {
  let mia: Account;
  /** An owner of the org, who is not an administrator of the site. */
  let olga: Account;
  const site = useSite(
    'bound',
    { version, repositories: { alpha: ONE, beta: ONE, left: HALF, right: HALF } },
    async ({ admin }) => {
      mia = await admin.createUser('mia');
      olga = await admin.createUser('olga');
      await mia.createRepo('mine');
      const teams = (await admin.call('GET', `${ORG}/teams`)) as { readonly id: number; readonly name: string }[];
      const owners = teams.find(({ name }) => name === 'Owners');
      await admin.call('PUT', `/teams/${owners?.id}/members/olga`);
    },
  );

  async function tokenOf(scope: Scope, apiToken: string): Promise<string> {
    const found = await readRegistrationToken(site.access(apiToken), scope);
    if (!found) throw new Error('no registration token');
    return found.token;
  }

  async function register(name: string, scope: Scope, apiToken = site.admin.token): Promise<Registered> {
    const token = await tokenOf(scope, apiToken);
    return await registerRunner(site.access(apiToken), token, { name, labels: [LABEL] });
  }

  /** The daemon, with a file that it may read and not write. */
  function startDaemon(name: string, registered: Registered) {
    const { playground } = site;
    const folder = playground.makeFolder('daemons', name);
    const file = join(folder, '.runner');
    writeFileSync(file, credentialsFile(registered, { name, labels: [LABEL], address: site.url }));
    chmodSync(file, 0o444);
    const home = playground.makeFolder('homes', name);
    return playground.start({
      command: 'gitea-runner',
      args: ['daemon', '--config', configIn(home, file)],
      cwd: home,
      env: { HOME: home },
      binaries: inject('builds').runner,
      logFile: join(playground.makeFolder('logs'), `${name}.log`),
    });
  }

  function configIn(home: string, file: string): string {
    const config = join(home, 'config.yaml');
    writeFileSync(config, `runner: {file: ${file}}\nhost: {workdir_parent: ${home}}\ncache: {enabled: false}\n`);
    return config;
  }

  const rowsAt = (level: LevelPath): Promise<readonly string[]> => site.admin.runnerNames(level);
  const queuedIn = async (repository: string): Promise<readonly ApiJob[]> =>
    (await site.admin.jobs(ORG, 'queued')).filter((job) => repositoryOf(job) === repository);

  /** Runs the daemon to its end, and answers the CI job that it had. */
  async function runToEnd(name: string, registered: Registered): Promise<ApiJob | undefined> {
    const daemon = startDaemon(name, registered);
    await waitUntil(`runner ${name} ends`, daemon.hasExited);
    expect(await daemon.exited).toBe(0);
    const done = await site.admin.jobs('/admin', 'completed');
    return done.find(({ runner_name }) => runner_name === name);
  }

  it.each<[string, Scope, LevelPath, () => Account, readonly string[]]>([
    ['a repository of an organization, by its owner', BETA, '/repos/acme/beta', () => olga, ['write:repository']],
    ['an organization', ORG_SCOPE, ORG, () => olga, ['write:organization']],
    ['a repository of a user', repoOf('mia', 'mine'), '/repos/mia/mine', () => mia, ['write:repository']],
    ['a user', { kind: 'user', user: 'mia' }, '/user', () => mia, ['write:user']],
    ['the whole instance', { kind: 'global' }, '/admin', () => site.admin, ['write:admin']],
  ])('a runner of %s is in the list of its level and of the instance alone', async (_, scope, level, by, scopes) => {
    const apiToken = await by().createToken(scopes);
    const name = `row-${scope.kind}-${Date.now()}`;

    const { id } = await register(name, scope, apiToken);

    expect(await by().runners(level)).toContainEqual({ id, name, status: 'offline', busy: false, ephemeral: true });
    expect(await rowsAt('/admin')).toContain(name);
    if (scope.kind !== 'org') expect(await rowsAt(ORG)).not.toContain(name);
    // No list of another level can delete the row.
    if (scope.kind === 'repo') {
      const ofOrg = levelOf(ORG_SCOPE);
      expect(await deleteRegistration(site.access(site.admin.token), ofOrg, id)).toBe('gone');
      expect(await rowsAt(level === '/user' ? '/admin' : level)).toContain(name);
    }
    expect(await deleteRegistration(site.access(apiToken), levelOf(scope), id)).toBe('deleted');
    expect(await rowsAt('/admin')).not.toContain(name);
  });

  it('a bound runner has only jobs of its repository, from a file that it cannot write, and is gone then', async () => {
    for (const repository of ['alpha', 'alpha', 'beta', 'beta'])
      await site.admin.dispatch(`acme/${repository}`, 'one.yml');
    const [[a1, a2], [b1, b2]] = [await queuedIn('acme/alpha'), await queuedIn('acme/beta')];
    expect(a1?.id).toBeLessThan(b1?.id ?? 0);

    const had = await runToEnd('beta-1', await register('beta-1', BETA, olga.token));

    expect([had?.id, had?.conclusion]).toEqual([b1?.id, 'success']);
    expect((await queuedIn('acme/alpha')).map(({ id }) => id)).toEqual([a1?.id, a2?.id]);
    expect((await queuedIn('acme/beta')).map(({ id }) => id)).toEqual([b2?.id]);
    expect(await rowsAt('/admin')).not.toContain('beta-1');
  });

  it('a bound runner has never a job of the other one of two repositories with one label, in 200 jobs', async () => {
    const repositories = ['left', 'right'];
    const jobsOf = (status: string) => site.admin.jobs(ORG, status);
    for (const repository of [...repositories, ...repositories])
      await site.admin.dispatch(`acme/${repository}`, 'half.yml');
    const runsOfBoth = async (): Promise<number> =>
      (await jobsOf('queued')).filter((job) => /left|right/.test(repositoryOf(job))).length;
    await waitUntil('all jobs are queued', async () => (await runsOfBoth()) === 2 * MANY);

    await Promise.all(
      repositories.map(async (repository) => {
        const registrationToken = await tokenOf(repoOf('acme', repository), olga.token);
        for (let nth = 1; nth <= MANY; nth += 1) {
          const name = `${repository}-${nth}`;
          const runner = await IdleRunner.register(site.url, { name, registrationToken, labels: [LABEL] });
          await runner.take('RESULT_SUCCESS');
        }
      }),
    );

    const done = (await jobsOf('completed')).filter((job) => /left|right/.test(repositoryOf(job)));
    expect(done).toHaveLength(2 * MANY);
    for (const job of done) expect(`acme/${job.runner_name}`).toMatch(new RegExp(`^${repositoryOf(job)}-`));
  });

  it('a bound runner waits while its repository has no job, however many jobs others have', async () => {
    const other = await register('gamma-1', repoOf('mia', 'mine'), mia.token);
    const daemon = startDaemon('gamma-1', other);
    const isOnline = async () => (await mia.runners('/repos/mia/mine')).some(({ status }) => status === 'online');
    await waitUntil('it is online', isOnline, { running: daemon });
    // More than one poll of the runner, which asks every 2 s.
    await sleep(5_000);

    expect(daemon.hasExited()).toBe(false);
    expect(await queuedIn('acme/alpha')).toHaveLength(2);

    daemon.signal('SIGTERM');
    await waitUntil('it ends', daemon.hasExited);
    // The runner never had a job, so its row stays until somebody deletes it.
    expect(await rowsAt('/repos/mia/mine')).toContain('gamma-1');
  });

  it('a bound runner of a repository that was renamed has its jobs under the new name', async () => {
    const registered = await register('alpha-1', ALPHA, olga.token);
    await site.admin.call('PATCH', '/repos/acme/alpha', { name: 'alpha-b' });

    const bound = [{ name: 'alpha-1', boundTo: 'acme/alpha' }];
    const target = { key: 'look', url: site.url, scope: ORG_SCOPE, token: new Token(olga.token, site.url) };
    const seen = await observe([target], { ...OPTIONS, boundRunners: async () => bound });
    const had = await runToEnd('alpha-1', registered);

    // The list is asked by the old name, and Gitea leads to the new one.
    expect(seen.get('look')?.runners.map(({ name, online }) => [name, online])).toEqual([['alpha-1', false]]);
    expect([had && repositoryOf(had), had?.conclusion]).toEqual(['acme/alpha-b', 'success']);
    // The token under the former name is the one under the new name.
    expect(await tokenOf(ALPHA, olga.token)).toBe(await tokenOf(repoOf('acme', 'alpha-b'), olga.token));
  });

  it('a registration is refused with a token that was reset, and the next request gets the new one', async () => {
    const old = await tokenOf(BETA, olga.token);
    await resetToken('acme/beta');

    const { code, kind, message } = await failureOf(
      registerRunner(site.access(olga.token), old, { name: 'reset-1', labels: [LABEL] }),
    );
    const { id } = await register('reset-2', BETA, olga.token);

    expect([code, kind]).toEqual(['GR-GITEA-20', 'unauthorized']);
    expect(message).not.toContain(old);
    expect(await rowsAt('/repos/acme/beta')).toEqual(['reset-2']);
    expect(await deleteRegistration(site.access(olga.token), levelOf(BETA), id)).toBe('deleted');
  });

  /** Resets the token in Gitea's pages, like a person: the API cannot. */
  async function resetToken(repository: string): Promise<void> {
    const person = { user_name: 'rita', password: 'a-password-for-rita' };
    const { user_name: username, password } = person;
    const email = 'rita@example.com';
    await site.admin.call('POST', '/admin/users', { username, email, password, must_change_password: false });
    await site.admin.call('PUT', `/repos/${repository}/collaborators/rita`, { permission: 'admin' });
    const send = async (path: string, form: Readonly<Record<string, string>>, cookie: string) => {
      const body = new URLSearchParams(form);
      const headers = { origin: site.url, cookie };
      return await fetch(`${site.url}${path}`, { method: 'POST', body, headers, redirect: 'manual' });
    };
    const signedIn = await send('/user/login', person, '');
    // The session has a new name after the login, and the last cookie of a name counts.
    const cookies = signedIn.headers.getSetCookie().map((each) => each.split(';', 1).join());
    const cookie = [...new Map(cookies.map((each) => [each.split('=', 1).join(), each])).values()].join('; ');
    const reset = await send(`/${repository}/settings/actions/runners/reset_registration_token`, {}, cookie);
    if (reset.status !== 200)
      throw new Error(
        `reset a registration token: HTTP ${signedIn.status}, ${reset.status} ${reset.headers.get('location')}`,
      );
  }

  it('a registration is refused with a token that is unknown, or whose repository is gone', async () => {
    await site.addRepository('gone');
    const gone = repoOf('acme', 'gone');
    const access = site.access(site.admin.token);
    const runner = { name: 'refused-1', labels: [LABEL] };
    const old = await tokenOf(gone, site.admin.token);
    await site.admin.call('DELETE', '/repos/acme/gone');

    const failures = [
      await failureOf(registerRunner(access, old, runner)),
      await failureOf(registerRunner(access, 'f'.repeat(40), runner)),
    ];

    for (const { code, kind, message } of failures) {
      expect([code, kind]).toEqual(['GR-GITEA-20', 'unauthorized']);
      expect(message).not.toContain(old);
    }
    expect(await rowsAt('/admin')).not.toContain('refused-1');
  });
});
