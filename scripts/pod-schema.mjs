#!/usr/bin/env node
/**
 * Writes src/config/pods/pod-schema.json: Kubernetes' published OpenAPI, cut down to what a PodTemplateSpec can hold.
 *
 *   node scripts/pod-schema.mjs [PATH-TO-SWAGGER]
 *
 * Without a path the file of the Kubernetes release that test/servers builds is taken from Go's module cache.
 * test/servers/pods.test.ts runs it and compares; test/config/pods/pod-schema.test.ts compares the version and the checksum with go.mod and go.sum.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = 'PodTemplateSpec';
const GO_MODULE = join(import.meta.dirname, '../test/servers/go/k8s');
const TARGET = join(import.meta.dirname, '../src/config/pods/pod-schema.json');

/** Letters of the types that are no struct; src/config/pods/pod-schema.ts reads them. */
const SCALARS = {
  string: 's',
  boolean: 'b',
  'integer int32': 'i',
  'integer int64': 'l',
  object: 'o',
  'string date-time': 'd',
  'string int-or-string': 'x',
};
/** Published as a string; the API server takes numbers, too. */
const QUANTITY = 'io.k8s.apimachinery.pkg.api.resource.Quantity';

/** The text of pod-schema.json. */
export function podSchema(swagger, kubernetes, checksum) {
  const types = {};
  const shortName = (ref) => ref.split('/').pop();
  const pending = Object.keys(swagger.definitions).filter((name) => name.endsWith(`.core.v1.${ROOT}`));
  const known = new Set(pending);
  const typeOf = (schema) => {
    if (schema.$ref) return ofReference(shortName(schema.$ref));
    if (schema.type === 'array') return `[${typeOf(schema.items)}]`;
    if (schema.additionalProperties) return `{${typeOf(schema.additionalProperties)}}`;
    const scalar = SCALARS[[schema.type, schema.format].filter(Boolean).join(' ')];
    if (!scalar) throw new Error(`a type that this script does not know: ${JSON.stringify(schema)}`);
    return scalar;
  };
  const ofReference = (name) => {
    if (name === QUANTITY) return 'q';
    if (!swagger.definitions[name].properties) return typeOf(swagger.definitions[name]);
    if (!known.has(name)) pending.push(name);
    known.add(name);
    return name.split('.').pop();
  };
  for (let name = pending.shift(); name; name = pending.shift()) {
    const { properties, required = [] } = swagger.definitions[name];
    const type = name.split('.').pop();
    if (types[type]) throw new Error(`two types are called ${type}`);
    types[type] = Object.fromEntries(
      Object.keys(properties)
        .sort()
        .map((field) => [
          field,
          (required.includes(field) ? '!' : '') + typeOf(properties[field]) + merge(properties[field]),
        ]),
    );
  }
  // One line per type: small, and a change of Kubernetes can be read.
  const lines = Object.keys(types)
    .sort()
    .map((type) => `${JSON.stringify(type)}:${JSON.stringify(types[type])}`);
  const head = JSON.stringify({ kubernetes, checksum, root: ROOT }).slice(0, -1);
  return `${head},"types":{\n${lines.join(',\n')}\n}}\n`;
}

/**
 * How two lists become one, and nothing for lists that are replaced:
 *
 *   ` merge containerPort,protocol`  by the merge key, which is the first key; all keys together tell two elements apart
 *   ` merge`                         of scalars
 *   ` unique name`                   replaced as a whole; the keys tell two elements apart
 *   ` retainKeys`                    besides `merge`: of an element only the fields stay that the patch names
 */
function merge(schema) {
  const strategies = schema['x-kubernetes-patch-strategy']?.split(',') ?? [];
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  const key = schema['x-kubernetes-patch-merge-key'];
  if (key && key !== keys[0]) throw new Error(`the merge key ${key} is not the first of the list's keys ${keys}`);
  if (strategies.some((strategy) => !['merge', 'retainKeys'].includes(strategy)))
    throw new Error(`a patch strategy that this script does not know: ${strategies}`);
  const words = [];
  if (strategies.includes('merge')) words.push('merge');
  else if (keys.length > 0) words.push('unique');
  if (keys.length > 0) words.push(keys.join(','));
  if (strategies.includes('retainKeys')) words.push('retainKeys');
  return words.map((word) => ` ${word}`).join('');
}

/** Version and checksum of the module that test/servers builds. */
export function pinnedKubernetes() {
  const version = /^require k8s\.io\/kubernetes v(\S+)$/m.exec(readFileSync(join(GO_MODULE, 'go.mod'), 'utf8'))?.[1];
  const sums = readFileSync(join(GO_MODULE, 'go.sum'), 'utf8').split('\n');
  const checksum = sums.find((line) => line.startsWith(`k8s.io/kubernetes v${version} `))?.split(' ')[2];
  if (!version || !checksum) throw new Error('test/servers/go/k8s does not name a Kubernetes release');
  return { version, checksum };
}

/** The published file, in Go's module cache. */
function publishedFile() {
  const { version } = pinnedKubernetes();
  const folder = mkdtempSync(join(tmpdir(), 'pod-schema-'));
  try {
    const told = execFileSync('go', ['mod', 'download', '-json', `k8s.io/kubernetes@v${version}`], {
      cwd: folder,
      encoding: 'utf8',
    });
    return join(JSON.parse(told).Dir, 'api/openapi-spec/swagger.json');
  } finally {
    rmSync(folder, { recursive: true });
  }
}

if (process.argv[1] === import.meta.filename) {
  const { version, checksum } = pinnedKubernetes();
  const swagger = JSON.parse(readFileSync(process.argv[2] ?? publishedFile(), 'utf8'));
  const text = podSchema(swagger, version, checksum);
  writeFileSync(TARGET, text);
  console.log(`${TARGET}: ${text.length} bytes`);
}
