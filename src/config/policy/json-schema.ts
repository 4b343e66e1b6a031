/** The schema of a policy file for editors, and the table of its fields in docs/policy.md. */
import * as z from 'zod';
import { editorSchema, type JsonSchema, toJsonSchema } from '../runnergroup/json-schema.ts';
import { PolicyDocument, PolicySpec } from './schema.ts';

export function policyJsonSchema(): JsonSchema {
  return editorSchema('RunnerPolicy', PolicyDocument);
}

export const POLICY_FIELD_HEAD = ['field', 'type', 'meaning'];

/** One row per field below `spec`: name, type, meaning. Markdown. */
export function policyFieldRows(): readonly (readonly string[])[] {
  return rowsOf(PolicySpec, '');
}

function rowsOf(object: z.ZodObject, prefix: string): readonly (readonly string[])[] {
  return Object.entries(object.shape).flatMap(([name, field]) => {
    const schema = toJsonSchema(field);
    const inner = innerObject(field);
    const path = `${prefix}${name}`;
    return [
      [`\`${path}\``, typeText(schema), String(schema['description'])],
      ...(inner ? rowsOf(inner.object, `${path}${inner.isList ? '[]' : ''}.`) : []),
    ];
  });
}

/** The fields of a mapping, or of the mappings in a list. */
function innerObject(field: unknown): { readonly object: z.ZodObject; readonly isList: boolean } | undefined {
  const inner = field instanceof z.ZodOptional ? field.unwrap() : field;
  if (inner instanceof z.ZodObject) return { object: inner, isList: false };
  if (inner instanceof z.ZodArray && inner.element instanceof z.ZodObject)
    return { object: inner.element, isList: true };
  return undefined;
}

function typeText(schema: JsonSchema): string {
  if (Array.isArray(schema['enum'])) return schema['enum'].map((word) => `\`${word}\``).join(', ');
  switch (schema.type) {
    case 'array':
      return (schema['items'] as JsonSchema).type === 'object' ? 'list of mappings' : 'list of strings';
    case 'integer':
      return `whole number, ${schema['minimum']} to ${schema['maximum']}`;
    case 'object':
      return 'mapping';
    default:
      return 'string';
  }
}
