/** Events of many runners at once. Real requests. */
import { expect, it, onTestFinished } from 'vitest';
import { KubeClient } from '../../../src/clients/kubernetes/client.ts';
import { writeEvents } from '../../../src/serve/cluster/writers.ts';
import { taskContext } from '../../support/task-context.ts';
import { startFakeCluster } from '../fake-cluster.ts';
import { until } from '../rig.ts';

async function startWriter() {
  const cluster = await startFakeCluster();
  const client = new KubeClient(cluster.config);
  onTestFinished(() => client.close());
  const { context, told } = taskContext({ client });
  const hear = writeEvents(context);
  /** A node takes this runner with it. */
  const lose = (nth: number): void =>
    hear({
      is: 'runner-lost',
      object: { metadata: { namespace: 'runners', name: 'ci', uid: 'u' } },
      lost: {
        runner: `ci-${nth}`,
        repository: 'acme/web',
        runId: nth,
        jobId: nth,
        attempt: 1,
        reason: 'NodeLost',
        lostAt: '2026-11-21T12:00:00Z',
      },
      isNoted: true,
    });
  return { cluster, told, lose };
}

it('each runner that a node takes with it has its Event', async () => {
  const { cluster, told, lose } = await startWriter();
  for (let nth = 0; nth < 30; nth += 1) lose(nth);

  await until('all Events', () => cluster.all('events').length === 30);
  expect(told).toEqual([]);
});
