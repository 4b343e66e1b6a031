/** docs/spec.md and docs/parity.md name tests: each is there. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { expect, it } from 'vitest';

const NAMES = new Set(readdirSync('test', { recursive: true, encoding: 'utf8' }).map((path) => basename(path)));

it.each(['docs/spec.md', 'docs/parity.md'])('%s names no test file that is not there', (page) => {
  const named = [...readFileSync(page, 'utf8').matchAll(/[\w./-]+\.test\.ts/g)].map(([name]) => name);
  const missing = named.filter((name) => (name.startsWith('test/') ? !existsSync(name) : !NAMES.has(basename(name))));

  expect(named.length).toBeGreaterThan(10);
  expect(missing).toEqual([]);
});
