/**
 * Tests that one group's trouble does not affect the others (docs/adr/0036). Beside the good group are one whose Gitea
 * dies, an invalid one, and a denied one (docs/adr/0081).
 */
import { expect } from 'vitest';
import { sleep } from '../servers/process.ts';
import { ORG } from './install.ts';
import { LossyProxy } from './lossy-proxy.ts';
import { conclusions } from './scenarios-load.ts';
import { APPLICATION, GROUP, groupSpec, groupYaml, type Rig, type Scenario } from './scenarios-rig.ts';

const SECOND = 'second';
const WRONG = 'wrong';

/** Port of the way to the same Gitea that `second` uses; undefined: its Secrets are not there yet. */
let port: number | undefined;

/** The Secrets of group `second`, for the Gitea at `url`. */
async function addSecrets(rig: Rig, url: string): Promise<void> {
  const { putSecret, rolledOut } = rig.stack.kubernetes;
  await putSecret('argocd', 'gitea-second', { token: await rig.admin.createToken(['read:organization']), url });
  const token = await rig.admin.registrationToken(`/orgs/${ORG}`);
  await putSecret('runners', 'gitea-runner-second', { 'registration-token': token, url });
  await rig.installation.block('second-gitea');
  for (const name of ['argocd-repo-server', 'gitea-runners']) await rolledOut('argocd', `deployment/${name}`);
}

/** The way to the same Gitea that can be cut, and group `second` that uses it. */
async function addSecondGroup(rig: Rig): Promise<LossyProxy> {
  const { gitea, machine } = rig.stack;
  const proxy = await LossyProxy.start(machine.outside, gitea.url, port);
  const { url } = proxy;
  if (port === undefined) await addSecrets(rig, url);
  port = Number(new URL(url).port);
  const spec = {
    ...groupSpec(url),
    labels: ['second:host'],
    registrationToken: { secretRef: { name: 'gitea-runner-second', key: 'registration-token' } },
    authToken: { secretRef: { name: 'gitea-second', key: 'token' } },
  };
  await rig.commitFile('second.yaml', groupYaml(SECOND, spec));
  await rig.isReady(SECOND);
  return proxy;
}

