/** `install/cache.yaml`. Its command runs in test/servers/runner-config.test.ts. */
import { expect, test } from 'vitest';
import type { Mapping } from '../../src/config/pods/pod-schema.ts';
import { securityViolations } from '../../src/config/pods/pod-security.ts';
import { RUNNER_APP } from '../../src/shared/marks.ts';
import { type KubeObject, objects } from './manifests.ts';

function the(kind: string): KubeObject {
  const found = objects('cache.yaml').find((object) => object.kind === kind);
  if (!found) throw new Error(`cache.yaml has no ${kind}`);
  return found;
}

const { metadata, spec } = Object(the('Deployment')['spec']).template;

test('the pod of the cache server breaks no rule of restricted', () => {
  expect(securityViolations({ metadata, spec } as Mapping, 'restricted')).toEqual([]);
});

test('the pod has the secret from a Secret, and no token of the cluster', () => {
  expect(JSON.stringify(spec)).toContain(
    '{"name":"GITEA_RUNNER_CACHE_SECRET","valueFrom":{"secretKeyRef":{"key":"secret","name":"gitea-runner-cache"}}}',
  );
  expect(spec['automountServiceAccountToken']).toBe(false);
});

test('the cache server is reached by runners only, and reaches nobody', () => {
  expect(the('NetworkPolicy')['spec']).toEqual({
    podSelector: { matchLabels: metadata.labels },
    policyTypes: ['Ingress', 'Egress'],
    ingress: [{ from: [{ podSelector: { matchLabels: RUNNER_APP } }], ports: [{ protocol: 'TCP', port: 8088 }] }],
    egress: [],
  });
});

test('the Service of the cache has the name and port by which clients are told to come', () => {
  const service = the('Service');
  const { name, namespace } = service.metadata;
  const { selector, ports } = Object(service['spec']);

  expect(selector).toEqual(metadata.labels);
  expect(ports).toHaveLength(1);
  expect(JSON.stringify(spec)).toContain(`"${name}.${namespace}.svc","${ports[0].port}"]`);
});
