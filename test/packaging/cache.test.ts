/** `install/cache.yaml`. Its command runs in test/servers/runner-config.test.ts. */
import { expect, test } from 'vitest';
import * as z from 'zod';
import { securityViolations } from '../../src/config/pods/pod-security.ts';
import type { Mapping } from '../../src/config/pods/schema.ts';
import { RUNNER_APP } from '../../src/shared/marks.ts';
import { objects } from './manifests.ts';

const Labels = z.record(z.string(), z.string());

/** The object of a kind, as far as the shape says. */
function the<T extends z.ZodType>(kind: string, shape: T): z.output<T> {
  return shape.parse(objects('cache.yaml').find((object) => object.kind === kind));
}

const deployment = the(
  'Deployment',
  z.looseObject({
    spec: z.looseObject({
      template: z.looseObject({ metadata: z.object({ labels: Labels }), spec: z.looseObject({}) }),
    }),
  }),
);
const { metadata, spec } = deployment.spec.template;

test('the pod of the cache server breaks no rule of restricted', () => {
  expect(securityViolations({ metadata, spec } as Mapping, 'restricted')).toEqual([]);
});

test('the pod has the secret from a Secret, and no token of the cluster', () => {
  expect(JSON.stringify(spec)).toContain(
    '{"name":"GITEA_RUNNER_CACHE_SECRET","valueFrom":{"secretKeyRef":{"key":"secret","name":"gitea-runner-cache"}}}',
  );
  expect(spec['automountServiceAccountToken']).toBe(false);
});

test('only runners reach it, and it reaches nobody', () => {
  const shape = z.looseObject({
    spec: z.object({
      podSelector: z.object({ matchLabels: Labels }),
      policyTypes: z.array(z.string()),
      ingress: z.array(z.unknown()),
      egress: z.array(z.unknown()),
    }),
  });

  expect(the('NetworkPolicy', shape).spec).toEqual({
    podSelector: { matchLabels: metadata.labels },
    policyTypes: ['Ingress', 'Egress'],
    ingress: [{ from: [{ podSelector: { matchLabels: RUNNER_APP } }], ports: [{ protocol: 'TCP', port: 8088 }] }],
    egress: [],
  });
});

test('its Service has the name and port by which clients are told to come', () => {
  const service = the(
    'Service',
    z.looseObject({
      metadata: z.object({ name: z.string(), namespace: z.string() }).loose(),
      spec: z.object({ selector: Labels, ports: z.tuple([z.object({ port: z.number() }).loose()]) }),
    }),
  );
  const { name, namespace } = service.metadata;
  const [{ port }] = service.spec.ports;

  expect(service.spec.selector).toEqual(metadata.labels);
  expect(JSON.stringify(spec)).toContain(`"${name}.${namespace}.svc","${port}"]`);
});
