/** Collects the values of a template that a policy allows or forbids, with their places. */
import { type FieldPath, fieldValue, isMapping, type Mapping, stringOf, visitStructs } from './pod-schema.ts';

/** `field`: a field of `metadata` or `spec`; its value is its name. */
export type AskedKind = 'image' | 'serviceAccount' | 'priorityClass' | 'secret' | 'pullSecret' | 'field';

export type Asked = Readonly<{ kind: AskedKind; value: string; path: FieldPath }>;

/** Fields that hold the name of something, `Struct.field`. */
const NAMED: readonly (readonly [AskedKind, ...(readonly string[])])[] = [
  ['image', 'Container.image', 'EphemeralContainer.image', 'ImageVolumeSource.reference'],
  ['serviceAccount', 'PodSpec.serviceAccountName', 'PodSpec.serviceAccount'],
  ['priorityClass', 'PodSpec.priorityClassName'],
  ['secret', 'SecretKeySelector.name', 'SecretEnvSource.name', 'SecretProjection.name'],
  ['secret', 'SecretVolumeSource.secretName', 'AzureFileVolumeSource.secretName'],
];
const KIND_OF = new Map(NAMED.flatMap(([kind, ...fields]) => fields.map((field) => [field, kind] as const)));

/** Returns what a template asks for, its own fields first. It has passed `checkShape`. Null asks for nothing. */
export function asksOf(template: Mapping): readonly Asked[] {
  const fields = ['metadata', 'spec'].flatMap((part) => {
    const value = fieldValue(template, part);
    const names = isMapping(value) ? Object.keys(value).filter((field) => value[field] !== null) : [];
    return names.map((field): Asked => ({ kind: 'field', value: `${part}.${field}`, path: [part, field] }));
  });
  return [...fields, ...visitStructs(template, namesIn)];
}

function namesIn(struct: string, value: Mapping, path: FieldPath): readonly Asked[] {
  return Object.keys(value).flatMap((field) => {
    const kind = KIND_OF.get(`${struct}.${field}`) ?? kindOfReference(struct, field, path);
    const name = stringOf(value, field);
    return kind && name !== '' ? [{ kind, value: name, path: [...path, field] }] : [];
  });
}

/** The drivers of some volumes read a Secret; the kubelet reads pull secrets. */
function kindOfReference(struct: string, field: string, path: FieldPath): AskedKind | undefined {
  if (struct !== 'LocalObjectReference' || field !== 'name') return undefined;
  return path.includes('imagePullSecrets') ? 'pullSecret' : 'secret';
}
