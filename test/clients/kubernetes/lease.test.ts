/**
 * Law V5 (docs/spec.md): one replica leads. Real HTTP; the time of the replicas passes only when the test lets it.
 * When a replica takes over, stops and gives the Lease back: lease-writes.test.ts.
 */
import { expect, it, onTestFinished } from 'vitest';
import { KubeClient } from '../../../src/clients/kubernetes/kube-client.ts';
import { leaseOf } from '../../../src/clients/kubernetes/lease.ts';
import type { Clock } from '../../../src/shared/clock.ts';
import { until } from '../../serve/rig.ts';
import { type Override, startApiServer } from '../../support/api-server.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

/** Times of client-go. */
const RETRY_MS = 2_000;
const RENEW_DEADLINE_MS = 10_000;
const LEASE_MS = 15_000;

async function startLease(bend?: Override) {
  let requests = 0;
  let pauses = 0;
  let replicas = 0;
  const cluster = await startApiServer({
    override: (...request) => {
      requests += 1;
      return bend?.(...request) ?? false;
    },
  });
  const time = new VirtualClock();
  const { now, steadyMs, nextTurn } = time;
  const after: Clock['after'] = (ms, call) => {
    if (ms === RETRY_MS) pauses += 1;
    return time.after(ms, call);
  };
  const clock = { now, steadyMs, nextTurn, after };
  const led: string[] = [];
  const lead = (identity: string) => {
    replicas += 1;
    const client = new KubeClient(cluster.config, { clock });
    const life = new AbortController();
    const onFailure = () => undefined;
    const lease = leaseOf(client, { namespace: 'argocd', name: 'serve', identity, address: identity, onFailure });
    let hasEnded = false;
    const running = lease.run(life.signal, async (leading) => {
      led.push(`${identity} leads`);
      await new Promise((done) => leading.addEventListener('abort', done, { once: true }));
      led.push(`${identity} stopped`);
    });
    running.then(() => {
      hasEnded = true;
    });
    onTestFinished(async () => {
      life.abort();
      await until('it has ended', async () => {
        // A request that nobody answers ends with its time.
        await time.pass(10);
        return hasEnded;
      });
      await client.close();
    });
  };
  return {
    clock: time,
    /** Events in order. */
    led,
    lead,
    requests: () => requests,
    /** Pauses between two tries so far. */
    pauses: () => pauses,
    /** Lets time pass up to the next try of each, and waits until all pause again. */
    nextTry: async (): Promise<void> => {
      const before = pauses;
      await time.pass(RETRY_MS);
      await until('all pause again', () => pauses >= before + replicas);
    },
  };
}

it('a leader stops before others may take over, counted from when its last renewal was sent', async () => {
  let answerCreation = (): void => undefined;
  const scene = await startLease((_, __, { method }, handle) => {
    if (method === 'POST') answerCreation = handle;
    // No renewal gets an answer.
    return method !== 'GET' || scene.led.length > 0;
  });
  scene.lead('one');
  await until('the creation', () => answerCreation.length === 0 && scene.requests() === 2);
  // The API server has written it at once, and its answer is late.
  await scene.clock.pass(4_000);
  answerCreation();
  await until('it leads', () => scene.led.length === 1);

  await scene.clock.pass(RENEW_DEADLINE_MS - 4_000 - 1);
  expect(scene.led).toEqual(['one leads']);
  await scene.clock.pass(1);
  expect(scene.led).toEqual(['one leads', 'one stopped']);
});

it('a leader stops in time, also when the API server answers some requests late and others never', async () => {
  let writes = 0;
  const late: (() => void)[] = [];
  const scene = await startLease((_, __, { method }, handle) => {
    if (method !== 'GET') writes += 1;
    if (method === 'GET' && writes > 0) late.push(handle);
    return method === 'GET' ? writes > 0 : writes > 1;
  });
  scene.lead('one');
  await until('it leads', () => scene.led.length === 1);

  for (let ms = 0; ms < RENEW_DEADLINE_MS; ms += 500) {
    await scene.clock.pass(500);
    for (const handle of late.splice(0)) handle();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  expect(scene.led).toEqual(['one leads', 'one stopped']);
  expect(RENEW_DEADLINE_MS).toBeLessThan(LEASE_MS);
});

it('lets one lead when two see a free Lease at the same time', async () => {
  const creations: (() => void)[] = [];
  const scene = await startLease((_, __, { method }, handle) => {
    if (method !== 'POST') return false;
    creations.push(handle);
    if (creations.length === 2) for (const create of creations) create();
    return true;
  });
  scene.lead('one');
  scene.lead('two');
  await until('both pause', () => scene.pauses() === 2);

  for (let each = 0; each < 10; each += 1) await scene.nextTry();
  expect(scene.led).toHaveLength(1);
});
