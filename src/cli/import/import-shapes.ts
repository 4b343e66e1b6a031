/** A pod as far as `import` reads it. All else goes over as it is. */
import * as z from 'zod';

const Named = z.looseObject({ name: z.string() });
const KeyRef = Named.extend({ key: z.string() });
const Variable = Named.extend({
  value: z.string().optional(),
  valueFrom: z.looseObject({ secretKeyRef: KeyRef.optional(), configMapKeyRef: KeyRef.optional() }).optional(),
});
const FromAll = z.looseObject({
  prefix: z.string().optional(),
  secretRef: Named.optional(),
  configMapRef: Named.optional(),
});
/** Kubernetes takes `cpu: 0.5`; a quantity here is a string or a whole number. */
const Quantities = z.record(z.string(), z.coerce.string()).or(z.unknown()).optional();
const OldContainer = Named.extend({
  image: z.string().default(''),
  command: z.array(z.string()).default([]),
  args: z.array(z.string()).default([]),
  restartPolicy: z.string().optional(),
  env: z.array(Variable).default([]),
  envFrom: z.array(FromAll).default([]),
  volumeMounts: z.array(Named.extend({ mountPath: z.string(), subPath: z.string().optional() })).default([]),
  resources: z.looseObject({ requests: Quantities, limits: Quantities }).optional(),
});
const Items = z.array(z.looseObject({ key: z.string(), path: z.string() })).optional();
const isOptional = z.boolean().optional();
const Source = Named.extend({ items: Items, optional: isOptional }).optional();
const Volume = Named.extend({
  configMap: Source,
  secret: z.looseObject({ secretName: z.string(), items: Items, optional: isOptional }).optional(),
  projected: z
    .looseObject({ sources: z.array(z.looseObject({ configMap: Source, secret: Source })).optional() })
    .optional(),
});
const PodSpec = z.looseObject({
  containers: z.array(OldContainer).min(1),
  initContainers: z.array(OldContainer).default([]),
  volumes: z.array(Volume).default([]),
  serviceAccountName: z.string().optional(),
});
export const Pod = z.looseObject({ metadata: z.looseObject({}).default({}), spec: PodSpec });
export type Pod = z.output<typeof Pod>;
export type PodSpec = z.output<typeof PodSpec>;
export type OldContainer = z.output<typeof OldContainer>;
