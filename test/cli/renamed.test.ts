/** Laws P29 and V99 (docs/spec.md): names change in Gitea. Real program, simulated Gitea, six syncs. */
import { expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { Gitea } from '../../simulator/gitea/gitea.ts';
import { kubeconfigFor, startCluster } from '../clients/kubernetes/through-cli.ts';
import { ago } from '../support/kube-objects.ts';
import { folderWith, groupYaml, runHere } from '../support/run-cli.ts';
import { startAcme } from '../support/start-acme.ts';

const ORG = '  scope: org\n  org: acme\n';
const REPO = '  scope: repo\n  repo: acme/web\n';

async function open(spec: string, scopes = '"org:acme", "repo:acme/web"') {
  const { simulator } = await startAcme();
  const { gitea } = simulator;
  gitea.addToken('anna', ['all'], 'of-anna');
  const policy = `apiVersion: gitea.bpg.pw/v1alpha1\nkind: RunnerPolicy\nspec:\n  namespaces: [{name: runners, scopes: [${scopes}]}]\n`;
  const folder = folderWith({ 'ci.yaml': groupYaml(simulator.url).replace(ORG, spec) });
  const jobs: { runners: Record<string, unknown>[] } = { runners: [] };
  const server = await startCluster({ jobs });
  const run = (...args: readonly string[]) =>
    runHere([...args, '--kubeconfig', kubeconfigFor(server), folder], {
      GITEA_URL: simulator.url,
      GITEA_TOKEN: 'of-anna',
      GITEA_RUNNERS_POLICY: `${folderWith({ 'policy.yaml': policy })}/policy.yaml`,
    });
  /** Makes one sync: creates the printed Jobs, and deletes the others. */
  const sync = async () => {
    const outcome = await run('generate');
    expect(outcome.code, outcome.stderr).toBe(0);
    const printed = parseAllDocuments(outcome.stdout)
      .map((document) => document.toJS())
      .filter((each) => each?.kind === 'Job');
    jobs.runners = printed.map((job) => ({
      ...job,
      metadata: { ...job.metadata, uid: job.metadata.name, creationTimestamp: ago(0) },
      status: { active: 1 },
    }));
    return { names: printed.map(({ metadata }) => metadata.name), stderr: outcome.stderr };
  };
  return { gitea, run, sync };
}

it.each<[string, string, (gitea: Gitea) => unknown, string]>([
  ['an organization', ORG, (gitea) => gitea.renameOwner('acme', 'acme-inc'), 'acme-inc'],
  ['a repository', REPO, (gitea) => gitea.renameRepo('acme/web', 'site'), 'acme/site'],
])('%s was renamed: one Job for one CI job, and a warning that names the new name', async (_, spec, rename, now) => {
  const { gitea, run, sync } = await open(spec);
  gitea.push('acme/web', { jobs: [{ key: 'build', runsOn: ['linux'] }] });
  const first = await sync();
  expect(first.names).toHaveLength(1);
  expect(first.stderr).not.toContain('renamed');

  rename(gitea);

  for (let nth = 0; nth < 6; nth += 1) {
    const { names, stderr } = await sync();
    expect(names).toEqual(first.names);
    expect(stderr).toContain(
      `warning: GR-GITEA-19 Gitea has other names for scopes of RunnerGroups: runners/ci (renamed to ${now}). Change the spec.`,
    );
  }
  const { stdout, stderr } = await run('explain', `${now === 'acme-inc' ? 'acme-inc/web' : now}#1`);
  expect(stdout).toContain('waits for its runner');
  expect(stderr).toContain(`renamed to ${now}`);
  const run1 = 'acme/web#1';
  for (const old of [[run1], [run1, '--repository', 'Acme/web'], ['https://gitea.example.com/acme/web/actions/runs/1']])
    expect((await run('explain', ...old)).stdout).toContain('waits for its runner');
});

const transferred = async (scopes?: string) => {
  const world = await open(REPO, scopes);
  const { gitea } = world;
  gitea.addOrg('beta', { owners: ['anna'] });
  gitea.push('acme/web', { jobs: [{ key: 'build', runsOn: ['linux'] }] });
  gitea.transferRepo('acme/web', 'beta');
  return world;
};

it('a repository that went to another owner, with a token that may read it is not served where the policy does not open that owner', async () => {
  const { run } = await transferred();

  for (const command of ['generate', 'explain']) {
    const { code, stdout, stderr } = await run(command);
    expect(stderr).toContain(
      'the repository is beta/web now, and the policy does not allow this namespace to serve beta. Remove the RunnerGroup, or ask for repo:beta/web to be allowed.',
    );
    expect(stderr).toContain('GR-POLICY-06');
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
  }
});

it.each(['"repo:acme/web", "org:beta"', '"repo:acme/web", "repo:beta/web"', 'global, "org:acme"'])(
  'a repository that went to another owner, with a token that may read it is served where it is open: %s',
  async (scopes) => {
    const { sync } = await transferred(scopes);

    expect((await sync()).names).toHaveLength(1);
  },
);

it('a repository that went to another owner, with a token that may read it is served under a new name of its old owner', async () => {
  const { gitea, sync } = await open(REPO);
  gitea.push('acme/web', { jobs: [{ key: 'build', runsOn: ['linux'] }] });
  gitea.renameRepo('acme/web', 'site');
  gitea.renameOwner('acme', 'acme-inc');

  expect((await sync()).names).toHaveLength(1);
});

it('a repository that a group chooses by its old name is told as renamed, with what to write', async () => {
  const chosen = `${ORG}  registration: {by: serve, for: repository}\n  repositories: [acme/web, "x*"]\n`;
  const { gitea, run } = await open(chosen);
  gitea.renameRepo('acme/web', 'site');
  gitea.push('acme/site', { jobs: [{ key: 'build', runsOn: ['linux'] }] });

  const { stdout } = await run('explain', 'acme/site#1');

  expect(stdout.replace(/\s+/g, ' ')).toContain(
    'not covered: group runners/ci chooses acme/web, which was renamed to acme/site in Gitea',
  );
  expect(stdout.replace(/\s+/g, ' ')).toContain('change acme/web to acme/site in spec.repositories of that group');
});
