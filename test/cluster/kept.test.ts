/**
 * Tests runners whose CI job failed, on a real kubelet with the real runner, a real Gitea and the real entry points of
 * its images: people can enter the pod, `gitea-runners extend` extends its stay, and its end frees the slot under the
 * cap. The test applies and prunes the output of `generate`, as Argo CD does.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { sleep, waitUntil } from '../servers/process.ts';
import { closeAfterTests } from './close-after-tests.ts';
import { DOCKER_MODES, Job, LEVEL, PodsRig, REPOSITORY, type Wanted, within, workflowOf } from './pods-rig.ts';
import { RUNNER_IMAGE } from './stack/images.ts';

const MODES = [{ mode: 'host', image: RUNNER_IMAGE }, ...DOCKER_MODES] as const;

let rig: PodsRig;

beforeAll(async () => {
  rig = await PodsRig.start('kept');
  const { admin } = rig.gitea;
  await rig.addWorkflow('fail.yml', 'echo left > /data/left; exit 1');
  // Longer than two syncs: the next runner must not end while the place is still being given to it.
  await rig.addWorkflow('good.yml', 'sleep 20');
  const replaced = workflowOf('replaced', 'echo begun; sleep 600');
  await admin.addWorkflow(
    REPOSITORY,
    'replaced.yml',
    `${replaced}concurrency: {group: one, cancel-in-progress: true}\n`,
  );
});

closeAfterTests(() => rig);

const SYNC_OPTIONS = 'argocd.argoproj.io/sync-options';
const KEEP_UNTIL = 'gitea.bpg.pw/keep-until';

/** The annotations of a Job; undefined: it is gone. */
async function annotationsOf(name: string): Promise<Readonly<Record<string, string>> | undefined> {
  const text = await rig.kubernetes.kubectl(['get', 'job', '-n', 'runners', name, '--ignore-not-found', '-o', 'json']);
  return text === '' ? undefined : Job.parse(JSON.parse(text)).metadata.annotations;
}

function timeOf(text: string | undefined): number {
  return Date.parse(text ?? '');
}

describe.each(MODES)('containerMode $mode', ({ mode, image }) => {
  const wanted: Wanted = { mode, image, seesJobs: true, spec: { keepFailedSeconds: 45 } };

  it('lets people into the pod of a failed CI job, for as long as they want, then gives its place away', async () => {
    const { name, manifest } = await rig.queue('fail.yml', wanted);
    await rig.apply(manifest);
    const failed = await rig.ended(await rig.openJob());
    expect([failed.conclusion, failed.runner_name]).toEqual(['failure', name]);

    // No CI job is queued or runs. The failure is seen all the same.
    expect(await rig.sync(wanted)).toEqual([name]);
    const first = await annotationsOf(name);
    expect(first).toMatchObject({ [SYNC_OPTIONS]: 'Prune=false' });
    const endedAtMs = timeOf(first?.['gitea.bpg.pw/ended-at']);
    expect(timeOf(first?.[KEEP_UNTIL])).toBe(endedAtMs + 45_000);

    const pod = (await rig.podOf(name)).replace('pod/', '');
    const enter = ['exec', '-n', 'runners', pod, '-c', 'runner', '--', 'cat', '/data/left'];
    expect(await rig.kubernetes.kubectl(enter)).toBe('left\n');

    const extend = ['extend', pod, '--for', '80s', '-n', 'runners', ...rig.seen];
    expect(await rig.ours(extend)).toContain(`job/${name} stays until `);

    // The slot is taken: the cap is 1.
    await rig.gitea.admin.dispatch(REPOSITORY, 'good.yml');
    const isQueued = async (): Promise<boolean> => (await rig.gitea.admin.jobs(LEVEL, 'queued')).length === 1;
    await waitUntil('a job is queued', isQueued, within);
    expect(await rig.sync(wanted)).toEqual([name]);
    const untilMs = timeOf((await annotationsOf(name))?.[KEEP_UNTIL]);
    expect(untilMs).toBeGreaterThan(endedAtMs + 60_000);

    while (Date.now() < untilMs - 12_000) {
      await sleep(4_000);
      expect(await rig.sync(wanted)).toEqual([name]);
    }
    expect(await rig.kubernetes.kubectl(enter)).toBe('left\n');

    const good = await rig.openJob();
    const placeIsGiven = async (): Promise<boolean> => {
      const printed = await rig.sync(wanted);
      return (await annotationsOf(name)) === undefined && printed.some((runner) => runner !== name);
    };
    await waitUntil('the next runner has the place', placeIsGiven, { timeoutMs: 60_000 });
    expect(Date.now()).toBeGreaterThanOrEqual(untilMs);
    // No sync from here on: it would prune the next Job as soon as that is complete, and its end would not be seen.
    await rig.podGoes(name, 60_000);

    const ended = await rig.ended(good);
    expect(ended.conclusion).toBe('success');
    // A runner with a successful CI job ends by itself, as soon as docker has stopped. After a failed one it would wait
    // for 24 hours.
    const next = ended.runner_name ?? '';
    const isComplete = async (): Promise<boolean> => (await rig.conditions(next)).includes('Complete');
    await waitUntil('its Job ends', isComplete, { timeoutMs: 90_000 });
    await rig.remove(next);
  });
});

it('the end of a runner with a cancelled CI job is seen, although its pod cannot tell', async () => {
  const wanted: Wanted = { seesJobs: true, spec: { keepFailedSeconds: 600, gracefulStopSeconds: 1 } };
  const { name, manifest } = await rig.queue('replaced.yml', wanted);
  await rig.apply(manifest);
  const job = await rig.openJob();
  await waitUntil('the step runs', async () => (await rig.logOfJob(job)).includes('begun'), within);
  await rig.sync(wanted);
  expect(await annotationsOf(name)).toMatchObject({ [SYNC_OPTIONS]: 'Prune=false' });

  await rig.gitea.admin.dispatch(REPOSITORY, 'replaced.yml');
  const { conclusion, runner_name } = await rig.ended(job);

  expect([conclusion, runner_name]).toEqual(['cancelled', name]);
  const isGone = async (): Promise<boolean> => {
    await rig.sync(wanted);
    return (await rig.podOf(name)) === '';
  };
  await waitUntil('the runner goes', isGone, { timeoutMs: 90_000 });
  await rig.kubernetes.kubectl(['delete', 'jobs', '-n', 'runners', '--all', '--wait=false']);
});
