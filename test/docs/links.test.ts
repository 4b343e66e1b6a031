/**
 * Links between pages lead to files and headings that exist, files and tests that the manual names are there, and a law and an error code
 * have one row each: a second one says something else sooner or later.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';
import { expect, it } from 'vitest';
import { anchorsOf, linksOf } from './anchors.ts';
import { lawsOf } from './laws.ts';
import { allPages } from './pages.ts';

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

it('docs/spec.md names tests that exist, each in the folder of the one before it or with its own', () => {
  const laws = lawsOf();
  const missing = laws.flatMap(({ text }) => testsOf(text).filter((path) => !existsSync(path)));

  expect(laws.length).toBeGreaterThan(200);
  expect(missing).toEqual([]);
});

/** `test/clients/gitea/a.test.ts`, `b.test.ts`: the second one is in `test/clients/gitea`, too. A name with `*` gives the folder only. */
function testsOf(law: string): readonly string[] {
  let folder = 'test/planner';
  return [...law.matchAll(/`([\w./*-]+\.test\.ts)`/g)].flatMap(([, name = '']) => {
    if (name.includes('/')) folder = dirname(name);
    if (name.includes('*')) return [];
    return [name.includes('/') ? name : join(folder, name)];
  });
}

it('docs/spec.md names no test file that is not there', () => {
  const known = new Set(readdirSync('test', { recursive: true, encoding: 'utf8' }).map((path) => basename(path)));
  const named = [...readFileSync('docs/spec.md', 'utf8').matchAll(/[\w./-]+\.test\.ts/g)].map(([name]) => name);
  const missing = named.filter((name) => (name.startsWith('test/') ? !existsSync(name) : !known.has(basename(name))));

  expect(named.length).toBeGreaterThan(10);
  expect(missing).toEqual([]);
});

it('docs/errors.md has each code once', () => {
  const cells = [...readFileSync('docs/errors.md', 'utf8').matchAll(/^\| ([^|]+?) \|/gm)].map(([, cell = '']) => cell);
  const codes = cells.flatMap((cell) => cell.split(/,? /)).filter((word) => /^GR-[A-Z]+-\d+$/.test(word));

  expect(codes.length).toBeGreaterThan(20);
  expect(twice(codes)).toEqual([]);
});

it('docs/spec.md has each law once', () => {
  expect(twice(lawsOf().flatMap(({ names }) => names))).toEqual([]);
});

function twice(names: readonly string[]): readonly string[] {
  return names.filter((each, index) => names.indexOf(each) !== index);
}
