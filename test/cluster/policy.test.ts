/**
 * Tests changes of a platform team while CI runs: a stricter policy, with the command of docs/policy.md (law F157), and
 * an app of its own around ours (law F158). A stock Argo CD, a real Gitea, the real runner.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, inject, it } from 'vitest';
import { stringify } from 'yaml';
import { docScript } from '../packaging/doc-blocks.ts';
import { workflow } from '../servers/workflows.ts';
import { exampleApp } from '../support/platform-app.ts';
import { closeAfterTests } from './close-after-tests.ts';
import { conclusions } from './scenarios-load.ts';
import { GROUP, groupSpec, groupYaml, REPOSITORY, Rig, say } from './scenarios-rig.ts';

const SECOND = 'second';
const LATER_MS = 20 * 86_400_000;
/** Containers of this program in both Deployments. */
const CONTAINERS = { 'gitea-runners': 'serve', 'argocd-repo-server': 'gitea-runners' };

let rig: Rig;

beforeAll(async () => {
  rig = await Rig.open(inject('clusterBuilds'), say, { GITEA_RUNNERS_SWEEP: 'true' });
  // Longer than the kubelet takes to tell a pod of a changed ConfigMap.
  const lasting = workflow({ lasting: { runsOn: SECOND, seconds: 150 } });
  await rig.admin.addWorkflow(REPOSITORY, 'lasting.yml', lasting);
});

closeAfterTests(() => rig);

/** Writes the policy with the manual's command. Touches the pods: the kubelet looks at their ConfigMaps then, and not in a minute. */
async function install(spec: object): Promise<void> {
  const policy = { apiVersion: 'gitea.bpg.pw/v1alpha1', kind: 'RunnerPolicy', spec };
  writeFileSync(join(rig.installation.folder, 'policy.yaml'), stringify(policy));
  await rig.installation.shell('policy', docScript(readFileSync('docs/policy.md', 'utf8'), 'policy'));
  await rig.kubectl('annotate', 'pods', '-n', 'argocd', '--all', '--overwrite', `example.com/touched=${Date.now()}`);
}

/** Sets the settings of both, which start new pods. @param ofPod further fields of these, besides the time */
async function tellBoth(
  settings: Readonly<Record<string, string>>,
  ofPod: (container: string) => object = () => ({}),
): Promise<void> {
  const patch = async (what: string, type: string, change: object) =>
    await rig.kubectl('patch', '-n', 'argocd', what, `--type=${type}`, '-p', JSON.stringify(change));
  await patch('configmap/gitea-runners-settings', 'merge', { data: settings });
  const metadata = { annotations: { 'example.com/restarted': String(Date.now()) } };
  for (const [name, container] of Object.entries(CONTAINERS))
    await patch(`deployment/${name}`, 'strategic', { spec: { template: { metadata, spec: ofPod(container) } } });
  for (const name of Object.keys(CONTAINERS))
    await rig.kubectl('rollout', 'status', '-n', 'argocd', `deployment/${name}`, '--timeout=5m');
}

/** Gitea is asked twice: what one answer has no more, the other may still have. */
async function isAtWorkAlone(runner: string): Promise<void> {
  const atWork = () => rig.world.inState('in_progress').map(({ runner_name }) => runner_name);
  await rig.until('it alone is at work', () => atWork().join() === runner);
}

/** Returns the warnings of `serve`, by rule and group. */
async function warnings(): Promise<readonly string[]> {
  const metrics = '/api/v1/namespaces/argocd/services/gitea-runners-metrics:metrics/proxy/metrics';
  const text = await rig.kubectl('get', '--raw', metrics);
  return text.split('\n').filter((line) => line.startsWith('gitea_runners_policy_warnings{'));
}

