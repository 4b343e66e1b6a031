/** docs/install.md on a real, stock Argo CD: every command that is marked to be run, in the order of the manual. */
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { docBlocks } from '../packaging/doc-blocks.ts';
import { waitUntil } from '../servers/process.ts';
import { closeAfterTests } from './close-after-tests.ts';
import { GROUPS_REPOSITORY, type Installation, refresh } from './install.ts';
import { addGroup, type Begun, begin, groupIsReady, oneJobSucceeds } from './one-job.ts';
import type { Stack } from './stack/stack.ts';

let stack: Stack;
let installation: Installation;
let kubectl: Begun['kubectl'];

const manual = readFileSync('docs/install.md', 'utf8');

async function until(what: string, check: () => Promise<boolean>): Promise<void> {
  await waitUntil(what, check, { timeoutMs: 120_000 });
}

/** A field of the Application's health: `status` or `message`. */
async function health(field: string): Promise<string> {
  return await stack.kubernetes.field(`{.status.health.${field}}`, '-n', 'argocd', 'application', 'runners');
}

beforeAll(async () => {
  ({ stack, installation, kubectl } = await begin('install'));
});

closeAfterTests(() => stack);

it('docs/install.md leads in three steps from nothing to the first runner', async () => {
  await installation.block('install');
  await stack.kubernetes.refreshDns();
  await installation.block('secrets', 'application');
  await addGroup(stack);
  await groupIsReady(stack);

  await oneJobSucceeds(stack);
});

it('docs/install.md shows a line per RunnerGroup and Application that says how it is', async () => {
  await until('the Application is Healthy', async () => (await health('status')) === 'Healthy');

  const printed = await installation.block('look');

  expect(printed).toMatch(/^NAME +SCOPE +CAP +ACTIVE +QUEUED +HELD +READY +REASON +CHECKED +AGE *$/m);
  expect(printed).toMatch(/^\S*ci +org +10 +\d+ +\d+ +0 +True +\S+ +\S+ +\S+$/m);
  expect(printed).toMatch(/^\S*runners +(?:Synced|OutOfSync) +Healthy$/m);
});

it('explains from the pod of serve, with its rights, tokens and settings', async () => {
  const text = await kubectl('exec', '-n', 'argocd', 'deploy/gitea-runners', '--', 'gitea-runners', 'explain');

  expect(text).toContain('(service account of this pod), namespace runners\n');
  expect(text).toMatch(/^serve: \S+ leads \(Lease renewed \d+s ago\); it last looked \S+ ago$/m);
  expect(text).toContain('Application argocd/runners: not known: you may not read it (403)\n');
  expect(text).toMatch(/^runners\/ci +\S+ org /m);
});

it('docs/install.md makes a webhook whose events serve accepts', async () => {
  await installation.webhook();
  await oneJobSucceeds(stack);

  const metrics = '/api/v1/namespaces/argocd/services/gitea-runners-metrics:metrics/proxy/metrics';
  const accepted = /^gitea_runners_webhook_deliveries_total\{result="(?:accepted|forwarded)"\} [1-9]/m;
  await until('a delivery is accepted', async () => accepted.test(await kubectl('get', '--raw', metrics)));
});

it('docs/install.md is found good by doctor in the pod of serve', async () => {
  const found = await kubectl('exec', '-n', 'argocd', 'deploy/gitea-runners', '--', 'gitea-runners', 'doctor');

  expect(found).toMatch(/^✓ Gitea, org acme: \S+ \(Gitea [\d.]+\) answers, and shows its jobs and runners$/m);
  expect(found).toMatch(/ 0 bad, \d+ not known\n$/);
});

it('docs/install.md shows in Argo CD that Gitea cannot be reached, and why', async () => {
  await stack.gitea.stop();

  // Argo CD gets its files from the same Gitea, so a ComparisonError may come first.
  await until('the Application is Degraded, and says why', async () => {
    const tree = await stack.argocd.cli('app', 'get', 'runners', '-o', 'tree=detailed');
    return /RunnerGroup\/ci .*Degraded.*GiteaFailed: GR-HTTP-\d+ /.test(tree);
  });
  expect(await health('status')).toBe('Degraded');
  await stack.gitea.restart();

  await until('the Application is Healthy', async () => (await health('status')) === 'Healthy');
});

