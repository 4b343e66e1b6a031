import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { KubeClient } from '../../src/clients/kubernetes/kube-client.ts';
import { readKubeconfig } from '../../src/clients/kubernetes/kubeconfig.ts';
import { type LeaseTimes, leaseOf } from '../../src/clients/kubernetes/lease.ts';
import { RUNNER_GROUPS } from '../../src/clients/kubernetes/resources.ts';
import { watchOf } from '../../src/clients/kubernetes/watch.ts';
import { readOneDocument } from '../../src/config/runnergroup/documents.ts';
import { Failure } from '../../src/shared/failure.ts';
import { sleep, waitUntil } from '../servers/process.ts';
import { GOOD } from './admission-groups.ts';
import { closeAfterTests } from './close-after-tests.ts';
import { type Cluster, startCluster } from './stack/cluster.ts';
import { installCrd } from './stack/crd.ts';

let cluster: Cluster;
let client: KubeClient;

beforeAll(async () => {
  cluster = await startCluster('control-plane', inject('clusterBuilds'));
  client = new KubeClient(await readKubeconfig(cluster.kubernetes.kubeconfig, readOneDocument));
  await installCrd(cluster.kubernetes);
});

closeAfterTests(() => cluster);

afterAll(async () => await client?.close());

async function applyGroup(name: string, cap: number): Promise<void> {
  const metadata = { name, namespace: 'default' };
  const spec = { ...GOOD, maxActiveRunners: cap };
  await cluster.kubernetes.apply({ apiVersion: 'gitea.bpg.pw/v1alpha1', kind: 'RunnerGroup', metadata, spec });
}

const within = { timeoutMs: 60_000 };

it('a copy of a kind follows the API server, and finds after its restart what happened meanwhile', async () => {
  const failures: Failure[] = [];
  const life = new AbortController();
  const watch = watchOf(client, RUNNER_GROUPS, 'default', {
    onChange: () => undefined,
    onFailure: (failure) => failures.push(failure),
  });
  const running = watch.run(life.signal);
  const names = (): string => [...watch.objects.keys()].sort().join();
  const capOf = (name: string): unknown =>
    (watch.objects.get(`default/${name}`)?.spec as { maxActiveRunners?: number } | undefined)?.maxActiveRunners;
  try {
    await waitUntil('list', async () => watch.isFresh(), within);
    await applyGroup('one', 1);
    await waitUntil('see a new group', async () => names() === 'default/one', within);
    await applyGroup('one', 2);
    await waitUntil('see the change', async () => capOf('one') === 2, within);

    await cluster.machine.stop('kube-apiserver', 'KILL');
    await waitUntil('notice the end', async () => !watch.isFresh(), within);
    expect(names()).toBe('default/one');
    expect(failures.length).toBeGreaterThan(0);
    await cluster.kubernetes.restartApiServer();
    await applyGroup('two', 1);
    await cluster.kubernetes.kubectl(['delete', 'runnergroup', 'one']);
    await waitUntil('catch up', async () => watch.isFresh() && names() === 'default/two', within);
  } finally {
    life.abort();
    await running;
  }
});

const times: LeaseTimes = { leaseMs: 3_000, renewDeadlineMs: 2_000, retryMs: 300 };
let number = 0;

/** A replica that notes when it begins and ends to lead. */
function replica(name: string, log: string[]) {
  const life = new AbortController();
  const failures: Failure[] = [];
  const options = { namespace: 'default', name: `lease-${number}`, identity: name, address: `http://${name}`, times };
  const lease = leaseOf(client, { ...options, onFailure: (failure) => failures.push(failure) });
  const running = lease.run(life.signal, async (leading) => {
    log.push(`+${name}`);
    await new Promise<void>((done) => leading.addEventListener('abort', () => done(), { once: true }));
    log.push(`-${name}`);
  });
  const end = async (): Promise<void> => {
    life.abort();
    await running;
  };
  return { lease, end, failures };
}

it('a Lease is held by one of several, and goes to another one when it is given back', async () => {
  number += 1;
  const log: string[] = [];
  const one = replica('one', log);
  await waitUntil('lead', async () => log.length === 1, within);
  const two = replica('two', log);
  await waitUntil('know the leader', async () => two.lease.otherHolder() === 'http://one', within);
  await sleep(2 * times.leaseMs);
  expect(log).toEqual(['+one']);

  await one.end();
  await waitUntil('take over', async () => log.includes('+two'), within);
  expect(log).toEqual(['+one', '-one', '+two']);
  await two.end();
  expect([...one.failures, ...two.failures]).toEqual([]);
});

it('a Lease goes to another one when its holder is gone without a word', async () => {
  number += 1;
  const log: string[] = [];
  const dead = JSON.stringify({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: {
      name: `lease-${number}`,
      namespace: 'default',
      annotations: { 'gitea.bpg.pw/address': 'http://dead' },
    },
    spec: { holderIdentity: 'dead', leaseDurationSeconds: 3, renewTime: '2026-11-21T10:00:00.000000Z' },
  });
  await cluster.kubernetes.kubectl(['create', '-f', '-'], dead);
  const heir = replica('heir', log);
  await waitUntil('know the dead leader', async () => heir.lease.otherHolder() === 'http://dead', within);
  expect(log).toEqual([]);
  await waitUntil('take over', async () => log.length === 1, within);
  await heir.end();

  expect(log).toEqual(['+heir', '-heir']);
});

it('a Lease ends the lead of a holder that cannot renew it, before anybody else may lead', async () => {
  number += 1;
  const log: string[] = [];
  const holder = replica('holder', log);
  await waitUntil('lead', async () => log.length === 1, within);
  await cluster.machine.stop('kube-apiserver', 'KILL');
  await waitUntil('give up', async () => log.length === 2, within);
  await cluster.kubernetes.restartApiServer();
  await waitUntil('lead again', async () => log.length === 3, within);
  await holder.end();

  expect(log).toEqual(['+holder', '-holder', '+holder', '-holder']);
  expect(holder.failures.every((failure) => failure instanceof Failure)).toBe(true);
  expect(holder.failures.length).toBeGreaterThan(0);
});
