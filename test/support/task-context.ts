/** A context for tests of one task of the leader. It ends with the test. */
import { onTestFinished } from 'vitest';
import type { KubeClient } from '../../src/clients/kubernetes/kube-client.ts';
import type { LiveCluster } from '../../src/serve/cluster/live-cluster.ts';
import { openLossBook } from '../../src/serve/losses/losses.ts';
import type { ServeEvent } from '../../src/serve/planning/events.ts';
import { WorkQueue } from '../../src/serve/queue/work-queue.ts';
import type { TaskContext } from '../../src/serve/task.ts';
import { systemClock } from '../../src/shared/clock.ts';
import { quietGiteas } from './quiet-giteas.ts';

interface ContextParts extends Omit<Partial<TaskContext>, 'cluster'> {
  readonly cluster?: Partial<LiveCluster>;
}

/** Makes a context. Missing parts are quiet, empty and healthy. Tasks that write need `client`. */
export function taskContext({ cluster, ...over }: ContextParts = {}): {
  readonly context: TaskContext;
  /** Events of the task, the oldest first. */
  readonly told: readonly ServeEvent[];
} {
  const told: ServeEvent[] = [];
  const tell = (event: ServeEvent): void => void told.push(event);
  const { clock = systemClock } = over;
  const context: TaskContext = {
    clock,
    queue: new WorkQueue(clock),
    cluster: {
      fresh: true,
      mayRead: () => true,
      groups: () => [],
      runners: () => [],
      hasOtherPod: () => false,
      ...cluster,
    } satisfies Partial<LiveCluster> as unknown as LiveCluster,
    client: undefined as unknown as KubeClient,
    secretsClient: undefined as unknown as KubeClient,
    giteas: quietGiteas(),
    isWell: () => true,
    targetOf: () => new Map(),
    losses: openLossBook({ statusOf: () => undefined, hasPod: () => false, endToldBy: () => undefined }, tell),
    unregistered: new Map(),
    tell,
    changed: () => undefined,
    ...over,
  };
  onTestFinished(async () => {
    await Promise.all([context.queue.close(), context.giteas.close()]);
  });
  return { context, told };
}
