/** Lists of elements by key, each in the order of `all`. Those without a key are left out. As `Map.groupBy`, which Node 20 does not have. */
export function groupBy<T, K>(all: Iterable<T>, keyOf: (each: T) => K | undefined): Map<K, T[]> {
  const lists = new Map<K, T[]>();
  for (const each of all) {
    const key = keyOf(each);
    if (key === undefined) continue;
    const known = lists.get(key);
    if (known) known.push(each);
    else lists.set(key, [each]);
  }
  return lists;
}
