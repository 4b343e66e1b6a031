/** Parses the output of `generate`, as far as a runner needs it. */
import { parseAllDocuments } from 'yaml';
import * as z from 'zod';

const Texts = z.record(z.string(), z.string());

const Env = z.object({
  name: z.string(),
  value: z.string().optional(),
  valueFrom: z
    .object({
      secretKeyRef: z.object({ name: z.string(), key: z.string(), optional: z.boolean().optional() }).optional(),
      fieldRef: z.object({ fieldPath: z.literal('status.podIP') }).optional(),
    })
    .optional(),
});

const Container = z.object({
  name: z.string(),
  command: z.array(z.string()).optional(),
  workingDir: z.string().optional(),
  env: z.array(Env),
  volumeMounts: z.array(z.object({ name: z.string(), mountPath: z.string().startsWith('/') })).default([]),
});

const Volume = z.object({
  name: z.string(),
  configMap: z.object({ name: z.string(), items: z.array(z.object({ key: z.string(), path: z.string() })) }).optional(),
});

const RunnerJob = z.object({
  apiVersion: z.literal('batch/v1'),
  kind: z.literal('Job'),
  metadata: z.object({
    name: z
      .string()
      .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/)
      .max(63),
    namespace: z.string(),
    labels: Texts,
    annotations: Texts.default({}),
  }),
  spec: z.object({
    ttlSecondsAfterFinished: z.number(),
    template: z.object({
      metadata: z.object({ annotations: Texts.default({}) }),
      spec: z.object({
        terminationGracePeriodSeconds: z.number(),
        /** The last one registers. */
        initContainers: z.array(Container).min(1),
        containers: z.tuple([Container]),
        volumes: z.array(Volume).optional(),
      }),
    }),
  }),
});

export type Container = z.infer<typeof Container>;

/** A Kubernetes Job of one runner. */
export type RunnerJob = z.infer<typeof RunnerJob>;

/** Parses the manifests. @throws if a document is not a Job of a runner, or two have one name */
export function readManifests(text: string): readonly RunnerJob[] {
  const documents = parseAllDocuments(text, { uniqueKeys: true }) as readonly { toJS(): unknown; errors: Error[] }[];
  const jobs = documents.map((document) => {
    if (document.errors[0]) throw document.errors[0];
    return RunnerJob.parse(document.toJS());
  });
  const names = jobs.map(({ metadata }) => metadata.name);
  if (new Set(names).size !== names.length) throw new Error(`two Jobs have one name: ${names.join(', ')}`);
  return jobs;
}

/** The RunnerGroup that a Job belongs to. */
export function groupOf(job: RunnerJob): string {
  return job.metadata.labels['gitea.bpg.pw/runnergroup-name'] ?? '';
}

/** True when the Job says that nothing may prune it. */
export function isPinned(job: RunnerJob): boolean {
  return job.metadata.annotations['argocd.argoproj.io/sync-options'] === 'Prune=false';
}

/** True if a sync must leave the Job as it is, and must not create it. */
export function isSkipped(job: RunnerJob): boolean {
  return job.metadata.annotations['argocd.argoproj.io/hook'] === 'Skip';
}

/** Returns the Job with other values of variables. Its name is that of its runner. */
export function variantOf(
  job: RunnerJob,
  values: Readonly<Record<string, string>> & { GITEA_RUNNER_NAME: string },
): RunnerJob {
  const changed = (container: Container): Container => ({
    ...container,
    env: container.env.map((each) => ({ ...each, ...(each.name in values && { value: values[each.name] }) })),
  });
  const { initContainers, containers, ...rest } = job.spec.template.spec;
  const [runner] = containers;
  const spec: typeof job.spec.template.spec = {
    ...rest,
    initContainers: initContainers.map(changed),
    containers: [changed(runner)],
  };
  const template = { ...job.spec.template, spec };
  return { ...job, metadata: { ...job.metadata, name: values.GITEA_RUNNER_NAME }, spec: { ...job.spec, template } };
}
