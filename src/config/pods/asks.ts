/**
 * What a template asks of the installation: the values that a policy allows or forbids, with their places. This room
 * judges none of them.
 */
import { type FieldPath, fieldValue, isMapping, type Mapping, stringOf } from './value.ts';
import { visitStructs } from './visit.ts';

export type AskedKind =
  | 'image'
  | 'serviceAccount'
  | 'priorityClass'
  | 'runtimeClass'
  | 'secret'
  | 'configMap'
  | 'claim'
  | 'pullSecret'
  /** A field of `metadata` or `spec`; its value is its name. */
  | 'field';

export interface Asked {
  readonly kind: AskedKind;
  readonly value: string;
  readonly path: FieldPath;
}

/** Struct and field that hold the name of something. */
const NAMED: readonly (readonly [string, string, AskedKind])[] = [
  ['Container', 'image', 'image'],
  ['EphemeralContainer', 'image', 'image'],
  ['ImageVolumeSource', 'reference', 'image'],
  ['PodSpec', 'serviceAccountName', 'serviceAccount'],
  ['PodSpec', 'serviceAccount', 'serviceAccount'],
  ['PodSpec', 'priorityClassName', 'priorityClass'],
  ['PodSpec', 'runtimeClassName', 'runtimeClass'],
  ['SecretKeySelector', 'name', 'secret'],
  ['SecretEnvSource', 'name', 'secret'],
  ['SecretProjection', 'name', 'secret'],
  ['SecretVolumeSource', 'secretName', 'secret'],
  ['AzureFileVolumeSource', 'secretName', 'secret'],
  ['ConfigMapKeySelector', 'name', 'configMap'],
  ['ConfigMapEnvSource', 'name', 'configMap'],
  ['ConfigMapProjection', 'name', 'configMap'],
  ['ConfigMapVolumeSource', 'name', 'configMap'],
  ['PersistentVolumeClaimVolumeSource', 'claimName', 'claim'],
];

/** Everything that the template names, its fields first. The template must have passed `checkShape`; what is null asks for nothing. */
export function asksOf(template: Mapping): readonly Asked[] {
  const fields = ['metadata', 'spec'].flatMap((part) => {
    const value = fieldValue(template, part);
    const names = isMapping(value) ? Object.keys(value).filter((field) => value[field] !== null) : [];
    return names.map((field): Asked => ({ kind: 'field', value: `${part}.${field}`, path: [part, field] }));
  });
  return [...fields, ...visitStructs(template, namesIn)];
}

function namesIn(struct: string, value: Mapping, path: FieldPath): readonly Asked[] {
  // The drivers of some volumes read a Secret; the kubelet reads pull secrets.
  const kind = path.includes('imagePullSecrets') ? 'pullSecret' : 'secret';
  const rows = struct === 'LocalObjectReference' ? [[struct, 'name', kind] as const] : NAMED;
  return rows.flatMap(([owner, field, asked]) => {
    const name = stringOf(value, field);
    return owner === struct && name !== '' ? [{ kind: asked, value: name, path: [...path, field] }] : [];
  });
}
