/**
 * Tests the four scopes with real rights: the rows that a token of just the right scopes shows, and the messages about
 * every other one.
 */
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { type Account, repositoryOf } from './account.ts';
import { GITEA_VERSIONS } from './build.ts';
import { generate, type TestGroup } from './generate.ts';
import { groupOf, readManifests } from './manifest.ts';
import { useSite } from './site.ts';
import { workflow } from './workflows.ts';

const COMMON = { labels: ['any:host'], cap: 9 };
const GLOBAL = { ...COMMON, name: 'global', scope: { scope: 'global' }, secret: 'global' };
const ORG = { ...COMMON, name: 'org', scope: { scope: 'org', org: 'acme' }, secret: 'org' };
const USER = { ...COMMON, name: 'user', scope: { scope: 'user', user: 'mia' }, secret: 'user' };
const REPO = { ...COMMON, name: 'repo', scope: { scope: 'repo', org: 'acme', repo: 'web' }, secret: 'repo' };

/** Every repository has one job in the queue. */
const REPOSITORIES = ['acme/web', 'acme/api', 'mia/mine', 'chief/own'];

const FORBIDS = 'Gitea forbids it (403):';

const REPOSITORY = 'gitea.bpg.pw/repository';

describe.each(GITEA_VERSIONS)('Gitea %s', (version) => {
  let mia: Account;
  /** A member of the org, not an owner. */
  let bob: Account;
  /** A reader of acme/web. */
  let carl: Account;

  const site = useSite('scopes', { version }, async ({ admin }) => {
    mia = await admin.createUser('mia');
    bob = await admin.createUser('bob');
    carl = await admin.createUser('carl');
    for (const repository of REPOSITORIES) {
      const [owner, name = ''] = repository.split('/');
      const by = owner === 'mia' ? mia : admin;
      await by.createRepo(name, owner === 'acme' ? owner : undefined);
      await by.addWorkflow(repository, 'one.yml', workflow({ one: { runsOn: 'any' } }));
      await by.dispatch(repository, 'one.yml');
    }
    await addMember(admin, 'acme', 'bob');
    await admin.call('PUT', '/repos/acme/web/collaborators/carl', { permission: 'read' });
  });

  /** Runs `generate` once. */
  async function look(groups: readonly TestGroup[], token: string): ReturnType<typeof generate> {
    site.writeGroups(groups);
    return await generate(site.folder, site.url, token);
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
      const token = await (by === 'mia' ? mia : site.admin).createToken(scopes);

      const { code, stdout, stderr } = await look([group], token);

      expect(code, stderr).toBe(0);
      const repositories = readManifests(stdout).map(({ metadata }) => metadata.annotations[REPOSITORY]);
      expect(repositories.sort()).toEqual([...expected].sort());
    },
  );

  const unfit = () => site.admin.createToken(['read:issue']);
  const ofAdmin = () => site.admin.token;
  const ofMia = () => mia.token;
  it.each<readonly [what: string, TestGroup, token: () => string | Promise<string>, says: readonly string[]]>([
    [
      'a token without the scope, of global',
      GLOBAL,
      unfit,
      [`${FORBIDS} the token lacks scope read:admin`, 'It is in '],
    ],
    [
      'a token without the scope, of org',
      ORG,
      unfit,
      [`${FORBIDS} the token lacks scope read:organization`, 'It is in '],
    ],
    ['a token without the scope, of user', USER, unfit, [`${FORBIDS} the token lacks scope read:user`, 'It is in ']],
    [
      'a token without the scope, of repo',
      REPO,
      unfit,
      [`${FORBIDS} the token lacks scope read:repository`, 'It is in '],
    ],
    ['an org that does not exist', { ...ORG, scope: { scope: 'org', org: 'nowhere' } }, ofAdmin, ['nowhere', '404']],
    [
      'a repository that does not exist',
      { ...REPO, scope: { scope: 'repo', org: 'acme', repo: 'nothing' } },
      ofAdmin,
      ['acme/nothing', '404'],
    ],
    [
      'a user who does not exist',
      { ...USER, scope: { scope: 'user', user: 'nobody-here' } },
      ofAdmin,
      ['nobody-here', '404'],
    ],
    [
      'a token that Gitea does not know',
      ORG,
      () => 'f'.repeat(40),
      ['Gitea does not accept the token (401)', 'put a valid one into '],
    ],
    ['a user who is no administrator', GLOBAL, ofMia, [`${FORBIDS} the token's user is not a site administrator`]],
    ['a user who is not in the org', ORG, ofMia, [`${FORBIDS} the token's user is not an owner of the org`]],
    ['a member of the org', ORG, () => bob.token, [`${FORBIDS} the token's user is not an owner of the org`]],
    [
      'a reader of the repository',
      REPO,
      () => carl.token,
      [`${FORBIDS} the token's user is not an administrator of the repository`],
    ],
  ])('fails for %s, and says so without the token', async (_, group, tokenOf, says) => {
    const token = await tokenOf();

    const { code, stdout, stderr } = await look([group], token);

    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    for (const words of says) expect(stderr).toContain(words);
    expect(stderr).not.toContain(token);
  });

  it('shows a member of the org its jobs, so that only the runners tell an owner', async () => {
    expect((await bob.ask('GET', '/orgs/acme/actions/jobs?status=queued')).status).toBe(200);
  });

  it('gives every job to the narrowest scope when all four cover it', async () => {
    const { code, stdout } = await look([GLOBAL, ORG, USER, REPO], site.admin.token);

    const owners = readManifests(stdout).map((job) => `${job.metadata.annotations[REPOSITORY]} ${groupOf(job)}`);
    expect(code).toBe(0);
    expect(owners.sort()).toEqual(['acme/api org', 'acme/web repo', 'chief/own global', 'mia/mine user']);
  });

  it('gets a job of each scope done by a runner that registered at that level', async () => {
    const { admin } = site;
    const repositories = { global: 'chief/own', org: 'acme/api', user: 'mia/mine', repo: 'acme/web' };
    for (const [name, repository] of Object.entries(repositories)) {
      const by = name === 'user' ? mia : admin;
      await by.addWorkflow(repository, 'only.yml', workflow({ only: { runsOn: `only-${name}` } }));
      await by.dispatch(repository, 'only.yml');
    }
    site.writeGroups([GLOBAL, ORG, USER, REPO].map((group) => ({ ...group, labels: [`only-${group.name}:host`] })));
    const secrets = {
      'global/token': await admin.registrationToken('/admin'),
      'org/token': await admin.registrationToken('/orgs/acme'),
      'user/token': await mia.registrationToken('/user'),
      'repo/token': await admin.registrationToken('/repos/acme/web'),
    };
    const loop = await site.startLoop({ secrets });

    await loop.untilIdle();

    const jobs = (await admin.jobs('/admin', 'in_progress', 'completed')).filter(({ name }) => name === 'only');
    const seen = jobs.map((job) => `${repositoryOf(job)} ${job.runner_name?.split('-')[0]} ${job.conclusion}`);
    expect(seen.sort()).toEqual([
      'acme/api org success',
      'acme/web repo success',
      'chief/own global success',
      'mia/mine user success',
    ]);
    expect(loop.passes.filter(({ generated }) => generated.code !== 0)).toEqual([]);
    expect(loop.cluster.records.length).toBe(4);
  });
});

/** Makes a user a member, not an owner, who may read the Actions of all repositories. */
async function addMember(admin: Account, org: string, user: string): Promise<void> {
  const units_map = { 'repo.code': 'read', 'repo.actions': 'read' };
  const team = { name: 'readers', includes_all_repositories: true, permission: 'read', units_map };
  const { id } = z.object({ id: z.number() }).parse(await admin.call('POST', `/orgs/${org}/teams`, team));
  await admin.call('PUT', `/teams/${id}/members/${user}`);
}
