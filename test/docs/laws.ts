/** The laws of docs/spec.md: a list, with cases, reason and test of each below it. */
import { readFileSync } from 'node:fs';

export interface Law {
  /** One, or several that were put together: `F3, F7`. */
  readonly names: readonly string[];
  /** All lines, with the cases, why it holds, and its test. */
  readonly text: string;
}

/** All of them in the order of the page. */
export function lawsOf(page = readFileSync('docs/spec.md', 'utf8')): readonly Law[] {
  return [...page.matchAll(/^\* \*\*([A-Z]\d+[a-z]?(?:, [A-Z]\d+[a-z]?)*)\*\* .*(?:\n {2}\* .*)*/gm)].map(
    ([text, names = '']) => ({ names: names.split(', '), text }),
  );
}
