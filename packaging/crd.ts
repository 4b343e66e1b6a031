/**
 * The CustomResourceDefinition. Its schema is structural, as the API server demands: a type everywhere, no `const`, no `propertyNames`, no
 * closed objects. It has no defaults: an object in the cluster stays as it is in git, and Argo CD sees no difference. Rules between
 * fields: admission.ts.
 */

import { Metadata, Spec } from '../src/config/runnergroup/group-schema.ts';
import { type JsonSchema, toJsonSchema } from '../src/config/runnergroup/json-schema.ts';
import { isMapping } from '../src/config/runnergroup/paths.ts';
import { RunnerGroupStatus } from '../src/config/runnergroup/status.ts';
import { LONGEST_QUANTITY, QUANTITY } from '../src/config/runnergroup/words.ts';
import { KIND } from '../src/shared/marks.ts';
import { ADMISSION_RULES } from './admission.ts';

/** The API server's RE2 needs no names. */
const QUANTITY_PATTERN = QUANTITY.source.replaceAll(/\?<\w+>/g, '?:');
const KEPT = [
  'description',
  'type',
  'format',
  'enum',
  'pattern',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'maxItems',
  'required',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
];

/** The Helm chart's has annotations. */
export function crd(annotations?: Readonly<Record<string, string>>): object {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'runnergroups.gitea.bpg.pw', ...(annotations && { annotations }) },
    spec: {
      group: 'gitea.bpg.pw',
      scope: 'Namespaced',
      names: {
        kind: KIND,
        listKind: `${KIND}List`,
        plural: 'runnergroups',
        singular: 'runnergroup',
        shortNames: ['rg'],
        categories: ['gitea'],
      },
      versions: [
        {
          name: 'v1alpha1',
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: COLUMNS,
          schema: { openAPIV3Schema: rootSchema() },
        },
      ],
    },
  };
}

const COLUMNS = [
  { name: 'Scope', type: 'string', jsonPath: '.spec.scope' },
  { name: 'Cap', type: 'integer', jsonPath: '.spec.maxActiveRunners' },
  { name: 'Active', type: 'integer', jsonPath: '.status.activeRunners' },
  { name: 'Queued', type: 'integer', jsonPath: '.status.queuedJobs' },
  { name: 'Held', type: 'integer', jsonPath: '.status.heldJobs', description: 'Held back by the group' },
  { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
  { name: 'Reason', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].reason' },
  { name: 'Checked', type: 'date', jsonPath: '.status.lastCheckTime', description: 'Since the last look at Gitea' },
  { name: 'Suspended', type: 'boolean', jsonPath: '.spec.suspend', priority: 1 },
  { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
];

function rootSchema(): unknown {
  const pathsWithRules = new Set(ADMISSION_RULES.map(([path]) => path));
  const spec = structural(toJsonSchema(Spec), 'spec', pathsWithRules);
  if (pathsWithRules.size > 0)
    throw new Error(`no such field for a rule of admission.ts: ${[...pathsWithRules].join(', ')}`);
  const name = structural(toJsonSchema(Metadata.shape.name));
  return {
    description: 'Runners of Gitea Actions for the jobs of one scope.',
    type: 'object',
    required: ['spec'],
    properties: {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      // Of metadata, a CRD may only restrict the name.
      metadata: { type: 'object', properties: { name } },
      spec: { ...spec, description: 'What the group serves and what its runners are like.' },
      status: { ...structural(toJsonSchema(RunnerGroupStatus)), description: 'Written by gitea-runners serve.' },
    },
  };
}

/** A schema as the API server takes it, with the rules of its path, e.g. `spec.labels[]`. @param unplaced paths whose rules have no place yet */
function structural(schema: JsonSchema, path = '', unplaced: Set<string> = new Set()): JsonSchema {
  const rules = ADMISSION_RULES.flatMap(([at, rule, message]) => (at === path ? [{ rule, message }] : []));
  unplaced.delete(path);
  const below = (inner: JsonSchema, name: string): JsonSchema => structural(inner, `${path}${name}`, unplaced);
  const { description, default: byDefault } = schema;
  const isAnyMapping =
    isMapping(schema['additionalProperties']) && Object.keys(schema['additionalProperties']).length === 0;
  if (isAnyMapping) return { description, type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const text = { ...(typeof description === 'string' && { description: withDefault(description, byDefault) }) };
  if (Array.isArray(schema['anyOf'])) return { ...text, ...structuralUnion(schema['anyOf']) };
  const kept = Object.fromEntries(KEPT.flatMap((keyword) => (keyword in schema ? [[keyword, schema[keyword]]] : [])));
  return {
    ...kept,
    ...text,
    ...(rules.length > 0 && { 'x-kubernetes-validations': rules }),
    ...(schema.properties && {
      properties: Object.fromEntries(
        Object.entries(schema.properties).map(([name, inner]) => [name, below(inner, `.${name}`)]),
      ),
    }),
    ...(isMapping(schema['items']) && { items: below(schema['items'], '[]') }),
    ...(isMapping(schema['additionalProperties']) && {
      additionalProperties: below(schema['additionalProperties'], '{}'),
    }),
  };
}

/** A quantity is the API server's own "integer or string"; for a list or `false` there is no structural type. */
function structuralUnion(branches: readonly JsonSchema[]): JsonSchema {
  const types = branches.map(({ type }) => type);
  if (types.includes('integer') && types.includes('string')) {
    // Keywords beside it hold for strings or for integers alone.
    return {
      anyOf: [{ type: 'integer' }, { type: 'string' }],
      'x-kubernetes-int-or-string': true,
      minimum: 0,
      maxLength: LONGEST_QUANTITY,
      pattern: QUANTITY_PATTERN,
    };
  }
  return { 'x-kubernetes-preserve-unknown-fields': true };
}

function withDefault(description: string, byDefault: unknown): string {
  const plain = ['string', 'number', 'boolean'].includes(typeof byDefault);
  return plain ? `${description} Default: ${String(byDefault)}.` : description;
}
