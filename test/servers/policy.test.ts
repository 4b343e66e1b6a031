/**
 * Tests docs/examples/check-runnergroups.yml on a real Gitea: two pull requests, one with a RunnerGroup that the policy
 * denies. A real runner of ours, in mode host, runs the workflow. Only its step `actions/checkout` is replaced by plain
 * git: there is no internet here.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import packageJson from '../../package.json' with { type: 'json' };
import { groupYaml } from '../support/run-cli.ts';
import { GITEA_VERSIONS } from './build.ts';
import { useSite } from './site.ts';
import { PLAIN_GIT } from './workflows.ts';

const PUBLISHED = join(import.meta.dirname, '..', '..', 'docs', 'examples', 'check-runnergroups.yml');
const CHECKOUT = '      - uses: actions/checkout@v4\n';
/** The remote that actions/checkout leaves for later steps. */
const ORIGIN = `          git remote add origin "\${{ github.server_url }}/\${{ github.repository }}"
          git config http.extraHeader "Authorization: Basic $(printf 'x:%s' "$TOKEN" | base64 -w0)"
`;
const POLICY = `apiVersion: gitea.bpg.pw/v1alpha1
kind: RunnerPolicy
spec:
  projects: [runners]
  namespaces: [{name: runners, scopes: ['org:acme'], secrets: ['gitea-*']}]
  images: [docker.io/gitea/runner]
  maxActiveRunners: 10
`;
const RUNNERS = { name: 'ci', labels: ['ubuntu-latest:host'], cap: 2 };
const REPOSITORY = 'acme/runners';
const LEVEL = '/repos/acme/runners';

describe.each(GITEA_VERSIONS)('Gitea %s', (version) => {
  const site = useSite('policy', { version, repositories: { runners: {} }, groups: [RUNNERS] });

  /** A branch with a RunnerGroup, as a pull request. */
  async function propose(branch: string, spec: string): Promise<void> {
    const content = Buffer.from(groupYaml('https://gitea.example.com', spec, branch)).toString('base64');
    const file = { content, message: `Add ${branch}`, branch: 'main', new_branch: branch };
    await site.admin.call('POST', `/repos/${REPOSITORY}/contents/groups/${branch}.yaml`, file);
    await site.admin.call('POST', `/repos/${REPOSITORY}/pulls`, { title: branch, head: branch, base: 'main' });
  }

  it('the published workflow lets a good RunnerGroup pass, and fails for one that the policy denies', async () => {
    const { admin, playground, url } = site;
    const packages = playground.makeFolder('package');
    execFileSync('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', packages]);
    const published = readFileSync(PUBLISHED, 'utf8');
    const workflow = published
      .replace(CHECKOUT, `${PLAIN_GIT}${ORIGIN}`)
      .replace(/PACKAGE: .*/, `PACKAGE: ${packages}/argocd-gitea-runners-${packageJson.version}.tgz`)
      .replace('https://gitea.example.com', url);
    expect(published).toContain(CHECKOUT);
    await admin.createOrg('platform');
    await admin.createRepo('policies', 'platform');
    await admin.call('PATCH', '/repos/platform/policies', { private: false });
    await admin.putFile('platform/policies', 'runners.yaml', POLICY);
    await admin.addWorkflow(REPOSITORY, 'check-runnergroups.yml', workflow);

    await admin.putFile(REPOSITORY, 'groups/ci.yaml', groupYaml('https://gitea.example.com').replace('linux', 'other'));
    await propose('good', '');
    await propose('bad', '  image: registry.evil.example.com/miner:1\n');
    const jobs = await site.runAll(LEVEL, 2);

    const logs = await Promise.all(jobs.map((job) => admin.logOf(job)));
    const outcomes = jobs.map(
      ({ conclusion }, index) => `${conclusion} ${/groups\/\w+\.yaml|are valid/.exec(logs[index] ?? '')?.[0]}`,
    );
    expect(outcomes.sort(), logs.join('\n')).toEqual(['failure groups/bad.yaml', 'success are valid']);
    expect(logs.join('\n')).toContain(
      'groups/bad.yaml:15:3: spec.image: is "registry.evil.example.com/miner:1"; the policy allows docker.io/gitea/runner. Use one of them [images] [GR-POLICY-04]',
    );
    expect(logs.join('\n')).toContain("not checked, because Argo CD does not ask: the policy's projects");
    const comments = async (pull: number) =>
      z.array(z.object({ body: z.string() })).parse(await admin.call('GET', `${LEVEL}/issues/${pull}/comments`));
    const [good, bad] = [await comments(1), await comments(2)];
    expect(good, logs.join('\n')).toHaveLength(1);
    expect(good[0]?.body).toContain('1 RunnerGroup would change, 1 would not');
    expect(good[0]?.body).toContain('| `runners/good` | `new` |');
    expect(bad[0]?.body).toContain('error: `groups/bad.yaml:15: spec.image: is "registry.evil');
  });
});
