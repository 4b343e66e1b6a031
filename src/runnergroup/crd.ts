/**
 * The CustomResourceDefinition. Its schema is structural, as the API server demands: a type everywhere, no `const`, no
 * `propertyNames`, no closed objects (unknown fields are pruned). It has no defaults: an object in the cluster stays as it
 * is in git, and Argo CD sees no difference.
 */
import { stringify } from 'yaml';
import type { JsonSchema } from './json-schema.ts';
import { toJsonSchema } from './json-schema.ts';
import { KIND, Metadata, Spec } from './schema.ts';
import { RunnerGroupStatus } from './status.ts';

const HEADER = '# Made from src/runnergroup/schema.ts by "npm run generated".\n';
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

/** `install/crd.yaml`, byte for byte. */
export function crdText(): string {
  return HEADER + stringify(crd(), { lineWidth: 0, aliasDuplicateObjects: false });
}

function crd(): unknown {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'runnergroups.gitea.bpg.pw' },
    spec: {
      group: 'gitea.bpg.pw',
      scope: 'Namespaced',
      names: {
        kind: KIND,
        listKind: `${KIND}List`,
        plural: 'runnergroups',
        singular: 'runnergroup',
        shortNames: ['rg'],
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
  { name: 'Held', type: 'integer', jsonPath: '.status.heldJobs', description: 'Held back by the cap' },
  { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
  { name: 'Suspended', type: 'boolean', jsonPath: '.spec.suspend', priority: 1 },
  { name: 'Checked', type: 'date', jsonPath: '.status.lastCheckTime', priority: 1 },
  { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
];

function rootSchema(): unknown {
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
      spec: { ...structural(toJsonSchema(Spec)), description: 'What the group serves and what its runners are like.' },
      status: { ...structural(toJsonSchema(RunnerGroupStatus)), description: 'Written by gitea-runners serve.' },
    },
  };
}

function structural(schema: JsonSchema): JsonSchema {
  const { description, default: byDefault } = schema;
  const isAnyMapping =
    isSchema(schema['additionalProperties']) && Object.keys(schema['additionalProperties']).length === 0;
  if (isAnyMapping) return { description, type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const text = { ...(typeof description === 'string' && { description: withDefault(description, byDefault) }) };
  if (Array.isArray(schema['anyOf'])) return { ...text, ...structuralUnion(schema['anyOf']) };
  const kept = Object.fromEntries(KEPT.flatMap((keyword) => (keyword in schema ? [[keyword, schema[keyword]]] : [])));
  return {
    ...kept,
    ...text,
    ...(schema.properties && { properties: mapValues(schema.properties, structural) }),
    ...(isSchema(schema['items']) && { items: structural(schema['items']) }),
    ...(isSchema(schema['additionalProperties']) && {
      additionalProperties: structural(schema['additionalProperties']),
    }),
  };
}

/** A quantity is the API server's own "integer or string"; for a list or `false` there is no structural type. */
function structuralUnion(branches: readonly JsonSchema[]): JsonSchema {
  const types = branches.map(({ type }) => type);
  if (types.includes('integer') && types.includes('string')) {
    return { anyOf: [{ type: 'integer' }, { type: 'string' }], 'x-kubernetes-int-or-string': true };
  }
  return { 'x-kubernetes-preserve-unknown-fields': true };
}

function withDefault(description: string, byDefault: unknown): string {
  const plain = ['string', 'number', 'boolean'].includes(typeof byDefault);
  return plain ? `${description} Default: ${String(byDefault)}.` : description;
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function mapValues<A, B>(values: Readonly<Record<string, A>>, change: (value: A) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, change(value)]));
}
