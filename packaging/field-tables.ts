/** The tables of fields in docs/runnergroup.md and docs/policy.md. A row has the cells of one field, in Markdown. */
import * as z from 'zod';
import { PolicySpec } from '../src/config/policy/policy-schema.ts';
import { DEFAULT_NOTE } from '../src/config/runnergroup/field-kinds.ts';
import { Metadata, Spec } from '../src/config/runnergroup/group-schema.ts';
import { type JsonSchema, toJsonSchema } from '../src/config/runnergroup/json-schema.ts';

type Rows = readonly (readonly string[])[];

export const FIELD_HEAD = ['field', 'type', 'default', 'meaning'];

/** Fields of a RunnerGroup. */
export function fieldRows(): Rows {
  const { name, namespace } = Metadata.shape;
  return [...groupRows(z.strictObject({ name, namespace }), 'metadata.'), ...groupRows(Spec, '')];
}

export const POLICY_FIELD_HEAD = ['field', 'type', 'meaning'];

/** Fields of a policy, below `spec`. */
export function policyFieldRows(): Rows {
  return policyRows(PolicySpec, '');
}

function groupRows(object: z.ZodObject, prefix: string): Rows {
  const required = new Set([toJsonSchema(object)['required']].flat());
  return Object.entries(object.shape).flatMap(([name, field]) => {
    const { [DEFAULT_NOTE]: note } = z.globalRegistry.get(field) ?? {};
    const schema = toJsonSchema(field);
    const byDefault = typeof note === 'string' ? note : defaultText(schema, required.has(name));
    const cells = [`\`${prefix}${name}\``, typeText(schema), byDefault, String(schema['description'])];
    // Only `gitea` has fields of its own that are worth a row; of Secrets and resources the type says it.
    const isNested = Object.keys(schema.properties ?? {}).join() === 'url';
    const inner = isNested && unwrapped(field);
    return [cells, ...(inner instanceof z.ZodObject ? groupRows(inner, `${prefix}${name}.`) : [])];
  });
}

function policyRows(object: z.ZodObject, prefix: string): Rows {
  return Object.entries(object.shape).flatMap(([name, field]) => {
    // An entry has the rules of the policy. One row says so.
    if (prefix !== '' && Object.values(PolicySpec.shape).some((same) => same === field)) return [];
    const schema = toJsonSchema(field);
    const inner = unwrapped(field);
    const object = inner instanceof z.ZodArray ? inner.element : inner;
    const path = `${prefix}${name}`;
    return [
      [`\`${path}\``, policyTypeText(schema), String(schema['description'])],
      ...(object instanceof z.ZodObject ? policyRows(object, `${path}${inner === object ? '' : '[]'}.`) : []),
    ];
  });
}

function unwrapped(field: unknown): unknown {
  return field instanceof z.ZodOptional || field instanceof z.ZodDefault ? unwrapped(field.unwrap()) : field;
}

function defaultText(schema: JsonSchema, isRequired: boolean): string {
  if (isRequired) return '**required**';
  if (!('default' in schema)) return '';
  return Array.isArray(schema['default']) && schema['default'].length === 0
    ? 'none'
    : `\`${String(schema['default'])}\``;
}

function typeText(schema: JsonSchema): string {
  if (Array.isArray(schema['anyOf'])) return 'list of strings, or `false`';
  const { items = {} } = schema as { items?: JsonSchema };
  if (schema.type === 'array') return `list of ${items.type === 'object' ? typeText(items) : 'strings'}`;
  if (schema.type === 'object') return `\`{${Object.keys(schema.properties ?? {}).join(', ')}}\``;
  return scalarText(schema);
}

function policyTypeText(schema: JsonSchema): string {
  const { items = {} } = schema as { items?: JsonSchema };
  if (schema.type === 'array') return items.type === 'object' ? 'list of mappings' : 'list of strings';
  return schema.type === 'object' ? 'mapping' : scalarText(schema);
}

function scalarText(schema: JsonSchema): string {
  if (Array.isArray(schema['enum'])) return schema['enum'].map((word) => `\`${word}\``).join(', ');
  if (schema.type === 'integer') return `whole number, ${schema['minimum']} to ${schema['maximum']}`;
  return schema.type === 'boolean' ? '`true`, `false`' : 'string';
}
