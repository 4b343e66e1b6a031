/**
 * Tests install/ on a real API server with stock Argo CD's objects (no node, so no pods): what is accepted, added and
 * allowed, and that it can be removed. Running pods: install.test.ts.
 */
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import * as z from 'zod';
import packageJson from '../../package.json' with { type: 'json' };
import { goldenPods } from '../golden/golden-pods.ts';
import { Deployment, installFileNames, installText, objects, podOf } from '../packaging/manifests.ts';
import { closeAfterTests } from './close-after-tests.ts';
import { type Cluster, startCluster } from './stack/cluster.ts';
import type { Kubernetes } from './stack/kubernetes.ts';

const run = promisify(execFile);
const builds = inject('clusterBuilds');
const STOCK = join(builds.argocd, 'manifests', 'install.yaml');
const OURS = ['--server-side', '--field-manager=gitea-runners', '--validate=strict'];

/** As Argo CD's manual applies its manifests. */
const SERVER_SIDE = ['--server-side', '--force-conflicts'];
/**
 * Files without objects for the API server: for kustomize, Helm and cmp-server, and those of monitoring for operators
 * that are not here.
 */
const NO_OBJECTS = /^(?:helm-values|kustomization|plugin)\.yaml$|^(?:chart|monitoring)\//;

let cluster: Cluster;
let kubectl: Kubernetes['kubectl'];
/** Argo CD's command line, as an administrator of the cluster. */
let argocd: (...args: readonly string[]) => Promise<string>;
let stock: unknown;

beforeAll(async () => {
  cluster = await startCluster('manifests', builds);
  const { kubernetes } = cluster;
  kubectl = kubernetes.kubectl;
  const env = { ...process.env, KUBECONFIG: kubernetes.kubeconfig, ARGOCD_BINARY_NAME: 'argocd' };
  argocd = async (...args) => (await run(join(builds.argocd, 'argocd'), args, { env })).stdout;
  await kubectl(['create', 'namespace', 'argocd']);
  await kubectl(['apply', '-n', 'argocd', ...SERVER_SIDE, '-f', STOCK]);
  stock = await patched();
  await kubectl(['apply', ...OURS, '-f', '-'], installText('install.yaml'));
});

closeAfterTests(() => cluster);

/** Returns the three changed objects as a person sees them. */
async function patched(): Promise<unknown> {
  const names = ['deployment/argocd-repo-server', 'configmap/argocd-cm', 'configmap/argocd-rbac-cm'];
  const list = z
    .object({ items: z.array(z.looseObject({ metadata: z.looseObject({ labels: z.unknown() }) })) })
    .parse(JSON.parse(await kubectl(['get', '-n', 'argocd', ...names, '-o', 'json'])));
  return list.items.map(({ metadata, spec, data }) => ({ labels: metadata.labels, spec, data }));
}

/** Returns how often the specs of the Deployments were changed. */
async function generations(): Promise<string> {
  return await cluster.kubernetes.field('{.items[*].metadata.generation}', 'deployments', '-n', 'argocd');
}

describe('install.yaml beside stock Argo CD', () => {
  it('changes nothing when it is applied once more: an upgrade restarts only what is new', async () => {
    const before = await generations();

    await kubectl(['apply', ...OURS, '-f', '-'], installText('install.yaml'));

    expect(await generations()).toEqual(before);
  });

  it.each([
    ['server-side', SERVER_SIDE],
    ['client-side', ['--server-side=false']],
  ])('install.yaml stays when Argo CD’s own manifests are applied again, %s', async (_, how) => {
    const before = await patched();
    // Client-side, the long CRDs cannot be applied by anyone.
    const small = parseAllDocuments(readFileSync(STOCK, 'utf8')).filter(
      (document) => document.get('kind') !== 'CustomResourceDefinition',
    );

    await kubectl(['apply', '-n', 'argocd', ...how, '-f', '-'], small.map(String).join('---\n'));

    expect(await patched()).toEqual(before);
    expect(JSON.stringify(before)).toContain('"name":"gitea-runners-kube"');
  });

  it.each(installFileNames().filter((file) => file.endsWith('.yaml') && !NO_OBJECTS.test(file)))(
    'install.yaml has a manifest %s that the API server takes as it is',
    async (file) => {
      const apply = ['apply', ...OURS, '--dry-run=server', '--force-conflicts', '-f', '-'];

      expect(await kubectl(apply, installText(file))).toMatch(/serverside-applied \(server dry run\)/);
    },
  );

  it.each(['argocd-repo-server', 'gitea-runners'])(
    'install.yaml has containers in %s that the Pod Security Standard "restricted" lets in',
    async (deployment) => {
      const { containers, volumes } = podOf(deployment);
      const own = [...volumes, { name: 'var-files', emptyDir: {} }, { name: 'plugins', emptyDir: {} }];
      const pod = {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'x' },
        spec: { serviceAccountName: 'somebody', containers, volumes: own },
      };
      await cluster.kubernetes.apply(NARROW);

      const answer = await kubectl(['create', '-n', 'narrow', '--dry-run=server', '-f', '-'], JSON.stringify(pod));

      expect(answer).toContain('pod/x created (server dry run)');
    },
  );
});

