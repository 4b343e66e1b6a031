import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import published from '../../../src/config/pods/pod-schema.json' with { type: 'json' };
import { fieldsOf, KUBERNETES_VERSION } from '../../../src/config/pods/pod-schema.ts';

const GO_MODULE = 'test/servers/go/k8s';

// The content of the published file is compared where Go is: test/servers/pods.test.ts. The checksum is over the
// whole module.
it('pod-schema.json was made of the Kubernetes release that the tests build: `node scripts/pod-schema.mjs` makes it anew', () => {
  const version = /^require k8s\.io\/kubernetes v(\S+)$/m.exec(readFileSync(`${GO_MODULE}/go.mod`, 'utf8'))?.[1];
  const sums = readFileSync(`${GO_MODULE}/go.sum`, 'utf8').split('\n');

  expect(KUBERNETES_VERSION).toBe(version);
  expect(sums).toContain(`k8s.io/kubernetes v${KUBERNETES_VERSION} ${published.checksum}`);
});

it('pod-schema.json is small', () => {
  expect(readFileSync('src/config/pods/pod-schema.json').length).toBeLessThan(16_384);
});

it('fieldsOf reads every type, and every struct that a field names is there', () => {
  const structs = Object.keys(published.types);

  expect(structs.length).toBeGreaterThan(100);
  for (const struct of structs) expect(fieldsOf(struct).size).toBeGreaterThan(0);
  const named = structs.flatMap((struct) =>
    [...fieldsOf(struct).values()].flatMap(({ type }) => {
      const inner = type.kind === 'list' || type.kind === 'mapping' ? type.element : type;
      return inner.kind === 'struct' ? [inner.name] : [];
    }),
  );
  for (const name of named) expect(structs).toContain(name);
});

it.each([
  ['PodSpec', 'containers', { key: 'name', retainKeys: false }],
  ['PodSpec', 'volumes', { key: 'name', retainKeys: true }],
  ['Container', 'env', { key: 'name', retainKeys: false }],
  ['Container', 'volumeMounts', { key: 'mountPath', retainKeys: false }],
  ['Container', 'ports', { key: 'containerPort', retainKeys: false }],
  ['ObjectMeta', 'finalizers', { retainKeys: false }],
  ['PodSpec', 'tolerations', undefined],
  ['Container', 'command', undefined],
  ['ResourceRequirements', 'claims', undefined],
])('fieldsOf knows how %s.%s is merged', (struct, field, merge) => {
  const type = fieldsOf(struct).get(field)?.type;

  expect(type?.kind === 'list' ? type.merge : 'no list').toEqual(merge);
});

it('fieldsOf knows no type that JavaScript gives every object', () => {
  expect(() => fieldsOf('constructor')).toThrow('no type constructor');
  expect(fieldsOf('PodSpec').has('constructor')).toBe(false);
});
