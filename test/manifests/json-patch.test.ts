import * as cdk8s from 'cdk8s';
import { describe, expect, it } from 'vitest';
import { JsonPatch } from '../../src/manifests/json-patch.ts';

const manifest = () => ({
  metadata: { labels: { 'a/b': '1', 'c~d': '2' } },
  spec: { list: ['x', 'y'], deep: [{ env: [] as unknown[] }] },
});

const CASES: readonly (readonly [string, string, unknown?])[] = [
  ['sets a field', '/spec/number', 1],
  ['replaces a field', '/metadata/labels', { other: 'z' }],
  ['takes a field away', '/metadata/labels'],
  ['appends to a list', '/spec/list/-', 'z'],
  ['puts an element before another', '/spec/list/1', 'z'],
  ['takes an element away', '/spec/list/0'],
  ['goes through lists', '/spec/deep/0/env/-', { name: 'A' }],
  ['reads ~1 as a slash', '/metadata/labels/a~1b'],
  ['reads ~0 as a tilde', '/metadata/labels/c~0d', 'new'],
];

describe('JsonPatch', () => {
  it.each(CASES.map(([what, path, value]) => ({ what, path, value })))(
    '$what, as the one of cdk8s',
    ({ path, value }) => {
      const ours = value === undefined ? JsonPatch.remove(path) : JsonPatch.add(path, value);
      const theirs = value === undefined ? cdk8s.JsonPatch.remove(path) : cdk8s.JsonPatch.add(path, value);
      const expected: unknown = cdk8s.JsonPatch.apply(manifest(), theirs);
      expect(expected).not.toEqual(manifest());
      expect(JsonPatch.apply(manifest(), ours)).toEqual(expected);
    },
  );

  it('copies values, so that a later patch does not change what several groups share', () => {
    const shared = { list: [1] };
    const patched = JsonPatch.apply(
      manifest(),
      JsonPatch.add('/spec/own', shared),
      JsonPatch.add('/spec/own/list/-', 2),
    );
    expect(patched.spec).toMatchObject({ own: { list: [1, 2] } });
    expect(shared).toEqual({ list: [1] });
  });

  it.each([JsonPatch.add('/no/such', 1), JsonPatch.remove('/spec/none'), JsonPatch.remove('/spec/list/7')])(
    'refuses a path that leads nowhere: %j',
    (patch) => {
      expect(() => JsonPatch.apply(manifest(), patch)).toThrow(patch.path);
    },
  );
});
