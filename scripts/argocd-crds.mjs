// node scripts/argocd-crds.mjs FOLDER: writes imports/argocd-crds.yaml from the CRDs of an Argo CD release (its manifests/crds). Then
// `npx cdk8s import` makes imports/argoproj.io.ts of it. Of Applications the file has what one with a plugin needs; all sources would be
// 200 KB, and ApplicationSets 3 MB.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';

const [crds] = process.argv.slice(2);
if (crds === undefined) throw new Error('give the folder manifests/crds of an Argo CD release');

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

const texts = ['application-crd.yaml', 'appproject-crd.yaml'].map(reduced);
writeFileSync(
  join('imports', 'argocd-crds.yaml'),
  `# Made by scripts/argocd-crds.mjs of Argo CD 3.5.3.\n${texts.join('---\n')}`,
);
