import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { jsonText, printable } from '../../../src/shared/printable.ts';

test('escapes what steers a terminal', () => {
  const hostile = 'a\x1b[31mred\x1b[0m\x07\x9b1m\x7f\r\nb\tc\0';

  expect(printable(hostile)).toBe('a\\u{1b}[31mred\\u{1b}[0m\\u{7}\\u{9b}1m\\u{7f}\\r\\nb\\tc\\u{0}');
});

test('escapes what hides text or turns its direction', () => {
  const hostile = 'a\u202eb\u2066c\u200bd\u200de\u2028f\ufeffg\u00adh\u3164i\u{e0041}j\ud800k';

  expect(printable(hostile)).toBe(
    'a\\u{202e}b\\u{2066}c\\u{200b}d\\u{200d}e\\u{2028}f\\u{feff}g\\u{ad}h\\u{3164}i\\u{e0041}j\\u{d800}k',
  );
});

test('escapes marks that pile up over other lines', () => {
  expect(printable(`a${'\u0301'.repeat(5)}b`)).toBe('a\u0301\u0301\u0301\\u{301}\\u{301}b');
});

test('printable keeps letters, signs and emoji of any script', () => {
  const text = 'Größe ṻ̈ ประที่ 作業 сборка עִבְרִית ⚠️ 🚀 "quoted" \\ $x';

  expect(printable(text)).toBe(text);
});

test('printable leaves nothing to escape, whatever it is given', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const once = printable(text);

      expect(printable(once)).toBe(once);
      expect(once).not.toMatch(/\p{Cc}|\p{Zl}|\p{Zp}|\p{Cs}/u);
    }),
  );
});

test('JSON escapes the same characters, and stays the same data', () => {
  const data = { 'a\u202eb': ['c\u0085d\u009be\u2028f\u2029g\u{e0041}h\x07\n\ud800', 'ä 🚀 ⚠️ "q" \\'] };

  const text = jsonText(data);

  expect(text).toBe(
    '{\n  "a\\u202eb": [\n    "c\\u0085d\\u009be\\u2028f\\u2029g\\udb40\\udc41h\\u0007\\n\\ud800",\n    "ä 🚀 ⚠️ \\"q\\" \\\\"\n  ]\n}\n',
  );
  expect(JSON.parse(text)).toEqual(data);
});

test('JSON of anything holds nothing that steers a terminal', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
      const text = jsonText(value);

      expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
      expect(printable(text.replaceAll('\n', ''))).toBe(text.replaceAll('\n', ''));
    }),
  );
});
