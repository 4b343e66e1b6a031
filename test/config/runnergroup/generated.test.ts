import { readFileSync } from 'node:fs';
import { Chart, Testing } from 'cdk8s';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { RunnerGroup } from '../../../imports/gitea.bpg.pw.ts';
import { fieldRows } from '../../../packaging/field-tables.ts';
import { withPart } from '../../../packaging/generated-part.ts';
import { Metadata, RunnerGroupDocument, Spec } from '../../../src/config/runnergroup/group-schema.ts';
import { jsonSchema } from '../../../src/config/runnergroup/json-schema.ts';
import { document, problemsIn } from '../../support/group-files.ts';

/** Every schema in a schema, with its path. */
function* walk(schema: unknown, path: string): Generator<readonly [string, Readonly<Record<string, unknown>>]> {
  if (typeof schema !== 'object' || schema === null) return;
  const node = schema as Readonly<Record<string, unknown>>;
  yield [path, node];
  for (const [name, inner] of Object.entries(node['properties'] ?? {})) yield* walk(inner, `${path}.${name}`);
  yield* walk(node['items'], `${path}[]`);
  yield* walk(node['additionalProperties'], `${path}.*`);
}

test('the CRD has a structural schema: a type everywhere and no word that the API server refuses', () => {
  const [version] = parse(readFileSync('install/crd.yaml', 'utf8')).spec.versions;
  const allowed =
    /^(?:type|format|description|enum|pattern|minimum|maximum|minLength|maxLength|maxItems|required|properties|items|additionalProperties|anyOf|x-kubernetes-[a-z-]+)$/;

  for (const [path, node] of walk(version.schema.openAPIV3Schema, 'root')) {
    const typed =
      'type' in node || 'x-kubernetes-int-or-string' in node || 'x-kubernetes-preserve-unknown-fields' in node;
    expect([path, typed]).toEqual([path, true]);
    expect([path, Object.keys(node).filter((word) => !allowed.test(word))]).toEqual([path, []]);
    expect([path, node['additionalProperties'] === false]).toEqual([path, false]);
    // RE2, which the API server uses, has no lookaround.
    expect([path, String(node['pattern'] ?? '')]).toEqual([path, expect.not.stringContaining('(?=')]);
  }
  expect(Object.keys(version.schema.openAPIV3Schema.properties.spec.properties)).toEqual(Object.keys(Spec.shape));
  expect(Object.keys(version.schema.openAPIV3Schema.properties.status.properties)).toEqual([
    'activeRunners',
    'queuedJobs',
    'heldJobs',
    'debuggingRunners',
    'debugging',
    'lastCheckTime',
    'observedGeneration',
    'lostJobs',
    'unregistered',
    'conditions',
  ]);
});

test('the JSON Schema closes what has fields, knows all of them and explains each', () => {
  const schema = jsonSchema();

  expect(schema).toMatchObject({ additionalProperties: false, required: ['apiVersion', 'kind', 'metadata', 'spec'] });
  expect(Object.keys(schema.properties ?? {})).toEqual(Object.keys(RunnerGroupDocument.shape));
  expect(Object.keys(schema.properties?.['metadata']?.properties ?? {})).toEqual(Object.keys(Metadata.shape));
  const spec = [...walk(schema.properties?.['spec'], 'spec')];
  expect(spec.filter(([, node]) => 'properties' in node && node['additionalProperties'] !== false)).toEqual([]);
  const unexplained = spec.map(([path, { description }]) => (description ? '' : path)).filter((path) => path !== '');
  // The runner's project explains the keys of the runner's own configuration.
  const ours = unexplained.filter((path) => !path.startsWith('spec.runnerConfig.'));
  expect(ours).toEqual([
    'spec.labels[]',
    'spec.idleSchedule[].days[]',
    'spec.sizes[].podTemplate.*',
    'spec.limits[].branches[]',
    'spec.repositories[]',
    'spec.order[]',
    'spec.podTemplate.*',
    'spec.setupCommand[]',
  ]);
  expect(JSON.stringify(schema)).not.toMatch(/defaultNote|9007199254740991/);
});

test('the JSON Schema takes what the reader takes', async () => {
  const asZod = z.fromJSONSchema(JSON.parse(JSON.stringify(jsonSchema())));
  const good = document({ labels: ['gpu'], defaultLabels: false, resources: { limits: { cpu: 1, memory: '1Gi' } } });
  const bad = document({ maxActiveRunners: -1 });
  const unknown = document({ warmRunners: 1 });

  const verdicts = [good, bad, unknown].map((text) => asZod.safeParse(JSON.parse(text)).success);

  expect(verdicts).toEqual([true, false, false]);
  expect(await problemsIn({ 'ci.yaml': good })).toEqual([]);
});

test('the manual has a row for each field, and its example is valid', async () => {
  const manual = readFileSync('docs/runnergroup.md', 'utf8');
  const example = /```yaml\n([\s\S]*?)```/.exec(manual)?.[1] ?? '';

  expect(fieldRows().map(([name]) => name)).toEqual(
    expect.arrayContaining(Object.keys(Spec.shape).map((name) => `\`${name}\``)),
  );
  expect(example).toContain('kind: RunnerGroup');
  expect(await problemsIn({ 'ci.yaml': example })).toEqual([]);
});

test('the manual tells what the mappings in a list hold', () => {
  const types = new Map(fieldRows().map(([name = '', type]) => [name, type]));

  expect(types.get('`priorityTiers`')).toBe('list of `{priorityClassName, threshold}`');
  expect(types.get('`notify`')).toBe('list of `{slack, webhook, on}`');
  expect(types.get('`setupCommand`')).toBe('list of strings');
});

test('a manual without markers is an error, not a manual without a table', () => {
  const part = { name: 'fields', source: 'src/config/runnergroup/group-schema.ts', text: '' };

  expect(() => withPart('# RunnerGroup\n', part)).toThrow('no markers');
});

test('the construct makes a RunnerGroup that the reader takes', async () => {
  const chart = new Chart(Testing.app(), 'groups');
  new RunnerGroup(chart, 'ci', {
    metadata: { name: 'ci' },
    spec: {
      scope: 'org' as never,
      org: 'acme',
      gitea: { url: 'https://gitea.example.com' },
      maxActiveRunners: 3,
      registrationToken: { secretRef: { name: 's', key: 'registration-token' } },
      authToken: { secretRef: { name: 's', key: 'token' } },
    },
  });

  const [manifest] = Testing.synth(chart);

  expect(await problemsIn({ 'ci.yaml': JSON.stringify(manifest) })).toEqual([]);
});
