import { expect, test } from 'vitest';
import { validate } from '../../src/cli/validate.ts';
import { type Files, inFolder, type Spec, document as written } from '../support/group-files.ts';
import { printingIo } from '../support/printing-io.ts';

/** With requests and a namespace: nothing to warn of. */
const document = (spec: Spec = {}, metadata: Spec = {}) =>
  written({ resources: { requests: { cpu: '1' } }, ...spec }, { namespace: 'runners', ...metadata });

/** Runs the command in a folder with these files. */
function run(files: Files, paths: readonly string[] = ['.'], env: Readonly<Record<string, string>> = {}) {
  return inFolder(files, async (cwd) => {
    const { io, printed } = printingIo({ env, cwd });
    const code = await validate(paths, { recursive: true }, io);
    return { code, ...printed };
  });
}

test.each([
  [{ 'a.yaml': document() }, '1 RunnerGroup in 1 file is valid\n'],
  [
    {
      'a.yaml': document(),
      'sub/b.yaml': `${document({ org: 'other' }, { name: 'b' })}\n---\napiVersion: v1\nkind: X\n`,
    },
    '2 RunnerGroups in 2 files are valid\n',
  ],
])('says how many groups are valid', async (files, out) => {
  expect(await run(files)).toEqual({ code: 0, out, err: '' });
});

test('prints every problem to stderr, nothing to stdout, and answers 2', async () => {
  const files = { 'a.yaml': '---\nkind: 1\n'.repeat(40), 'b.yaml': document({ suspend: 'no' }) };

  const { code, out, err } = await run(files);

  const lines = err.trimEnd().split('\n');
  expect({ code, out, lines: lines.length }).toEqual({ code: 2, out: '', lines: 42 });
  expect(lines[41]).toBe('1 RunnerGroup in 2 files: 41 errors');
  expect(lines[0]).toBe(
    'a.yaml:2:1: is not a Kubernetes object: apiVersion is missing or not a string. Keep other YAML and JSON out of this folder, or name the files to read [GR-INPUT-03]',
  );
  expect(lines[40]).toBe(
    `b.yaml:1:${document({ suspend: 'no' }).indexOf('"suspend"') + 1}: spec.suspend: must be true or false, not the string "no" [GR-INPUT-05]`,
  );
});

test("takes Argo CD's destination namespace as the default", async () => {
  const files = { 'a.yaml': document({}, { namespace: undefined }), 'b.yaml': document({}, { namespace: 'builds' }) };

  expect((await run(files)).code).toBe(0);
  expect(await run(files, ['.'], { ARGOCD_APP_NAMESPACE: 'builds' })).toEqual({
    code: 2,
    out: '',
    err: 'b.yaml:1:1: metadata.name: RunnerGroup builds/ci is already in a.yaml:1: rename or remove one of them [GR-INPUT-07]\n2 RunnerGroups in 2 files: 1 error\n',
  });
});

test('a mistake in one group does not hide those in the podTemplate of another one', async () => {
  const files = {
    'a.yaml': document({ suspend: 'no' }),
    'b.yaml': document({ podTemplate: { spec: { nodeselector: { disk: 'ssd' } } } }, { name: 'b' }),
    'c.yaml': document({ podTemplate: { spec: { hostNetwork: true } } }, { name: 'b' }),
  };

  const { code, out, err } = await run(files);

  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(err).toContain('spec.suspend: must be true or false');
  expect(err).toContain('spec.podTemplate.spec.nodeselector: unknown field; did you mean "nodeSelector"?');
  expect(err).toContain('c.yaml:1:1: metadata.name: RunnerGroup runners/b is already in b.yaml:1');
  expect(err).toContain('3 RunnerGroups in 3 files: 3 errors\n');
});

test('a mistake in a group does not hide those in its own podTemplate', async () => {
  const template = (spec: object) => ({ labels: ['a:b:c'], org: undefined, podTemplate: { spec } });
  const files = {
    'a.yaml': document(template({ nodeselector: { disk: 'ssd' } })),
    'b.yaml': document(template({ hostNetwork: true }), { name: 'B' }),
    'c.yaml': document({ ...template({ hostPID: true }), containerMode: 'none' }, { name: 'c' }),
    'd.yaml': document({ ...template({}), containerMode: 'host', securityProfile: 'restricted' }, { name: 'd' }),
  };

  const { code, err } = await run(files);

  expect(code).toBe(2);
  expect(err.match(/(?<=: )(?:spec|metadata)\S*(?=:)/g)).toEqual([
    'spec',
    'spec.labels[0]',
    'spec.podTemplate.spec.nodeselector',
    'metadata.name',
    'spec',
    'spec.labels[0]',
    'spec.podTemplate.spec.hostNetwork',
    'spec',
    'spec.containerMode',
    'spec',
    'spec.labels[0]',
  ]);
  expect(err).toContain('4 RunnerGroups in 4 files: 11 errors\n');
});

test('a misspelt containerMode is one mistake, not also a pod that is weaker than its profile', async () => {
  const files = { 'a.yaml': document({ containermode: 'host', securityProfile: 'restricted', labels: ['a:host'] }) };

  expect((await run(files)).err).toMatch(
    /^a\.yaml:1:\d+: spec\.containermode: unknown field; .*\n1 RunnerGroup in 1 file: 1 error\n$/,
  );
});

test.each([
  [
    'kind: RunnerGroup\nmetadata: {name: ci}\nspec: {}\n',
    'is a RunnerGroup without apiVersion: add "apiVersion: gitea.bpg.pw/v1alpha1"',
  ],
  ['apiVersion: gitea.bpg.pw/v1alpha1\nmetadata: {name: ci}\nspec: {}\n', 'has no kind: add "kind: RunnerGroup"'],
])('says which line a RunnerGroup lacks', async (text, message) => {
  expect((await run({ 'a.yaml': text })).err).toBe(
    `a.yaml:1:1: ${message} [GR-INPUT-03]\n0 RunnerGroups in 1 file: 1 error\n`,
  );
});

test('says that there is no RunnerGroup, and nothing of Gitea, which it never asks', async () => {
  await expect(run({})).rejects.toThrow(
    /^find RunnerGroups: no RunnerGroup in the current folder \(.*\)\. Name the files/,
  );
});
