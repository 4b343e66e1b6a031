/** The schema of a PodTemplateSpec: pod-schema.json, made from Kubernetes' OpenAPI by scripts/pod-schema.mjs. */
import published from './pod-schema.json' with { type: 'json' };

/** The Kubernetes release that all of src/config/pods speaks about. */
export const KUBERNETES_VERSION: string = published.kubernetes;
export const TEMPLATE_TYPE: string = published.root;

/** Scalars by their letters in pod-schema.json: name, and types in JSON Schema. */
const SCALARS = {
  s: ['string', 'string'],
  b: ['boolean', 'boolean'],
  i: ['int32', 'integer'],
  l: ['int64', 'integer'],
  o: ['any object', 'object'],
  d: ['date-time', 'string'],
  q: ['quantity', ['string', 'number']],
  x: ['integer or string', ['integer', 'string']],
} as const;
type Scalar = (typeof SCALARS)[keyof typeof SCALARS];
export type ScalarType = Scalar[0];
const scalars: ReadonlyMap<string, Scalar> = new Map(Object.entries(SCALARS));

/** How two lists of one field are merged. Without it, the later list replaces the earlier one. */
export interface ListMerge {
  /** Merge key: mappings with the same value of this field are one element. */
  readonly key?: string;
  /** True if an element keeps only the fields that the later list names (`retainKeys`). */
  readonly retainKeys: boolean;
}

export type ValueType =
  | { readonly kind: 'scalar'; readonly scalar: ScalarType; readonly jsonTypes: Scalar[1] }
  | { readonly kind: 'mapping'; readonly element: ValueType }
  | ListType
  | { readonly kind: 'struct'; readonly name: string };

export interface ListType {
  readonly kind: 'list';
  readonly element: ValueType;
  readonly merge?: ListMerge;
  /** Fields that tell two elements apart, the merge key first; none for lists whose elements may repeat. */
  readonly distinctBy: readonly string[];
}

type Field = Readonly<{ required: boolean; type: ValueType }>;

/** Fields of a struct by name. Maps: a field may not be called `constructor` by accident. */
const fieldsByStruct = new Map<string, ReadonlyMap<string, Field>>();
const types: ReadonlyMap<string, Readonly<Record<string, string>>> = new Map(Object.entries(published.types));

