/**
 * What has not changed stays the same object. Then a later step can see by `===` that it has nothing to do. All of `serve` keeps
 * results by these functions only.
 */
import { isDeepStrictEqual } from 'node:util';

/** True for two lists of the same objects in the same order. */
export function sameElements(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a === b || (a.length === b.length && a.every((each, at) => each === b[at]));
}

export function keepList<T>(before: readonly T[] | undefined, now: readonly T[]): readonly T[] {
  return before && sameElements(before, now) ? before : now;
}

/** Lists by key. A list that holds the same objects as before is the list of before. */
export function keepLists<K, T>(
  before: ReadonlyMap<K, readonly T[]>,
  now: ReadonlyMap<K, readonly T[]>,
): ReadonlyMap<K, readonly T[]> {
  return new Map([...now].map(([key, list]) => [key, keepList(before.get(key), list)]));
}

export function keepEqual<T>(before: T | undefined, now: T): T {
  return before !== undefined && isDeepStrictEqual(before, now) ? before : now;
}

/** A pure function that is called once per object. It keeps no object alive. */
export function oncePerObject<K extends object, V>(make: (key: K) => V): (key: K) => V {
  const known = new WeakMap<K, { readonly value: V }>();
  return (key) => {
    const found = known.get(key);
    if (found) return found.value;
    const value = make(key);
    known.set(key, { value });
    return value;
  };
}

interface CachedItem<V> {
  readonly key: string;
  /** While these are the same, the value of before holds. */
  readonly inputs: readonly unknown[];
  /** @param before the value that other inputs led to. */
  readonly make: (before: V | undefined) => V;
}

/** Values by key. Each is made again only when its inputs have changed, and is asked for its inputs only after a change. */
export class CachedByKey<V> {
  #known = new Map<string, Pick<CachedItem<V>, 'inputs'> & { readonly value: V }>();
  #list: readonly V[] = [];
  #isOld = true;

  readonly hasChanged = (): void => {
    this.#isOld = true;
  };

  /** The values of these items, in their order; the same list while they are the same. What is known of other keys is forgotten. */
  all(items: () => Iterable<CachedItem<V>>): readonly V[] {
    if (!this.#isOld) return this.#list;
    this.#isOld = false;
    const next = [...items()].map(({ key, inputs, make }) => {
      const known = this.#known.get(key);
      return [
        key,
        known && sameElements(known.inputs, inputs) ? known : { inputs, value: make(known?.value) },
      ] as const;
    });
    this.#known = new Map(next);
    const values = [...this.#known.values()].map(({ value }) => value);
    this.#list = keepList(this.#list, values);
    return this.#list;
  }
}
