/** Files that are no Kubernetes objects: compose files, a runner's config.yaml, values of ARC. As objects that `import` knows. */
import * as z from 'zod';

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

/** Each service as a Deployment with one container. Undefined: this is no compose file. */
export function deploymentsOf(value: unknown): readonly object[] | undefined {
  const read = Compose.safeParse(value);
  return (
    read.data &&
    Object.entries(read.data.services).map(([name, { image, environment, volumes, deploy }]) => ({
      kind: 'Deployment',
      metadata: { name },
      spec: {
        replicas: deploy?.replicas ?? 1,
        template: {
          spec: {
            containers: [{ name, image, env: Object.entries(environment ?? {}).map(variable) }],
            volumes: (volumes ?? []).map((volume) => ({ name: JSON.stringify(volume) })),
          },
        },
      },
    }))
  );
}

/** `${NAME}` comes from the environment of docker, which no file says. */
function variable([name, value]: [string, unknown]) {
  return { name, ...(value != null && !String(value).includes('${') && { value: String(value) }) };
}
