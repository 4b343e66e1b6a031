/** Laws V39 to V41 and V94 (docs/spec.md): `serve` has Gitea re-run the CI job of a lost runner, once. */
import { describe, expect, it } from 'vitest';
import type { GiteaVersion } from '../../model/gitea/versions.ts';
import { TOKEN } from '../support/start-acme.ts';
import type { KubeObject } from './fake-cluster.ts';
import { type Rig, startRig, until } from './rig.ts';

const RETRIES = '  maxEvictionRetries: 1\n  evictionRetryDelaySeconds: 1\n';
const FAST = { pollMs: 20 };

interface Loss {
  readonly rig: Rig;
  readonly runner: string;
  readonly jobId: number;
  /** Gitea notices that its runner is silent. */
  readonly zombie: () => void;
}

/** Opens a rig whose API token may re-run jobs. */
async function openRig(spec = RETRIES, version: GiteaVersion = '1.27.3'): Promise<Rig> {
  const rig = await startRig(spec, { version });
  rig.simulator.gitea.addToken('anna', ['read:organization', 'write:repository'], TOKEN);
  return rig;
}

/** The pod of a Job whose node does not answer, or does again. The node controller deletes the pod, and its runner may live on. */
function nodeOfDeletedPod({ cluster }: Rig, name: string, uid: unknown): (ready: 'True' | 'False') => void {
  return (ready) => {
    cluster.put('pods', {
      metadata: {
        name: `${name}-x`,
        namespace: 'runners',
        ownerReferences: [{ kind: 'Job', name, uid }],
        deletionTimestamp: new Date().toISOString(),
      },
      status: {
        phase: 'Running',
        conditions: [
          { type: 'DisruptionTarget', status: 'True', reason: 'DeletionByTaintManager' },
          { type: 'Ready', status: ready },
        ],
        containerStatuses: [{ name: 'runner', state: { running: {} } }],
      },
    });
  };
}

/** A runner registers and asks for a CI job. */
function take({ simulator: { gitea } }: Rig, name: string, canClean = false) {
  const scope = { kind: 'owner', owner: 'acme' } as const;
  const { id } = gitea.register({ name, scope, labels: ['linux'], ephemeral: true, canClean });
  return { id, job: gitea.poll(id) };
}

async function looksMore(replica: Awaited<ReturnType<Rig['start']>>, more: number): Promise<void> {
  const before = await replica.metric('gitea_runners_looks_total');
  await until('more looks', async () => (await replica.metric('gitea_runners_looks_total')) >= before + more);
}

/** A runner works, and its node can be made silent. `serve` must run. */
async function busyOnNode(rig: Rig) {
  rig.simulator.gitea.push('acme/web', { jobs: [{ key: 'build', runsOn: ['linux'] }] });
  await until('a Job', () => rig.cluster.all('jobs').length === 1);
  const [job] = rig.cluster.all('jobs');
  if (!job) throw new Error('no Job');
  const { name, uid } = job.metadata as { readonly name: string; readonly uid?: unknown };
  return { name, id: take(rig, name).id, node: nodeOfDeletedPod(rig, name, uid) };
}

/** Gitea has not heard of a runner for more than a minute. */
function turnOffline({ simulator }: Rig, rowId: number): void {
  const row = simulator.gitea.state.runners.get(rowId);
  if (row) row.lastOnline -= 120;
}

/** A runner works; then its pod is evicted. `serve` must run. */
async function evictBusy(rig: Rig): Promise<Loss> {
  const { gitea } = rig.simulator;
  const { jobs } = gitea.push('acme/web', { jobs: [{ key: 'build', runsOn: ['linux'] }] });
  await until('a Job', () => rig.cluster.all('jobs').length === 1);
  return evict(rig, rig.cluster.all('jobs')[0], jobs[0]?.id ?? 0);
}

function evict(rig: Rig, job: KubeObject | undefined, jobId: number): Loss {
  const { gitea } = rig.simulator;
  if (!job) throw new Error('no Job');
  const { name } = job.metadata;
  const row = gitea.register({ name, scope: { kind: 'owner', owner: 'acme' }, labels: ['linux'], ephemeral: true });
  gitea.poll(row.id);
  end(rig, name, 'EvictionByEvictionAPI');
  return { rig, runner: name, jobId, zombie: () => void gitea.finish(row.id, 'failure') };
}

