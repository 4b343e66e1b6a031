/** Keeps equal values as the same object, so that later steps of `serve` skip unchanged input by `===`. */
import { isDeepStrictEqual } from 'node:util';

/** True for two lists of the same objects in the same order. */
export function sameElements(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a === b || (a.length === b.length && a.every((each, at) => each === b[at]));
}

export function keepList<T>(before: readonly T[] | undefined, now: readonly T[]): readonly T[] {
  return before && sameElements(before, now) ? before : now;
}

/** Returns the lists by key. A list with the same objects in the same order stays the same list. */
export function keepLists<K, T>(before: ReadonlyMap<K, readonly T[]>, now: ReadonlyMap<K, readonly T[]>) {
  return new Map([...now].map(([key, list]) => [key, keepList(before.get(key), list)]));
}

export function keepEqual<T>(before: T | undefined, now: T): T {
  return before !== undefined && isDeepStrictEqual(before, now) ? before : now;
}

/** Wraps a pure function so that it is called once per object. It keeps no object alive. */
export function oncePerObject<K extends object, V>(make: (key: K) => V): (key: K) => V {
  const cache = new WeakMap<K, { readonly value: V }>();
  return (key) => {
    const entry = cache.get(key);
    if (entry) return entry.value;
    const value = make(key);
    cache.set(key, { value });
    return value;
  };
}

interface CachedItem<V> {
  readonly key: string;
  /** While these inputs are the same, the stored value holds. */
  readonly inputs: readonly unknown[];
  /** Makes the value. @param before the last value, which was made from other inputs */
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

  /** Returns the values in order. The list is the same while they are. Other keys are forgotten. */
  all(items: () => Iterable<CachedItem<V>>): readonly V[] {
    if (!this.#isOld) return this.#list;
    this.#isOld = false;
    const next = [...items()].map(({ key, inputs, make }) => {
      const lastItem = this.#known.get(key);
      const item =
        lastItem && sameElements(lastItem.inputs, inputs) ? lastItem : { inputs, value: make(lastItem?.value) };
      return [key, item] as const;
    });
    this.#known = new Map(next);
    const values = [...this.#known.values()].map(({ value }) => value);
    this.#list = keepList(this.#list, values);
    return this.#list;
  }
}
