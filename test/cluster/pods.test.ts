/**
 * The examples of RunnerGroups with pods of their own on a real kubelet, with the real runner and a real Gitea, without Argo CD. And a Secret that `serve`
 * fills, from empty to a CI job that runs.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, inject, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { installText } from '../packaging/manifests.ts';
import { cacheAction } from '../servers/actions-cache.ts';
import { waitUntil } from '../servers/process.ts';
import { startQuietServe } from '../support/quiet-serve.ts';
import { closeAfterTests } from './close-after-tests.ts';
import { LEVEL, PodsRig, REPOSITORY, type Wanted, within } from './pods-rig.ts';
import { ROOTLESS_IMAGE } from './stack/docker-images.ts';
import { RUNNER_IMAGE, RUNNER_WITH_NODE_IMAGE, runnerWithNodeImage } from './stack/images.ts';
import { startLoginRegistry } from './stack/login-registry.ts';

const GPU = 'examples/pods/gpu.yaml';
const OWN_IMAGE = 'examples/pods/private-registry.yaml';
const CACHED = 'install/examples/runnergroup-with-a-cache.yaml';

let rig: PodsRig;
let kubectl: PodsRig['kubernetes']['kubectl'];

beforeAll(async () => {
  rig = await PodsRig.start('pods');
  kubectl = rig.kubernetes.kubectl;
  await rig.kubernetes.apply(installText('crd.yaml'));
});

closeAfterTests(() => rig);

/** An example for this machine: its Gitea, a Secret that is there. */
function example(file: string, more: Readonly<Record<string, unknown>> = {}): Wanted {
  const { spec } = parse(readFileSync(file, 'utf8'));
  const registrationToken = { secretRef: { name: 'good', key: 'token' } };
  const own = { ...spec, gitea: { url: rig.gitea.url }, registrationToken, image: undefined, ...more };
  return { spec: { containerMode: undefined, ...own } };
}

/** A workflow of one job for runners with this label. */
async function addWorkflow(file: string, label: string, ...steps: readonly object[]): Promise<void> {
  const job = { 'runs-on': label, steps: steps.map((step) => ({ shell: 'sh', ...step })) };
  await rig.gitea.admin.addWorkflow(REPOSITORY, file, JSON.stringify({ on: 'workflow_dispatch', jobs: { job } }));
}

/** Removes a Job whose pod will not start, so that the CI job waits for another runner. */
async function removeStuck(name: string): Promise<void> {
  await rig.remove(name);
  await rig.podGoes(name);
}

const TAINT = 'nvidia.com/gpu=present:NoSchedule';

it('examples/pods/gpu.yaml runs a CI job on a tainted node with a GPU, which takes no other runner', async () => {
  const capacity = [{ op: 'add', path: '/status/capacity/nvidia.com~1gpu', value: '1' }];
  await kubectl(['label', 'node', 'node1', 'nvidia.com/gpu.present=true']);
  await kubectl(['patch', 'node', 'node1', '--subresource=status', '--type=json', '-p', JSON.stringify(capacity)]);
  await kubectl(['taint', 'node', 'node1', TAINT]);
  try {
    await rig.addWorkflow('gpu.yml', 'echo "on the GPU"', { 'runs-on': 'gpu' });
    const without = await rig.queue('gpu.yml', example(GPU, { image: ROOTLESS_IMAGE, podTemplate: undefined }));
    await rig.apply(without.manifest);
    const unschedulable = async (): Promise<boolean> =>
      (await rig.ofPod(without.name, '.status.conditions[?(@.type=="PodScheduled")].reason')) === 'Unschedulable';
    await waitUntil('a runner without the toleration cannot be placed', unschedulable, within);
    await removeStuck(without.name);

    const { name, log } = await rig.run(await rig.generate(example(GPU, { image: ROOTLESS_IMAGE })));

    expect(log).toContain('on the GPU');
    expect(await rig.ofPod(name, '.spec.nodeName')).toBe('node1');
    const gpus = '.spec.containers[?(@.name=="runner")].resources.limits.nvidia\\.com/gpu';
    expect(await rig.ofPod(name, gpus)).toBe('1');
  } finally {
    await kubectl(['taint', 'node', 'node1', `${TAINT}-`]);
  }
});

