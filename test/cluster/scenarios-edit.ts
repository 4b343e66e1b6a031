/**
 * A group is edited under load: its template changes while runners are busy, idle and starting. A Job's template cannot change, and Argo CD
 * 3.6 asks Kubernetes about each living Job. One refusal would stop the whole Application (docs/adr/0063).
 */
import { expect, it } from 'vitest';
import { busyAndIdle } from './scenarios-lifetime.ts';
import { conclusions } from './scenarios-load.ts';
import { APPLICATION, type Rig } from './scenarios-rig.ts';
import { RUNNER_IMAGE } from './stack/images.ts';

export function editScenarios(theRig: () => Rig): void {
  it('goes on while image, resources, podTemplate and labels of a group change under busy, idle and starting runners', async () => {
    const rig = theRig();
    const { world } = rig;
    // As an Application that was made before its annotation: to Argo CD 3.6 that is the default.
    await compare(rig, true);
    try {
      const { busy } = await busyAndIdle(rig, 'long.yml');

      await rig.whilePodsWait(async () => {
        const before = world.unfinished().length;
        await rig.dispatch('busy.yml', 2);
        await rig.until('new Jobs wait for a node', () => world.unfinished().length > before);
        await rig.commitGroup({
          // The same image by its full name.
          image: `docker.io/${RUNNER_IMAGE}`,
          labels: ['linux:host', 'edited:host'],
          resources: { requests: { cpu: '11m' } },
          podTemplate: { metadata: { annotations: { edited: 'once' } } },
        });
        await rig.commitGroup({ podTemplate: { metadata: { annotations: { edited: 'twice' } } } });
      });
      await rig.dispatch('single.yml');
      await rig.until('new jobs are served', async () => (await rig.ended()).length >= 3);
      await rig.commitGroup({ minIdle: 0 });

      const jobs = await rig.calm(4);
      expect(conclusions(jobs)).toEqual(['busy success', 'busy success', 'long success', 'single success']);
      expect(jobs.find(({ name }) => name === 'long')?.runner_name).toBe(busy);
      expect([...world.errors]).toEqual([]);
    } finally {
      await compare(rig, false);
    }
  });
}

/** Whether Kubernetes judges the differences of living Jobs. */
async function compare(rig: Rig, onServer: boolean): Promise<void> {
  const option = `argocd.argoproj.io/compare-options=ServerSideDiff=${onServer}`;
  await rig.kubectl('annotate', 'application', APPLICATION, '-n', 'argocd', '--overwrite', option);
}
