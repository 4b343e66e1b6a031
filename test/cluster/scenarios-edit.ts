/**
 * A group is edited under load: its template changes while runners are busy, idle and starting. A Job's template cannot change, and Argo CD
 * 3.6 asks Kubernetes about each living Job. One refusal would stop the whole Application (docs/adr/0063).
 */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import * as z from 'zod';
import { runCli } from '../support/run-cli.ts';
import { busyAndIdle } from './scenarios-lifetime.ts';
import { conclusions } from './scenarios-load.ts';
import { APPLICATION, type GroupChange, type Rig, type Scenario } from './scenarios-rig.ts';
import { RUNNER_IMAGE } from './stack/images.ts';
import type { World } from './world.ts';

/**
 * Error about a Job that is deleted after we have listed it, and before Argo CD asks the API server about our output:
 * its selector is that of a living Job. The next refresh repairs it. Seen once, on a machine with three clusters.
 */
const OF_A_JOB_THAT_GOES = /`selector` not auto-generated/;

export function editScenarios(scenario: Scenario): void {
  scenario(
    'goes on while image, resources, podTemplate and labels of a group change under busy, idle and starting runners',
    async (rig, world) => {
      // Like an Application that was made before the annotation: Argo CD 3.6 takes that as the default.
      await compare(rig, true);
      try {
        const { busy } = await busyAndIdle(rig, 'long.yml');
        const edit = {
          // The same image by its full name.
          image: `docker.io/${RUNNER_IMAGE}`,
          labels: ['linux:host', 'edited:host'],
          resources: { requests: { cpu: '11m' }, limits: {} },
          podTemplate: { metadata: { annotations: { edited: 'once' } } },
        };

        await rig.whilePodsWait(async () => {
          const before = world.unfinished().length;
          await rig.dispatch('busy.yml', 2);
          await rig.until('new Jobs wait for a node', () => world.unfinished().length > before);
          await rig.until('the idle runner is known to be busy', () => allAtWorkArePinned(world));
          const living = world.unfinished();
          const said = await saidBefore(rig, edit);
          const lived = living.flatMap(({ name }) =>
            world.unfinished().some((job) => job.name === name) ? [name] : [],
          );
          const starting = said.filter(({ now }) => now === 'starting');
          expect(said.map(({ runner }) => runner)).toEqual(expect.arrayContaining(lived));
          expect(said.find(({ runner }) => runner === busy)).toMatchObject({ outcome: 'finishes', argocd: 'nothing' });
          expect(starting.length).toBeGreaterThan(0);
          expect(starting.filter(({ outcome, argocd }) => outcome !== 'replaced' || argocd !== 'prunes-it')).toEqual(
            [],
          );
          await rig.commitGroup(edit);
          await rig.commitGroup({ podTemplate: { metadata: { annotations: { edited: 'twice' } } } });
          await rig.until(
            'all go that were said to go',
            () => !said.some(({ runner, argocd }) => argocd === 'prunes-it' && world.leftJobs().includes(runner)),
          );
          expect(await differences(rig)).not.toContain(busy);
          expect(world.leftJobs()).toContain(busy);
        });
        await rig.dispatch('single.yml');
        await rig.until('new jobs are served', async () => (await rig.ended()).length >= 3);
        await rig.commitGroup({ minIdleRunners: 0 });

        const jobs = await rig.calm(4);
        expect(conclusions(jobs)).toEqual(['busy success', 'busy success', 'long success', 'single success']);
        expect(jobs.find(({ name }) => name === 'long')?.runner_name).toBe(busy);
        expect([...world.errors].filter((error) => !OF_A_JOB_THAT_GOES.test(error))).toEqual([]);
      } finally {
        await compare(rig, false);
      }
    },
  );
}

/**
 * True when the idle runner has one of the two queued CI jobs, and Kubernetes says so. Until then its Job counts as one of the pool, and the
 * pool's new Job as one too many: it would be removed and not replaced.
 */
function allAtWorkArePinned(world: World): boolean {
  const atWork = world.inState('in_progress').map(({ runner_name }) => runner_name);
  const unpinned = world.unfinished().filter(({ markedAtMs }) => markedAtMs === undefined);
  return world.inState('queued').length < 2 && !unpinned.some(({ name }) => atWork.includes(name));
}

const Said = z.object({
  against: z.object({
    changes: z.array(
      z.object({
        runners: z.array(z.object({ runner: z.string(), now: z.string(), outcome: z.string(), argocd: z.string() })),
      }),
    ),
  }),
});

/** Returns the output of `validate --against` about the living runners, before a commit. */
async function saidBefore(rig: Rig, change: GroupChange) {
  const { machine, kubernetes } = rig.stack;
  const folders = ['now', 'next'].map((name) => mkdtempSync(join(machine.folder, `against-${name}-`)));
  for (const [index, text] of [rig.groupText(), rig.groupText(change)].entries())
    writeFileSync(join(folders[index] ?? '', 'ci.yaml'), text);
  const [now = '', next = ''] = folders;
  const words = ['validate', '--against', now, '--kubeconfig', kubernetes.kubeconfig, '-o', 'json', next];
  const { stdout, stderr } = await runCli(words);
  expect(stderr).toBe('');
  return Said.parse(JSON.parse(stdout)).against.changes.flatMap(({ runners }) => runners);
}

/** Returns the objects that Argo CD shows as OutOfSync. */
async function differences(rig: Rig): Promise<readonly string[]> {
  const path = '{.status.resources[?(@.status=="OutOfSync")].name}';
  return (await rig.field(path, 'application', APPLICATION, '-n', 'argocd')).split(' ');
}

/** Switches whether Kubernetes judges the differences of living Jobs. */
async function compare(rig: Rig, onServer: boolean): Promise<void> {
  const option = `argocd.argoproj.io/compare-options=ServerSideDiff=${onServer}`;
  await rig.kubectl('annotate', 'application', APPLICATION, '-n', 'argocd', '--overwrite', option);
}
