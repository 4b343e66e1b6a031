/** A law and an error code have one row each: a second one says something else sooner or later. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

/** First cells of all rows, in the order of the page. */
function firstCells(file: string): readonly string[] {
  return [...readFileSync(file, 'utf8').matchAll(/^\| ([^|]+?) \|/gm)].map(([, cell = '']) => cell);
}

it.each([
  ['docs/spec.md', /^[A-Z]\d+[a-z]?$/],
  ['docs/errors.md', /^GR-[A-Z]+-\d+$/],
  ['docs/parity.md', /^\d{3}-\d+$/],
])('%s has each of its rows once', (file, name) => {
  const names = firstCells(file)
    .flatMap((cell) => cell.split(/,? /))
    .filter((word) => name.test(word));

  expect(names.length).toBeGreaterThan(20);
  expect(names.filter((each, index) => names.indexOf(each) !== index)).toEqual([]);
});
