/** Laws L19 and P29 against real Gitea: an organization, a repository and a user get other names. */
import { describe, expect, it } from 'vitest';
import { readRegistrationToken } from '../../src/clients/gitea/registrations.ts';
import type { Scope } from '../../src/shared/scope.ts';
import type { Account } from './account.ts';
import { GITEA_VERSIONS } from './build.ts';
import { generate, type TestGroup } from './generate.ts';
import { readManifests } from './manifest.ts';
import { useSite } from './site.ts';
import { workflow } from './workflows.ts';

const COMMON = { labels: ['any:host'], cap: 9 };
const ORG = { ...COMMON, name: 'org', scope: { scope: 'org', org: 'acme' }, secret: 'org' };
const USER = { ...COMMON, name: 'user', scope: { scope: 'user', user: 'mia' }, secret: 'user' };
const REPO = { ...COMMON, name: 'repo', scope: { scope: 'repo', org: 'acme', repo: 'web' }, secret: 'repo' };
const REPOSITORY = 'gitea.bpg.pw/repository';

describe.each(GITEA_VERSIONS)('Gitea %s', (version) => {
  let mia: Account;

  const site = useSite('renamed', { version }, async ({ admin }) => {
    mia = await admin.createUser('mia');
    for (const [repository, by] of [['acme/web', admin] as const, ['mia/mine', mia] as const]) {
      const [owner, name = ''] = repository.split('/');
      await by.createRepo(name, owner === 'acme' ? owner : undefined);
      await by.addWorkflow(repository, 'one.yml', workflow({ one: { runsOn: 'any' } }));
      await by.dispatch(repository, 'one.yml');
    }
  });

  async function look(group: TestGroup, token: string) {
    site.writeGroups([group]);
    const { code, stdout, stderr } = await generate(site.folder, site.url, token);
    expect(code, stderr).toBe(0);
    const jobs = readManifests(stdout).map(({ metadata }) => [metadata.name, metadata.annotations[REPOSITORY]]);
    return { jobs, stderr };
  }

  /**
   * Expects before and after the rename: the same runner, for the repository under its new name, and the registration
   * token of the same scope.
   */
  async function expectToGoOn(
    group: TestGroup,
    scope: Scope,
    by: Account,
    token: string,
    rename: () => Promise<unknown>,
  ) {
    const [before, secret] = [await look(group, token), await readRegistrationToken(site.access(by.token), scope)];
    expect([before.jobs.length, before.stderr]).toEqual([1, expect.not.stringContaining('GR-GITEA-19')]);

    await rename();
    const after = await look(group, token);

    expect(after.jobs.map(([name]) => name)).toEqual(before.jobs.map(([name]) => name));
    const registration = await readRegistrationToken(site.access(by.token), scope);
    expect([registration?.token, secret?.now]).toEqual([secret?.token, undefined]);
    return { repository: after.jobs[0]?.[1], stderr: after.stderr, now: registration?.now };
  }

  it('goes on under the new names of a repository, of its organization and of a user', async () => {
    const { admin } = site;
    const web: Scope = { kind: 'repo', owner: 'acme', repo: 'web' };
    const ofUser = await mia.createToken(['read:user']);

    const repo = await expectToGoOn(REPO, web, admin, admin.token, () =>
      admin.call('PATCH', '/repos/acme/web', { name: 'site' }),
    );
    const org = await expectToGoOn(ORG, { kind: 'org', org: 'acme' }, admin, admin.token, () =>
      admin.call('POST', '/orgs/acme/rename', { new_name: 'acme-inc' }),
    );
    const user = await expectToGoOn(USER, { kind: 'user', user: 'mia' }, mia, ofUser, () =>
      admin.call('POST', '/admin/users/mia/rename', { new_username: 'mia-b' }),
    );
    // Two redirects, one after the other.
    const both = await look(REPO, admin.token);

    expect(repo).toMatchObject({ repository: 'acme/site', now: 'acme/site' });
    expect(org).toMatchObject({ repository: 'acme-inc/site', now: 'acme-inc' });
    expect(user).toMatchObject({ repository: 'mia-b/mine', now: 'mia-b' });
    expect(both.jobs).toEqual([[expect.any(String), 'acme-inc/site']]);
    for (const { stderr, now } of [repo, org, user]) expect(stderr).toContain(`(renamed to ${now})`);
    expect(both.stderr).toContain('renamed to acme-inc/site');
  });
});
