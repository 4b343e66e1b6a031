// node scripts/argocd-imports.mjs FOLDER: makes imports/argoproj.io.ts anew from the CRDs of an Argo CD release
// (its manifests/crds). Of Applications it keeps what one with a plugin needs; all sources would be 200 KB, and
// ApplicationSets 3 MB.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';

const [crds] = process.argv.slice(2);
if (crds === undefined) throw new Error('give the folder manifests/crds of an Argo CD release');

const CDK8S = join('node_modules', 'cdk8s-cli', 'bin', 'cdk8s');
const FILE = join('imports', 'argoproj.io.ts');
const LEFT_OUT = { root: ['status', 'operation'], spec: ['sources', 'sourceHydrator'], source: ['helm', 'kustomize'] };

function reduced(file) {
  const crd = parse(readFileSync(join(crds, file), 'utf8'));
  for (const version of crd.spec.versions) {
    const root = version.schema.openAPIV3Schema.properties;
    for (const name of LEFT_OUT.root) delete root[name];
    const spec = root.spec.properties;
    for (const name of LEFT_OUT.spec) delete spec[name];
    for (const name of LEFT_OUT.source) delete spec.source?.properties[name];
  }
  return stringify(crd);
}

const folder = mkdtempSync(join(tmpdir(), 'argocd-imports-'));
try {
  const input = join(folder, 'crds.yaml');
  writeFileSync(input, ['application-crd.yaml', 'appproject-crd.yaml'].map(reduced).join('---\n'));
  const flags = ['--output', 'imports', '--language', 'typescript', '--no-save', '--no-check-upgrade'];
  execFileSync(process.execPath, [CDK8S, 'import', input, ...flags], { stdio: 'pipe' });
} finally {
  rmSync(folder, { recursive: true, force: true });
}

// cdk8s imports types as if they were values, which no runtime that only strips types can load.
const code = readFileSync(FILE, 'utf8')
  .replace(
    '{ ApiObject, ApiObjectMetadata, GroupVersionKind }',
    '{ ApiObject, type ApiObjectMetadata, type GroupVersionKind }',
  )
  .replace('import { Construct }', 'import type { Construct }');
writeFileSync(FILE, code);
