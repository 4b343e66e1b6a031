/** Files that are no Kubernetes objects, as Deployments: compose files, a runner's config.yaml, ARC's values and scale sets. */
import * as z from 'zod';
import { fromRunnerFile } from './runner-file.ts';

const Environment = z.union([
  z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])),
  z.array(z.string()).transform((lines) => Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2)))),
]);
const Compose = z.looseObject({
  services: z.record(
    z.string(),
    z.looseObject({
      image: z.string().default(''),
      environment: Environment.nullish(),
      volumes: z.array(z.unknown()).nullish(),
      deploy: z.looseObject({ replicas: z.coerce.number().int().optional() }).optional(),
    }),
  ),
});
const Arc = z.looseObject({
  githubConfigUrl: z.string(),
  runnerScaleSetName: z.string().default('arc'),
  maxRunners: z.int().default(10),
  containerMode: z.looseObject({ type: z.string() }).optional(),
  template: z
    .looseObject({ spec: z.looseObject({ containers: z.array(z.looseObject({ name: z.string() })) }) })
    .optional(),
});

/** Undefined: this is no such file. */
export function deploymentsOf(value: unknown): readonly object[] | undefined {
  const compose = Compose.safeParse(value).data;
  if (compose)
    return Object.entries(compose.services).map(([name, { image, environment, volumes, deploy }]) =>
      deployment(name, deploy?.replicas ?? 1, {
        containers: [{ name, image, env: Object.entries(environment ?? {}).map(variable) }],
        volumes: (volumes ?? []).map((volume) => ({ name: JSON.stringify(volume) })),
      }),
    );
  const arc = Arc.safeParse(z.looseObject({ spec: z.unknown() }).safeParse(value).data?.spec ?? value).data;
  if (!arc) return fromRunnerFile(value) ? [deployment('ci', 1, { containers: [runner()] })] : undefined;
  const { runnerScaleSetName: name, maxRunners, containerMode, template } = arc;
  // Jobs run in ARC's own container: a label without docker.
  const ours = { ...template?.spec.containers.find((each) => each.name === 'runner'), ...runner(name) };
  const docker = containerMode?.type === 'dind' ? [{ name: 'dind', image: 'docker:dind' }] : [];
  return [deployment(name, maxRunners, { ...template?.spec, containers: [ours, ...docker] })];
}

function deployment(name: string, replicas: number, spec: object): object {
  return { kind: 'Deployment', metadata: { name }, spec: { replicas, template: { spec } } };
}

function runner(labels = '') {
  const env = [
    { name: 'GITEA_INSTANCE_URL' },
    ...(labels === '' ? [] : [{ name: 'GITEA_RUNNER_LABELS', value: labels }]),
  ];
  return { name: 'runner', env };
}

/** `${NAME}` comes from the environment of docker, which no file says. */
function variable([name, value]: [string, unknown]) {
  return { name, ...(value != null && !String(value).includes('${') && { value: String(value) }) };
}
