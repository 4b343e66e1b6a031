/**
 * Tests that the pages name only existing files, names in files, laws and decisions. test/docs/links.test.ts reads the
 * links. A decision that no longer holds describes its own time, and its status says so.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { proseOf } from './anchors.ts';
import { lawsOf } from './laws.ts';
import { allPages, isDecision, type Page } from './pages.ts';

const FOLDERS = [
  'src',
  'test',
  'docs',
  'bench',
  'scripts',
  'install',
  'imports',
  'packaging',
  'simulator',
  'demo',
  'examples',
];
const PATH = new RegExp(`\`((?:${FOLDERS.join('|')})/[\\w./-]*)\``, 'g');
const FILE = /`([\w-]+(?:\.test)?\.(?:tsx?|mjs))`/g;
/** `name` in `src/file.ts` */
const NAME_IN = /`([\w#.-]+)` in `([\w./-]+\.\w+)`/g;
const DECISION = /\bADRs? (\d+(?:(?:, | and | to |, and )\d+)*)/g;
const LAW =
  /\b[Ll]aws? ([A-Z]\d+[a-z]?(?:(?:, | and | to )[A-Z]\d+[a-z]?)*)|\(([A-Z]\d+[a-z]?(?:, [A-Z]\d+[a-z]?)*)\)/g;

const STATUS =
  /^Status: (?:holds|history|holds, except what \[ADR (\d+)\]\((\S+)\) replaced|replaced by \[ADR (\d+)\]\((\S+)\))\.$/;

const pages = allPages();
const decisions = pages.filter(isDecision);
const numbers = new Set(decisions.map(({ file }) => Number(basename(file).slice(0, 4))));
const laws = new Set(lawsOf().flatMap(({ names }) => names));

const files = new Set(
  FOLDERS.filter((folder) => existsSync(folder)).flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => basename(file)),
  ),
);

function statusOf({ markdown }: Page): string {
  return markdown.split('\n\n', 2)[1] ?? '';
}

/** Returns the lines of a page about today, without lines about things that are gone. */
function todayOf(page: Page): string {
  if (isDecision(page) && /replaced by|history/.test(statusOf(page))) return '';
  return proseOf(page.markdown)
    .split('\n')
    .filter((line) => !/\bgone\b/.test(line))
    .join('\n');
}

function found(text: string, form: RegExp): readonly string[] {
  return [...text.matchAll(form)].map(([, first, second]) => first ?? second ?? '');
}

describe.each(pages)('$file', (page) => {
  const text = todayOf(page);

  it('a page names files that are there', () => {
    expect(found(text, PATH).filter((path) => !existsSync(path))).toEqual([]);
    expect(found(text, FILE).filter((file) => !files.has(file))).toEqual([]);
  });

  it('a page names functions and fields that are in the file that it names', () => {
    const missing = [...text.matchAll(NAME_IN)].filter(
      ([, name = '', path = '']) => path.includes('/') && !readFileSync(path, 'utf8').includes(name),
    );

    expect(missing.map(([all]) => all)).toEqual([]);
  });

  it('a page names decisions and laws that are there', () => {
    const adrs = found(text, DECISION).flatMap((list) => list.match(/\d+/g) ?? []);
    const named = found(text, LAW).flatMap((list) => list.match(/[A-Z]\d+[a-z]?/g) ?? []);

    expect(adrs.filter((adr) => !numbers.has(Number(adr)))).toEqual([]);
    expect(named.filter((law) => !laws.has(law))).toEqual([]);
  });
});

it('the pages name a lot', () => {
  const all = pages.map(todayOf).join('\n');

  expect(found(all, PATH).length).toBeGreaterThan(300);
  expect(found(all, DECISION).length).toBeGreaterThan(100);
  expect(found(all, LAW).length).toBeGreaterThan(30);
  expect(laws.size).toBeGreaterThan(250);
});

describe('a decision', () => {
  it.each(decisions)('$file has a status line, and what replaced it is there', (page) => {
    const [, ...links] = STATUS.exec(statusOf(page)) ?? [];
    const [number = '', target = ''] = links.filter((each) => each !== undefined);

    expect(statusOf(page)).toMatch(STATUS);
    if (number === '') return;
    expect(target.startsWith(number.padStart(4, '0'))).toBe(true);
    expect(existsSync(join(dirname(page.file), target))).toBe(true);
  });

  it.each([
    'Status: holds.',
    'Status: history.',
    'Status: replaced by [ADR 27](0027-x.md).',
    'Status: holds, except what [ADR 66](0066-x.md) replaced.',
  ])('a decision may say "%s"', (line) => expect(line).toMatch(STATUS));

  it.each(['', 'Superseded.', 'Status: replaced by ADR 27.', 'Status: Holds'])('a decision may not say "%s"', (line) =>
    expect(line).not.toMatch(STATUS),
  );
});
