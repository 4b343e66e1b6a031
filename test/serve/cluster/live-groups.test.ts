/** Tests when a RunnerGroup of a cluster is parsed, and that each has turns of its own (law V230). */
import { expect, it, onTestFinished, vi } from 'vitest';
import type { KubeObject } from '../../../simulator/kubernetes/objects.ts';
import { KubeClient } from '../../../src/clients/kubernetes/kube-client.ts';
import { openLiveCluster } from '../../../src/serve/cluster/live-cluster.ts';
import { systemClock } from '../../../src/shared/clock.ts';
import { LOOK_NOW } from '../../../src/shared/marks.ts';
import { startApiServer } from '../../support/api-server.ts';
import { managedGroup } from '../managed-group.ts';

function object(name: string, lookNow: string, maxActiveRunners = 5): KubeObject {
  const sizes = [{ name: 'large' }];
  const { metadata, ...group } = managedGroup('https://gitea.example.com', { sizes, maxActiveRunners });
  const annotations = { ...metadata.annotations, [LOOK_NOW]: lookNow };
  return { ...group, metadata: { ...metadata, name, annotations, generation: maxActiveRunners } } as KubeObject;
}

it('a RunnerGroup is parsed again when its spec changes, not when an annotation does, and never in one turn with others', async () => {
  const server = await startApiServer({ groups: {} });
  let turns = 0;
  const nextTurn = async (): Promise<void> => {
    turns += 1;
    await systemClock.nextTurn();
  };
  const client = new KubeClient(server.config, { clock: { ...systemClock, nextTurn } });
  const options = { namespaces: [], images: {}, tell: () => undefined, onChange: () => undefined };
  const cluster = openLiveCluster(client, options);
  const life = new AbortController();
  for (const name of ['a', 'b']) server.put('runnergroups', object(name, '1'));
  const running = cluster.run(life.signal);
  onTestFinished(async () => {
    life.abort();
    await running;
  });
  const maxOf = () => cluster.groups()[0]?.group?.maxActiveRunners;
  await vi.waitUntil(() => cluster.fresh && maxOf() === 5);

  const [before] = cluster.groups();
  server.put('runnergroups', object('a', '2'));
  await vi.waitUntil(() => cluster.groups()[0]?.object.metadata.annotations?.[LOOK_NOW] === '2');
  expect(cluster.groups()[0]?.group).toBe(before?.group);

  server.put('runnergroups', object('a', '2', 6));
  server.put('runnergroups', object('b', '2', 6));
  await vi.waitUntil(async () => {
    await cluster.readAhead();
    return maxOf() === 6 && cluster.groups()[1]?.group?.maxActiveRunners === 6;
  });
  // Each group is parsed, and each of its two pods is made.
  expect(turns).toBe(6);
});
