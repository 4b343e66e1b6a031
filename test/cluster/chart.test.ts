/** The Helm chart on a real cluster beside a stock Argo CD: the manual's commands to the first CI job, an upgrade, the end. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { docBlocks } from '../packaging/doc-blocks.ts';
import { closeAfterTests } from './close-after-tests.ts';
import { exampleGroup, GROUPS_REPOSITORY, Installation, refresh } from './install.ts';
import { addBuild, oneJobSucceeds } from './one-job.ts';
import { type Stack, startStack } from './stack/stack.ts';

const manual = readFileSync('docs/install.md', 'utf8');
let stack: Stack;
let installation: Installation;
let values: Record<string, unknown>;

function say(line: string): void {
  process.stdout.write(`chart: ${line}\n`);
}

function kubectl(...args: readonly string[]): Promise<string> {
  return stack.kubernetes.kubectl(args);
}

async function names(kinds: string, ...where: readonly string[]): Promise<readonly string[]> {
  return (await kubectl('get', kinds, ...where, '-o', 'name')).split('\n').filter(Boolean);
}

function writeValues(more: Readonly<Record<string, unknown>>): void {
  writeFileSync(join(installation.folder, 'values.yaml'), stringify({ ...values, ...more }));
}

async function ofServe(path: string): Promise<string> {
  return await kubectl('get', 'deployment', 'gitea-runners', '-n', 'argocd', '-o', `jsonpath=${path}`);
}

describe('the Helm chart', () => {
  beforeAll(async () => {
    stack = await startStack(inject('clusterBuilds'), say);
    installation = await Installation.prepare(stack, inject('clusterBuilds'));
    await addBuild(stack);
    const [, written = ''] = /```yaml\n# values\.yaml\n([\s\S]*?)```/.exec(manual) ?? [];
    values = parse(written);
    const [repository, tag] = installation.image.split(/:(?=[^:/]*$)/);
    Object.assign(values['image'] ?? {}, { repository, tag });
    writeValues({});
    installation.set('VALUES', 'values.yaml');
    installation.set('CHART', 'install/chart');
  });

  closeAfterTests(() => stack);

  it('leads by the commands of the manual from nothing to the first CI job', async () => {
    const started = Date.now();
    const notes = await installation.block('helm');
    await installation.block('helm-sidecar');
    await stack.kubernetes.refreshDns();
    await installation.block('secrets');
    await installation.block('application');
    await stack.gitea.admin.putFile(GROUPS_REPOSITORY, 'ci.yaml', exampleGroup(stack));
    await refresh(stack);
    await kubectl('wait', '-n', 'runners', 'runnergroup/ci', '--for=create', '--timeout=60s');
    await kubectl('wait', '-n', 'runners', 'runnergroup/ci', '--for=condition=Ready', '--timeout=60s');

    await oneJobSucceeds(stack);
    say(`from nothing to the first CI job: ${Math.round((Date.now() - started) / 1000)} s`);

    expect(notes).toContain('STATUS: deployed');
    expect(notes).toContain('argocd: gitea-runners-serve (keys argocd-token, webhook-secret)');
  });

  it('is upgraded with other values, and the next CI job runs', async () => {
    writeValues({
      serve: { replicas: 1 },
      settings: { GITEA_RUNNERS_INSTANCE: 'production' },
      secretsApi: { enabled: true },
    });

    await installation.block('helm');
    await kubectl('rollout', 'status', '-n', 'argocd', 'deployment/gitea-runners', '--timeout=120s');

    expect(await ofServe('{.spec.replicas}')).toBe('1');
    expect(await names('configmaps', '-n', 'argocd')).toContain('configmap/gitea-runners-settings');
    expect(await names('roles', '-n', 'runners')).toEqual(['role.rbac.authorization.k8s.io/gitea-runners-secrets']);
    writeValues({ serve: { replicas: 1 } });
    await installation.block('helm');
    await kubectl('rollout', 'status', '-n', 'argocd', 'deployment/gitea-runners', '--timeout=120s');
    expect(await names('roles', '-n', 'runners')).toEqual([]);
    await oneJobSucceeds(stack);
  });

  it('repairs the CRD when it is upgraded: Helm owns it', async () => {
    const crd = 'customresourcedefinition/runnergroups.gitea.bpg.pw';
    const patch = [{ op: 'remove', path: '/spec/versions/0/additionalPrinterColumns' }];
    await kubectl('patch', crd, '--type=json', '--patch', JSON.stringify(patch));
    writeValues({ serve: { replicas: 2 } });

    await installation.block('helm');

    expect(await kubectl('get', crd, '-o', 'jsonpath={.spec.versions[0].additionalPrinterColumns[0].name}')).not.toBe(
      '',
    );
  });

  it('refuses a value that it does not know, and changes nothing', async () => {
    const before = await ofServe('{.metadata.generation}');
    writeValues({ serve: { replica: 5 } });

    await expect(installation.block('helm')).rejects.toThrow("additional properties 'replica' not allowed");

    expect(await ofServe('{.metadata.generation}')).toBe(before);
  });

  it('is uninstalled: the CRD, RunnerGroups and the namespace stay, everything else is gone', async () => {
    await installation.block('helm-uninstall');

    const kinds =
      'deployments,services,configmaps,secrets,serviceaccounts,roles,rolebindings,networkpolicies,poddisruptionbudgets';
    const left = await names(kinds, '-n', 'argocd');
    expect(left.filter((name) => /gitea/.test(name))).toEqual([]);
    expect(await names('rolebindings,networkpolicies', '-n', 'runners')).toEqual([]);
    expect(await names('runnergroups', '-n', 'runners')).toEqual(['runnergroup.gitea.bpg.pw/ci']);
    const sidecar = '{.spec.template.spec.containers[?(@.name=="gitea-runners")].image}';
    expect(await kubectl('get', '-n', 'argocd', 'deployment', 'argocd-repo-server', '-o', `jsonpath=${sidecar}`)).toBe(
      '',
    );
  });

  it('can be installed again over what has stayed', async () => {
    writeValues({});

    await installation.block('helm');
    await installation.block('helm-sidecar');
    await installation.block('secrets');
    await installation.block('application');

    await oneJobSucceeds(stack);
  });

  it('leaves nothing when what it keeps is removed, too', async () => {
    await installation.block('helm-uninstall');
    await installation.block('helm-remove');

    const wide = await names('customresourcedefinitions,clusterroles,clusterrolebindings,namespaces');
    expect(wide.filter((name) => /gitea|\/runners$/.test(name))).toEqual([]);
  });

  it('has no command in the manual that was not run here', () => {
    const marked = docBlocks(manual).flatMap(({ name, notRun }) => (notRun === undefined ? [name] : []));

    const helm = marked.filter((name) => name.startsWith('helm'));
    expect(helm.length).toBeGreaterThan(3);
    expect(helm.filter((name) => !installation.done.includes(name))).toEqual([]);
  });
});
