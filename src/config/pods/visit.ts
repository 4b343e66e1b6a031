/** Walks over the structs of a template. */
import { fieldsOf, TEMPLATE_TYPE, type ValueType } from './schema.ts';
import { type FieldPath, isList, isMapping, type Mapping, type Value } from './value.ts';

export type StructVisitor<T> = (struct: string, value: Mapping, path: FieldPath) => readonly T[];

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
