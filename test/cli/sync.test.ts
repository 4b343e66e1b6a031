/** Tests the requests to Gitea that a sync by Argo CD causes. */
import { expect, it } from 'vitest';
import { fakeGitea, jobRow } from '../support/gitea-stand-in.ts';
import { folderWith, groupYaml, type Outcome, runCli } from '../support/run-cli.ts';

/** `generate` as Argo CD starts it. */
function sync(url: string, files: Readonly<Record<string, string>>): Promise<Outcome> {
  const env = { ARGOCD_APP_NAME: 'ci', GITEA_URL: url, GITEA_TOKEN: 'token' };
  return runCli(['generate'], env, folderWith(files));
}

it('a sync asks for everything at once, because something woke it', async () => {
  const gitea = await fakeGitea();

  const outcome = await sync(gitea.url, { 'ci.yaml': groupYaml(gitea.url) });

  expect(outcome).toMatchObject({ code: 0, stdout: '' });
  expect(
    gitea
      .lines()
      .filter((line) => line.endsWith('page=1'))
      .toSorted(),
  ).toEqual([
    '/api/v1/orgs/acme/actions/jobs?status=completed&sort=id&order=desc&page=1',
    '/api/v1/orgs/acme/actions/jobs?status=queued&status=in_progress&page=1',
    '/api/v1/orgs/acme/actions/runners?page=1',
  ]);
});

it('a sync of 100 groups in five scopes asks four questions per scope at most, and no page that is not there', async () => {
  const scopes = ['a', 'b', 'c', 'd', 'e'];
  const gitea = await fakeGitea({ jobs: [jobRow(1, 'queued', { labels: ['linux'] })] });
  const files = Object.fromEntries(
    Array.from({ length: 100 }, (_, index) => [
      `${index}.yaml`,
      groupYaml(gitea.url, '', `g${index}`).replace('org: acme', `org: ${scopes[index % scopes.length]}`),
    ]),
  );

  const outcome = await sync(gitea.url, files);

  expect(outcome.code, outcome.stderr).toBe(0);
  const further = gitea.lines().filter((line) => !line.endsWith('page=1'));
  expect(gitea.seen.length - further.length).toBe(1 + 3 * scopes.length);
  expect(further).toEqual([]);
});
