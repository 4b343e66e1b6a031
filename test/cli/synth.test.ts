import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { exampleApp } from '../support/platform-app.ts';
import { folderWith, groupYaml, type Outcome, runCli, runNode } from '../support/run-cli.ts';
import { startAcme } from '../support/start-acme.ts';

const OTHER = `apiVersion: v1
kind: ConfigMap
metadata: {name: other}
data: {on: "yes"}
`;

/** Runs the real cdk8s in the project's folder, as cdk8s.yaml says. */
function synth(dist: string, env: Readonly<Record<string, string>>): Promise<Outcome> {
  return runNode(['node_modules/cdk8s-cli/bin/cdk8s', 'synth', '--output', dist, '--check-upgrade', 'false'], env);
}

it('cdk8s synth writes the manifests that generate prints', async () => {
  const { simulator, env } = await startAcme();
  simulator.gitea.push('acme/web', {
    jobs: [
      { key: 'one', runsOn: ['linux'] },
      { key: 'two', runsOn: ['linux'] },
    ],
  });
  const folder = folderWith({ 'ci.yaml': groupYaml(simulator.url), 'other.yaml': OTHER });
  const dist = folderWith({});

  const generated = await runCli(['generate', folder], env);
  const synthesized = await synth(dist, { ...env, GITEA_RUNNERS_PATH: folder });

  expect(synthesized).toMatchObject({ code: 0 });
  const written = readdirSync(dist)
    .sort()
    .map((file) => readFileSync(join(dist, file), 'utf8'));
  const objects = (text: string) => parseAllDocuments(text).map((document) => document.toJS());
  expect(written.flatMap(objects)).toEqual(expect.arrayContaining(objects(generated.stdout)));
  expect(written.flatMap(objects)).toHaveLength(3);
  expect(objects(generated.stdout)).toHaveLength(3);
});

it('cdk8s synth fails, and writes nothing, when the RunnerGroup is wrong', async () => {
  const folder = folderWith({ 'ci.yaml': groupYaml('ftp://gitea.example.com') });
  const dist = folderWith({});

  const outcome = await synth(dist, { GITEA_RUNNERS_PATH: folder });

  expect(outcome.code).not.toBe(0);
  expect(outcome.stderr).toContain('ci.yaml:7:11: spec.gitea.url');
  // cdk8s empties the output folder before it starts us.
  expect(existsSync(dist) ? readdirSync(dist) : []).toEqual([]);
});

it('synth asks the policy also for made-up CI jobs, and writes nothing if it denies', async () => {
  const policy = folderWith({
    'policy.yaml':
      'apiVersion: gitea.bpg.pw/v1alpha1\nkind: RunnerPolicy\nspec: {images: [registry.example.com/none/**]}\n',
  });
  const folder = folderWith({ 'ci.yaml': groupYaml('https://gitea.example.com') });
  const run = (dist: string, env: Readonly<Record<string, string>>) =>
    runNode(['lib/main.cjs', '--examples', folder], { CDK8S_OUTDIR: dist, ...env });
  const [free, bound] = [join(folderWith({}), 'dist'), join(folderWith({}), 'dist')];

  const without = await run(free, {});
  const denied = await run(bound, { GITEA_RUNNERS_POLICY: join(policy, 'policy.yaml') });

  expect(without).toMatchObject({ code: 0, stderr: expect.stringContaining('made up') });
  expect(readdirSync(free)).toEqual(['runners.ci.k8s.yaml']);
  expect(denied).toMatchObject({ code: 3, stdout: '', stderr: expect.stringContaining('GR-POLICY-04') });
  expect(existsSync(bound)).toBe(false);
});

it("synth gives its charts to a platform's app, as generate does", async () => {
  const folder = folderWith({ 'ci.yaml': groupYaml('https://gitea.example.com') });
  const dist = join(folderWith({}), 'dist');

  const { code } = await runNode(['lib/main.cjs', '--examples', folder], {
    CDK8S_OUTDIR: dist,
    GITEA_RUNNERS_APP: exampleApp(),
  });

  expect(code).toBe(0);
  expect(readdirSync(dist).sort()).toEqual(['network.k8s.yaml', 'runners.ci.k8s.yaml']);
  expect(readFileSync(join(dist, 'runners.ci.k8s.yaml'), 'utf8')).toContain('platform.example.com/cost-center: "ci"');
});
