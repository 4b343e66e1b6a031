/**
 * A PodTemplateSpec as JSON Schema (draft-07), so that editors complete and explain its fields. It takes everything that `validate` takes:
 * null may take any field away. What a template may say besides its shape only `validate` knows.
 */
import { requiredFields } from './check-shape.ts';
import { fieldsOf, type ScalarType, TEMPLATE_TYPE, type ValueType } from './schema.ts';

type Json = Readonly<Record<string, unknown>>;

const SCALARS: Readonly<Record<ScalarType, Json>> = {
  string: { type: 'string' },
  boolean: { type: 'boolean' },
  int32: { type: 'integer' },
  int64: { type: 'integer' },
  'any object': { type: 'object' },
  'date-time': { type: 'string' },
  quantity: { type: ['string', 'number'] },
  'integer or string': { type: ['integer', 'string'] },
};

type Definitions = Map<string, Json>;

/** The schema of a whole template, and all definitions that it refers to. */
export function podTemplateSchema(): { readonly template: Json; readonly definitions: Readonly<Record<string, Json>> } {
  const definitions: Definitions = new Map();
  return { template: refTo(TEMPLATE_TYPE, definitions), definitions: Object.fromEntries(definitions) };
}

function refTo(struct: string, definitions: Definitions): Json {
  if (!definitions.has(struct)) {
    // A struct may hold itself.
    definitions.set(struct, {});
    definitions.set(struct, definitionOf(struct, definitions));
  }
  return { $ref: `#/definitions/${struct}` };
}

function definitionOf(struct: string, definitions: Definitions): Json {
  const fields = [...fieldsOf(struct)];
  const properties = fields.map(([name, { type }]) => [name, nullable(schemaOf(type, definitions))]);
  const required = requiredFields(struct);
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    additionalProperties: false,
    ...(required.length > 0 && { required }),
  };
}

function schemaOf(type: ValueType, definitions: Definitions): Json {
  switch (type.is) {
    case 'scalar':
      return SCALARS[type.scalar];
    case 'mapping':
      return { type: 'object', additionalProperties: nullable(schemaOf(type.of, definitions)) };
    case 'list':
      return { type: 'array', items: schemaOf(type.of, definitions) };
    case 'struct':
      return refTo(type.name, definitions);
    default:
      return type satisfies never;
  }
}

function nullable(schema: Json): Json {
  const { type } = schema;
  if (type === undefined) return { anyOf: [schema, { type: 'null' }] };
  return { ...schema, type: [type, 'null'].flat() };
}