/** The pod of a runner has ended; its Job has failed. */
function end({ cluster }: Rig, name: string, disruption?: string): void {
  const job = cluster.all('jobs').find(({ metadata }) => metadata.name === name);
  if (!job) throw new Error(`no Job ${name}`);
  cluster.put('pods', {
    metadata: {
      name: `${name}-x`,
      namespace: 'runners',
      ownerReferences: [{ kind: 'Job', name, uid: job.metadata['uid'] }],
    },
    status: {
      phase: 'Failed',
      conditions: disruption ? [{ type: 'DisruptionTarget', status: 'True', reason: disruption }] : [],
      containerStatuses: [{ name: 'runner', state: { terminated: { exitCode: 137, reason: 'Error' } } }],
    },
  });
  const conditions = [{ type: 'Failed', status: 'True', reason: 'BackoffLimitExceeded' }];
  cluster.put('jobs', { ...job, status: { failed: 1, conditions } });
}

function reruns({ simulator }: Rig): readonly string[] {
  return simulator.requests.flatMap(({ method, target }) => (method === 'POST' ? [target] : []));
}

function groupOf({ cluster }: Rig): KubeObject {
  const [group] = cluster.all('runnergroups');
  if (!group) throw new Error('no RunnerGroup');
  return group;
}

function lostJobs(rig: Rig): readonly unknown[] {
  return (groupOf(rig)['status'] as { readonly lostJobs?: readonly unknown[] } | undefined)?.lostJobs ?? [];
}

const reasons = ({ cluster }: Rig) => cluster.all('events').map(({ reason }) => reason);

