/** Lists the Jobs of this program, their pods, and RunnerGroups. Anything but a complete list is a `Failure`. */
import type { PodCounts } from '../../planner/evidence.ts';
import { groupBy, keyText } from '../../shared/keys.ts';
import { SUSPENDED } from '../../shared/marks.ts';
import { printable } from '../../shared/printable.ts';
import { Deadline } from '../http/request.ts';
import type { ClusterConfig } from './config.ts';
import { judgeJob } from './judge-job.ts';
import { KubeClient, type KubeClientOptions } from './kube-client.ts';
import { endToldBy, jobKeyOf, jobOf } from './kube-pods.ts';
import { listAll } from './list.ts';
import { type KubePod, PODS, RUNNER_GROUPS, type RunnerGroupObject, WHOLE_JOBS } from './resources.ts';

type ClusterOptions = Pick<KubeClientOptions, 'clocks' | 'onRequest'> & { readonly deadlineMs: number };

/** Returns all Jobs of this program in these namespaces, by namespace and name. @throws Failure exit 1 */
export async function observeCluster(...where: Parameters<typeof observeRunners>) {
  return (await observeRunners(...where)).jobs;
}

/** Returns the Jobs as `observeCluster`, and the pods that may still work. @throws Failure exit 1 */
export async function observeRunners(namespaces: readonly string[], config: ClusterConfig, options: ClusterOptions) {
  const seen = await inNamespaces(namespaces, config, options, async (...of) => [await observeNamespace(...of)]);
  return { jobs: seen.flatMap(({ jobs }) => jobs), pods: countAlive(seen.flatMap(({ pods }) => pods)) };
}

/** Lists RunnerGroups. @throws Failure exit 1; `cluster-forbidden`: no right to read them; `not-found`: no CRD */
export async function runnerGroupsIn(namespaces: readonly string[], config: ClusterConfig, options: ClusterOptions) {
  return await inNamespaces(namespaces, config, options, async (client, namespace, deadline) => {
    return (await listAll(client, RUNNER_GROUPS, namespace, deadline)).items;
  });
}

const LONGEST_SUSPENSION = 200;

/** Returns the RunnerGroups that are suspended in the cluster (`SUSPENDED`), with the text written there, by key. */
export function suspendedOf(objects: readonly RunnerGroupObject[]): ReadonlyMap<string, string> {
  const texts = objects.map((object) => [keyText(object.metadata), suspensionOf(object)] as const);
  return new Map(texts.flatMap(([key, text]) => (text === undefined ? [] : [[key, text]])));
}

/** Returns the text of a group's suspension in the cluster. Undefined: it is not suspended there. */
export function suspensionOf({ metadata }: RunnerGroupObject): string | undefined {
  const text = metadata.annotations?.[SUSPENDED];
  return text === undefined ? undefined : printable(text.slice(0, LONGEST_SUSPENSION));
}

async function inNamespaces<T>(
  namespaces: readonly string[],
  config: ClusterConfig,
  { deadlineMs, ...options }: ClusterOptions,
  read: (client: KubeClient, namespace: string, deadline: Deadline) => Promise<readonly T[]>,
): Promise<readonly T[]> {
  const deadline = new Deadline(deadlineMs);
  const client = new KubeClient(config, options);
  try {
    const sorted = [...new Set(namespaces)].sort();
    return (await Promise.all(sorted.map((namespace) => read(client, namespace, deadline)))).flat();
  } finally {
    await client.close();
  }
}

async function observeNamespace(client: KubeClient, namespace: string, deadline: Deadline) {
  const [jobs, pods] = await Promise.all([
    listAll(client, WHOLE_JOBS, namespace, deadline),
    listAll(client, PODS, namespace, deadline),
  ]);
  const podsOf = podsByJob(pods.items);
  const liveJobs = jobs.items.map((job) => {
    const liveJob = judgeJob(job, podsOf.get(job.metadata.uid) ?? []);
    // `suspend` belongs to others, who may change it before this spec is applied.
    const { suspend: _, ...spec } = job.spec ?? {};
    return spec.selector == null ? liveJob : { ...liveJob, spec };
  });
  return { jobs: liveJobs.sort((a, b) => (a.name < b.name ? -1 : 1)), pods: pods.items };
}

/** Counts the pods whose end no kubelet has reported. */
export function countAlive(pods: readonly KubePod[]): PodCounts {
  const alive = groupBy(pods, (pod) => (endToldBy(pod) === 'kubelet' ? undefined : jobKeyOf(pod)));
  return new Map([...alive].map(([key, { length }]) => [key, length]));
}

export function podsByJob(pods: Iterable<KubePod>): ReadonlyMap<string, readonly KubePod[]> {
  return groupBy(pods, (pod) => jobOf(pod)?.uid);
}
