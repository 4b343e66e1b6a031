/**
 * Expected objects of the Helm chart, and those that it makes without helm. `npm test` has no helm: real helm renders
 * it in test/servers/chart.test.ts.
 */
import { readdirSync } from 'node:fs';
import { parse, parseAllDocuments } from 'yaml';
import { installText, KubeObject, objects } from './manifests.ts';

/** Files that the chart makes when they are asked for: with `enabled` of this value. */
export const OPTIONS = {
  cache: 'cache.yaml',
  secretsApi: 'secrets-api.yaml',
  registrationSecrets: 'registration-secrets.yaml',
  runnerCredentials: 'runner-credentials.yaml',
  page: 'page.yaml',
  looks: 'looks.yaml',
} as const;

/** Intended differences of the chart from install.yaml. No other difference is allowed. */
const DIFFERENCES: readonly {
  readonly why: string;
  readonly of: readonly string[];
  readonly instead: (object: KubeObject) => readonly KubeObject[];
}[] = [
  {
    why: 'They are parts of objects that belong to Argo CD. Helm only makes whole objects.',
    of: ['Deployment argocd-repo-server', 'ConfigMap argocd-cm', 'ConfigMap argocd-rbac-cm'],
    instead: () => [],
  },
  {
    why: 'helm uninstall must leave RunnerGroups and CI jobs that run.',
    of: ['CustomResourceDefinition runnergroups.gitea.bpg.pw', 'Namespace runners'],
    instead: (object) => [
      { ...object, metadata: { ...object.metadata, annotations: { 'helm.sh/resource-policy': 'keep' } } },
    ],
  },
];

/** Returns the objects that the chart must make in the namespace argocd with its default values. */
export function expectedObjects(): readonly KubeObject[] {
  const left = new Set(DIFFERENCES.flatMap(({ of }) => of));
  const found = objects('install.yaml').flatMap((object) => {
    const id = `${object.kind} ${object.metadata.name}`;
    left.delete(id);
    return DIFFERENCES.find(({ of }) => of.includes(id))?.instead(object) ?? [object];
  });
  if (left.size > 0) throw new Error(`install.yaml has no ${[...left].join(', ')}`);
  return sorted(found);
}

/** Sorts objects independently of the file. */
export function sorted(list: readonly KubeObject[]): readonly KubeObject[] {
  const id = ({ kind, metadata }: KubeObject) => `${kind} ${metadata.namespace ?? ''} ${metadata.name}`;
  return [...list].sort((a, b) => id(a).localeCompare(id(b)));
}

const BLOCK = /^\{\{- (if|with|range) (?:\$\w+ := )?(.*) \}\}$/;

/** The templates with default values and these options. An expression that stands neither here nor in `evaluated` throws. */
export function renderedWithoutHelm(options: readonly string[] = []): readonly KubeObject[] {
  const values = parse(installText('chart/values.yaml'));
  for (const option of options) values[option].enabled = true;
  const known: Readonly<Record<string, unknown>> = {
    '$.Release.Namespace': 'argocd',
    $namespace: 'runners',
    'include "gitea-runners.image" $': `${values.image.repository}:${parse(installText('chart/Chart.yaml')).appVersion}`,
    'printf "gitea-runner-cache.%s.svc" $.Values.cache.namespace': `gitea-runner-cache.${values.cache.namespace}.svc`,
    'ternary "" $.Values.service.type (eq $.Values.service.type "ClusterIP")': '',
    'not (has $.Values.cache.namespace $.Values.runners.namespaces)': false,
    // Settings are left out here, whatever the options.
    'include "gitea-runners.settings" $': '',
    '$settings := include "gitea-runners.settings" $': '',
    'or $settings $.Values.serve.podAnnotations': false,
  };
  const files = readdirSync('install/chart/templates').filter((file) => file.endsWith('.yaml'));
  const lines = files.flatMap((file) => ['---', ...installText(`chart/templates/${file}`).split('\n')]);
  const text = rendered(lines, { known, values }).join('\n');
  return sorted(
    parseAllDocuments(text).flatMap((document) => {
      const object: unknown = document.toJS();
      return object === null ? [] : [KubeObject.parse(object)];
    }),
  );
}

interface Scope {
  readonly known: Readonly<Record<string, unknown>>;
  readonly values: unknown;
  readonly dot?: unknown;
}

function rendered(lines: readonly string[], scope: Scope): readonly string[] {
  const made: string[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? '';
    const [, word, expression] = BLOCK.exec(line) ?? [];
    if (expression === undefined) {
      made.push(line.replaceAll(/\{\{-? (.*?) -?\}\}/g, (_, inner: string) => String(evaluated(inner, scope))));
      continue;
    }
    const end = endOf(lines, at);
    const value = evaluated(expression, scope);
    const dots = isEmpty(value) ? [] : word === 'range' && Array.isArray(value) ? value : [value];
    for (const dot of dots) made.push(...rendered(lines.slice(at + 1, end), { ...scope, dot }));
    at = end;
  }
  return made;
}

function endOf(lines: readonly string[], start: number): number {
  let open = 0;
  for (let at = start; at < lines.length; at += 1) {
    if (BLOCK.test(lines[at] ?? '')) open += 1;
    if (lines[at] === '{{- end }}') open -= 1;
    if (open === 0) return at;
  }
  throw new Error(`"${lines[start]}" has no end`);
}

/** JSON where Helm writes YAML or quotes: YAML readers take it. */
function evaluated(expression: string, scope: Scope): unknown {
  if (expression in scope.known) return scope.known[expression];
  if (expression === '.') return scope.dot;
  const [, quoted] = /^(.*) \| quote$/.exec(expression) ?? [];
  if (quoted !== undefined) return JSON.stringify(String(evaluated(quoted, scope)));
  const [, block, indent] = /^toYaml \(?([^()]*?)\)? \| indent (\d+)$/.exec(expression) ?? [];
  if (block !== undefined) return ' '.repeat(Number(indent)) + JSON.stringify(evaluated(block, scope));
  const [, list] = /^join "," (.*)$/.exec(expression) ?? [];
  if (list !== undefined) return String(evaluated(list, scope));
  const [, path] = /^\$\.Values\.([\w.]+)$/.exec(expression) ?? [];
  const value = path?.split('.').reduce<unknown>((at, key) => Object(at)[key], scope.values);
  if (value === undefined)
    throw new Error(`what "{{ ${expression} }}" makes is not known here: add it to test/packaging/chart.ts`);
  return value;
}

/** As Go's templates see it. */
function isEmpty(value: unknown): boolean {
  return !value || (typeof value === 'object' && Object.keys(value).length === 0);
}
