/** Commit statuses on a real Gitea: which rights they need, and what it shows (law V88). */
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { readCommit, setCommitStatus } from '../../src/clients/gitea/set-commit-status.ts';
import { failureOf } from '../support/failure-of.ts';
import { GITEA_VERSIONS } from './build.ts';
import { useSite } from './site.ts';
import { workflow } from './workflows.ts';

const REPOSITORY = 'acme/web';
const Page = z.object({ html_url: z.string() });
const Shown = z.object({ statuses: z.array(z.looseObject({ context: z.string() })) });

describe.each(GITEA_VERSIONS)('Gitea %s', (version) => {
  let jobId = 0;
  let page = '';

  const repositories = { web: { 'one.yml': workflow({ one: { runsOn: 'linux' } }) } };
  const site = useSite('commit-status', { version, repositories }, async ({ admin }) => {
    await admin.dispatch(REPOSITORY, 'one.yml');
    jobId = (await site.job('one', 'queued')).id;
    page = Page.parse(await admin.call('GET', `/repos/${REPOSITORY}/actions/jobs/${jobId}`)).html_url;
  });

  async function say(description: string, scope: string): Promise<string> {
    const access = site.access(await site.admin.createToken([scope]));
    const sha = await readCommit(access, REPOSITORY, jobId);
    await setCommitStatus(access, { repository: REPOSITORY, sha, context: 'runner / one', description, url: page });
    return sha;
  }

  it('a commit status takes one with write:repository, and the newest of a context counts', async () => {
    await say('held back by the cap of group runners/ci; 3rd in line', 'write:repository');
    const sha = await say('has a runner, after 7m12s', 'write:repository');

    const { statuses } = Shown.parse(await site.admin.call('GET', `/repos/${REPOSITORY}/commits/${sha}/status`));
    expect(statuses.filter(({ context }) => context === 'runner / one')).toEqual([
      expect.objectContaining({ description: 'has a runner, after 7m12s', status: 'success', target_url: page }),
    ]);
  });

  it('a commit status refuses one with read:repository, and the message names the scope', async () => {
    const { kind, message } = await failureOf(say('held back', 'read:repository'));

    expect(kind).toBe('forbidden');
    expect(message).toContain('the token lacks scope write:repository');
  });
});
