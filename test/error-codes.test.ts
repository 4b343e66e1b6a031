/** Error codes are permanent and documented: docs/errors.md names each code of the source, and no other. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const CODE = /GR-(?:[A-Z]+-[0-9]{2}|INTERNAL)/g;

function codesIn(text: string): ReadonlySet<string> {
  return new Set(text.match(CODE) ?? []);
}

it('docs/errors.md has every code of the source, and no other', () => {
  const source = ['src', 'demo']
    .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)))
    .filter((file) => file.endsWith('.ts'))
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n');

  expect([...codesIn(readFileSync('docs/errors.md', 'utf8'))].sort()).toEqual([...codesIn(source)].sort());
});
