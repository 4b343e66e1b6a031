/**
 * Tests CI beside the real admission controller of Kyverno: its policies change our Jobs, refuse them, and it goes away
 * (docs/policy.md). Not in the short set: Kyverno is built first.
 */
import { execFile as run } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, beforeEach, expect, inject, it } from 'vitest';
import * as z from 'zod';
import { buildKyverno } from '../servers/build.ts';
import { sleep } from '../servers/process.ts';
import { closeAfterTests } from './close-after-tests.ts';
import { isUp, killKyverno, podSecurityPolicy, startKyverno } from './kyverno.ts';
import { expectAllDone } from './scenarios-load.ts';
import { APPLICATION, GROUP, groupSpec, groupYaml, Rig, say } from './scenarios-rig.ts';
import { RUNNER_IMAGE, runnerImage } from './stack/images.ts';

const execFile = promisify(run);
const MIRRORED = `mirror.example.com/${RUNNER_IMAGE}`;
const SECOND = 'second';
const WORDS = 'Privileged mode is disallowed';
/** Longer than Argo CD takes from one sync to the next when it runs in circles. */
const QUIET_MS = 20_000;
/** From the rest of one busy runner to the end of that one and of another. Two is usual. */
const MOST_SYNCS = 4;

/**
 * As people write it, with the expression of Kyverno's library for a mirror: rules for pods, which Kyverno applies to the pods of a Job,
 * too, when it is created and when it is updated. And labels for the Job itself.
 */
const CHANGES = `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: changes}
spec:
  rules:
    - name: mirror
      match: {any: [{resources: {kinds: [Pod], namespaces: [runners]}}]}
      mutate:
        foreach:
          - list: request.object.spec.containers
            patchStrategicMerge:
              spec:
                containers:
                  - name: "{{ element.name }}"
                    image: "{{ regex_replace_all('^(localhost/|(?:[a-z0-9]+\\\\.)+[a-z0-9]+/)?(.*)$', '{{element.image}}', 'mirror.example.com/$2') }}"
                    imagePullPolicy: Never
    - name: tolerate
      match: {any: [{resources: {kinds: [Pod], namespaces: [runners]}}]}
      mutate:
        patchStrategicMerge:
          metadata: {labels: {+(team): ci}}
          spec: {tolerations: [{key: pool, operator: Exists}]}
    - name: label
      match: {any: [{resources: {kinds: [Job], namespaces: [runners]}}]}
      mutate:
        patchStrategicMerge:
          metadata: {labels: {+(team): ci}, annotations: {+(example.com/seen): "yes"}}
`;

let rig: Rig;

beforeAll(async () => {
  buildKyverno(say);
  const builds = inject('clusterBuilds');
  rig = await Rig.open(builds, say, {});
  const tar = join(rig.stack.images, 'mirrored.tar');
  await runnerImage(tar, builds.runner, MIRRORED);
  await rig.stack.kubernetes.importImage(tar);
  await startKyverno(rig.stack);
  say('Kyverno is ready');
}, 1_800_000);

closeAfterTests(() => rig);

beforeEach(({ task }) => {
  say(task.name);
  rig.begin();
});

/** What the API server would store of a Job with a privileged container, or why it refuses it. */
async function probe(isPrivileged: boolean): Promise<string> {
  const containers = [{ name: 'runner', image: RUNNER_IMAGE, securityContext: { privileged: isPrivileged } }];
  const job = {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'probe', namespace: 'runners' },
    spec: { template: { spec: { restartPolicy: 'Never', containers } } },
  };
  const create = ['create', '--dry-run=server', '-o', 'json', '-f', '-'];
  return await rig.stack.kubernetes.kubectl(create, JSON.stringify(job)).catch(String);
}

/** Applies a policy, and waits until the API server shows its effect on a probe. Kyverno's webhooks answer a moment after its pod is ready. */
async function enforce(policy: string, isPrivileged: boolean, effect: string): Promise<void> {
  await rig.until('Kyverno takes the policy', () =>
    rig.stack.kubernetes.apply(policy).then(
      () => true,
      () => false,
    ),
  );
  await rig.until('the policy has its effect', async () => (await probe(isPrivileged)).includes(effect));
}

/** Counts the syncs of the Application since Argo CD started, by their ends. */
async function syncs(): Promise<Readonly<Record<string, number>>> {
  const text = await rig.kubectl(
    'get',
    '--raw',
    '/api/v1/namespaces/argocd/services/argocd-metrics:metrics/proxy/metrics',
  );
  const lines = text
    .split('\n')
    .filter((line) => line.startsWith('argocd_app_sync_total{') && line.includes(`name="${APPLICATION}"`));
  return Object.fromEntries(
    lines.map((line) => [/phase="(\w+)"/.exec(line)?.[1] ?? '', Number(line.split(' ').at(-1))]),
  );
}

/** Explains as an administrator. */
async function explain(): Promise<string> {
  const { kubeconfig } = rig.stack.kubernetes;
  const program = join(process.cwd(), 'lib', 'gitea-runners.cjs');
  return (await execFile(process.execPath, [program, 'explain', '--kubeconfig', kubeconfig, '-n', 'runners'])).stdout;
}

function syncStatus(): string | undefined {
  return rig.world.applications.get(APPLICATION)?.status?.sync?.status;
}

