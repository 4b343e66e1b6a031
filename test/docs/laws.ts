/** The laws of docs/spec.md: a list, with cases, reason and test of each below it. */
import { readFileSync } from 'node:fs';

export interface Law {
  /** Name of the law, or several joined names: `F3, F7`. */
  readonly names: readonly string[];
  /** All lines, with the cases, the reason, and the test. */
  readonly text: string;
}

/** Returns all laws in the order of the page. */
export function lawsOf(page = readFileSync('docs/spec.md', 'utf8')): readonly Law[] {
  return [...page.matchAll(/^\* \*\*([A-Z]\d+[a-z]?(?:, [A-Z]\d+[a-z]?)*)\*\* .*(?:\n {2}\* .*)*/gm)].map(
    ([text, names = '']) => ({ names: names.split(', '), text }),
  );
}
