/** Somebody renames the organization in Gitea while its runners are busy, idle and starting (law P29, docs/adr/0077). */
import { expect } from 'vitest';
import { ORG } from './install.ts';
import { busyAndIdle } from './scenarios-lifetime.ts';
import { conclusions } from './scenarios-load.ts';
import { GROUP, type Scenario } from './scenarios-rig.ts';

const NOW = `${ORG}-inc`;

export function renamedScenarios(scenario: Scenario): void {
  scenario('goes on while the organization has another name in Gitea, and says so', async (rig, world) => {
    const rename = (from: string, to: string) => rig.admin.call('POST', `/orgs/${from}/rename`, { new_name: to });
    const reason = () =>
      rig.field('{.status.conditions[?(@.type=="Ready")].reason}', 'runnergroup', GROUP, '-n', 'runners');
    const { busy } = await busyAndIdle(rig, 'long.yml');
    try {
      await rig.whilePodsWait(async () => {
        const before = world.unfinished().length;
        await rig.dispatch('busy.yml', 2);
        await rig.until('new Jobs wait for a node', () => world.unfinished().length > before);
        const starting = world
          .unfinished()
          .slice(before)
          .map(({ name }) => name);

        await rename(ORG, NOW);

        await rig.until('the status says the new name', async () => (await reason()) === 'RenamedInGitea');
        await rig.dispatch('single.yml');
        expect(world.leftJobs()).toEqual(expect.arrayContaining([busy, ...starting]));
      });
      await rig.until('all jobs are done', async () => (await rig.ended()).length >= 4);
    } finally {
      await rename(NOW, ORG);
    }
    await rig.until('the status says nothing more', async () => (await reason()) === 'Serving');
    await rig.commitGroup({ minIdleRunners: 0 });

    const jobs = await rig.calm(4);
    expect(conclusions(jobs)).toEqual(['busy success', 'busy success', 'long success', 'single success']);
    expect(jobs.find(({ name }) => name === 'long')?.runner_name).toBe(busy);
  });
}