describe.each(['1.26.0', '1.27.3'] as const)('with Gitea %s', (version) => {
  it('the CI job of an evicted runner is re-run once, told by status, Events, metrics and an audit line', async () => {
    const rig = await openRig(RETRIES, version);
    const replica = await rig.start(FAST);
    const { runner, jobId, zombie } = await evictBusy(rig);
    await until('the status names it', () => lostJobs(rig).length === 1);
    expect(lostJobs(rig)).toEqual([
      expect.objectContaining({ runner, repository: 'acme/web', runId: 1, jobId, reason: 'Evicted' }),
    ]);
    expect(reruns(rig)).toEqual([]);

    zombie();
    await until('the re-run', () => reruns(rig).length === 1);
    await until('the status is empty again', () => lostJobs(rig).length === 0);

    expect(reruns(rig)).toEqual([`/api/v1/repos/acme/web/actions/runs/1/jobs/${jobId}/rerun`]);
    expect(rig.simulator.gitea.jobsOfRun(1).map(({ status }) => status)).toEqual(['waiting']);
    await until('both Events', () => rig.cluster.all('events').length === 2);
    expect(reasons(rig)).toEqual(['RunnerLost', 'LostJobRerun']);
    expect(await replica.metric('gitea_runners_lost_runners_total')).toBe(1);
    expect(await replica.metric('gitea_runners_reruns_total')).toBe(1);
    expect(replica.log).toContainEqual(
      expect.objectContaining({ message: 're-ran a lost CI job', group: 'runners/ci', runner, run: 1, job: jobId }),
    );
  });

  it('the CI job of a runner that was deleted by force is re-run, too', async () => {
    const rig = await openRig(RETRIES, version);
    const replica = await rig.start(FAST);
    const { gitea } = rig.simulator;
    const { jobs } = gitea.push('acme/web', { jobs: [{ key: 'build', runsOn: ['linux'] }] });
    await until('a Job', () => rig.cluster.all('jobs').length === 1);
    const [job] = rig.cluster.all('jobs');
    if (!job) throw new Error('no Job');
    const { name } = job.metadata;
    const ownerReferences = [{ kind: 'Job', name, uid: job.metadata['uid'] }];
    const metadata = { name: `${name}-x`, namespace: 'runners', ownerReferences };
    rig.cluster.put('pods', { metadata, status: { phase: 'Running' } });
    const row = gitea.register({ name, scope: { kind: 'owner', owner: 'acme' }, labels: ['linux'], ephemeral: true });
    gitea.poll(row.id);
    await until('serve sees it at work', () => replica.busy().includes(name));
    rig.cluster.remove('pods', `runners/${metadata.name}`);
    rig.cluster.remove('jobs', `runners/${name}`);
    await until('the status names it', () => lostJobs(rig).length === 1);
    expect(lostJobs(rig)).toEqual([expect.objectContaining({ runner: name, reason: 'JobDeleted' })]);

    gitea.finish(row.id, 'failure');
    await until('the re-run', () => reruns(rig).length === 1);

    expect(reruns(rig)).toEqual([`/api/v1/repos/acme/web/actions/runs/1/jobs/${jobs[0]?.id}/rerun`]);
  });

  it('a loss that was re-run as its leader died is not re-run by the next one', async () => {
    const rig = await openRig(RETRIES, version);
    const first = await rig.start(FAST);
    const { zombie } = await evictBusy(rig);
    await until('the status names it', () => lostJobs(rig).length === 1);
    // The leader dies before it can write that the loss is settled.
    const allow = rig.cluster.refuse('runnergroups');
    zombie();
    await until('the re-run', () => reruns(rig).length === 1);
    await first.end();
    // What it has sent arrives within some turns: the fake cluster is in this process.
    for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
    allow();
    expect(lostJobs(rig).length).toBe(1);

    const second = await rig.start(FAST);
    await until('it is settled', () => lostJobs(rig).length === 0);

    expect(reruns(rig).length).toBe(1);
    expect(second.log).toContainEqual(expect.objectContaining({ outcome: 'superseded' }));
  });

  it('a run is re-run at most maxEvictionRetries times', async () => {
    const rig = await openRig(RETRIES, version);
    const replica = await rig.start(FAST);
    const { zombie, runner } = await evictBusy(rig);
    await until('the status names it', () => lostJobs(rig).length === 1);
    zombie();
    await until('the re-run', () => reruns(rig).length === 1);
    const [job] = rig.simulator.gitea.jobsOfRun(1);
    const fresh = () => rig.cluster.all('jobs').find(({ metadata }) => metadata.name !== runner);
    await until('a new Job', () => fresh() !== undefined);

    const again = evict(rig, fresh(), job?.id ?? 0);
    await until('the status names it, too', () => lostJobs(rig).length === 1);
    again.zombie();
    await until('it is settled', () => lostJobs(rig).length === 0);

    await until('an Event', () => reasons(rig).includes('EvictionRetriesExhausted'));
    expect(reruns(rig).length).toBe(1);
    expect(replica.log).toContainEqual(expect.objectContaining({ outcome: 'exhausted' }));
  });
});

it('the next leader re-runs what the one before had noticed, although the Job is gone', async () => {
  const rig = await openRig();
  const first = await rig.start(FAST);
  const { runner, zombie } = await evictBusy(rig);
  await until('the status names it', () => lostJobs(rig).length === 1);
  await first.end();
  rig.cluster.remove('jobs', `runners/${runner}`);
  zombie();

  await rig.start(FAST);

  await until('the re-run', () => reruns(rig).length === 1);
});

