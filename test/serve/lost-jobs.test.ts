/** Laws V39, V41 and V94 (docs/spec.md): `serve` has Gitea re-run the CI job of a lost runner, once. */
import { describe, expect, it } from 'vitest';
import type { GiteaVersion } from '../../simulator/gitea/versions.ts';
import type { KubeObject } from '../../simulator/kubernetes/objects.ts';
import { TOKEN } from '../support/start-acme.ts';
import { type Rig, startRig, until } from './rig.ts';

const FAST = { pollMs: 20 };
const RERUN = (jobId: number) => `/api/v1/repos/acme/web/actions/runs/1/jobs/${jobId}/rerun`;

/** Opens a rig whose API token may re-run jobs. */
async function openRig(version: GiteaVersion = '1.27.3'): Promise<Rig> {
  const rig = await startRig('  maxEvictionRetries: 1\n  evictionRetryDelaySeconds: 1\n', { version });
  rig.simulator.gitea.addToken('anna', ['read:organization', 'write:repository'], TOKEN);
  return rig;
}

/** A runner with a CI job. */
interface Busy {
  readonly name: string;
  readonly jobId: number;
  /** Id of its row in Gitea. */
  readonly id: number;
  readonly job: KubeObject;
}

/** A runner takes a CI job. `serve` must run. */
async function startBusy({ cluster, simulator: { gitea } }: Rig): Promise<Busy> {
  const { jobs } = gitea.push('acme/web', { jobs: [{ key: 'build', runsOn: ['linux'] }] });
  await until('a Job', () => cluster.all('jobs').length === 1);
  const [job] = cluster.all('jobs');
  if (!job) throw new Error('no Job');
  const { name } = job.metadata;
  const { id } = gitea.register({ name, scope: { kind: 'owner', owner: 'acme' }, labels: ['linux'], ephemeral: true });
  gitea.poll(id);
  return { name, jobId: jobs[0]?.id ?? 0, id, job };
}

function putPod({ cluster }: Rig, { job, name }: Busy, status: object, more: object = {}): void {
  const ownerReferences = [{ kind: 'Job', name, uid: job.metadata['uid'] }];
  cluster.put('pods', { metadata: { name: `${name}-x`, namespace: 'runners', ownerReferences, ...more }, status });
}

const ended = (exitCode: number) => {
  return {
    phase: 'Failed',
    containerStatuses: [{ name: 'runner', state: { terminated: { exitCode, reason: 'Error' } } }],
  };
};

function failJob({ cluster }: Rig, { job }: Busy): void {
  const conditions = [{ type: 'Failed', status: 'True', reason: 'BackoffLimitExceeded' }];
  cluster.put('jobs', { ...job, status: { failed: 1, conditions } });
}

function removeAll({ cluster }: Rig, { name }: Busy): void {
  cluster.remove('pods', 'runners', `${name}-x`);
  cluster.remove('jobs', 'runners', name);
}

