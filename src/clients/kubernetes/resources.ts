/** The kinds that are read: which fields of an item are used, and where they are listed. */
import * as z from 'zod';
import { OUR_SELECTOR } from '../../shared/marks.ts';

// Most fields of Kubernetes may be absent or null.
const string = z.string().nullish();
const strings = z.record(z.string(), z.string()).nullish();
const number = z.number().nullish();
const writtenTime = z.iso.datetime({ offset: true }).transform((text) => Date.parse(text));
const time = writtenTime.nullish();
const why = { reason: string, message: string };

const condition = z.object({ type: z.string(), status: z.string(), ...why, lastTransitionTime: time });
export type Condition = z.infer<typeof condition>;

const identity = { name: z.string().min(1), namespace: z.string().min(1), uid: z.string().min(1) };
const metadata = z.object({ ...identity, creationTimestamp: writtenTime, deletionTimestamp: time });

/** The used fields of a Job (Kubernetes 1.34). Strict: an unreadable Job is an error, never a missing Job. */
export const KubeJob = z.object({
  metadata: metadata.extend({ annotations: strings, labels: strings, generation: number }),
  spec: z
    .object({
      suspend: z.boolean().nullish(),
      managedBy: string,
      template: z
        .object({
          // Containers are read where they are needed: each Job has dozens of variables.
          spec: z.object({ priorityClassName: string, containers: z.unknown().optional() }).nullish(),
        })
        .nullish(),
    })
    .nullish(),
  status: z
    .object({
      conditions: z.array(condition).nullish(),
      startTime: time,
      completionTime: time,
      active: number,
      ready: number,
      terminating: number,
      succeeded: number,
      failed: number,
    })
    .nullish(),
});
export type KubeJob = z.infer<typeof KubeJob>;

const JobSpec = KubeJob.shape.spec.unwrap().unwrap();
const Template = JobSpec.shape.template.unwrap().unwrap();
const PodSpec = Template.shape.spec.unwrap().unwrap();
/** A Job with its whole spec. A Job that the API server has stored always has a selector. */
const WholeJob = KubeJob.extend({
  spec: JobSpec.extend({
    selector: z.unknown().optional(),
    template: Template.extend({ spec: PodSpec.loose().nullish() }).loose().nullish(),
  })
    .loose()
    .nullish(),
});

const terminated = z.object({ exitCode: z.number(), ...why, startedAt: time, finishedAt: time }).nullish();

/** State of a pod's container, as `status.containerStatuses` shows it: exactly one of the three states, or none yet. */
const containerStatus = z.object({
  name: z.string(),
  /** False until its startup probe has passed. The containers behind a sidecar wait for that. */
  started: z.boolean().nullish(),
  state: z
    .object({ waiting: z.object(why).nullish(), running: z.object({ startedAt: time }).nullish(), terminated })
    .nullish(),
  /** How the container ended before it was started again. */
  lastState: z.object({ terminated }).nullish(),
});

const claim = z.object({ claimName: z.string() }).nullish();

export const KubePod = z.object({
  metadata: metadata.extend({
    ownerReferences: z.array(z.object({ kind: z.string(), name: string, uid: z.string() })).nullish(),
  }),
  spec: z
    .object({
      nodeName: string,
      schedulerName: string,
      schedulingGates: z.array(z.object({ name: z.string() })).nullish(),
      initContainers: z.array(z.object({ name: z.string(), restartPolicy: string })).nullish(),
      /** Only volumes with a claim. */
      volumes: z
        .array(z.object({ name: z.string(), persistentVolumeClaim: claim, ephemeral: z.object({}).nullish() }))
        .transform((all) => all.filter((each) => each.persistentVolumeClaim || each.ephemeral))
        .nullish(),
    })
    .nullish(),
  status: z
    .object({
      phase: string,
      ...why,
      conditions: z.array(condition).nullish(),
      initContainerStatuses: z.array(containerStatus).nullish(),
      containerStatuses: z.array(containerStatus).nullish(),
    })
    .nullish(),
});
export type KubePod = z.infer<typeof KubePod>;

/** One page of a list. `continue` is empty or absent on the last page. */
export const KubeList = z.object({
  kind: z.string().endsWith('List'),
  metadata: z.object({ continue: string, resourceVersion: string }),
  items: z.array(z.unknown()),
});

export interface Resource<T> {
  /** As RBAC names it, e.g. `jobs.batch`. */
  readonly name: string;
  /** Root of the resource's API, e.g. `/apis/batch/v1`. */
  readonly root: string;
  /** Last segment of its paths, e.g. `jobs`. */
  readonly plural: string;
  /** Objects without this label are not read. */
  readonly labelSelector?: string;
  readonly item: z.ZodType<T>;
  /** Kind as a tracking id names it. Absent: its Application is never asked for. */
  readonly kind?: string;
}

const OURS = { labelSelector: OUR_SELECTOR };

export const JOBS: Resource<KubeJob> = {
  ...OURS,
  name: 'jobs.batch',
  root: '/apis/batch/v1',
  plural: 'jobs',
  kind: 'batch/Job',
  item: KubeJob,
};

export const WHOLE_JOBS = { ...JOBS, item: WholeJob };

export const PODS: Resource<KubePod> = { ...OURS, name: 'pods', root: '/api/v1', plural: 'pods', item: KubePod };

/** A RunnerGroup as it stands in the cluster; its spec is judged by src/config/runnergroup. */
const RunnerGroupObject = z.object({
  metadata: z.object({ ...identity, generation: z.int().min(0).nullish(), annotations: strings, labels: strings }),
  spec: z.unknown().optional(),
  status: z.unknown().optional(),
});
export type RunnerGroupObject = z.infer<typeof RunnerGroupObject>;
export const RUNNER_GROUPS: Resource<RunnerGroupObject> = {
  name: 'runnergroups.gitea.bpg.pw',
  root: '/apis/gitea.bpg.pw/v1alpha1',
  plural: 'runnergroups',
  kind: 'gitea.bpg.pw/RunnerGroup',
  item: RunnerGroupObject,
};

export function selectorOf({ labelSelector }: Resource<unknown>): { readonly labelSelector?: string } {
  return labelSelector === undefined ? {} : { labelSelector };
}

export function objectPath(resource: Resource<unknown>, namespace: string, name: string): string {
  return `${listPath(resource, namespace)}/${encodeURIComponent(name)}`;
}

/** Path of a kind's list. @param namespace undefined: all namespaces. */
export function listPath({ root, plural }: Resource<unknown>, namespace: string | undefined): string {
  return namespace === undefined
    ? `${root}/${plural}`
    : `${root}/namespaces/${encodeURIComponent(namespace)}/${plural}`;
}