it('a look is made when a runner that was being deleted turns out to be lost, however seldom Gitea is polled', async () => {
  const rig = await openRig();
  const { gitea } = rig.simulator;
  const first = await rig.start(FAST);
  gitea.push('acme/web', { jobs: [{ key: 'build', runsOn: ['linux'] }] });
  await until('a Job', () => rig.cluster.all('jobs').length === 1);
  await first.end();
  const [job] = rig.cluster.all('jobs');
  if (!job) throw new Error('no Job');
  const { name, uid } = job.metadata as { readonly name: string; readonly uid?: unknown };
  const row = gitea.register({ name, scope: { kind: 'owner', owner: 'acme' }, labels: ['linux'], ephemeral: true });
  gitea.poll(row.id);
  const replica = await rig.start({ pollMs: 60_000 });
  const looks = (count: number) => async () => (await replica.metric('gitea_runners_looks_total')) >= count;
  await until('the first look', looks(1));

  const deletionTimestamp = new Date().toISOString();
  const metadata = { name: `${name}-x`, namespace: 'runners', ownerReferences: [{ kind: 'Job', uid }] };
  rig.cluster.put('pods', { metadata: { ...metadata, deletionTimestamp }, status: { phase: 'Running' } });
  await until('the look at its deletion', looks(2));
  rig.cluster.remove('pods', `runners/${metadata.name}`);
  const conditions = [{ type: 'Failed', status: 'True', reason: 'BackoffLimitExceeded' }];
  rig.cluster.put('jobs', { ...job, status: { failed: 1, conditions } });

  await until('the status names it', () => lostJobs(rig).length === 1);
  expect(lostJobs(rig)).toEqual([expect.objectContaining({ runner: name, reason: 'PodDeleted' })]);
});

it('nothing is noted or re-run without maxEvictionRetries', async () => {
  const rig = await openRig('');
  const replica = await rig.start(FAST);
  const { zombie } = await evictBusy(rig);
  const before = await replica.metric('gitea_runners_looks_total');
  await until('a look after the end', async () => (await replica.metric('gitea_runners_looks_total')) >= before + 2);
  zombie();
  const looks = await replica.metric('gitea_runners_looks_total');
  await until('ten looks', async () => (await replica.metric('gitea_runners_looks_total')) >= looks + 10);

  expect([reruns(rig), lostJobs(rig), reasons(rig)]).toEqual([[], [], []]);
});

it('a failure that the runner has reported is not re-run, whatever ended its pod', async () => {
  const rig = await openRig();
  const { gitea } = rig.simulator;
  const replica = await rig.start(FAST);
  gitea.push('acme/web', { jobs: [{ key: 'build', runsOn: ['linux'] }] });
  await until('a Job', () => rig.cluster.all('jobs').length === 1);
  const name = rig.cluster.all('jobs')[0]?.metadata.name ?? '';
  const row = gitea.register({ name, scope: { kind: 'owner', owner: 'acme' }, labels: ['linux'], ephemeral: true });
  gitea.poll(row.id);
  gitea.finish(row.id, 'failure');
  end(rig, name, 'TerminationByKubelet');
  const looks = await replica.metric('gitea_runners_looks_total');
  await until('ten looks', async () => (await replica.metric('gitea_runners_looks_total')) >= looks + 10);

  expect([reruns(rig), lostJobs(rig)]).toEqual([[], []]);
});

it('a failure that a runner reports after its node was gone for a while is not re-run', async () => {
  const rig = await openRig();
  const replica = await rig.start(FAST);
  const { id, name, node } = await busyOnNode(rig);
  turnOffline(rig, id);
  node('False');
  await until('the status names it', () => lostJobs(rig).length === 1);
  node('True');
  await looksMore(replica, 10);
  rig.simulator.gitea.finish(id, 'failure');
  await new Promise((resolve) => setTimeout(resolve, 4_000));

  expect(reruns(rig)).toEqual([]);
  expect(lostJobs(rig)).toEqual([]);
  expect(replica.log).toContainEqual(expect.objectContaining({ outcome: 'returned', runner: name }));
});

it('a failure that a runner reports while its node does not answer is not re-run', async () => {
  const rig = await openRig();
  const replica = await rig.start(FAST);
  const { id, node } = await busyOnNode(rig);
  node('False');
  await looksMore(replica, 10);
  expect(lostJobs(rig)).toEqual([]);
  rig.simulator.gitea.finish(id, 'failure');
  await new Promise((resolve) => setTimeout(resolve, 2_000));

  expect([reruns(rig), lostJobs(rig)]).toEqual([[], []]);
});

