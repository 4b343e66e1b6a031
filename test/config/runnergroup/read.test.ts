import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { readRunnerGroups } from '../../../src/config/runnergroup/read.ts';
import { document, groupOf, inFolder, problemsIn, readFiles } from '../../support/group-files.ts';
import { RUNS } from '../../support/property.ts';
import { runnerGroup } from '../../support/runner-group.ts';

const EXAMPLE = `apiVersion: gitea.bpg.pw/v1alpha1
kind: RunnerGroup
metadata: {name: ci, namespace: runners}
spec:
  scope: org
  org: acme
  gitea: {url: https://gitea.example.com}
  labels: ["gpu", "ubuntu-latest:docker://example.com/own:1"]
  maxActiveRunners: 10
  registrationToken: {secretRef: {name: gitea-runner, key: registration-token}}
  authToken: {secretRef: {name: gitea-api, key: token}}
`;

test('a group has its own values, one spelling and all defaults', async () => {
  const { groups, others, files } = await readFiles({ 'ci.yaml': EXAMPLE });

  expect({ others, files }).toEqual({ others: [], files: 1 });
  const own = runnerGroup({
    labels: [
      { name: 'gpu', text: 'gpu' },
      { name: 'ubuntu-latest', text: 'ubuntu-latest:docker://example.com/own:1' },
      { name: 'ubuntu-24.04', text: 'ubuntu-24.04:docker://docker.gitea.com/runner-images:ubuntu-24.04' },
      { name: 'ubuntu-22.04', text: 'ubuntu-22.04:docker://docker.gitea.com/runner-images:ubuntu-22.04' },
    ],
    image: 'gitea/runner:1.0.8-dind-rootless',
    containerMode: 'dind-rootless',
    gracefulStopSeconds: 10_800,
    manifest: parse(EXAMPLE),
  });
  expect(groups).toEqual([own]);
});

const SECRET = { name: 's', key: 'k' };
const API_KEY = { name: 's', key: 'api' };
const GITEA = { url: 'https://g.example.com/' };

test.each([
  ['specification', { gitea: GITEA }, { secretRef: SECRET }],
  ['code', { gitea: undefined, giteaURL: 'https://g.example.com' }, SECRET],
  ['README', { gitea: undefined, giteaURL: 'https://G.example.com:443' }, { secretRef: SECRET }],
  [
    'specification and code together',
    { gitea: GITEA, giteaURL: 'https://g.example.com' },
    { secretRef: SECRET, ...SECRET },
  ],
])("the operator's spelling in its %s means the same", async (_where, gitea, token) => {
  const group = await groupOf({ ...gitea, registrationToken: token, authToken: API_KEY });

  expect(group).toMatchObject({ giteaUrl: 'https://g.example.com', registrationToken: SECRET, authToken: API_KEY });
});

test.each([
  [{ scope: 'global', org: undefined }, { kind: 'global' }],
  [
    { scope: 'user', org: undefined, user: 'ann' },
    { kind: 'user', user: 'ann' },
  ],
  [
    { scope: 'repo', repo: 'web' },
    { kind: 'repo', owner: 'acme', repo: 'web' },
  ],
  [
    { scope: 'repo', org: undefined, user: 'ann', repo: 'web' },
    { kind: 'repo', owner: 'ann', repo: 'web' },
  ],
  [
    { scope: 'repo', org: undefined, repo: 'acme/web' },
    { kind: 'repo', owner: 'acme', repo: 'web' },
  ],
  [
    { scope: 'repo', org: 'ACME', repo: 'acme/web' },
    { kind: 'repo', owner: 'acme', repo: 'web' },
  ],
])('scope of %j', async (spec, scope) => {
  expect((await groupOf(spec)).scope).toEqual(scope);
});

test('a group without a namespace goes where Argo CD deploys', async () => {
  const { groups } = await readFiles({ 'ci.yaml': document() }, { defaultNamespace: 'builds' });

  expect(groups.map(({ namespace }) => namespace)).toEqual(['builds']);
});

test('a default namespace that is none never becomes a part of a path', async () => {
  expect(await problemsIn({ 'ci.yaml': document() }, { defaultNamespace: '../other' })).toEqual([
    `ci.yaml:1:${document().indexOf('"metadata"') + 1}: metadata: has no namespace, and ARGOCD_APP_NAMESPACE is none: add "namespace: …" [GR-INPUT-05]`,
  ]);
});

test('what kubectl prints is read again: status and server fields are left out of the manifest', async () => {
  const item = {
    ...JSON.parse(document({}, { uid: 'u', resourceVersion: '7', managedFields: [{}], annotations: { a: 'b' } })),
    status: { activeRunners: 3 },
  };
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', metadata: {}, items: [item] });

  const { groups } = await readFiles({ 'ci.json': list });

  expect(groups.map(({ manifest }) => manifest)).toEqual([
    {
      apiVersion: item.apiVersion,
      kind: 'RunnerGroup',
      metadata: { name: 'ci', annotations: { a: 'b' } },
      spec: item.spec,
    },
  ]);
});

