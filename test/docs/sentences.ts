/** Cuts a page of Markdown into sentences, so that tests can measure them. Code, generated tables and addresses of links are left out. */

/** A sentence of a page, as a reader reads it. Inline code is kept: it counts as one word. */
export interface Sentence {
  readonly text: string;
  readonly words: number;
}

const GENERATED = /<!-- (?:npm run|table:|\w+ table|[\w ]+: made from)[^\n]*-->[\s\S]*?<!-- end[^\n]*-->/g;
const COMMENT = /<!--[\s\S]*?-->/g;
const FENCE = /^```[\s\S]*?^```$/gm;
/** Start of a new thought: a heading, an item of a list, a row of a table, an empty line. */
const NEW_THOUGHT = /\n(?=\s*(?:#+ |[-*] |\d+\. |\||\n|$))/;
const END = /(?<=[.!?]["*)]*)\s+(?=["*([]*[`A-Z0-9])/;

/** The bullet of an item or heading, and the name of a law. */
const MARK = /^\s*(?:#+|[-*•]|\d+\.)\s+(?:\*\*[A-Z]\d[^*]*\*\*\s+)?/;

/** Returns all sentences of a page in order. A cell of a table, and a part between two `<br>`, ends a sentence. */
export function sentencesOf(markdown: string): readonly Sentence[] {
  const prose = markdown.replaceAll(FENCE, '\n').replaceAll(GENERATED, '\n').replaceAll(COMMENT, '');
  return prose
    .split(NEW_THOUGHT)
    .flatMap((thought) => (/^\s*\|/.test(thought) ? thought.split(/(?<!\\)\|/) : [thought]))
    .flatMap((thought) => thought.split('<br>'))
    .map((thought) => thought.replace(MARK, ''))
    .flatMap((thought) => thought.replaceAll(/\s+/g, ' ').trim().split(END))
    .map((text) => ({ text, words: countWords(text) }))
    .filter(({ words }) => words > 0);
}

function countWords(sentence: string): number {
  const read = sentence.replaceAll(/`[^`]*`/g, 'code').replaceAll(/\]\([^)]*\)/g, ']');
  return read.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
}
