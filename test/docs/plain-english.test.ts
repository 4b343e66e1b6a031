/**
 * Plain English: a tired reader whose first language is not English understands each sentence once. A test can count words and find
 * phrases that were hard to read; whether a sentence is good, people must judge.
 */
import { describe, expect, it } from 'vitest';
import { allPages, isDecision, type Page } from './pages.ts';
import { type Sentence, sentencesOf } from './sentences.ts';

const MOST_WORDS = 35;
/** The manual may have `MOST_LONG` sentences above this. The aim is 20 words. */
const LONG_WORDS = 25;
const MOST_LONG = 6;

/** Phrases that readers had to read twice, and what to write. */
const INSTEAD: readonly (readonly [phrase: RegExp, instead: string])[] = [
  [/\b(?:made|begun) anew\b/i, 're-created, started again'],
  [/\breckoned\b/i, 'calculated'],
  [/\bexit code is the truth\b|\btalk (?:goes )?to stderr\b/i, 'messages go to stderr; check the exit code'],
  [/\bbut for (?:the|those|its|every)\b/i, 'except'],
  [/^(?:Is|Are|Has|Have|Do|Does|Should|Were) (?:you|your|it|its|the|there|one)\b.*,.*[^?]$/, '"If …"'],
  [/^Who (?:wants|needs|has|gets|pays|does) .*[^?]$/, '"To get …, set …", "If you need …"'],
];

const pages = allPages();
const manual = pages.filter((page) => !isDecision(page));

function longerThan(words: number, { file, markdown }: Page): readonly string[] {
  return sentencesOf(markdown)
    .filter((sentence) => sentence.words > words)
    .map((sentence) => `${file}: ${sentence.words} words: ${sentence.text}`);
}

it.each(pages)('$file has no sentence that is too long', (page) => {
  expect(longerThan(MOST_WORDS, page)).toEqual([]);
});

describe('the manual', () => {
  it('the manual has hardly any long sentence', () => {
    const long = manual.flatMap((page) => longerThan(LONG_WORDS, page));

    expect(long.length, long.join('\n')).toBeLessThanOrEqual(MOST_LONG);
  });

  it.each(manual)('$file has no phrase that readers had to read twice', ({ markdown }) => {
    const found = sentencesOf(markdown).flatMap(({ text }) =>
      INSTEAD.filter(([phrase]) => phrase.test(text)).map(([, instead]) => `${text} -> ${instead}`),
    );

    expect(found).toEqual([]);
  });

  it('the manual has a glossary of at most ten words, each with an example', () => {
    const rows = (manual.find(({ file }) => file === 'docs/glossary.md')?.markdown ?? '').match(/^\| .* \|$/gm) ?? [];
    const words = rows.slice(1).map((row) => row.split('|').map((cell) => cell.trim()));

    expect(words.length).toBeGreaterThan(0);
    expect(words.length).toBeLessThanOrEqual(10);
    for (const [, word, meaning, example] of words) expect([word, meaning, example]).not.toContain('');
  });
});

const decisions = pages.filter(isDecision);

it.each(decisions)('a decision: $file opens with itself, in at most two sentences', ({ markdown }) => {
  const [title, , first = ''] = markdown.split(/\n{2,}/);
  const sentences: readonly Sentence[] = sentencesOf(first.replace('**Decision.** ', ''));

  expect(title).toMatch(/^# \d+[.:] /);
  expect(first).toMatch(/^\*\*Decision\.\*\* /);
  expect(sentences.length).toBeLessThanOrEqual(2);
  expect(sentences.filter(({ words }) => words > MOST_WORDS)).toEqual([]);
});

describe('sentencesOf', () => {
  it.each([
    ['One fact. Two facts!', ['One fact.', 'Two facts!']],
    ['A line\nbreak is no end. `code` begins one.', ['A line break is no end.', '`code` begins one.']],
    ['- an item\n- another one', ['an item', 'another one']],
    ['* **P1** A law.\n  * A case.', ['A law.', 'A case.']],
    ['| a cell | law.<br>• case |\n|---|---|\n', ['a cell', 'law.', 'case']],
    ['# Head\ntext\n```sh\nnot this\n```\n', ['Head text']],
    ['<!-- fields: made from x -->\n| not this |\n<!-- end of fields -->\n', []],
  ])('cuts %j', (markdown, sentences) => {
    expect(sentencesOf(markdown).map(({ text }) => text)).toEqual(sentences);
  });

  it('sentencesOf counts code and the address of a link as no words of their own', () => {
    expect(sentencesOf('Run `npm run check` and [read this](a-page.md#part).')[0]?.words).toBe(5);
  });
});
