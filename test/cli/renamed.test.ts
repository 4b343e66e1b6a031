/** Laws P29 and V99 (docs/spec.md): names change in Gitea. Real program, simulated Gitea, six syncs. */
import { expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { Gitea } from '../../model/gitea/gitea.ts';
import { kubeconfigFor, startCluster } from '../clients/kubernetes/through-cli.ts';
import { ago } from '../support/kube-objects.ts';
import { folderWith, groupYaml, runHere } from '../support/run-cli.ts';
import { startAcme } from '../support/start-acme.ts';

const ORG = '  scope: org\n  org: acme\n';
const REPO = '  scope: repo\n  repo: acme/web\n';

async function open(spec: string) {
  const { simulator } = await startAcme();
  const { gitea } = simulator;
  gitea.addToken('anna', ['all'], 'of-anna');
  const policy =
    'apiVersion: gitea.bpg.pw/v1alpha1\nkind: RunnerPolicy\nspec:\n  namespaces:\n  - name: runners\n    scopes: ["org:acme", "repo:acme/web"]\n';
  const folder = folderWith({ 'ci.yaml': groupYaml(simulator.url).replace(ORG, spec) });
  const jobs: { runners: Record<string, unknown>[] } = { runners: [] };
  const server = await startCluster({ jobs });
  const run = (...args: readonly string[]) =>
    runHere([...args, '--kubeconfig', kubeconfigFor(server), folder], {
      GITEA_URL: simulator.url,
      GITEA_TOKEN: 'of-anna',
      GITEA_RUNNERS_POLICY: `${folderWith({ 'policy.yaml': policy })}/policy.yaml`,
    });
  /** One sync: what is printed is made, what is not goes. */
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
});
