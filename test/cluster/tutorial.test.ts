/**
 * docs/tutorial.md on a real, stock Argo CD: each command that is marked to be run, and the lines that the page shows. Then the recipes
 * that need such an installation: each token is rotated, and kubectl takes the place of Argo CD.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import * as z from 'zod';
import { docBlocks, docScript, fencedBlocks } from '../packaging/doc-blocks.ts';
import { waitUntil } from '../servers/process.ts';
import { workflow } from '../servers/workflows.ts';
import { closeAfterTests } from './close-after-tests.ts';
import { GROUPS_REPOSITORY, type Installation, ORG } from './install.ts';
import { begin, oneJobSucceeds } from './one-job.ts';
import { RUNNER_IMAGE } from './stack/images.ts';
import type { Stack } from './stack/stack.ts';

const tutorial = readFileSync('docs/tutorial.md', 'utf8');
const tokens = readFileSync('docs/recipes/tokens.md', 'utf8');
const withoutArgo = readFileSync('docs/recipes/without-argo-cd.md', 'utf8');

const Data = z.record(z.string(), z.string());
const Secrets = z.object({
  items: z.array(z.object({ metadata: z.object({ name: z.string() }), data: Data.optional() })),
});

let stack: Stack;
let installation: Installation;
const done: string[] = [];

/** Runs one block of the tutorial, and answers what it prints. */
async function block(name: string): Promise<string> {
  done.push(name);
  return await installation.shell(`tutorial-${name}`, docScript(tutorial, name));
}

beforeAll(async () => {
  ({ stack, installation } = await begin('tutorial', 5));
  installation.set('KUBECONFIG', stack.kubernetes.kubeconfig);
});

closeAfterTests(() => stack);

it('leads from a cluster with Argo CD to the first runner, and prints what it shows', async () => {
  expect(await block('install')).toContain('configmap/argocd-rbac-cm serverside-applied\n');
  await stack.kubernetes.refreshDns();

  expect(await block('init')).toContain('  groups/ci.yaml\n  argocd/application.yaml\n  setup.sh\n');

  const secrets = await block('secrets');
  for (const name of ['gitea-api', 'gitea-runner', 'gitea-runners-serve'])
    expect(secrets).toContain(`secret/${name} serverside-applied\n`);
  expect(secrets).toContain('deployment "gitea-runners" successfully rolled out\n');

  expect(await block('application')).toBe(
    'appproject.argoproj.io/runners created\napplication.argoproj.io/runners created\n',
  );

  const group = parse(readFileSync(join(installation.folder, 'my-runners', 'groups', 'ci.yaml'), 'utf8'));
  const text = stringify({ ...group, spec: { ...group.spec, image: RUNNER_IMAGE } });
  await stack.gitea.admin.putFile(GROUPS_REPOSITORY, 'groups/ci.yaml', text);
  const ready = await block('refresh');
  expect(ready).toMatch(/^NAME +SCOPE +CAP +ACTIVE +QUEUED +HELD +READY +REASON +CHECKED +AGE *$/m);
  expect(ready).toMatch(/^\S*ci +org +10 +0 +0 +0 +True +Serving /m);
});

it('the tutorial shows the runner of a CI job, what explain says of it, and that all is well', async () => {
  await stack.gitea.admin.dispatch(`${ORG}/web`, 'build.yml');

  let explained = '';
  const runs = async (): Promise<boolean> => {
    explained = await block('explain');
    return explained.includes('runs on ci-');
  };
  await waitUntil('the runner has its CI job', runs, { timeoutMs: 120_000 });
  expect(explained).toMatch(/^\d+ +acme\/web build +linux +\d+s +runs on ci-\d+-1-\w{8}$/m);
  // The runner takes its CI job a moment before the kubelet tells that its container runs.
  const isRunning = async (): Promise<boolean> => /^pod\/ci-\d+-1-\S+ +1\/1 +Running /m.test(await block('look'));
  await waitUntil('its pod runs', isRunning, { timeoutMs: 30_000 });

  const doctor = await block('doctor').catch(String);
  expect(doctor).toContain('RunnerGroup runners/ci, as serve sees it: ready: it reaches Gitea from the cluster');
});

