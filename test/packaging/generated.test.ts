import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { folderWith } from '../support/run-cli.ts';
import { documents, installFileNames, objects } from './manifests.ts';

const folder = folderWith({}, afterAll);
/** Files of install/monitoring and install.sh are nobody's output, and of the chart only the CRD is one. */
const generated = installFileNames().filter(
  (file) => !/^(?:monitoring|chart)\/(?!templates\/crd\.yaml$)|\.sh$/.test(file),
);

beforeAll(() => {
  execFileSync(process.execPath, ['scripts/run-ts.mjs', 'packaging/generated.ts', folder]);
}, 60_000);

test('install/ holds what "npm run generated" makes, and nothing else', () => {
  expect(generated).toEqual(installFileNames(folder));
});

test.each([
  ...generated.map((file) => `install/${file}`),
  'src/config/runnergroup/crd.json',
  'imports/gitea.bpg.pw.ts',
  'imports/construct.d.cts',
  'docs/runnergroup.md',
  'docs/commands.md',
  'docs/helm.md',
])('%s is what "npm run generated" makes', (file) => {
  expect(readFileSync(file, 'utf8')).toBe(readFileSync(join(folder, file), 'utf8'));
});

test('install.yaml holds the CRD and the objects of the files it is made of, each once', () => {
  const parts = [
    'crd.yaml',
    'gitea-runners.yaml',
    'runners.yaml',
    'argocd-repo-server.yaml',
    'argocd-cm.yaml',
    'argocd-rbac-cm.yaml',
  ];

  expect(objects('install.yaml')).toEqual(parts.flatMap(objects));
});

test('no object stands in install.yaml twice', () => {
  const ids = objects('install.yaml').map(
    ({ kind, metadata }) => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`,
  );

  expect(ids).toEqual([...new Set(ids)]);
});

test('the kustomize component patches the objects that the removal takes back', () => {
  const component = JSON.stringify(documents('kustomization.yaml'));
  const taken = objects('remove-from-argocd.yaml').map(({ kind, metadata }) => ({
    path: `argocd-${metadata.name.replace('argocd-', '')}.yaml`,
    target: { kind, name: metadata.name },
  }));

  expect(component).toContain(`"patches":${JSON.stringify(taken)}`);
  for (const { path, target } of taken) {
    expect(objects(path).map(({ kind, metadata }) => ({ kind, name: metadata.name }))).toEqual([target]);
  }
});