async function isPinned(runner: string): Promise<void> {
  const option = "{.metadata.annotations['argocd\\.argoproj\\.io/sync-options']}";
  await rig.until(
    'its Job is pinned',
    async () => (await rig.field(option, '-n', 'runners', 'job', runner)) === 'Prune=false',
  );
}

const Changed = z.object({
  metadata: z.object({ labels: z.record(z.string(), z.string()), annotations: z.record(z.string(), z.string()) }),
  spec: z.object({
    template: z.object({
      metadata: z.object({ labels: z.record(z.string(), z.string()) }),
      spec: z.object({
        containers: z.array(z.object({ image: z.string(), imagePullPolicy: z.string() })),
        tolerations: z.array(z.unknown()),
      }),
    }),
  }),
});

it('CI jobs run on Jobs that Kyverno has changed, and Argo CD syncs no more than without it', async () => {
  await enforce(CHANGES, false, MIRRORED);
  await rig.dispatch('long.yml');
  const busy = await rig.busyRunner();
  await isPinned(busy);
  const { metadata, spec } = Changed.parse(JSON.parse(await rig.field('{}', '-n', 'runners', 'job', busy)));
  expect(metadata).toMatchObject({ labels: { team: 'ci' }, annotations: { 'example.com/seen': 'yes' } });
  expect(spec.template.metadata.labels).toMatchObject({ team: 'ci' });
  expect(spec.template.spec).toMatchObject({
    containers: [{ image: MIRRORED, imagePullPolicy: 'Never' }],
    tolerations: [{ key: 'pool', operator: 'Exists' }],
  });

  await rig.until('the Application is Synced', () => syncStatus() === 'Synced');
  const before = await syncs();
  await sleep(QUIET_MS);
  say(`syncs while nothing changes: ${JSON.stringify(before)}, then ${JSON.stringify(await syncs())}`);
  expect(await syncs()).toEqual(before);
  expect(syncStatus()).toBe('Synced');

  await rig.dispatch('single.yml');
  await expectAllDone(rig, 2);
  const after = await syncs();
  say(`syncs in the end: ${JSON.stringify(after)}`);
  expect(Object.keys(after)).toEqual(['Succeeded']);
  expect((after['Succeeded'] ?? 0) - (before['Succeeded'] ?? 0)).toBeLessThanOrEqual(MOST_SYNCS);
  expect(new Set(rig.world.made()).size).toBe(2);
  expect(rig.world.made()).toHaveLength(2);
  expect([...rig.world.errors]).toEqual([]);
});

it('a busy runner ends its CI job while Kyverno is away, others wait, and they run when it is back', async () => {
  await rig.dispatch('long.yml');
  await isPinned(await rig.busyRunner());

  await rig.whilePodsWait(async () => {
    await killKyverno(rig.stack);
    await rig.dispatch('single.yml');
    await rig.until('the group says why', () => rig.world.condition(GROUP, 'Ready')?.reason === 'SyncFailed', 240_000);
    say(JSON.stringify(rig.world.condition(GROUP, 'Ready')));
    expect(rig.world.condition(GROUP, 'Ready')?.message).toContain('kyverno-svc');
    const told = await explain();
    say(told);
    expect(told).toContain('mend the webhook of service kyverno-svc');
    await rig.until('the busy one ends', async () => (await rig.ended()).length === 1);
    expect(rig.world.inState('queued')).toMatchObject([{ name: 'single' }]);
    say(`${JSON.stringify(await syncs())}\n${rig.world.describe()}`);
  });

  await isUp(rig.stack);
  await expectAllDone(rig, 2);
});

it('a group whose Job Kyverno refuses says so in its words, and the other group goes on', async () => {
  const spec = { ...groupSpec(rig.stack.gitea.url), labels: [`${SECOND}:host`] };
  const policy = podSecurityPolicy(inject('clusterBuilds').helm, 'disallow-privileged-containers');
  await enforce(policy, true, WORDS);
  await rig.commitFile('second.yaml', groupYaml(SECOND, { ...spec, containerMode: 'dind' }));
  await rig.isReady(SECOND);
  await rig.dispatch('second.yml');
  await rig.until('it says so', () => rig.world.condition(SECOND, 'Ready')?.reason === 'SyncFailed', 240_000);
  say(JSON.stringify(rig.world.condition(SECOND, 'Ready')));
  expect(rig.world.condition(SECOND, 'Ready')?.message).toContain(WORDS);
  const told = await explain();
  say(told);
  expect(told).toContain(WORDS);
  expect(told).toContain('to except the namespace of the runners from it');

  await rig.dispatch('single.yml', 2);
  await rig.until('the jobs of the other group are over', async () => (await rig.ended()).length === 2);
  expect(rig.world.condition(GROUP, 'Ready')).toMatchObject({ status: 'True', reason: 'Serving' });
  say(`syncs: ${JSON.stringify(await syncs())}`);

  await rig.commitFile('second.yaml', groupYaml(SECOND, spec));
  await expectAllDone(rig, 3);
  await rig.commitFile('second.yaml', undefined);
  await rig.kubectl('delete', 'clusterpolicy', 'disallow-privileged-containers');
  await rig.until('it refuses nothing', async () => !(await probe(true)).includes(WORDS));
});
