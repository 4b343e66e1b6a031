/** Law L16: messages about a queue that was too long to be read. */
import { expect, it } from 'vitest';
import { fakeGitea, jobRows } from '../support/gitea-stand-in.ts';
import { SECRET } from '../support/looking.ts';
import { folderWith, groupYaml, runHere } from '../support/run-cli.ts';

it('generate and explain tell of it, and what to do', async () => {
  const createdAt = new Date(Date.now() - 60_000).toISOString();
  const { url } = await fakeGitea({
    jobs: jobRows(1, 13_000).map((row) => ({ ...row, created_at: createdAt, labels: ['linux'] })),
  });
  const folder = folderWith({ 'ci.yaml': groupYaml(url) });
  const env = { GITEA_URL: url, GITEA_TOKEN: SECRET };

  const generated = await runHere(['generate', 'ci.yaml', '--cluster', 'off'], env, folder);
  const explained = await runHere(['explain', 'ci.yaml', '--cluster', 'off'], env, folder);

  const unread = 'about 3000 queued jobs were not read, because there are too many';
  expect([generated.code, explained.code]).toEqual([0, 0]);
  expect(generated.stderr).toContain(`; ${unread}`);
  expect(generated.stdout.match(/kind: "Job"/g)).toHaveLength(5);
  expect(explained.stdout).toContain(`Next: ${unread}: cancel the runs that nobody needs`);
});
