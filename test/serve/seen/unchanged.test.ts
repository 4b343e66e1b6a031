import { expect, it } from 'vitest';
import { CachedByKey, keepEqual, keepList, keepLists, oncePerObject } from '../../../src/serve/seen/unchanged.ts';

const [a, b] = [{ name: 'a' }, { name: 'b' }];

it('keepList returns the earlier list while it holds the same objects in the same order', () => {
  const before = [a, b];

  expect(keepList(before, [a, b])).toBe(before);
  for (const other of [[b, a], [a], [a, b, a], [a, { ...b }]]) expect(keepList(before, other)).toBe(other);
  expect(keepList(undefined, before)).toBe(before);
});

it('keepLists returns those earlier lists of a map that hold the same objects', () => {
  const x = [a];
  const now = { x: [a], new: [b] };
  const after = keepLists(new Map(Object.entries({ x, gone: [b] })), new Map(Object.entries(now)));

  expect(Object.fromEntries(after)).toEqual(now);
  expect(after.get('x')).toBe(x);
});

it('keepEqual returns the earlier value while it says the same', () => {
  const before = { list: [1, 2] };

  expect(keepEqual(before, { list: [1, 2] })).toBe(before);
  expect(keepEqual(before, { list: [1, 3] })).toEqual({ list: [1, 3] });
  expect(keepEqual(undefined, before)).toBe(before);
});

it('oncePerObject calls a function once per object', () => {
  let calls = 0;
  const nameOf = oncePerObject(({ name }: { readonly name: string }) => {
    calls += 1;
    return name;
  });

  expect([nameOf(a), nameOf(b), nameOf(a)]).toEqual(['a', 'b', 'a']);
  expect(calls).toBe(2);
});

it('a cache makes a value by key again only when its inputs have changed, and forgets keys that are gone', () => {
  const kept = new CachedByKey<string>();
  const made: string[] = [];
  const item = (key: string, input: unknown) => ({
    key,
    inputs: [input],
    make: (before: string | undefined) => {
      made.push(key);
      return `${before ?? 'nothing'} > ${key}`;
    },
  });

  const all = (...items: readonly ReturnType<typeof item>[]) => {
    kept.hasChanged();
    return kept.all(() => items);
  };

  expect(all(item('x', a), item('y', a))).toEqual(['nothing > x', 'nothing > y']);
  expect(all(item('x', a), item('y', b))).toEqual(['nothing > x', 'nothing > y > y']);
  expect(kept.all(() => [item('z', a)])).toEqual(['nothing > x', 'nothing > y > y']);
  expect(all(item('x', a))).toEqual(['nothing > x']);
  expect(all(item('x', a), item('y', b))).toEqual(['nothing > x', 'nothing > y']);
  expect(made).toEqual(['x', 'y', 'y', 'y']);
});
