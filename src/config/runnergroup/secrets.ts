/** What a spec takes from Secrets. CI jobs can read most of what is in their pod, so no token of Gitea may get there. */
import type { Path } from './documents.ts';
import { isMapping, pathText, valueAt } from './paths.ts';
import type { RunnerGroup } from './runner-group.ts';

export interface SecretRef {
  readonly name: string;
  /** Absent where a field means the whole Secret. */
  readonly key?: string;
  /** Path of the reference. */
  readonly at: Path;
  /** Path of the name, as people write it. */
  readonly path: string;
}

const TOKENS: readonly string[] = ['registrationToken', 'authToken'];

/** Returns every `secretRef` of the spec at any depth, except for those of its tokens and its podTemplates. */
export function otherSecrets(spec: unknown): readonly SecretRef[] {
  // YAML aliases show one object at several places; each is looked at once.
  const visited = new Set<object>();
  const below = (value: unknown, path: Path): readonly SecretRef[] => {
    if (typeof value !== 'object' || value === null || visited.has(value)) return [];
    visited.add(value);
    return Object.entries(value).flatMap(([field, inner]: [string, unknown]) => {
      if (field === 'podTemplate' || (path.length === 1 && TOKENS.includes(field))) return [];
      const fieldPath = [...path, Array.isArray(value) ? Number(field) : field];
      return [...(field === 'secretRef' ? refIn(inner, fieldPath) : []), ...below(inner, fieldPath)];
    });
  };
  return below(spec, ['spec']);
}

function refIn(value: unknown, at: Path): readonly SecretRef[] {
  const { name, key } = isMapping(value) ? value : {};
  if (typeof name !== 'string') return [];
  return [{ at, path: pathText([...at, 'name']), name, ...(typeof key === 'string' && { key }) }];
}

/** Returns a token of the spec in both spellings, also one that is not used. */
function tokenIn(spec: unknown, field: string): readonly SecretRef[] {
  return refIn(valueAt(spec, [field, 'secretRef']) ?? valueAt(spec, [field]), ['spec', field]);
}

/** Returns the names of the Secrets that hold tokens of Gitea. */
export function tokenSecrets({ authToken, manifest, registrationToken }: RunnerGroup): readonly string[] {
  const asWritten = TOKENS.flatMap((field) => tokenIn(manifest['spec'], field));
  return [...(registrationToken ? [registrationToken] : []), authToken, ...asWritten].map(({ name }) => name);
}

/** Finds tokens of Gitea that the fields of a spec would put into a pod. A podTemplate is judged with the pod. */
type JudgeTokens = (spec: unknown) => readonly { readonly path: Path; readonly message: string }[];

/** @param holders groups of one namespace, with their specs as written. `of`: words for the group in messages */
export function tokenJudge(holders: readonly { readonly spec: unknown; readonly of: string }[]): JudgeTokens {
  const apiTokens = new Map<string, string>();
  const tokens = new Map<string, string>();
  for (const { spec, of } of holders) {
    for (const ref of TOKENS.flatMap((field) => tokenIn(spec, field))) {
      tokens.set(refText(ref), of).set(refText({ name: ref.name }), of);
      if (ref.at[1] === 'authToken') apiTokens.set(refText(ref), of);
    }
  }
  return (spec) => {
    const isInPod = valueAt(spec, ['registration', 'by']) !== 'serve';
    const registration = isInPod ? tokenIn(spec, 'registrationToken') : [];
    return [
      ...registration.flatMap((ref) => {
        const of = apiTokens.get(refText(ref));
        if (of === undefined) return [];
        const message = `is the API token${of}, which no pod may hold: name the key with the registration token`;
        return [{ path: ref.at, message }];
      }),
      ...otherSecrets(spec).flatMap((ref) => {
        const of = tokens.get(refText(ref));
        if (of === undefined) return [];
        if (ref.key === undefined) {
          const message = `is a Secret with a token of Gitea${of}; CI jobs could read it, so use another Secret`;
          return [{ path: [...ref.at, 'name'], message }];
        }
        return [{ path: ref.at, message: `is a token of Gitea${of}; CI jobs could read it, so name another key` }];
      }),
    ];
  };
}

function refText({ name, key = '' }: Pick<SecretRef, 'name' | 'key'>): string {
  return `${name}/${key}`;
}
