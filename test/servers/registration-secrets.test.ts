/** Registration tokens of a real Gitea: which rights they need, and `serve`, which puts them into a Secret. */
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { giteaClient } from '../../src/clients/gitea/observe.ts';
import { readRegistrationToken, registrationLevel } from '../../src/clients/gitea/registrations.ts';
import { Deadline } from '../../src/clients/http/request.ts';
import { Token } from '../../src/clients/tokens/token.ts';
import type { Scope } from '../../src/shared/scope.ts';
import { startFakeCluster } from '../serve/fake-cluster.ts';
import { managedGroup } from '../serve/managed-group.ts';
import { failureOf } from '../support/failure-of.ts';
import { startQuietServe } from '../support/quiet-serve.ts';
import type { Account } from './account.ts';
import { takeJob } from './bare-runner.ts';
import { type Gitea, startGitea } from './gitea.ts';
import { Playground, waitUntil } from './process.ts';
import { workflow } from './workflows.ts';

const within = { timeoutMs: 60_000 };
const REPOSITORY = 'acme/web';

describe.each(['1.26.0', '1.27.3'] as const)('Gitea %s', (version) => {
  let playground: Playground;
  let gitea: Gitea;
  let mia: Account;
  let passed = false;

  beforeAll(async () => {
    playground = new Playground(`registration-secrets-${version}`);
    gitea = await startGitea(version, inject('builds').gitea[version], playground);
    const { admin } = gitea;
    mia = await admin.createUser('mia');
    await admin.createOrg('acme');
    await admin.createRepo('web', 'acme');
    await admin.addWorkflow(REPOSITORY, 'one.yml', workflow({ one: { runsOn: 'linux', seconds: 1 } }));
  });

  afterAll(async () => {
    await playground.close(!passed);
    if (!passed) process.stdout.write(`logs: ${playground.folder}\n`);
  });

  /** What `serve` asks. */
  async function ask(scope: Scope, apiToken: string): Promise<string> {
    const http = giteaClient({ deadlineMs: 10_000, env: {} });
    try {
      const token = new Token(apiToken, gitea.url);
      const access = { http, url: gitea.url, token, deadline: new Deadline(10_000), versions: new Map() };
      const level = await registrationLevel(access, scope);
      if (!level) throw new Error('no level');
      return await readRegistrationToken(access, level);
    } finally {
      await http.close();
    }
  }

  const scopes = [
    ['admin', '/admin', { kind: 'global' }],
    ['organization', '/orgs/acme', { kind: 'org', org: 'acme' }],
    ['repository', '/repos/acme/web', { kind: 'repo', owner: 'acme', repo: 'web' }],
    ['user', '/user', { kind: 'user', user: 'mia' }],
  ] as const;

  it.each(scopes)('write:%s is enough at %s, and the same token comes each time', async (scope, level, of) => {
    const by = of.kind === 'user' ? mia : gitea.admin;
    const apiToken = await by.createToken([`write:${scope}`]);

    const tokens = [await ask(of, apiToken), await ask(of, apiToken)];

    expect(tokens).toEqual(Array(2).fill(await by.registrationToken(level)));
  });

  it.each(scopes)('a token with read:%s is refused, and the message names the scope', async (scope, _, of) => {
    const by = of.kind === 'user' ? mia : gitea.admin;
    const apiToken = await by.createToken([`read:${scope}`]);

    const { code, message } = await failureOf(ask(of, apiToken));

    expect(code).toBe('GR-GITEA-02');
    expect(message).toContain(`the token lacks scope write:${scope}`);
    expect(message).not.toContain(apiToken);
  });

  it('serve fills an empty Secret, and a runner registers with what is in it', async () => {
    const { admin, url } = gitea;
    const cluster = await startFakeCluster();
    cluster.put('runnergroups', managedGroup(url));
    cluster.put('secrets', { metadata: { namespace: 'runners', name: 'gitea-runner' } });
    const { events, end } = startQuietServe({
      cluster: cluster.config,
      env: { GITEA_URL: url, GITEA_TOKEN: await admin.createToken(['write:organization']) },
      registrationSecrets: ['gitea-runner'],
    });
    const found = (): string =>
      Buffer.from((cluster.all('secrets')[0]?.['data'] as { token?: string })?.token ?? '', 'base64').toString();
    try {
      await waitUntil('the Secret is filled', async () => found() !== '', within);
    } finally {
      await end();
    }
    await admin.dispatch(REPOSITORY, 'one.yml');
    await waitUntil('a job', async () => (await admin.jobs('/orgs/acme', 'queued')).length === 1, within);
    await takeJob(url, { name: 'with-that-token', registrationToken: found(), labels: ['linux'] });

    const [job] = await admin.jobs('/orgs/acme', 'in_progress');
    expect(job?.runner_name).toBe('with-that-token');
    expect(JSON.stringify(events)).not.toContain(found());
    passed = true;
  });
});
