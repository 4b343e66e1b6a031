/** The table of all fields in docs/runnergroup.md: its rows. */
import * as z from 'zod';
import { type JsonSchema, toJsonSchema } from './json-schema.ts';
import { DEFAULT_NOTE, Metadata, Spec } from './schema.ts';

/** One row per field: name, type, default, meaning. Markdown. */
export const FIELD_HEAD = ['field', 'type', 'default', 'meaning'];

export function fieldRows(): readonly (readonly string[])[] {
  return [
    ...rowsOf(z.strictObject({ name: Metadata.shape.name, namespace: Metadata.shape.namespace }), 'metadata.'),
    ...rowsOf(Spec, ''),
  ];
}

function rowsOf(object: z.ZodObject, prefix: string): readonly (readonly string[])[] {
  const required = new Set([toJsonSchema(object)['required']].flat());
  return Object.entries(object.shape).flatMap(([name, field]) => {
    const { [DEFAULT_NOTE]: note } = z.globalRegistry.get(field) ?? {};
    const schema = toJsonSchema(field);
    const byDefault = typeof note === 'string' ? note : defaultText(schema, required.has(name));
    const cells = [`\`${prefix}${name}\``, typeText(schema), byDefault, String(schema['description'])];
    const inner = isNested(schema) && unwrapped(field);
    return [cells, ...(inner ? rowsOf(inner, `${prefix}${name}.`) : [])];
  });
}

/** Only `gitea` has fields of its own that are worth a row; of Secrets and resources the type says it. */
function isNested({ properties = {} }: JsonSchema): boolean {
  return Object.keys(properties).join() === 'url';
}

function unwrapped(field: z.core.$ZodType): z.ZodObject | undefined {
  let inner: unknown = field;
  while (inner instanceof z.ZodOptional || inner instanceof z.ZodDefault) inner = inner.unwrap();
  return inner instanceof z.ZodObject ? inner : undefined;
}

function defaultText(schema: JsonSchema, isRequired: boolean): string {
  if (isRequired) return '**required**';
  if (!('default' in schema)) return '';
  return Array.isArray(schema['default']) && schema['default'].length === 0
    ? 'none'
    : `\`${String(schema['default'])}\``;
}

function typeText(schema: JsonSchema): string {
  if (Array.isArray(schema['enum'])) return schema['enum'].map((word) => `\`${word}\``).join(', ');
  if (Array.isArray(schema['anyOf'])) return 'list of strings, or `false`';
  switch (schema.type) {
    case 'array':
      return `list of ${itemText(schema['items'] as JsonSchema)}`;
    case 'integer':
      return `whole number, ${schema['minimum']} to ${schema['maximum']}`;
    case 'boolean':
      return '`true`, `false`';
    case 'object':
      return `\`{${Object.keys(schema.properties ?? {}).join(', ')}}\``;
    default:
      return 'string';
  }
}

function itemText(item: JsonSchema): string {
  return item.type === 'object' ? typeText(item) : 'strings';
}