it('examples/pods/private-registry.yaml runs a CI job in an image of a registry that wants a login; without the pull secret its pod cannot start', async () => {
  const { machine, playground, kubernetes } = rig;
  const { host, username, password } = await startLoginRegistry(playground, machine.outside);
  const image = `${host}/ci/runner:1.0.8`;
  kubernetes.allowPlainRegistry(host);
  await kubernetes.pushImage(`docker.io/${RUNNER_IMAGE}`, image, `${username}:${password}`);
  const login = [`--docker-server=${host}`, `--docker-username=${username}`, `--docker-password=${password}`];
  await kubectl(['create', 'secret', 'docker-registry', 'registry', '-n', 'runners', ...login]);
  await addWorkflow('own-image.yml', 'own-image', { run: 'echo "from the registry"' });
  const { spec } = parse(readFileSync(OWN_IMAGE, 'utf8'));
  const [runner] = spec.podTemplate.spec.containers;
  const podTemplate = { spec: { ...spec.podTemplate.spec, containers: [{ ...runner, image }] } };
  const secretless = { spec: { containers: podTemplate.spec.containers } };

  const refused = await rig.queue('own-image.yml', example(OWN_IMAGE, { podTemplate: secretless }));
  await rig.apply(refused.manifest);
  const why = (): Promise<string> => rig.ofPod(refused.name, '.status.initContainerStatuses[*].state.waiting.message');
  await waitUntil('the registry wants a login', async () => (await why()).includes('401 Unauthorized'), within);
  await removeStuck(refused.name);
  const { name, log } = await rig.run(await rig.generate(example(OWN_IMAGE, { podTemplate })));

  expect(log).toContain('from the registry');
  expect(await rig.ofPod(name, '.spec.containers[?(@.name=="runner")].image')).toBe(image);
});

it('examples/pods/restricted.yaml runs a CI job in a namespace that enforces restricted', async () => {
  const enforce = 'pod-security.kubernetes.io/enforce';
  await kubectl(['label', 'namespace', 'runners', `${enforce}=restricted`, `${enforce}-version=latest`]);
  try {
    await addWorkflow('small.yml', 'small', { run: 'echo "$PIP_INDEX_URL as $(id -u)"; touch /cache/written' });

    const wanted = example('examples/pods/restricted.yaml', { image: RUNNER_IMAGE });
    const { name, log } = await rig.run(await rig.queue('small.yml', wanted));

    expect(log).toContain('https://pypi.example.com/simple as 1000');
    expect(await rig.podOf(name)).toContain(name);
  } finally {
    await kubectl(['label', 'namespace', 'runners', `${enforce}-`, `${enforce}-version-`]);
  }
});

it('install/examples/runnergroup-with-a-cache.yaml lets a second runner restore what the first one saved, by the server of install/cache.yaml', async () => {
  const { machine, kubernetes } = rig;
  const tar = join(rig.images, 'node.tar');
  await runnerWithNodeImage(tar, inject('clusterBuilds').runner, cacheAction());
  await kubernetes.importImage(tar);
  const disk = join(machine.folder, 'cache-disk');
  mkdirSync(disk, { mode: 0o777 });
  await machine.run('chmod', ['777', disk]);
  await kubernetes.apply({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'cache' },
    spec: {
      capacity: { storage: '20Gi' },
      accessModes: ['ReadWriteOnce'],
      claimRef: { namespace: 'runners', name: 'gitea-runner-cache' },
      hostPath: { path: disk },
    },
  });
  await kubernetes.putSecret('runners', 'gitea-runner-cache', { secret: 's3cret' });
  await kubernetes.apply(installText('cache.yaml').replace('gitea/runner:1.0.8', RUNNER_IMAGE));
  await kubernetes.rolledOut('runners', 'deployment/gitea-runner-cache');
  await kubernetes.refreshDns();
  const action = { run: 'cp -r /opt/action cache' };
  const use = (what: string) => ({ shell: undefined, uses: './cache', with: { do: what, path: 'kept', key: 'k1' } });
  const note = { run: 'mkdir kept && echo "written by the first runner" > kept/note' };
  await addWorkflow('save.yml', 'cached', action, note, use('save'));
  await addWorkflow('restore.yml', 'cached', action, use('restore'), { run: 'cat kept/note' });
  const host = { image: RUNNER_WITH_NODE_IMAGE, containerMode: 'host', labels: ['cached:host'] };
  const wanted = example(CACHED, host);

  const first = await rig.run(await rig.queue('save.yml', wanted));
  const second = await rig.run(await rig.queue('restore.yml', wanted));

  expect(second.name).not.toBe(first.name);
  expect(second.log).toContain('the cache answered: k1');
  expect(second.log).toContain('written by the first runner');
});