export function apartScenarios(scenario: Scenario): void {
  scenario(
    'serves the good group while another one loses its Gitea and a third one is not valid',
    async (rig, world) => {
      const proxy = await addSecondGroup(rig);
      let again: LossyProxy | undefined;
      try {
        await rig.dispatch('second.yml');
        const busy = await rig.busyRunner();
        // Otherwise the answer that gives it the job may be lost.
        await rig.until('its runner has it', () => proxy.reports > 0);

        await proxy.close();
        await rig.commitFile('wrong.yaml', groupYaml(WRONG, { ...groupSpec(rig.stack.gitea.url), sucpend: true }));
        await rig.until('both say so', () =>
          [SECOND, WRONG].every((group) => world.condition(group, 'Ready')?.status === 'False'),
        );
        await rig.dispatch('single.yml', 3);
        await rig.until('the jobs of the good group are over', async () => (await rig.ended()).length === 3);

        expect(world.condition(GROUP, 'Ready')).toMatchObject({ status: 'True', reason: 'Serving' });
        expect(world.condition(SECOND, 'Ready')).toMatchObject({ status: 'False', reason: 'GiteaFailed' });
        expect(world.condition(WRONG, 'Ready')).toMatchObject({ status: 'False', reason: 'InvalidSpec' });
        expect(world.condition(WRONG, 'Ready')?.message).toContain('spec.sucpend: unknown field');
        const { status } = world.applications.get(APPLICATION) ?? {};
        expect(status?.health?.status).toBe('Degraded');
        expect((status?.conditions ?? []).filter(({ type }) => type.endsWith('Error'))).toEqual([]);

        // Longer than Argo CD needs to prune.
        await sleep(10_000);
        expect(world.unfinished().filter(({ name, deletedAtMs }) => name === busy && !deletedAtMs)).toHaveLength(1);

        again = await LossyProxy.start(rig.stack.machine.outside, rig.stack.gitea.url, port);
        await rig.commitFile('wrong.yaml', undefined);
        await rig.isReady(SECOND);
        expect(conclusions(await rig.calm(4))).toEqual([
          'second success',
          'single success',
          'single success',
          'single success',
        ]);
        expect([...world.jobs.values()].filter(({ name }) => name === busy)).toHaveLength(1);
      } finally {
        await rig.commitFile('second.yaml', undefined).catch(() => undefined);
        await rig.commitFile('wrong.yaml', undefined).catch(() => undefined);
        await again?.close();
      }
    },
  );

  scenario('serves the good group while Kubernetes refuses the Jobs of another one', async (rig, world) => {
    const spec = { ...groupSpec(rig.stack.gitea.url), labels: ['second:host'] };
    // `validate` does not know that this needs a privileged container.
    const mount = { name: 'shared', mountPath: '/shared', mountPropagation: 'Bidirectional' };
    const pod = {
      containers: [{ name: 'runner', volumeMounts: [mount] }],
      volumes: [{ name: 'shared', emptyDir: {} }],
    };
    try {
      await rig.commitFile('wrong.yaml', groupYaml(WRONG, { ...spec, podTemplate: { spec: pod } }));
      await rig.isReady(WRONG);
      await rig.dispatch('second.yml');
      await sleep(10_000);
      await rig.dispatch('single.yml', 3);
      await rig.until('the jobs of the good group are over', async () => (await rig.ended()).length === 3);

      await rig.until('the other one says why', () => world.condition(WRONG, 'Ready')?.reason === 'SyncFailed');
      expect(world.condition(WRONG, 'Ready')?.message).toContain('mountPropagation');
      expect(world.condition(GROUP, 'Ready')).toMatchObject({ status: 'True', reason: 'Serving' });
      await rig.commitGroup({ minIdleRunners: 1 });
      await rig.until('an idle runner is there', () => world.unfinished().length === 1);
      await rig.commitGroup({ minIdleRunners: 0 });
      await rig.until('it is pruned', () => world.unfinished().length === 0);

      await rig.commitFile('wrong.yaml', groupYaml(WRONG, spec));
      await rig.until('its job is over, too', async () => (await rig.ended()).length === 4);
      expect(conclusions(await rig.calm(4))).toEqual(['second success', ...Array(3).fill('single success')]);
    } finally {
      await rig.commitFile('wrong.yaml', undefined);
    }
  });

  scenario('serves the good group beside one that is denied, whose busy runner ends its job', async (rig, world) => {
    const spec = { ...groupSpec(rig.stack.gitea.url), labels: ['second:host'] };
    // Without a policy, no priority class is allowed.
    const denied = { ...spec, podTemplate: { spec: { priorityClassName: 'system-node-critical' } } };
    try {
      await rig.commitFile('second.yaml', groupYaml(SECOND, spec));
      await rig.isReady(SECOND);
      await rig.dispatch('second.yml');
      const busy = await rig.busyRunner();
      await rig.commitFile('second.yaml', groupYaml(SECOND, denied));
      await rig.until('it is denied', () => world.condition(SECOND, 'Ready')?.reason === 'PolicyDenied');

      await rig.dispatch('second.yml');
      await rig.dispatch('single.yml', 3);
      await rig.until('the other jobs are over', async () => (await rig.ended()).length === 4);

      expect(world.condition(GROUP, 'Ready')).toMatchObject({ status: 'True', reason: 'Serving' });
      expect(world.condition(SECOND, 'Ready')?.message).toContain('priorityClassName');
      expect(world.inState('queued')).toMatchObject([{ name: 'second' }]);
      expect(world.made()).toHaveLength(4);
      const { status } = world.applications.get(APPLICATION) ?? {};
      expect(status?.health?.status).toBe('Degraded');
      expect((status?.conditions ?? []).filter(({ type }) => type.endsWith('Error'))).toEqual([]);

      await rig.commitFile('second.yaml', groupYaml(SECOND, spec));
      await rig.isReady(SECOND);
      const jobs = await rig.calm(5);
      expect(conclusions(jobs)).toEqual([...Array(2).fill('second success'), ...Array(3).fill('single success')]);
      expect(jobs.filter(({ runner_name }) => runner_name === busy)).toHaveLength(1);
    } finally {
      await rig.commitFile('second.yaml', undefined);
    }
  });

  scenario(
    'serves each job once while Gitea takes 5 s for each answer, and after it has asked to be left alone',
    async (rig, world) => {
      const proxy = await addSecondGroup(rig);
      try {
        proxy.delayMs = 5_000;
        await rig.dispatch('second.yml', 2);
        await rig.dispatch('single.yml');
        await rig.until('all jobs are over', async () => (await rig.ended()).length === 3);

        proxy.delayMs = 0;
        proxy.retryAfterSeconds = 60;
        await rig.until('the group says so', () => world.condition(SECOND, 'Ready')?.reason === 'RateLimited');
        await rig.dispatch('second.yml');
        await rig.dispatch('single.yml');
        await rig.until('the job of the good group is over', async () => (await rig.ended()).length === 4);
        proxy.retryAfterSeconds = 0;

        const jobs = await rig.calm(5);
        expect(conclusions(jobs)).toEqual([...Array(3).fill('second success'), ...Array(2).fill('single success')]);
        expect(world.made()).toHaveLength(5);
      } finally {
        await rig.commitFile('second.yaml', undefined);
        await proxy.close();
      }
    },
  );
}