it('a new leader keeps what was lost while the spec is not valid', async () => {
  const rig = await openRig();
  const first = await rig.start(FAST);
  const { zombie } = await evictBusy(rig);
  await until('the status names it', () => lostJobs(rig).length === 1);
  await first.end();
  const good = groupOf(rig);
  rig.cluster.put('runnergroups', { ...good, spec: { ...(good['spec'] as object), maxActiveRunners: 'many' } });
  zombie();

  await rig.start(FAST);
  await until('it is not ready', () => rig.conditions()['Ready'] === 'False InvalidSpec');
  const { metadata, ...bad } = groupOf(rig);
  rig.cluster.put('runnergroups', { ...bad, metadata: { ...metadata, generation: 2 }, spec: good['spec'] });

  await until('the re-run', () => reruns(rig).length === 1);
});

it('a token that may not re-run jobs is told of once, and serve goes on', async () => {
  const rig = await openRig();
  rig.simulator.gitea.addToken('anna', ['read:organization', 'read:repository'], TOKEN);
  const replica = await rig.start(FAST);
  const { zombie } = await evictBusy(rig);
  await until('the status names it', () => lostJobs(rig).length === 1);
  zombie();

  await until('an Event', () => reasons(rig).includes('RerunFailed'));

  expect(replica.log.filter(({ outcome }) => outcome === 'failed')).toEqual([
    expect.objectContaining({ code: 'GR-GITEA-02', error: expect.stringContaining('scope write:repository') }),
  ]);
  expect(lostJobs(rig).length).toBe(1);
  expect(rig.conditions()['Ready']).toBe('True Serving');
});

