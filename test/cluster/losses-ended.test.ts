/** Law V94 (docs/spec.md) on the real stack: a lost CI job ends within seconds, and a working one is never ended. */
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { sleep } from '../servers/process.ts';
import { closeAfterTests } from './close-after-tests.ts';
import { type Gitea28, putBehind28 } from './gitea-28.ts';
import { ORG } from './install.ts';
import { GROUP, Rig, say } from './scenarios-rig.ts';

const LOSSES = 4;
const NODE = 'node.kubernetes.io/unreachable:NoExecute';

let rig: Rig;
let gitea: Gitea28;
beforeAll(async () => {
  rig = await Rig.open(inject('clusterBuilds'), say, {}, ['write:organization', 'write:repository']);
  // Longer than any wait of these tests: nobody is to wait for Gitea to give a job up.
  gitea = await putBehind28(rig, '[actions]\nZOMBIE_TASK_TIMEOUT = 30m\n');
  await rig.commitGroup({ maxEvictionRetries: 5 });
}, 900_000);

closeAfterTests(() => rig);

// Before the rig: Gitea waits for its connections before it ends.
afterAll(() => gitea?.close());

const atWork = (attempt: number) => rig.world.inState('in_progress').find(({ run_attempt }) => run_attempt === attempt);

/** Evicts the pod through the Eviction API. By default the kubelet gives it a second. */
async function evict(runner: string, deleteOptions: object = { gracePeriodSeconds: 1 }): Promise<void> {
  await rig.stack.kubernetes.evict(await rig.ofPod(runner, '.metadata.name'), deleteOptions);
}

it(`a lost CI job runs again within seconds, ${LOSSES} times of ${LOSSES}`, async () => {
  const waits: number[] = [];
  for (let round = 0; round < LOSSES; round += 1) {
    rig.begin();
    await rig.dispatch('slow.yml');
    await rig.until('the job runs', () => atWork(1) !== undefined);
    const lost = atWork(1);
    await sleep(2_000);

    const beganMs = Date.now();
    await evict(lost?.runner_name ?? '');
    await rig.until('it runs again', () => atWork(2) !== undefined, 120_000);
    waits.push((Date.now() - beganMs) / 1000);
    say(`lost, running again after ${waits.at(-1)?.toFixed(1)} s`);

    const again = atWork(2);
    expect(again?.run_id).toBe(lost?.run_id);
    expect(gitea.ended.filter((run) => run === lost?.run_id).length).toBe(1);
    await gitea.cancel(again?.run_id ?? 0);
    await rig.until('no pod is left', () => rig.world.leftPods().length === 0);
  }
  const p50 = waits.sort((a, b) => a - b)[Math.floor(waits.length / 2)];
  expect(p50).toBeLessThanOrEqual(30);
});

it('the Eviction API lets an idle runner go at once, and a busy one end its job', async () => {
  await rig.commitGroup({ minIdleRunners: 1 });
  rig.begin();
  const runners = () => rig.field('{.items[*].metadata.labels.job-name}', 'pods', '-n', 'runners');
  const isOnline = async (): Promise<boolean> => (await rig.admin.runnerNames(`/orgs/${ORG}`)).length > 0;
  await rig.until('one is idle', isOnline);
  const [idle = ''] = (await runners()).split(' ');
  const marks = JSON.parse(await rig.ofPod(idle, '.metadata.annotations'));
  expect(marks).toMatchObject({
    'karpenter.sh/do-not-disrupt': 'true',
    'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false',
  });
  const beganMs = Date.now();
  await evict(idle, {});
  await rig.until('it goes', async () => !(await runners()).split(' ').includes(idle));
  say(`an idle runner went ${((Date.now() - beganMs) / 1000).toFixed(1)} s after its eviction`);

  await rig.commitGroup({ minIdleRunners: 0 });
  await rig.dispatch('busy.yml');
  await rig.until('the job runs', () => atWork(1) !== undefined);
  await evict(atWork(1)?.runner_name ?? '', {});
  await rig.until('the job ends', async () => (await rig.ended()).length === 1);
  expect((await rig.ended()).map(({ conclusion, run_attempt }) => [conclusion, run_attempt])).toEqual([['success', 1]]);
});

it('the job of a runner on a node that does not answer is not ended, and ends well when the node comes back', async () => {
  const toleration = { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute' };
  const tolerations = [{ ...toleration, tolerationSeconds: 1 }];
  await rig.commitGroup({ podTemplate: { spec: { tolerations } }, gracefulStopSeconds: 400 });
  rig.begin();
  const endedBefore = gitea.ended.length;
  await rig.dispatch('slow.yml');
  await rig.until('the job runs', () => atWork(1) !== undefined);
  const runner = atWork(1)?.runner_name ?? '';
  const lostJobs = () => rig.field('{.status.lostJobs}', 'runnergroup', '-n', 'runners', GROUP);

  await rig.stack.machine.signal('kubelet', 'STOP');
  try {
    await rig.kubectl('taint', 'node', 'node1', NODE);
    await rig.until('its pod is to go', async () => (await rig.ofPod(runner, '.metadata.deletionTimestamp')) !== '');
    say('its node does not answer');
    await sleep(30_000);
    // The runner reports to Gitea all the time.
    expect(await lostJobs()).not.toContain(runner);
    expect(gitea.ended.length).toBe(endedBefore);
    expect(atWork(1)?.runner_name).toBe(runner);
  } finally {
    await rig.kubectl('taint', 'node', 'node1', `${NODE}-`).catch(() => undefined);
    await rig.stack.machine.signal('kubelet', 'CONT');
    say('its node answers again');
  }

  await rig.until('the job ends', async () => (await rig.ended()).length === 1, 400_000);
  const jobs = await rig.ended();
  expect(jobs.map(({ conclusion, run_attempt }) => [conclusion, run_attempt])).toEqual([['success', 1]]);
  expect(gitea.ended.length).toBe(endedBefore);
});
