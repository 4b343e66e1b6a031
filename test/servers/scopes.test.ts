/** The four scopes against real rights: what a token of just the right scopes shows, and what is said about every other one. */
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import * as z from 'zod';
import { type Account, repositoryOf } from './account.ts';
import { GITEA_VERSIONS } from './build.ts';
import { Cluster } from './cluster.ts';
import { generate, type TestGroup, writeGroups } from './generate.ts';
import { type Gitea, startGitea } from './gitea.ts';
import { Loop } from './loop.ts';
import { groupOf, readManifests } from './manifest.ts';
import { Playground } from './process.ts';
import { workflow } from './workflows.ts';

const COMMON = { labels: ['any:host'], cap: 9 };
const GLOBAL: TestGroup = { ...COMMON, name: 'global', scope: { scope: 'global' }, secret: 'global' };
const ORG: TestGroup = { ...COMMON, name: 'org', scope: { scope: 'org', org: 'acme' }, secret: 'org' };
const USER: TestGroup = { ...COMMON, name: 'user', scope: { scope: 'user', user: 'mia' }, secret: 'user' };
const REPO: TestGroup = { ...COMMON, name: 'repo', scope: { scope: 'repo', org: 'acme', repo: 'web' }, secret: 'repo' };

/** Every repository has one job in the queue. */
const REPOSITORIES = ['acme/web', 'acme/api', 'mia/mine', 'chief/own'];

const REPOSITORY = 'gitea.bpg.pw/repository';

