/** Links between pages lead to files and headings that exist, and paths that the manual names are there. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';
import { allPages, isDecision } from './pages.ts';

const FENCE = /^```[\s\S]*?^```$/gm;
const LINK = /\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g;
const CODE_PATH = /`((?:src|test|docs|bench|scripts|install|imports)\/[\w./-]*)`/g;
/** They tell what was so when they were written. */
const HISTORY = ['CHANGELOG.md', 'docs/parity.md'];

const pages = allPages();

/** The names by which Gitea and GitHub link to the headings of a page. */
function anchorsOf(markdown: string): ReadonlySet<string> {
  const headings = proseOf(markdown).matchAll(/^#+ (.+)$/gm);
  return new Set([...headings].map(([, heading = '']) => slugOf(heading)));
}

function slugOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

function proseOf(markdown: string): string {
  return markdown.replaceAll(FENCE, '');
}

it.each(pages)('$file has links that lead somewhere', ({ file, markdown }) => {
  const broken = [...proseOf(markdown).matchAll(LINK)].flatMap(([link, path = '', anchor]) => {
    const target = path === '' ? file : normalize(join(dirname(file), path));
    if (!existsSync(target)) return [link];
    if (anchor === undefined) return [];
    return anchorsOf(readFileSync(target, 'utf8')).has(anchor) ? [] : [link];
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

describe('docs/spec.md', () => {
  it('names tests that exist, each in the folder of the one before it or with its own', () => {
    const rows = readFileSync('docs/spec.md', 'utf8').match(/^\| [A-Z]\d+a? \|.*$/gm) ?? [];
    const missing = rows.flatMap((row) => testsOf(row).filter((path) => !existsSync(path)));

    expect(rows.length).toBeGreaterThan(60);
    expect(missing).toEqual([]);
  });
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
