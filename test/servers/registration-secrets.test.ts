/** Registration tokens of a real Gitea: which rights they need, and `serve`, which puts them into a Secret. */
import { describe, expect, it } from 'vitest';
import { readRegistrationToken } from '../../src/clients/gitea/registrations.ts';
import type { Scope } from '../../src/shared/scope.ts';
import { managedGroup } from '../serve/managed-group.ts';
import { startApiServer } from '../support/api-server.ts';
import { failureOf } from '../support/failure-of.ts';
import { startQuietServe } from '../support/quiet-serve.ts';
import type { Account } from './account.ts';
import { GITEA_VERSIONS } from './build.ts';
import { waitUntil } from './process.ts';
import { useSite } from './site.ts';
import { workflow } from './workflows.ts';

describe.each(GITEA_VERSIONS)('Gitea %s', (version) => {
  let mia: Account;

  const repositories = { web: { 'one.yml': workflow({ one: { runsOn: 'linux' } }) } };
  const site = useSite('registration-secrets', { version, repositories }, async ({ admin }) => {
    mia = await admin.createUser('mia');
  });
  const whoMay = ({ kind }: Scope): Account => (kind === 'user' ? mia : site.admin);

  /** Returns the registration token that `serve` gets. */
  async function ask(scope: Scope, apiToken: string): Promise<string | undefined> {
    const access = site.access(apiToken);
    return (await readRegistrationToken(access, scope))?.token;
  }

  const scopes = [
    ['admin', '/admin', { kind: 'global' }],
    ['organization', '/orgs/acme', { kind: 'org', org: 'acme' }],
    ['repository', '/repos/acme/web', { kind: 'repo', owner: 'acme', repo: 'web' }],
    ['user', '/user', { kind: 'user', user: 'mia' }],
  ] as const;

  it.each(scopes)('write:%s is enough at %s, and the same token comes each time', async (right, level, scope) => {
    const by = whoMay(scope);
    const apiToken = await by.createToken([`write:${right}`]);

    const tokens = [await ask(scope, apiToken), await ask(scope, apiToken)];

    expect(tokens).toEqual(Array(2).fill(await by.registrationToken(level)));
  });

  it.each(scopes)('a token with read:%s is refused, and the message names the scope', async (right, _, scope) => {
    const apiToken = await whoMay(scope).createToken([`read:${right}`]);

    const { code, message } = await failureOf(ask(scope, apiToken));

    expect(code).toBe('GR-GITEA-02');
    expect(message).toContain(`the token lacks scope write:${right}`);
    expect(message).not.toContain(apiToken);
  });

  it('serve fills an empty Secret, and a runner registers with what is in it', async () => {
    const { admin, url } = site;
    const cluster = await startApiServer();
    cluster.put('runnergroups', managedGroup(url));
    cluster.put('secrets', { metadata: { namespace: 'runners', name: 'gitea-runner' } });
    const { events, end } = startQuietServe({
      cluster: cluster.config,
      env: { GITEA_URL: url, GITEA_TOKEN: await admin.createToken(['write:organization']) },
      registrationSecrets: ['gitea-runner'],
    });
    const written = () => (cluster.all('secrets')[0]?.['data'] as { token?: string } | undefined)?.token;
    const filled = await waitUntil('the Secret is filled', written).finally(end);
    const registrationToken = Buffer.from(filled, 'base64').toString();
    await admin.dispatch('acme/web', 'one.yml');
    await site.job('one', 'queued');
    await (await site.idleRunner('with-that-token', 'linux', registrationToken)).take();

    const [job] = await admin.jobs('/orgs/acme', 'in_progress');
    expect(job?.runner_name).toBe('with-that-token');
    expect(JSON.stringify(events)).not.toContain(registrationToken);
  });
});
