/** Laws V40 and P14 (docs/spec.md) on the real stack: evicted runners, and pods that a quota refuses. */
import { afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { closeAfterTests } from './close-after-tests.ts';
import { changeGitea, QUICK_ZOMBIES } from './scenarios-faults.ts';
import { expectAllDone } from './scenarios-load.ts';
import { GROUP, Rig, say } from './scenarios-rig.ts';

let rig: Rig;
describe('a cluster that takes runners away', () => {
  beforeAll(async () => {
    const scopes = ['write:organization', 'write:repository'];
    rig = await Rig.open(inject('clusterBuilds'), say, { GITEA_RUNNERS_SWEEP: 'true' }, scopes);
    await changeGitea(rig, QUICK_ZOMBIES);
  });

  beforeEach(({ task }) => {
    say(task.name);
    rig.begin();
  });

  afterEach(() => rig.restoreGroup());

  closeAfterTests(() => rig);

  /** Evicts the pod of the one busy runner; the kubelet gives it a second. Its CI job must last longer than these calls take. */
  async function evictBusy(): Promise<void> {
    const runner = await rig.busyRunner();
    await rig.stack.kubernetes.evict(await rig.ofPod(runner, '.metadata.name'), { gracePeriodSeconds: 1 });
    await rig.until('the status names the job', async () => (await lostJobs()).includes(runner));
  }

  const killPod = (runner: string) => rig.killPods('runners', '-l', `job-name=${runner}`);
  const lostJobs = () => rig.field('{.status.lostJobs}', 'runnergroup', '-n', 'runners', GROUP);
  const events = (reason: string) =>
    rig.kubectl('get', 'events', '-n', 'runners', '--field-selector', `reason=${reason}`, '-o', 'name');

  /** Expects that the lost attempt has failed, the next one has succeeded, and there is no third. */
  async function expectOneRerun(): Promise<void> {
    await rig.until('both attempts end', async () => (await rig.ended()).length === 2, 300_000);
    const jobs = await rig.calm(2);
    expect(jobs.map(({ conclusion, run_attempt }) => [conclusion, run_attempt])).toEqual([
      ['failure', 1],
      ['success', 2],
    ]);
    await rig.until('the status is empty', async () => ['', '[]'].includes(await lostJobs()));
  }

  it('re-runs the CI job of a runner whose pod was evicted, once', async () => {
    await rig.commitGroup({ maxEvictionRetries: 2 });
    await rig.dispatch('long.yml');

    await evictBusy();

    await expectOneRerun();
    expect((await events('RunnerLost')).trim().split('\n').length).toBe(1);
    expect((await events('LostJobRerun')).trim().split('\n').length).toBe(1);
  });

  it('re-runs it once, too, when the leader is killed before Gitea has noticed the loss', async () => {
    await rig.commitGroup({ maxEvictionRetries: 2 });
    await rig.until('one leads', async () => (await rig.leader()) !== '');
    const pod = await rig.leadingPod();
    await rig.dispatch('long.yml');

    await evictBusy();
    await rig.killPods('argocd', pod);

    await expectOneRerun();
  });

  it('re-runs the CI job of a runner whose Job was deleted, once its pod is killed, too', async () => {
    await rig.commitGroup({ maxEvictionRetries: 2 });
    await rig.dispatch('long.yml');
    const runner = await rig.busyRunner();
    await rig.kubectl('delete', 'job', '-n', 'runners', runner, '--cascade=background');
    const told = async (): Promise<boolean> => (await rig.ofPod(runner, '.metadata.deletionTimestamp')) !== '';
    await rig.until('its pod alone is told to stop', told);
    expect(['', '[]']).toContain(await lostJobs());

    await killPod(runner);
    await rig.until('the status names the job', async () => (await lostJobs()).includes('JobDeleted'));

    await expectOneRerun();
  });

  it('a cluster that takes runners away does three jobs under a quota of one pod, and says that pods are refused', async () => {
    await rig.commitGroup({ spawnTimeoutSeconds: 30, pendingDeadlineSeconds: 30 });
    await rig.kubectl('create', 'quota', 'one-pod', '-n', 'runners', '--hard=pods=1');
    try {
      await rig.dispatch('long.yml');
      await rig.until('it runs', () => rig.world.inState('in_progress').length === 1);
      await rig.dispatch('busy.yml', 2);
      await rig.until('the group says so', () => rig.world.condition(GROUP, 'PodsStuck')?.reason === 'NoPod');
      await rig.until('an Event says so', async () => (await events('WorkerPodStuckPending')) !== '');

      await rig.until('all are done', async () => (await rig.ended()).length === 3, 300_000);
      expect(rig.world.mostAtWork).toBe(1);
      await expectAllDone(rig, 3);
    } finally {
      await rig.kubectl('delete', 'quota', 'one-pod', '-n', 'runners');
    }
  });
});
