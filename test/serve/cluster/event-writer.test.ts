/** Law V41 (docs/spec.md): Events of losses, and of pods that cannot start. Real requests. */
import { expect, it, onTestFinished } from 'vitest';
import { KubeClient } from '../../../src/clients/kubernetes/kube-client.ts';
import type { LostJob } from '../../../src/config/runnergroup/status.ts';
import { writeEvents } from '../../../src/serve/writers.ts';
import { Failure } from '../../../src/shared/failure.ts';
import { startApiServer } from '../../support/api-server.ts';
import { taskContext } from '../../support/task-context.ts';
import { verdictOf } from '../../support/verdict.ts';
import { until } from '../rig.ts';

const OBJECT = { metadata: { namespace: 'runners', name: 'ci', uid: 'u' } };

/** A loss of a runner on one failed node. */
const lossOf = (nth: number): LostJob => ({
  runner: `ci-${nth}`,
  repository: 'acme/web',
  runId: nth,
  jobId: nth,
  attempt: 1,
  reason: 'NodeLost',
  lostAt: '2026-11-21T12:00:00Z',
});

async function startWriter() {
  const cluster = await startApiServer();
  const client = new KubeClient(cluster.config);
  onTestFinished(() => client.close());
  const { context, told } = taskContext({ client });
  return { cluster, told, hear: writeEvents(context) };
}

it('each runner that a node takes with it has its Event', async () => {
  const { cluster, told, hear } = await startWriter();
  for (let nth = 0; nth < 30; nth += 1) hear({ is: 'runner-lost', object: OBJECT, lost: lossOf(nth), isNoted: true });

  await until('all Events', () => cluster.all('events').length === 30);
  expect(told).toEqual([]);
});

it('what becomes of a lost CI job has its Event, if a person needs to know', async () => {
  const { cluster, hear } = await startWriter();
  const failure = new Failure('GR-GITEA-02', 1, 'the token lacks scope write:repository.', 'forbidden');
  const outcomes = [
    'superseded',
    'not-failed',
    'returned',
    'ended',
    'rerun',
    'exhausted',
    'failed',
    'expired',
  ] as const;
  for (const [nth, outcome] of outcomes.entries())
    hear({ is: 'rerun', object: OBJECT, lost: lossOf(nth), outcome, ...(outcome === 'failed' && { failure }) });

  await until('all Events', () => cluster.all('events').length === 5);
  expect(
    cluster
      .all('events')
      .map(({ type, reason, message }) => `${type} ${reason} ${message}`)
      .sort(),
  ).toEqual([
    'Normal LostJobEnded ci-3: had Gitea end job 3 of run 3 in acme/web',
    'Normal LostJobRerun ci-4: re-ran job 4 of run 4 in acme/web',
    'Warning EvictionRetriesExhausted ci-5: job 5 of run 5 in acme/web is not re-run again: maxEvictionRetries',
    'Warning RerunFailed ci-6: cannot re-run job 6 of run 6 in acme/web: GR-GITEA-02 the token lacks scope write:repository.',
    'Warning RerunFailed ci-7: gave up job 7 of run 7 in acme/web: it could not be re-run for a day',
  ]);
});

/** Law V21 (docs/spec.md). */
it('an Event says what a pending pod waits for, once for each reason', async () => {
  const { cluster, hear, told } = await startWriter();
  const counts = { queued: 1, held: { cap: 0, limit: 0, suspended: 0, 'backing-off': 0 }, summary: undefined };
  const tell = (reason: string, message: string): void => {
    const stuck = [{ runner: 'ci-7-1-9c31e0aa', trouble: { reason, message, isLate: true }, failed: false }];
    const calm = { generation: 1, suspended: false, activeRunners: 1, argocd: { is: 'unmanaged' } } as const;
    const facts = { ...calm, counts: { ...counts, stuck, suspended: [], debugging: [] } };
    const groups = [{ live: { key: 'runners/ci', object: OBJECT }, runners: [], facts }];
    hear({ is: 'reconciled', verdicts: [verdictOf({ groups })], skews: new Map() });
  };

  tell('Unschedulable', '0/3 nodes are available.');
  tell('Unschedulable', '0/4 nodes are available.');
  tell('ImagePullBackOff', 'not found');
  await until('two Events', () => cluster.all('events').length === 2);

  expect(cluster.all('events').map(({ reason, message }) => [reason, message])).toEqual([
    ['WorkerPodStuckPending', 'ci-7-1-9c31e0aa: Unschedulable: 0/3 nodes are available.'],
    ['WorkerPodStuckPending', 'ci-7-1-9c31e0aa: ImagePullBackOff: not found'],
  ]);
  expect(told).toEqual([]);
});
