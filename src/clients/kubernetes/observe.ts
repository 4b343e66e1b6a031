/**
 * Reads our Jobs and their pods from Kubernetes. It only ever lists, in the namespaces it is told, with the label that all
 * our Jobs carry; everything it finds is judged by `judgeJob`. Any answer that is not a complete list is a `Failure`.
 */
import type { LiveJob } from '../../planner/evidence.ts';
import { groupBy } from '../../shared/keys.ts';
import { Deadline } from '../http/request.ts';
import { KubeClient, type KubeClientOptions } from './client.ts';
import type { ClusterConfig } from './config.ts';
import { judgeJob } from './judge.ts';
import { listAll } from './list.ts';
import { jobUidOf } from './pods.ts';
import { type KubePod, PODS, WHOLE_JOBS } from './resources.ts';

/** All Jobs of ours in these namespaces, each once, by namespace and name. Throws `Failure` (exit 1). */
export async function observeCluster(
  namespaces: readonly string[],
  config: ClusterConfig,
  { deadlineMs, ...options }: Pick<KubeClientOptions, 'clocks' | 'onRequest'> & { readonly deadlineMs: number },
): Promise<readonly LiveJob[]> {
  const deadline = new Deadline(deadlineMs);
  const client = new KubeClient(config, options);
  try {
    const found = await Promise.all(
      [...new Set(namespaces)].sort().map((namespace) => observeNamespace(client, namespace, deadline)),
    );
    return found.flat();
  } finally {
    await client.close();
  }
}

async function observeNamespace(
  client: KubeClient,
  namespace: string,
  deadline: Deadline,
): Promise<readonly LiveJob[]> {
  const [jobs, pods] = await Promise.all([
    listAll(client, WHOLE_JOBS, namespace, deadline),
    listAll(client, PODS, namespace, deadline),
  ]);
  const podsOf = podsByJob(pods.items);
  return jobs.items
    .map((job) => ({
      ...judgeJob(job, podsOf.get(job.metadata.uid) ?? []),
      ...(job.spec?.selector != null && { spec: job.spec }),
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Pods by the uid of the Job that made them. */
export function podsByJob(pods: Iterable<KubePod>): ReadonlyMap<string, readonly KubePod[]> {
  return groupBy(pods, jobUidOf);
}
