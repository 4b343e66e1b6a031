/**
 * Tests the requests of `doctor` to a real Gitea besides jobs and runners, with tokens of just the right scopes and
 * with others.
 */
import { describe, expect, it } from 'vitest';
import { GiteaApi } from '../../src/clients/gitea/api.ts';
import { GLOBAL_LEVEL, orgLevel, repoLevel } from '../../src/clients/gitea/endpoints.ts';
import { isRegistrationToken, readActions, readHooks } from '../../src/clients/gitea/set-up.ts';
import { orFailure } from '../../src/shared/failure.ts';
import { GITEA_VERSIONS } from './build.ts';
import { useSite } from './site.ts';

const ACME = orgLevel('acme');
const URL = 'http://10.0.0.7/webhook';
const HOOK = { url: URL, isActive: true, hasJobEvents: true, contentType: 'json' };

function lacks(scope: string): unknown {
  return expect.objectContaining({ code: 'GR-GITEA-02', message: expect.stringContaining(`lacks scope ${scope}`) });
}

describe.each(GITEA_VERSIONS)('Gitea %s', (version) => {
  const site = useSite('set-up', { version, repositories: { web: {}, docs: {} } }, async ({ admin }) => {
    await admin.call('PATCH', '/repos/acme/docs', { has_actions: false });
    const config = { url: URL, content_type: 'json', secret: 'x' };
    const hook = { type: 'gitea', active: true, events: ['workflow_job'], config };
    for (const path of ['/orgs/acme/hooks', '/repos/acme/web/hooks']) await admin.call('POST', path, hook);
  });
  const accessWith = async (scope: string) => site.access(await site.admin.createToken([scope]));
  const apiWith = async (scope: string) => new GiteaApi(await accessWith(scope));

  it.each([
    ['read:organization', ACME, [HOOK]],
    ['read:repository', repoLevel('acme', 'web'), [HOOK]],
    ['read:admin', GLOBAL_LEVEL, []],
  ] as const)('shows webhooks to a token with %s', async (scope, level, hooks) => {
    expect(await readHooks(await apiWith(scope), level)).toEqual(hooks);
  });

  it('shows no webhook to a token of another scope', async () => {
    expect(await orFailure(readHooks(await apiWith('read:repository'), ACME))).toEqual(lacks('read:organization'));
  });

  it.each([
    ['read:organization', ACME, 2],
    ['read:repository', repoLevel('acme', 'docs'), 1],
  ] as const)('tells a token with %s of each repository whether its Actions are on', async (scope, level, count) => {
    expect(await readActions(await apiWith(scope), level)).toEqual({ repositories: count, off: ['acme/docs'] });
  });

  it('lets the registration token be compared, by a token that may write', async () => {
    const token = await site.admin.registrationToken('/orgs/acme');
    const writing = await accessWith('write:organization');
    const reading = await accessWith('read:organization');

    expect(await isRegistrationToken(writing, ACME, token)).toBe(true);
    expect(await isRegistrationToken(writing, ACME, `${token}x`)).toBe(false);
    expect(await orFailure(isRegistrationToken(reading, ACME, token))).toEqual(lacks('write:organization'));
  });
});
