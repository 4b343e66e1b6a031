/** Runners that do not start, and then do: their node hangs (law P32), or somebody suspends their Jobs (law P33). See docs/adr/0078. */
import { expect } from 'vitest';
import { runCli } from '../support/run-cli.ts';
import { expectAllDone } from './scenarios-load.ts';
import { GROUP, type Rig, type Scenario } from './scenarios-rig.ts';

export function stuckScenarios(scenario: Scenario): void {
  scenario('says on which node a runner hangs, and serves its job when the node goes on', async (rig, world) => {
    await rig.commitGroup({ spawnTimeoutSeconds: 30 });
    const { machine } = rig.stack;
    await machine.signal('kubelet', 'STOP');
    try {
      await rig.dispatch('single.yml');

      await rig.until('the group says so', () => world.condition(GROUP, 'PodsStuck')?.status === 'True');
      expect(world.condition(GROUP, 'PodsStuck')).toMatchObject({
        reason: 'ContainerCreating',
        message: expect.stringContaining('no container has started (node node1)'),
      });
      expect(await explained(rig)).toMatch(
        /its pod has not started: ContainerCreating: no container has started \(node node1\), for \d+m\d\ds/,
      );
    } finally {
      await machine.signal('kubelet', 'CONT');
    }

    await expectAllDone(rig, 1);
    expect(world.made()).toHaveLength(1);
    expect(world.condition(GROUP, 'PodsStuck')).toMatchObject({ status: 'False', reason: 'AllStart' });
  });

  scenario('waits for a runner whose Job somebody suspends, and serves other jobs meanwhile', async (rig, world) => {
    const suspend = async (job: string, value: boolean): Promise<void> => {
      const patch = JSON.stringify({ spec: { suspend: value } });
      await rig.kubectl('patch', 'job', '-n', 'runners', job, '--type=merge', '-p', patch);
    };
    // Its pod has begun, so Kubernetes ends it. That does not end the Job.
    await rig.commitGroup({ setupCommand: ['sleep', '12'] });
    await rig.dispatch('busy.yml');
    const path = '.status.initContainerStatuses[?(@.name=="setup")].state.running.startedAt';
    await rig.until('its setup runs', async () => {
      const [runner] = world.made();
      return runner !== undefined && (await rig.ofPod(runner, path).catch(() => '')) !== '';
    });
    const [held = ''] = world.made();
    await suspend(held, true);

    await rig.until('the group says so', () => world.condition(GROUP, 'PodsStuck')?.reason === 'JobsSuspended');
    expect(world.condition(GROUP, 'PodsStuck')?.message).toContain(`holds: 1. ${held}: Suspended: `);
    expect(await explained(rig)).toContain('it is held, and whoever does that (Kueue, for example) lets it start');
    await rig.dispatch('single.yml', 2);
    await rig.until('two jobs are served', async () => (await rig.ended()).length === 2);
    expect(world.unfinished().map(({ name }) => name)).toContain(held);
    expect(await rig.field('{.spec.suspend}', 'job', '-n', 'runners', held)).toBe('true');

    await suspend(held, false);

    await expectAllDone(rig, 3);
    expect(world.made().filter((name) => name === held)).toEqual([held]);
  });
}

/** Returns the answer of `explain` about a CI job, on one line. Default: the only active job. */
export async function explained(
  { stack: { gitea, kubernetes }, world }: Rig,
  id = String(world.active[0]?.id),
): Promise<string> {
  const words = ['explain', '--kubeconfig', kubernetes.kubeconfig, '-n', 'runners', id];
  const { code, stdout, stderr } = await runCli(words, { GITEA_URL: gitea.url, GITEA_TOKEN: gitea.admin.token });
  expect(code, stderr).toBe(0);
  return stdout.replaceAll(/\s+/g, ' ');
}
