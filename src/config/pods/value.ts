/** Values of a podTemplate, where they stand, and how large a template may be. */

/** What JSON can say. Named apart from `Json` of src/manifests, which this room may not know. */
export type Value = string | number | boolean | null | readonly Value[] | Mapping;
export interface Mapping {
  readonly [key: string]: Value;
}

/** Where a value stands, below the template: `['spec', 'containers', 0, 'image']`. */
export type FieldPath = readonly (string | number)[];

export interface TemplateFault {
  readonly path: FieldPath;
  /** What follows `PATH: `. Names fields and rules, never a value that could be a secret. */
  readonly message: string;
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

/** The first bound that a template breaks: to be asked first. Bounds keep recursion small, also for a value that refers to itself (YAML aliases). */
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

function tooLarge(what: string): string {
  return `has ${what}, and every runner's Job repeats it; put scripts and files into a ConfigMap and mount that`;
}
