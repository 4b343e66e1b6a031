/**
 * `add` and `remove` of RFC 6902 on a manifest that is ours alone. cdk8s' own `JsonPatch` copies and checks so much that it took a
 * seventh of what a RunnerGroup costs a start (docs/adr/0027).
 */

/** One correction. The path is a JSON pointer; `-` at its end is the place behind the last element of a list. */
export interface JsonPatch {
  readonly path: string;
  /** Absent: what is there is taken away. */
  readonly value?: unknown;
}

export const JsonPatch = { add, remove, apply };

function add(path: string, value: unknown): JsonPatch {
  return { path, value };
}

function remove(path: string): JsonPatch {
  return { path };
}

/** Changes the manifest itself. The values of the patches are copied. @throws Error when a path leads nowhere: a mistake of ours. */
function apply<T extends object>(manifest: T, ...patches: readonly JsonPatch[]): T {
  for (const patch of patches) change(manifest, patch);
  return manifest;
}

function change(manifest: object, { path, value }: JsonPatch): void {
  const { way, last } = pointerOf(path);
  let at: unknown = manifest;
  for (const step of way) at = isObject(at) ? at[step] : undefined;
  if (!isObject(at) || (value === undefined && !Object.hasOwn(at, last))) throw new Error(`no ${path} in the manifest`);
  if (value === undefined) takeAway(at, last);
  else put(at, last, isObject(value) ? JSON.parse(JSON.stringify(value)) : value);
}

function takeAway(from: Record<string, unknown>, key: string): void {
  if (Array.isArray(from)) from.splice(Number(key), 1);
  else delete from[key];
}

function put(into: Record<string, unknown>, key: string, value: unknown): void {
  if (!Array.isArray(into)) into[key] = value;
  else into.splice(key === '-' ? into.length : Number(key), 0, value);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** A JSON pointer (RFC 6901): the keys down to the object or list that is changed, and the key in it. */
interface Pointer {
  readonly way: readonly string[];
  readonly last: string;
}

/** All groups are corrected at the same few paths. */
const pointers = new Map<string, Pointer>();

function pointerOf(path: string): Pointer {
  const known = pointers.get(path);
  if (known) return known;
  const steps = path
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  const pointer = { way: steps.slice(0, -1), last: steps.at(-1) ?? '' };
  pointers.set(path, pointer);
  return pointer;
}
