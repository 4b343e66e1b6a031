/** Helpers for lists and maps. They know nothing of runners. */

/** Order by UTF-16 code units: the same on every machine, unlike `localeCompare`. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** A function that works each value out once. */
export function memo<K, V>(make: (key: K) => V): (key: K) => V {
  const cache = new Map<K, V>();
  return (key) => {
    const value = cache.has(key) ? (cache.get(key) as V) : make(key);
    cache.set(key, value);
    return value;
  };
}

export function addTo<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}

/** Sorts by a number, which is calculated once for each. Elements with one number keep their order. */
export function sortedBy<T>(all: readonly T[], numberOf: (each: T) => number): readonly T[] {
  const ranked = all.map((each) => ({ each, number: numberOf(each) }));
  return ranked.sort((a, b) => a.number - b.number).map(({ each }) => each);
}

export function count<K>(sums: Map<K, number>, key: K, amount: number): void {
  sums.set(key, (sums.get(key) ?? 0) + amount);
}

/** A map by Gitea and an id in it. Nested maps: one joined string for each look-up would cost more than the plan. */
export class ByGitea<V> {
  readonly #byOrigin = new Map<string, Map<number, V>>();

  get(origin: string, id: number): V | undefined {
    return this.#byOrigin.get(origin)?.get(id);
  }

  /** Returns the entries of one Gitea by id. Creates an empty map if there is none. */
  ofGitea(origin: string): Map<number, V> {
    const ofGitea = this.#byOrigin.get(origin) ?? new Map<number, V>();
    this.#byOrigin.set(origin, ofGitea);
    return ofGitea;
  }

  values(): readonly V[] {
    return [...this.#byOrigin.values()].flatMap((ofGitea) => [...ofGitea.values()]);
  }
}
