/** Which Secrets a spec names besides its two tokens. A field that is added later is found, too. */

export interface SecretRef {
  /** Where its name stands. */
  readonly path: string;
  readonly name: string;
  /** Absent: the field means the whole Secret. */
  readonly key?: string;
}

/** Fields that are read by names of their own. */
const READ_ELSEWHERE = new Set(['registrationToken', 'authToken', 'podTemplate']);

/** Every `secretRef` of the spec, however deep, without those of its tokens and its podTemplate. */
export function otherSecrets(spec: unknown): readonly SecretRef[] {
  // YAML aliases show one object at several places; each is looked at once.
  const seen = new Set<object>();
  const below = (value: unknown, path: string): readonly SecretRef[] => {
    if (typeof value !== 'object' || value === null || seen.has(value)) return [];
    seen.add(value);
    return Object.entries(value).flatMap(([field, inner]: [string, unknown]) => {
      if (path === 'spec' && READ_ELSEWHERE.has(field)) return [];
      const at = `${path}.${field.slice(0, 80)}`;
      return [...(field === 'secretRef' ? refOf(inner, `${at}.name`) : []), ...below(inner, at)];
    });
  };
  return below(spec, 'spec');
}

function refOf(value: unknown, path: string): readonly SecretRef[] {
  if (typeof value !== 'object' || value === null || !('name' in value) || typeof value.name !== 'string') return [];
  return [{ path, name: value.name, ...('key' in value && typeof value.key === 'string' && { key: value.key }) }];
}