it('pods of golden cases are let in under the Pod Security Standard that their profile names', async () => {
  const all = await goldenPods();

  expect([...all.keys()].sort()).toEqual(['baseline', 'privileged', 'restricted']);
  await cluster.kubernetes.apply(priorityClassesOf([...all.values()].flat()));
  for (const [level, pods] of all) {
    const namespace = `level-${level}`;
    await cluster.kubernetes.apply(NARROW.replaceAll('narrow', namespace).replace('restricted}', `${level}}`));
    const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: pods });
    const create = ['create', '-n', namespace, '--dry-run=server', '--validate=strict', '-f', '-'];

    const answer = await kubectl(create, list);

    expect(answer.split('created (server dry run)').length - 1).toBe(pods.length);
  }
});

it.each([
  ['privileged', 'baseline'],
  ['baseline', 'restricted'],
])('golden pods of level %s would be refused under %s: the check is one', async (level, higher) => {
  const pods = (await goldenPods()).get(level) ?? [];

  const refused = pods.map((pod) =>
    kubectl(['create', '-n', `level-${higher}`, '--dry-run=server', '-f', '-'], JSON.stringify(pod)).then(
      () => 'is let in',
      ({ message }) => (/violates PodSecurity "\w+:/.test(message) ? 'refused' : message),
    ),
  );

  expect(new Set(await Promise.all(refused))).toEqual(new Set(['refused']));
});

const WithClass = z.object({ spec: z.object({ priorityClassName: z.string() }) });

/** The PriorityClasses that pods name. The API server refuses a pod whose class is not there. */
function priorityClassesOf(pods: readonly object[]): object {
  const names = new Set(pods.flatMap((pod) => WithClass.safeParse(pod).data?.spec.priorityClassName ?? []));
  const items = [...names].map((name) => ({
    apiVersion: 'scheduling.k8s.io/v1',
    kind: 'PriorityClass',
    metadata: { name },
    value: 1,
  }));
  return { apiVersion: 'v1', kind: 'List', items };
}

// An account of its own: the controller manager makes “default” at an unknown time.
const NARROW = `
apiVersion: v1
kind: Namespace
metadata: {name: narrow, labels: {pod-security.kubernetes.io/enforce: restricted}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: somebody, namespace: narrow}
`;

describe('rights, as the API server sees them', () => {
  const RIGHTS = [
    ['argocd-repo-server', 'list', 'jobs.batch', 'runners', true],
    ['argocd-repo-server', 'list', 'pods', 'runners', true],
    ['argocd-repo-server', 'list', 'pods', 'argocd', false],
    ['argocd-repo-server', 'list', 'jobs.batch', 'default', false],
    ['argocd-repo-server', 'delete', 'jobs.batch', 'runners', false],
    ['argocd-repo-server', 'get', 'secrets', 'runners', false],
    ['argocd-repo-server', 'get', 'secrets', 'argocd', false],
    ['gitea-runners', 'watch', 'runnergroups.gitea.bpg.pw', 'runners', true],
    ['gitea-runners', 'patch', 'runnergroups.gitea.bpg.pw/status', 'runners', true],
    ['gitea-runners', 'patch', 'runnergroups.gitea.bpg.pw', 'runners', false],
    ['gitea-runners', 'watch', 'jobs.batch', 'runners', true],
    ['gitea-runners', 'create', 'jobs.batch', 'runners', false],
    ['gitea-runners', 'delete', 'pods', 'runners', false],
    ['gitea-runners', 'get', 'secrets', 'argocd', false],
    ['gitea-runners', 'get', 'secrets', 'runners', false],
    ['gitea-runners', 'patch', 'applications.argoproj.io', 'argocd', false],
    ['gitea-runners', 'create', 'leases.coordination.k8s.io', 'argocd', true],
    ['gitea-runners', 'update', 'leases.coordination.k8s.io/gitea-runners-serve', 'argocd', true],
    ['gitea-runners', 'update', 'leases.coordination.k8s.io/another', 'argocd', false],
  ] as const;

  it.each(RIGHTS)('%s: %s %s in %s: %s', async (account, verb, what, namespace, allowed) => {
    const [, resource = '', name = ''] = /^([^/]+)(?:\/(.+))?$/.exec(what) ?? [];
    const [plural = '', ...group] = resource.split('.');
    const part = name === 'status' ? { subresource: name } : { name };
    const attributes = { namespace, verb, group: group.join('.'), resource: plural, ...part };

    expect(await cluster.kubernetes.may(account, attributes)).toBe(allowed);
  });
});

describe('rights, as Argo CD sees them', () => {
  const RIGHTS = [
    ['get', 'applications', 'runners/ci', 'Yes'],
    ['sync', 'applications', 'runners/ci', 'Yes'],
    // An Application outside Argo CD's namespace.
    ['sync', 'applications', 'runners/team-a/ci', 'Yes'],
    ['sync', 'applications', 'default/ci', 'No'],
    ['update', 'applications', 'runners/ci', 'No'],
    ['delete', 'applications', 'runners/ci', 'No'],
    ['override', 'applications', 'runners/ci', 'No'],
    ['get', 'clusters', '*', 'No'],
  ] as const;

  it.each(RIGHTS)('the account: %s %s %s: %s', async (action, resource, object, expected) => {
    const can = ['admin', 'settings', 'rbac', 'can', '-n', 'argocd', 'gitea-runners', action, resource, object];
    // Exit code 1 is its way to say No.
    const answer = await argocd(...can).catch(
      (error: unknown) => z.object({ code: z.literal(1), stdout: z.string() }).parse(error).stdout,
    );

    expect(answer.trim()).toBe(expected);
  });
});

it('the kustomize component makes the same of Argo CD as install.yaml, with the image that was asked for', async () => {
  const folder = join(cluster.playground.folder, 'kustomize');
  mkdirSync(folder);
  cpSync('install', join(folder, 'install'), { recursive: true });
  cpSync(STOCK, join(folder, 'argocd.yaml'));
  const manual = readFileSync(join('docs', 'install.md'), 'utf8');
  const [, written = ''] = /```yaml\n# kustomization\.yaml\n([\s\S]*?)```/.exec(manual) ?? [];
  writeFileSync(join(folder, 'kustomization.yaml'), written.replace(/https:\S+install\.yaml/, 'argocd.yaml'));

  const rendered = await kubectl(['kustomize', folder]);

  const found = parseAllDocuments(rendered.replaceAll('registry.example.com/', '')).map((document): unknown =>
    document.toJS(),
  );
  const deployments = found.flatMap((object) => Deployment.safeParse(object).data ?? []);
  const repoServer = deployments.filter(({ metadata }) => metadata.name === 'argocd-repo-server');
  expect(rendered.split(`image: registry.example.com/argocd-gitea-runners:${packageJson.version}\n`).length - 1).toBe(
    2,
  );
  expect(found).toEqual(expect.arrayContaining([...objects('gitea-runners.yaml')]));
  expect(repoServer.map(({ spec }) => spec.template.spec)).toEqual([
    expect.objectContaining({
      containers: [...podOf('argocd-repo-server').containers, expect.objectContaining({ name: 'argocd-repo-server' })],
      volumes: expect.arrayContaining([...podOf('argocd-repo-server').volumes]),
    }),
  ]);
  await kubectl(['apply', ...SERVER_SIDE, '--dry-run=server', '--validate=strict', '-f', '-'], rendered);
});

it('remove-from-argocd.yaml leaves Argo CD as its own manifests made it', async () => {
  await kubectl(['apply', ...OURS, '-f', '-'], installText('remove-from-argocd.yaml'));

  expect(await patched()).toEqual(stock);
});
