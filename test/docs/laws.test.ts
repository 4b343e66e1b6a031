/** docs/spec.md is a list of laws: one line for each fact, so a change of a law can be read as a diff. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { lawsOf } from './laws.ts';
import { sentencesOf } from './sentences.ts';

const page = readFileSync('docs/spec.md', 'utf8');
const laws = lawsOf(page);

it('docs/spec.md has no table: a law added as a row would not be read', () => {
  expect(page.split('\n').filter((line) => line.startsWith('|') || line.includes('<br>'))).toEqual([]);
});

it('the reader finds each law', () => {
  const begun = page.match(/^\s*\* \*\*[A-Z]\d/gm) ?? [];

  expect(laws.length).toBe(begun.length);
  expect(laws.length).toBeGreaterThan(280);
});

it('states each law in one sentence of at most 20 words', () => {
  const heads = laws.map(({ text }) => sentencesOf(text.split('\n')[0] ?? ''));
  const unclear = heads.filter(([first, ...more]) => more.length > 0 || (first?.words ?? 0) > 20);

  expect(unclear.flat().map(({ text }) => text)).toEqual([]);
});

it('docs/spec.md names the test of each law and the source of each assumption', () => {
  const without = laws.filter(({ names: [name = ''], text }) =>
    name.startsWith('S') ? !/\n {2}\* \*Source:\* \S/.test(text) : !/\n {2}\* \*Test:\* \S/.test(text),
  );

  expect(without.map(({ names }) => names.join(', '))).toEqual([]);
});

it('the reader finds the cases of a law', () => {
  const text = '* **F3, F7a** A law.\n  * A case.\n  * *Test:* `x`.';

  expect(lawsOf(`before\n\n${text}\n* no law\n\n## Next\n`)).toEqual([{ names: ['F3', 'F7a'], text }]);
});
