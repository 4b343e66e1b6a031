/** Tests the requests of `explain acme/web#8` to Gitea. */
import { expect, it } from 'vitest';
import { findRun } from '../../../src/clients/gitea/runs.ts';
import { failureOf } from '../../support/failure-of.ts';
import { fakeGitea, json } from '../../support/gitea-stand-in.ts';
import { targetOf } from '../../support/looking.ts';

it.each([
  [
    { workflow_runs: [{ id: 1, run_number: 'one' }], total_count: 1 },
    'run number 1 of the page has no usable "run_number"',
  ],
  [{ workflow_runs: [] }, 'the list has no usable "total_count"'],
  [{ total_count: 1 }, 'the list has no usable "workflow_runs"'],
])('a list that cannot be read is an error that names its field: %j', async (body, says) => {
  const gitea = await fakeGitea({ intercept: ({ path }, response) => path.endsWith('/runs') && json(response, body) });

  const asked = findRun(targetOf(gitea.url), { repository: 'acme/web', number: 8 }, { deadlineMs: 10_000, env: {} });

  const { code, message } = await failureOf(asked);
  expect([code, message]).toEqual([
    'GR-GITEA-08',
    expect.stringContaining(`the answer is not what Gitea sends: ${says}.`),
  ]);
});
