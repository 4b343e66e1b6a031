/**
 * Links between pages lead to files and headings that exist, files and tests that the manual names are there, and a law and an error code
 * have one row each: a second one says something else sooner or later.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';
import { expect, it } from 'vitest';
import { anchorsOf, linksOf, proseOf } from './anchors.ts';
import { allPages, isDecision } from './pages.ts';

const CODE_PATH = /`((?:src|test|docs|bench|scripts|install|imports)\/[\w./-]*)`/g;
/** They tell what was so when they were written. */
const HISTORY = ['CHANGELOG.md', 'docs/parity.md'];

const pages = allPages();

it.each(pages)('$file has links that lead somewhere', ({ file, markdown }) => {
  const broken = linksOf(markdown).flatMap(({ text, path, anchor }) => {
    const target = path === '' ? file : normalize(join(dirname(file), path));
    if (!existsSync(target)) return [text];
    if (anchor === undefined) return [];
    return anchorsOf(readFileSync(target, 'utf8')).has(anchor) ? [] : [text];
  });

  expect(broken).toEqual([]);
});

it.each(pages.filter((page) => !isDecision(page) && !HISTORY.includes(page.file)))(
  '$file names files of the project that exist',
  ({ markdown }) => {
    const paths = [...proseOf(markdown).matchAll(CODE_PATH)].map(([, path = '']) => path);

    expect(paths.filter((path) => !existsSync(path))).toEqual([]);
  },
);

it('docs/spec.md names tests that exist, each in the folder of the one before it or with its own', () => {
  const rows = readFileSync('docs/spec.md', 'utf8').match(/^\| [A-Z]\d+a? \|.*$/gm) ?? [];
  const missing = rows.flatMap((row) => testsOf(row).filter((path) => !existsSync(path)));

  expect(rows.length).toBeGreaterThan(60);
  expect(missing).toEqual([]);
});

/** `test/clients/gitea/a.test.ts`, `b.test.ts`: the second one is in `test/clients/gitea`, too. A name with `*` gives the folder only. */
function testsOf(row: string): readonly string[] {
  let folder = 'test/planner';
  return [...row.matchAll(/`([\w./*-]+\.test\.ts)`/g)].flatMap(([, name = '']) => {
    if (name.includes('/')) folder = dirname(name);
    if (name.includes('*')) return [];
    return [name.includes('/') ? name : join(folder, name)];
  });
}

it.each(['docs/spec.md', 'docs/parity.md'])('%s names no test file that is not there', (page) => {
  const known = new Set(readdirSync('test', { recursive: true, encoding: 'utf8' }).map((path) => basename(path)));
  const named = [...readFileSync(page, 'utf8').matchAll(/[\w./-]+\.test\.ts/g)].map(([name]) => name);
  const missing = named.filter((name) => (name.startsWith('test/') ? !existsSync(name) : !known.has(basename(name))));

  expect(named.length).toBeGreaterThan(10);
  expect(missing).toEqual([]);
});

it.each([
  ['docs/spec.md', /^[A-Z]\d+[a-z]?$/],
  ['docs/errors.md', /^GR-[A-Z]+-\d+$/],
  ['docs/parity.md', /^\d{3}-\d+$/],
])('%s has each of its rows once', (file, name) => {
  const cells = [...readFileSync(file, 'utf8').matchAll(/^\| ([^|]+?) \|/gm)].map(([, cell = '']) => cell);
  const names = cells.flatMap((cell) => cell.split(/,? /)).filter((word) => name.test(word));

  expect(names.length).toBeGreaterThan(20);
  expect(names.filter((each, index) => names.indexOf(each) !== index)).toEqual([]);
});
