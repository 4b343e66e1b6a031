/**
 * The most that one run reads, over all its files: all who may push to a repository start `generate`. Keeps the process
 * below 150 MB for any input (test/config/runnergroup/memory.test.ts).
 */

/** Entries of folders that are looked at, over all folders. */
export const MOST_ENTRIES = 50_000;
/** Files that are read, over all folders. More are an error. */
export const MOST_FILES = 5_000;
/** Bytes of all files together. A RunnerGroup has about 700. */
export const MOST_BYTES = 4 * 1024 * 1024;
/** Documents of all files together, RunnerGroups and others. */
export const MOST_DOCUMENTS = 3_000;
/** Most words and signs of a document, 1.1 KB of memory each. Bytes do not bound them: in `[{},{},…]` each byte is one. */
export const MOST_DOCUMENT_WORDS = 80_000;
const WORD_CHARACTERS = 16;
/** Words of all documents: some seconds of CPU. RunnerGroups in plain YAML (plain-yaml.ts) do not count. */
export const MOST_WORDS = 400_000;
/** Problems that are collected; `generate` shows the first 15. */
export const MOST_PROBLEMS = 1_000;

/** Counts what all files hold together. Each method that adds answers the message for the user when there is too much. */
export class Budget {
  #words = 0;
  #documents = 0;

  get isSpent(): boolean {
    return this.#words > MOST_WORDS || this.#documents > MOST_DOCUMENTS;
  }

  addWords(count: number): string | undefined {
    this.#words += count;
    return this.#words > MOST_WORDS ? tooMuch(`${MOST_WORDS} words and signs`) : undefined;
  }

  addDocuments(count: number): string | undefined {
    this.#documents += count;
    return this.#documents > MOST_DOCUMENTS ? tooMuch(`${MOST_DOCUMENTS} documents`) : undefined;
  }
}

/** Returns for how many words a part of the text counts: one for each 16 characters. */
export function wordsOf(lexeme: string): number {
  return Math.ceil(lexeme.length / WORD_CHARACTERS);
}

export function tooMuchInOne(subject: string): string {
  return `${subject} more than ${MOST_DOCUMENT_WORDS} words and signs: divide it, or keep it out of these files`;
}

export function tooMuch(limit: string): string {
  return `all files together have more than ${limit}: keep RunnerGroups in a folder of their own, or name fewer files`;
}
