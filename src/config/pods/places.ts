/** Finds the places of a template that a pattern names. The language of patterns: `ReservedField` in reserved.ts. */
import { type FieldPath, fieldValue, isList, isMapping, type Value } from './value.ts';

export interface Found {
  readonly path: FieldPath;
  /** May be null: in a merge it takes ours away. */
  readonly value: Value;
  /** What our pod has in the same place. */
  readonly ours: Value | undefined;
  /** The mapping around the value; for an element of a list the element itself. */
  readonly parent: Value;
  /** The innermost element of a list on the way. */
  readonly element: Value | undefined;
}

/** Merge keys that elements of our pod's lists have. */
const KEYS = ['name', 'mountPath'];

export function findPlaces(pattern: readonly string[], ours: Value, template: Value): readonly Found[] {
  let found: readonly Found[] = [{ path: [], value: template, ours, parent: template, element: undefined }];
  for (const step of pattern) {
    if (found.length === 0) return found;
    found = found.flatMap((place) => below(step, place));
  }
  return found;
}

function below(step: string, place: Found): readonly Found[] {
  const { value, ours, path } = place;
  if (isList(value)) {
    return value.flatMap((element, index) => {
      const same = ours === undefined ? undefined : sameElement(element, ours);
      if (!isElement(step, element, same)) return [];
      return [{ path: [...path, index], value: element, ours: same, parent: element, element }];
    });
  }
  if (!isMapping(value)) return [];
  const names = step.endsWith('*') ? Object.keys(value).filter((key) => isNamed(step, key)) : [step];
  return names
    .filter((key) => Object.hasOwn(value, key))
    .map((key) => ({
      path: [...path, key],
      value: value[key] ?? null,
      ours: fieldValue(ours, key),
      parent: value,
      element: place.element,
    }));
}

function isElement(step: string, element: Value, same: Value | undefined): boolean {
  if (step === '*') return true;
  const wanted = step.slice(1, -1);
  return wanted === 'ours' ? same !== undefined : isNamed(wanted, keyOf(element));
}

function isNamed(pattern: string, name: string): boolean {
  return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
}

/** The element of our list that an element of the template would be merged over. */
export function sameElement(element: Value, ours: Value): Value | undefined {
  const key = keyOf(element);
  return isList(ours) && key !== '' ? ours.find((mine) => keyOf(mine) === key) : undefined;
}

/** Mounts are told apart by their path, although they have a name, too. */
function keyOf(element: Value): string {
  const keys = KEYS.toReversed().map((key) => fieldValue(element, key));
  return String(keys.find((key) => typeof key === 'string') ?? '');
}
