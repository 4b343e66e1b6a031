/** The Helm chart on a real cluster beside a stock Argo CD: the manual's commands to the first CI job, an upgrade, the end. */
import { readFileSync } from 'node:fs';
import { beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { docBlocks } from '../packaging/doc-blocks.ts';
import { closeAfterTests } from './close-after-tests.ts';
import type { Installation } from './install.ts';
import { addGroup, type Begun, begin, groupIsReady, oneJobSucceeds } from './one-job.ts';
import type { Stack } from './stack/stack.ts';

const manual = readFileSync('docs/install.md', 'utf8');
let stack: Stack;
let installation: Installation;
let kubectl: Begun['kubectl'];
let values: Record<string, unknown>;

async function names(kinds: string, ...where: readonly string[]): Promise<readonly string[]> {
  return (await kubectl('get', kinds, ...where, '-o', 'name')).split('\n').filter(Boolean);
}

function writeValues(more: Readonly<Record<string, unknown>>): void {
  installation.writeValues({ ...values, ...more });
}

async function ofServe(path: string): Promise<string> {
  return await stack.kubernetes.field(path, 'deployment', 'gitea-runners', '-n', 'argocd');
}

beforeAll(async () => {
  ({ stack, installation, kubectl } = await begin('chart'));
  const [, written = ''] = /```yaml\n# values\.yaml\n([\s\S]*?)```/.exec(manual) ?? [];
  values = parse(written);
  Object.assign(values['image'] ?? {}, installation.image);
  writeValues({});
});

closeAfterTests(() => stack);

it('the Helm chart leads by the commands of the manual from nothing to the first CI job', async () => {
  const notes = await installation.block('helm');
  await installation.block('helm-sidecar');
  await stack.kubernetes.refreshDns();
  await installation.block('secrets', 'application');
  await addGroup(stack);
  await groupIsReady(stack);

  await oneJobSucceeds(stack);

  expect(notes).toContain('STATUS: deployed');
  expect(notes).toContain('argocd: gitea-runners-serve (keys argocd-token, webhook-secret)');
});

it('the Helm chart is upgraded with other values, and the next CI job runs', async () => {
  writeValues({
    serve: { replicas: 1 },
    settings: { GITEA_RUNNERS_INSTANCE: 'production' },
    secretsApi: { enabled: true },
  });

  await installation.block('helm');
  await stack.kubernetes.rolledOut('argocd', 'deployment/gitea-runners');

  expect(await ofServe('{.spec.replicas}')).toBe('1');
  expect(await names('configmaps', '-n', 'argocd')).toContain('configmap/gitea-runners-settings');
  expect(await names('roles', '-n', 'runners')).toEqual(['role.rbac.authorization.k8s.io/gitea-runners-secrets']);
  writeValues({ serve: { replicas: 1 } });
  await installation.block('helm');
  await stack.kubernetes.rolledOut('argocd', 'deployment/gitea-runners');
  expect(await names('roles', '-n', 'runners')).toEqual([]);
  await oneJobSucceeds(stack);
});

it('the Helm chart repairs the CRD when it is upgraded: Helm owns it', async () => {
  const crd = 'customresourcedefinition/runnergroups.gitea.bpg.pw';
  const patch = [{ op: 'remove', path: '/spec/versions/0/additionalPrinterColumns' }];
  await kubectl('patch', crd, '--type=json', '--patch', JSON.stringify(patch));
  writeValues({ serve: { replicas: 2 } });

  await installation.block('helm');

  expect(await stack.kubernetes.field('{.spec.versions[0].additionalPrinterColumns[0].name}', crd)).not.toBe('');
});

it('the Helm chart is uninstalled: the CRD, RunnerGroups and the namespace stay, everything else is gone', async () => {
  await installation.block('helm-uninstall');

  const kinds =
    'deployments,services,configmaps,secrets,serviceaccounts,roles,rolebindings,networkpolicies,poddisruptionbudgets';
  const left = await names(kinds, '-n', 'argocd');
  expect(left.filter((name) => /gitea/.test(name))).toEqual([]);
  expect(await names('rolebindings,networkpolicies', '-n', 'runners')).toEqual([]);
  expect(await names('runnergroups', '-n', 'runners')).toEqual(['runnergroup.gitea.bpg.pw/ci']);
  expect(await installation.sidecarImage()).toBe('');
});

it('the Helm chart can be installed again over what has stayed', async () => {
  writeValues({});

  await installation.block('helm', 'helm-sidecar', 'secrets', 'application');

  await oneJobSucceeds(stack);
});

it('the Helm chart leaves nothing when what it keeps is removed, too', async () => {
  await installation.block('helm-uninstall', 'helm-remove');

  const wide = await names('customresourcedefinitions,clusterroles,clusterrolebindings,namespaces');
  expect(wide.filter((name) => /gitea|\/runners$/.test(name))).toEqual([]);
});

it('the Helm chart has no command in the manual that was not run here', () => {
  const marked = docBlocks(manual).flatMap(({ name, notRun }) => (notRun === undefined ? [name] : []));

  const helm = marked.filter((name) => name.startsWith('helm'));
  expect(helm.length).toBeGreaterThan(3);
  expect(helm.filter((name) => !installation.done.includes(name))).toEqual([]);
});
