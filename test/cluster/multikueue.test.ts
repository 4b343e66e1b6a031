/**
 * Tests runners in other clusters, by MultiKueue of real Kueue (docs/recipes/clusters.md): a hub with Argo CD, and two
 * workers, each a control plane with a kubelet. One is cut off, one is killed. Not in the short set: Kueue is built
 * first.
 */
import { beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { closeAfterTests } from './close-after-tests.ts';
import { giveQuota, KUEUE_NAMESPACE, kueueObject, startKueue } from './kueue.ts';
import { apply } from './migrate-old.ts';
import { changeGitea } from './scenarios-faults.ts';
import { conclusions, expectAllDone } from './scenarios-load.ts';
import { GROUP, Rig, say } from './scenarios-rig.ts';
import { explained } from './scenarios-stuck.ts';
import { WorkerCluster } from './worker-cluster.ts';

const QUEUE = 'team-a';
/** Quota of each worker. The hub has the sum. */
const QUOTA = 2;
const CHECK = 'workers';
/** Kueue's own default is 15 minutes. */
const MULTIKUEUE = {
  multiKueue: { workerLostTimeout: '20s', gcInterval: '10s' },
  // Kueue watches objects of each framework in the workers, and is not connected while the CRD of one is missing there.
  integrations: { frameworks: ['batch/job'] },
};
/** Longer than Kueue needs to give a worker up, and Gitea to call its runners offline: else the loss is not seen. */
const ZOMBIES = `[actions]
ZOMBIE_TASK_TIMEOUT = 180s
[cron.stop_zombie_tasks]
SCHEDULE = @every 5s
`;

let rig: Rig;
const workers: WorkerCluster[] = [];

/** Connects the workers on the hub by docs/recipes/clusters.md. */
async function connectWorkers(): Promise<void> {
  const { stack } = rig;
  for (const worker of workers) {
    const kubeconfig = worker.kubeconfig(stack.machine.outside);
    await stack.kubernetes.putSecret(KUEUE_NAMESPACE, worker.name, { kubeconfig });
  }
  const parameters = { apiGroup: 'kueue.x-k8s.io', kind: 'MultiKueueConfig', name: CHECK };
  await apply(
    stack,
    ...workers.map(({ name }) =>
      kueueObject('MultiKueueCluster', name, {
        spec: { clusterSource: { kubeConfig: { location: name, locationType: 'Secret' } } },
      }),
    ),
    kueueObject('MultiKueueConfig', CHECK, { spec: { clusters: workers.map(({ name }) => name) } }),
    kueueObject('AdmissionCheck', CHECK, { spec: { controllerName: 'kueue.x-k8s.io/multikueue', parameters } }),
  );
  await rig.kubectl('wait', '--for=condition=Active', '--timeout=120s', `admissioncheck/${CHECK}`);
  const more = { admissionChecksStrategy: { admissionChecks: [{ name: CHECK }] } };
  await giveQuota(stack, [{ team: QUEUE, pods: QUOTA * workers.length, more }]);
  await rig.kubectl('wait', '--for=condition=Active', '--timeout=120s', `clusterqueue/${QUEUE}`);
}

/** The worker that has the Job of a runner. */
async function workerOf(runner: string): Promise<WorkerCluster> {
  for (const worker of workers) if ((await worker.jobs()).includes(runner)) return worker;
  throw new Error(`no worker has ${runner}`);
}

/** Expects that each runner had one pod, in one of the clusters. */
function expectOnePodEach(runners: readonly string[]): void {
  const pods = workers.flatMap((worker) => [...worker.pods.values()]).filter((runner) => runners.includes(runner));
  expect(pods.toSorted()).toEqual(runners.toSorted());
}

/** Expects that each attempt of a CI job had its own runner, and that no runner of the hub was made twice. */
function expectNoneTwice(): void {
  const made = rig.world.made();
  expect([...new Set(made)]).toEqual(made);
}

const workloads = () => rig.kubectl('get', 'workloads', '-n', 'runners', '-o', 'yaml');

beforeAll(async () => {
  const builds = inject('clusterBuilds');
  const scopes = ['write:organization', 'write:repository'];
  rig = await Rig.open(builds, say, {}, scopes);
  await changeGitea(rig, ZOMBIES);
  // Together: each Kueue waits a minute for its own certificate.
  const start = (name: string): Promise<WorkerCluster> =>
    WorkerCluster.start(name, builds, rig.stack, { team: QUEUE, pods: QUOTA });
  const [, ...started] = await Promise.all([startKueue(rig.stack, MULTIKUEUE), start('east'), start('west')]);
  workers.push(...started);
  say('Kueue runs on the hub and in two workers');
  await connectWorkers();
  await rig.commitGroup({ queue: QUEUE, maxEvictionRetries: 1 });
}, 1_800_000);

closeAfterTests(
  () =>
    rig && {
      close: async (keep) => {
        for (const worker of workers) await worker.close(keep);
        await rig.close(keep);
      },
      collectLogs: async () => {
        rig.stack.machine.write('log/workloads.yaml', await workloads().catch(String));
        const ofWorkers = await Promise.all(workers.map((worker) => worker.collectLogs().catch(String)));
        return [await rig.collectLogs(), ...ofWorkers].join('\n');
      },
    },
);

beforeEach(({ task }) => {
  say(task.name);
  rig.begin();
});

describe('with two workers and quota for two runners in each', () => {
  it('five CI jobs run four at a time in the workers, each once, and the hub shows them without a pod', async () => {
    for (let run = 0; run < 5; run += 1) await rig.dispatch('busy.yml');
    await rig.until('four are at work', () => rig.world.inState('in_progress').length === 2 * QUOTA);
    const managers = await rig.field('{.items[*].spec.managedBy}', 'jobs', '-n', 'runners');
    const told = await explained(rig, String(rig.world.inState('queued')[0]?.id));
    say(`managedBy: ${managers}; explain: ${told}`);

    await expectAllDone(rig, 5);

    expect(rig.world.mostAtWork, rig.world.whenMost).toBe(2 * QUOTA);
    expect(new Set(managers.split(' '))).toEqual(new Set(['kueue.x-k8s.io/multikueue']));
    expect(rig.world.pods.size).toBe(0);
    expectNoneTwice();
    expectOnePodEach(rig.world.made());
    for (const worker of workers) expect(worker.pods.size).toBeGreaterThan(0);
    await rig.until(
      'no worker has a Job',
      async () => (await Promise.all(workers.map((of) => of.jobs()))).flat().length === 0,
    );
  });

  it('a worker that is cut off ends its CI job, no other worker runs it again, and others take what is new', async () => {
    await rig.dispatch('long.yml');
    const runner = await rig.busyRunner();
    const worker = await workerOf(runner);
    const other = workers.find((each) => each !== worker);
    const before = other?.pods.size ?? 0;
    worker.wire.cut();
    const cutMs = Date.now();
    await rig.dispatch('single.yml');
    await rig.until('the runner is given back', () => !rig.world.unfinished().some(({ name }) => name === runner));
    say(`${runner} of ${worker.name} was given back after ${(Date.now() - cutMs) / 1000} s`);

    const jobs = await expectAllDone(rig, 2);

    say(`its CI job ended after ${(Date.now() - cutMs) / 1000} s`);
    expect(jobs.map(({ run_attempt }) => run_attempt)).toEqual([1, 1]);
    expect(other?.pods.size).toBe(before + 1);
    expectNoneTwice();
    expectOnePodEach(rig.world.made());
    worker.wire.mend();
    await rig.until('Kueue clears the worker', async () => (await worker.jobs()).length === 0, 400_000);
    await rig.kubectl('wait', '--for=condition=Active', '--timeout=400s', `multikueuecluster/${worker.name}`);
  });

  it('CI jobs of a worker that is killed fail and are re-run once in the other, and nothing else runs twice', async () => {
    await rig.dispatch('long.yml', 2 * QUOTA);
    await rig.until('four are at work', () => rig.world.inState('in_progress').length === 2 * QUOTA);
    const [east] = workers;
    const lost = await east?.jobs();
    say(`east has ${lost?.join(', ')}`);
    const killedMs = Date.now();
    await east?.kill();
    await rig.until(
      'its runners are given back',
      () => !rig.world.unfinished().some(({ name }) => lost?.includes(name)),
      300_000,
    );
    say(`they were given back after ${(Date.now() - killedMs) / 1000} s`);
    say(await rig.field('{.status}', 'runnergroup', '-n', 'runners', GROUP));

    await rig.until('all attempts end', async () => (await rig.ended()).length === 3 * QUOTA, 400_000);

    say(`all ended after ${(Date.now() - killedMs) / 1000} s`);
    const jobs = await rig.calm(3 * QUOTA);
    expect(conclusions(jobs)).toEqual(['long failure', 'long failure', ...Array(4).fill('long success')]);
    const failed = jobs.filter(({ conclusion }) => conclusion === 'failure');
    expect(failed.map(({ runner_name }) => runner_name).sort()).toEqual(lost?.toSorted());
    expect(jobs.filter(({ run_attempt }) => run_attempt === 2)).toHaveLength(2);
    expectNoneTwice();
    expectOnePodEach(rig.world.made());
  });
});
