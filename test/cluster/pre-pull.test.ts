/**
 * `prePull` of the Helm chart on a real node: a runner whose image is there starts without a pull. `PRE_PULL_MIB=1024` measures it for
 * docs/recipes/images.md.
 */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, inject, it } from 'vitest';
import { stringify } from 'yaml';
import { waitUntil } from '../servers/process.ts';
import { closeAfterTests } from './close-after-tests.ts';
import { LEVEL, PodsRig, within } from './pods-rig.ts';
import { runnerImage } from './stack/images.ts';
import type { Registry } from './stack/registry.ts';

const MIB = Number(process.env['PRE_PULL_MIB'] ?? 32);

let rig: PodsRig;
let registry: Registry;

beforeAll(async () => {
  rig = await PodsRig.start('pre-pull');
  registry = await rig.startRegistry();
  rig.kubernetes.allowPlainRegistry(registry.name);
  await rig.addWorkflow('short.yml', 'true');
});

closeAfterTests(() => rig);

/** Makes a runner's image with a layer of its own, which does not compress. */
async function largeImage(name: string): Promise<string> {
  const unpacked = join(rig.images, name);
  const [out, data] = [`${unpacked}.tar`, `${unpacked}.data`];
  writeFileSync(data, '');
  for (let nth = 0; nth < MIB; nth += 1) writeFileSync(data, randomBytes(1024 ** 2), { flag: 'a' });
  await runnerImage(out, inject('clusterBuilds').runner, `${name}:1`, [{ path: '/opt/tools', source: data }]);
  const added = registry.add(`${name}:1`, out, unpacked);
  for (const file of [out, data, unpacked]) rmSync(file, { recursive: true });
  return added;
}

/**
 * Returns how long the first runner with this image takes from its Job to its CI job, and the kubelet's message about
 * the image.
 */
async function firstStart(image: string): Promise<string> {
  const { name, manifest } = await rig.queue('short.yml', { image, seesJobs: true });
  const job = await rig.openJob();
  const appliedMs = Date.now();
  await rig.apply(manifest);
  const isStarted = async (): Promise<boolean> =>
    (await rig.gitea.admin.jobs(LEVEL, 'in_progress', 'completed')).some(({ id }) => id === job.id);
  await waitUntil('the CI job starts', isStarted, within);
  const seconds = (Date.now() - appliedMs) / 1000;
  const told = '{range .items[*]}{.involvedObject.name} {.message}{"\\n"}{end}';
  const events = await rig.kubernetes.field(told, 'events', '-n', 'runners', '--field-selector', 'reason=Pulled');
  const [said = ''] = events.split('\n').filter((line) => line.startsWith(name));
  await rig.ended(job);
  await waitUntil('its Job ends', async () => (await rig.conditions(name)).includes('Complete'), within);
  process.stdout.write(`pre-pull: ${MIB} MiB: ${seconds.toFixed(1)} s: ${said}\n`);
  return said;
}

/** Returns the DaemonSet of the chart, and nothing else of it. */
function daemonSet(image: string): string {
  const values = join(rig.playground.folder, 'values.yaml');
  writeFileSync(values, stringify({ prePull: { images: [image] } }));
  const words = ['template', 'gitea-runners', 'install/chart', '--namespace', 'argocd', '--values', values];
  const helm = join(inject('clusterBuilds').helm, 'helm');
  return execFileSync(helm, [...words, '--show-only', 'templates/pre-pull.yaml'], { encoding: 'utf8' });
}

it('a runner pulls its image before it first starts on a node, and with prePull it does not', async () => {
  const [cold, warm] = [await largeImage('cold'), await largeImage('warm')];

  const pulled = await firstStart(cold);
  await rig.kubernetes.kubectl(['create', 'namespace', 'argocd']);
  const askedMs = Date.now();
  await rig.kubernetes.apply(daemonSet(warm));
  await rig.kubernetes.rolledOut('argocd', 'daemonset/gitea-runners-pre-pull');
  process.stdout.write(`pre-pull: DaemonSet ready after ${((Date.now() - askedMs) / 1000).toFixed(1)} s\n`);
  const there = await firstStart(warm);

  expect(pulled).toContain(`Successfully pulled image "${cold}"`);
  expect(there).toContain(`Container image "${warm}" already present on machine`);
});