describe.each(GITEA_VERSIONS)('Gitea %s', (version) => {
  let playground: Playground;
  let gitea: Gitea;
  let mia: Account;
  let bob: Account;

  beforeAll(async () => {
    playground = new Playground(`scopes-${version}`);
    gitea = await startGitea(version, inject('builds').gitea[version], playground);
    const { admin } = gitea;
    mia = await admin.createUser('mia');
    bob = await admin.createUser('bob');
    await admin.createOrg('acme');
    for (const repository of REPOSITORIES) {
      const [owner, name = ''] = repository.split('/');
      const by = owner === 'mia' ? mia : admin;
      await by.createRepo(name, owner === 'acme' ? owner : undefined);
      await by.addWorkflow(repository, 'one.yml', workflow({ one: { runsOn: 'any', seconds: 1 } }));
      await by.dispatch(repository, 'one.yml');
    }
    await addMember(admin, 'acme', 'bob');
  });

  afterAll(() => playground.close());

  /** Runs `generate` once. */
  async function look(groups: readonly TestGroup[], token: string): ReturnType<typeof generate> {
    const folder = playground.makeFolder(`groups-${Date.now()}`);
    writeGroups(folder, gitea.url, groups);
    return await generate(folder, gitea.url, token);
  }

  it.each([
    ['global', GLOBAL, 'chief', ['read:admin'], REPOSITORIES],
    ['org', ORG, 'chief', ['read:organization'], ['acme/api', 'acme/web']],
    ['user, by himself', USER, 'mia', ['read:user'], ['mia/mine']],
    ['user, by an administrator', USER, 'chief', ['read:user', 'read:repository'], ['mia/mine']],
    ['repo', REPO, 'chief', ['read:repository'], ['acme/web']],
  ] as const)(
    'asks for one runner for each job of scope %s, and needs no more than its scopes',
    async (_, group, by, scopes, expected) => {
      const token = await (by === 'mia' ? mia : gitea.admin).createToken(scopes);

      const { exit, stdout, stderr } = await look([group], token);

      expect(exit, stderr).toBe(0);
      const repositories = readManifests(stdout).map(({ metadata }) => metadata.annotations[REPOSITORY]);
      expect(repositories.sort()).toEqual([...expected].sort());
    },
  );

  it.each([
    ['global', GLOBAL, 'read:admin'],
    ['org', ORG, 'read:organization'],
    ['user', USER, 'read:user'],
    ['repo', REPO, 'read:repository'],
  ] as const)('names the scope that a token lacks for scope %s', async (_, group, scope) => {
    const token = await gitea.admin.createToken(['read:issue']);

    const { exit, stdout, stderr } = await look([group], token);

    expect({ exit, stdout }).toEqual({ exit: 1, stdout: '' });
    expect(stderr).toContain(`Gitea forbids it (403): the token lacks scope ${scope}`);
    expect(stderr).toContain('It is in ');
    expect(stderr).not.toContain(token);
  });

  it.each([
    ['an org that does not exist', { ...ORG, scope: { scope: 'org', org: 'nowhere' } }, 'nowhere'],
    [
      'a repository that does not exist',
      { ...REPO, scope: { scope: 'repo', org: 'acme', repo: 'nothing' } },
      'acme/nothing',
    ],
    ['a user who does not exist', { ...USER, scope: { scope: 'user', user: 'nobody-here' } }, 'nobody-here'],
  ] as const)('fails for %s and names it', async (_, group, name) => {
    const { exit, stdout, stderr } = await look([group], gitea.admin.token);

    expect({ exit, stdout }).toEqual({ exit: 1, stdout: '' });
    expect(stderr).toContain(name);
    expect(stderr).toContain('404');
  });

  it('fails for a token that Gitea does not know', async () => {
    const { exit, stdout, stderr } = await look([ORG], 'f'.repeat(40));

    expect({ exit, stdout }).toEqual({ exit: 1, stdout: '' });
    expect(stderr).toContain('Gitea does not accept the token (401)');
    expect(stderr).toContain('put a valid one into ');
  });

  it('fails for a member of the org who may see its jobs but not its runners', async () => {
    const jobs = await bob.ask('GET', '/orgs/acme/actions/jobs?status=queued');

    const { exit, stdout, stderr } = await look([ORG], bob.token);

    expect(jobs.status).toBe(200);
    expect({ exit, stdout }).toEqual({ exit: 1, stdout: '' });
    expect(stderr).toContain("Gitea forbids it (403): the token's user is not an owner of the org");
  });

  it.each([
    ['global', GLOBAL, "the token's user is not a site administrator"],
    ['org', ORG, "the token's user is not an owner of the org"],
  ] as const)(
    'names the place of the user who has all scopes and owns nothing, for scope %s',
    async (_, group, said) => {
      const { exit, stdout, stderr } = await look([group], mia.token);

      expect({ exit, stdout }).toEqual({ exit: 1, stdout: '' });
      expect(stderr).toContain(`Gitea forbids it (403): ${said}`);
      expect(stderr).not.toContain(mia.token);
    },
  );

  it('names the place of a collaborator who may read the repository and no more', async () => {
    const carl = await gitea.admin.createUser('carl');
    await gitea.admin.call('PUT', '/repos/acme/web/collaborators/carl', { permission: 'read' });

    const { exit, stdout, stderr } = await look([REPO], carl.token);

    expect({ exit, stdout }).toEqual({ exit: 1, stdout: '' });
    expect(stderr).toContain("Gitea forbids it (403): the token's user is not an administrator of the repository");
  });

  it('gives every job to the narrowest scope when all four cover it', async () => {
    const { exit, stdout } = await look([GLOBAL, ORG, USER, REPO], gitea.admin.token);

    const owners = readManifests(stdout).map((job) => `${job.metadata.annotations[REPOSITORY]} ${groupOf(job)}`);
    expect(exit).toBe(0);
    expect(owners.sort()).toEqual(['acme/api org', 'acme/web repo', 'chief/own global', 'mia/mine user']);
  });

  it('gets a job of each scope done by a runner that registered at that level', async () => {
    const { admin, url } = gitea;
    const groups = [GLOBAL, ORG, USER, REPO].map((group) => ({ ...group, labels: [`only-${group.name}:host`] }));
    const repositories = { global: 'chief/own', org: 'acme/api', user: 'mia/mine', repo: 'acme/web' };
    for (const [name, repository] of Object.entries(repositories)) {
      const by = name === 'user' ? mia : admin;
      await by.addWorkflow(repository, 'only.yml', workflow({ only: { runsOn: `only-${name}`, seconds: 1 } }));
      await by.dispatch(repository, 'only.yml');
    }
    const secrets = new Map([
      ['global/token', await admin.registrationToken('/admin')],
      ['org/token', await admin.registrationToken('/orgs/acme')],
      ['user/token', await mia.registrationToken('/user')],
      ['repo/token', await admin.registrationToken('/repos/acme/web')],
    ]);
    const cluster = new Cluster({ playground, runner: inject('builds').runner, secrets });
    const folder = playground.makeFolder('groups');
    writeGroups(folder, url, groups);
    const loop = new Loop({ cluster, folder, groups, url, token: admin.token });

    await loop.until('all runners end', ({ generated }) => generated.stdout === '' && cluster.unfinished === 0, 60_000);

    const jobs = (await admin.jobs('/admin', 'in_progress', 'completed')).filter(({ name }) => name === 'only');
    const seen = jobs.map((job) => `${repositoryOf(job)} ${job.runner_name?.split('-')[0]} ${job.conclusion}`);
    expect(seen.sort()).toEqual([
      'acme/api org success',
      'acme/web repo success',
      'chief/own global success',
      'mia/mine user success',
    ]);
    expect(loop.passes.filter(({ generated }) => generated.exit !== 0)).toEqual([]);
    expect(cluster.records.length).toBe(groups.length);
  });
});

/** Makes someone a member, not an owner, who may read the Actions of all repositories. */
async function addMember(admin: Account, org: string, user: string): Promise<void> {
  const units_map = { 'repo.code': 'read', 'repo.actions': 'read' };
  const team = { name: 'readers', includes_all_repositories: true, permission: 'read', units_map };
  const { id } = z.object({ id: z.number() }).parse(await admin.call('POST', `/orgs/${org}/teams`, team));
  await admin.call('PUT', `/teams/${id}/members/${user}`);
}
