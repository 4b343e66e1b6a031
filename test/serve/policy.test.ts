/** `serve --policy`: a group that is denied is shown as such and never planned. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { policyDefaults } from '../../src/config/policy/defaults.ts';
import { readPolicy } from '../../src/config/policy/policy-schema.ts';
import { judgedBy } from '../../src/serve/looks/targets.ts';
import { Failure } from '../../src/shared/failure.ts';
import { folderWith } from '../support/run-cli.ts';
import { runnerGroup } from '../support/runner-group.ts';
import { TOKEN } from '../support/start-acme.ts';
import { startRig, until } from './rig.ts';

const policyYaml = (spec: string) => `apiVersion: gitea.bpg.pw/v1alpha1\nkind: RunnerPolicy\nspec: ${spec}\n`;
const linux = { jobs: [{ key: 'build', runsOn: ['linux'] }] };

function policyFile(spec: string): string {
  return join(folderWith({ 'policy.yaml': policyYaml(spec) }), 'policy.yaml');
}

describe('a group that the policy denies', () => {
  it('a group that the policy denies has its reason in the status, is not looked at, and wakes nobody', async () => {
    const rig = await startRig();
    rig.simulator.gitea.push('acme/web', linux);
    const replica = await rig.start({ policyFile: policyFile('{images: []}') });
    await until('bad news', () => rig.conditions()['Ready'] === 'False PolicyDenied');

    expect(JSON.stringify(rig.cluster.all('runnergroups'))).toContain(
      'GR-POLICY-04 serve RunnerGroups: 1 denial by the policy',
    );
    expect(rig.conditions()['GiteaReachable']).toBe('Unknown NotLookedYet');
    expect(await replica.metric('gitea_runners_looks_total')).toBe(0);
    expect(rig.syncs()).toBe(0);
    expect(rig.cluster.all('jobs')).toEqual([]);
  });

  it('a group that the policy denies is so without a policy when only a policy could allow what it asks for', async () => {
    const rig = await startRig('  podTemplate: {spec: {serviceAccountName: admin}}\n');
    rig.simulator.gitea.push('acme/web', linux);
    await rig.start();
    await until('bad news', () => rig.conditions()['Ready'] === 'False PolicyDenied');

    expect(JSON.stringify(rig.cluster.all('runnergroups'))).toContain('GR-POLICY-03');
    expect(rig.syncs()).toBe(0);
  });

  it('a group that the policy denies is so when its repository went to an owner that the policy does not open', async () => {
    const rig = await startRig();
    const { gitea } = rig.simulator;
    gitea.addUser('root', { admin: true });
    gitea.addToken('root', ['all'], TOKEN);
    gitea.addOrg('beta');
    const [group] = rig.cluster.all('runnergroups');
    const { org: _, ...spec } = (group?.['spec'] ?? {}) as Record<string, unknown>;
    if (group) rig.cluster.put('runnergroups', { ...group, spec: { ...spec, scope: 'repo', repo: 'acme/web' } });
    const scopes = (more: string) => `{namespaces: [{name: runners, scopes: ["org:acme"${more}]}]}`;
    const file = policyFile(scopes(''));
    await rig.start({ policyFile: file });
    await until('good news', () => rig.conditions()['Ready'] === 'True Serving');

    gitea.transferRepo('acme/web', 'beta');
    gitea.push('beta/web', linux);
    await until('bad news', () => rig.conditions()['Ready'] === 'False PolicyDenied');

    expect(JSON.stringify(rig.cluster.all('runnergroups'))).toContain('ask for repo:beta/web to be allowed');
    expect(rig.syncs()).toBe(0);
  });

  it('a group that the policy denies is told by --once', async () => {
    const rig = await startRig();

    expect((await rig.once({ policyFile: policyFile('{maxActiveRunners: 4}') })).join()).toContain('GR-POLICY-04');
  });

  it('a group that the policy denies is served when its annotation gives the reason that was asked for', async () => {
    const rig = await startRig('  containerMode: dind\n');
    const file = policyFile('{securityProfile: {highest: baseline, withReason: privileged}}');
    await rig.start({ policyFile: file });
    await until('bad news', () => rig.conditions()['Ready'] === 'False PolicyDenied');

    rig.annotate({ 'gitea.bpg.pw/profile-reason': 'builds images' });
    await until('good news', () => rig.conditions()['Ready'] === 'True Serving');
  });
});

describe('a policy that warns', () => {
  it('a policy that warns is a condition and a metric of the group, which is served', async () => {
    const rig = await startRig();
    const file = policyFile('{registries: [], enforcement: warn}');
    const replica = await rig.start({ policyFile: file });
    await until('good news', () => rig.conditions()['Ready'] === 'True Serving');

    expect(await replica.metric('gitea_runners_policy_warnings')).toBe(1);
    expect(rig.conditions()['PolicyWarns']).toBe('True WouldBeDenied');
    expect(JSON.stringify(rig.cluster.all('runnergroups'))).toContain('[registries]');
  });

  it('a policy that warns says nothing where nothing would be denied', async () => {
    const rig = await startRig();
    await rig.start({ policyFile: policyFile('{registries: [docker.io], enforcement: warn}') });
    await until('good news', () => rig.conditions()['Ready'] === 'True Serving');

    expect(Object.keys(rig.conditions())).not.toContain('PolicyWarns');
  });

  it('chooses groups by the labels of the object, also when only these change', async () => {
    const rig = await startRig();
    const rules = '{groups: [{match: {labels: {tier: gold}}, registries: [], enforcement: warn}]}';
    await rig.start({ policyFile: policyFile(rules) });
    await until('good news', () => rig.conditions()['Ready'] === 'True Serving');
    expect(Object.keys(rig.conditions())).not.toContain('PolicyWarns');
    const [group] = rig.cluster.all('runnergroups');
    if (!group) throw new Error('no group');

    rig.cluster.put('runnergroups', { ...group, metadata: { ...group.metadata, labels: { tier: 'gold' } } });

    await until('a warning', () => rig.conditions()['PolicyWarns'] === 'True WouldBeDenied');
  });
});

it('a policy that changes holds from the next change of a RunnerGroup on; one that breaks denies everything', async () => {
  const rig = await startRig();
  const file = policyFile('{}');
  await rig.start({ policyFile: file });
  await until('good news', () => rig.conditions()['Ready'] === 'True Serving');
  const [group] = rig.cluster.all('runnergroups');
  if (!group) throw new Error('no group');

  writeFileSync(file, policyYaml('{imags: []}'));
  rig.cluster.put('runnergroups', { ...group, metadata: { ...group.metadata, generation: 7 } });
  await until('bad news', () => rig.conditions()['Ready'] === 'False PolicyDenied');

  expect(JSON.stringify(rig.cluster.all('runnergroups'))).toContain('GR-POLICY-05 read the policy');
});

it('defaults of a policy hold in serve, from the change of the file on, and one that cannot be read changes none', async () => {
  const rig = await startRig();
  const rules = (image: string) =>
    policyYaml(`{images: [m.example.com/*], defaults: {images: {runner: "${image}", rootless: "${image}"}}}`);
  const file = policyFile('{}');
  writeFileSync(file, rules('m.example.com/r:1'));
  await rig.start({ policyFile: file });
  await until('good news', () => rig.conditions()['Ready'] === 'True Serving');

  writeFileSync(file, rules('x.example.com/r:1'));
  await until('bad news', () => rig.conditions()['Ready'] === 'False PolicyDenied');
  expect(JSON.stringify(rig.cluster.all('runnergroups'))).toContain('x.example.com/r:1');

  writeFileSync(file, rules('m.example.com/other:1'));
  await until('good news again', () => rig.conditions()['Ready'] === 'True Serving');
});

it('policyDefaults answers with the same function while nothing changes, and while the file cannot be read', () => {
  const file = policyFile('{defaults: {labels: ["a:host"]}}');
  const defaults = policyDefaults(file);
  const first = defaults();

  expect(first).toBeTypeOf('function');
  writeFileSync(file, `${policyYaml('{defaults: {labels: ["a:host"]}}')}# a comment\n`);
  expect(defaults()).toBe(first);
  writeFileSync(file, 'spec: [');
  expect(defaults()).toBe(first);
  rmSync(file);
  expect(defaults()).toBe(first);
  writeFileSync(file, policyYaml('{defaults: {labels: ["a:host"]}}'));
  expect(defaults()).toBe(first);
  writeFileSync(file, policyYaml('{defaults: {labels: ["a:host"]}, images: []}'));
  expect(defaults()).not.toBe(first);
  writeFileSync(file, policyYaml('{}'));
  expect(defaults()).toBeUndefined();
});

describe('judgedBy', () => {
  const one = runnerGroup({ name: 'one', maxActiveRunners: 6 });
  const two = runnerGroup({ name: 'two', maxActiveRunners: 6, image: 'evil.example.com/x' });
  const live = [one, two].map((group) => ({
    key: `runners/${group.name}`,
    object: { metadata: { name: group.name, namespace: 'runners', uid: group.name } } as never,
    group,
  }));
  const refusedBy = (spec: string, application: string) => {
    const { refusals } = judgedBy('p', readPolicy('p', policyYaml(spec)), new Map([[application, live]]), 0);
    return [...refusals].map(([{ name }, failure]) => `${name} ${failure instanceof Failure && failure.code}`);
  };

  it('judgedBy refuses the group that is denied, and all of an Application whose caps are too high', () => {
    expect(refusedBy('{registries: [docker.io]}', 'argocd/runners')).toEqual(['two GR-POLICY-04']);
    expect(refusedBy('{maxActiveRunners: 11}', 'argocd/runners')).toEqual(['one GR-POLICY-04', 'two GR-POLICY-04']);
    expect(refusedBy('{maxActiveRunners: 11}', '')).toEqual([]);
    // A group that is denied alone does not count for the other.
    expect(refusedBy('{maxActiveRunners: 11, registries: [docker.io]}', 'argocd/runners')).toEqual([
      'two GR-POLICY-04',
    ]);
  });

  it('judgedBy refuses everything by a policy that cannot be read', () => {
    expect(refusedBy('7', 'argocd/runners')).toEqual(['one GR-POLICY-05', 'two GR-POLICY-05']);
  });
});
