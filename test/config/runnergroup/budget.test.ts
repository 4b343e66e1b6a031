/** Law F10: the limits over all files. Each is met from both sides; the message names the place, the limit and what to do. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Lexer } from 'yaml';
import {
  MOST_BYTES,
  MOST_DOCUMENT_WORDS,
  MOST_DOCUMENTS,
  MOST_ENTRIES,
  MOST_FILES,
  MOST_PROBLEMS,
  MOST_WORDS,
  wordsOf,
} from '../../../src/config/runnergroup/budget.ts';
import { readFiles as find } from '../../../src/config/runnergroup/group-files.ts';
import { type Files, inFolder, problemsIn, readFiles } from '../../support/group-files.ts';
import { groupYaml } from '../../support/run-cli.ts';

const OTHER = 'apiVersion: v1\nkind: X\n';

function together(limit: string): string {
  return `all files together have more than ${limit}: keep RunnerGroups in a folder of their own, or name fewer files [GR-INPUT-08]`;
}

/** A document of another kind with exactly so many words; an empty line is one. */
function documentOf(words: number): string {
  return OTHER + '\n'.repeat(words - countWords(OTHER));
}

function countWords(text: string): number {
  return [...new Lexer().lex(text)].reduce((sum, lexeme) => sum + wordsOf(lexeme), 0);
}

function files(count: number, text: string): Files {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${1000 + index}.yaml`, text]));
}

test('all files have at most 4 MiB', async () => {
  const half = `#${'x'.repeat(MOST_BYTES / 2 - 1)}`;

  await inFolder({ 'a.yaml': half, 'b.yaml': half }, async (cwd) => {
    expect(find({ paths: [], recursive: false, cwd }).files).toHaveLength(2);
    writeFileSync(join(cwd, 'c.yaml'), '#');
    expect(await problemsIn({ 'a.yaml': half, 'b.yaml': half, 'c.yaml': '#' })).toEqual([
      `c.yaml:1:1: ${together('4 MiB')}`,
    ]);
  });
});

test('a document has at most 80,000 words', async () => {
  expect((await readFiles({ 'a.yaml': documentOf(MOST_DOCUMENT_WORDS) })).others).toHaveLength(1);
  expect(await problemsIn({ 'a.yaml': documentOf(MOST_DOCUMENT_WORDS + 1) })).toEqual([
    expect.stringMatching(
      /^a\.yaml:79\d{3}:1: this document has more than 80000 words and signs: divide it, or keep it out of these files \[GR-INPUT-08\]$/,
    ),
  ]);
});

test('a long string counts as many words', async () => {
  expect((await readFiles({ 'a.yaml': `${OTHER}a: "${'x'.repeat(1_270_000)}"\n` })).others).toHaveLength(1);
  expect(await problemsIn({ 'a.yaml': `${OTHER}a: "${'x'.repeat(1_290_000)}"\n` })).toEqual([
    expect.stringMatching(/^a\.yaml:3:1290006: this document has more than 80000 words and signs/),
  ]);
});

test('what aliases stand for counts as if it were written', async () => {
  const text = (merges: number) =>
    `${OTHER}a: &a {${Array.from({ length: 1000 }, (_, index) => `k${index}: 1`).join(', ')}}\nl:\n${'- {<<: *a}\n'.repeat(merges)}`;

  expect((await readFiles({ 'a.yaml': text(79) })).others).toHaveLength(1);
  expect(await problemsIn({ 'a.yaml': text(80) })).toEqual([
    'a.yaml:84:8: is no valid YAML: with what its aliases stand for, this document has more than 80000 words and signs: divide it, or keep it out of these files [GR-INPUT-02]',
  ]);
});

test('all documents have at most 400,000 words', async () => {
  const five = files(5, documentOf(MOST_WORDS / 5));

  expect((await readFiles(five)).others).toHaveLength(5);
  expect(await problemsIn({ ...five, 'g.yaml': 'a: {}\n', 'h.yaml': 'a: {}\n' })).toEqual([
    `g.yaml:1:1: ${together('400000 words and signs')}`,
  ]);
});

test('all files have at most 3,000 documents, however they are read', async () => {
  const full = { 'a.yaml': `---\n${OTHER}`.repeat(MOST_DOCUMENTS) };

  expect((await readFiles(full)).others).toHaveLength(MOST_DOCUMENTS);
  expect(await problemsIn({ ...full, 'b.yaml': OTHER })).toEqual([`b.yaml:1:1: ${together('3000 documents')}`]);
  expect(await problemsIn({ ...full, 'b.yaml': groupYaml('https://gitea.example.com') })).toEqual([
    `b.yaml:1:1: ${together('3000 documents')}`,
  ]);
});

test('at most 5,000 files are read', async () => {
  expect(await readFiles(files(MOST_FILES, ''))).toMatchObject({ files: MOST_FILES });
  expect(await problemsIn(files(MOST_FILES + 1, ''))).toEqual([`f6000.yaml:1:1: ${together('5000 files')}`]);
});

test('at most 50,000 entries of folders are looked at', async () => {
  await inFolder({ 'a.yaml': OTHER }, async (cwd) => {
    mkdirSync(join(cwd, 'b'));
    for (let index = 0; index < MOST_ENTRIES - 2; index += 1) writeFileSync(join(cwd, 'b', `${index}.txt`), '');
    expect(find({ paths: [], recursive: true, cwd })).toMatchObject({ files: [{ name: 'a.yaml' }], problems: [] });

    writeFileSync(join(cwd, 'b', 'one-more.txt'), '');

    expect(find({ paths: [], recursive: true, cwd })).toMatchObject({
      files: [],
      problems: [
        { place: { file: 'b' }, message: expect.stringContaining('more than 50000 entries in their folders') },
      ],
    });
    expect(find({ paths: [], recursive: false, cwd })).toMatchObject({ files: [{ name: 'a.yaml' }], problems: [] });
  });
}, 120_000);

test('at most 1,000 problems are told', async () => {
  const bad = '--- 1\n'.repeat(MOST_PROBLEMS + 1);

  expect(await problemsIn({ 'a.yaml': bad, 'b.yaml': bad })).toHaveLength(MOST_PROBLEMS);
});

test('a search that meets 1,000 bad links ends there', async () => {
  await inFolder({}, async (cwd) => {
    for (let index = 0; index < MOST_PROBLEMS + 100; index += 1) symlinkSync('/etc/passwd', join(cwd, `${index}.yaml`));

    const { problems } = find({ paths: [], recursive: false, cwd });

    expect(problems).toHaveLength(MOST_PROBLEMS + 1);
    expect(problems.at(-1)?.message).toContain('more than 1000 problems');
  });
});