test('documents of other kinds pass through with their own text, in the order of files and lines', async () => {
  const files = {
    'b.yaml': `# first\n--- # marker\napiVersion: v1\nkind: A # why\nx: |\n  text\n\n---\n${EXAMPLE}---\n{"apiVersion": "v1", "kind": "B"}\n...\n`,
    'a.json': '{\n\t"apiVersion": "v1",\n\t"kind": "C",\n\t"t": "\\t"\n}\n',
    'c.yml': '%YAML 1.1\n---\r\napiVersion: v1\r\nkind: D\r\non: yes\r\n',
  };

  const { groups, others } = await readFiles(files);

  expect(groups).toHaveLength(1);
  expect(others.map(({ text }) => text)).toEqual([
    '{\n "apiVersion": "v1",\n "kind": "C",\n "t": "\\t"\n}\n',
    ' # marker\napiVersion: v1\nkind: A # why\nx: |\n  text\n',
    '{"apiVersion": "v1", "kind": "B"}\n',
    'apiVersion: v1\r\nkind: D\r\non: yes\r\n',
  ]);
  expect(others.map(({ text }) => parse(text, { version: '1.1' }))).toEqual([
    { apiVersion: 'v1', kind: 'C', t: '\t' },
    { apiVersion: 'v1', kind: 'A', x: 'text\n' },
    { apiVersion: 'v1', kind: 'B' },
    { apiVersion: 'v1', kind: 'D', true: true },
  ]);
  expect(others.map(({ place }) => `${place.file}:${place.line}`)).toEqual([
    'a.json:1',
    'b.yaml:3',
    'b.yaml:21',
    'c.yml:3',
  ]);
});

test('empty files, empty documents and comments are nothing', async () => {
  const files = { 'a.yaml': '', 'b.yaml': '# nothing\n---\n---\nnull\n---\n', 'c.json': 'null' };

  expect(await readFiles(files)).toEqual({
    groups: [],
    hidden: [],
    others: [],
    broken: [],
    files: 3,
    skipped: [],
    sources: new Map(),
  });
});

test('anchors and merges work', async () => {
  const yaml = EXAMPLE.replace('spec:', 'spec:\n  <<: {suspend: true}')
    .replace('key: registration-token}', 'key: &key token}')
    .replace('key: token}', 'key: *key}');

  const { groups } = await readFiles({ 'ci.yaml': yaml });

  expect(groups).toMatchObject([{ suspend: true, authToken: { name: 'gitea-api', key: 'token' } }]);
});

test('two groups of one name are refused with both places; in two namespaces they are fine', async () => {
  const files = { 'a.yaml': document(), 'b.yaml': `# b\n---\n${document({}, { namespace: 'default' })}` };
  const elsewhere = { ...files, 'b.yaml': document({}, { namespace: 'other' }) };

  expect(await problemsIn(files)).toEqual([
    'b.yaml:3:1: metadata.name: RunnerGroup default/ci is already in a.yaml:1: rename or remove one of them [GR-INPUT-07]',
  ]);
  expect(await problemsIn(elsewhere)).toEqual([]);
});

test('a document without any field of an object is skipped and named; capitals do not make it one', async () => {
  const files = {
    'a.yaml': `image: x\n---\n${EXAMPLE}---\n# nothing\n---\nreplicas: 3\n`,
    'b.yaml': 'ApiVersion: gitea.bpg.pw/v1alpha1\nKIND: RunnerGroup\n',
  };
  const { groups, skipped } = await readFiles({ 'a.yaml': files['a.yaml'] });

  expect(groups.map(({ name }) => name)).toEqual(['ci']);
  expect(skipped).toEqual(['a.yaml:1', `a.yaml:${files['a.yaml'].split('\n').length - 1}`]);
  expect(await problemsIn({ 'b.yaml': files['b.yaml'] })).toEqual([
    expect.stringContaining('b.yaml:1:1: is not a Kubernetes object: apiVersion is missing'),
  ]);
});

test.each([
  'kustomization.yaml',
  'kustomization.yml',
  'Chart.yaml',
  'values.yaml',
  'values.schema.json',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'cdk8s.yaml',
])('%s is skipped in a folder, and read where it is named', async (name) => {
  await inFolder({ 'ci.yaml': EXAMPLE, [name]: '[]' }, async (cwd) => {
    const read = (path: string) =>
      readRunnerGroups({ paths: [path], recursive: false, cwd, defaultNamespace: 'default' });
    expect(await read('.')).toMatchObject({ groups: [{ name: 'ci' }], files: 1, skipped: [name] });
    await expect(read(name)).rejects.toThrow('is not a Kubernetes object');
  });
});

test('a document that passes through still means the same when its text is read alone', async () => {
  const values = fc
    .dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }))
    .map((data) => ({ apiVersion: 'v1', kind: 'X', data }));

  await fc.assert(
    fc.asyncProperty(fc.array(values, { maxLength: 3 }), fc.constantFrom(0, 2, '\t'), async (documents, indent) => {
      const stream = documents.map((value) => JSON.stringify(value, null, indent)).join('\n---\n');

      const { others } = await readFiles({ 'a.yaml': stream });

      expect(others.map(({ text }) => JSON.parse(text))).toEqual(JSON.parse(JSON.stringify(documents)));
    }),
    { numRuns: RUNS },
  );
});
