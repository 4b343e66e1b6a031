/** The kinds that are read: where they are listed, and which fields of an item are used. */
import * as z from 'zod';
import { OUR_SELECTOR } from '../../shared/marks.ts';
import { KubeJob, KubePod, WholeJob } from './shapes.ts';

/** A kind of object. */
export interface Resource<T> {
  /** As RBAC names it, e.g. `jobs.batch`. */
  readonly name: string;
  /** Where its API begins, e.g. `/apis/batch/v1`. */
  readonly root: string;
  /** Last segment of its paths, e.g. `jobs`. */
  readonly plural: string;
  /** Objects without this label are not read. */
  readonly labelSelector?: string;
  readonly item: z.ZodType<T>;
}

const texts = z.record(z.string(), z.string()).nullish();

export const JOBS: Resource<KubeJob> = {
  name: 'jobs.batch',
  root: '/apis/batch/v1',
  plural: 'jobs',
  labelSelector: OUR_SELECTOR,
  item: KubeJob,
};

export const WHOLE_JOBS = { ...JOBS, item: WholeJob };

/** A Job with what Argo CD and people read of it. */
const TrackedJob = KubeJob.extend({ metadata: KubeJob.shape.metadata.extend({ annotations: texts, labels: texts }) });
export type TrackedJob = z.infer<typeof TrackedJob>;
export const TRACKED_JOBS: Resource<TrackedJob> = { ...JOBS, item: TrackedJob };

export const PODS: Resource<KubePod> = {
  name: 'pods',
  root: '/api/v1',
  plural: 'pods',
  labelSelector: OUR_SELECTOR,
  item: KubePod,
};

/** A RunnerGroup as it stands in the cluster; its spec is judged by src/config/runnergroup. */
const RunnerGroupObject = z.object({
  metadata: z.object({
    name: z.string().min(1),
    namespace: z.string().min(1),
    uid: z.string().min(1),
    generation: z.int().min(0).nullish(),
    annotations: texts,
  }),
  spec: z.unknown().optional(),
  status: z.unknown().optional(),
});
export type RunnerGroupObject = z.infer<typeof RunnerGroupObject>;
export const RUNNER_GROUPS: Resource<RunnerGroupObject> = {
  name: 'runnergroups.gitea.bpg.pw',
  root: '/apis/gitea.bpg.pw/v1alpha1',
  plural: 'runnergroups',
  item: RunnerGroupObject,
};

/** Path of one object. */
export function objectPath(resource: Resource<unknown>, namespace: string, name: string): string {
  return `${listPath(resource, namespace)}/${encodeURIComponent(name)}`;
}

/** Path of a kind's list. @param namespace undefined: all namespaces. */
export function listPath({ root, plural }: Resource<unknown>, namespace: string | undefined): string {
  return namespace === undefined
    ? `${root}/${plural}`
    : `${root}/namespaces/${encodeURIComponent(namespace)}/${plural}`;
}