const ACCOUNT = 'gitea-runners';
const SECRET = 'gitea-runner';

/** `serve` with the rights of install/*.yaml; it ends with `end`. */
async function startServe() {
  const { gitea, kubernetes } = rig;
  await kubectl(['create', 'namespace', 'argocd']);
  const rights = ['gitea-runners.yaml', 'runners.yaml', 'registration-secrets.yaml']
    .flatMap((file) => parseAllDocuments(installText(file)).map((document) => document.toJS()))
    .filter(({ kind }) => kind === 'ServiceAccount' || /Role/.test(kind));
  await kubernetes.apply(...rights);
  const token = (await kubectl(['create', 'token', ACCOUNT, '-n', 'argocd'])).trim();
  const ca = readFileSync(kubernetes.caFile, 'utf8');
  const apiToken = await gitea.admin.createToken(['write:organization']);
  return startQuietServe({
    cluster: { url: kubernetes.url, token: async () => token, ca },
    env: { GITEA_URL: gitea.url, GITEA_TOKEN: apiToken },
    namespaces: ['runners'],
    pollMs: 1_000,
    registrationSecrets: [SECRET],
  });
}

it('a group needs one file: its Secret is filled, and its waiting runner starts by itself', async () => {
  await kubectl(['create', 'secret', 'generic', SECRET, '-n', 'runners']);
  await addWorkflow('short.yml', 'linux', { run: 'true' });
  const wanted = { secret: SECRET };
  await kubectl(['apply', '-f', rig.groupFolder(wanted)]);
  const { name, manifest } = await rig.queue('short.yml', wanted);
  await rig.apply(manifest);
  const waits = (): Promise<string> => rig.ofPod(name, '.status.initContainerStatuses[*].state.waiting.reason');
  await waitUntil('the pod waits', async () => (await waits()) === 'CreateContainerConfigError', within);

  const { events, end } = await startServe();
  try {
    const job = await rig.done(name);

    expect([job.conclusion, job.runner_name], JSON.stringify(events)).toEqual(['success', name]);
    const read = ['get', 'secret', SECRET, '-n', 'runners', '-o', 'json', '--show-managed-fields'];
    const { data, metadata } = JSON.parse(await kubectl(read));
    expect(Buffer.from(data.token, 'base64').toString()).toBe(await rig.gitea.admin.registrationToken(LEVEL));
    expect(Buffer.from(data.url, 'base64').toString()).toBe(rig.gitea.url);
    expect(metadata.managedFields.map(({ manager }: { manager: string }) => manager)).toContain('gitea-runners-serve');
    const told = await rig.kubernetes.field('{.items[*].reason}', 'events', '-n', 'runners');
    expect(told.split(' ').filter((reason) => reason === 'RegistrationTokenWritten')).toHaveLength(1);
  } finally {
    await end();
  }
});

it.each([
  ['get', SECRET, true],
  ['patch', SECRET, true],
  ['delete', SECRET, false],
  ['get', 'good', false],
  ['patch', 'good', false],
  ['create', '', false],
  ['list', '', false],
])('serve --registration-secrets may %s Secret "%s": %s', async (verb, name, allowed) => {
  const attributes = { namespace: 'runners', verb, resource: 'secrets', name };

  expect(await rig.kubernetes.may(ACCOUNT, attributes)).toBe(allowed);
});
