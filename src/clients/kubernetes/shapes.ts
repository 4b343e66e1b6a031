/**
 * The fields of Jobs and Pods that `judgeJob` uses (Kubernetes 1.34 `batch/v1`, `v1`). Strict on these: a Job that cannot be
 * read is an error, never a Job that is not there. All other fields may be anything.
 */
import * as z from 'zod';

const time = z.iso.datetime({ offset: true }).transform((text) => Date.parse(text));

const condition = z.object({
  type: z.string(),
  status: z.string(),
  reason: z.string().nullish(),
  lastTransitionTime: time.nullish(),
});

const metadata = z.object({
  name: z.string().min(1),
  namespace: z.string().min(1),
  uid: z.string().min(1),
  creationTimestamp: time,
  deletionTimestamp: time.nullish(),
});

/** A Kubernetes Job. Times are ms since 1970. */
export const KubeJob = z.object({
  metadata: metadata.extend({ annotations: z.record(z.string(), z.string()).nullish() }),
  spec: z
    .object({
      template: z
        .object({
          // Containers are read where they are needed: each Job has dozens of variables.
          spec: z.object({ priorityClassName: z.string().nullish(), containers: z.unknown().optional() }).nullish(),
        })
        .nullish(),
    })
    .nullish(),
  status: z
    .object({
      conditions: z.array(condition).nullish(),
      completionTime: time.nullish(),
      succeeded: z.number().nullish(),
      failed: z.number().nullish(),
    })
    .nullish(),
});
export type KubeJob = z.infer<typeof KubeJob>;

const JobSpec = KubeJob.shape.spec.unwrap().unwrap();
const Template = JobSpec.shape.template.unwrap().unwrap();
const PodSpec = Template.shape.spec.unwrap().unwrap();
/** The same with the whole spec. A Job that the API server has stored always has a selector. */
export const WholeJob = KubeJob.extend({
  spec: JobSpec.extend({
    selector: z.unknown().optional(),
    template: Template.extend({ spec: PodSpec.loose().nullish() }).loose().nullish(),
  })
    .loose()
    .nullish(),
});

/** One of a pod's containers, as `status.containerStatuses` shows it: exactly one of the three states, or none yet. */
const containerStatus = z.object({
  name: z.string(),
  state: z
    .object({
      waiting: z.object({ reason: z.string().nullish(), message: z.string().nullish() }).nullish(),
      running: z.object({ startedAt: time.nullish() }).nullish(),
      terminated: z
        .object({ exitCode: z.number(), reason: z.string().nullish(), finishedAt: time.nullish() })
        .nullish(),
    })
    .nullish(),
});

const podCondition = z.object({
  type: z.string(),
  status: z.string(),
  reason: z.string().nullish(),
  message: z.string().nullish(),
});

/** A Kubernetes Pod. */
export const KubePod = z.object({
  metadata: metadata.extend({
    ownerReferences: z.array(z.object({ kind: z.string(), name: z.string().nullish(), uid: z.string() })).nullish(),
  }),
  status: z
    .object({
      phase: z.string().nullish(),
      reason: z.string().nullish(),
      message: z.string().nullish(),
      conditions: z.array(podCondition).nullish(),
      initContainerStatuses: z.array(containerStatus).nullish(),
      containerStatuses: z.array(containerStatus).nullish(),
    })
    .nullish(),
});
export type KubePod = z.infer<typeof KubePod>;

/** One page of a list; `continue` is empty or absent on the last one. */
export const KubeList = z.object({
  kind: z.string().endsWith('List'),
  metadata: z.object({ continue: z.string().nullish(), resourceVersion: z.string().nullish() }),
  items: z.array(z.unknown()),
});