it('the tutorial has no command that was not run here', () => {
  const marked = docBlocks(tutorial).flatMap(({ name, notRun }) => (notRun === undefined ? [name] : []));

  expect([...new Set(done)].sort()).toEqual(marked.sort());
});

it('renders the overlay of docs/recipes/gitops.md', async () => {
  const page = readFileSync('docs/recipes/gitops.md', 'utf8');
  for (const { text } of fencedBlocks(page)) {
    const [, file] = /^# (\S+\.yaml)\n/.exec(text) ?? [];
    if (file === undefined) continue;
    const path = join(installation.folder, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  writeFileSync(join(installation.folder, 'base', 'kustomization.yaml'), 'resources: [linux.yaml]\n');

  await installation.shell('kustomize', docScript(page, 'kustomize'));

  const rendered = parse(readFileSync(join(installation.folder, 'rendered', 'production', 'groups.yaml'), 'utf8'));
  expect(rendered).toMatchObject({ kind: 'RunnerGroup', spec: { org: 'acme', maxActiveRunners: 40 } });
});

it('the stack of the tutorial goes on while each token is rotated', async () => {
  const { admin } = stack.gitea;
  installation.set('GITEA_API_TOKEN', await admin.createToken(['read:organization']));
  const before = await secretKeys();

  for (const { name, script } of docBlocks(tokens)) await installation.shell(`tokens-${name}`, script);

  const after = await secretKeys();
  for (const key of ['gitea-api token', 'gitea-runners-serve argocd-token', 'gitea-runners-serve webhook-secret'])
    expect(after.get(key)).not.toBe(before.get(key));
  expect(after.get('gitea-runners-serve webhook-secret')).toContain(before.get('gitea-runners-serve webhook-secret'));
  expect(after.get('gitea-runner registration-token')).toBe(before.get('gitea-runner registration-token'));
  await oneJobSucceeds(stack);
});

it('runs a CI job without Argo CD, and leaves no Job behind', async () => {
  const { admin } = stack.gitea;
  const folder = join(installation.folder, 'groups');
  mkdirSync(folder);
  const group = parse(fencedBlocks(withoutArgo).find(({ language }) => language === 'yaml')?.text ?? '');
  Object.assign(group.spec, { image: RUNNER_IMAGE, gitea: { url: stack.gitea.url } });
  writeFileSync(join(folder, 'bare.yaml'), stringify(group));
  installation.set('GITEA_TOKEN', await admin.createToken(['read:organization']));
  await stack.kubernetes.kubectl(['scale', '-n', 'argocd', 'deployment/gitea-runners', '--replicas=0']);
  await stack.kubernetes.kubectl(['delete', '-n', 'argocd', 'application/runners', '--wait']);
  const turn = (): Promise<string> => installation.shell('turn', docScript(withoutArgo, 'turn'));
  const done = async (): Promise<number> => (await admin.jobs(`/orgs/${ORG}`, 'completed')).length;
  const jobs = (): Promise<string> => stack.kubernetes.kubectl(['get', 'jobs', '-n', 'runners', '-o', 'name']);
  const before = await done();
  await admin.addWorkflow(`${ORG}/web`, 'bare.yml', workflow({ bare: { runsOn: 'bare', seconds: 5 } }));
  await admin.dispatch(`${ORG}/web`, 'bare.yml');

  const ended = (): Promise<boolean> => turn().then(async () => (await done()) > before);
  await waitUntil('the CI job ends', ended, { timeoutMs: 120_000 });
  const gone = (): Promise<boolean> => turn().then(async () => (await jobs()) === '');
  await waitUntil('no Job is left', gone, { timeoutMs: 120_000 });

  expect((await admin.jobs(`/orgs/${ORG}`, 'completed')).at(-1)).toMatchObject({ conclusion: 'success' });
});

/** The values of the Secrets that the tutorial makes, by `name key`. */
async function secretKeys(): Promise<ReadonlyMap<string, string>> {
  const { items } = Secrets.parse(JSON.parse(await stack.kubernetes.kubectl(['get', 'secrets', '-A', '-o', 'json'])));
  const plain = (value: string): string => Buffer.from(value, 'base64').toString().trim();
  return new Map(
    items.flatMap(({ metadata: { name }, data = {} }) =>
      Object.entries(data).map(([key, value]) => [`${name} ${key}`, plain(value)] as const),
    ),
  );
}