it('a rule warns, denies, and is lifted by an exception, and no CI job is lost on the way', async () => {
  say('a policy gets stricter');
  const { world } = rig;
  await install({});
  await tellBoth({ GITEA_RUNNERS_POLICY: '/etc/gitea-runners/policy/policy.yaml' });
  rig.begin();
  const spec = { ...groupSpec(rig.stack.gitea.url), labels: [`${SECOND}:host`] };
  await rig.commitFile('second.yaml', groupYaml(SECOND, spec));
  await rig.isReady(SECOND);
  const stricter = { groups: [{ match: { name: SECOND }, registries: ['registry.example.com'] }] };

  await install({ ...stricter, enforcementOf: { registries: 'warn' } });
  await rig.until('it is warned of', () => world.condition(SECOND, 'PolicyWarns')?.status === 'True');
  expect(world.condition(SECOND, 'PolicyWarns')?.message).toContain('[registries]');
  expect(world.condition(SECOND, 'Ready')?.status).toBe('True');
  await rig.until('the metric has it', async () => /rule="registries".* 1$/m.test((await warnings()).join('\n')));
  await rig.dispatch('lasting.yml');
  const busy = await rig.busyRunner();

  await install(stricter);
  await rig.until('it is denied', () => world.condition(SECOND, 'Ready')?.reason === 'PolicyDenied');
  await rig.dispatch('second.yml');
  await rig.dispatch('single.yml');
  await rig.until('the job of the other group is over', async () => (await rig.ended()).length === 1);
  await isAtWorkAlone(busy);
  expect(world.inState('queued')).toMatchObject([{ name: 'second' }]);
  expect(world.condition(SECOND, 'Ready')?.message).toContain('[registries]');
  expect(world.condition(GROUP, 'Ready')).toMatchObject({ status: 'True', reason: 'Serving' });
  expect(world.unfinished().filter(({ deletedAtMs }) => deletedAtMs)).toEqual([]);

  const until = new Date(Date.now() + LATER_MS).toISOString().slice(0, 10);
  const exception = { groups: [`runners/${SECOND}`], rules: ['registries'], until, reason: 'it moves this month' };
  await install({ ...stricter, exceptions: [exception] });
  await rig.isReady(SECOND);
  const jobs = await rig.calm(3);

  expect(conclusions(jobs)).toEqual(['lasting success', 'second success', 'single success']);
  expect(jobs.find(({ name }) => name === 'lasting')?.runner_name).toBe(busy);
  expect(new Set(world.made()).size).toBe(3);
  expect(world.made()).toHaveLength(3);
  expect(world.condition(SECOND, 'PolicyWarns')).toBeUndefined();
  expect([...world.errors]).toEqual([]);
});

it("a platform's own app changes new runners and adds its objects, and living runners stay as they are", async () => {
  say("a platform's own app");
  const { world } = rig;
  const kinds = [
    { group: 'batch', kind: 'Job' },
    { group: 'gitea.bpg.pw', kind: 'RunnerGroup' },
    { group: 'networking.k8s.io', kind: 'NetworkPolicy' },
  ];
  const allowed = JSON.stringify({ spec: { namespaceResourceWhitelist: kinds } });
  await rig.kubectl('patch', '-n', 'argocd', 'appproject/runners', '--type=merge', '-p', allowed);
  await rig.kubectl('create', 'configmap', '-n', 'argocd', 'platform', `--from-file=platform.cjs=${exampleApp()}`);
  rig.begin();
  await rig.dispatch('slow.yml');
  const busy = await rig.busyRunner();
  const uid = await rig.ofPod(busy, '.metadata.uid');

  // A file as if it were in the image.
  await tellBoth({ GITEA_RUNNERS_APP: '/opt/platform/platform.cjs' }, (name) => ({
    containers: [{ name, volumeMounts: [{ name: 'platform', mountPath: '/opt/platform' }] }],
    volumes: [{ name: 'platform', configMap: { name: 'platform' } }],
  }));
  // It makes Argo CD compare again, including the object of the platform.
  await rig.dispatch('single.yml');
  const labelled = ['get', 'jobs', '-n', 'runners', '-l', 'platform.example.com/cost-center=ci', '-o', 'name'];
  await rig.until('the new Job has its label', async () => (await rig.kubectl(...labelled)).trim() !== '');
  const policy = ['get', 'networkpolicy', 'runners', '-n', 'runners', '-o', 'name', '--ignore-not-found'];
  await rig.until('the object of the platform is there', async () => (await rig.kubectl(...policy)) !== '');
  await rig.until('its CI job is over', async () => (await rig.ended()).length === 1);

  await isAtWorkAlone(busy);
  expect(await rig.ofPod(busy, '.metadata.uid')).toBe(uid);
  await rig.until('that of the living runner is over, too', async () => (await rig.ended()).length === 2, 300_000);
  expect(conclusions(await rig.calm(2))).toEqual(['single success', 'slow success']);
  expect(world.made()).toHaveLength(2);
  expect([...world.errors]).toEqual([]);
});
