/** Law V5 (docs/spec.md): a holder that cannot renew its Lease stops before another may lead. */
import { expect, it, onTestFinished } from 'vitest';
import { KubeClient } from '../../../src/clients/kubernetes/client.ts';
import { Lease } from '../../../src/clients/kubernetes/lease.ts';
import { startFakeCluster } from '../../serve/fake-cluster.ts';

const times = { leaseMs: 3_000, renewDeadlineMs: 2_000, retryMs: 300 };

it('stops in time, also when the API server answers some requests late and others never', async () => {
  let writes = 0;
  let writtenMs = 0;
  const cluster = await startFakeCluster({
    bend: ({ method }, _, handle) => {
      if (method === 'GET') setTimeout(handle, writes === 0 ? 0 : 600);
      else {
        writes += 1;
        if (writes === 1) handle();
        if (writes === 1) writtenMs = performance.now();
      }
      return true;
    },
  });
  const client = new KubeClient(cluster.config);
  const life = new AbortController();
  const failures: unknown[] = [];
  const onFailure = (failure: unknown) => void failures.push(failure);
  const lease = new Lease(client, {
    namespace: 'argocd',
    name: 'serve',
    identity: 'one',
    address: '',
    onFailure,
    times,
  });
  let running: Promise<void> | undefined;
  onTestFinished(async () => {
    life.abort();
    await running;
    await client.close();
  });

  const ledMs = await new Promise<number>((resolve) => {
    running = lease.run(life.signal, async (leading) => {
      await new Promise((done) => leading.addEventListener('abort', done, { once: true }));
      resolve(performance.now() - writtenMs);
    });
  });

  expect(ledMs).toBeLessThan(times.leaseMs);
});
