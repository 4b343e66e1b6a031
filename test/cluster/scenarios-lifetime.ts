/**
 * Tests the end of groups: each time one runner is busy and one is idle. The idle one goes and the busy one finishes.
 * No row stays in Gitea: one scenario waits for that, and the last one of scenarios-faults.ts waits for all others.
 */
import { expect } from 'vitest';
import { workflow } from '../servers/workflows.ts';
import { ORG } from './install.ts';
import { conclusions } from './scenarios-load.ts';
import { idleRunners } from './scenarios-pool.ts';
import { APPLICATION, GROUP, type Rig, type Scenario } from './scenarios-rig.ts';

/** Organization that the group moves to. */
const OTHER_ORG = 'beta';

/** A runner that works, whose Job is pinned, and an idle one. */
export async function busyAndIdle(rig: Rig, file: string): Promise<{ readonly busy: string; readonly idle: string }> {
  const { world } = rig;
  await rig.commitGroup({ minIdleRunners: 1 });
  await rig.dispatch(file);
  const busy = await rig.busyRunner();
  await rig.until('its Job is pinned', () =>
    [...world.jobs.values()].some(({ name, markedAtMs }) => name === busy && markedAtMs !== undefined),
  );
  let idle: readonly string[] = [];
  await rig.until('one runner is idle', async () => {
    const living = world.unfinished().map(({ name }) => name);
    // Gitea calls a runner of the scenario before online for a minute after its end.
    idle = (await idleRunners(rig)).filter((name) => living.includes(name) && name !== busy);
    return idle.length === 1 && living.length === 2;
  });
  return { busy, idle: idle[0] ?? '' };
}

async function gone(rig: Rig, runner: string): Promise<void> {
  await rig.until(`${runner} goes`, () => !rig.world.leftJobs().includes(runner));
}

/** The CI job of the busy runner ends well, and by that runner. */
async function finishes(rig: Rig, busy: string): Promise<void> {
  await rig.until('the CI job ends', async () => (await rig.ended()).length === 1);
  const [job] = await rig.ended();
  expect([job?.conclusion, job?.runner_name]).toEqual(['success', busy]);
}

/** An organization with a workflow, and the Secret with which runners register there. */
async function addOtherOrg(rig: Rig): Promise<void> {
  const { admin, stack } = rig;
  await admin.createOrg(OTHER_ORG);
  await admin.createRepo('web', OTHER_ORG);
  await admin.addWorkflow(`${OTHER_ORG}/web`, 'single.yml', workflow({ moved: { runsOn: 'linux', seconds: 1 } }));
  const token = await admin.registrationToken(`/orgs/${OTHER_ORG}`);
  const values = { 'registration-token': token, url: stack.gitea.url };
  await stack.kubernetes.putSecret('runners', `gitea-runner-${OTHER_ORG}`, values);
}

export function lifetimeScenarios(scenario: Scenario): void {
  scenario(
    'lets a busy runner finish when its group moves, replaces the idle one, and serves the new place',
    async (rig, world) => {
      const { admin } = rig;
      await addOtherOrg(rig);
      const { busy, idle } = await busyAndIdle(rig, 'long.yml');

      const secretRef = { name: `gitea-runner-${OTHER_ORG}`, key: 'registration-token' };
      await rig.commitGroup({ minIdleRunners: 0, org: OTHER_ORG, registrationToken: { secretRef } });
      await gone(rig, idle);
      await admin.dispatch(`${OTHER_ORG}/web`, 'single.yml');
      const there = async () => await admin.jobs(`/orgs/${OTHER_ORG}`, 'completed');
      await rig.until('the new place is served', async () => (await there()).length === 1);

      expect(conclusions(await there())).toEqual(['moved success']);
      expect(world.inState('in_progress').map(({ runner_name }) => runner_name)).toEqual([busy]);
      await finishes(rig, busy);
      await rig.calm(1);
      expect(world.condition(GROUP, 'Ready')).toMatchObject({ status: 'True' });
    },
  );

  scenario('lets a busy runner finish when the Application is deleted with all that it manages', async (rig, world) => {
    const { busy, idle } = await busyAndIdle(rig, 'stopped.yml');
    const finalizers = ['resources-finalizer.argocd.argoproj.io'];
    const patch = JSON.stringify({ metadata: { finalizers } });

    await rig.kubectl('patch', 'application', APPLICATION, '-n', 'argocd', '--type=merge', '-p', patch);
    await rig.kubectl('delete', 'application', APPLICATION, '-n', 'argocd', '--wait=false');
    await gone(rig, idle);
    await finishes(rig, busy);

    await rig.until('the Application is gone', () => !world.applications.has(APPLICATION));
    await rig.until('all that it managed is gone', () => world.groups.size + world.leftJobs().length === 0);
    await rig.installation.block('application');
    await rig.isReady();
  });

  scenario('lets a busy runner finish when the namespace is deleted', async (rig, world) => {
    const { busy, idle } = await busyAndIdle(rig, 'stopped.yml');

    await rig.kubectl('delete', 'namespace', 'runners', '--wait=false');
    await gone(rig, idle);
    await finishes(rig, busy);

    const namespace = async (): Promise<string> =>
      await rig.kubectl('get', 'namespace', 'runners', '--ignore-not-found');
    await rig.until('the namespace is gone', async () => (await namespace()) === '');
    await rig.until('all that was in it is gone', () => world.groups.size + world.leftJobs().length === 0);
    await rig.installation.block('install');
    await rig.installation.block('secrets');
    await rig.commitGroup({ minIdleRunners: 0 });
    await rig.isReady();
    await rig.dispatch('single.yml');
    expect(conclusions(await rig.calm(2))).toEqual(['single success', 'stopped success']);
  });

  scenario(
    'shows what a busy runner works on after the file of its group is gone, until it has ended',
    async (rig, world) => {
      const { busy, idle } = await busyAndIdle(rig, 'long.yml');

      await rig.removeGroup();
      await gone(rig, idle);

      const labelled = ['jobs', '-n', 'runners', '-l', `gitea.bpg.pw/runnergroup-name=${GROUP}`];
      expect(await rig.field('{.items[*].metadata.name}', ...labelled)).toBe(busy);
      const page = await rig.field('{.items[0].metadata.annotations.gitea\\.bpg\\.pw/job-url}', ...labelled);
      expect(page).toContain(`/${ORG}/web/actions/runs/`);
      await rig.until('Argo CD shows that Job alone, and is content', () => {
        const { sync, health, resources } = world.applications.get(APPLICATION)?.status ?? {};
        const shown = (resources ?? []).map(({ kind, name }) => `${kind} ${name}`);
        return `${sync?.status} ${health?.status} ${shown}` === `Synced Healthy Job ${busy}`;
      });
      expect(world.inState('in_progress').map(({ runner_name }) => runner_name)).toEqual([busy]);
      await finishes(rig, busy);
      // Another leader knows neither the group nor its scope (law V9).
      if (process.env['CLUSTER_LEADER_DIES'] === undefined) await rig.rowsGo();
      await rig.calm(1);
      const shown = () => world.applications.get(APPLICATION)?.status?.resources ?? [];
      await rig.until('Argo CD shows nothing', () => shown().length === 0);
    },
  );
}
