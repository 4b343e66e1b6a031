/** Law V7 (docs/spec.md): the status of a group during a write of it. Real requests. */
import { expect, it, onTestFinished } from 'vitest';
import { KubeClient } from '../../../src/clients/kubernetes/kube-client.ts';
import { RunnerGroupStatus } from '../../../src/config/runnergroup/status.ts';
import { writeStatuses } from '../../../src/serve/writers.ts';
import { startApiServer } from '../../support/api-server.ts';
import { taskContext } from '../../support/task-context.ts';
import { verdictOf } from '../../support/verdict.ts';
import { until } from '../rig.ts';

it('a group that is again as it was before the write that is under way shows that', async () => {
  let held: (() => void) | undefined;
  let isHeld = false;
  const cluster = await startApiServer({
    override: (_, __, { method }, handle) => {
      if (!isHeld || method !== 'PATCH') return false;
      held = handle;
      return true;
    },
  });
  const object = cluster.put('runnergroups', { metadata: { namespace: 'runners', name: 'ci' } });
  const client = new KubeClient(cluster.config);
  onTestFinished(() => client.close());
  const hear = writeStatuses(taskContext({ client, cluster: { statusOf: () => undefined } }).context);
  const tell = (activeRunners: number): void => {
    const facts = { generation: 1, suspended: false, activeRunners, argocd: { is: 'unmanaged' } } as const;
    const groups = [{ live: { key: 'runners/ci', object }, runners: [], facts }];
    hear({ is: 'planned', verdict: verdictOf({ groups }), ms: 0 });
  };
  const shown = () => RunnerGroupStatus.safeParse(cluster.all('runnergroups')[0]?.['status']).data?.activeRunners;
  tell(1);
  await until('the first status', () => shown() === 1);

  isHeld = true;
  tell(2);
  await until('the write of the second one', () => held !== undefined);
  tell(1);
  isHeld = false;
  held?.();
  await until('the second status', () => shown() === 2);

  await until('the first status again', () => shown() === 1);
  expect(cluster.writes).toHaveLength(3);
});
