/**
 * Pairs of templates for the comparison with Kubernetes' own merge, and helpers that write both results in the same
 * form.
 */
import { isList, isMapping, type Mapping, type Value } from '../../../src/config/pods/pod-schema.ts';
import { type Random, randomFrom, randomTemplate } from './random-template.ts';

export interface MergePair {
  readonly base: Mapping;
  readonly patch: Mapping;
}

/** The seed of the recorded pairs; the comparison with the oracle starts there and goes on. */
export const MERGE_SEED = 20_261_122;

export function mergePairs(count: number, set: number): readonly MergePair[] {
  return Array.from({ length: count }, (_, index) => {
    const random: Random = randomFrom(MERGE_SEED + index);
    const base = withoutNulls(randomTemplate(random, { set, nulls: 0 })) as Mapping;
    return { base, patch: randomTemplate(random, { set, nulls: 0.08 }) };
  });
}

/** Small pairs in which a list of both holds the same element. */
export function isWorthRecording({ base, patch }: MergePair): boolean {
  if (JSON.stringify([base, patch]).length > 1800) return false;
  return ['containers', 'volumes', 'initContainers'].some((field) => {
    const spec = patch['spec'];
    const list = isMapping(spec) ? spec[field] : undefined;
    return isList(list) && list.some((element) => isIn(base, field, element));
  });
}

/**
 * The patch that `kubectl apply` sends: it computes `$retainKeys` of the elements that are there already from the manifest. The raw merge
 * of a patch without it would give a volume two sources.
 */
export function asKubectlSends({ base, patch }: MergePair): Mapping {
  const spec = patch['spec'];
  if (!isMapping(spec)) return patch;
  const retained = Object.fromEntries(
    ['volumes', 'resourceClaims'].flatMap((field) => {
      const list = spec[field];
      if (!isList(list)) return [];
      return [[field, list.map((element) => (isIn(base, field, element) ? withRetainKeys(element) : element))]];
    }),
  );
  return { ...patch, spec: { ...spec, ...retained } };
}

function isIn(base: Mapping, field: string, element: Value): boolean {
  const spec = base['spec'];
  const list = isMapping(spec) ? spec[field] : undefined;
  if (!isList(list) || !isMapping(element)) return false;
  return list.some((ours) => isMapping(ours) && ours['name'] === element['name']);
}

function withRetainKeys(element: Value): Value {
  if (!isMapping(element)) return element;
  return { ...element, $retainKeys: Object.keys(element).filter((field) => element[field] !== null) };
}

/** Kubernetes' merge leaves nulls of new list elements in its result; the API server reads them as absent. */
export function withoutNulls(value: Value): Value {
  if (isList(value)) return value.map(withoutNulls);
  if (!isMapping(value)) return value;
  const entries = Object.entries(value).filter(([, entry]) => entry !== null);
  return Object.fromEntries(entries.map(([key, entry]) => [key, withoutNulls(entry)]));
}
