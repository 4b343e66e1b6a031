import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { document, quote } from '../../src/manifests/yaml.ts';

/** Reads text by this version of YAML. Any error or warning throws. */
function read(text: string, version: '1.1' | '1.2'): unknown[] {
  const documents = parseAllDocuments(text, { version, merge: false });
  if (!Array.isArray(documents)) return [];
  return documents.map((each) => {
    const [problem] = [...each.errors, ...each.warnings];
    if (problem) throw problem;
    return each.toJS({ maxAliasCount: 0 });
  });
}

/**
 * Words of YAML 1.1, strings that are not words, characters with a meaning in YAML, and characters that cannot be
 * printed.
 */
const WORDS = [
  ...['y', 'n', 'yes', 'no', 'on', 'off', 'true', 'false', 'null', '~', '', '<<', '035e2982', '1e3', '.inf'],
  ...['2001-01-01', '---', '- x', '? x', 'a: b', '# c', '&a', '!!binary x', '|', '@x', '"', "'", '\\', ' x ', '\t'],
  ...['\n---\nkind: Secret\n', 'a\u2028b', 'a\u0085b', '\u0000', '\u001b[2J', '\u007f', '\u009b'],
  ...['\ufeff', '\ufffe', '😀', '__proto__', 'x'.repeat(2000)],
];
const hostile = fc.oneof(fc.constantFrom(...WORDS), fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }));
const values = fc.letrec((tie) => ({
  leaf: fc.oneof(hostile, fc.integer(), fc.boolean(), fc.constant(null)),
  object: fc.dictionary(
    hostile.filter((key) => key !== '__proto__'),
    tie('node'),
    { maxKeys: 4, noNullPrototype: true },
  ),
  array: fc.array(tie('node'), { maxLength: 4 }),
  node: fc.oneof({ maxDepth: 4 }, tie('leaf'), tie('object'), tie('array')),
})).object;

describe.each(['1.1', '1.2'] as const)('a YAML %s reader', (version) => {
  test.each(WORDS)('a YAML reader reads %j back as this string', (word) => {
    expect(read(document({ key: word, list: [word] }), version)).toEqual([{ key: word, list: [word] }]);
  });

  test('a YAML reader reads any object back as it was, as one document', () => {
    fc.assert(
      fc.property(values, (value) => {
        expect(read(document(value), version)).toEqual([value]);
      }),
      { numRuns: 300 },
    );
  });
});

test('output is printable: no string brings a control character or a line break into it', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(quote(text)).not.toMatch(/[\p{Cc}\u2028\u2029\ufeff\ufffe\uffff]/u);
    }),
  );
});

test('half a surrogate pair becomes the replacement character, which every reader accepts', () => {
  expect(quote('a\ud800b')).toBe('"a\ufffdb"');
});

test('what JSON cannot hold is an error, not a guess', () => {
  expect(() => document({ x: Number.NaN })).toThrow(TypeError);
  expect(() => document({ x: () => 1 })).toThrow(TypeError);
});

test('an absent value leaves no key', () => {
  expect(document({ a: undefined, b: 1 })).toBe('b: 1\n');
});