describe('with Gitea 28.0.0', () => {
  const ends = ({ simulator }: Rig) =>
    reruns({ simulator } as Rig).filter((target) => target.endsWith('/force-cancel'));

  it('a lost CI job is over at once, and re-run, without a wait for Gitea', async () => {
    const rig = await openRig(RETRIES, '28.0.0');
    const replica = await rig.start(FAST);
    const { runner, jobId } = await evictBusy(rig);

    await until('the re-run', () => reruns(rig).length === 2);
    await until('the status is empty again', () => lostJobs(rig).length === 0);

    const run = '/api/v1/repos/acme/web/actions/runs/1';
    expect(reruns(rig)).toEqual([`${run}/force-cancel`, `${run}/jobs/${jobId}/rerun`]);
    expect(rig.simulator.gitea.jobsOfRun(1).map(({ status }) => status)).toEqual(['waiting']);
    await until('the Events', () => rig.cluster.all('events').length === 3);
    expect(reasons(rig).sort()).toEqual(['LostJobEnded', 'LostJobRerun', 'RunnerLost']);
    expect(replica.log).toContainEqual(
      expect.objectContaining({ message: 'had Gitea end a lost CI job', outcome: 'ended', runner, job: jobId }),
    );
  });

  it('so is that of a pod that has gone before its Job was seen to end', async () => {
    const rig = await openRig(RETRIES, '28.0.0');
    const replica = await rig.start(FAST);
    rig.simulator.gitea.push('acme/web', { jobs: [{ key: 'build', runsOn: ['linux'] }] });
    await until('a Job', () => rig.cluster.all('jobs').length === 1);
    const [job] = rig.cluster.all('jobs');
    if (!job) throw new Error('no Job');
    const { name, uid } = job.metadata as { readonly name: string; readonly uid?: unknown };
    take(rig, name);
    await until('serve sees it at work', () => replica.busy().includes(name));

    const metadata = { name: `${name}-x`, namespace: 'runners', ownerReferences: [{ kind: 'Job', name, uid }] };
    const state = { terminated: { exitCode: 143, reason: 'Error' } };
    rig.cluster.put('pods', { metadata, status: { phase: 'Failed', containerStatuses: [{ name: 'runner', state }] } });
    rig.cluster.remove('pods', `runners/${metadata.name}`);
    rig.cluster.remove('jobs', `runners/${name}`);

    await until('the re-run', () => reruns(rig).length === 2);
    expect(ends(rig).length).toBe(1);
  });

  it('it is not ended while another job of its run is at work', async () => {
    const rig = await openRig(RETRIES, '28.0.0');
    const replica = await rig.start(FAST);
    const two = ['a', 'b'].map((key) => ({ key, runsOn: ['linux'] }));
    rig.simulator.gitea.push('acme/web', { jobs: two });
    await until('two Jobs', () => rig.cluster.all('jobs').length === 2);
    const [first, second] = rig.cluster.all('jobs');
    const other = take(rig, second?.metadata.name ?? '');
    evict(rig, first, 0);
    await until('the status names it', () => lostJobs(rig).length === 1);
    await looksMore(replica, 10);
    expect(ends(rig)).toEqual([]);

    rig.simulator.gitea.finish(other.id);
    await until('it is ended', () => ends(rig).length === 1);

    expect(rig.simulator.gitea.jobsOfRun(1).map(({ status }) => status)).toContain('success');
  });

  it('the job of a runner on a node that does not answer is never ended, and goes on when the node comes back', async () => {
    const rig = await openRig(RETRIES, '28.0.0');
    const replica = await rig.start(FAST);
    const { id, node } = await busyOnNode(rig);
    turnOffline(rig, id);
    node('False');
    await until('the status names it', () => lostJobs(rig).length === 1);
    await looksMore(replica, 10);
    node('True');
    await until('it is back', () => lostJobs(rig).length === 0);
    rig.simulator.gitea.finish(id, 'success');
    await looksMore(replica, 5);

    expect(reruns(rig)).toEqual([]);
    expect(rig.simulator.gitea.jobsOfRun(1).map(({ status }) => status)).toEqual(['success']);
  });

  it('the next leader re-runs what the one before had Gitea end as it died', async () => {
    const rig = await openRig(RETRIES.replace('Seconds: 1', 'Seconds: 3600'), '28.0.0');
    const first = await rig.start(FAST);
    const { jobId } = await evictBusy(rig);
    await until('it is ended', () => ends(rig).length === 1);
    await first.end();
    const [group] = rig.cluster.all('runnergroups');
    if (!group) throw new Error('no RunnerGroup');
    rig.cluster.put('runnergroups', { ...group, spec: { ...(group['spec'] as object), evictionRetryDelaySeconds: 1 } });

    await rig.start(FAST);

    await until('the re-run', () => reruns(rig).length === 2);
    expect(reruns(rig)[1]).toBe(`/api/v1/repos/acme/web/actions/runs/1/jobs/${jobId}/rerun`);
  });

  it('nothing is ended before the note of it is in the cluster', async () => {
    const rig = await openRig(RETRIES, '28.0.0');
    const replica = await rig.start(FAST);
    rig.cluster.refuse('runnergroups');
    const { zombie } = await evictBusy(rig);
    await until('it is lost', async () => (await replica.metric('gitea_runners_lost_runners_total')) === 1);
    await looksMore(replica, 10);
    expect(reruns(rig)).toEqual([]);

    // Gitea gives it up by itself, as before.
    zombie();
    await until('the re-run', () => reruns(rig).length === 1);
  });

  it.each([
    ['at once', false],
    ['and Gitea still waits for its runner', true],
  ])('a job that a person has cancelled is not re-run (%s)', async (_name, canClean) => {
    const rig = await openRig(RETRIES, '28.0.0');
    const { gitea } = rig.simulator;
    const replica = await rig.start(FAST);
    gitea.push('acme/web', { jobs: ['a', 'b'].map((key) => ({ key, runsOn: ['linux'] })) });
    await until('two Jobs', () => rig.cluster.all('jobs').length === 2);
    const [first, second] = rig.cluster.all('jobs').map(({ metadata }) => metadata.name);
    const lost = take(rig, first ?? '', canClean);
    take(rig, second ?? '');
    end(rig, first ?? '', 'EvictionByEvictionAPI');
    await until('the status names it', () => lostJobs(rig).length === 1);

    gitea.cancelRun(1);
    await looksMore(replica, 10);
    // Gitea gives up to wait.
    if (canClean) gitea.finish(lost.id);

    await until('it is settled', () => lostJobs(rig).length === 0);
    expect(reruns(rig)).toEqual([]);
    expect(replica.log).toContainEqual(expect.objectContaining({ outcome: 'not-failed' }));
  });
});
