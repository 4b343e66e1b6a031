/** Commit statuses on a real Gitea: which rights they need, and what it shows (law V88). */
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type CommitStatus, readCommit, setCommitStatus } from '../../src/clients/gitea/commit-status.ts';
import { giteaClient } from '../../src/clients/gitea/observe.ts';
import { Deadline } from '../../src/clients/http/request.ts';
import { Token } from '../../src/clients/tokens/token.ts';
import { failureOf } from '../support/failure-of.ts';
import { type Gitea, startGitea } from './gitea.ts';
import { Playground, waitUntil } from './process.ts';
import { workflow } from './workflows.ts';

const REPOSITORY = 'acme/web';

describe.each(['1.26.0', '1.27.3'] as const)('Gitea %s', (version) => {
  let playground: Playground;
  let gitea: Gitea;
  let passed = false;
  let jobId = 0;
  let page = '';

  beforeAll(async () => {
    playground = new Playground(`commit-status-${version}`);
    gitea = await startGitea(version, inject('builds').gitea[version], playground);
    const { admin } = gitea;
    await admin.createOrg('acme');
    await admin.createRepo('web', 'acme');
    await admin.addWorkflow(REPOSITORY, 'one.yml', workflow({ one: { runsOn: 'linux', seconds: 1 } }));
    await admin.dispatch(REPOSITORY, 'one.yml');
    await waitUntil('the job is queued', async () => (await admin.jobs('/orgs/acme', 'queued')).length === 1, {
      timeoutMs: 60_000,
    });
    const { jobs } = (await admin.call('GET', '/orgs/acme/actions/jobs')) as {
      readonly jobs: readonly { readonly id: number; readonly html_url: string }[];
    };
    [{ id: jobId, html_url: page } = { id: 0, html_url: '' }] = jobs;
  });

  afterAll(async () => {
    await playground.close(!passed);
    if (!passed) process.stdout.write(`logs: ${playground.folder}\n`);
  });

  async function say(description: string, scopes: readonly string[]): Promise<string> {
    const http = giteaClient({ deadlineMs: 10_000, env: {} });
    try {
      const token = new Token(await gitea.admin.createToken(scopes), gitea.url);
      const access = { http, url: gitea.url, token, deadline: new Deadline(10_000), versions: new Map() };
      const sha = await readCommit(access, REPOSITORY, jobId);
      const status: CommitStatus = { repository: REPOSITORY, sha, context: 'runner / one', description, url: page };
      await setCommitStatus(access, status);
      return sha;
    } finally {
      await http.close();
    }
  }

  it('takes one with write:repository, and the newest of a context counts', async () => {
    await say('held back by the cap of group runners/ci; 3rd in line', ['write:repository']);
    const sha = await say('has a runner, after 7m12s', ['write:repository']);

    const shown = (await gitea.admin.call('GET', `/repos/${REPOSITORY}/commits/${sha}/status`)) as {
      readonly statuses: readonly Readonly<Record<'context' | 'description' | 'status' | 'target_url', string>>[];
    };
    expect(shown.statuses.filter(({ context }) => context === 'runner / one')).toEqual([
      expect.objectContaining({ description: 'has a runner, after 7m12s', status: 'success', target_url: page }),
    ]);
  });

  it('refuses one with read:repository, and the message names the scope', async () => {
    const { kind, message } = await failureOf(say('held back', ['read:repository']));

    expect(kind).toBe('forbidden');
    expect(message).toContain('the token lacks scope write:repository');
    passed = true;
  });
});
