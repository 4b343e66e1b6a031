/** Keys of objects and jobs, and collections by key. */
type Named = Readonly<Record<'namespace' | 'name', string>>;

/** `runners/ci`: the key of an object with a namespace, and what people read. */
export function keyText({ namespace, name }: Named): string {
  return `${namespace}/${name}`;
}

type OriginAndJob = { readonly origin: string; readonly job: Readonly<Record<'id' | 'attempt', number>> };

/** Key of a CI job's stay in the queue. `origin`: base URL of its Gitea. A re-run is another stay. */
export function stayKey({ origin, job }: OriginAndJob): string {
  return `${origin} ${job.id} ${job.attempt}`;
}

/** True when both are there and have the same namespace and name. */
export function isSame(a: Named | undefined, b: Named): boolean {
  return a?.namespace === b.namespace && a.name === b.name;
}

/** Returns elements by key, in the order of `all`, without those that have no key. Node 20 lacks `Map.groupBy`. */
export function groupBy<T, K>(all: Iterable<T>, keyOf: (each: T) => K | undefined): Map<K, T[]> {
  const lists = new Map<K, T[]>();
  for (const each of all) {
    const key = keyOf(each);
    if (key === undefined) continue;
    const list = lists.get(key);
    if (list) list.push(each);
    else lists.set(key, [each]);
  }
  return lists;
}

/** `groupBy` for elements with several keys. */
export function groupBySeveral<T, K>(all: readonly T[], keysOf: (each: T) => readonly K[]): Map<K, T[]> {
  const pairs = all.flatMap((each) => keysOf(each).map((key) => ({ key, each })));
  return new Map([...groupBy(pairs, ({ key }) => key)].map(([key, list]) => [key, list.map(({ each }) => each)]));
}

/** The first of each key, then the second ones: a key that has many leaves places to the others. Those without a key are first ones. */
export function inTurns<T, K>(all: readonly T[], keyOf: (each: T) => K | undefined): readonly T[] {
  const turns = new Map([...groupBy(all, keyOf).values()].flatMap((some) => some.map((each, turn) => [each, turn])));
  return all.toSorted((a, b) => (turns.get(a) ?? 0) - (turns.get(b) ?? 0));
}

/** Options of an `LRUCache` with so many entries. Its own `max` allocates all memory at the start (20,000: 0.4 MB). */
export function atMost(entries: number) {
  return { maxSize: entries, sizeCalculation: () => 1 };
}

/** Returns the words of a text that are separated by spaces. */
export function wordSet(text: string): ReadonlySet<string> {
  return new Set(text.split(' '));
}

/** Removes all other keys. */
export function keepOnly(map: Map<string, unknown>, keys: { readonly has: (key: string) => boolean }): void {
  for (const key of map.keys()) if (!keys.has(key)) map.delete(key);
}
