/**
 * What lib/charts.cjs leaves out of cdk8s and cdk8s-plus: a start loads that part, and most of both is never called for a Job.
 * docs/adr/0027 has what it saves.
 */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const UNUSED = resolve('scripts', 'unused.cjs');
/** Reading YAML files, Helm charts and folders of ConfigMaps; patches; tests. */
const LEFT_OUT = /^(?:\.\/(?:helm|include|testing|yaml)|minimatch|fast-json-patch)$/;
const CDK8S = /node_modules[/\\]cdk8s/;

/** Kubernetes' kinds that the app makes, and the two types of values that kinds have in common. */
const KINDS = ['KubeJob', 'Quantity', 'IntOrString'];
const GENERATED = /cdk8s-plus-\d+[/\\]lib[/\\]imports[/\\]k8s\.js$/;

/** An esbuild plugin. Of all that cdk8s-plus exports it takes the types of Kubernetes: its own constructs are not used. */
export const onlyKubernetesTypes = {
  name: 'only-kubernetes-types',
  setup: ({ onLoad }) => {
    onLoad({ filter: /cdk8s-plus-\d+[/\\]lib[/\\]index\.js$/ }, () => ({
      contents: "exports.k8s = require('./imports/k8s');",
      loader: 'js',
    }));
  },
};

/** An esbuild plugin. Of the generated file with all of Kubernetes' kinds it takes what our kinds need. */
export const onlyWhatAJobNeeds = {
  name: 'only-what-a-job-needs',
  setup: ({ onLoad, onResolve }) => {
    onResolve({ filter: LEFT_OUT }, ({ importer }) => (CDK8S.test(importer) ? { path: UNUSED } : undefined));
    onLoad({ filter: GENERATED }, ({ path }) => ({ contents: reduced(readFileSync(path, 'utf8')), loader: 'js' }));
  },
};

/** A class with what is set on it, or a function, as cdk8s' generator writes them. */
const DECLARATION = /^(?:(?:abstract )?class|function) (\w+)[\s\S]*?^}\n(?:exports\.\w+ = \w+;\n)?/gm;

function reduced(code) {
  const declarations = new Map();
  for (const [text, name] of code.matchAll(DECLARATION)) declarations.set(name, text);
  for (const [text, name] of code.matchAll(/^(\w+)\.GVK = \{[\s\S]*?^\};\n/gm)) {
    declarations.set(name, declarations.get(name) + text);
  }
  const needed = new Set(KINDS);
  // A set visits what is added to it on the way.
  for (const name of needed) {
    const text = declarations.get(name);
    if (text === undefined) throw new Error(`cdk8s-plus does not declare ${name}: see scripts/cdk8s-part.mjs`);
    for (const [word] of text.matchAll(/\w+/g)) if (declarations.has(word)) needed.add(word);
  }
  const [imported] = /^const cdk8s_1 = .*\n/m.exec(code) ?? [];
  if (imported === undefined) throw new Error('cdk8s-plus has no import of cdk8s: see scripts/cdk8s-part.mjs');
  const kept = [...needed].map((name) => declarations.get(name)).join('');
  const quicker = kept.replaceAll(FILTER, 'return defined(result);');
  if (quicker === kept) throw new Error('cdk8s-plus filters in another way: see scripts/cdk8s-part.mjs');
  return [imported, DEFINED, quicker].join('');
}

/** How each generated function leaves out what is undefined: it copies the object once for each field that is there. */
const FILTER =
  'return Object.entries(result).reduce((r, i) => (i[1] === undefined) ? r : ({ ...r, [i[0]]: i[1] }), {});';
/** The same with one copy. */
const DEFINED = `function defined(all) {
  const some = {};
  for (const key in all) if (all[key] !== undefined) some[key] = all[key];
  return some;
}
`;
