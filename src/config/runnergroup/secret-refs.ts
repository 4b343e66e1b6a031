/** Which Secrets a spec names besides its two tokens. A field that is added later is found, too. */
import * as z from 'zod';

/** The key is absent where a field means the whole Secret. */
const Ref = z.object({ name: z.string(), key: z.string().exactOptional() });

/** With the path of its name. */
export type SecretRef = z.output<typeof Ref> & { readonly path: string };

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
      const ref = field === 'secretRef' ? Ref.safeParse(inner).data : undefined;
      return [...(ref ? [{ path: `${at}.name`, ...ref }] : []), ...below(inner, at)];
    });
  };
  return below(spec, 'spec');
}
