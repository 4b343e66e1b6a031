/** What `doctor` asks a real Gitea besides jobs and runners, with tokens of just the right scopes and with others. */

import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type GiteaAccess, GiteaApi } from '../../src/clients/gitea/api.ts';
import { GLOBAL_LEVEL, orgLevel, repoLevel } from '../../src/clients/gitea/endpoints.ts';
import { giteaClient } from '../../src/clients/gitea/observe.ts';
import { isRegistrationToken, readActions, readHooks } from '../../src/clients/gitea/set-up.ts';
import type { HttpClient } from '../../src/clients/http/client.ts';
import { Deadline } from '../../src/clients/http/request.ts';
import { Token } from '../../src/clients/tokens/token.ts';
import { orFailure } from '../../src/shared/failure.ts';
import { GITEA_VERSIONS } from './build.ts';
import { type Gitea, startGitea } from './gitea.ts';
import { Playground } from './process.ts';

const ACME = orgLevel('acme');
const URL = 'http://10.0.0.7/webhook';
const HOOK = { url: URL, isActive: true, hasJobEvents: true, contentType: 'json' };

describe.each(GITEA_VERSIONS)('Gitea %s', (version) => {
  let playground: Playground;
  let gitea: Gitea;
  let http: HttpClient;

  beforeAll(async () => {
    playground = new Playground(`set-up-${version}`);
    gitea = await startGitea(version, inject('builds').gitea[version], playground);
    http = giteaClient({ deadlineMs: 10_000, env: {} });
    const { admin } = gitea;
    await admin.createOrg('acme');
    for (const name of ['web', 'docs']) await admin.createRepo(name, 'acme');
    await admin.call('PATCH', '/repos/acme/docs', { has_actions: false });
    const hook = {
      type: 'gitea',
      active: true,
      events: ['workflow_job'],
      config: { url: URL, content_type: 'json', secret: 'x' },
    };
    for (const path of ['/orgs/acme/hooks', '/repos/acme/web/hooks']) await admin.call('POST', path, hook);
  });

  afterAll(async () => {
    await http?.close();
    await playground.close();
  });

  async function accessWith(...scopes: readonly string[]): Promise<GiteaAccess> {
    const token = new Token(await gitea.admin.createToken(scopes), gitea.url);
    return { http, url: gitea.url, token, deadline: new Deadline(10_000), versions: new Map() };
  }

  it.each([
    ['read:organization', ACME],
    ['read:repository', repoLevel('acme', 'web')],
  ] as const)('shows webhooks to a token with %s', async (scope, level) => {
    expect(await readHooks(new GiteaApi(await accessWith(scope)), level)).toEqual([HOOK]);
  });

  it('shows no webhook to a token of another scope', async () => {
    const api = new GiteaApi(await accessWith('read:repository'));

    const failure = await orFailure(readHooks(api, ACME));

    expect(failure).toMatchObject({
      code: 'GR-GITEA-02',
      message: expect.stringContaining('lacks scope read:organization'),
    });
    expect(await readHooks(new GiteaApi(await accessWith('read:admin')), GLOBAL_LEVEL)).toEqual([]);
  });

  it('tells of each repository whether its Actions are on', async () => {
    expect(await readActions(new GiteaApi(await accessWith('read:organization')), ACME)).toEqual({
      repositories: 2,
      off: ['acme/docs'],
    });
    const api = new GiteaApi(await accessWith('read:repository'));
    expect(await readActions(api, repoLevel('acme', 'docs'))).toEqual({ repositories: 1, off: ['acme/docs'] });
  });

  it('lets the registration token be compared, by a token that may write', async () => {
    const path = '/orgs/acme/actions/runners/registration-token';
    const { token } = (await gitea.admin.call('POST', path)) as { readonly token: string };
    const writing = await accessWith('write:organization');

    expect(await isRegistrationToken(writing, ACME, token)).toBe(true);
    expect(await isRegistrationToken(writing, ACME, `${token}x`)).toBe(false);
    expect(await orFailure(isRegistrationToken(await accessWith('read:organization'), ACME, token))).toMatchObject({
      code: 'GR-GITEA-02',
      message: expect.stringContaining('lacks scope write:organization'),
    });
  });
});
