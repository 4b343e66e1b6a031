/** The fields of Kubernetes' and Argo CD's objects that `doctor` judges. */
import * as z from 'zod';

const texts = z.record(z.string(), z.string());

export const Version = z.looseObject({ major: z.string(), minor: z.string() });

const Container = z.looseObject({
  name: z.string(),
  image: z.string(),
  command: z.array(z.string()).default([]),
  volumeMounts: z.array(z.looseObject({ name: z.string(), mountPath: z.string() })).default([]),
});
const Volume = z.looseObject({
  name: z.string(),
  secret: z.looseObject({ secretName: z.string().optional() }).optional(),
});
export const Deployment = z.looseObject({
  spec: z.looseObject({
    replicas: z.int().default(1),
    template: z.looseObject({
      spec: z.looseObject({
        serviceAccountName: z.string().default('default'),
        containers: z.array(Container),
        volumes: z.array(Volume).default([]),
      }),
    }),
  }),
  status: z.looseObject({ readyReplicas: z.int().default(0) }).default({ readyReplicas: 0 }),
});
export type Deployment = z.output<typeof Deployment>;

/** ConfigMaps and Secrets. */
export const WithData = z.looseObject({ data: texts.default({}) });
export type WithData = z.output<typeof WithData>;

export const Namespace = z.looseObject({
  metadata: z.looseObject({ labels: texts.default({}), deletionTimestamp: z.string().optional() }),
});
export type Namespace = z.output<typeof Namespace>;

export const Crd = z.looseObject({
  spec: z.looseObject({ versions: z.array(z.looseObject({ name: z.string(), schema: z.unknown() })) }),
});
export type Crd = z.output<typeof Crd>;

export const Application = z.looseObject({
  metadata: z.looseObject({ name: z.string(), namespace: z.string(), annotations: texts.default({}) }),
  spec: z.looseObject({
    project: z.string().default('default'),
    destination: z.looseObject({ namespace: z.string().optional() }).default({}),
    source: z.looseObject({ plugin: z.looseObject({ name: z.string().optional() }).optional() }).optional(),
    syncPolicy: z
      .looseObject({
        automated: z
          .looseObject({
            prune: z.boolean().optional(),
            allowEmpty: z.boolean().optional(),
            selfHeal: z.boolean().optional(),
          })
          .optional(),
        syncOptions: z.array(z.string()).default([]),
      })
      .optional(),
    ignoreDifferences: z.array(z.looseObject({ kind: z.string() })).default([]),
  }),
  status: z
    .looseObject({
      conditions: z.array(z.looseObject({ type: z.string(), message: z.string() })).default([]),
    })
    .optional(),
});
export type Application = z.output<typeof Application>;

/** Where it can be reached. */
export const Service = z.looseObject({
  spec: z.looseObject({
    clusterIP: z.string().optional(),
    clusterIPs: z.array(z.string()).default([]),
    externalIPs: z.array(z.string()).default([]),
  }),
  status: z
    .looseObject({
      loadBalancer: z
        .looseObject({
          ingress: z.array(z.looseObject({ ip: z.string().optional(), hostname: z.string().optional() })).default([]),
        })
        .default({ ingress: [] }),
    })
    .default({ loadBalancer: { ingress: [] } }),
});
export type Service = z.output<typeof Service>;

const Taint = z.looseObject({ key: z.string(), value: z.string().default(''), effect: z.string() });
export const Node = z.looseObject({
  metadata: z.looseObject({ name: z.string(), labels: texts.default({}) }),
  spec: z
    .looseObject({ taints: z.array(Taint).default([]), unschedulable: z.boolean().default(false) })
    .default({ taints: [], unschedulable: false }),
  status: z.looseObject({ allocatable: texts.default({}) }).default({ allocatable: {} }),
});
export type Node = z.output<typeof Node>;

/** Pods of `serve`. */
export const ServePod = z.looseObject({
  metadata: z.looseObject({ name: z.string() }),
  status: z.looseObject({ phase: z.string().optional() }).default({}),
});

/** A list of one of these. */
export const listOf = <T extends z.ZodType>(item: T) =>
  z.looseObject({ items: z.array(item) }).transform(({ items }) => items);