/** A runner takes a CI job; then its pod is evicted. */
async function evictBusy(rig: Rig): Promise<Busy> {
  const busy = await startBusy(rig);
  const disruption = { type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI' };
  putPod(rig, busy, { ...ended(137), conditions: [disruption] });
  failJob(rig, busy);
  return busy;
}

const looksOf = (replica: Awaited<ReturnType<Rig['start']>>) => replica.metric('gitea_runners_looks_total');

async function looksMore(replica: Awaited<ReturnType<Rig['start']>>, more: number): Promise<void> {
  const before = await looksOf(replica);
  await until('more looks', async () => (await looksOf(replica)) >= before + more);
}

const reruns = ({ simulator }: Rig): readonly string[] =>
  simulator.requests.flatMap(({ method, target }) => (method === 'POST' ? [target] : []));

function lostJobs({ cluster }: Rig): readonly unknown[] {
  const [group] = cluster.all('runnergroups');
  return (group?.['status'] as { readonly lostJobs?: readonly unknown[] } | undefined)?.lostJobs ?? [];
}

const reasons = ({ cluster }: Rig) => cluster.all('events').map(({ reason }) => reason);

it.each(['1.26.0', '1.27.3'] as const)(
  'the CI job of an evicted runner is re-run once, told by status, Events, metrics and an audit line: Gitea %s',
  async (version) => {
    const rig = await openRig(version);
    const replica = await rig.start(FAST);
    const { id, jobId, name: runner } = await evictBusy(rig);
    await until('the status names it', () => lostJobs(rig).length === 1);
    expect(lostJobs(rig)).toEqual([
      expect.objectContaining({ runner, repository: 'acme/web', runId: 1, jobId, reason: 'Evicted' }),
    ]);
    expect(reruns(rig)).toEqual([]);

    rig.simulator.gitea.finish(id, 'failure');
    await until('the re-run', () => reruns(rig).length === 1);
    await until('the status is empty again', () => lostJobs(rig).length === 0);

    expect(reruns(rig)).toEqual([RERUN(jobId)]);
    expect(rig.simulator.gitea.jobsOfRun(1).map(({ status }) => status)).toEqual(['waiting']);
    await until('both Events', () => rig.cluster.all('events').length === 2);
    expect(reasons(rig)).toEqual(['RunnerLost', 'LostJobRerun']);
    expect(await replica.metric('gitea_runners_lost_runners_total')).toBe(1);
    expect(await replica.metric('gitea_runners_reruns_total')).toBe(1);
    expect(replica.log).toContainEqual(
      expect.objectContaining({ message: 're-ran a lost CI job', group: 'runners/ci', runner, run: 1, job: jobId }),
    );
  },
);

it('the CI job of a runner that was deleted by force is re-run, too', async () => {
  const rig = await openRig();
  const replica = await rig.start(FAST);
  const busy = await startBusy(rig);
  putPod(rig, busy, { phase: 'Running' });
  await until('serve sees it at work', () => replica.busy().includes(busy.name));
  removeAll(rig, busy);
  await until('the status names it', () => lostJobs(rig).length === 1);
  expect(lostJobs(rig)).toEqual([expect.objectContaining({ runner: busy.name, reason: 'JobDeleted' })]);

  rig.simulator.gitea.finish(busy.id, 'failure');
  await until('the re-run', () => reruns(rig).length === 1);

  expect(reruns(rig)).toEqual([RERUN(busy.jobId)]);
});

it('a loss that was re-run as its leader died is not re-run by the next one', async () => {
  const rig = await openRig();
  const first = await rig.start(FAST);
  const { id } = await evictBusy(rig);
  await until('the status names it', () => lostJobs(rig).length === 1);
  // The leader dies before it can write that the loss is settled.
  const allow = rig.cluster.refuse('runnergroups');
  rig.simulator.gitea.finish(id, 'failure');
  await until('the re-run', () => reruns(rig).length === 1);
  await first.end();
  // Its requests arrive within some turns: the fake cluster is in this process.
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
  allow();
  expect(lostJobs(rig).length).toBe(1);

  const second = await rig.start(FAST);
  await until('it is settled', () => lostJobs(rig).length === 0);

  expect(reruns(rig).length).toBe(1);
  expect(second.log).toContainEqual(expect.objectContaining({ outcome: 'superseded' }));
});

it('a look is made when a runner that was being deleted turns out to be lost, however seldom Gitea is polled', async () => {
  const rig = await openRig();
  const first = await rig.start(FAST);
  const busy = await startBusy(rig);
  await first.end();
  const replica = await rig.start({ pollMs: 60_000 });
  const looks = (count: number) => async () => (await looksOf(replica)) >= count;
  await until('the first look', looks(1));

  putPod(rig, busy, { phase: 'Running' }, { deletionTimestamp: new Date().toISOString() });
  await until('the look at its deletion', looks(2));
  rig.cluster.remove('pods', 'runners', `${busy.name}-x`);
  failJob(rig, busy);

  await until('the status names it', () => lostJobs(rig).length === 1);
  expect(lostJobs(rig)).toEqual([expect.objectContaining({ runner: busy.name, reason: 'PodDeleted' })]);
});

describe('with Gitea 28.0.0', () => {
  const CANCEL = '/api/v1/repos/acme/web/actions/runs/1/force-cancel';

  it('a lost CI job is over at once, and re-run, without a wait for Gitea', async () => {
    const rig = await openRig('28.0.0');
    const replica = await rig.start(FAST);
    const { jobId, name: runner } = await evictBusy(rig);

    await until('the re-run', () => reruns(rig).length === 2);
    await until('the status is empty again', () => lostJobs(rig).length === 0);

    expect(reruns(rig)).toEqual([CANCEL, RERUN(jobId)]);
    expect(rig.simulator.gitea.jobsOfRun(1).map(({ status }) => status)).toEqual(['waiting']);
    await until('the Events', () => rig.cluster.all('events').length === 3);
    expect(reasons(rig).sort()).toEqual(['LostJobEnded', 'LostJobRerun', 'RunnerLost']);
    expect(replica.log).toContainEqual(
      expect.objectContaining({ message: 'had Gitea end a lost CI job', outcome: 'ended', runner, job: jobId }),
    );
  });

  it('a CI job is re-run when its pod has gone before its Job was seen to end', async () => {
    const rig = await openRig('28.0.0');
    const replica = await rig.start(FAST);
    const busy = await startBusy(rig);
    await until('serve sees it at work', () => replica.busy().includes(busy.name));

    putPod(rig, busy, ended(143));
    removeAll(rig, busy);

    await until('the re-run', () => reruns(rig).length === 2);
    expect(reruns(rig)).toEqual([CANCEL, RERUN(busy.jobId)]);
  });

  it('the job of a runner on a node that does not answer is never ended, and goes on when the node comes back', async () => {
    const rig = await openRig('28.0.0');
    const replica = await rig.start(FAST);
    const busy = await startBusy(rig);
    const { gitea } = rig.simulator;
    /** The node controller deletes the pod of a node that is silent, and its runner may live on. */
    const node = (ready: 'True' | 'False'): void => {
      const conditions = [
        { type: 'DisruptionTarget', status: 'True', reason: 'DeletionByTaintManager' },
        { type: 'Ready', status: ready },
      ];
      const containerStatuses = [{ name: 'runner', state: { running: {} } }];
      const deletionTimestamp = new Date().toISOString();
      putPod(rig, busy, { phase: 'Running', conditions, containerStatuses }, { deletionTimestamp });
    };
    const row = gitea.state.runners.get(busy.id);
    // Gitea has not heard of it for more than a minute.
    if (row) row.lastOnline -= 120;
    node('False');
    await until('the status names it', () => lostJobs(rig).length === 1);
    await looksMore(replica, 10);
    node('True');
    await until('it is back', () => lostJobs(rig).length === 0);
    gitea.finish(busy.id, 'success');
    await looksMore(replica, 5);

    expect(reruns(rig)).toEqual([]);
    expect(gitea.jobsOfRun(1).map(({ status }) => status)).toEqual(['success']);
    expect(replica.log).toContainEqual(expect.objectContaining({ outcome: 'returned', runner: busy.name }));
  });
});