it('docs/install.md takes settings', async () => {
  await installation.block('settings');

  const names = await kubectl('get', 'configmap', '-n', 'argocd', 'gitea-runners-settings', '-o', 'name');
  expect(names.trim()).toBe('configmap/gitea-runners-settings');
  await oneJobSucceeds(stack);
});

it('docs/install.md takes the token of a second Gitea', async () => {
  const [patch] = [...manual.matchAll(/With this as `patch\.yaml`:\n\n```yaml\n([\s\S]*?)```/g)].map(
    ([, text]) => text,
  );
  writeFileSync(join(installation.folder, 'patch.yaml'), patch ?? '');
  const second = { token: 'x', url: 'https://second.example.com' };
  await stack.kubernetes.putSecret('argocd', 'gitea-second', second);

  await installation.block('second-gitea');

  for (const name of ['argocd-repo-server', 'gitea-runners']) {
    await stack.kubernetes.rolledOut('argocd', `deployment/${name}`);
    const volumes = await stack.kubernetes.field(
      '{.spec.template.spec.volumes[*].name}',
      '-n',
      'argocd',
      'deployment',
      name,
    );
    expect(volumes.split(' ')).toContain('gitea-second');
  }
  await oneJobSucceeds(stack);
});

it('docs/install.md is uninstalled without a trace', async () => {
  await stack.gitea.admin.deleteFile(GROUPS_REPOSITORY, 'ci.yaml');
  await refresh(stack);
  await until('no Job is left', async () => (await kubectl('get', 'jobs', '-n', 'runners', '-o', 'name')) === '');

  await installation.block('uninstall');

  expect(await installation.sidecarImage()).toBe('');
  const kinds = 'deployments,services,configmaps,serviceaccounts,roles,rolebindings,networkpolicies';
  const left = await kubectl('get', kinds, '-n', 'argocd', '-o', 'name');
  expect(left.split('\n').filter((name) => /gitea/.test(name))).toEqual([]);
  expect(await stack.kubernetes.field('{.data}', '-n', 'argocd', 'configmap', 'argocd-cm')).not.toContain('gitea');
  const wideKinds = 'customresourcedefinitions,clusterroles,clusterrolebindings,namespaces';
  const wide = await kubectl('get', wideKinds, '-o', 'name');
  expect(wide.split('\n').filter((name) => /gitea|\/runners$/.test(name))).toEqual([]);
});

it('docs/install.md can be part of an Argo CD that is installed with kustomize', async () => {
  const folder = join(installation.folder, 'kustomize');
  mkdirSync(folder);
  cpSync('install', join(folder, 'install'), { recursive: true });
  cpSync(join(stack.machine.folder, 'argocd-install.yaml'), join(folder, 'argocd.yaml'));
  const [text] = [...manual.matchAll(/```yaml\n(# kustomization\.yaml\n[\s\S]*?)```/g)].map(([, yaml]) => yaml);
  const kustomization = parse(text ?? '');
  kustomization.resources = ['argocd.yaml'];
  const { repository, tag } = installation.image;
  Object.assign(kustomization.images[0], { newName: repository, newTag: tag });
  writeFileSync(join(folder, 'kustomization.yaml'), stringify(kustomization));
  installation.set('KUSTOMIZATION', folder);

  await installation.block('kustomize');
  await stack.kubernetes.refreshDns();
  await installation.block('secrets', 'application');
  await stack.kubernetes.rolledOut('argocd', 'deployment/argocd-repo-server');
  await addGroup(stack);

  await oneJobSucceeds(stack);
});

it('docs/install.md has no command that was not run here', () => {
  const marked = docBlocks(manual).flatMap(({ name, notRun }) => (notRun === undefined ? [name] : []));
  // chart.test.ts runs those for Helm, at-once.test.ts the one command.
  const here = marked.filter((name) => !name.startsWith('helm') && name !== 'at-once');

  expect([...new Set(installation.done)].sort()).toEqual(here.sort());
});
