/** CHANGELOG.md is for somebody who decides in five minutes: an entry says what changes and what to do. Why it is so stands in the manual and in ADRs. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const MOST_WORDS = 60;
const MOST_ENTRIES = 150;

it('the newest version in CHANGELOG.md has few and short entries', () => {
  const [, newest = ''] = readFileSync('CHANGELOG.md', 'utf8').split(/^## /m);
  const entries = newest.match(/^- .*$/gm) ?? [];

  expect(entries.length).toBeGreaterThan(0);
  expect(entries.length).toBeLessThanOrEqual(MOST_ENTRIES);
  expect(entries.filter((entry) => entry.split(/\s+/).length > MOST_WORDS)).toEqual([]);
});
