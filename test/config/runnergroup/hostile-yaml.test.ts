/** Tests odd and hostile YAML, each with the result of the reader (laws F4, F5). */
import { describe, expect, test } from 'vitest';
import { DOCUMENTS, FIELDS } from './hostile/documents.ts';
import { outcomeOf } from './hostile/outcome.ts';
import { BYTES, FORM, REFERENCES, TAGS } from './hostile/syntax.ts';

const TABLES = { BYTES, REFERENCES, TAGS, FORM, DOCUMENTS, FIELDS };

describe.each(Object.entries(TABLES))('%s', (_, cases) => {
  test.each(cases)('the reader knows what to make of %s', async (_name, content, outcome) => {
    expect(await outcomeOf(content)).toBe(outcome);
  });
});

test('no outcome steers a terminal or is longer than a screen', () => {
  for (const [, , outcome] of Object.values(TABLES).flat()) {
    expect(outcome).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    expect(outcome.length).toBeLessThan(700);
  }
});
