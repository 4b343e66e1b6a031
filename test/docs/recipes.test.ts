/**
 * Tests that each whole RunnerGroup of a page is valid without a warning, and that `generate` makes the Job of a queued
 * CI job with it.
 */
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { kubeconfigFor, startCluster } from '../clients/kubernetes/through-cli.ts';
import { fencedBlocks } from '../packaging/doc-blocks.ts';
import { folderWith, runHere } from '../support/run-cli.ts';
import { startAcme } from '../support/start-acme.ts';
import { manualPages, pageOf } from './pages.ts';

const pages = manualPages()
  .filter((file) => file.startsWith('recipes/'))
  .map((file) => `docs/${file}`);

interface Group {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly suspend?: boolean; readonly labels?: readonly string[] };
}

const recipes = pages.flatMap((file) =>
  fencedBlocks(pageOf(file).markdown)
    .filter(({ language, text }) => language === 'yaml' && /^kind: RunnerGroup$/m.test(text))
    .map(({ text }) => ({ file, text, group: parse(text) as Group })),
);

it('all RunnerGroups of the recipes are valid, and have no warning', async () => {
  const files = Object.fromEntries(recipes.map(({ text, group }) => [`${group.metadata.name}.yaml`, text]));
  const { code, stdout } = await runHere(['validate', '-o', 'json', '.'], {}, folderWith(files));
  const { findings } = JSON.parse(stdout) as { readonly findings: readonly { readonly code: string }[] };

  expect(code).toBe(0);
  expect(Object.keys(files).length).toBe(recipes.length);
  // Only this test has them in one folder.
  expect(findings.filter((finding) => finding.code !== 'GR-WARN-05')).toEqual([]);
});

describe.each(recipes)('$file: RunnerGroup $group.metadata.name', ({ text, group }) => {
  it('the example gives a queued CI job its Job', async () => {
    const { simulator, env } = await startAcme();
    simulator.gitea.addToken('anna', ['read:organization', 'read:repository'], 'all-scopes-0123456789');
    const [label = 'ubuntu-latest'] = group.spec.labels ?? [];
    simulator.gitea.push('acme/web', { jobs: [{ key: 'build', runsOn: [label.replace(/:.*/, '')] }] });
    const folder = folderWith({ 'group.yaml': text.replace('https://gitea.example.com', simulator.url) });

    const { code, stdout, stderr } = await runHere(
      // Some fields require that Jobs can be read.
      ['generate', '--kubeconfig', kubeconfigFor(await startCluster({})), '.'],
      { ...env, GITEA_TOKEN: 'all-scopes-0123456789' },
      folder,
    );

    expect({ code, stderr }).toMatchObject({ code: 0 });
    const names = parseAllDocuments(stdout).map((document) => document.getIn(['metadata', 'name']));
    const expected = group.spec.suspend === true ? [] : [expect.stringMatching(new RegExp(`^${group.metadata.name}-`))];
    expect(names).toEqual(expect.arrayContaining(expected));
    expect(names.length > 0).toBe(group.spec.suspend !== true);
  });
});

it('each page of recipes has a RunnerGroup, except the list and the one about tokens', () => {
  const without = pages.filter((page) => !recipes.some(({ file }) => file === page));

  expect(without).toEqual(['docs/recipes/index.md', 'docs/recipes/tokens.md']);
});

it.each(pages)('%s is short', (page) => {
  expect(pageOf(page).markdown.split('\n').length).toBeLessThanOrEqual(61);
});

it("mounts docs/recipes/daemon.md's daemon.json where dockerd reads it, in a form that it can read", async () => {
  const { text = '' } =
    fencedBlocks(pageOf('docs/recipes/daemon.md').markdown).find(({ name }) => name === 'daemon') ?? {};
  const { data, metadata } = parse(text) as {
    readonly data: Record<string, string>;
    readonly metadata: { name: string };
  };
  expect(JSON.parse(data['daemon.json'] ?? '')).toEqual({
    mtu: 1400,
    'default-network-opts': { bridge: { 'com.docker.network.driver.mtu': '1400' } },
    'registry-mirrors': [expect.stringMatching(/^https:/)],
  });
  const { simulator, env } = await startAcme();
  simulator.gitea.push('acme/web', { jobs: [{ key: 'build', runsOn: ['small-packets'] }] });
  const group = recipes.find(({ file }) => file === 'docs/recipes/daemon.md')?.text ?? '';
  const folder = folderWith({ 'ci.yaml': group.replace('https://gitea.example.com', simulator.url) });

  const { code, stdout, stderr } = await runHere(['generate', '.'], env, folder);

  expect({ code, stderr }).toMatchObject({ code: 0 });
  const pod = (parse(stdout) as { readonly spec: { readonly template: { readonly spec: PodSpec } } }).spec.template
    .spec;
  const docker = pod.initContainers.find(({ name }) => name === 'docker');
  expect(docker?.volumeMounts).toContainEqual({ name: 'daemon', mountPath: '/etc/docker', readOnly: true });
  expect(pod.volumes).toContainEqual(expect.objectContaining({ name: 'daemon', configMap: { name: metadata.name } }));
});

interface PodSpec {
  readonly initContainers: readonly { readonly name: string; readonly volumeMounts: readonly object[] }[];
  readonly volumes: readonly object[];
}