/** Returns the fields of a struct. Throws on a name that pod-schema.json does not have: a defect of this program. */
export function fieldsOf(struct: string): ReadonlyMap<string, Field> {
  const knownFields = fieldsByStruct.get(struct);
  if (knownFields) return knownFields;
  const fieldTexts = types.get(struct);
  if (!fieldTexts) throw new Error(`pod-schema.json has no type ${struct}`);
  const fields = new Map(Object.entries(fieldTexts).map(([name, text]) => [name, fieldOf(text)]));
  fieldsByStruct.set(struct, fields);
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

function typeOf(text: string, typeWords: readonly string[]): ValueType {
  const scalar = scalars.get(text);
  if (scalar) return { kind: 'scalar', scalar: scalar[0], jsonTypes: scalar[1] };
  const inner = text.slice(1, -1);
  if (text.startsWith('{')) return { kind: 'mapping', element: typeOf(inner, []) };
  if (!text.startsWith('[')) return { kind: 'struct', name: text };
  const distinctBy = typeWords.filter((word) => !WORDS.has(word)).flatMap((word) => word.split(','));
  const list = { kind: 'list', element: typeOf(inner, []), distinctBy } as const;
  if (!typeWords.includes('merge')) return list;
  const [key] = distinctBy;
  return { ...list, merge: { ...(key === undefined ? {} : { key }), retainKeys: typeWords.includes('retainKeys') } };
}

const WORDS: ReadonlySet<string> = new Set(['merge', 'unique', 'retainKeys']);

type StructVisitor<T> = (struct: string, value: Mapping, path: FieldPath) => readonly T[];

/** Calls `visit` for each struct, outer ones first. Skips nulls, unknown fields and values of a wrong type. */
export function visitStructs<T>(template: Value, visit: StructVisitor<T>): readonly T[] {
  return visitValue(template, { kind: 'struct', name: TEMPLATE_TYPE }, [], visit);
}

function visitValue<T>(value: Value, type: ValueType, path: FieldPath, visit: StructVisitor<T>): readonly T[] {
  if (type.kind === 'list' && isList(value))
    return value.flatMap((element, index) => visitValue(element, type.element, [...path, index], visit));
  if (type.kind !== 'struct' || !isMapping(value)) return [];
  const fields = fieldsOf(type.name);
  return [
    ...visit(type.name, value, path),
    ...Object.entries(value).flatMap(([name, entry]) => {
      const field = fields.get(name);
      return field ? visitValue(entry, field.type, [...path, name], visit) : [];
    }),
  ];
}

type Json = Readonly<Record<string, unknown>>;

/** Returns the JSON Schema (draft-07) of a PodTemplateSpec, for editors. Null may remove any field. */
export function podTemplateSchema(): { readonly template: Json; readonly definitions: Readonly<Record<string, Json>> } {
  const definitions: Record<string, Json> = {};
  const schemaOf = (type: ValueType): Json => {
    switch (type.kind) {
      case 'scalar':
        return { type: type.jsonTypes };
      case 'mapping':
        return { type: 'object', additionalProperties: nullable(schemaOf(type.element)) };
      case 'list':
        return { type: 'array', items: schemaOf(type.element) };
      case 'struct':
        return structSchema(type.name);
      default:
        return type satisfies never;
    }
  };
  const structSchema = (name: string): Json => {
    const reference = { $ref: `#/definitions/${name}` };
    if (name in definitions) return reference;
    // A struct may hold itself.
    definitions[name] = {};
    const properties = [...fieldsOf(name)].map(([field, { type }]) => [field, nullable(schemaOf(type))]);
    const required = requiredFields(name);
    definitions[name] = {
      type: 'object',
      properties: Object.fromEntries(properties),
      additionalProperties: false,
      ...(required.length > 0 && { required }),
    };
    return reference;
  };
  return { template: structSchema(TEMPLATE_TYPE), definitions };
}

function nullable(schema: Json): Json {
  const { type } = schema;
  if (type === undefined) return { anyOf: [schema, { type: 'null' }] };
  return { ...schema, type: [type, 'null'].flat() };
}

/** A JSON value. The name differs from `Json` of src/manifests, which this room may not import. */
export type Value = string | number | boolean | null | readonly Value[] | Mapping;
export interface Mapping {
  readonly [key: string]: Value;
}

/** Place of a value, relative to the template: `['spec', 'containers', 0, 'image']`. */
export type FieldPath = readonly (string | number)[];

export interface TemplateFault {
  readonly path: FieldPath;
  /** The text after `PATH: `. It names fields and rules, never a value that could be a secret. */
  readonly message: string;
  /** Required form, if a scalar has another type. */
  readonly wanted?: string;
}

/** Levels below the template. The deepest field of Kubernetes is at 14. */
export const DEEPEST = 32;
/** Scalars, mappings and lists together. A full template has about 300. */
export const MOST_VALUES = 10_000;
/** Characters of all keys and strings. Kubernetes allows 256 KiB of annotations; 50 Jobs repeat it 50 times. */
export const MOST_CHARACTERS = 131_072;

export function isMapping(value: Value | undefined): value is Mapping {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isList(value: Value | undefined): value is readonly Value[] {
  return Array.isArray(value);
}

/** The field's own value. Never what JavaScript's objects inherit; null is absent, as Kubernetes has it. */
export function fieldValue(mapping: Value | undefined, field: string): Value | undefined {
  if (!isMapping(mapping) || !Object.hasOwn(mapping, field)) return undefined;
  return mapping[field] ?? undefined;
}

/** The list in a field; empty when there is none. */
export function listOf(mapping: Value | undefined, field: string): readonly Value[] {
  const value = fieldValue(mapping, field);
  return isList(value) ? value : [];
}

/** Returns the containers of a template with their places. @param lists in this order */
export function containersOf(template: Mapping, lists: readonly string[] = ['initContainers', 'containers']) {
  const spec = fieldValue(template, 'spec');
  return lists.flatMap((list) =>
    listOf(spec, list).map((container, index) => ({ list, path: ['spec', list, index] as FieldPath, container })),
  );
}

/** The entries of the mapping in a field that have a value; empty when there is none. */
export function entriesOf(mapping: Value | undefined, field: string): readonly (readonly [string, Value])[] {
  const value = fieldValue(mapping, field);
  return isMapping(value) ? Object.entries(value).filter(([, entry]) => entry !== null) : [];
}

/** The value as a string; '' when it is none. */
export function stringOf(mapping: Value | undefined, field: string): string {
  const value = fieldValue(mapping, field);
  return typeof value === 'string' ? value : '';
}

/** The first bound that a template breaks. Asked first: it ends recursion, also in a value that holds itself. */
export function boundFault(template: Value): TemplateFault | undefined {
  let values = 0;
  let characters = 0;
  const visit = (value: Value, path: FieldPath): TemplateFault | undefined => {
    values += 1;
    if (values > MOST_VALUES) return { path: [], message: tooLarge(`more than ${MOST_VALUES} values`) };
    if (path.length > DEEPEST)
      return { path: path.slice(0, 8), message: `is nested deeper than ${DEEPEST} levels; no pod is` };
    if (typeof value === 'string') characters += value.length;
    if (characters > MOST_CHARACTERS) return { path: [], message: tooLarge(`more than ${MOST_CHARACTERS} characters`) };
    for (const [key, entry] of childrenOf(value)) {
      characters += typeof key === 'string' ? key.length : 0;
      if (key === '__proto__') return { path: [...path, key], message: 'unknown field' };
      const fault = visit(entry, [...path, key]);
      if (fault) return fault;
    }
    return undefined;
  };
  return visit(template, []);
}

function childrenOf(value: Value): Iterable<readonly [string | number, Value]> {
  if (isList(value)) return value.entries();
  return isMapping(value) ? Object.entries(value) : [];
}

function tooLarge(subject: string): string {
  return `has ${subject}, and every runner's Job repeats it; put scripts and files into a ConfigMap and mount that`;
}
