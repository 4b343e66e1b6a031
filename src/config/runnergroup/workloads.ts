/** Which objects of a cluster start pods, as far as their text shows. */
import { wordSet } from '../../shared/keys.ts';

/** Kinds that start pods, or that hold a template for them. An object of any API group may have such a name. */
const WORKLOADS = wordSet(
  'CronJob DaemonSet Deployment Job Pod PodTemplate ReplicaSet ReplicationController StatefulSet ' +
    // Kinds of Argo Workflows, Argo Rollouts, Tekton, KEDA and Spark.
    'ClusterWorkflowTemplate CronWorkflow Workflow WorkflowTemplate Rollout ' +
    'ClusterTask Pipeline PipelineRun Task TaskRun ScaledJob ScheduledSparkApplication SparkApplication',
);

/** True for an object of such a kind, or with a pod anywhere in it: a list of `containers`, one of them with an image. */
export function startsPods(object: object): boolean {
  if ('kind' in object && WORKLOADS.has(String(object.kind))) return true;
  return partsOf(object).some(
    (part) => 'containers' in part && Array.isArray(part.containers) && part.containers.some(hasImage),
  );
}

/** Returns an object with all objects and lists in it. Each is there once, because aliases of YAML may lead to it many times. */
export function partsOf(object: object): readonly object[] {
  const parts = new Set([object]);
  for (const part of parts)
    for (const inner of Object.values(part)) if (typeof inner === 'object' && inner !== null) parts.add(inner);
  return [...parts];
}

function hasImage(container: unknown): boolean {
  return typeof container === 'object' && container !== null && 'image' in container;
}
