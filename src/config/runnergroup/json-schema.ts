/** JSON Schema of what people write, and the table of its fields in docs/runnergroup.md. */
import * as z from 'zod';
import { DEFAULT_NOTE, KIND, Metadata, RunnerGroupDocument, Spec } from './schema.ts';

/** A JSON Schema as far as our own schemas need it. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
  readonly type?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
}

/** What people may write. */
export function jsonSchema(): JsonSchema {
  return editorSchema(KIND, RunnerGroupDocument);
}

/** The schema of a document as draft-07: the draft that editors' YAML support reads. */
export function editorSchema(title: string, document: z.ZodType): JsonSchema {
  return { $schema: 'http://json-schema.org/draft-07/schema#', title, ...toJsonSchema(document) };
}

/** A zod schema of ours as JSON Schema of its input. Rules between fields have no place in it. */
export function toJsonSchema(schema: z.ZodType): JsonSchema {
  const { $schema: _$schema, ...rest } = z.toJSONSchema(schema, {
    io: 'input',
    target: 'draft-7',
    override: ({ jsonSchema: made }) => {
      delete made[DEFAULT_NOTE];
      // The largest number of JavaScript is no rule of ours.
      if (made.maximum === Number.MAX_SAFE_INTEGER) delete made.maximum;
      if (made.minimum === Number.MIN_SAFE_INTEGER) delete made.minimum;
    },
  });
  return rest as JsonSchema;
}

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
