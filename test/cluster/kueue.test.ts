/** Quota by real Kueue (docs/recipes/kueue.md): none is lost, none runs twice, and the order is kept. Not in the short set: it is built first. */
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { writeImage } from '../../scripts/oci-image.mjs';
import { buildKueue } from '../servers/build.ts';
import { sleep } from '../servers/process.ts';
import { closeAfterTests } from './close-after-tests.ts';
import { apply } from './migrate-old.ts';
import { conclusions, expectAllDone } from './scenarios-load.ts';
import { groupSpec, groupYaml, Rig, say } from './scenarios-rig.ts';
import { USERS } from './stack/images.ts';

const NAMESPACE = 'kueue-system';
const MANAGER = 'deployment/kueue-controller-manager';
const QUEUE = 'team-a';
const QUOTA = 2;
const IMAGE = 'local/kueue:0.17.0';

let rig: Rig;

/** Kueue with its own manifests. */
async function startKueue(): Promise<void> {
  const { kubernetes, machine } = rig.stack;
  const build = buildKueue((line) => process.stdout.write(`servers: ${line}\n`));
  const tar = join(machine.folder, 'images', 'kueue.tar');
  const files = [...USERS, { path: '/manager', source: join(build, 'kueue'), mode: 0o755 }];
  await writeImage({ out: tar, name: IMAGE, layers: [{ files }], config: { User: '1000' } });
  await kubernetes.importImage(tar);
  const text = await kubernetes.kubectl(['kustomize', join(build, 'config', 'default')]);
  for (const object of parseAllDocuments(text).map((document) => document.toJS())) {
    const [manager] = object.kind === 'Deployment' ? object.spec.template.spec.containers : [];
    if (manager) Object.assign(manager, { image: IMAGE, imagePullPolicy: 'IfNotPresent' });
    await apply(rig.stack, object);
  }
  await kubernetes.rolledOut(NAMESPACE, MANAGER);
}

/** Each team has quota for so many pods, whatever they ask for. A cohort lends what a team does not use, and takes it back as `preemption` says. */
async function giveQuota(teams: readonly string[], lending: Readonly<Record<string, unknown>> = {}): Promise<void> {
  const kueue = (kind: string, name: string, rest: object): object => {
    return { apiVersion: 'kueue.x-k8s.io/v1beta2', kind, metadata: { name }, ...rest };
  };
  const flavors = [{ name: 'any', resources: [{ name: 'pods', nominalQuota: QUOTA }] }];
  const resourceGroups = [{ coveredResources: ['pods'], flavors }];
  const objects = [
    kueue('ResourceFlavor', 'any', { spec: {} }),
    ...teams.flatMap((team) => [
      kueue('ClusterQueue', team, { spec: { namespaceSelector: {}, resourceGroups, ...lending } }),
      kueue('LocalQueue', team, { metadata: { name: team, namespace: 'runners' }, spec: { clusterQueue: team } }),
    ]),
  ];
  // Its webhook answers a moment after it is ready.
  await rig.until('Kueue takes a quota', () =>
    apply(rig.stack, ...objects).then(
      () => true,
      () => false,
    ),
  );
}

/** Replicas of Kueue's manager. */
async function scale(replicas: number): Promise<void> {
  await rig.kubectl('scale', '-n', NAMESPACE, MANAGER, `--replicas=${replicas}`);
  if (replicas > 0) return await rig.stack.kubernetes.rolledOut(NAMESPACE, MANAGER);
  await rig.until(
    'Kueue is gone',
    async () => (await rig.kubectl('get', 'pods', '-n', NAMESPACE, '-o', 'name')) === '',
  );
}

async function dispatchInOrder(times: number): Promise<void> {
  for (let run = 0; run < times; run += 1) await rig.dispatch('busy.yml');
}

function expectNoneMadeTwice(count: number): void {
  const made = rig.world.made();
  expect([...new Set(made)]).toEqual(made);
  expect(made).toHaveLength(count);
}

beforeAll(async () => {
  rig = await Rig.open(inject('clusterBuilds'), say, {});
  await startKueue();
  await giveQuota([QUEUE]);
  await rig.commitGroup({ queue: QUEUE });
}, 1_800_000);

closeAfterTests(() => rig);

beforeEach(({ task }) => {
  say(task.name);
  rig.begin();
});

describe('with quota for two runners', () => {
  it('five CI jobs run two at a time, each once, the oldest first', async () => {
    await dispatchInOrder(5);
    await rig.until('three runners wait in Kueue', async () => {
      const suspended = await rig.field('{.items[*].spec.suspend}', 'jobs', '-n', 'runners');
      return suspended.split(' ').filter((word) => word === 'true').length === 3;
    });

    const jobs = await expectAllDone(rig, 5);

    expect(rig.world.mostAtWork, rig.world.whenMost).toBe(QUOTA);
    expectNoneMadeTwice(5);
    const starts = jobs.map(({ id }) => rig.world.ciJobs.get(id)?.startedAtMs ?? 0);
    expect(starts).toEqual(starts.toSorted((a, b) => a - b));
  });

  it('a CI job that works ends while Kueue is away, others wait, and run when it is back', async () => {
    await rig.dispatch('busy.yml');
    await rig.busyRunner();
    await scale(0);
    await dispatchInOrder(2);
    await rig.until('the first one ends', async () => (await rig.ended()).length === 1);
    // Long enough for a runner to come.
    await sleep(15_000);
    expect(rig.world.inState('in_progress')).toEqual([]);
    expect(rig.world.inState('queued')).toHaveLength(2);

    await scale(1);

    await expectAllDone(rig, 3);
    expectNoneMadeTwice(3);
  });
});

describe('with a second team that lends its quota for two runners', () => {
  const LENDER = 'team-b';

  it('four CI jobs run at a time', async () => {
    await giveQuota([QUEUE, LENDER], { cohortName: 'ci' });
    await dispatchInOrder(6);
    await rig.until('four are at work', () => rig.world.inState('in_progress').length === 2 * QUOTA);

    await expectAllDone(rig, 6);

    expect(rig.world.mostAtWork, rig.world.whenMost).toBe(2 * QUOTA);
    expectNoneMadeTwice(6);
  });

  it('a runner that Kueue stops for the lender loses its CI job, and all others go on', async () => {
    await giveQuota([QUEUE, LENDER], { cohortName: 'ci', preemption: { reclaimWithinCohort: 'Any' } });
    const spec = { ...groupSpec(rig.stack.gitea.url), labels: ['second:host'], queue: LENDER };
    await rig.commitFile('second.yaml', groupYaml('second', spec));
    await rig.isReady('second');
    await rig.dispatch('long.yml', 2 * QUOTA);
    await rig.until('four are at work', () => rig.world.inState('in_progress').length === 2 * QUOTA);

    await rig.dispatch('second.yml');
    await rig.until('the others end', async () => (await rig.ended()).length === 2 * QUOTA, 300_000);

    // Gitea gives up the one that is lost after ten minutes, and this is not waited for.
    expect(conclusions(await rig.ended())).toEqual(['long success', 'long success', 'long success', 'second success']);
    expect(rig.world.inState('in_progress')).toMatchObject([{ name: 'long' }]);
    expectNoneMadeTwice(2 * QUOTA + 1);
  });
});
