/** What a PodTemplateSpec can hold: pod-schema.json, made of Kubernetes' OpenAPI by scripts/pod-schema.mjs. Types are read when needed. */

import published from './pod-schema.json' with { type: 'json' };
import { type FieldPath, isList, isMapping, type Mapping, type Value } from './value.ts';

/** The Kubernetes release that all of src/config/pods speaks about. */
export const KUBERNETES_VERSION: string = published.kubernetes;
export const TEMPLATE_TYPE: string = published.root;

/** Letters of pod-schema.json. */
const SCALARS = {
  s: 'string',
  b: 'boolean',
  i: 'int32',
  l: 'int64',
  o: 'any object',
  d: 'date-time',
  q: 'quantity',
  x: 'integer or string',
} as const;
export type ScalarType = (typeof SCALARS)[keyof typeof SCALARS];
const scalars: ReadonlyMap<string, ScalarType> = new Map(Object.entries(SCALARS));

/** How two lists of one field become one. Without it the later list takes the place of the earlier one. */
export interface ListMerge {
  /** Of elements that are mappings: elements with the same value of it are one element. */
  readonly key?: string;
  /** Of an element only the fields stay that the later list names (`retainKeys`). */
  readonly retainKeys: boolean;
}

export type ValueType =
  | { readonly is: 'scalar'; readonly scalar: ScalarType }
  | { readonly is: 'mapping'; readonly of: ValueType }
  | ListType
  | { readonly is: 'struct'; readonly name: string };

export interface ListType {
  readonly is: 'list';
  readonly of: ValueType;
  readonly merge?: ListMerge;
  /** Fields that tell two elements apart, the merge key first; none for lists whose elements may repeat. */
  readonly distinctBy: readonly string[];
}

export interface Field {
  readonly required: boolean;
  readonly type: ValueType;
}

/** Fields of a struct by name. A Map: a field may not be called `constructor` by accident. */
export type Fields = ReadonlyMap<string, Field>;

const read = new Map<string, Fields>();
const types: ReadonlyMap<string, Readonly<Record<string, string>>> = new Map(Object.entries(published.types));

/** The fields of a struct. Throws on a name that pod-schema.json does not have: a defect of ours. */
export function fieldsOf(struct: string): Fields {
  const known = read.get(struct);
  if (known) return known;
  const written = types.get(struct);
  if (!written) throw new Error(`pod-schema.json has no type ${struct}`);
  const fields = new Map(Object.entries(written).map(([name, text]) => [name, fieldOf(text)]));
  read.set(struct, fields);
  return fields;
}

/** Fields that a struct must have. A template may leave out the containers: they are in our pod. */
export function requiredFields(struct: string): readonly string[] {
  return [...fieldsOf(struct)].flatMap(([name, { required }]) =>
    required && `${struct}.${name}` !== 'PodSpec.containers' ? [name] : [],
  );
}

/** `![ContainerPort] merge containerPort,protocol` */
function fieldOf(text: string): Field {
  const required = text.startsWith('!');
  const [type = '', ...words] = text.slice(required ? 1 : 0).split(' ');
  return { required, type: typeOf(type, words) };
}

function typeOf(text: string, words: readonly string[]): ValueType {
  const scalar = scalars.get(text);
  if (scalar) return { is: 'scalar', scalar };
  const inner = text.slice(1, -1);
  if (text.startsWith('{')) return { is: 'mapping', of: typeOf(inner, []) };
  if (!text.startsWith('[')) return { is: 'struct', name: text };
  const distinctBy = words.filter((word) => !WORDS.has(word)).flatMap((word) => word.split(','));
  const list = { is: 'list', of: typeOf(inner, []), distinctBy } as const;
  if (!words.includes('merge')) return list;
  const [key] = distinctBy;
  return { ...list, merge: { ...(key === undefined ? {} : { key }), retainKeys: words.includes('retainKeys') } };
}

const WORDS: ReadonlySet<string> = new Set(['merge', 'unique', 'retainKeys']);

type StructVisitor<T> = (struct: string, value: Mapping, path: FieldPath) => readonly T[];

/** What `visit` says of every struct, outer ones first. Skips nulls, unknown fields and values of a wrong type. */
export function visitStructs<T>(template: Value, visit: StructVisitor<T>): readonly T[] {
  return ofValue(template, { is: 'struct', name: TEMPLATE_TYPE }, [], visit);
}

function ofValue<T>(value: Value, type: ValueType, path: FieldPath, visit: StructVisitor<T>): readonly T[] {
  if (type.is === 'list' && isList(value))
    return value.flatMap((element, index) => ofValue(element, type.of, [...path, index], visit));
  if (type.is !== 'struct' || !isMapping(value)) return [];
  const fields = fieldsOf(type.name);
  return [
    ...visit(type.name, value, path),
    ...Object.entries(value).flatMap(([name, entry]) => {
      const field = fields.get(name);
      return field ? ofValue(entry, field.type, [...path, name], visit) : [];
    }),
  ];
}

type Json = Readonly<Record<string, unknown>>;

const JSON_SCALARS: Readonly<Record<ScalarType, Json>> = {
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

/** A PodTemplateSpec as JSON Schema (draft-07) for editors. It takes all that `validate` takes: null may take any field away. */
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
      return JSON_SCALARS[type.scalar];
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
